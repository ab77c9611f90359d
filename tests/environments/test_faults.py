"""Faults: each does what its name says, its benign twin does nothing, and rollback goes through it exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip(
    "environments.robots._robosuite", reason="robosuite is not installed (pip install 'rewind-arena[robots]')"
)

import environments
from environments.robots.expert import BelievingExpert
from environments.robots.faults import KINDS, Fault
from environments.robots.faults.annotation import annotate
from environments.robots.faults.senses import Percept
from environments.robots.robot_env import RobotEnv

TASK = "tabletop/pick-place-bowl-v1"
SEED, HORIZON = 3, 200


@pytest.fixture(scope="module")
def env() -> Iterator[RobotEnv]:
    made = environments.make(TASK, "native")
    assert isinstance(made, RobotEnv)
    yield made
    made.close()


def policy_of(env: RobotEnv) -> BelievingExpert:
    return BelievingExpert(env)  # type: ignore[arg-type]


def play(env: RobotEnv, fault: Fault | None, steps: int = HORIZON) -> bool:
    env.reset(seed=SEED, options={"fault": fault} if fault else None)
    policy = policy_of(env)
    policy.reset()
    return any(env.step(policy.act())[2] for _ in range(steps))


def until_onset(env: RobotEnv, fault: Any, more: int = 2) -> BelievingExpert:
    """Plays until the fault has begun, and a little on."""
    env.reset(seed=SEED, options={"fault": fault})
    policy = policy_of(env)
    policy.reset()
    for _ in range(HORIZON):
        env.step(policy.act())
        truth = env.fault_truth()
        assert truth is not None
        if truth["onset_step"] is not None:
            break
    for _ in range(more):
        env.step(policy.act())
    return policy


# -- what can be asked for ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_kind_and_severity_decide_what_is_not_said(kind: Any) -> None:
    about = KINDS[kind]
    for severity in range(4):
        fault = Fault(kind=kind, severity=severity)
        assert (fault.stage, fault.duration_steps) == (about.stage, about.steps[severity])
        assert fault.size == about.sizes[severity]
        assert Fault.parse(fault.model_dump(mode="json")) == fault
    assert Fault(kind=kind, size=0.5, duration_steps=7, stage="lift").size == 0.5
    assert list(about.sizes) == sorted(about.sizes) and list(about.steps) == sorted(about.steps)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"kind": "gremlin"}, r"fault\.kind.*gremlin"),
        ({"severity": 4}, r"fault\.severity.*got 4"),
        ({"severity": "much"}, r"fault\.severity.*much"),
        ({"size": -1}, r"fault\.size.*got -1"),
        ({"size": float("nan")}, r"fault\.size"),
        ({"duration_steps": 0}, r"fault\.duration_steps.*got 0"),
        ({"colour": "red"}, r"fault\.colour"),
        ("stuck", r"fault\.: .*got 'stuck'"),
        ([{"kind": "stuck"}, {"kind": "stuck", "severity": 1}], "each of another kind"),
        ([{"kind": kind} for kind in list(KINDS)[:9]], "up to eight"),
    ],
)
def test_malformed_faults_are_refused_by_name(env: RobotEnv, given: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        env.reset(seed=0, options={"fault": given})


# -- what they do ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_defeats_the_policy_and_its_benign_twin_does_not(env: RobotEnv, kind: Any) -> None:
    assert play(env, Fault(kind=kind, severity=0)), "N1"
    truth = env.fault_truth()
    assert truth is not None and truth["onset_step"] is not None, "the benign twin has happened too"
    assert not play(env, Fault(kind=kind, severity=3))
    truth = env.fault_truth()
    assert truth is not None
    about = KINDS[kind]
    assert (truth["kind"], truth["fault_class"], truth["fault_type"]) == (kind, about.fault_class, about.fault_type)
    assert truth["entity"] == "cube"


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_within_a_fault_plays_on_alike_in_another_world(env: RobotEnv, other: RobotEnv, kind: Any) -> None:
    until_onset(env, Fault(kind=kind, severity=2))
    snapshot = env.snapshot()
    courses = []
    for world in (env, other):
        world.restore(snapshot)
        policy, course = policy_of(world), []
        policy.reset()
        for _ in range(6):
            world.step(policy.act())
            course.append((world.state_hash(), world.fault_truth()))
        courses.append(course)
    assert courses[0] == courses[1]


@pytest.fixture(scope="module")
def other() -> Iterator[RobotEnv]:
    made = environments.make(TASK, "native")
    assert isinstance(made, RobotEnv)
    yield made
    made.close()


def test_a_fault_that_comes_back_has_happened_even_if_its_onset_is_rolled_back(env: RobotEnv) -> None:
    """Or else an episode that ends before it comes again would count as one without a fault."""
    env.reset(seed=1, options={"fault": Fault(kind="stuck", severity=2, repeat=True)})
    policy, before = policy_of(env), env.snapshot()
    policy.reset()
    truth = env.fault_truth()
    assert truth is not None and truth["first_onset_step"] is None
    while truth["onset_step"] is None:
        env.step(policy.act())
        truth = env.fault_truth()
        assert truth is not None
    onset = truth["onset_step"]
    env.restore(before)
    truth = env.fault_truth()
    assert truth is not None
    assert (truth["onset_step"], truth["first_onset_step"]) == (None, onset)
    env.reset(seed=1, options={"fault": Fault(kind="stuck", severity=2, repeat=True)})
    assert (env.fault_truth() or {})["first_onset_step"] is None, "another episode"


def test_several_faults_act_in_one_episode_and_each_tells_its_truth(env: RobotEnv) -> None:
    until_onset(env, [{"kind": "proprio-bias", "severity": 0}, {"kind": "stuck", "severity": 0}], more=40)
    truth = env.fault_truth()
    assert truth is not None and truth["kind"] == "proprio-bias" and truth["active"]
    [also] = truth["also"]
    assert also["kind"] == "stuck" and also["onset_step"] > truth["onset_step"] and not also["active"]


def test_control_faults_change_what_is_done_and_planning_faults_what_is_commanded(env: RobotEnv) -> None:
    """The robot's own record of its commands tells the two apart: `gripper_command` is what the policy decided."""
    until_onset(env, {"kind": "gripper-opens-mid-carry", "severity": 2})
    assert env.telemetry()["gripper_command"] == 1.0
    until_onset(env, {"kind": "swapped-steps", "severity": 2})
    assert env.telemetry()["gripper_command"] == -1.0


# -- what is perceived -------------------------------------------------------------------------------------------------


def test_without_a_fault_everybody_perceives_the_truth(env: RobotEnv) -> None:
    env.reset(seed=SEED)
    observation = env.observe()
    assert env.perceived(observation) is observation
    world, arm = env.senses
    assert (world.position("cube") == env.world.position("cube")).all()
    assert (arm.position == env.arm.position).all() and world.mj_model is env.world.mj_model


def test_a_policy_mistaken_about_its_hand_gets_another_state_and_the_record_the_true_one(env: RobotEnv) -> None:
    until_onset(env, {"kind": "proprio-bias", "severity": 2})
    observation = env.observe()
    off = env.perceived(observation)["state"] - observation["state"]
    assert np.linalg.norm(off[:2]) == pytest.approx(0.045, abs=1e-4) and not off[2:].any()
    assert (env.senses[1].position - env.arm.position)[:3] == pytest.approx(off[:3], abs=1e-6)


def test_a_thing_taken_for_another_is_seen_where_the_other_is(env: RobotEnv) -> None:
    until_onset(env, {"kind": "wrong-object", "severity": 2})
    world, _ = env.senses
    assert (world.position("cube") == env.world.position("distractor")).all()
    assert (world.position("bowl") == env.world.position("bowl")).all()


@pytest.mark.parametrize(
    ("kind", "told"),
    [("wrong-object", "put the blue cube in the bowl"), ("wrong-target", "put the red cube in the blue cube")],
)
def test_a_policy_that_takes_instructions_is_told_another_thing(env: RobotEnv, kind: str, told: str) -> None:
    until_onset(env, {"kind": kind, "severity": 2})
    observation = env.observe()
    assert env.perceived(observation)["instruction"] == told
    assert observation["instruction"] == env.task.goal == "put the red cube in the bowl"


def test_a_stale_view_shows_where_things_were(env: RobotEnv) -> None:
    until_onset(env, {"kind": "stale-view", "severity": 2})
    moved = env.world.position("cube") - env.senses[0].position("cube")
    assert np.linalg.norm(moved[:2]) == pytest.approx(0.06, abs=0.002)


@pytest.mark.gl
@pytest.mark.parametrize(("kind", "changed"), [("stale-view", 0.4), ("noisy-view", 0.9), ("pose-bias", 0.02)])
def test_pictures_are_altered_for_the_policy_alone(env: RobotEnv, kind: str, changed: float) -> None:
    until_onset(env, {"kind": kind, "severity": 2})
    observation = env.observe()
    true, seen = np.array(observation["agentview"]), np.array(env.perceived(observation)["agentview"])
    assert (true != seen).any(axis=2).mean() > changed
    assert np.array_equal(seen, env.perceived(env.observe())["agentview"]), "the same at the same moment"
    assert np.array_equal(env.observe()["agentview"], true), "the cameras are back in their place"


def test_an_empty_percept_is_clear() -> None:
    assert Percept().clear
    assert not Percept(arm_shift_m=np.zeros(3)).clear and not Percept(shift_m={"cube": np.ones(3)}).clear


# -- the truth about it ------------------------------------------------------------------------------------------------


def test_what_came_of_a_drop(env: RobotEnv) -> None:
    found = annotate(env, policy_of(env), SEED, Fault(kind="gripper-opens-mid-carry", severity=2), HORIZON)
    assert found.succeeds_clean and not found.succeeds
    assert found.onset_step is not None and found.manifest_step is not None and found.no_return_step is not None
    assert found.onset_step < found.manifest_step < found.no_return_step < HORIZON
    assert found.repair == "regrasp" and found.entity == "cube" and found.dxyz_m is not None


def test_what_came_of_nothing(env: RobotEnv) -> None:
    found = annotate(env, policy_of(env), SEED, Fault(kind="gripper-opens-mid-carry", severity=0), HORIZON)
    assert found.succeeds and found.repair == "none" and found.no_return_step is None


def test_a_blow_that_throws_the_object_away_is_undone_by_going_back_alone(env: RobotEnv) -> None:
    found = annotate(env, policy_of(env), SEED, Fault(kind="collision", severity=3), HORIZON)
    assert not found.succeeds and found.repair == "retry"
    assert found.onset_step is not None and found.no_return_step is not None
    assert found.no_return_step <= found.onset_step + 2
