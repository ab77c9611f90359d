"""Scripted players of the pick-and-place tasks, from privileged state.

`aim` is stateless: the phase follows from where the hand and the cube are, so an expert that uses
it recovers from anything: a rollback, another player's moves, a drop. `BelievingExpert` is what many
policies are: once it has closed the hand it believes that it holds the cube, and never looks again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from environments.robots import predicates
from environments.robots._robosuite import mujoco
from environments.robots.control import Arm
from environments.robots.scene import BOWL
from environments.robots.tabletop import CUBE_HALF_M, TABLE_Z_M, TabletopWorld, Vector

if TYPE_CHECKING:
    from environments.robots.tabletop_env import TabletopEnv

OPEN, CLOSE = -1.0, 1.0
HOVER_Z_M = TABLE_Z_M + 0.10
"""Height of the grip site before it descends: the tips clear a cube by 5 cm."""
CARRY_Z_M = TABLE_Z_M + 0.14
"""Height at which a cube is carried: its lower face clears the bowl's rim by 7 cm."""
GRASP_Z_M = TABLE_Z_M + CUBE_HALF_M
RELEASE_Z_M = TABLE_Z_M + BOWL.height_m + 0.015
"""Height at which the hand opens in the bowl: the cube falls about 2 cm, the fingers miss the rim."""
ALIGNED_M, ALIGNED_RAD = 0.010, math.radians(6)
"""Precise enough to descend: the open hand has 2 cm to spare on either side of a cube."""
BETWEEN_M = 0.03
"""Once down, this much is put right on the spot: the cube is still between the fingers."""
GAIN = 2.0
"""Commanded offset per metre of error; the controller then halves the error in about two steps."""

Phase = Literal["approach", "descend", "close", "lift", "transport", "lower", "open", "retreat"]


@dataclass(frozen=True, slots=True)
class Aim:
    """Where the hand should be and what the gripper should do."""

    phase: Phase
    position: Vector
    """Of the grip site, (3,) m."""
    yaw_rad: float
    """Turn still to make about the vertical."""
    gripper: float
    """-1 opens, +1 closes."""


def aim(world: TabletopWorld, arm: Arm) -> Aim:
    """The next waypoint of someone who sees everything."""
    cube, bowl = world.position("cube"), world.position("bowl")
    if predicates.grasped(world, "cube"):
        # While the hand closes, contact comes before force: lifting waits for the whole stroke.
        if arm.ramp < 0.9 and not _over(arm.position, bowl):
            return Aim("close", _at(cube, arm.position[2]), 0.0, CLOSE)
        return carry(arm, bowl)
    over = predicates.horizontal_gap(world, "cube", "bowl") < BOWL.floor_radius_m
    if over and (predicates.inside(world, "cube", "bowl") or arm.ramp < 0.9):
        return Aim("retreat", _at(arm.position, CARRY_Z_M), 0.0, OPEN)
    return fetch(arm, cube, world.yaw("cube"))


def fetch(arm: Arm, cube: Vector, cube_yaw: float) -> Aim:
    """Come from above, open, aligned with the cube's faces; then down; then close."""
    here, turn = arm.position, _turn_to(arm.rotation, cube_yaw)
    away = float(np.linalg.norm(here[:2] - cube[:2]))
    low = here[2] < HOVER_Z_M - 0.03
    aligned = away < (BETWEEN_M if low else ALIGNED_M) and abs(turn) < (3 if low else 1) * ALIGNED_RAD
    if not aligned:
        # A low hand goes up before it goes sideways, or it would push the cubes about.
        position = _at(here if low else cube, HOVER_Z_M)
        return Aim("approach", position, 0.0 if low else turn, OPEN)
    down = here[2] - cube[2] < 0.008
    if down and arm.velocity[2] > -0.05:
        return Aim("close", _at(cube, max(GRASP_Z_M, float(cube[2]))), 0.0, CLOSE)
    if arm.width_m < 0.06 and here[2] > cube[2] + 0.05:
        return Aim("approach", _at(cube, HOVER_Z_M), turn, OPEN)  # wait for the hand to open
    return Aim("descend", _at(cube, max(GRASP_Z_M, float(cube[2]))), turn, OPEN)


def carry(arm: Arm, bowl: Vector) -> Aim:
    """Up, across, down into the bowl, open: with what is in the hand, or is believed to be."""
    here = arm.position
    if _over(here, bowl):
        if here[2] > RELEASE_Z_M + 0.008:
            return Aim("lower", _at(bowl, RELEASE_Z_M), 0.0, CLOSE)
        return Aim("open", _at(bowl, RELEASE_Z_M), 0.0, OPEN)
    if here[2] < CARRY_Z_M - 0.03:
        return Aim("lift", _at(here, CARRY_Z_M), 0.0, CLOSE)
    return Aim("transport", _at(bowl, CARRY_Z_M), 0.0, CLOSE)


def native(arm: Arm, goal: Aim) -> list[float]:
    """One 7-D action towards an aim, keeping the hand vertical."""
    move = np.clip(GAIN * (goal.position - arm.position) / 0.05, -1.0, 1.0)
    turn = np.clip(GAIN * upright_error(arm.rotation, goal.yaw_rad) / 0.5, -1.0, 1.0)
    return [float(np.float32(value)) for value in (*move, *turn, goal.gripper)]


def skill(arm: Arm, goal: Aim) -> dict[str, Any]:
    """One semantic action towards an aim."""
    if goal.phase in ("close", "open") or (goal.gripper == OPEN and arm.ramp > -0.9):
        return {"skill": "gripper", "state": "open" if goal.gripper == OPEN else "close"}
    if abs(goal.yaw_rad) > ALIGNED_RAD / 2:
        return {"skill": "turn", "yaw_deg": round(math.degrees(goal.yaw_rad), 1)}
    step = np.clip(np.round(100 * (goal.position - arm.position), 1), -15.0, 15.0) + 0.0
    return {"skill": "move", "dx_cm": float(step[0]), "dy_cm": float(step[1]), "dz_cm": float(step[2])}


def upright_error(rotation: Vector, yaw_rad: float = 0.0) -> Vector:
    """The rotation (axis times angle, world frame) that makes the hand vertical and turns it by `yaw_rad`."""
    level = rotation[:, 0].copy()
    level[2] = 0.0
    level /= np.linalg.norm(level)
    turned = np.array([math.cos(yaw_rad) * level[0] - math.sin(yaw_rad) * level[1],
                       math.sin(yaw_rad) * level[0] + math.cos(yaw_rad) * level[1], 0.0])  # fmt: skip
    down = np.array([0.0, 0.0, -1.0])
    goal = np.stack([turned, np.cross(down, turned), down], axis=1)
    quat, vector = np.empty(4), np.empty(3)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(goal @ rotation.T).ravel())
    mujoco.mju_quat2Vel(vector, quat, 1.0)
    return vector


def _turn_to(rotation: Vector, cube_yaw: float) -> float:
    """The smallest turn that brings the fingers parallel to two faces of a cube, within +-45 degrees."""
    quarter = math.pi / 2
    error = cube_yaw - heading(rotation)
    return (error + quarter / 2) % quarter - quarter / 2


def _over(here: Vector, bowl: Vector) -> bool:
    return float(np.linalg.norm(here[:2] - bowl[:2])) < 0.015


def _at(place: Sequence[float] | Vector, z: float) -> Vector:
    return np.array([place[0], place[1], z])


class BelievingExpert:
    """A scripted policy that does not re-check its grasp, as many learned policies do not.

    It looks at the cube until it has closed the hand; from then on it acts on its belief. `reset`
    forms the belief anew from what is true now (a policy that is resumed after a rollback looks at
    the scene once), so it can take over at any moment.
    """

    def __init__(self, env: TabletopEnv) -> None:
        self._env = env
        self._belief: Literal["empty", "closing", "held", "opening", "done"] = "empty"
        self._since = 0
        self._spot = np.zeros(3)

    def reset(self) -> None:
        """Forget everything; believe what is true now."""
        world, arm = self._env.world, self._env.arm
        self._since = 0
        self._spot = arm.position
        if predicates.grasped(world, "cube"):
            self._belief = "held" if arm.ramp > 0.9 else "closing"
        else:
            self._belief = "done" if predicates.inside(world, "cube", "bowl") else "empty"

    def act(self) -> list[float]:
        """The next 7-D action."""
        world, arm = self._env.world, self._env.arm
        bowl = world.position("bowl")
        self._since += 1
        if self._belief == "empty":
            goal = fetch(arm, world.position("cube"), world.yaw("cube"))
            if goal.phase == "close":
                self._spot = goal.position
                self._believe("closing")
        elif self._belief == "closing":
            goal = Aim("close", self._spot, 0.0, CLOSE)
            if self._since > CLOSE_STEPS:
                self._believe("held")
        elif self._belief == "held":
            goal = carry(arm, bowl)
            if goal.phase == "open":
                self._believe("opening")
        elif self._belief == "opening":
            goal = Aim("open", _at(bowl, RELEASE_Z_M), 0.0, OPEN)
            if self._since > CLOSE_STEPS:
                self._believe("done")
        else:
            goal = Aim("retreat", _at(arm.position, CARRY_Z_M), 0.0, OPEN)
        return native(arm, goal)

    def _believe(self, belief: Literal["closing", "held", "opening", "done"]) -> None:
        self._belief, self._since = belief, 0


CLOSE_STEPS = 9
"""Control steps of a full stroke of the gripper (8), and one more."""


def heading(rotation: Vector) -> float:
    """The hand's turn about the vertical, rad."""
    return math.atan2(rotation[1, 0], rotation[0, 0])


def wrap(angle: float) -> float:
    """The same angle within -pi..pi."""
    return (angle + math.pi) % (2 * math.pi) - math.pi
