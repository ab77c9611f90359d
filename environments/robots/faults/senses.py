"""What a policy perceives: the world and the arm as they are, but for what a fault puts in between.

A served or vision-language policy perceives pictures, the state vector and the instruction: `Percept` alters those. A
scripted policy reads poses from the simulation: `SensedWorld` and `SensedArm` stand for scene and arm, and give the
poses that such a policy would have taken from altered pictures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from environments.robots.world import FINGERS, Fact, Vector

if TYPE_CHECKING:
    from environments.robots.faults.injector import Injector

_GREY = 110
_BLOCKED = 0.7
"""Share of a blocked picture's width and height that is covered."""


@dataclass(slots=True)
class Percept:
    """How perception differs from the truth at one moment; empty without a fault."""

    instead: dict[str, str] = field(default_factory=dict)
    """Names that the policy takes for others: it looks at the value where it means the key."""
    said_instead: dict[str, str] = field(default_factory=dict)
    """Names whose words change in the instruction: the policy is told of the value instead of the key."""
    shift_m: dict[str, Vector] = field(default_factory=dict)
    """Where the policy sees things beside where they are, (3,) each."""
    frozen: dict[str, list[list[float]]] = field(default_factory=dict)
    """Poses that the policy still sees: position and three rows of the rotation."""
    at_hand: set[str] = field(default_factory=set)
    """Things that the policy believes to be between its fingers."""
    held: set[str] = field(default_factory=set)
    """Things that the policy believes to hold."""
    arm_shift_m: Vector | None = None
    """Where the policy believes its hand beside where it is, (3,)."""
    camera_shift_m: Vector | None = None
    """How far the policy's cameras are from where it believes them, (3,)."""
    noise: float = 0.0
    """Standard deviation of the policy's pictures, in steps of brightness."""
    blocked: bool = False
    """Whether the view from the front is covered."""

    @property
    def clear(self) -> bool:
        """Whether nothing is between."""
        apart = (
            self.instead,
            self.said_instead,
            self.shift_m,
            self.frozen,
            self.at_hand,
            self.held,
            self.noise,
            self.blocked,
        )
        return not any(apart) and self.arm_shift_m is None and self.camera_shift_m is None

    def altered(self, key: str, picture: NDArray[np.uint8], seed: int) -> NDArray[np.uint8]:
        """A picture as the policy sees it, (H, W, 3) uint8; the same one if nothing is between."""
        if self.blocked and key == "agentview":
            picture = picture.copy()
            height, width = picture.shape[:2]
            top, left = int(height * (1 - _BLOCKED) / 2), int(width * (1 - _BLOCKED) / 2)
            picture[top : height - top, left : width - left] = _GREY
        if self.noise:
            grain = np.random.default_rng(seed).normal(0.0, self.noise, picture.shape)
            picture = np.clip(picture + grain, 0, 255).astype(np.uint8)
        return picture


class SensedWorld:
    """A scene through a policy's senses; whatever is not listed here is the scene's own."""

    def __init__(self, world: Any, injector: Injector) -> None:
        self._world, self._injector = world, injector

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def taken_for(self, name: str) -> str:
        """The thing that the policy looks at where it means this one."""
        return self._injector.percept().instead.get(name, name)

    def position(self, name: str) -> Vector:
        """Where the policy believes a thing to be, (3,) m."""
        percept = self._injector.percept()
        if name in percept.at_hand:
            return np.array(self._injector.arm_position)
        known = percept.frozen.get(name)
        place = np.array(known[0] if known else self._world.position(percept.instead.get(name, name)))
        return place + percept.shift_m[name] if name in percept.shift_m else place

    def rotation(self, name: str) -> Vector:
        """How the policy believes it to lie, (3, 3)."""
        percept = self._injector.percept()
        if name in percept.frozen:
            return np.array(percept.frozen[name][1:])
        return np.array(self._world.rotation(percept.instead.get(name, name)))

    def yaw(self, name: str) -> float:
        """Its rotation about the vertical as the policy believes it, rad."""
        matrix = self.rotation(name)
        return float(np.arctan2(matrix[1, 0], matrix[0, 0]))

    def bounds(self, name: str) -> Vector:
        """The box around what the policy takes for it, (2, 3) m, in that thing's own frame."""
        return np.array(self._world.bounds(self._injector.percept().instead.get(name, name)))

    def surface(self, name: str) -> tuple[Vector, Vector]:
        """Where the policy believes that something can be put, of a scene that tells: middle and half size, (3,) m."""
        middle, half = self._world.surface(self._injector.percept().instead.get(name, name))
        return middle + self._off(name), half

    def bottom(self, name: str) -> float:
        """How high the policy believes a thing's lowest point, of a scene that tells, m."""
        found = float(self._world.bottom(self._injector.percept().instead.get(name, name)))
        return found + float(self._off(name)[2])

    def holds(self, fact: Fact) -> bool:
        """Whether the policy believes a predicate, by the poses that it believes where the scene judges by poses.

        A scene that judges in another way, as LIBERO does, is asked about what the policy takes the things for.
        """
        percept = self._injector.percept()
        if percept.clear:
            return bool(self._world.holds(fact))
        judge = getattr(self._world, "holds_as_seen", None)
        if judge is not None:
            return bool(judge(fact, self))
        try:
            return bool(self._world.holds((fact[0], *(percept.instead.get(name, name) for name in fact[1:]))))
        except LookupError:  # of what it takes for the thing no such question can be asked
            return False

    def _off(self, name: str) -> Vector:
        """How far what the policy takes for a thing is from where it believes it, (3,) m; nothing without a fault."""
        other = self._injector.percept().instead.get(name, name)
        return np.asarray(self.position(name) - self._world.position(other))

    def touching(self, first: str, second: str) -> bool:
        """Contact as the policy believes it."""
        percept = self._injector.percept()
        things = {first, second}
        if things & percept.held and things & set(FINGERS):
            return True
        instead = percept.instead
        return bool(self._world.touching(instead.get(first, first), instead.get(second, second)))


class SensedArm:
    """An arm through a policy's senses: its pose may be believed elsewhere."""

    def __init__(self, arm: Any, injector: Injector) -> None:
        self._arm, self._injector = arm, injector

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arm, name)

    @property
    def position(self) -> Vector:
        """Where the policy believes its grip site, (3,) m."""
        shift = self._injector.percept().arm_shift_m
        here = np.array(self._arm.position)
        return here if shift is None else here + shift
