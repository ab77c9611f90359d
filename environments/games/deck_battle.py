"""A fight with cards: energy, hand and piles, block, statuses, and enemies that show what they will do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from environments.games.deck_cards import CARDS, Card
from environments.games.deck_enemies import KINDS, Move

ENERGY, DRAWN, HAND_LIMIT = 3, 5, 6
MAX_HP = 60
PLAYER = "player"

Shuffle = Callable[[list[str]], None]
"""Put a list of card ids into an order by chance, in place."""


@dataclass(slots=True)
class Fighter:
    """The player or an enemy."""

    kind: str
    hp: int
    max_hp: int
    block: int = 0
    might: int = 0
    """Added to every hit it deals."""
    weak: int = 0
    """Turns in which its hits do a quarter less."""
    exposed: int = 0
    """Turns in which hits on it do half as much again."""
    burn: int = 0
    """HP lost at the start of its turn; one less every turn."""
    intent: int = 0
    """Which of its kind's moves an enemy does next."""

    @property
    def alive(self) -> bool:
        """Whether it has HP left."""
        return self.hp > 0

    @property
    def move(self) -> Move:
        """What an enemy does next."""
        return KINDS[self.kind].moves[self.intent]

    def copy(self) -> Fighter:
        """Another one in the same state."""
        return Fighter(
            self.kind, self.hp, self.max_hp, self.block, self.might, self.weak, self.exposed, self.burn, self.intent
        )

    def key(self) -> tuple[int, ...]:
        """What tells its states in a fight apart."""
        return self.hp, self.block, self.might, self.weak, self.exposed, self.burn, self.intent


def hit(attacker: Fighter, base: int, target: Fighter) -> int:
    """The damage of one hit before block: might adds, weak takes a quarter, exposed adds a half; rounded down."""
    damage = base + attacker.might
    if attacker.weak:
        damage = damage * 3 // 4
    if target.exposed:
        damage = damage * 3 // 2
    return damage


def strike(attacker: Fighter, base: int, target: Fighter) -> None:
    """One hit: block goes first, then HP."""
    damage = hit(attacker, base, target)
    stopped = min(target.block, damage)
    target.block -= stopped
    target.hp = max(0, target.hp - (damage - stopped))


class Battle:
    """One fight; `shuffle` is the only chance in it besides the enemies' choice of moves."""

    def __init__(self, player: Fighter, enemies: list[Fighter], draw_pile: list[str], shuffle: Shuffle) -> None:
        self.player, self.enemies = player, enemies
        self.draw_pile = draw_pile
        """Card ids; the last is drawn first."""
        self.hand: list[str] = []
        self.discard: list[str] = []
        self.gone: list[str] = []
        """Cards played that come back only in the next fight."""
        self.energy, self.turn = ENERGY, 1
        self.shuffle = shuffle

    @property
    def living(self) -> list[int]:
        """Places of the enemies that stand."""
        return [place for place, enemy in enumerate(self.enemies) if enemy.alive]

    @property
    def decided(self) -> bool:
        """Whether one side has fallen."""
        return not self.player.alive or not self.living

    def copy(self) -> Battle:
        """A fight of its own in the same state."""
        twin = Battle(self.player.copy(), [enemy.copy() for enemy in self.enemies], self.draw_pile.copy(), self.shuffle)
        twin.hand, twin.discard, twin.gone = self.hand.copy(), self.discard.copy(), self.gone.copy()
        twin.energy, twin.turn = self.energy, self.turn
        return twin

    def draw(self, count: int) -> None:
        """Draw cards; an empty pile is made anew of the discarded ones, and a full hand takes no more."""
        for _ in range(count):
            if len(self.hand) >= HAND_LIMIT or not (self.draw_pile or self.discard):
                return
            if not self.draw_pile:
                self.draw_pile, self.discard = self.discard, []
                self.shuffle(self.draw_pile)
            self.hand.append(self.draw_pile.pop())

    def play(self, place: int, target: int | None) -> str | None:
        """Play the card at a place of the hand; the reason, if that cannot be done."""
        if place >= len(self.hand):
            return "there is no card in that place of the hand"
        card = CARDS[self.hand[place]]
        if card.cost > self.energy:
            return f"there is not enough energy for {card.name}"
        targets = self.living if card.target == "all" else []
        if card.target == "enemy":
            if target is None and len(self.living) > 1:
                return f"{card.name} needs a target: drag it onto one of the enemies"
            target = self.living[0] if target is None else target
            if target not in self.living:
                return "no enemy stands in that place"
            targets = [target]
        self.energy -= card.cost
        name = self.hand.pop(place)
        self._carry_out(card, [self.enemies[index] for index in targets])
        (self.gone if card.once else self.discard).append(name)
        return None

    def _carry_out(self, card: Card, targets: list[Fighter]) -> None:
        player = self.player
        for enemy in targets:
            if card.damage or card.bash:
                for _ in range(card.times):
                    strike(player, player.block if card.bash else card.damage, enemy)
            enemy.weak += card.weak
            enemy.exposed += card.exposed
            enemy.burn += card.burn
        player.hp = min(player.max_hp, player.hp + card.heal)
        player.block += card.block
        player.might += card.might
        self.energy += card.energy
        self.draw(card.draw)

    def enemies_act(self) -> None:
        """The hand is laid down and every enemy does what it showed, one after the other."""
        self.discard += self.hand
        self.hand = []
        for enemy in self.enemies:
            if not enemy.alive:
                continue
            enemy.block = 0
            _smoulder(enemy)
            if enemy.hp > 0:  # else it fell before it could act
                self._suffer(enemy, enemy.move)
        _wane(self.player)

    def _suffer(self, enemy: Fighter, move: Move) -> None:
        player = self.player
        if move.damage:
            for _ in range(move.times):
                strike(enemy, move.damage, player)
        _wane(enemy)
        enemy.block += move.block
        enemy.might += move.might
        # A status that comes in the enemies' turn must last through the player's next one.
        player.weak += move.weak + (move.weak > 0 and not player.weak)
        player.exposed += move.exposed + (move.exposed > 0 and not player.exposed)
        player.burn += move.burn

    def choose_moves(self, rng: np.random.Generator) -> None:
        """Every enemy shows its next move: the following one, or another one by chance."""
        for place in self.living:
            enemy = self.enemies[place]
            moves = len(KINDS[enemy.kind].moves)
            # 1 to moves - 1 further on: never the same again.
            enemy.intent += 1 if KINDS[enemy.kind].in_order else int(rng.integers(1, moves))
            enemy.intent %= moves

    def next_turn(self) -> None:
        """The player's turn begins: burn, no block, full energy, a new hand."""
        self.turn += 1
        self.player.block = 0
        _smoulder(self.player)
        self.energy = ENERGY
        self.draw(DRAWN)

    def state(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        return {
            "player": asdict(self.player),
            "enemies": [asdict(enemy) for enemy in self.enemies],
            "draw_pile": list(self.draw_pile),
            "hand": list(self.hand),
            "discard": list(self.discard),
            "gone": list(self.gone),
            "energy": self.energy,
            "turn": self.turn,
        }

    @classmethod
    def of(cls, state: dict[str, Any], shuffle: Shuffle) -> Battle:
        """The fight that `state` describes."""
        enemies = [Fighter(**enemy) for enemy in state["enemies"]]
        battle = cls(Fighter(**state["player"]), enemies, list(state["draw_pile"]), shuffle)
        battle.hand, battle.discard, battle.gone = (list(state[name]) for name in ("hand", "discard", "gone"))
        battle.energy, battle.turn = state["energy"], state["turn"]
        return battle


def _smoulder(fighter: Fighter) -> None:
    """Burn hurts through block, then cools by one."""
    if fighter.burn:
        fighter.hp = max(0, fighter.hp - fighter.burn)
        fighter.burn -= 1


def _wane(fighter: Fighter) -> None:
    fighter.weak = max(0, fighter.weak - 1)
    fighter.exposed = max(0, fighter.exposed - 1)
