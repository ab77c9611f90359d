"""The tabletop suite: seeded scenes at rest, goals that are judged rightly, an expert that reaches them."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import environments
from environments.errors import RenderError

pytest.importorskip("environments.robots._robosuite", reason="pip install 'rewind-arena[robots]'")

from environments.robots import rendering
from environments.robots.expert import believing_player
from environments.robots.suite.catalogue import ALL, GOAL, LONG, OBJECT, SPATIAL
from environments.robots.suite.spec import label

IDS = [task.id for task in ALL]
STAGES = {"reach", "grasp", "lift", "transport", "lower", "release", "open", "close", "turn", "done"}


@functools.cache
def world(task_id: str) -> Any:
    return environments.make(task_id, "native")


@pytest.fixture(scope="module", autouse=True)
def _closing() -> Any:
    yield
    for task_id in IDS:
        world(task_id).close()
    world.cache_clear()


def play(env: Any, limit: int) -> tuple[list[str], dict[str, int]]:
    """Let the expert play; the stages in their order, and the step at which each milestone was reached."""
    stages, first = [env.stage()], {}
    for step in range(limit):
        _, _, done, _, info = env.step(env.expert_action())
        assert info["illegal"] is None
        for milestone in env.milestones():
            first.setdefault(milestone, step)
        if env.stage() != stages[-1]:
            stages.append(env.stage())
        if done:
            break
    return stages, first


def test_four_families_have_sixteen_tasks_and_more() -> None:
    assert len(ALL) >= 16 and min(map(len, (SPATIAL, OBJECT, GOAL, LONG))) >= 4
    assert len({task.instruction for task in ALL}) == len(ALL)


@pytest.mark.parametrize("task_id", IDS)
def test_milestones_are_four_to_twelve_and_named_in_words(task_id: str) -> None:
    milestones = environments.get(task_id).milestones
    assert 4 <= len(milestones) <= 12
    assert all("_" not in milestone.text for milestone in milestones)


@pytest.mark.parametrize("task_id", IDS)
def test_the_expert_succeeds_milestone_by_milestone(task_id: str) -> None:
    env = world(task_id)
    env.reset(seed=1)
    stages, first = play(env, env.task.max_steps)
    assert env.success() and env.score() == 100.0
    assert set(first) == {milestone.id for milestone in env.task.milestones}
    for milestone in env.task.milestones:
        assert all(first[before] <= first[milestone.id] for before in milestone.after)
    assert set(stages) <= STAGES
    wanted = {"reach", "grasp"}
    steps = env.suite_task.steps
    wanted |= {"lift", "transport", "lower"} if any(step.places for step in steps) else set()
    assert wanted <= set(stages)


@pytest.mark.parametrize("task_id", [SPATIAL[0].id, OBJECT[1].id, GOAL[0].id, GOAL[1].id, LONG[2].id])
def test_the_expert_succeeds_with_skills(task_id: str) -> None:
    env = environments.make(task_id, "semantic")
    env.reset(seed=2)
    play(env, 12)
    assert env.success(), env.score()
    env.close()


@pytest.mark.parametrize("task_id", IDS)
def test_a_scene_is_at_rest_apart_and_unsolved_at_the_start(task_id: str) -> None:
    env = world(task_id)
    for seed in range(3):
        env.reset(seed=seed)
        scene = env.world
        assert not env.success() and env.score() < 60 and not env.milestones()
        before = {name: scene.position(name) for name in scene.objects}
        for _ in range(5):
            env.arm.step([0.0] * 6 + [-1.0])
        for name in scene.objects:
            assert np.linalg.norm(scene.position(name) - before[name]) < 0.003, name
            assert scene.up(name) > 0.98, name
        deep = [contact.dist for contact in scene.mj_data.contact[: scene.mj_data.ncon] if contact.dist < -0.004]
        assert not deep


@pytest.mark.parametrize("task_id", [SPATIAL[1].id, OBJECT[0].id, GOAL[0].id, LONG[3].id])
def test_seeds_vary_positions_turns_and_fixtures(task_id: str) -> None:
    env = world(task_id)
    starts = []
    for seed in (1, 2, 1):
        env.reset(seed=seed)
        names = (*env.world.objects, *env.world.fixtures)
        starts.append(np.concatenate([[*env.world.position(n), *env.world.rotation(n).ravel()] for n in names]))
    assert np.array_equal(starts[0], starts[2])
    assert np.abs(starts[0] - starts[1]).max() > 0.02


@pytest.mark.gl
@pytest.mark.gl
@pytest.mark.parametrize("task_id", IDS)
@pytest.mark.parametrize("space", ["native", "semantic", pytest.param("gui", marks=pytest.mark.display)])
def test_gymnasiums_checker_accepts(task_id: str, space: str) -> None:
    """In every space; the pictures are small, since nobody looks at them."""
    try:
        rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))
    made = dataclasses.replace(environments.get(task_id), params={"size": 64}).make(space)
    made.lazy = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(infinity|precision).*")
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(made)
    made.close()


def test_a_goal_that_is_undone_is_no_success_and_is_done_again() -> None:
    """Somebody takes the can out of the basket: the expert fetches it once more."""
    env = world("tabletop/object-can-basket-v1")
    env.reset(seed=0)
    play(env, 300)
    assert env.success()
    q, v = env.world._free["can"]
    env.world.mj_data.qpos[q : q + 3] = [0.05, -0.15, 0.845]
    env.world.mj_data.qvel[v : v + 6] = 0.0
    env.step([0.0] * 6 + [-1.0])
    assert not env.success() and 90 <= env.score() <= 99
    play(env, 300)
    assert env.success()


def test_a_drop_on_the_way_is_made_good() -> None:
    env = world("tabletop/goal-bowl-on-plate-v1")
    env.reset(seed=1)
    while env.stage() != "transport":
        env.step(env.expert_action())
    for _ in range(12):
        env.step([0.0] * 6 + [-1.0])
    play(env, 300)
    assert env.success()


def test_the_burner_glows_while_its_knob_is_on_and_goes_dark_after_a_rollback() -> None:
    env = world("tabletop/goal-turn-on-stove-v1")
    env.reset(seed=1)
    before, cold = env.snapshot(), env.world.mj_model.geom("stove_burner_visual").rgba.copy()
    play(env, 300)
    assert env.success()
    assert env.world.mj_model.geom("stove_burner_visual").rgba[0] > cold[0] + 0.3
    env.restore(before)
    assert np.array_equal(env.world.mj_model.geom("stove_burner_visual").rgba, cold)


def test_closing_a_drawer_that_was_never_opened_scores_nothing() -> None:
    env = world("tabletop/long-cube-in-drawer-v1")
    env.reset(seed=1)
    for _ in range(5):
        env.step([0.0] * 6 + [-1.0])
    assert env.world.holds(("close", "drawer"))
    assert not any(name.endswith("-3") for name in env.milestones()) and env.score() < 15


def test_predicates_tell_on_from_beside_and_in() -> None:
    env = world("tabletop/long-stack-cubes-v1")
    env.reset(seed=1)
    scene = env.world
    assert not scene.holds(("on", "red_cube", "green_cube"))
    q, _ = scene._free["red_cube"]
    scene.mj_data.qpos[q : q + 3] = scene.position("green_cube") + np.array([0.0, 0.0, 0.04])
    env.arm.hold()
    assert scene.holds(("on", "red_cube", "green_cube"))
    scene.mj_data.qpos[q + 2] += 0.05
    env.arm.hold()
    assert not scene.holds(("on", "red_cube", "green_cube"))
    with pytest.raises(LookupError, match="no predicate 'beneath'"):
        scene.holds(("beneath", "red_cube", "green_cube"))


def test_things_are_called_as_a_person_calls_them() -> None:
    assert label("black_bowl_1") == "black bowl" and label("cabinet_top") == "top of the cabinet"
    env = world(SPATIAL[0].id)
    env.reset(seed=0)
    assert env.called("milk_carton") == "milk carton" and env.focus() == ("black_bowl_1", "plate")


@pytest.mark.parametrize("task_id", [SPATIAL[2].id, OBJECT[2].id, GOAL[0].id, GOAL[1].id, LONG[2].id])
def test_the_policy_that_does_not_recheck_succeeds_when_nothing_goes_wrong(task_id: str) -> None:
    env = world(task_id)
    env.reset(seed=1)
    policy = believing_player(env)
    policy.reset()
    for _ in range(env.task.max_steps):
        if env.step(policy.act())[2]:
            break
    assert env.success()


def test_it_goes_on_empty_handed_after_a_drop_and_a_rollback_rescues_it() -> None:
    """Its hand is knocked open while it carries; it puts nothing down in the right place, and believes all is well."""
    env = world("tabletop/object-can-basket-v1")
    env.reset(seed=2)
    policy = believing_player(env)
    policy.reset()
    while env.stage() != "transport":
        env.step(policy.act())
    before = env.snapshot()
    for _ in range(10):
        policy.act()
        env.step([0.0] * 6 + [-1.0])
    for _ in range(150):
        env.step(policy.act())
    assert not env.success() and "place" not in env.milestones()
    env.restore(before)
    policy.reset()
    for _ in range(150):
        if env.step(policy.act())[2]:
            break
    assert env.success()
