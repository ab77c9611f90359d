"""Metro: draw lines between stations while the city grows, and bring everybody to a station of their shape."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games import metro_expert, metro_view
from environments.games.metro_network import LETTERS, LINES, NO_STATION, SAME_STATION, City, found_city
from environments.games.notes import Note

LineName = Literal["red", "blue", "gold"]
Letter = Literal["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"]

FIRST_STATIONS = 3
_NOTE_TICKS = 20
"""How long a refusal is shown."""


class _Move(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Select(_Move):
    """Choose the line to draw with."""

    do: Literal["select"]
    line: LineName


class Connect(_Move):
    """Draw a track of the chosen line between two stations."""

    do: Literal["connect"]
    start: Letter
    end: Letter


class Remove(_Move):
    """Take a whole line off the map."""

    do: Literal["remove"]
    line: LineName


class Wait(_Move):
    """Let the trains run."""

    do: Literal["wait"]
    ms: int = Field(ge=1000, le=2000)


class MetroAction(RootModel[Annotated[Select | Connect | Remove | Wait, Field(discriminator="do")]]):
    """Draw lines with the chosen colour, or let time pass. All actions but `wait` last a tenth of a second.

    {"do": "select", "line": "red"|"blue"|"gold"} chooses the line to draw with (its card has a dark frame).
    {"do": "connect", "start": "A", "end": "C"} draws a track of that line between the stations with these letters:
    it starts an unused line, or extends the line from one of its two ends; joining its two ends closes a loop.
    {"do": "remove", "line": "red"} takes the whole line off the map, to be drawn anew.
    {"do": "wait", "ms": 1000 to 2000} lets the trains run.
    Example: {"do": "connect", "start": "A", "end": "C"}
    """


@dataclass(slots=True)
class Drag:
    """A track that is being drawn: the station where it begins (None: beside all of them), and the pointer."""

    start: int | None
    x: int
    y: int
    moved: bool = False
    laid: bool = False
    """Whether it has been dragged as far as another station."""
    refused: str | None = None
    """What the rules said to that; told when the button is released."""


class Metro(Game):
    """A growing city with a river; won when `target` passengers are delivered before the metro closes.

    Passengers change trains by themselves where lines meet. A station with more than six waiting is overcrowded;
    the game is lost when one has been so for `patience_s` seconds, and ends at closing time, `day_s` seconds after
    the start.

    Score: 100 x passengers delivered / `target`.
    """

    Action: ClassVar[type[BaseModel]] = MetroAction
    tick_ms: ClassVar[int | None] = 100

    def __init__(
        self,
        target: int = 80,
        stations: int = 9,
        tunnels: int = 4,
        day_s: int = 240,
        patience_s: int = 30,
        opens_every_s: int = 18,
        busy: tuple[float, float] = (0.035, 0.065),
    ) -> None:
        """`busy` is the probability of a new passenger in a tick, at the start and at the end of the day.

        Raises:
            ValueError: for a number of stations that the map and its letters do not hold, or an empty day.
        """
        if not FIRST_STATIONS <= stations <= len(LETTERS):
            raise ValueError(f"stations: expected {FIRST_STATIONS} to {len(LETTERS)}, got {stations}")
        if min(target, day_s, patience_s, opens_every_s) < 1 or tunnels < 0:
            raise ValueError(
                "target, day_s, patience_s, opens_every_s: expected 1 or more, tunnels: 0 or more,"
                f" got {target}, {day_s}, {patience_s}, {opens_every_s}, {tunnels}"
            )
        self.target, self.tunnels, self.busy = target, tunnels, busy
        self.day, self.patience = day_s * 10, patience_s * 10
        """Both in ticks."""
        self.opening = [max(0, i - FIRST_STATIONS + 1) * opens_every_s * 10 for i in range(stations)]
        self.city = City([], [])
        self.selected = 0
        self.lost_at: int | None = None
        """The station whose passengers lost their patience."""
        self.drag: Drag | None = None
        """The track that is being drawn while the button is held."""
        self.note = Note()
        self._view = metro_view.View()

    def reset(self, rng: np.random.Generator) -> None:
        """Another river, other stations; three of them are open, one of each common shape."""
        self.rng = rng
        self.city = found_city(rng, self.opening)
        self.selected, self.lost_at, self.drag = 0, None, None
        self.note = Note()

    def apply(self, action: Select | Connect | Remove | Wait) -> str | None:
        """Choose, draw or remove a line."""
        match action:
            case Select(line=name):
                self._select(LINES.index(name))
            case Connect(start=start, end=end):
                return self._connect(self.city.letters.index(start), self.city.letters.index(end))
            case Remove(line=name):
                return self._remove(LINES.index(name))
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """A click on a line's card chooses it, one on its cross removes it, a drag draws a track."""
        if event.kind == "button_down" and event.button == "left":
            return self._press(event.x, event.y)
        if self.drag is not None and event.kind == "motion":
            self.drag.x, self.drag.y, self.drag.moved = event.x, event.y, True
        elif self.drag is not None and event.kind == "button_up" and event.button == "left":
            return self._drop(self.drag)
        return None

    def tick(self) -> None:
        """A tenth of a second. A track that has been dragged as far as a station is laid before it passes."""
        self._lay_dragged()
        if self.over:
            return
        self.note.fade()
        low, high = self.busy
        self.city.tick(self.rng, low + (high - low) * self.city.clock / self.day)
        crowded = [i for i, station in enumerate(self.city.stations) if station.pressure >= self.patience]
        self.lost_at = crowded[0] if crowded and not self.won else None

    def release(self) -> None:
        """Let go of a track that leads nowhere."""
        self.drag = None

    @property
    def over(self) -> bool:
        """Won, a station overcrowded for too long, or closing time."""
        return self.won or self.lost_at is not None or self.city.clock >= self.day

    @property
    def won(self) -> bool:
        """The target is reached."""
        return self.city.delivered >= self.target

    def score(self) -> float:
        """100 x passengers delivered / target."""
        return min(100.0, 100.0 * self.city.delivered / self.target)

    def reached(self) -> set[str]:
        """`first-line`, `first-delivery`, `eighth`, `quarter`, `half`, `three-quarters`, `target`."""
        done, target = self.city.delivered, self.target
        conditions = {
            "first-line": done > 0 or any(line.stops for line in self.city.lines),
            "first-delivery": done > 0,
            "eighth": 8 * done >= target,
            "quarter": 4 * done >= target,
            "half": 2 * done >= target,
            "three-quarters": 4 * done >= 3 * target,
            "target": self.won,
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """The cheapest track to a station without a line, or patience."""
        return metro_expert.plan(self.city, self.selected, self.tunnels)

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One click on the sidebar, one drag on the map, or one wait."""
        match action:
            case {"do": "connect", "start": start, "end": end}:
                # Letters that are not on the map yet: a drag from or to where no station is, refused alike.
                x, y = metro_view.where(self.city, self.city.letters.index(start))
                to_x, to_y = metro_view.where(self.city, self.city.letters.index(end), end=True)
                return [{"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y, "button": "left"}]
            case {"do": "select", "line": name}:
                x, y = metro_view.card_centre(LINES.index(name))
            case {"do": "remove", "line": name}:
                x, y = metro_view.cross_centre(LINES.index(name))
            case _:
                return [{"verb": "wait", "ms": action["ms"]}]
        return [{"verb": "click", "x": x, "y": y, "button": "left", "count": 1}]

    def state(self) -> dict[str, Any]:
        """The city, the chosen line, a track being dragged, and how it ended."""
        return {
            "city": self.city.state(),
            "selected": self.selected,
            "lost_at": self.lost_at,
            "drag": asdict(self.drag) if self.drag else None,
            "note": self.note.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.city = City.of(state["city"])
        self.selected, self.lost_at = int(state["selected"]), state["lost_at"]
        self.drag = Drag(**state["drag"]) if state["drag"] else None
        self.note = Note(**state["note"])

    def draw(self) -> Frame:
        """The map with its lines, trains and passengers; the figures, the lines' cards and the help beside it."""
        return self._view.draw(self)

    def _connect(self, start: int, end: int) -> str | None:
        refusal = self.city.refusal(self.selected, start, end, self.tunnels)
        if refusal is None:
            self.city.connect(self.selected, start, end)
        return self.note.tell(refusal, _NOTE_TICKS)

    def _select(self, which: int) -> None:
        self.selected = which
        self.note.tell(None, 0)

    def _remove(self, which: int) -> str | None:
        if not self.city.lines[which].stops:
            return self.note.tell(f"the {LINES[which]} line is not in use", _NOTE_TICKS)
        self.city.remove(which)
        return self.note.tell(None, 0)

    def _press(self, x: int, y: int) -> str | None:
        """The button goes down: on a card, on a cross, or where a track may begin."""
        card, cross = metro_view.card_at(x, y), metro_view.cross_at(x, y)
        if card is not None:
            self._select(card)
        elif cross is not None:
            return self._remove(cross)
        elif metro_view.on_map(x, y):
            self.drag = Drag(metro_view.station_at(self.city, x, y), x, y)
        return None

    def _lay_dragged(self) -> None:
        """Lay the dragged track if the pointer is on another station; the drag goes on from there."""
        drag = self.drag
        if drag is None or drag.start is None:
            return
        end = metro_view.station_at(self.city, drag.x, drag.y)
        if end is not None and end != drag.start:
            drag.refused = self._connect(drag.start, end)
            drag.start, drag.laid = end, True

    def _drop(self, drag: Drag) -> str | None:
        """The button comes up: lay the track, and say why if there is none."""
        self._lay_dragged()
        self.drag = None
        if drag.laid:
            return drag.refused
        if drag.start is not None and metro_view.station_at(self.city, drag.x, drag.y) == drag.start:
            refusal = SAME_STATION
        elif drag.moved:
            refusal = NO_STATION
        else:
            return None
        return self.note.tell(refusal, _NOTE_TICKS - 1)  # the tick of this step has passed
