"""The tabletop tasks behind the GUI space: the same world, played in the teleoperation window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from environments.actions.spec import Action
from environments.env import Frame, Views
from environments.game import FRAME_SIZE
from environments.robots import expert
from environments.robots.control import Arm
from environments.robots.snapshot import pack, unpack
from environments.robots.tabletop import TABLE_Z_M, TabletopWorld, Vector
from environments.robots.tabletop_env import CAMERAS, WORKSPACE_M, TabletopEnv
from environments.robots.teleop import VIEW_PX, Teleop
from environments.task import ActionSpace, Task


class TeleopEnv(TabletopEnv):
    """A tabletop task in a teleoperation window, for a keyboard and a mouse.

    Observation: `frame`, (480, 640, 3) uint8, grabbed from the window when looked at; it has both cameras, the goal
    and what the robot's own sensors tell. One step is one gesture: a click or a key moves the hand by one increment,
    a key that is held moves it as long; see `environments.robots.teleop`.

    Score, milestones, success, faults and the state hash are those of the other spaces, and a snapshot of one space
    can be restored in another: the window's own state is in a snapshot, and not in the hash.
    """

    def __init__(self, task: Task, **params: Any) -> None:
        super().__init__(task, ActionSpace.GUI, **{**params, "size": VIEW_PX})
        rig = _EnvRig(self.arm, self.world, self._control, self._picture, lambda: (self._command, self._steps))
        self._teleop = Teleop(rig, task.title, task.goal)
        self.action_space = self._teleop.actions
        width, height = FRAME_SIZE
        self.observation_space = spaces.Dict({"frame": spaces.Box(0, 255, (height, width, 3), np.uint8)})

    @property
    def main_view(self) -> str:
        """The only view, `frame`."""
        return "frame"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """Start an episode, in a window and on a display of its own; see `TabletopEnv.reset`."""
        self._teleop.reset()
        return super().reset(seed=seed, options=options)

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

    def expert_action(self) -> Action:
        """The next gesture of an expert that sees everything and keeps no memory."""
        goal = expert.aim(self.world, self.arm)
        return self._teleop.gesture_towards(goal.position, goal.yaw_rad, goal.gripper)

    def _control(self, action: list[float]) -> None:
        super()._control(action)
        if self.on_tick is not None:
            self.on_tick()

    def close(self) -> None:
        """End the private display and free the renderer, if there are any."""
        self._teleop.close()
        super().close()

    def _get_state(self) -> bytes:
        header, arrays = unpack(super()._get_state())
        return pack({**header, "window": self._teleop.state()}, arrays)

    def _set_state(self, state: bytes) -> None:
        super()._set_state(state)
        self._teleop.load(unpack(state)[0].get("window"))


@dataclass
class _EnvRig:
    """A tabletop environment as the window sees it; see `Rig`."""

    arm: Arm
    world: TabletopWorld
    control: Callable[[list[float]], None]
    picture: Callable[[str], Frame]
    counters: Callable[[], tuple[float, int]]
    """Last gripper command, and control steps of this episode."""
    main_camera: str = "agentview"
    wrist_camera: str = "wrist"
    workspace: tuple[tuple[float, float, float], tuple[float, float, float]] = WORKSPACE_M
    origin: tuple[float, float, float] = (0.0, 0.0, TABLE_Z_M)

    def camera_axes(self, key: str) -> Vector:
        camera = self.world.mj_model.camera(CAMERAS[key]).id
        return np.array(self.world.mj_data.cam_xmat[camera]).reshape(3, 3)

    @property
    def position(self) -> Vector:
        return self.arm.position

    @property
    def rotation(self) -> Vector:
        return self.arm.rotation

    @property
    def width_m(self) -> float:
        return self.arm.width_m

    @property
    def gripper_command(self) -> float:
        return self.counters()[0]

    @property
    def control_steps(self) -> int:
        return self.counters()[1]
