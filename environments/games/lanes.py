"""Crab Coast: a sandcastle, five lanes of beach, and crabs that come out of the sea in waves."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games import lanes_picture
from environments.games.lanes_beach import COLUMNS, LANES, STEP_MS, Beach, Kind, pools, schedule
from environments.games.lanes_expert import plan
from environments.games.notes import Note

_NOTE_TICKS = 5
"""How long a refusal is shown."""


class _Move(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(_Move):
    """Put a defender on a cell; it costs the pearls that its card says."""

    do: Literal["place"]
    defender: Kind
    lane: int = Field(ge=1, le=LANES)
    column: int = Field(ge=1, le=COLUMNS)


class Gather(_Move):
    """Gather all pearls that lie on the beach."""

    do: Literal["gather"]


class Wait(_Move):
    """Let time pass."""

    do: Literal["wait"]
    ms: int = Field(default=1200, ge=800, le=2000)


class LanesAction(RootModel[Annotated[Place | Gather | Wait, Field(discriminator="do")]]):
    """Place a defender, gather the pearls, or wait.

    {"do": "place", "defender": "squid", "lane": 2, "column": 3}: defender is oyster, squid, rock, jelly or
    geyser; lanes count from 1 at the top, columns from 1 at the castle. Takes 400 ms. Refused if the card is not
    ready, the purse too light, or the cell taken or a pool.
    {"do": "gather"}: all pearls on the beach go into the purse. Takes 400 ms. Refused if there are none.
    {"do": "wait", "ms": 1200}: 800 to 2000 milliseconds, in whole steps of 400.
    The game does not stop meanwhile.
    """


class Lanes(Game):
    """Waves of crabs against a castle with three flags; won when all waves are over, lost with the last flag.

    A crab that reaches the castle takes a flag and is gone.

    Score: 100 x crabs turned back / crabs of all waves.
    """

    Action: ClassVar[type[BaseModel]] = LanesAction
    tick_ms: ClassVar[int | None] = 2 * STEP_MS

    def __init__(self, sizes: tuple[int, ...] = (4, 6, 8, 10), first: int = 50, gap: int = 80, pools: int = 4) -> None:
        """Waves of so many crabs.

        The first comes at step `first` of the beach, the next ones every `gap` steps; `pools` lanes have a cell on
        which nothing can stand.

        Raises:
            ValueError: for no waves, empty waves, more than five of them, times that are not positive, too many pools.
        """
        if not 1 <= len(sizes) <= 5 or min(sizes) < 1:
            raise ValueError(f"sizes: expected one to five waves of one crab or more, got {sizes}")
        if first < 1 or gap < 10:
            raise ValueError(f"first, gap: expected first >= 1 and gap >= 10 steps, got {first} and {gap}")
        if not 0 <= pools <= LANES:
            raise ValueError(f"pools: expected 0 to {LANES}, got {pools}")
        self.sizes, self.first, self.gap, self.pools = tuple(sizes), first, gap, pools
        self.beach = Beach()
        self.placed = self.gathered = False
        """Whether a defender was ever placed, and a pearl gathered."""
        self.held: Kind | None = None
        """The card that the mouse drags."""
        self.pointer = (0, 0)
        """Where it is dragged to; only while a card is held."""
        self.note = Note()
        self.refusal: str | None = None
        """Why the card that was dragged could not be placed; told when the button comes up."""

    def reset(self, rng: np.random.Generator) -> None:
        """An empty beach with other pools, and another schedule of crabs."""
        self.rng = rng
        self.beach = Beach(schedule=schedule(rng, self.sizes, self.first, self.gap), pools=pools(rng, self.pools))
        self.placed = self.gathered = False
        self.note = Note()
        self.release()

    def apply(self, action: Place | Gather | Wait) -> str | None:
        """Place, gather, or nothing."""
        match action:
            case Place(defender=kind, lane=lane, column=column):
                return self._place(kind, lane - 1, column - 1)
            case Gather():
                return self._gather()
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """The left button drags a card to a cell, or clicks on the net or a pearl.

        The button comes up only after the ticks of the step (see `Game`), so a card is placed where the pointer is
        when the first of them begins: at the moment at which a semantic action is carried out.
        """
        if event.kind == "motion" and self.held:
            self.pointer = event.x, event.y
        elif event.kind == "button_down" and event.button == "left":
            self.held = lanes_picture.card_at(event.x, event.y)
            self.pointer = (event.x, event.y) if self.held else (0, 0)
            if lanes_picture.on_net(event.x, event.y) or self._on_pearl(event.x, event.y):
                return self._gather()
        elif event.kind == "button_up" and event.button == "left":
            refusal, self.refusal = self.refusal, None
            return refusal
        return None

    def tick(self) -> None:
        """Two steps of the beach pass."""
        cell = lanes_picture.cell_at(*self.pointer) if self.held else None
        if self.held and cell:
            self.refusal = self._place(self.held, *cell)
            self.held, self.pointer = None, (0, 0)
        self.note.fade()
        for _ in range(2):
            if not self.over:
                self.beach.advance(self.rng)

    def release(self) -> None:
        """A card that is still held goes back to the tray."""
        self.held, self.pointer, self.refusal = None, (0, 0), None

    @property
    def over(self) -> bool:
        """Won, or the last flag is lost."""
        return self.beach.flags == 0 or self.won

    @property
    def won(self) -> bool:
        """All crabs have come, none is left, and a flag still flies."""
        return self.beach.flags > 0 and self.waves_over == len(self.sizes)

    @property
    def waves_over(self) -> int:
        """Waves that have come and of which, as of those before them, no crab is left."""
        beach = self.beach
        if beach.crabs:
            # Crabs leave the sea in the order of the schedule; who is on the beach is of the waves that came last.
            return min(crab.wave for crab in beach.crabs)
        if beach.entered == len(beach.schedule):
            return len(self.sizes)
        return beach.schedule[beach.entered].wave

    def score(self) -> float:
        """100 x crabs turned back / crabs of all waves."""
        return 100.0 * self.beach.repelled / sum(self.sizes)

    def reached(self) -> set[str]:
        """`placed`, `gathered`, `turned-back`, `wave-N` for every wave that is over, `all-waves`."""
        reached = {f"wave-{wave}" for wave in range(1, min(self.waves_over, len(self.sizes) - 1) + 1)}
        if self.beach.flags == 0:  # the castle has fallen: what is over now was not held
            reached = set()
        conditions = {
            "placed": self.placed,
            "gathered": self.gathered,
            "turned-back": self.beach.repelled > 0,
            "half": 2 * self.beach.repelled >= sum(self.sizes),
            "all-waves": self.won,
        }
        return reached | {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """Pearls first, then the lane in greatest need; see `lanes_expert`."""
        return plan(self.beach)

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """A drag from the card to the cell, a click on the net, or hands off."""
        match action:
            case {"do": "place", "defender": kind, "lane": lane, "column": column}:
                (x, y), (to_x, to_y) = lanes_picture.card_middle(kind), lanes_picture.cell_middle(lane - 1, column - 1)
                return [{"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y}]
            case {"do": "gather"}:
                x, y = lanes_picture.NET_MIDDLE
                return [{"verb": "click", "x": x, "y": y, "button": "left", "count": 1}]
        return [{"verb": "wait", "ms": action["ms"]}]

    def state(self) -> dict[str, Any]:
        """The beach with its schedule, and what the mouse holds."""
        return {
            "beach": self.beach.row(),
            "placed": self.placed,
            "gathered": self.gathered,
            "held": self.held,
            "pointer": list(self.pointer),
            "refusal": self.refusal,
            "note": self.note.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.beach = Beach.of(state["beach"])
        self.placed, self.gathered = state["placed"], state["gathered"]
        self.held, self.refusal = state["held"], state["refusal"]
        self.pointer = state["pointer"][0], state["pointer"][1]
        self.note = Note(**state["note"])

    def draw(self) -> Frame:
        """Tray, beach, progress."""
        return lanes_picture.draw(self.beach, self.first, self.gap, len(self.sizes), self.note, won=self.won)

    def _place(self, kind: Kind, lane: int, column: int) -> str | None:
        refusal = self.beach.place(kind, lane, column)
        self.placed |= refusal is None
        return self.note.tell(refusal, _NOTE_TICKS)

    def _gather(self) -> str | None:
        refusal = self.beach.gather()
        self.gathered |= refusal is None
        return self.note.tell(refusal, _NOTE_TICKS)

    def _on_pearl(self, x: int, y: int) -> bool:
        return any(lanes_picture.on_pearl(pearl, x, y) for pearl in self.beach.pearls)
