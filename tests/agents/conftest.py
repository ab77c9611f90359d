"""A small seeded world, so that the agents' tests need no other room's games."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
from gymnasium import spaces
from pydantic import BaseModel, ConfigDict

import agents
from agents.agent import Briefing
from environments import ActionSpace, ArenaEnv, Milestone, Task, Views
from environments.actions import TypedActions


class Walk(BaseModel):
    """Step to one of the four sides: {"go": "up"}, and so on."""

    model_config = ConfigDict(extra="forbid")

    go: Literal["up", "down", "left", "right"]


class Walker(ArenaEnv):
    """A point on a 10 x 10 board with one wall; the expert walks to the corner, two moves planned ahead."""

    def __init__(self, task: Task, space: ActionSpace) -> None:
        super().__init__(task, space)
        self.action_space = TypedActions(Walk)
        self.observation_space = spaces.Dict(
            {"frame": spaces.Box(0, 255, (60, 80, 3), np.uint8), "instruction": spaces.Text(200)}
        )
        self.at = [0, 0]
        self.plan: list[str] = []
        self.asked = 0

    main_view = "frame"  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        super().reset(seed=seed)
        self.at, self.plan = [int(v) for v in self.np_random.integers(0, 5, 2)], []
        self.moment += 1
        return self.observe(), {"illegal": None}

    def step(self, action: Any) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        go = self.action_space.parse(action)["go"]
        if self.plan and self.plan[0] == go:
            self.plan.pop(0)
        else:
            self.plan = []
        dx, dy = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}[go]
        x, y = self.at[0] + dx, self.at[1] + dy
        illegal = None if 0 <= x < 10 and 0 <= y < 10 else f"a wall is {go} of you"
        if illegal is None:
            self.at = [x, y]
        self.moment += 1
        return self.observe(), 0.0 if illegal else 1.0, self.success(), False, {"illegal": illegal}

    def observe(self) -> Views:
        return Views({"instruction": "walk to the corner"}, {"frame": self._draw}, self)

    def _draw(self) -> Any:
        frame = np.full((60, 80, 3), 40, np.uint8)
        x, y = self.at
        frame[y * 6 : y * 6 + 6, x * 8 : x * 8 + 8] = (250, 30 + 20 * x, 30 + 20 * y)
        return frame

    def milestones(self) -> frozenset[str]:
        return frozenset({"corner"} if self.success() else ())

    def score(self) -> float:
        return 100.0 * (self.at[0] + self.at[1]) / 18

    def success(self) -> bool:
        return self.at == [9, 9]

    def expert_action(self) -> Any:
        self.asked += 1
        if not self.plan:
            self.plan = ["right", "down"] if self.at[0] < 9 and self.at[1] < 9 else []
        go = self.plan[0] if self.plan else ("right" if self.at[0] < 9 else "down")
        return self.action_space.parse({"go": go})

    def _get_state(self) -> bytes:
        return json.dumps([self.at, self.plan]).encode()

    def _set_state(self, state: bytes) -> None:
        self.at, self.plan = json.loads(state)


TASK = Task(
    id="tests/walker-v1",
    title="Walker",
    goal="Walk the bright square to the lower right corner.",
    entry_point="tests:Walker",
    spaces=(ActionSpace.SEMANTIC,),
    milestones=(Milestone("corner", "the square is in the lower right corner"),),
    max_steps=40,
)


@pytest.fixture
def env() -> Walker:
    return Walker(TASK, ActionSpace.SEMANTIC)


def brief(env: ArenaEnv, *, seed: int = 1, lesson: str | None = None, privileged: bool = True) -> Briefing:
    return Briefing(
        task=env.task,
        space=env.space,
        actions=env.action_space,
        lesson=lesson,
        seed=seed,
        privileged=env if privileged else None,
    )


@pytest.fixture
def briefing(env: Walker) -> Briefing:
    return brief(env)


def play(
    agent: agents.Agent, env: ArenaEnv, *, steps: int, seed: int = 3, resume_after: int | None = None, lesson: str = ""
) -> list[agents.Decision]:
    """Play an episode; with `resume_after`, stop there and go on with a new agent by replay."""
    agent.reset(brief(env, lesson=lesson or None))
    observation, _ = env.reset(seed=seed)
    decisions: list[agents.Decision] = []
    for _ in range(steps if resume_after is None else resume_after):
        decisions.append(_turn(agent, env, observation))
        observation = env.observe()
    if resume_after is None:
        return decisions
    fresh = type(agent)(agent.options)
    fresh.reset(brief(env, lesson=lesson or None))
    observation, _ = env.reset(seed=seed)
    for decision in decisions:
        fresh.replay(observation, decision)
        observation, reward, _, _, info = env.step(decision.action)
        fresh.observe_result(illegal=info["illegal"], reward=float(reward))
    for _ in range(steps - resume_after):
        decisions.append(_turn(fresh, env, observation))
        observation = env.observe()
    return decisions


def _turn(agent: agents.Agent, env: ArenaEnv, observation: Any) -> agents.Decision:
    decision = agent.act(observation)
    _, reward, _, _, info = env.step(decision.action)
    agent.observe_result(illegal=info["illegal"], reward=float(reward))
    return decision


def load_fake() -> ModuleType:
    """The fake provider, loaded by path: `tests` is no package."""
    if "fake_provider" not in sys.modules:
        path = Path(__file__).parents[1] / "fakes" / "provider.py"
        spec = importlib.util.spec_from_file_location("fake_provider", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["fake_provider"] = module
        spec.loader.exec_module(module)
    return sys.modules["fake_provider"]


@pytest.fixture(scope="session")
def _server() -> Iterator[Any]:
    with load_fake().FakeProvider() as running:
        yield running


@pytest.fixture
def provider(_server: Any) -> Any:
    """The fake provider, with an empty log and no script."""
    _server.reset()
    return _server


@pytest.fixture
def conf() -> ModuleType:
    """This module: its helpers, for tests that cannot import it by name."""
    return sys.modules[__name__]
