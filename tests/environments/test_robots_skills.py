"""Skills that name what they act on: what they do, what they refuse, and how they say it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import environments
from environments.errors import InvalidAction

pytest.importorskip("environments.robots._robosuite", reason="pip install 'rewind-arena[robots]'")

BASKET, KITCHEN, BOWLS = (
    "tabletop/object-can-basket-v1",
    "tabletop/goal-open-drawer-v1",
    "tabletop/spatial-bowl-beside-milk-v1",
)


def made(task_id: str) -> Any:
    env = environments.make(task_id, "semantic")
    yield env
    env.close()


basket = pytest.fixture(scope="module")(lambda: (yield from made(BASKET)))
kitchen = pytest.fixture(scope="module")(lambda: (yield from made(KITCHEN)))
bowls = pytest.fixture(scope="module")(lambda: (yield from made(BOWLS)))


def told(env: Any, **skill: Any) -> str | None:
    """Play one skill; what was said against it."""
    *_, info = env.step(skill)
    reason: str | None = info["illegal"]
    return reason


def test_pick_and_place_put_the_can_in_the_basket(basket: Any) -> None:
    basket.reset(seed=1)
    assert told(basket, skill="pick", object="can") is None
    assert basket.milestones() >= {"reach", "grasp", "lift"} and basket.world.position("can")[2] > 0.88
    assert told(basket, skill="place", object="can", relation="in", target="basket") is None
    assert basket.success() and basket.score() == 100.0


def test_placing_without_anything_in_the_hand_is_refused_and_moves_nothing(basket: Any) -> None:
    basket.reset(seed=1)
    before = basket.state_hash()
    assert told(basket, skill="place", object="can", relation="in", target="basket") == "nothing is held"
    assert basket.state_hash() == before


def test_a_full_hand_picks_nothing_else_and_places_only_what_it_holds(basket: Any) -> None:
    basket.reset(seed=1)
    assert told(basket, skill="pick", object="bread") is None
    assert told(basket, skill="pick", object="can") == "the hand is not free: it holds the bread"
    assert told(basket, skill="place", object="can", relation="in", target="basket") == (
        "the hand holds the bread, not the can"
    )
    assert told(basket, skill="place", object="bread", relation="on", target="bread") == (
        "the bread cannot be put on itself"
    )


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("can", None),
        ("The Milk_Carton", None),
        ("milk cartoon", "did you mean 'milk carton'?"),
        ("elephant", "there is 'can'"),
    ],
)
def test_names_are_taken_as_a_person_says_them(basket: Any, said: str, answer: str | None) -> None:
    basket.reset(seed=2)
    reason = told(basket, skill="push", object=said, direction="left", cm=1.0)
    if answer is None:
        assert reason is None or "no object" not in reason
    else:
        assert reason is not None and answer in reason and "there is no object to push" in reason


def test_of_two_of_a_kind_one_is_left_and_one_is_right(bowls: Any) -> None:
    bowls.reset(seed=1)
    reason = told(bowls, skill="pick", object="black bowl")
    assert reason is not None and "left black bowl" in reason + str(bowls._hands.objects())
    names = bowls._hands.objects()
    assert bowls.world.position(names["left black bowl"])[1] < bowls.world.position(names["right black bowl"])[1]


def test_the_drawer_opens_and_closes(kitchen: Any) -> None:
    kitchen.reset(seed=1)
    assert told(kitchen, skill="open", fixture="drawer") is None
    assert kitchen.success()
    assert told(kitchen, skill="close", fixture="drawer") is None
    assert kitchen.world.holds(("close", "drawer")) and not kitchen.success()


def test_a_closed_drawer_takes_nothing(kitchen: Any) -> None:
    kitchen.reset(seed=1)
    assert told(kitchen, skill="pick", object="can") is None
    assert told(kitchen, skill="place", object="can", relation="in", target="drawer") == "the drawer is closed"
    assert told(kitchen, skill="open", fixture="drawer") == "the hand is not free: it holds the can"


def test_the_stove_is_turned_on_and_off(kitchen: Any) -> None:
    kitchen.reset(seed=1)
    assert told(kitchen, skill="turn_on", fixture="stove") is None
    assert kitchen.world.holds(("turnon", "knob"))
    assert told(kitchen, skill="turn_off", fixture="stove") is None
    assert kitchen.world.holds(("turnoff", "knob"))


def test_push_moves_a_thing_its_way_about_as_far_as_told(kitchen: Any) -> None:
    kitchen.reset(seed=1)
    before = kitchen.world.position("plate")
    assert told(kitchen, skill="push", object="plate", direction="right", cm=6.0) is None
    moved = kitchen.world.position("plate") - before
    assert moved[1] == pytest.approx(0.06, abs=0.025) and abs(moved[0]) < 0.02


def test_a_hand_that_closes_on_nothing_says_so(basket: Any) -> None:
    """Somebody takes the can away while the hand closes."""
    basket.reset(seed=1)
    control, world = basket._control, basket.world

    def control_and_steal(action: list[float]) -> None:
        control(action)
        if action[6] > 0:
            q, v = world._free["can"]
            world.mj_data.qpos[q : q + 2] = (0.30, -0.35)
            world.mj_data.qvel[v : v + 6] = 0.0

    basket._control = control_and_steal
    try:
        reason = told(basket, skill="pick", object="can")
    finally:
        del basket._control
    assert reason in (
        "the hand closed on nothing",
        "the hand did not get to the can: something is in its way or it moved",
    )


def test_what_lies_too_far_away_is_refused(basket: Any) -> None:
    basket.reset(seed=1)
    q, _ = basket.world._free["can"]
    basket.world.mj_data.qpos[q : q + 2] = (0.36, 0.36)
    basket.arm.hold()
    assert told(basket, skill="pick", object="can") == "the can is not within reach"


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ({"skill": "pick"}, "object"),
        ({"skill": "place", "object": "can", "relation": "under", "target": "basket"}, "on"),
        ({"skill": "push", "object": "can", "direction": "up", "cm": 3}, "left"),
        ({"skill": "push", "object": "can", "direction": "left", "cm": 90}, "cm"),
        ({"skill": "pick", "object": "x" * 61}, "60"),
    ],
)
def test_the_schema_refuses_and_explains(basket: Any, action: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidAction, match=problem):
        basket.action_space.parse(action)


def test_every_sampled_skill_is_valid(basket: Any) -> None:
    basket.action_space.seed(0)
    seen = {basket.action_space.sample()["skill"] for _ in range(200)}
    assert seen == {
        "pick", "place", "open", "close", "turn_on", "turn_off", "push", "move", "turn", "gripper",
    }  # fmt: skip


def test_a_skill_lasts_as_long_as_its_motion(basket: Any) -> None:
    basket.reset(seed=1)
    told(basket, skill="pick", object="can")
    steps = basket.telemetry()["control_step"]
    assert 30 < steps < 140
    assert np.isfinite(basket.observe()["state"]).all()
