"""Going back as a real robot can: the arm retraces the path that it came by, and the objects stay where they are.

A rewind knows nothing but what the robot itself measures (where its grip site is and how it is turned) and what it has
commanded (the gripper). It is played through the same controller as the policy's own actions, one control step at a
time, and may fail: an arm that something holds back is `blocked`.

The gripper keeps its present command on the way, so that what is held stays held, and what was dropped is not picked up
in passing. At the target the gripper is given the command that it had there, and the hand waits until the fingers had
the time to follow. Letting go on the way, or grasping again, is the affair of a repair or of the policy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from environments.robots.world import STROKE_STEPS, Arm, Vector

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv

ARRIVED_M, ARRIVED_RAD = 0.005, math.radians(3)
"""How near to the target's pose the hand is to come."""
PASSED_M, PASSED_RAD = 0.02, math.radians(10)
"""How near to a pose on the way before the next one is aimed at: corners of the path are cut by about that much."""
NEARER_M, RAD_M = 0.001, 0.1
"""Coming nearer by less is no progress; a radian is as far as so many metres."""
BLOCKED_STEPS = 20
"""Control steps (one second) without progress after which the arm counts as blocked."""
SLACK_STEPS = 40
"""Control steps that a rewind may take beyond twice those that the path took."""

End = Literal["reached", "blocked", "out of steps"]
"""How a rewind ended."""


def settings() -> dict[str, Any]:
    """Everything that changes how a path is retraced, as JSON values; part of an episode's identity."""
    return {
        "arrived": [ARRIVED_M, ARRIVED_RAD],
        "passed": [PASSED_M, PASSED_RAD],
        "nearer": [NEARER_M, RAD_M],
        "steps": [BLOCKED_STEPS, SLACK_STEPS, STROKE_STEPS],
    }


@dataclass(frozen=True, slots=True)
class Waypoint:
    """Where the arm was at a moment, by its own sensors, and what its gripper was told."""

    position: Vector
    """Of the grip site, (3,) m, world frame."""
    rotation: Vector
    """Of the grip site, (3, 3)."""
    gripper: float
    """Last command: -1 open, 0 none, 1 close."""

    @classmethod
    def of(cls, env: RobotEnv) -> Waypoint:
        """Where an environment's arm is now."""
        return cls(np.array(env.arm.position), np.array(env.arm.rotation), env.command)

    def off(self, arm: Arm) -> tuple[float, float]:
        """How far the arm is from it: metres and radians."""
        cosine = (float(np.trace(self.rotation.T @ arm.rotation)) - 1.0) / 2.0
        return float(np.linalg.norm(self.position - arm.position)), math.acos(max(-1.0, min(1.0, cosine)))


class Rewind:
    """One way back, from where the arm is now.

    Ask for an `action`, play it by `env.override`, say so by `moved`; until `end` is set.

    Args:
        env: the running episode, behind the native space.
        path: where the arm has been, the latest first; the last one is the target.
        max_steps: control steps at most; None takes twice the length of the path and `SLACK_STEPS`.

    Raises:
        ValueError: for an empty path.
    """

    def __init__(self, env: RobotEnv, path: Sequence[Waypoint], max_steps: int | None = None) -> None:
        if not path:
            raise ValueError("a rewind needs a path: at least the waypoint to go back to")
        self._arm, self._path = env.arm, tuple(path)
        own = 2 * len(self._path) + SLACK_STEPS
        self._left = own if max_steps is None else min(own, max_steps)
        self._held = env.command
        self._stroke = STROKE_STEPS if path[-1].gripper not in (0.0, env.command) else 0
        self._best, self._idle = math.inf, 0
        self._settling = False  # at the target, and the fingers are moving
        self.at = 0
        """Which waypoint of the path the arm is on its way to, or has come to."""
        self.steps = 0
        """Control steps that were taken."""
        self.end: End | None = None
        """How it ended, or None while it lasts."""
        self._look()

    @property
    def off(self) -> tuple[float, float]:
        """How far the hand is from the target: metres and radians."""
        return self._path[-1].off(self._arm)

    def action(self) -> list[float]:
        """The next native action, seven numbers in [-1, 1]."""
        from environments.robots import motion  # loads MuJoCo, which nobody needs who only reads `settings`

        goal = self._path[self.at]
        command = goal.gripper if self._settling else self._held
        aim = motion.Posed("rewind", goal.position, 0.0, command, goal.rotation)
        return motion.native(self._arm, aim)

    def moved(self) -> None:
        """Take note that the action was played."""
        self.steps += 1
        self._left -= 1
        if self._settling:
            self._stroke -= 1
        self._look()

    def _arrived(self) -> bool:
        metres, radians = self.off
        return self.at == len(self._path) - 1 and metres <= ARRIVED_M and radians <= ARRIVED_RAD

    def _look(self) -> None:
        """See how far the arm has come."""
        while self.at < len(self._path) - 1 and self._near(self._path[self.at]):
            self.at += 1
            self._best = math.inf
        self._settling = self._settling or self._arrived()
        metres, radians = self._path[self.at].off(self._arm)
        distance = metres + RAD_M * radians
        nearer = distance < self._best - NEARER_M or self._settling
        self._best, self._idle = (min(distance, self._best), 0) if nearer else (self._best, self._idle + 1)
        if self._settling and not self._stroke:
            self.end = "reached"
        elif self._idle > BLOCKED_STEPS:
            self.end = "blocked"
        elif self._left <= 0:
            self.end = "out of steps"

    def _near(self, waypoint: Waypoint) -> bool:
        metres, radians = waypoint.off(self._arm)
        return metres <= PASSED_M and radians <= PASSED_RAD
