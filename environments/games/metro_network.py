"""The city of the metro game: stations, river, lines, trains and the passengers' way through them.

Positions are pixels of the frame, times are ticks. Everything here is plain data and pure rules; chance
enters only through the generator that `found_city` and `City.tick` are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import dist
from typing import Any

import numpy as np

from environments.drawing import BOARD, Point

LETTERS = "ABCDEFGHIJKL"
LINES = ("red", "blue", "gold")
COMMON = ("circle", "triangle", "square")
RARE = {5: "star", 8: "cross"}
"""Shapes of which there is one station, by its index."""

CROWDED = 6
"""More passengers than this, and the station is overcrowded."""
MOST_WAITING = 12
"""A station with so many takes no new passengers; those whose line is removed are let out there all the same."""
TRAIN_SEATS = 6
SPEED_PX = 8.0
"""Pixels that a train runs in one tick."""
DWELL_TICKS = 5
CLEARANCE_PX = 18
"""Least distance between a station and a track that does not call there."""
NEVER = 99
NO_STATION = "a track begins and ends at stations that are on the map"
SAME_STATION = "a track joins two different stations"


@dataclass(slots=True)
class Station:
    """A stop on the map, and who waits there."""

    x: int
    y: int
    shape: str
    opens_at: int
    waiting: list[str] = field(default_factory=list)
    """The shapes that they want to go to, in the order of arrival."""
    pressure: int = 0
    """Ticks of overcrowding; it falls again while there is room."""

    @property
    def place(self) -> Point:
        """Its centre."""
        return self.x, self.y


@dataclass(slots=True)
class Train:
    """The train of one line: at a stop, or under way to the next."""

    at: int = 0
    """Index of the last stop in the line's list."""
    step: int = 1
    """Whether it runs up or down that list."""
    run_px: float = 0.0
    dwell: int = DWELL_TICKS
    aboard: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Line:
    """A line: the indices of its stations in order, the first one again at the end of a loop."""

    stops: list[int] = field(default_factory=list)
    train: Train = field(default_factory=Train)

    @property
    def loop(self) -> bool:
        """Whether it is closed."""
        return len(self.stops) > 2 and self.stops[0] == self.stops[-1]

    @property
    def ends(self) -> tuple[int, ...]:
        """Where it can be extended."""
        return () if self.loop or not self.stops else (self.stops[0], self.stops[-1])

    def next_stop(self) -> tuple[int, int]:
        """Index of the train's next stop in the list, and the direction that leads there."""
        train, last = self.train, len(self.stops) - 1
        at = train.at
        if self.loop:
            at = 0 if at == last and train.step > 0 else last if at == 0 and train.step < 0 else at
            return at + train.step, train.step
        step = train.step if 0 <= at + train.step <= last else -train.step
        return at + step, step


class City:
    """Stations, lines and trains in motion."""

    def __init__(self, stations: list[Station], river: list[Point]) -> None:
        self.stations = stations
        self.river = river
        self.letters = LETTERS
        """What the stations are called, in their order; drawn anew per city, so that names tell nothing of places."""
        self.lines = [Line() for _ in LINES]
        self.clock = 0
        self.delivered = 0

    def open(self) -> list[int]:
        """Indices of the stations that are on the map by now."""
        return [index for index, station in enumerate(self.stations) if station.opens_at <= self.clock]

    def crosses(self, start: int, end: int) -> bool:
        """Whether the track between two stations needs a tunnel."""
        a, b = self.stations[start].place, self.stations[end].place
        return any(_intersect(a, b, p, q) for p, q in pairwise(self.river))

    def tunnels_used(self) -> int:
        """Tracks under the river, over all lines."""
        return sum(self.crosses(a, b) for line in self.lines for a, b in pairwise(line.stops))

    def refusal(self, which: int, start: int, end: int, tunnels: int) -> str | None:
        """Why the line cannot be drawn from `start` to `end`, or None if it can."""
        line, open_stations = self.lines[which], self.open()
        if start not in open_stations or end not in open_stations:
            return NO_STATION
        if start == end:
            return SAME_STATION
        if line.loop:
            return f"the {LINES[which]} line is a closed loop; remove it to draw it anew"
        if line.stops and start not in line.ends and end not in line.ends:
            return f"the {LINES[which]} line can only be extended from one of its two ends"
        if start in line.stops and end in line.stops and not self._closes(line, start, end):
            return f"the {LINES[which]} line calls at both stations already"
        if self.crosses(start, end) and self.tunnels_used() >= tunnels:
            return "this track would cross the river, and no tunnel is left"
        return None

    @staticmethod
    def _closes(line: Line, start: int, end: int) -> bool:
        return len(line.stops) > 2 and {start, end} == set(line.ends)

    def connect(self, which: int, start: int, end: int) -> None:
        """Start the line with this track, or extend it; `refusal` has agreed."""
        line = self.lines[which]
        if not line.stops:
            line.stops, line.train = [start, end], Train()
        elif self._closes(line, start, end):
            line.stops.append(line.stops[0])
        else:
            old, new = (start, end) if start in line.ends else (end, start)
            if old == line.stops[-1]:
                line.stops.append(new)
            else:
                line.stops.insert(0, new)
                line.train.at += 1

    def remove(self, which: int) -> None:
        """Take the line off the map; whoever is aboard gets off at the train's last stop."""
        line = self.lines[which]
        if line.stops:
            self.stations[line.stops[line.train.at]].waiting += line.train.aboard
        self.lines[which] = Line()

    def tick(self, rng: np.random.Generator, chance: float) -> None:
        """One tick: perhaps a passenger (with probability `chance`), trains, crowds."""
        self.clock += 1
        self._spawn(rng, chance)
        rides = {shape: self._rides(shape) for shape in sorted({station.shape for station in self.stations})}
        for line in self.lines:
            if line.stops:
                self._run(line, rides)
        for station in self.stations:
            crowded = len(station.waiting) > CROWDED
            station.pressure = max(0, station.pressure + (1 if crowded else -1))

    def _spawn(self, rng: np.random.Generator, chance: float) -> None:
        if rng.random() >= chance:
            return
        open_stations = self.open()
        station = self.stations[open_stations[int(rng.integers(len(open_stations)))]]
        wanted = sorted({self.stations[index].shape for index in open_stations} - {station.shape})
        choice = wanted[int(rng.integers(len(wanted)))]
        if len(station.waiting) < MOST_WAITING:
            station.waiting.append(choice)

    def _rides(self, shape: str) -> list[int]:
        """For every station the least number of rides to one of that shape; `NEVER` if no line leads there."""
        least = [0 if station.shape == shape and station.opens_at <= self.clock else NEVER for station in self.stations]
        for _ in LINES:
            for line in self.lines:
                best = min((least[stop] for stop in line.stops), default=NEVER)
                for stop in line.stops:
                    least[stop] = min(least[stop], best + 1)
        return least

    def _run(self, line: Line, rides: dict[str, list[int]]) -> None:
        train = line.train
        if train.dwell:
            train.dwell -= 1
            self._exchange(line, rides)
            return
        target, train.step = line.next_stop()
        origin = target - train.step
        train.at = origin  # on a loop the first and the last index are the same stop
        whole = dist(self.stations[line.stops[origin]].place, self.stations[line.stops[target]].place)
        train.run_px += SPEED_PX
        if train.run_px >= whole:
            train.at, train.run_px, train.dwell = target, 0.0, DWELL_TICKS
            self._exchange(line, rides)

    def _exchange(self, line: Line, rides: dict[str, list[int]]) -> None:
        """Passengers get off where their ride ends, and on where this line brings them nearer."""
        train, here = line.train, line.stops[line.train.at]
        station = self.stations[here]
        stay: list[str] = []
        for wanted in train.aboard:
            least = rides[wanted]
            if station.shape == wanted:
                self.delivered += 1
            elif least[here] < NEVER and least[here] == min(least[stop] for stop in line.stops):
                station.waiting.append(wanted)
            else:
                stay.append(wanted)
        train.aboard = stay
        still: list[str] = []
        for wanted in station.waiting:
            least = rides[wanted]
            nearer = min(least[stop] for stop in line.stops) < least[here]
            if nearer and len(train.aboard) < TRAIN_SEATS:
                train.aboard.append(wanted)
            else:
                still.append(wanted)
        station.waiting = still

    def state(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "stations": [[s.x, s.y, s.shape, s.opens_at, list(s.waiting), s.pressure] for s in self.stations],
            "river": [list(point) for point in self.river],
            "letters": self.letters,
            "lines": [
                {
                    "stops": list(line.stops),
                    "at": line.train.at,
                    "step": line.train.step,
                    "run_px": line.train.run_px,
                    "dwell": line.train.dwell,
                    "aboard": list(line.train.aboard),
                }
                for line in self.lines
            ],
            "clock": self.clock,
            "delivered": self.delivered,
        }

    @classmethod
    def of(cls, state: dict[str, Any]) -> City:
        """The city that `state` described."""
        stations = [Station(x, y, shape, at, list(waiting), p) for x, y, shape, at, waiting, p in state["stations"]]
        city = cls(stations, [(x, y) for x, y in state["river"]])
        city.letters = str(state["letters"])
        city.lines = [
            Line(
                list(line["stops"]),
                Train(line["at"], line["step"], line["run_px"], line["dwell"], list(line["aboard"])),
            )
            for line in state["lines"]
        ]
        city.clock, city.delivered = state["clock"], state["delivered"]
        return city


def found_city(rng: np.random.Generator, opening: Sequence[int]) -> City:
    """A river and stations on its banks, for every seed others; `opening` are the ticks at which they appear."""
    while True:
        city = City(_stations(rng, river := _river(rng), opening), river)
        city.letters = "".join(LETTERS[int(i)] for i in rng.permutation(len(LETTERS)))
        # Two of the first three share a bank, so that no city begins with nothing but tunnels.
        if len(city.stations) == len(opening) and not (city.crosses(0, 1) and city.crosses(1, 2)):
            return city


def _river(rng: np.random.Generator) -> list[Point]:
    left, top, right, bottom = BOARD
    bends = [int(bend) for bend in rng.integers(-60, 61, size=4)]
    middle = (left + right) // 2
    along = [top, top + 150, top + 290, bottom]
    points: list[Point] = [(middle + bend, y) for bend, y in zip(bends, along, strict=True)]
    return points if rng.random() < 0.5 else [(y, x) for x, y in points]


def _stations(rng: np.random.Generator, river: list[Point], opening: Sequence[int]) -> list[Station]:
    """As many stations as find room, at the right distances from each other, the river and the rim."""
    left, top, right, bottom = BOARD
    stations: list[Station] = []
    firsts = [COMMON[int(i)] for i in rng.permutation(len(COMMON))]
    for _ in range(600):
        if len(stations) == len(opening):
            break
        index = len(stations)
        x, y = int(rng.integers(left + 32, right - 96)), int(rng.integers(top + 32, bottom - 32))
        if not _fits((x, y), [station.place for station in stations], river):
            continue
        common = firsts[index] if index < len(firsts) else COMMON[int(rng.choice(3, p=(0.5, 0.3, 0.2)))]
        stations.append(Station(x, y, RARE.get(index, common), opening[index]))
    return stations


def _fits(place: Point, others: list[Point], river: list[Point]) -> bool:
    """Whether a station has room there for itself and its queue, and lies on no track between two others."""
    if min(_from_segment(place, p, q) for p, q in pairwise(river)) < 34:
        return False
    if any(dist(place, other) < 66 or _queues_meet(place, other) for other in others):
        return False
    # A track that runs under a station without calling there would look as if it did.
    return all(
        min(_from_segment(place, a, b), _from_segment(a, place, b), _from_segment(b, place, a)) >= CLEARANCE_PX
        for a, b in combinations(others, 2)
    )


def _queues_meet(a: Point, b: Point) -> bool:
    return abs(a[1] - b[1]) <= 30 and abs(a[0] - b[0]) <= 108


def _intersect(a: Point, b: Point, p: Point, q: Point) -> bool:
    def side(u: Point, v: Point, w: Point) -> bool:
        return (v[0] - u[0]) * (w[1] - u[1]) > (v[1] - u[1]) * (w[0] - u[0])

    return side(a, p, q) != side(b, p, q) and side(a, b, p) != side(a, b, q)


def _from_segment(point: Point, p: Point, q: Point) -> float:
    """Distance of a point from the segment p-q, in pixels."""
    (x, y), (px, py), (qx, qy) = point, p, q
    dx, dy = qx - px, qy - py
    along = min(1.0, max(0.0, ((x - px) * dx + (y - py) * dy) / (dx * dx + dy * dy)))
    return dist(point, (px + along * dx, py + along * dy))
