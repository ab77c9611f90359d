"""What a task of the suite is, as data: the scene, where things may lie, the goal, and the way there.

Plain values only: neither MuJoCo nor robosuite is imported, so that tasks can be listed without them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from environments.robots.steps import Fact, Step, kind

Span = tuple[float, float]

Verb = Literal["in", "on", "open", "close", "turnon", "turnoff"]


@dataclass(frozen=True, slots=True)
class Thing:
    """An object or a fixture, and where it may be."""

    name: str
    """What a person calls it, with underscores; two of a kind end in `_1` and `_2`."""
    kind: str
    """What it is made as: see `world.KINDS`."""
    x: Span
    """Where its centre may lie, in metres of the world frame."""
    y: Span
    yaw: Span = (-math.pi / 5, math.pi / 5)
    near: str = ""
    """Lies at `x`, `y` relative to this thing instead, which is listed before it."""
    towards: str = ""
    """With `near`: half-way to this thing, and `x`, `y` relative to that."""
    clear_m: float = 0.0
    """Radius that it needs free around its centre; 0 takes the kind's own."""
    fixed: bool = False
    """Whether it stands fast."""

    @property
    def label(self) -> str:
        """In words, without the number."""
        return label(self.name)


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """A task: the scene and the steps to its goal."""

    id: str
    family: Literal["spatial", "object", "goal", "long"]
    title: str
    instruction: str
    things: Sequence[Thing]
    steps: Sequence[Step]
    tier: str
    max_steps: int = 300
    asked: str = ""
    """What the instruction calls the thing of the first step, where its name is not enough."""

    @property
    def goal(self) -> tuple[Fact, ...]:
        """The conjunction that must hold at the end."""
        return tuple(step.fact for step in self.steps if step.lasting)


_PLACES = {
    "plate": "plate",
    "basket": "basket",
    "burner": "stove",
    "cabinet_top": "top of the cabinet",
    "drawer_inside": "drawer",
}
_MOVED = {"drawer": "drawer", "knob": "knob of the stove"}


def label(name: str) -> str:
    """What a person calls a thing, a part or a place: `black_bowl_1` is a black bowl."""
    stem = kind(name)
    return _PLACES.get(stem) or _MOVED.get(stem) or stem.replace("_", " ")
