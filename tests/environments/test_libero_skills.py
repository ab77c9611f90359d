"""LIBERO's semantic space: its tasks solved by named skills, reasons when one does not work, and the checker's word."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env

import environments
from environments.errors import RenderError
from environments.robots.libero import loading

pytestmark = pytest.mark.shared

TABLE, STOVE = "libero/goal/8-v1", "libero/10/2-v1"
TOP = "top drawer of the wooden cabinet"


@pytest.fixture(scope="module", autouse=True)
def benchmark() -> None:
    if not os.environ.get(loading.ASSETS):
        pytest.skip(f"{loading.ASSETS} names no folder with the assets of the LIBERO benchmark")
    if loading.problems():
        pytest.skip("; ".join(loading.problems()))


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    made = environments.make(TABLE, "semantic")
    yield made
    made.close()


def told(env: Any, **skill: Any) -> str | None:
    """Play one skill; what was said against it."""
    *_, info = env.step(skill)
    reason: str | None = info["illegal"]
    return reason


@pytest.mark.parametrize(
    ("task_id", "first"),
    [
        ("libero/spatial/2-v1", {"skill": "pick", "object": "left black bowl"}),
        ("libero/object/0-v1", {"skill": "pick", "object": "alphabet soup"}),
        ("libero/goal/0-v1", {"skill": "open", "fixture": "middle drawer of the wooden cabinet"}),
        ("libero/10/5-v1", {"skill": "pick", "object": "book"}),
    ],
)
def test_the_expert_reaches_the_benchmarks_goal_with_a_few_skills(
    make_env: Any, task_id: str, first: dict[str, str]
) -> None:
    """A drawer with a leaning hand too; the episode ends within the skill, the moment that the benchmark says so."""
    env = make_env(task_id, "semantic", seed=0)
    assert env.expert_action() == first
    for _ in range(4):
        *_, done, _, info = env.step(env.expert_action())
        assert info["illegal"] is None
        if done:
            break
    assert done and env.success() and env.score() == 100
    assert env.world.problem._check_success()


def test_a_list_of_skills_solves_a_task_as_a_person_would_word_it(table: Any) -> None:
    table.reset(seed=0)
    assert told(table, skill="pick", object="bowl") is None
    assert told(table, skill="place", object="the bowl", relation="on", target="plate") is None
    assert table.success()


def test_refusals_move_nothing_and_say_why(table: Any) -> None:
    table.reset(seed=0)
    before = table.state_hash()
    cabinet = "middle drawer of the wooden cabinet"
    assert told(table, skill="place", object="bowl", relation="in", target=TOP) == "nothing is held"
    assert told(table, skill="turn_on", fixture=cabinet) == f"the {cabinet} has nothing to turn on"
    assert told(table, skill="open", fixture="stove") == "the stove has nothing to open"
    assert "did you mean 'wine bottle'?" in str(told(table, skill="pick", object="wine botle"))
    assert "there is no place called" in str(told(table, skill="place", object="bowl", relation="on", target="moon"))
    assert table.state_hash() == before


def test_a_closed_drawer_takes_nothing_an_open_one_is_closed_again(table: Any) -> None:
    """The leaning hand comes out of the drawer's bar, and what it held before was put down."""
    table.reset(seed=0)
    world = table.world
    assert told(table, skill="push", object="cream cheese box", direction="right", cm=5.0) is None
    assert told(table, skill="pick", object="cream cheese box") is None
    assert told(table, skill="place", object="cream cheese box", relation="in", target=TOP) == f"the {TOP} is closed"
    assert told(table, skill="open", fixture=TOP) == "the hand is not free: it holds the cream cheese box"
    assert told(table, skill="place", object="cream cheese box", relation="in", target="bowl") is None
    assert world.holds(("on", "cream_cheese_1", "akita_black_bowl_1"))
    assert told(table, skill="open", fixture=TOP) is None
    assert world.holds(("open", "wooden_cabinet_1_top_region")) and not table._hands.shut("wooden_cabinet_1_top_region")
    assert told(table, skill="close", fixture=TOP) is None
    assert world.holds(("close", "wooden_cabinet_1_top_region")) and table._hands.shut("wooden_cabinet_1_top_region")


def test_a_stove_is_turned_on_and_off_and_the_hand_moves(make_env: Any) -> None:
    env = make_env(STOVE, "semantic", seed=1)
    assert told(env, skill="turn_on", fixture="stove") is None
    assert env.world.holds(("turnon", "flat_stove_1"))
    assert told(env, skill="turn_off", fixture="stove") is None
    assert env.world.holds(("turnoff", "flat_stove_1"))
    assert told(env, skill="move", dz_cm=4.0) is None and told(env, skill="turn", yaw_deg=20.0) is None
    assert told(env, skill="gripper", state="close") is None and env.arm.width_m < 0.01


@pytest.mark.parametrize("suite", ["spatial", "object", "goal", "10"])
def test_every_thing_of_a_goal_has_a_name_and_no_name_is_a_rule_of_the_scenes_file(make_env: Any, suite: str) -> None:
    for number in (0, 4, 9):
        env = make_env(f"libero/{suite}/{number}-v1", "semantic", seed=0)
        hands, fact = env._hands, env.world.fact
        for predicate in fact.goal:
            known = hands.objects() if len(predicate) == 3 else hands.parts()
            assert predicate[1] in known.values()
            assert len(predicate) == 2 or predicate[2] in hands.places().values()
        said = [*hands.objects(), *hands.places(), *hands.parts()]
        assert not [name for name in said if "_" in name or "init" in name or "region" in name]
        env.close()


@pytest.mark.gl
@pytest.mark.parametrize("task_id", ["libero/object/0-v1", "libero/goal/0-v1", "libero/10/9-v1"])
@pytest.mark.parametrize("space", ["native", "semantic", pytest.param("gui", marks=pytest.mark.display)])
def test_gymnasiums_checker_is_content(task_id: str, space: str) -> None:
    from environments.robots import rendering

    try:
        rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))
    made = environments.make(task_id, space)
    made.lazy = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(infinity|precision).*")
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(made)
    made.close()
