"""The suite's tasks as environments: observations, actions and snapshots are `RobotEnv`'s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from environments.actions.spec import Action, TypedActions
from environments.facts import Facts
from environments.robots import motion
from environments.robots.control import PandaArm
from environments.robots.facts import scene_facts
from environments.robots.object_skills import ObjectSkillAction, ObjectSkills
from environments.robots.rendering import Quality
from environments.robots.robot_env import RobotEnv
from environments.robots.suite.catalogue import ALL
from environments.robots.suite.hands import SuiteHands
from environments.robots.suite.progress import StepsProgress
from environments.robots.suite.spec import label
from environments.robots.suite.world import SuiteWorld
from environments.robots.teleop_env import VIEW_PX, TeleopEnv
from environments.robots.world import STROKE_STEPS
from environments.task import ActionSpace, Task

WORKSPACE_M = ((-0.35, -0.38, 0.805), (0.28, 0.38, 1.20))
"""Where the grip site may be sent by a skill: lowest and highest x, y, z."""
SETTLING_STEPS = 4
"""Control steps in which each episode's things come to rest."""

_TASKS = {task.id: task for task in ALL}


def make_suite(task: Task, space: ActionSpace) -> SuiteEnv | TeleopEnv:
    """Build a task of the suite; `task.params` are keyword arguments of `SuiteEnv`."""
    if space == ActionSpace.GUI:
        return TeleopEnv(SuiteEnv(task, ActionSpace.NATIVE, **{**task.params, "size": VIEW_PX}))
    return SuiteEnv(task, space, **task.params)


class SuiteEnv(RobotEnv):
    """A task of the suite; the score is that of `StepsProgress`.

    Pictures are upright, where LIBERO's policies were trained on mirrored ones: whoever plays such a policy mirrors
    them (`picture[:, ::-1]`; see `libero.view`).
    """

    world: SuiteWorld
    arm: PandaArm
    progress: StepsProgress

    def __init__(self, task: Task, space: ActionSpace, *, size: int = 256, quality: Quality = "fast") -> None:
        """Build the world, in a second.

        Raises:
            LookupError: for a task that the suite does not have.
        """
        self.suite_task = _TASKS[task.id]
        world = SuiteWorld(self.suite_task.things)
        world.place(np.random.default_rng(0))
        arm = PandaArm(world)
        progress = StepsProgress(world, arm, tuple(self.suite_task.steps))
        super().__init__(task, space, world, arm, progress, workspace=WORKSPACE_M, size=size, quality=quality)
        self._hands = SuiteHands(progress.plan)
        if space == ActionSpace.SEMANTIC:
            self.action_space = TypedActions(ObjectSkillAction)
            self._skills = ObjectSkills(
                world, arm, WORKSPACE_M, lambda action: self._control(action), lambda: self._command, self._hands
            )
        for _ in range(STROKE_STEPS):  # the hand opens, once for all episodes
            arm.step([0.0] * 6 + [motion.OPEN])
        self._start = self._pack_world()

    def aim(self) -> motion.Aim:
        """Where an expert that sees everything and keeps no memory sends the hand now."""
        return self.progress.plan.aim()

    def expert_action(self) -> Action:
        """The next native action or skill of that expert."""
        if self.space == ActionSpace.NATIVE:
            return motion.native(self.arm, self.aim())
        return self._hands.skill()

    def focus(self) -> tuple[str | None, str | None]:
        """Privileged: the object of the step that is due, and its place; or the drawer or knob, and no place."""
        step = self.progress.plan.due()
        if step is None:
            return None, None
        return step.thing, step.place if step.places else None

    def called(self, name: str) -> str:
        """What the instruction calls an object or a place."""
        return label(name)

    def facts(self) -> Facts:
        """Where things are in the view from the front, and what the gripper does with them."""
        return scene_facts(self)

    def _begin(self, episode: int, options: Mapping[str, Any]) -> None:
        self._unpack_world(self._start)
        self.world.place(np.random.default_rng(episode))
        self.arm.hold()
        for _ in range(SETTLING_STEPS):
            self.arm.step([0.0] * 6 + [motion.OPEN])
            self.world.after_step()
