"""Faults on the suite's tasks and on LIBERO's: places, drawers and knobs too are perceived where they are not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip(
    "environments.robots._robosuite", reason="robosuite is not installed (pip install 'rewind-arena[robots]')"
)

import environments
from environments.robots.expert import believing_player
from environments.robots.faults import Fault

BASKET, DRAWER, STOVE = (
    "tabletop/object-can-basket-v1",
    "tabletop/goal-open-drawer-v1",
    "tabletop/goal-turn-on-stove-v1",
)
SEED = 1


def made(task_id: str) -> Iterator[Any]:
    env = environments.make(task_id, "native")
    yield env
    env.close()


basket = pytest.fixture(scope="module")(lambda: (yield from made(BASKET)))
drawer = pytest.fixture(scope="module")(lambda: (yield from made(DRAWER)))


def play(env: Any, **fault: Any) -> bool:
    """Whether the policy that does not re-check succeeds."""
    env.reset(seed=SEED, options={"fault": Fault(**fault)} if fault else None)
    policy = believing_player(env)
    policy.reset()
    return any(env.step(policy.act())[2] for _ in range(env.task.max_steps))


def until_onset(env: Any, **fault: Any) -> None:
    """Play until the fault has begun."""
    env.reset(seed=SEED, options={"fault": Fault(**fault)})
    policy = believing_player(env)
    policy.reset()
    while env.fault_truth()["onset_step"] is None and env.control_steps < env.task.max_steps:
        env.step(policy.act())
    assert env.fault_truth()["onset_step"] is not None


def test_a_policy_that_believes_a_place_elsewhere_puts_things_there(basket: Any) -> None:
    assert play(basket, kind="wrong-target", severity=0), "N1"
    assert not play(basket, kind="wrong-target", severity=3)
    until_onset(basket, kind="wrong-target", severity=3)
    seen, true = basket.senses[0], basket.world
    off = seen.position("basket") - true.position("basket")
    assert np.linalg.norm(off[:2]) == pytest.approx(0.15, abs=1e-6)
    (middle, half), (real, size) = seen.surface("basket"), true.surface("basket")
    assert middle - real == pytest.approx(off) and (half == size).all()


def test_what_a_thing_is_taken_for_has_its_own_box_foot_and_place(basket: Any) -> None:
    until_onset(basket, kind="wrong-object", severity=3)
    seen, true, other = basket.senses[0], basket.world, basket._injector._running[0].memory["other"]
    assert other not in (None, "can")
    assert (seen.bounds("can") == true.bounds(other)).all() and seen.bottom("can") == true.bottom(other)
    assert seen.holds(("in", "can", "basket")) == true.holds(("in", other, "basket"))


def test_a_predicate_is_believed_by_the_poses_that_are_believed(basket: Any) -> None:
    """The can lies in the basket; who sees it half a metre beside it believes that it does not."""
    assert play(basket)
    fact = ("in", "can", "basket")
    assert basket.world.holds(fact) and basket.senses[0].holds(fact)
    percept = basket._injector.percept()
    percept.shift_m["can"] = np.array([0.3, 0.0, 0.0])
    try:
        assert not basket.senses[0].holds(fact) and basket.world.holds(fact)
        percept.shift_m["basket"] = percept.shift_m["can"]
        assert basket.senses[0].holds(fact), "both are seen beside where they are"
        del percept.shift_m["can"], percept.shift_m["basket"]
        percept.shift_m["can"] = np.array([0.0, 0.0, 0.02])
        assert basket.senses[0].bottom("can") == pytest.approx(basket.world.bottom("can") + 0.02)
    finally:
        percept.shift_m.clear()


@pytest.mark.parametrize("task_id", [DRAWER, STOVE])
@pytest.mark.parametrize("kind", ["wrong-object", "pose-bias", "noisy-view", "skipped-step"])
def test_a_part_that_is_perceived_elsewhere_is_missed_and_its_benign_twin_is_not(task_id: str, kind: Any) -> None:
    env: Any = environments.make(task_id, "native")
    assert play(env, kind=kind, severity=0)
    assert env.fault_truth()["entity"] == env.focus()[0] or env.success()
    assert not play(env, kind=kind, severity=3)
    assert env.fault_truth()["entity"] in ("drawer", "knob")
    env.close()


def test_a_part_has_a_focus_and_its_handle_is_seen_where_the_part_is(drawer: Any) -> None:
    drawer.reset(seed=SEED)
    assert drawer.focus() == ("drawer", None)
    policy: Any = believing_player(drawer)
    step = policy._plan.steps[0]
    plain, true = policy._plan.handle(step), drawer.progress.plan.handle(step)
    assert (plain.point == true.point).all() and plain.left == true.left, "to the bit, where no fault is between"
    until_onset(drawer, kind="pose-bias", severity=2)
    beside = policy._plan.handle(step).point - drawer.progress.plan.handle(step).point
    assert np.linalg.norm(beside) == pytest.approx(0.045, abs=1e-6)


def test_a_drawer_that_is_moved_slides_and_one_that_is_struck_is_pushed(drawer: Any) -> None:
    drawer.reset(seed=SEED)
    assert drawer.world.openness("drawer") < 0.02
    until_onset(drawer, kind="object-moved", severity=3, stage="reach", after_steps=3)
    assert drawer.fault_truth()["entity"] == "drawer"
    ((now, low, _),) = drawer.world.joints("drawer").values()
    assert now - low == pytest.approx(0.09, abs=0.02)
    until_onset(drawer, kind="collision", severity=3, stage="reach", after_steps=3)
    assert drawer._injector._running[0].memory["body"] == drawer.world._body["drawer"]


def test_a_stale_view_of_a_drawer_keeps_it_where_it_was(drawer: Any) -> None:
    until_onset(drawer, kind="stale-view", severity=3)
    moved = drawer.world.position("drawer") - drawer.senses[0].position("drawer")
    assert np.linalg.norm(moved) == pytest.approx(0.08, abs=0.02)
    assert not play(drawer, kind="stale-view", severity=3)


# -- LIBERO ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["libero/spatial/0-v1", "libero/goal/0-v1"])
def libero(request: pytest.FixtureRequest) -> Iterator[Any]:
    from environments.robots.libero import loading

    if not os.environ.get(loading.ASSETS) or loading.problems():
        pytest.skip(f"{loading.ASSETS} names no folder with the assets of the LIBERO benchmark")
    yield from made(request.param)


@pytest.mark.shared
@pytest.mark.gl
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("wrong-object", {"instruction", "position"}),
        ("pose-bias", {"agentview", "wrist", "position"}),
        ("stale-view", {"agentview", "position"}),
        ("noisy-view", {"agentview", "wrist", "position"}),
        ("proprio-bias", {"state", "hand"}),
        ("false-grasp", {"touch"}),
    ],
)
def test_on_a_libero_scene_perception_differs_for_the_policy_alone(libero: Any, kind: Any, changes: set[str]) -> None:
    """A bowl, and a drawer, which is a region of its cabinet; what is recorded and judged stays the truth."""
    libero.reset(seed=0, options={"fault": {"kind": kind, "severity": 2, "stage": "reach", "after_steps": 3}})
    thing = libero.focus()[0]
    for _ in range(6):
        libero.step(libero.expert_action())
    truth = libero.fault_truth()
    assert truth["entity"] == thing and truth["active"]
    observation = libero.observe()
    recorded = {key: np.array(observation[key]) for key in ("agentview", "wrist")}
    seen, (world, arm) = libero.perceived(observation), libero.senses
    differs = {key for key in ("agentview", "wrist", "state") if (np.array(seen[key]) != observation[key]).any()}
    differs |= {"instruction"} if seen["instruction"] != libero.task.goal else set()
    differs |= {"position"} if (world.position(thing) != libero.world.position(thing)).any() else set()
    differs |= {"hand"} if (arm.position != libero.arm.position).any() else set()
    if kind == "false-grasp" and world.touching("left_finger", thing):
        differs.add("touch")
    assert differs == changes
    assert [world.holds(fact) for fact in libero.world.fact.goal] == [False]
    assert all(np.array_equal(libero.observe()[key], recorded[key]) for key in recorded), "the cameras are back"
    assert libero.observe()["instruction"] == libero.task.goal
