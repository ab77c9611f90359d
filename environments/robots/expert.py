"""Scripted players of the pick-and-place tasks, from privileged state.

`aim` is stateless: the phase follows from where the hand and the cube are, so an expert that uses
it recovers from anything: a rollback, another player's moves, a drop. `BelievingExpert` is what many
policies are: once it has closed the hand it believes that it holds the cube, and never looks again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from environments.robots import predicates
from environments.robots.motion import ALIGNED_M, ALIGNED_RAD, CLOSE, OPEN, Aim, at, heading, native
from environments.robots.scene import BOWL
from environments.robots.tabletop import CUBE_HALF_M, TABLE_Z_M, TabletopWorld
from environments.robots.world import CLOSE_STEPS, Arm, Vector

if TYPE_CHECKING:
    from environments.robots.believing import BelievingPlayer
    from environments.robots.libero.env import LiberoEnv
    from environments.robots.robot_env import RobotEnv
    from environments.robots.tabletop_env import TabletopEnv

HOVER_Z_M = TABLE_Z_M + 0.10
"""Height of the grip site before it descends: the tips clear a cube by 5 cm."""
CARRY_Z_M = TABLE_Z_M + 0.14
"""Height at which a cube is carried: its lower face clears the bowl's rim by 7 cm."""
GRASP_Z_M = TABLE_Z_M + CUBE_HALF_M
RELEASE_Z_M = TABLE_Z_M + BOWL.height_m + 0.015
"""Height at which the hand opens in the bowl: the cube falls about 2 cm, the fingers miss the rim."""
BETWEEN_M = 0.03
"""Once down, this much is put right on the spot: the cube is still between the fingers."""


def aim(world: TabletopWorld, arm: Arm) -> Aim:
    """The next waypoint of someone who sees everything."""
    cube, bowl = world.position("cube"), world.position("bowl")
    if predicates.grasped(world, "cube"):
        # While the hand closes, contact comes before force: lifting waits for the whole stroke.
        if arm.ramp < 0.9 and not _over(arm.position, bowl):
            return Aim("close", at(cube, arm.position[2]), 0.0, CLOSE)
        return carry(arm, bowl)
    over = predicates.horizontal_gap(world, "cube", "bowl") < BOWL.floor_radius_m
    if over and (predicates.inside(world, "cube", "bowl") or arm.ramp < 0.9):
        return Aim("retreat", at(arm.position, CARRY_Z_M), 0.0, OPEN)
    return fetch(arm, cube, world.yaw("cube"))


def fetch(arm: Arm, cube: Vector, cube_yaw: float) -> Aim:
    """Come from above, open, aligned with the cube's faces; then down; then close."""
    here, turn = arm.position, _turn_to(arm.rotation, cube_yaw)
    away = float(np.linalg.norm(here[:2] - cube[:2]))
    low = here[2] < HOVER_Z_M - 0.03
    aligned = away < (BETWEEN_M if low else ALIGNED_M) and abs(turn) < (3 if low else 1) * ALIGNED_RAD
    if not aligned:
        # A low hand goes up before it goes sideways, or it would push the cubes about.
        position = at(here if low else cube, HOVER_Z_M)
        return Aim("approach", position, 0.0 if low else turn, OPEN)
    down = here[2] - cube[2] < 0.008
    if down and arm.velocity[2] > -0.05:
        return Aim("close", at(cube, max(GRASP_Z_M, float(cube[2]))), 0.0, CLOSE)
    if arm.width_m < 0.06 and here[2] > cube[2] + 0.05:
        return Aim("approach", at(cube, HOVER_Z_M), turn, OPEN)  # wait for the hand to open
    return Aim("descend", at(cube, max(GRASP_Z_M, float(cube[2]))), turn, OPEN)


def carry(arm: Arm, bowl: Vector) -> Aim:
    """Up, across, down into the bowl, open: with what is in the hand, or is believed to be."""
    here = arm.position
    if _over(here, bowl):
        if here[2] > RELEASE_Z_M + 0.008:
            return Aim("lower", at(bowl, RELEASE_Z_M), 0.0, CLOSE)
        return Aim("open", at(bowl, RELEASE_Z_M), 0.0, OPEN)
    if here[2] < CARRY_Z_M - 0.03:
        return Aim("lift", at(here, CARRY_Z_M), 0.0, CLOSE)
    return Aim("transport", at(bowl, CARRY_Z_M), 0.0, CLOSE)


def _turn_to(rotation: Vector, cube_yaw: float) -> float:
    """The smallest turn that brings the fingers parallel to two faces of a cube, within +-45 degrees."""
    quarter = math.pi / 2
    error = cube_yaw - heading(rotation)
    return (error + quarter / 2) % quarter - quarter / 2


def _over(here: Vector, bowl: Vector) -> bool:
    return float(np.linalg.norm(here[:2] - bowl[:2])) < 0.015


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
        world, arm = self._perceived()
        self._since = 0
        self._spot = arm.position
        if predicates.grasped(world, "cube"):
            self._belief = "held" if arm.ramp > 0.9 else "closing"
        else:
            self._belief = "done" if predicates.inside(world, "cube", "bowl") else "empty"

    def act(self) -> list[float]:
        """The next 7-D action."""
        world, arm = self._perceived()
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
            goal = Aim("open", at(bowl, RELEASE_Z_M), 0.0, OPEN)
            if self._since > CLOSE_STEPS:
                self._believe("done")
        else:
            goal = Aim("retreat", at(arm.position, CARRY_Z_M), 0.0, OPEN)
        return native(arm, goal)

    def _perceived(self) -> tuple[TabletopWorld, Arm]:
        world, arm = self._env.senses
        return cast("TabletopWorld", world), arm  # it passes on all that it does not alter

    def _believe(self, belief: Literal["closing", "held", "opening", "done"]) -> None:
        self._belief, self._since = belief, 0


def believing_player(env: RobotEnv) -> BelievingExpert | BelievingPlayer:
    """The policy that does not re-check, for any tabletop task and for LIBERO's that have an expert."""
    if "libero" in env.task.tags:
        from environments.robots.libero.believing import LiberoBelievingPlayer

        return LiberoBelievingPlayer(cast("LiberoEnv", env))
    from environments.robots.suite.believing import SuiteBelievingPlayer
    from environments.robots.suite.env import SuiteEnv

    return SuiteBelievingPlayer(env) if isinstance(env, SuiteEnv) else BelievingExpert(cast("TabletopEnv", env))
