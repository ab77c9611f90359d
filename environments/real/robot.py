"""What a robot is to the arena: seven calls, and the values that they exchange. Implement `Robot` for your hardware.

Frames and units are those of the native action (`environments.robots.world`): metres, radians, a world frame in which
the base looks along +x, +y is to its left and +z is up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Pixels = NDArray[np.uint8]
"""(H, W, 3), RGB, upright: the first row is the top."""

PROTOCOL = "arena-robot/1"
"""Name and version of the wire form. A server and a client of different ones refuse each other."""
WATCHDOG_S = 0.5
"""A robot that is in motion and hears no action for so long holds its pose."""
ACTION_SIZE = 7

Judge = Literal["operator", "check"]
"""Who says whether the goal is reached: a person, or a check that the team declares (a scale, a switch, a marker)."""


class RobotFault(Exception):
    """Raise it from any method of a `Robot` to say what is wrong; the episode ends unscored, with these words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a robot is, said once when a client connects."""

    name: str
    """What the record calls it: one line of at most 100 characters."""
    cameras: Mapping[str, tuple[int, int]]
    """Height and width in pixels of each camera's pictures, by the camera's name; at most 8 cameras."""
    rate_hz: float
    """Control rate: `act` lasts 1 / `rate_hz` seconds. LIBERO's is 20."""
    low: tuple[float, ...] = (-1.0,) * ACTION_SIZE
    """Smallest action that the robot carries out; a client's is clipped to it, and told so."""
    high: tuple[float, ...] = (1.0,) * ACTION_SIZE
    """Largest."""
    workspace: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None
    """Lowest and highest x, y, z of the grip site in metres: motion further out is taken from an action. None: no
    check by the server, because the robot has its own."""
    judge: Judge = "operator"
    """Who decides on success."""
    check: str = ""
    """What the declared check looks at, in words; empty for an operator."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One camera's view."""

    time_s: float
    """When it was taken, on the clock of `Reading.time_s`."""
    pixels: Pixels
    """(H, W, 3) uint8, RGB, upright."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the robot's own sensors say at a moment: no object, no truth."""

    time_s: float
    """When the joints were read: a monotonic clock of the robot's, in seconds."""
    position: Vector
    """Of the grip site between the finger tips, (3,) m."""
    rotation: Vector
    """Of the grip site, (3, 3): the first column is the line between the fingers, the third points out of the hand."""
    axis_angle: Vector
    """Orientation of the hand as LIBERO reports it, axis times angle, (3,) rad."""
    velocity: Vector
    """Of the grip site, (3,) m/s."""
    fingers: Vector
    """The two finger joints, (2,) m, of opposite sign: their difference is the gap between the pads."""
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    """Of the cameras that were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the operator is asked to set up."""

    instruction: str
    """The goal in words, as the policy is told it."""
    seed: int
    """Which initial state: a number that the operator's own list of layouts is looked up with."""


class Robot(Protocol):
    """A robot arm. The server calls it from one thread, one call at a time, but for `stop`."""

    def describe(self) -> Description:
        """What it is. Called once; must not move anything."""
        ...

    def reset(self, scene: Scene) -> None:
        """Ask the operator to set the scene, wait until it is confirmed, and bring the arm to its start pose.

        Nothing may move before the operator has confirmed. An emergency stop is released here and nowhere else.

        Raises:
            RobotFault: if the operator declines, or the arm cannot be brought there.
        """
        ...

    def observe(self, cameras: Sequence[str]) -> Reading:
        """Read the sensors now, with pictures of these cameras; none are named by who only wants the arm."""
        ...

    def act(self, action: Vector) -> None:
        """Carry out one action for one control period, and return when it is over.

        Args:
            action: (7,), within the limits of `describe`. Three translations (+-1 is +-5 cm), three rotations (+-1 is
                +-0.5 rad), the gripper (-1 opens, +1 closes).

        Raises:
            RobotFault: if the arm reports a fault.
        """
        ...

    def hold(self) -> None:
        """Pause: keep the present pose and the present grip until the next action."""
        ...

    def stop(self) -> None:
        """Emergency stop: end all motion at once. Called from any thread, also while another call runs."""
        ...

    def success(self, final: bool) -> bool | None:
        """Whether the goal is reached.

        Args:
            final: the episode is over: ask the operator and wait. Else answer at once, None for "not known yet".
        """
        ...
