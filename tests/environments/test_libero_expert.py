"""The scripted expert reaches LIBERO's goals, as the benchmark's own check says, within the published step caps.

Needs the benchmark's assets in `ARENA_LIBERO_ASSETS`; `benchmarks/libero_expert.py` has the figures over all tasks.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from environments import registry
from environments.robots.libero.expertise import MANAGED
from environments.robots.libero.suites import facts
from environments.task import NO_EXPERT

needs_benchmark = pytest.mark.skipif(
    not os.environ.get("ARENA_LIBERO_ASSETS"), reason="ARENA_LIBERO_ASSETS does not name LIBERO's assets"
)


def played(env: Any, start: int) -> int:
    """Control steps until the goal holds, or -1 at the cap."""
    env.reset(seed=start)
    for step in range(env.task.max_steps):
        *_, won, _, _ = env.step(env.expert_action())
        if won:
            return step + 1
    return -1


def test_the_tag_says_which_tasks_have_no_expert() -> None:
    for fact in facts():
        tagged = NO_EXPERT in registry.get(fact.id).tags
        assert tagged == (fact.number not in MANAGED[fact.suite]), fact.id


@pytest.mark.shared
@needs_benchmark
@pytest.mark.parametrize("task_id", ["libero/spatial/2-v1", "libero/object/2-v1", "libero/goal/0-v1", "libero/10/5-v1"])
def test_reaches_the_goal_within_the_published_cap(task_id: str) -> None:
    pytest.importorskip("libero", reason="hf-libero is not installed")
    env = registry.get(task_id).make("native")
    try:
        assert played(env, 0) > 0
    finally:
        env.close()


@pytest.mark.shared
@needs_benchmark
def test_takes_up_again_what_was_dropped_and_keeps_no_memory() -> None:
    """The hand is forced open on the way; afterwards the same state gives the same action from a new expert."""
    pytest.importorskip("libero", reason="hf-libero is not installed")
    from environments.robots.libero.expert import LiberoPlan

    env: Any = registry.get("libero/spatial/2-v1").make("native")
    try:
        env.reset(seed=0)
        while env.stage() != "transport":
            env.step(env.expert_action())
        for _ in range(10):
            env.step([0.0] * 6 + [-1.0])
        assert env.stage() == "reach"
        again = LiberoPlan(env.world, env.arm).aim()
        assert np.array_equal(again.position, env.aim().position)
        for _ in range(env.task.max_steps):
            *_, won, _, _ = env.step(env.expert_action())
            if won:
                break
        assert env.success()
    finally:
        env.close()
