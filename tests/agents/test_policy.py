"""The policy that does not re-check its grasp: good when all goes well, helped by a rollback, exact on resume."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

import agents
import environments
from agents import policy
from environments.errors import UnsupportedSpace

TASK = "tabletop/pick-place-bowl-v1"
needs_robots = pytest.mark.skipif(importlib.util.find_spec("robosuite") is None, reason="robosuite is not installed")


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    env = environments.make(TASK, "native")
    yield env
    env.close()


def test_it_refuses_what_it_cannot_play(env: Any, conf: Any) -> None:
    with pytest.raises(UnsupportedSpace, match="native space of tabletop and LIBERO tasks"):
        agents.create("scripted-policy").reset(conf.brief(env))


def test_it_plays_the_tabletop_and_what_the_expert_manages_of_libero() -> None:
    agent = agents.create("scripted-policy")
    told = {task: agent.unfit(environments.get(task), environments.ActionSpace.NATIVE) for task in (
        TASK, "libero/goal/0-v1", "libero/90/0-v1")}  # fmt: skip
    assert told[TASK] is None and told["libero/goal/0-v1"] is None
    assert "libero/90/0-v1 has none" in str(told["libero/90/0-v1"])
    assert agent.unfit(environments.get("libero/goal/0-v1"), environments.ActionSpace.SEMANTIC)


@needs_robots
def test_it_succeeds_and_goes_on_exactly_after_an_interruption(table: Any, conf: Any) -> None:
    agent = agents.create("scripted-policy")
    agent.reset(conf.brief(table))
    table.reset(seed=4)
    decisions = []
    while not table.success() and len(decisions) < table.task.max_steps:
        decisions.append(agent.act({}))
        table.step(decisions[-1].action)
    assert table.success()
    final = table.state_hash()

    cut = len(decisions) // 2  # in the middle of the carry, where the belief matters
    fresh = agents.create("scripted-policy")
    fresh.reset(conf.brief(table))
    table.reset(seed=4)
    for decision in decisions[:cut]:
        fresh.replay({}, decision)
        table.step(decision.action)
    rest = []
    for _ in decisions[cut:]:
        rest.append(fresh.act({}))
        table.step(rest[-1].action)
    assert rest == decisions[cut:]
    assert table.state_hash() == final


@needs_robots
def test_a_rollback_makes_it_look_again(table: Any, conf: Any) -> None:
    """Taken back to the start while it believes that it holds the cube, it fetches the cube once more."""
    agent = agents.create("scripted-policy")
    agent.reset(conf.brief(table))
    table.reset(seed=4)
    start = table.snapshot()
    first = []
    for _ in range(60):
        first.append(agent.act({}).action)
        table.step(first[-1])
    table.restore(start)
    agent.rolled_back()
    second = []
    for _ in range(60):
        second.append(agent.act({}).action)
        table.step(second[-1])
    assert second == first


def noisy(table: Any, conf: Any, agent_seed: int, **options: float) -> tuple[bool, list[Any]]:
    """Play one episode of the noisy expert; whether it succeeded, and its decisions."""
    agent = agents.create("noisy-expert", options)
    agent.reset(conf.brief(table, seed=agent_seed))
    table.reset(seed=4)
    decisions = []
    while not table.success() and len(decisions) < 150:
        decisions.append(agent.act({}))
        table.step(decisions[-1].action)
    return table.success(), decisions


@needs_robots
def test_the_noisy_expert_fails_when_it_is_drawn_to_and_not_otherwise(table: Any, conf: Any) -> None:
    for seed in (0, 1):
        succeeded, decisions = noisy(table, conf, seed, failure_rate=0.0)
        assert succeeded and not any(decision.notes["pulled"] for decision in decisions)
        succeeded, decisions = noisy(table, conf, seed, failure_rate=1.0)
        assert not succeeded
        onset = next(i for i, decision in enumerate(decisions) if decision.notes["pulled"])
        assert 5 <= onset < 25 and all(decision.notes["pulled"] for decision in decisions[onset:])


@needs_robots
def test_the_noisy_expert_is_a_function_of_its_seed(table: Any, conf: Any) -> None:
    first, again, other = (noisy(table, conf, seed, failure_rate=0.0)[1] for seed in (3, 3, 4))
    assert first == again != other


def test_the_share_of_noisy_episodes_that_are_to_fail_is_the_one_that_was_set() -> None:
    """Over 2,000 seeds the standard error is 1 %; the episodes of a lower rate are among those of a higher one."""
    pulled = {rate: {s for s in range(2_000) if policy._draw(s, rate) is not None} for rate in (0.0, 0.1, 0.3, 1.0)}
    assert [len(pulled[rate]) for rate in (0.0, 1.0)] == [0, 2_000]
    assert abs(len(pulled[0.3]) / 2_000 - 0.3) < 0.04 and abs(len(pulled[0.1]) / 2_000 - 0.1) < 0.03
    assert pulled[0.1] <= pulled[0.3]


def test_the_noisy_expert_refuses_games_and_skills(env: Any, conf: Any) -> None:
    with pytest.raises(UnsupportedSpace, match="native space of robot tasks"):
        agents.create("noisy-expert").reset(conf.brief(env))


def test_the_scripted_policy_knows_one_kind_of_task() -> None:
    agent = agents.create("scripted-policy")
    assert agent.unfit(environments.get(TASK), environments.ActionSpace.NATIVE) is None
