"""The policy that does not re-check its grasp: good when all goes well, helped by a rollback, exact on resume."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

import agents
import environments
from environments.errors import UnsupportedSpace

TASK = "tabletop/pick-place-bowl-v1"
needs_robots = pytest.mark.skipif(importlib.util.find_spec("robosuite") is None, reason="robosuite is not installed")


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    env = environments.make(TASK, "native")
    yield env
    env.close()


def test_it_refuses_what_it_cannot_play(env: Any, conf: Any) -> None:
    with pytest.raises(UnsupportedSpace, match="native space of tabletop tasks"):
        agents.create("scripted-policy").reset(conf.brief(env))


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
