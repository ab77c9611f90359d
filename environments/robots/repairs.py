"""Repairs that an arm carries out itself, natively and in bounded steps: let go and rise, or shift the hand.

Like a rewind they know nothing but what the robot measures. Each step moves the hand by at most 5 cm (a native action
of +-1), and the whole lasts a bounded number of steps, whether it comes to its goals or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from environments.robots.world import CLOSE, MOVE_M, OPEN, STROKE_STEPS, Vector

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv

LIFT_M = 0.08
"""A hand that has let go rises by this much before it looks afresh."""
CLEARANCE_M = 0.03
"""Before it is shifted sideways, a hand rises by this much, and comes down again."""
NEAR_M = 0.005
"""So near to a goal is there."""
_LEG_STEPS = 12
"""Steps that one leg may take beyond those that its length asks for."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One stretch of a repair."""

    goal: Vector | None
    """Of the grip site, (3,) m, world frame; None: stay."""
    gripper: float
    steps: int
    """At most; for a leg that stays, exactly."""


class Manoeuvre:
    """A repair under way: ask for an `action`, play it by `env.override`, say so by `moved`, until `done`.

    Args:
        env: the running episode, behind the native space.
        legs: in order.
    """

    def __init__(self, env: RobotEnv, legs: Sequence[Leg]) -> None:
        self._arm, self._legs = env.arm, list(legs)
        self._left = self._legs[0].steps if self._legs else 0
        self.steps = 0
        """Control steps that were taken."""

    @property
    def done(self) -> bool:
        """Whether nothing is left to be done."""
        return not self._legs

    def action(self) -> list[float]:
        """The next native action, seven numbers in [-1, 1]."""
        from environments.robots import motion  # loads MuJoCo

        leg = self._legs[0]
        goal = np.array(self._arm.position) if leg.goal is None else leg.goal
        return motion.native(self._arm, motion.Aim("repair", goal, 0.0, leg.gripper))

    def moved(self) -> None:
        """Take note that the action was played."""
        self.steps += 1
        self._left -= 1
        leg = self._legs[0]
        there = leg.goal is not None and float(np.linalg.norm(leg.goal - self._arm.position)) <= NEAR_M
        if there or self._left <= 0:
            del self._legs[0]
            self._left = self._legs[0].steps if self._legs else 0


def regrasp(env: RobotEnv) -> Manoeuvre:
    """Open the hand where it is, then rise: whoever plays on can look afresh and grasp again."""
    above = np.array(env.arm.position) + np.array([0.0, 0.0, LIFT_M])
    return Manoeuvre(env, [Leg(None, OPEN, STROKE_STEPS), Leg(above, OPEN, _steps(LIFT_M) + _LEG_STEPS)])


def offset(env: RobotEnv, offset_m: Sequence[float], frame: str, apply_steps: int) -> Manoeuvre:
    """Shift the hand, the gripper told the same as before; sideways only with clearance.

    Args:
        env: the running episode.
        offset_m: (3,).
        frame: `world` and `base` are alike here; `eef` is the hand's own.
        apply_steps: control steps for the shift; more where +-1 would not do.
    """
    here = np.array(env.arm.position)
    shift = np.asarray(offset_m, dtype=np.float64)
    if frame == "eef":
        shift = np.asarray(env.arm.rotation) @ shift
    grip = CLOSE if env.command > 0 else OPEN
    goal = here + shift
    steps = max(apply_steps, _steps(float(np.abs(shift).max())))
    if float(np.linalg.norm(shift[:2])) < NEAR_M:
        return Manoeuvre(env, [Leg(goal, grip, steps + _LEG_STEPS)])
    up = np.array([0.0, 0.0, CLEARANCE_M])
    rise = _steps(CLEARANCE_M) + _LEG_STEPS
    return Manoeuvre(env, [Leg(here + up, grip, rise), Leg(goal + up, grip, steps + _LEG_STEPS), Leg(goal, grip, rise)])


def begin(env: RobotEnv, repair: dict[str, Any]) -> Manoeuvre | None:
    """The manoeuvre that a diagnosis' repair asks of the arm; None for repairs that move nothing."""
    if repair["kind"] == "regrasp":
        return regrasp(env)
    if repair["kind"] == "offset":
        return offset(env, repair["offset_m"], repair.get("frame", "world"), int(repair["apply_steps"]))
    return None


def settings() -> dict[str, Any]:
    """Everything that changes how a repair is carried out, as JSON values; part of an episode's identity."""
    return {"lift_m": LIFT_M, "clearance_m": CLEARANCE_M, "near_m": NEAR_M, "leg_steps": _LEG_STEPS}


def _steps(length_m: float) -> int:
    """Control steps that a way takes at least at +-1."""
    return max(1, int(np.ceil(length_m / MOVE_M)))
