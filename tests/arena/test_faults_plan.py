"""What a fault dataset is to hold: shares, splits, and slots that know nothing of each other. No engine is needed."""

from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from arena.faults.plan import FIRST_SEED, STAGES, BuildConfig, CannotBuild, Player, slots, split_of
from environments.registry import match
from environments.robots.faults import KINDS

TASKS = tuple(task.id for task in match("tabletop/*"))


def test_every_kind_has_an_equal_share_at_every_severity_on_both_sides():
    plan = slots(BuildConfig(tasks=TASKS, per_cell=7))
    assert len(plan) == 20 * 4 * 7 + 140
    cells = Counter((slot.kind, slot.severity, slot.split) for slot in plan if slot.kind)
    assert set(cells.values()) == {5, 2}
    assert {(kind, severity) for kind, severity, _ in cells} == {(kind, n) for kind in KINDS for n in range(4)}


def test_tasks_of_the_two_sides_are_disjoint_and_every_family_is_on_both():
    plan = slots(BuildConfig(tasks=TASKS))
    by_side = {side: {a.task for s in plan if s.split == side for a in s.attempts} for side in ("train", "heldout")}
    assert not by_side["train"] & by_side["heldout"]
    families = {task.id: task.category for task in match("tabletop/*") if task.category != "pick-and-place"}
    for side, tasks in by_side.items():
        assert {families[task] for task in tasks if task in families} == set(families.values()), side


def test_the_side_of_a_task_does_not_depend_on_the_other_tasks():
    alone = slots(BuildConfig(tasks=(TASKS[3],), per_cell=1))
    assert {slot.split for slot in alone} == {split_of(TASKS[3])}


def test_no_two_slots_of_a_cell_try_the_same_episode():
    for slot_kind in ("stuck", None):
        tried = [
            a.id
            for s in slots(BuildConfig(tasks=TASKS, per_cell=9, seeds=1000))
            if s.kind == slot_kind
            for a in s.attempts
        ]
        assert len(tried) == len(set(tried))


def test_few_seeds_are_all_used_before_a_slot_begins_with_an_episode_of_another():
    """Twelve seeds and six tries: a multiple, which once let clean slots come back to each other's episodes."""
    plan = slots(BuildConfig(tasks=TASKS, per_cell=6, clean=180, seeds=12))
    assert len({slot.attempts[0].id for slot in plan}) == len(plan) == 660


def test_the_plan_follows_from_the_configuration_alone():
    config = BuildConfig(tasks=TASKS, per_cell=2)
    assert slots(config) == slots(BuildConfig(tasks=tuple(reversed(TASKS)), per_cell=2))
    other = slots(BuildConfig(tasks=TASKS, per_cell=2, seed=1))
    assert {a.seed // 1000 for s in slots(config) for a in s.attempts} == {FIRST_SEED // 1000}
    assert {a.seed // 1000 for s in other for a in s.attempts} == {FIRST_SEED // 1000 + 1}
    assert config.fingerprint != BuildConfig(tasks=TASKS, per_cell=2, seed=1).fingerprint


def test_stages_take_turns():
    plan = slots(BuildConfig(tasks=TASKS, kinds=("stuck",), severities=(3,), per_cell=10))
    first = Counter(slot.attempts[0].stage for slot in plan if slot.kind)
    assert set(first) == set(STAGES["stuck"])


def test_every_kind_has_its_own_stage_among_its_stages():
    assert set(STAGES) == set(KINDS)
    assert all(KINDS[kind].stage in stages for kind, stages in STAGES.items())


def test_tasks_that_no_policy_plays_are_refused_with_the_reason():
    with pytest.raises(CannotBuild, match="games/maze-v1 is no robot task"):
        slots(BuildConfig(tasks=("games/maze-v1",)))
    without_expert = BuildConfig(tasks=("libero/90/0-v1",), players=(Player(agent="scripted-policy"),))
    with pytest.raises(CannotBuild, match="libero/90/0-v1 has none"):
        slots(without_expert)


def test_libero_begins_anew_after_fifty_seeds():
    """Seeds 70,000 and 70,050 are one episode there, and two of the tabletop."""
    tasks = ("libero/object/0-v1", "libero/object/2-v1", "tabletop/pick-place-bowl-v1")
    plan = slots(BuildConfig(tasks=tasks, seeds=60, clean=400, per_cell=1))
    seeds = {task: {a.seed for s in plan for a in s.attempts if a.task == task} for task in tasks}
    assert {task: max(known) for task, known in seeds.items()} == {
        tasks[0]: FIRST_SEED + 49, tasks[1]: FIRST_SEED + 49, tasks[2]: FIRST_SEED + 59,
    }  # fmt: skip


def test_libero_tries_no_stage_that_it_does_not_have():
    plan = slots(BuildConfig(tasks=("libero/goal/0-v1",), kinds=("stuck",), severities=(3,), per_cell=10))
    assert {a.stage for slot in plan if slot.kind for a in slot.attempts} == {"transport", "reach", "lift"}


def test_a_variant_is_on_the_side_of_its_task():
    for task in match("libero/*"):
        assert split_of(task.id.replace("-v1", "-fast-v1")) == split_of(task.id)


def test_options_are_checked():
    for wrong in ({"severities": (4,)}, {"every": 3}, {"kinds": ("rust",)}, {"tasks": ()}):
        with pytest.raises(ValidationError):
            BuildConfig(**({"tasks": TASKS} | wrong))
