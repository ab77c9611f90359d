"""The floor, the ceiling and the test weight behave as labelled, and go on exactly after an interruption."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agents
from environments.actions import GuiAction, NativeActions, TypedActions


def test_random_is_valid_reproducible_and_varied(env: Any, conf: Any) -> None:
    first = conf.play(agents.create("random"), env, steps=30)
    again = conf.play(agents.create("random"), env, steps=30)
    assert [d.action for d in first] == [d.action for d in again]
    assert all(env.action_space.contains(d.action) for d in first)
    assert len({d.action["go"] for d in first}) == 4


@pytest.mark.parametrize("actions", [TypedActions(GuiAction), NativeActions()])
def test_random_plays_every_kind_of_space(env: Any, conf: Any, actions: Any) -> None:
    """Whatever was drawn from the space before, the episode and the step alone decide."""
    env.action_space = actions
    agent = agents.create("random")
    draws = []
    for noise in (1, 2):
        actions.seed(noise)
        agent.reset(conf.brief(env, privileged=False))
        draws.append([agent.act({}).action for _ in range(5)])
    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1]
    assert all(actions.parse(a) == a for a in draws[0])


def test_scripted_reaches_the_goal(env: Any, conf: Any) -> None:
    conf.play(agents.create("scripted"), env, steps=18)
    assert env.success()


def test_privileged_players_say_what_they_lack(env: Any, conf: Any) -> None:
    agent = agents.create("scripted")
    agent.reset(conf.brief(env, privileged=False))
    with pytest.raises(ValueError, match="privileged"):
        agent.act({})


@pytest.mark.parametrize(("lesson", "expected"), [("", 0.6), ("look first", 0.9)])
def test_calibrated_follows_the_expert_as_often_as_it_says(env: Any, conf: Any, lesson: str, expected: float) -> None:
    decisions = conf.play(agents.create("calibrated"), env, steps=600, lesson=lesson)
    followed = np.mean([d.notes["followed_expert"] for d in decisions])
    assert abs(followed - expected) < 3.3 * np.sqrt(expected * (1 - expected) / 600)


@pytest.mark.parametrize("name", ["random", "scripted", "calibrated"])
@pytest.mark.parametrize("after", [0, 1, 5, 6])
def test_an_interrupted_episode_goes_on_as_it_would_have(env: Any, conf: Any, name: str, after: int) -> None:
    whole = conf.play(agents.create(name), env, steps=20)
    at, plan = list(env.at), list(env.plan)
    resumed = conf.play(agents.create(name), env, steps=20, resume_after=after)
    assert resumed == whole
    assert (env.at, env.plan) == (at, plan)


def test_fingerprint_changes_with_the_options_and_with_nothing_else() -> None:
    same = agents.create("calibrated", {"p": 0.6}).fingerprint()
    assert same == agents.create("calibrated", {}).fingerprint()
    assert same != agents.create("calibrated", {"p": 0.5}).fingerprint()
