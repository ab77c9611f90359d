"""Lamplighter: five fights with cards on a night road, a deck that grows on the way, a boss at its end."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games import deck_view as view
from environments.games.deck_battle import HAND_LIMIT, MAX_HP, PLAYER, Battle, Fighter
from environments.games.deck_cards import CARDS, REWARDS, STARTERS
from environments.games.deck_enemies import KINDS, ROAD
from environments.games.deck_expert import best_camp, best_card, best_play
from environments.games.deck_words import changes, moves_of

FIGHTS = len(ROAD)
CAMPS = (2, FIGHTS - 1)
"""After how many fights there is a camp."""
BREATHER, REST = 6, 20
"""HP that come back after a fight, and by a rest."""
OPTIONS = 4
"""What one chooses from: three cards and one thing more."""
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_SHARES = (10.0, 14.0, 18.0, 22.0, 28.0)
"""Points for each fight; what is missing to 100 is for the HP left."""


class _Choice(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlayCard(_Choice):
    """Play a card of the hand."""

    do: Literal["play"]
    card: int = Field(ge=1, le=HAND_LIMIT, description="the number on the card, 1 is the leftmost")
    target: Literal["left", "right"] | None = Field(default=None, description="which enemy; null for no target")


class EndTurn(_Choice):
    """End the turn: the enemies do what they show, then new cards are drawn."""

    do: Literal["end_turn"]


class Choose(_Choice):
    """Between fights: take one of the four things offered."""

    do: Literal["choose"]
    option: int = Field(ge=1, le=OPTIONS, description="the number on it, 1 is the leftmost")


class DeckAction(RootModel[Annotated[PlayCard | EndTurn | Choose, Field(discriminator="do")]]):
    """Play a card, end the turn, or choose one of four things between the fights.

    play: `card` is the number on the card (1 is the leftmost), `target` the "left" or the "right" enemy; cards that
    need no target ignore it, and with one enemy it may be left out. end_turn: the enemies act. choose: `option` 1 to
    4, from left to right. What cannot be done is refused, and nothing changes.
    Examples: {"do": "play", "card": 2, "target": "left"}, {"do": "end_turn"}, {"do": "choose", "option": 1}
    """


class Lamplighter(Game):
    """Five fights in a row, cards and camps between them; won when the boss is beaten, lost when no HP are left.

    Score: the fights are worth 10, 14, 18, 22 and 28 points, each in proportion to the part of the enemies' HP that
    is gone. A won run gets 8 points more x the part of the player's HP that is left.
    """

    Action: ClassVar[type[BaseModel]] = DeckAction

    def __init__(self, hp: int = MAX_HP) -> None:
        """A run that starts with `hp` HP of `MAX_HP`.

        Raises:
            ValueError: for less than 1 or more than `MAX_HP`.
        """
        if not 1 <= hp <= MAX_HP:
            raise ValueError(f"hp: expected 1 to {MAX_HP}, got {hp}")
        self.start_hp = hp
        self.deck: list[str] = []
        self.fight = 0
        """Fights won so far."""
        self.phase: Literal["fight", "reward", "camp", "over"] = "fight"
        self.options: list[str] = []
        """Card ids on offer, in a reward or a camp."""
        self.damage_share = 0.0
        """The part of the enemies' HP that is gone in this fight."""
        self.acted = False
        """Whether this step's action was tried; a gesture with several clicks does one thing."""
        self.held: int | None = None
        """Place in the hand where the mouse button went down."""
        self.pressed: tuple[int, int] | None = None
        """Where the mouse button went down, elsewhere."""
        self.said = ""
        """What the last action did, as the picture tells it."""
        self.refused = False
        """Whether it was refused."""

    def reset(self, rng: np.random.Generator) -> None:
        """The starting deck, and the first fight."""
        self.rng = rng
        self.deck, self.fight = list(STARTERS), 0
        self.acted, self.held, self.pressed = False, None, None
        self.said, self.refused = "A run of five fights begins.", False
        self._start_fight(Fighter(PLAYER, self.start_hp, MAX_HP))

    def apply(self, action: PlayCard | EndTurn | Choose) -> str | None:
        """Play, end the turn, or choose."""
        self.acted = True
        refusal = self._carry_out(action)
        self.refused = refusal is not None
        if refusal is not None:
            self.said = f"Refused: {refusal}."
        return refusal

    def _carry_out(self, action: PlayCard | EndTurn | Choose) -> str | None:
        if isinstance(action, Choose):
            return self._choose(action.option - 1)
        if self.phase != "fight":
            return "there is no fight now: choose one of the things offered"
        before = self.battle.copy()
        if isinstance(action, PlayCard):
            target = None if action.target is None else _SIDES.index(action.target)
            refusal = self.battle.play(action.card - 1, target)
            if refusal is not None:
                return refusal
            card = CARDS[before.hand[action.card - 1]]
            self.said = f"{card.name}: {changes(before, self.battle)}"
        else:
            self._end_turn()
            self.said = f"{moves_of(before)}: {changes(before, self.battle, block=False)}"
        self._note()
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Drag or click a card, click the button or an offer; the keys 1 to 6 and E do the same."""
        if self.acted:
            return None
        if event.kind == "key_down":
            return self._on_key(event.key.lower())
        if event.kind == "button_down" and event.button == "left":
            self.held = view.hand_place(event.x, event.y)
            self.pressed = (event.x, event.y)
        elif event.kind == "button_up" and event.button == "left" and self.pressed is not None:
            pressed, held = self.pressed, self.held
            self.pressed = self.held = None
            return self._on_mouse(pressed, held, event.x, event.y)
        return None

    def _on_key(self, key: str) -> str | None:
        if key == "e":
            return self.apply(EndTurn(do="end_turn"))
        if key not in tuple("123456"):
            return None
        number = int(key)
        if self.phase == "fight":
            return self.apply(PlayCard(do="play", card=number))
        return self.apply(Choose(do="choose", option=number)) if number <= OPTIONS else None

    def _on_mouse(self, pressed: tuple[int, int], held: int | None, x: int, y: int) -> str | None:
        """A click is a drag that ends where it began."""
        if held is not None:
            if view.hand_place(x, y) == held:
                return self.apply(PlayCard(do="play", card=held + 1))
            if not view.in_battle(x, y):
                return None  # dropped back
            place = view.enemy_place(x, y)
            return self.apply(PlayCard(do="play", card=held + 1, target=None if place is None else _SIDES[place]))
        if view.on_end_turn(*pressed) and view.on_end_turn(x, y):
            return self.apply(EndTurn(do="end_turn"))
        option = view.option_place(x, y)
        if option is not None and view.option_place(*pressed) == option:
            return self.apply(Choose(do="choose", option=option + 1))
        return None

    def tick(self) -> None:
        """One action is over."""
        self.acted = False

    def release(self) -> None:
        """The mouse button is up at the end of a step."""
        self.held = self.pressed = None

    @property
    def over(self) -> bool:
        """The boss is beaten, or the player."""
        return self.phase == "over"

    @property
    def won(self) -> bool:
        """All fights are won."""
        return self.fight == FIGHTS

    def score(self) -> float:
        """Points for fights won, for the present one, and for the HP left; see the class."""
        if self.won:
            return sum(_SHARES) + (100.0 - sum(_SHARES)) * self.battle.player.hp / MAX_HP
        return sum(_SHARES[: self.fight]) + _SHARES[self.fight] * self.damage_share

    def reached(self) -> set[str]:
        """`first-hit`, `fight-1` to `fight-4`, `boss-hurt`, `boss-half`, `won`."""
        boss = self.fight == FIGHTS - 1
        conditions = {
            "first-hit": self.damage_share > 0 or self.fight > 0,
            **{f"fight-{number}": self.fight >= number for number in range(1, FIGHTS)},
            "boss-hurt": self.won or (boss and self.damage_share >= 0.2),
            "boss-half": self.won or (boss and self.damage_share >= 0.5),
            "won": self.won,
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """The best play of the turn, or the best thing on offer."""
        if self.phase == "reward":
            option = best_card(self.options, self.deck)
            return {"do": "choose", "option": OPTIONS if option is None else option + 1}
        if self.phase == "camp":
            option = best_camp(self.options, self.battle.player.hp, MAX_HP)
            return {"do": "choose", "option": OPTIONS if option is None else option + 1}
        play = None if self.over else best_play(self.battle)
        if play is None:
            return {"do": "end_turn"}
        return {"do": "play", "card": play.card + 1, "target": None if play.target is None else _SIDES[play.target]}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """A drag of the card onto its target, or one click."""
        if action["do"] == "play":
            x, y = view.hand_centre(action["card"] - 1)
            target = action.get("target")
            to_x, to_y = view.target_centre(None if target is None else _SIDES.index(target))
            return [{"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y}]
        x, y = view.END_TURN_CENTRE if action["do"] == "end_turn" else view.option_centre(action["option"] - 1)
        return [{"verb": "click", "x": x, "y": y}]

    def state(self) -> dict[str, Any]:
        """The run, and the fight with all its piles."""
        return {
            "deck": list(self.deck),
            "fight": self.fight,
            "phase": self.phase,
            "options": list(self.options),
            "damage_share": self.damage_share,
            "battle": self.battle.state(),
            "said": self.said,
            "refused": self.refused,
            "acted": self.acted,
            "held": self.held,
            "pressed": None if self.pressed is None else list(self.pressed),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.deck, self.fight, self.phase = list(state["deck"]), state["fight"], state["phase"]
        self.options, self.damage_share = list(state["options"]), state["damage_share"]
        self.battle = Battle.of(state["battle"], self._shuffle)
        self.said, self.refused = str(state["said"]), bool(state["refused"])
        self.acted, self.held = state["acted"], state["held"]
        self.pressed = None if state["pressed"] is None else (state["pressed"][0], state["pressed"][1])

    def draw(self) -> Frame:
        """The fight or the offer, the hand, the piles."""
        scene = view.Scene(
            battle=self.battle,
            fight=self.fight if self.won or self.phase in ("reward", "camp") else self.fight + 1,
            fights=FIGHTS,
            phase=self.phase,
            options=tuple(self.options),
            deck=tuple(self.deck),
            rest=REST,
            won=self.won,
            said=self.said,
            refused=self.refused,
        )
        return view.draw(scene)

    def _shuffle(self, cards: list[str]) -> None:
        # Through `self.rng` at the time: the environment puts another generator in its place after a restore.
        order = self.rng.permutation(len(cards))
        cards[:] = [cards[int(index)] for index in order]

    def _start_fight(self, player: Fighter) -> None:
        groups = ROAD[self.fight]
        kinds = groups[int(self.rng.integers(len(groups)))]
        enemies = []
        for kind in kinds:
            low, high = KINDS[kind].hp
            hp = int(self.rng.integers(low, high + 1))
            first = 0 if KINDS[kind].in_order else int(self.rng.integers(len(KINDS[kind].moves)))
            enemies.append(Fighter(kind, hp, hp, intent=first))
        pile = list(self.deck)
        self._shuffle(pile)
        self.battle = Battle(Fighter(PLAYER, player.hp, MAX_HP), enemies, pile, self._shuffle)
        self.battle.draw(5)
        self.phase, self.options, self.damage_share = "fight", [], 0.0

    def _end_turn(self) -> None:
        self.battle.enemies_act()
        self.battle.choose_moves(self.rng)
        if not self.battle.decided:
            self.battle.next_turn()

    def _note(self) -> None:
        """See how far the fight has come, and whether it is decided."""
        enemies = self.battle.enemies
        self.damage_share = 1.0 - sum(enemy.hp for enemy in enemies) / sum(enemy.max_hp for enemy in enemies)
        if not self.battle.player.alive:
            self.phase = "over"
        elif not self.battle.living:
            self._win_fight()

    def _win_fight(self) -> None:
        self.fight += 1
        self.damage_share = 0.0
        if self.won:
            self.phase = "over"
            return
        player = self.battle.player
        player.hp = min(MAX_HP, player.hp + BREATHER)
        self.phase = "reward"
        self.options = [REWARDS[int(index)] for index in self.rng.choice(len(REWARDS), size=OPTIONS - 1, replace=False)]

    def _choose(self, option: int) -> str | None:
        """Take a card or none; sharpen one or rest. Then the road goes on."""
        if self.phase in ("reward", "camp") and len(self.options) <= option < OPTIONS - 1:
            return "nothing is offered in that place"
        if self.phase == "reward":
            self.said = "No card is taken."
            if option < len(self.options):
                self.deck.append(self.options[option])
                self.said = f"{CARDS[self.options[option]].name} is in your deck now."
            if self.fight in CAMPS:
                self._make_camp()
                return None
        elif self.phase == "camp":
            if option < len(self.options):
                place = self.deck.index(self.options[option])
                self.deck[place] = f"{self.deck[place]}+"
                self.said = f"{CARDS[self.options[option]].name} is sharpened."
            else:
                self.battle.player.hp = min(MAX_HP, self.battle.player.hp + REST)
                self.said = "You have rested."
        else:
            return "there is nothing to choose now: this is a fight"
        self._start_fight(self.battle.player)
        return None

    def _make_camp(self) -> None:
        blunt = sorted({name for name in self.deck if f"{name}+" in CARDS})
        chosen = self.rng.choice(len(blunt), size=min(OPTIONS - 1, len(blunt)), replace=False)
        self.phase, self.options = "camp", [blunt[int(index)] for index in chosen]
