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

FIGHTS = len(ROAD)
CAMPS = (2, FIGHTS - 1)
"""After how many fights there is a camp."""
BREATHER, REST = 6, 20
"""HP that come back after a fight, and by a rest."""
OPTIONS = 4
"""What one chooses from: three cards and one thing more."""
_SHARES = (10.0, 14.0, 18.0, 22.0, 28.0)
"""Points for each fight; what is missing to 100 is for the HP left."""


class _Choice(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlayCard(_Choice):
    """Play a card of the hand."""

    do: Literal["play"]
    card: int = Field(ge=0, lt=HAND_LIMIT, description="place in the hand, 0 is the leftmost")
    target: int | None = Field(default=None, ge=0, le=1, description="enemy, 0 is the left one; null for no target")


class EndTurn(_Choice):
    """End the turn: the enemies do what they show, then new cards are drawn."""

    do: Literal["end_turn"]


class Choose(_Choice):
    """Between fights: take one of the four things offered."""

    do: Literal["choose"]
    option: int = Field(ge=0, lt=OPTIONS, description="0 is the leftmost")


class DeckAction(RootModel[Annotated[PlayCard | EndTurn | Choose, Field(discriminator="do")]]):
    """Play a card, end the turn, or choose one of four things between the fights.

    play: `card` is the place in the hand (0 is the leftmost), `target` the enemy (0 left, 1 right); cards that need
    no target ignore it, and with one enemy it may be left out. end_turn: the enemies act. choose: `option` 0 to 3,
    from left to right. What cannot be done is refused, and nothing changes.
    Examples: {"do": "play", "card": 2, "target": 0}, {"do": "end_turn"}, {"do": "choose", "option": 1}
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

    def reset(self, rng: np.random.Generator) -> None:
        """The starting deck, and the first fight."""
        self.rng = rng
        self.deck, self.fight = list(STARTERS), 0
        self.acted, self.held, self.pressed = False, None, None
        self._start_fight(Fighter(PLAYER, self.start_hp, MAX_HP))

    def apply(self, action: PlayCard | EndTurn | Choose) -> str | None:
        """Play, end the turn, or choose."""
        self.acted = True
        if isinstance(action, Choose):
            return self._choose(action.option)
        if self.phase != "fight":
            return "there is no fight now: choose one of the things offered"
        if isinstance(action, PlayCard):
            refusal = self.battle.play(action.card, action.target)
        else:
            refusal = None
            self._end_turn()
        self._note()
        return refusal

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
        number = int(key) - 1
        if self.phase == "fight":
            return self.apply(PlayCard(do="play", card=number))
        return self.apply(Choose(do="choose", option=number)) if number < OPTIONS else None

    def _on_mouse(self, pressed: tuple[int, int], held: int | None, x: int, y: int) -> str | None:
        """A click is a drag that ends where it began."""
        if held is not None:
            if view.hand_place(x, y) == held:
                return self.apply(PlayCard(do="play", card=held))
            if not view.in_battle(x, y):
                return None  # dropped back
            return self.apply(PlayCard(do="play", card=held, target=view.enemy_place(x, y)))
        if view.on_end_turn(*pressed) and view.on_end_turn(x, y):
            return self.apply(EndTurn(do="end_turn"))
        option = view.option_place(x, y)
        if option is not None and view.option_place(*pressed) == option:
            return self.apply(Choose(do="choose", option=option))
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
            return {"do": "choose", "option": OPTIONS - 1 if option is None else option}
        if self.phase == "camp":
            option = best_camp(self.options, self.battle.player.hp, MAX_HP)
            return {"do": "choose", "option": OPTIONS - 1 if option is None else option}
        play = None if self.over else best_play(self.battle)
        return {"do": "end_turn"} if play is None else {"do": "play", "card": play.card, "target": play.target}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """A drag of the card onto its target, or one click."""
        if action["do"] == "play":
            x, y = view.hand_centre(action["card"])
            to_x, to_y = view.target_centre(action.get("target"))
            return [{"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y}]
        x, y = view.END_TURN_CENTRE if action["do"] == "end_turn" else view.option_centre(action["option"])
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
            "acted": self.acted,
            "held": self.held,
            "pressed": None if self.pressed is None else list(self.pressed),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.deck, self.fight, self.phase = list(state["deck"]), state["fight"], state["phase"]
        self.options, self.damage_share = list(state["options"]), state["damage_share"]
        self.battle = Battle.of(state["battle"], self._shuffle)
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
            if option < len(self.options):
                self.deck.append(self.options[option])
            if self.fight in CAMPS:
                self._make_camp()
                return None
        elif self.phase == "camp":
            if option < len(self.options):
                place = self.deck.index(self.options[option])
                self.deck[place] = f"{self.deck[place]}+"
            else:
                self.battle.player.hp = min(MAX_HP, self.battle.player.hp + REST)
        else:
            return "there is nothing to choose now: this is a fight"
        self._start_fight(self.battle.player)
        return None

    def _make_camp(self) -> None:
        blunt = sorted({name for name in self.deck if f"{name}+" in CARDS})
        chosen = self.rng.choice(len(blunt), size=min(OPTIONS - 1, len(blunt)), replace=False)
        self.phase, self.options = "camp", [blunt[int(index)] for index in chosen]
