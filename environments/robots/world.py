"""What the robot environment asks of a simulated scene and of an arm; two engines' builds fulfil it.

`RobotEnv` (robot_env), the predicates, the motion primitives of the expert and the semantic skills know
these protocols and nothing else, so that they work on our tabletop and on the real LIBERO alike.

Frames and units: metres, radians, robosuite's world frame: the robot's base is at negative x and looks
along +x, +y is to its left, +z is up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from environments.robots.steps import Fact as Fact

Vector = NDArray[np.float64]

OPEN, CLOSE = -1.0, 1.0
"""Gripper commands of the native action."""
CONTROL_HZ = 20
"""LIBERO's control rate: one action lasts 50 ms, 25 physics substeps of 2 ms."""
MOVE_M, TURN_RAD = 0.05, 0.5
"""What +-1 of a native action asks for (OSC_POSE as LIBERO sets it)."""
STROKE_STEPS = 12
"""Control steps of a full stroke of the gripper: 8 of command, and 4 for the fingers to follow."""
CLOSE_STEPS = 9
"""Control steps after which a hand that closes may be believed closed: the 8 of command, and one more."""
Workspace = tuple[tuple[float, float, float], tuple[float, float, float]]
"""Lowest and highest x, y, z that the grip site may be sent to, in metres."""
FINGERS = ("left_finger", "right_finger")
"""What `World.touching` calls the two fingers."""


class World(Protocol):
    """A scene: named objects that move freely, fixtures that stand fast (their parts may slide or turn), regions."""

    @property
    def mj_model(self) -> Any:
        """The compiled `mujoco.MjModel`."""

    @property
    def mj_data(self) -> Any:
        """Its `mujoco.MjData`."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the free objects."""

    @property
    def fixtures(self) -> tuple[str, ...]:
        """Names of what stands fast."""

    @property
    def regions(self) -> tuple[str, ...]:
        """Names of places that goals speak of, such as the inside of a drawer; they move with their part."""

    def position(self, name: str) -> Vector:
        """Where an object's, fixture's or region's frame is, (3,) m."""

    def rotation(self, name: str) -> Vector:
        """Its orientation, (3, 3)."""

    def velocity(self, name: str) -> Vector:
        """Linear and angular velocity of a free object, (6,) m/s and rad/s."""

    def bounds(self, name: str) -> Vector:
        """The box around its solid parts in its own frame, (2, 3) m: lowest and highest corner."""

    def joints(self, name: str) -> Mapping[str, tuple[float, float, float]]:
        """Drawers, doors and knobs of a fixture, or of the part a region belongs to: position, lowest, highest."""

    def touching(self, first: str, second: str) -> bool:
        """Whether two of: objects, fixtures, `left_finger`, `right_finger` are in contact now."""

    def holds(self, fact: Fact) -> bool:
        """Whether a predicate of a goal holds, as this build's own judge says."""

    def after_step(self) -> None:
        """Called once at the end of each control step, when poses and contacts are those of now."""

    def memory(self) -> Mapping[str, Any]:
        """What the scene remembers beyond MuJoCo's state and model, as JSON values; goes into snapshots."""

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Put back what `memory` returned; MuJoCo's state is back already."""


class Arm(Protocol):
    """A Panda under LIBERO's native action. Outside `step`, poses are those of the present state."""

    @property
    def position(self) -> Vector:
        """Of the grip site between the finger tips, (3,) m."""

    @property
    def rotation(self) -> Vector:
        """Of the grip site, (3, 3): the first column is the line between the fingers, the third points out."""

    @property
    def hand_axis_angle(self) -> Vector:
        """Orientation of the hand's body as LIBERO reports it, (3,) rad, not folded."""

    @property
    def velocity(self) -> Vector:
        """Linear velocity of the grip site, (3,) m/s."""

    @property
    def fingers(self) -> Vector:
        """The two finger joints, (2,) m, of opposite sign."""

    @property
    def width_m(self) -> float:
        """The gap between the finger pads, 0 to 0.08."""

    @property
    def ramp(self) -> float:
        """The gripper command now, -1 open to 1 closed: it needs eight control steps for a full stroke."""

    def step(self, action: Sequence[float]) -> None:
        """One control step of 50 ms with seven numbers in [-1, 1]; see `NativeActions`."""

    def hold(self) -> None:
        """Make the present pose the goal."""

    def read(self) -> Mapping[str, Vector]:
        """Everything the controller and the gripper remember beyond MuJoCo's state, as float64 arrays."""

    def write(self, arrays: Mapping[str, Vector]) -> None:
        """Put back what `read` returned, after MuJoCo's state.

        Raises:
            KeyError, ValueError: for a part that is missing or has another shape; nothing has changed then.
        """


class Progress(Protocol):
    """The judge of an episode: milestones, score and stage, from the world's own state."""

    def begin(self) -> None:
        """Forget the last episode."""

    def note(self, command: float) -> None:
        """Look at the world after a control step; `command` is the gripper's, -1 open, 0 none, 1 close."""

    def milestones(self) -> frozenset[str]:
        """Reached so far."""

    def score(self) -> float:
        """0..100, as far as this episode has come so far."""

    def success(self) -> bool:
        """Whether the goal holds now."""

    def stage(self) -> str:
        """What the episode is about now, for example `reach`, `grasp`, `transport`."""

    def state(self) -> Mapping[str, Any]:
        """What it remembers, as JSON values; floats survive JSON exactly."""

    def load(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` returned.

        Raises:
            KeyError, TypeError, ValueError: if something else is given; nothing has changed then.
        """
