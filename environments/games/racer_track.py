"""The racer's world: a generated road, its traffic, and how a car moves on it. All chance is in `make_track`.

Lengths are metres, speeds metres a second. Across the road, 0 is its middle and 1 its right edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

TICK_S = 0.05
"""Time of one tick in seconds."""
SEGMENT = 5.0
"""Length of the pieces that the road is made of."""
SEGMENTS = 400
LENGTH = SEGMENT * SEGMENTS
"""Length of the race."""
CHECKPOINTS = 5
"""Gates on the way, the finish included, in equal distances."""
HALF_WIDTH = 5.2
"""Half the road's width."""
TOP_SPEED = 60.0
_STEER, _PULL = 1.5, 2.1
"""Road half-widths a second that full steering gains, and that a sharp bend takes at top speed."""
_CAR_LENGTH, _CAR_WIDTH = 4.4, 0.4
_MARGIN = 120
"""Segments of road beyond the finish, to look at."""


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of road: its segments, how sharply it bends (right is positive, 1 is sharp), how much it climbs."""

    segments: int
    bend: float
    climb: float


@dataclass(frozen=True, slots=True)
class Rival:
    """Another car: where it starts, its place across the road, its constant speed, its colour's number."""

    start: float
    lane: float
    speed: float
    colour: int

    def at(self, ticks: int) -> float:
        """How far along the road it is after a number of ticks."""
        return self.start + self.speed * TICK_S * ticks


@dataclass(frozen=True)
class Track:
    """A road with its traffic and its looks."""

    sections: tuple[Section, ...]
    rivals: tuple[Rival, ...]
    theme: int
    """Which of the landscapes it leads through."""
    salt: int
    """Where the scenery stands."""

    @cached_property
    def bends(self) -> tuple[float, ...]:
        """How sharply each segment bends; entries and exits are eased."""
        found = [_eased(section, step) for section in self.sections for step in range(section.segments)]
        return (*found, *[0.0] * (SEGMENTS + _MARGIN - len(found)))

    @cached_property
    def paces(self) -> tuple[float, ...]:
        """The speed that suits each segment and what follows in the next forty metres."""
        reach = round(40.0 / SEGMENT) + 1
        return tuple(fitting_speed(max(map(abs, self.bends[at : at + reach]))) for at in range(len(self.bends)))

    @cached_property
    def heights(self) -> tuple[float, ...]:
        """The road's height at each segment's start."""
        level: float = 0.0
        found: list[float] = []
        for section in self.sections:
            shares = (step / section.segments for step in range(section.segments))
            found += [level + section.climb * (0.5 - 0.5 * math.cos(math.pi * share)) for share in shares]
            level += section.climb
        return (*found, *[level] * (SEGMENTS + _MARGIN - len(found)))

    @cached_property
    def turned(self) -> tuple[float, ...]:
        """The heading at each segment's start, in radians; what the plan and the skyline show."""
        return tuple(0.045 * float(total) for total in np.cumsum((0.0, *self.bends[:-1])))

    @cached_property
    def par_s(self) -> float:
        """A good time for the whole track, in seconds: every bend at the speed that it allows, and the start."""
        return 3.0 + 0.97 * sum(SEGMENT / fitting_speed(bend) for bend in self.bends[:SEGMENTS])

    def bend(self, distance: float) -> float:
        """How sharply the road bends at a distance from the start."""
        return self.bends[max(0, min(len(self.bends) - 1, int(distance / SEGMENT)))]

    def as_json(self) -> dict[str, Any]:
        """What defines the track, as JSON values."""
        return {
            "sections": [[section.segments, section.bend, section.climb] for section in self.sections],
            "rivals": [[rival.start, rival.lane, rival.speed, rival.colour] for rival in self.rivals],
            "theme": self.theme,
            "salt": self.salt,
        }

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Track:
        """The inverse of `as_json`."""
        sections = tuple(Section(*section) for section in fields["sections"])
        return Track(sections, tuple(Rival(*rival) for rival in fields["rivals"]), fields["theme"], fields["salt"])


@dataclass(slots=True)
class Car:
    """The player's car: distance from the start, place across the road, speed, and how far the wheel is turned."""

    distance: float = 0.0
    across: float = 0.0
    speed: float = 0.0
    wheel: float = 0.0

    @property
    def off_road(self) -> bool:
        """Whether it has left the asphalt."""
        return abs(self.across) > 1.05

    def drive(self, track: Track, rivals: Sequence[Rival], steer: int, pedal: int, ticks: int) -> bool:
        """One tick: steer -1, 0 or 1, pedal 1 for gas, 0, or -1 for the brake; whether it ran into a rival."""
        self.wheel += 0.4 * (steer - self.wheel)
        ratio = self.speed / TOP_SPEED
        push = 15.0 * (1.0 - ratio) + 1.2 if pedal > 0 else -28.0 if pedal < 0 else -4.0
        if self.off_road:
            push -= 3.0 * max(0.0, self.speed - 6.0)
        self.speed = min(TOP_SPEED, max(0.0, self.speed + push * TICK_S))
        ratio = self.speed / TOP_SPEED
        drift = self.wheel * _STEER * min(1.0, 1.5 * ratio) - track.bend(self.distance) * _PULL * ratio * ratio
        self.across = min(2.0, max(-2.0, self.across + drift * TICK_S))
        self.distance += self.speed * TICK_S
        for rival in rivals:
            gap = rival.at(ticks) - self.distance
            if 0.0 < gap < _CAR_LENGTH and abs(rival.lane - self.across) < _CAR_WIDTH:
                self.distance -= _CAR_LENGTH - gap
                self.speed = min(self.speed, 0.5 * rival.speed)
                return True
        return False


def fitting_speed(bend: float) -> float:
    """The speed at which a bend can just be held with some steering to spare."""
    return TOP_SPEED * min(1.0, math.sqrt(0.8 * _STEER / (_PULL * max(0.01, abs(bend)))))


def make_track(rng: np.random.Generator) -> Track:
    """Draw a road of bends and hills, and the cars on it."""
    sections = [Section(18, 0.0, 0.0)]
    total, level, side = 18, 0.0, 1 if rng.random() < 0.5 else -1
    while total < SEGMENTS - 40:
        segments = int(rng.integers(16, 34))
        straight = rng.random() < 0.25
        bend = 0.0 if straight else side * float(rng.choice([0.4, 0.6, 0.8, 1.0]))
        if not straight and rng.random() < 0.7:
            side = -side
        climb = round(float(rng.uniform(-11, 11)), 2)
        climb = -climb if abs(level + climb) > 22 else climb
        sections.append(Section(segments, bend, climb))
        total, level = total + segments, level + climb
    sections.append(Section(SEGMENTS - total, 0.0, 0.0))
    rivals = []
    start = 70.0
    while start < 0.75 * LENGTH:
        lane = float(rng.choice([-0.6, 0.0, 0.6]))
        speed = round(float(rng.uniform(24, 36)), 2)
        rivals.append(Rival(round(start, 2), lane, speed, int(rng.integers(5))))
        start += float(rng.uniform(38, 85))
    return Track(tuple(sections), tuple(rivals), int(rng.integers(4)), int(rng.integers(1 << 30)))


def _eased(section: Section, step: int) -> float:
    """A bend that comes and goes over a third of its section."""
    third = section.segments / 3
    edge = min(1.0, (step + 0.5) / third, (section.segments - step - 0.5) / third)
    return section.bend * edge * edge * (3 - 2 * edge)
