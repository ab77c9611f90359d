"""A robot task behind the GUI space: the teleoperation window put around the robot's own environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from environments.actions.spec import Action
from environments.env import ArenaEnv, Frame, Views
from environments.facts import Facts
from environments.game import FRAME_SIZE
from environments.robots.faults import Fault
from environments.robots.motion import Posed
from environments.robots.robot_env import RobotEnv
from environments.robots.skills import EpisodeOver
from environments.robots.snapshot import pack, unpack
from environments.robots.teleop import VIEW_PX, Teleop
from environments.robots.world import Vector
from environments.task import ActionSpace

__all__ = ["VIEW_PX", "TeleopEnv"]


class TeleopEnv(ArenaEnv):
    """Any robot environment, played in a window with a keyboard and a mouse.

    Observation: `frame`, (480, 640, 3) uint8, grabbed from the window when looked at; it has both cameras, the goal
    and what the robot's own sensors tell. One step is one gesture: a click or a key moves the hand by one increment,
    a key that is held moves it as long; see `environments.robots.teleop`.

    Score, milestones, success, faults and the state hash are the robot's own, and a snapshot of one space can be
    restored in another: the window's own state is in a snapshot, and not in the hash.

    Args:
        robot: the environment that is driven, of any other space; this one closes it. Cameras rendered with an edge
            of `VIEW_PX` pixels need no scaling.
    """

    def __init__(self, robot: RobotEnv) -> None:
        super().__init__(robot.task, ActionSpace.GUI)
        self.robot = robot
        self.metadata = robot.metadata
        self.snapshot_version = robot.snapshot_version
        self._teleop = Teleop(_RobotRig(self), robot.task.title, robot.task.goal)
        self.action_space = self._teleop.actions
        width, height = FRAME_SIZE
        self.observation_space = spaces.Dict({"frame": spaces.Box(0, 255, (height, width, 3), np.uint8)})

    @property
    def main_view(self) -> str:
        """The only view, `frame`."""
        return "frame"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """Start an episode, in a window and on a display of its own; see `RobotEnv.reset`."""
        super().reset(seed=seed)
        self.robot.reset(seed=seed, options=options)
        self._teleop.reset()
        self.moment += 1
        return self.observe(), {"illegal": None}

    def step(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """Do one gesture and let its time pass; the reward is the change of `score`.

        Raises:
            InvalidAction: for an action that the schema refuses; nothing has changed then.
            DisplayError: if the private display failed.
            ResetNeeded: Gymnasium's, before the first `reset` or `restore`.
        """
        if self.moment == 0:
            raise gymnasium.error.ResetNeeded(f"{self.task.id}: call reset() or restore() before step()")
        before = self.score()
        illegal = self._teleop.step(self._teleop.actions.load(action))
        self.moment += 1
        return self.observe(), self.score() - before, self.success(), False, {"illegal": illegal}

    def observe(self) -> Views:
        """The window; drawn, and its cameras rendered, when it is first looked at."""
        return Views({}, {"frame": self._teleop.grab}, self)

    def facts(self) -> Facts:
        """The robot's own, without places: in the window its picture is one of two, and scaled."""
        return Facts(statements=self.robot.facts().statements)

    def milestones(self) -> frozenset[str]:
        """Milestones reached so far."""
        return self.robot.milestones()

    def score(self) -> float:
        """The robot task's own score."""
        return self.robot.score()

    def success(self) -> bool:
        """Whether the goal holds now."""
        return self.robot.success()

    def stage(self) -> str:
        """What the episode is about now."""
        return self.robot.stage()

    def expert_action(self) -> Action:
        """The next gesture of an expert that sees everything and keeps no memory."""
        goal = self.robot.waypoint()
        leaning = goal.rotation if isinstance(goal, Posed) else None
        into = leaning is not None and goal.phase == "descend"
        return self._teleop.gesture_towards(goal.position, goal.yaw_rad, goal.gripper, leaning, into=into)

    def telemetry(self) -> dict[str, Any]:
        """What a real robot would know of itself; see `RobotEnv.telemetry`."""
        return self.robot.telemetry()

    def perceived(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        """The window as it is under a fault of perception, cameras and read-outs; else the observation itself."""
        now = self.robot.observe()
        seen = self.robot.perceived(now)
        if seen is now:
            return observation
        return Views({}, {"frame": lambda: self._teleop.grab(seen.__getitem__, seen["state"][:3])}, self)

    def inject(self, fault: Fault | dict[str, Any] | Sequence[Fault | dict[str, Any]] | None) -> None:
        """Arm faults; see `RobotEnv.inject`."""
        self.robot.inject(fault)

    def fault_truth(self) -> dict[str, Any] | None:
        """Privileged: the injected fault and its onset, or None."""
        return self.robot.fault_truth()

    def state_hash(self) -> str:
        """The robot's: equal worlds, equal hashes, whatever the action space."""
        return self.robot.state_hash()

    def close(self) -> None:
        """End the private display, if there is one, and the robot's environment."""
        self._teleop.close()
        self.robot.close()

    def _get_state(self) -> bytes:
        header, arrays = unpack(self.robot._get_state())
        return pack({**header, "window": self._teleop.state()}, arrays)

    def _set_state(self, state: bytes) -> None:
        self.robot._set_state(state)
        window: Mapping[str, Any] | None = unpack(state)[0].get("window")
        self._teleop.load(window)


class _RobotRig:
    """A robot environment as its window sees it; see `Rig`."""

    main_camera = "agentview"
    wrist_camera = "wrist"

    def __init__(self, env: TeleopEnv) -> None:
        self._env, self._robot = env, env.robot
        self.workspace = env.robot.workspace
        self.origin = (0.0, 0.0, self.workspace[0][2])

    def control(self, action: list[float]) -> None:
        self._robot._control(action)
        if self._env.on_tick is not None:
            self._env.on_tick()
        if self._robot.ends_within_action and self._robot.success():
            raise EpisodeOver

    def picture(self, key: str) -> Frame:
        return self._robot._picture(key)

    def camera_axes(self, key: str) -> Vector:
        return self._robot.camera_axes(key)

    @property
    def position(self) -> Vector:
        return self._robot.arm.position

    @property
    def rotation(self) -> Vector:
        return self._robot.arm.rotation

    @property
    def width_m(self) -> float:
        return self._robot.arm.width_m

    @property
    def gripper_command(self) -> float:
        return self._robot.command

    @property
    def control_steps(self) -> int:
        return self._robot.control_steps
