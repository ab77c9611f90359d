"""How somebody plays who sees the whole state of a fight: all plays of this turn, and what the enemies do after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from environments.games.deck_battle import Battle, Fighter, strike
from environments.games.deck_cards import CARDS

_MOST_STATES, _MOST_NEXT = 250, 80
"""States looked at in this turn, and in a next one; more are rare, and their best are found among the first."""
_TRIED, _HANDS = 6, 3
"""Lines of this turn that are followed into the next one, and hands that are drawn for each."""

_WORTH: dict[str, float] = {
    "focus": 9.0, "wildfire": 8.5, "rampart": 6.5, "kindle": 9.0, "riposte": 8.0, "sidestep": 6.0, "lunge": 6.0,
    "drain": 6.0, "spark": 6.5, "hex": 9.5, "twin-cut": 7.5, "sweep": 4.5, "bash": 4.5, "breath": 5.0, "nick": 6.0,
    "flare": 4.5, "guard": 3.0, "jab": 2.5,
}  # fmt: skip
"""How good a card is to have, from runs with it and without."""

_HP, _MIGHT, _STANDING, _WEAK, _EXPOSED, _ENEMY_MIGHT = 2.0, 2.5, 14.0, 1.2, 4.6, 10.0
"""What things are worth, in units of an enemy's HP: the player's HP, its might, an enemy that stands, statuses."""


class Play(NamedTuple):
    """A card by its place in the hand, and the enemy it goes to."""

    card: int
    target: int | None


class Line(NamedTuple):
    """Plays of one turn: what they lead to before the enemies act, the first of them, and its value."""

    battle: Battle
    first: Play | None
    value: float


def best_play(battle: Battle) -> Play | None:
    """The first play of the best line for this turn; None to end the turn.

    The most promising lines are tried once more, with the best answer to a turn of the enemies and a new hand.
    """
    root = battle.copy()
    # What the true pile would give is not for the player to know, nor may the search touch the run's dice.
    root.draw_pile.reverse()
    root.shuffle = list.reverse
    lines = sorted(_lines(root, _MOST_STATES), key=lambda line: -line.value)[:_TRIED]
    if len(lines) == 1 or not lines[0].battle.living:
        return lines[0].first
    return max(lines, key=lambda line: _value_next_turn(line.battle)).first


def _lines(root: Battle, most: int) -> list[Line]:
    """All different states that plays of this turn lead to, at most `most`; the first is that of no play."""
    lines = [Line(root, None, _value_after_enemies(root))]
    seen = {_key(root)}
    stack = lines.copy()
    while stack and len(lines) < most:
        present = stack.pop()
        for play in _plays(present.battle):
            after = present.battle.copy()
            after.play(play.card, play.target)
            key = _key(after)
            if key not in seen:
                seen.add(key)
                lines.append(Line(after, present.first or play, _value_after_enemies(after)))
                if not after.decided:
                    stack.append(lines[-1])
    return lines


def _value_next_turn(battle: Battle) -> float:
    """The mean value of the best plays of the next turn, over a few hands that could be drawn."""
    total = 0.0
    for sample in range(_HANDS):
        rng = np.random.default_rng(sample)  # the same luck for every line, and for every process

        def shuffle(cards: list[str], rng: np.random.Generator = rng) -> None:
            cards[:] = [cards[int(index)] for index in rng.permutation(len(cards))]

        future = battle.copy()
        future.shuffle = shuffle
        shuffle(future.draw_pile)
        future.enemies_act()
        if not future.decided:
            future.choose_moves(rng)
            future.next_turn()
        if not future.player.alive:
            total -= 1000.0
        elif not future.living:
            total += 200.0 + _HP * future.player.hp
        else:
            total += max(line.value for line in _lines(future, _MOST_NEXT))
    return total / _HANDS


def best_card(options: Sequence[str], deck: Sequence[str]) -> int | None:
    """The place of the offered card that helps the deck most; None where each would only thin it."""
    counts = Counter(name.rstrip("+") for name in deck)
    worth = [_WORTH[name.rstrip("+")] - 2.0 * counts[name.rstrip("+")] for name in options]
    best = max(range(len(options)), key=lambda index: worth[index])
    return best if worth[best] > 3.5 else None


def best_camp(options: Sequence[str], hp: int, max_hp: int) -> int | None:
    """The place of the card to sharpen; None to rest."""
    if hp < 0.85 * max_hp:
        return None
    return max(range(len(options)), key=lambda index: _WORTH[options[index].rstrip("+")])


def _plays(battle: Battle) -> list[Play]:
    plays, known = [], set()
    for place, name in enumerate(battle.hand):
        card = CARDS[name]
        if name in known or card.cost > battle.energy:
            continue
        known.add(name)
        targets: list[int | None] = [*battle.living] if card.target == "enemy" else [None]
        plays += [Play(place, target) for target in targets]
    return plays


def _key(battle: Battle) -> tuple[object, ...]:
    fighters = tuple(fighter.key() for fighter in (battle.player, *battle.enemies))
    return fighters, tuple(sorted(battle.hand)), battle.energy


def _value_after_enemies(battle: Battle) -> float:
    """How good the position is once the enemies have done what they show."""
    player, enemies = battle.player.copy(), [enemy.copy() for enemy in battle.enemies]
    for enemy in enemies:
        burnt = min(enemy.burn, enemy.hp)
        enemy.hp -= burnt
        if enemy.alive and enemy.move.damage:
            for _ in range(enemy.move.times):
                strike(enemy, enemy.move.damage, player)
    player.hp = max(0, player.hp - player.burn) if any(enemy.alive for enemy in enemies) else player.hp
    if not player.alive:
        return -1000.0 - sum(enemy.hp for enemy in enemies)
    standing = [enemy for enemy in enemies if enemy.alive]
    if not standing:
        return 200.0 + _HP * player.hp  # no might is worth a fight that goes on
    # What burn will still do to the player, and how its own statuses slow it down.
    ailing = player.burn * (player.burn - 1) / 2 + _WEAK * min(player.weak, 2) + _EXPOSED * min(player.exposed, 2)
    return _HP * player.hp + _MIGHT * player.might - ailing - sum(_burden(enemy) for enemy in standing)


def _burden(enemy: Fighter) -> float:
    """What an enemy that still stands will cost, in units of its HP."""
    cooled = max(0, enemy.burn - 1)
    burning = min(cooled * (cooled + 1) / 2, 0.8 * enemy.hp)
    ailing = _WEAK * min(max(enemy.weak - 1, 0), 3) + _EXPOSED * min(max(enemy.exposed - 1, 0), 3)
    return _STANDING + enemy.hp - burning - min(ailing, 0.5 * enemy.hp) + _ENEMY_MIGHT * enemy.might
