"""The semantic actions of an arm: what a person would tell it, in centimetres and degrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.robots import motion
from environments.robots.world import STROKE_STEPS, Arm, Vector, Workspace, World

SKILL_STEPS = 30
"""A skill ends after this many control steps at the latest."""
ARRIVED_M, ARRIVED_RAD = 0.003, 0.03

Centimetres = Annotated[float, Field(ge=-15.0, le=15.0)]


class EpisodeOver(Exception):
    """Raised by a control step to break off a skill or gesture: the episode has ended in the middle of it."""


class _Skill(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Move(_Skill):
    """Move the hand in a straight line."""

    skill: Literal["move"]
    dx_cm: Centimetres = 0.0
    """Away from the robot's base, that is towards the viewer of `agentview`."""
    dy_cm: Centimetres = 0.0
    """To the robot's left, that is to the right in `agentview`."""
    dz_cm: Centimetres = 0.0
    """Up."""


class Turn(_Skill):
    """Turn the hand about the vertical; positive is counter-clockwise seen from above."""

    skill: Literal["turn"]
    yaw_deg: Annotated[float, Field(ge=-90.0, le=90.0)]


class Gripper(_Skill):
    """Open or close the gripper completely."""

    skill: Literal["gripper"]
    state: Literal["open", "close"]


class SkillAction(RootModel[Annotated[Move | Turn | Gripper, Field(discriminator="skill")]]):
    """One skill of the robot arm; it runs until it is done or its time is up.

    move(dx_cm, dy_cm, dz_cm): the hand, each -15..15 cm; +x is away from the robot's base (down in
    the agentview picture, towards its viewer), +y is right in the agentview picture, +z is up.
    turn(yaw_deg): the hand about the vertical, -90..90, counter-clockwise seen from above.
    gripper(state): "open" or "close", completely.
    For example {"skill": "move", "dx_cm": 4.5, "dy_cm": -10, "dz_cm": 0} or
    {"skill": "gripper", "state": "close"}. A move that would leave the workspace is refused.
    """


class Skills:
    """Carries skills out with the native action, on any arm in any scene."""

    def __init__(
        self,
        world: World,
        arm: Arm,
        workspace: Workspace,
        control: Callable[[list[float]], None],
        command: Callable[[], float],
    ) -> None:
        """Nothing moves yet.

        Args:
            world: the scene.
            arm: that moves.
            workspace: lowest and highest x, y, z of the grip site.
            control: one control step of the environment, with a native action.
            command: the gripper's last command.
        """
        self._world, self._arm, self._workspace = world, arm, workspace
        self._control, self._command = control, command

    def perform(self, skill: Move | Turn | Gripper) -> str | None:
        """Run one skill to its end; the reason, if it is refused."""
        arm = self._arm
        command = self._command() or motion.OPEN
        if isinstance(skill, Gripper):
            goal = arm.position
            for _ in range(STROKE_STEPS):
                closing = motion.CLOSE if skill.state == "close" else motion.OPEN
                self._control(motion.native(arm, motion.Aim("close", goal, 0.0, closing)))
            return None
        if isinstance(skill, Move):
            goal = arm.position + np.array([skill.dx_cm, skill.dy_cm, skill.dz_cm]) / 100
            refusal = self._outside(goal)
            if refusal:
                return refusal
            yaw = 0.0
        else:
            goal, yaw = arm.position, np.radians(skill.yaw_deg)
        start = motion.heading(arm.rotation)
        for _ in range(SKILL_STEPS):
            turned = motion.wrap(motion.heading(arm.rotation) - start)
            rest = motion.Aim("approach", goal, float(yaw - turned), command)
            self._control(motion.native(arm, rest))
            left = float(np.linalg.norm(goal - arm.position))
            still = abs(yaw - motion.wrap(motion.heading(arm.rotation) - start))
            if left < ARRIVED_M and still < ARRIVED_RAD and np.linalg.norm(arm.velocity) < 0.05:
                break
        return None

    def _outside(self, goal: Vector) -> str | None:
        """Why the hand may not be sent there, or None."""
        for axis, value, low, high in zip("xyz", goal, *self._workspace, strict=True):
            if not low <= value <= high:
                limits = f"{100 * low:.0f} to {100 * high:.0f}"
                return f"out of workspace: {axis} would be {100 * value:.1f} cm, allowed is {limits}"
        return None
