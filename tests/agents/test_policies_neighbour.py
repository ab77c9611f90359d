"""The served nearest neighbour: the expert's own path on a seed that it knows, an answer wherever the arm is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

import agents
import environments
from agents.policies.options import USUAL
from agents.policies.server import serve
from agents.policies.server.neighbour import EDGE, Neighbour, NeighbourServer, thumbnail
from agents.policies.server.path import Refusal, record
from agents.policies.sight import Sight
from environments.errors import UnknownTask
from environments.robots.libero import loading
from tests.fakes.policy_world import brief

TASK, SEEDS = "tabletop/pick-place-bowl-v1", (3, 4)
pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def neighbour() -> Neighbour:
    return Neighbour([TASK], SEEDS)


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    env = environments.make(TASK, "native")
    yield env
    env.close()


def seen(observation: Any) -> Any:
    return Sight(observation, "", USUAL["openpi"]).picture("agentview")


def test_it_plays_the_experts_path_on_a_seed_that_it_knows(neighbour: Neighbour, table: Any):
    """Through a socket, told neither seed nor task, by picture, state and prompt alone."""
    expert = record(table, 4).actions
    with NeighbourServer(neighbour) as server:
        agent = agents.create("policy", {"protocol": "openpi", "url": server.url, "replan": 5})
        observation, _ = table.reset(seed=4)
        agent.reset(brief(table))
        actions = []
        while not table.success() and len(actions) < table.task.max_steps:
            actions.append(agent.act(observation).action)
            observation, *_ = table.step(actions[-1])
        agent.close()
    assert table.success()
    assert np.array_equal(actions, expert[: len(actions)])


def test_it_looks_at_the_picture(neighbour: Neighbour, table: Any):
    """Arms begin at the same place, so the picture alone tells one seed from the other."""
    first = {}
    for seed in SEEDS:
        path = record(table, seed).actions
        observation, _ = table.reset(seed=seed)
        first[seed] = neighbour.look(table.task.goal, seen(observation), observation["state"], 12)
        assert np.array_equal(first[seed], path[:12])
    assert not np.array_equal(first[3], first[4])


def test_it_answers_wherever_the_arm_is_and_whatever_it_is_told(neighbour: Neighbour, table: Any):
    """An arm off every path, a black picture and words of no task get the actions of some moment."""
    observation, _ = table.reset(seed=3)
    state = np.array(observation["state"]) + np.float32(0.2)
    rows = neighbour.look("fold the towel", np.zeros((64, 48, 3), np.uint8), state, 7)
    assert rows.shape == (7, 7) and np.isfinite(rows).all() and np.abs(rows).max() <= 1


def test_behind_the_end_it_holds_still_with_the_gripper_as_it_is(neighbour: Neighbour, table: Any):
    path = record(table, 3)
    observation, _ = table.reset(seed=3)
    for action in path.actions[:-1]:
        observation, *_ = table.step(action)
    rows = neighbour.look(table.task.goal, seen(observation), observation["state"], 20)
    assert not rows[-1, :6].any() and (rows[-8:, 6] == path.actions[-1, 6]).all()


def test_a_protocol_that_shows_no_picture_is_refused(neighbour: Neighbour):
    with pytest.raises(Refusal, match="openpi's protocol alone"):
        neighbour.chunk(3, np.zeros(8, np.float32), 5)
    with serve("openpi", neighbour) as server:
        agent = agents.create("policy", {"protocol": "openpi", "url": server.url})
        env = environments.make(TASK, "native")
        observation, _ = env.reset(seed=3)
        agent.reset(brief(env))
        with pytest.raises(agents.errors.ProviderError, match="openpi's protocol alone"):
            agent.act(observation)
        agent.close()
        env.close()


def test_thumbnails_are_small_and_of_one():
    picture = np.full((224, 224, 3), 255, np.uint8)
    assert thumbnail(picture).shape == (EDGE * EDGE * 3,) and thumbnail(picture).max() == 1.0


def test_each_demonstration_is_told_as_it_ends():
    told: list[str] = []
    Neighbour([TASK], SEEDS, tell=told.append)
    assert told == [TASK] * len(SEEDS)


def test_an_unknown_task_is_told():
    with pytest.raises(UnknownTask):
        Neighbour(["tabletop/no-such-task-v1"], SEEDS)


@pytest.mark.shared
@pytest.mark.skipif(
    not os.environ.get(loading.ASSETS) or bool(loading.problems()),
    reason=f"{loading.ASSETS} names no folder with the assets of the LIBERO benchmark",
)
def test_tasks_of_the_same_words_are_told_apart_by_the_picture():
    """The tabletop and LIBERO both say "turn on the stove"; seed 50 is LIBERO's initial state 0 again."""
    alike = ("tabletop/goal-turn-on-stove-v1", "libero/goal/7-v1")
    policy = Neighbour(alike, (0,))
    for task, seed in zip(alike, (0, 50), strict=True):
        env = environments.make(task, "native")
        path = record(env, 0).actions
        observation, _ = env.reset(seed=seed)
        assert np.array_equal(policy.look(env.task.goal, seen(observation), observation["state"], 12), path[:12])
        env.close()
