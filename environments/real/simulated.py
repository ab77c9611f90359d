"""The reference robot: a simulated task behind the robot interface, to be served from a process of its own.

It tells what a real robot could tell and no more: the poses of its own arm, and pictures. Its world stands still
between actions; paced, each action lasts its control period of real time too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import environments
from environments.errors import UnsupportedSpace
from environments.real.robot import Description, Picture, Reading, RobotFault, Scene, Vector
from environments.robots.robot_env import CAMERAS, RobotEnv
from environments.robots.world import CONTROL_HZ

Confirm = Callable[[str], bool]
"""Asks the operator something and waits for yes or no."""


class SimulatedRobot:
    """A `Robot` whose arm and scene are those of a robot task.

    Args:
        task: id of a task with a native space, such as `tabletop/pick-place-bowl-v1`.
        fault: faults to inject into every episode, as `reset(options={"fault": ...})` takes them.
        paced: whether an action lasts its control period of real time.
        confirm: asks the operator to set the scene and to judge; None: the scene is set by itself, and the task's own
            predicate is the declared check.

    Raises:
        EnvironmentsError: for a task that does not exist or is no robot's.
    """

    def __init__(self, task: str, *, fault: Any = None, paced: bool = False, confirm: Confirm | None = None) -> None:
        env = environments.make(task, "native")
        if not isinstance(env, RobotEnv):
            raise UnsupportedSpace(f"{task} is no simulated robot task; `arena tasks 'tabletop/*'` lists some")
        self.env = env
        self._options = {"fault": fault} if fault else None
        self._paced, self._confirm = paced, confirm
        self._began_s = self._due_s = time.monotonic()
        self._stopped = False

    def describe(self) -> Description:
        """The task's arm; its workspace is that of the skills."""
        height, width, _ = self.env.observation_space["agentview"].shape or (0, 0, 3)
        by_check = self._confirm is None
        return Description(
            name=f"simulated Panda in {self.env.task.id}"[:100],
            cameras=dict.fromkeys(CAMERAS, (height, width)),
            rate_hz=CONTROL_HZ,
            workspace=self.env.workspace,
            judge="check" if by_check else "operator",
            check="the task's own predicate" if by_check else "",
        )

    def reset(self, scene: Scene) -> None:
        """Set the scene of a seed, when the operator has agreed."""
        if self._confirm is not None and not self._confirm(f"Set layout {scene.seed} for: {scene.instruction}. Ready?"):
            raise RobotFault("the operator did not confirm the scene")
        self.env.reset(seed=scene.seed, options=self._options)
        self._stopped = False
        self._due_s = time.monotonic()

    def observe(self, cameras: Sequence[str]) -> Reading:
        """The arm now; a picture is rendered for who asks for it."""
        arm = self.env.arm
        moment = time.monotonic() - self._began_s
        views = self.env.observe()
        return Reading(
            time_s=moment,
            position=np.array(arm.position),
            rotation=np.array(arm.rotation),
            axis_angle=np.array(arm.hand_axis_angle),
            velocity=np.array(arm.velocity),
            fingers=np.array(arm.fingers),
            pictures={name: Picture(moment, views[name]) for name in cameras},
        )

    def act(self, action: Vector) -> None:
        """One control step."""
        if self._stopped:
            raise RobotFault("the emergency stop is set")
        self.env.step([float(value) for value in action])
        if self._paced:
            # From when the last one was due, so that the rate is kept; after a pause, from now.
            self._due_s = max(self._due_s + 1 / CONTROL_HZ, time.monotonic())
            time.sleep(max(0.0, self._due_s - time.monotonic()))

    def hold(self) -> None:
        """Make the present pose the goal."""
        self.env.arm.hold()

    def stop(self) -> None:
        """No action is carried out from now on."""
        self._stopped = True

    def success(self, final: bool) -> bool | None:
        """By the task's predicate, or the operator's word at the end."""
        if self._confirm is None:
            return self.env.success()
        return self._confirm(f"Is it done: {self.env.task.goal}?") if final else None

    def close(self) -> None:
        """Close the simulator; in the thread that has rendered."""
        self.env.close()
