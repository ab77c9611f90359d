"""An arm without physics behind the robots' observation and native actions: policies are tested without MuJoCo."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from gymnasium import spaces

from agents.agent import Briefing
from environments import ActionSpace, ArenaEnv, Milestone, Task, Views
from environments.actions import NativeActions

SIZE = 64


class ArmWorld(ArenaEnv):
    """A hand that goes where it is told, 5 cm a step at most; won at step `goal_steps`. Counts its renderings."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(self, task: Task, space: ActionSpace, goal_steps: int = 10_000) -> None:
        super().__init__(task, space)
        self.action_space = NativeActions()
        picture = spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)
        state = spaces.Box(-np.inf, np.inf, (8,), np.float32)
        self.observation_space = spaces.Dict(
            {"agentview": picture, "wrist": picture, "state": state, "instruction": spaces.Text(200)}
        )
        self.goal_steps = goal_steps
        self.rendered: list[tuple[str, int]] = []
        self.pose, self.steps = np.zeros(7), 0

    main_view = "agentview"  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        super().reset(seed=seed)
        self.pose, self.steps = np.round(self.np_random.uniform(0, 1, 7), 3), 0
        self.rendered.clear()
        self.moment += 1
        return self.observe(), {"illegal": None}

    def step(self, action: Any) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        self.pose = self.pose + 0.05 * np.array(self.action_space.parse(action))
        self.steps += 1
        self.moment += 1
        return self.observe(), 0.0, self.success(), False, {"illegal": None}

    def observe(self) -> Views:
        state = np.concatenate([self.pose, [-self.pose[6]]]).astype(np.float32)
        values = {"state": state, "instruction": self.task.goal}
        return Views(values, {key: lambda key=key: self._draw(key) for key in ("agentview", "wrist")}, self)

    def _draw(self, key: str) -> Any:
        """Upright: the left upper corner is red (agentview) or blue (wrist)."""
        self.rendered.append((key, self.steps))
        frame = np.full((SIZE, SIZE, 3), 90, np.uint8)
        frame[: SIZE // 2, : SIZE // 2] = (200, 0, 0) if key == "agentview" else (0, 0, 200)
        return frame

    def milestones(self) -> frozenset[str]:
        return frozenset({"there"} if self.success() else ())

    def score(self) -> float:
        return 100.0 * min(1.0, self.steps / self.goal_steps)

    def success(self) -> bool:
        return self.steps >= self.goal_steps

    def expert_action(self) -> Any:
        return [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]

    def _get_state(self) -> bytes:
        return json.dumps([self.pose.tolist(), self.steps]).encode()

    def _set_state(self, state: bytes) -> None:
        pose, self.steps = json.loads(state)
        self.pose = np.array(pose)


def make_arm(task: Task, space: ActionSpace) -> ArmWorld:
    return ArmWorld(task, space, **task.params)


TASK = Task(
    id="tabletop/arm-of-the-tests-v1",
    title="Arm",
    goal="go there",
    entry_point="tests.fakes.policy_world:make_arm",
    spaces=(ActionSpace.NATIVE,),
    milestones=(Milestone("there", "the hand is there"),),
    max_steps=40,
    params={"goal_steps": 12},
)


def brief(env: ArenaEnv, seed: int = 1) -> Briefing:
    return Briefing(task=env.task, space=ActionSpace.NATIVE, actions=env.action_space, seed=seed)
