"""Playing the tabletop: expert, skills, milestones, faults, and recovery by rollback."""

import json

import numpy as np
import pytest

import environments
from environments.errors import InvalidAction

pytest.importorskip("environments.robots._robosuite", reason="pip install 'rewind-arena[robots]'")

from environments.robots.expert import BelievingExpert
from environments.robots.faults import Fault

TASK = "tabletop/pick-place-bowl-v1"


@pytest.fixture(scope="module")
def env():
    made = environments.make(TASK, "native")
    yield made
    made.close()


@pytest.fixture(scope="module")
def skilled():
    made = environments.make(TASK, "semantic")
    yield made
    made.close()


def play(env, act, limit=200):
    """Play until success or the limit; whether it succeeded."""
    for _ in range(limit):
        _, _, done, truncated, info = env.step(act())
        assert not truncated and info["illegal"] is None
        if done:
            return True
    return False


@pytest.mark.parametrize("seed", [0, 1, 2, 12])
def test_expert_succeeds_within_150_steps(env, seed):
    env.reset(seed=seed)
    assert play(env, env.expert_action, 150)
    assert env.score() == 100.0
    assert env.milestones() == {milestone.id for milestone in env.task.milestones}


def test_milestones_come_in_order_and_stages_follow_the_task(env):
    env.reset(seed=3)
    first, stages = {}, [env.stage()]
    total = 0.0
    for step in range(150):
        _, reward, done, _, _ = env.step(env.expert_action())
        total += reward
        for milestone in env.milestones():
            first.setdefault(milestone, step)
        if env.stage() != stages[-1]:
            stages.append(env.stage())
        if done:
            break
    for milestone in env.task.milestones:
        assert all(first[before] <= first[milestone.id] for before in milestone.after)
    assert stages == ["reach", "grasp", "lift", "transport", "lower", "release"]
    assert total == pytest.approx(100.0, abs=1e-6)


def test_mixing_the_expert_with_chance_scores_in_between(env):
    scores = {}
    for share in (0.0, 0.75, 1.0):
        rng = np.random.default_rng(3)
        env.reset(seed=3)
        env.action_space.seed(3)
        play(
            env,
            lambda share=share, rng=rng: env.expert_action() if rng.random() < share else env.action_space.sample(),
            120,
        )
        scores[share] = env.score()
    assert scores[0.0] < 15 < 50 <= scores[0.75] and scores[1.0] == 100


def test_expert_recovers_after_someone_else_moved_the_arm(env):
    env.reset(seed=6)
    for _ in range(35):
        env.step(env.expert_action())
    for _ in range(12):
        env.step([1.0, -0.5, 1.0, 0.5, -0.5, 1.0, -1.0])
    assert play(env, env.expert_action, 150)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_fault_defeats_the_believing_expert_and_rollback_rescues_it(env, seed):
    policy = BelievingExpert(env)
    env.reset(seed=seed)
    policy.reset()
    assert play(env, policy.act), "without the fault the policy succeeds"

    env.reset(seed=seed, options={"fault": {"kind": "gripper-opens-mid-carry"}})
    policy.reset()
    snapshots, hashes, telemetry = [], [], []
    for _ in range(120):
        snapshots.append(env.snapshot())
        hashes.append(env.state_hash())
        _, _, done, _, _ = env.step(policy.act())
        telemetry.append(env.telemetry())
        assert not done
    truth = env.fault_truth()
    assert truth["fault_class"] == "control" and truth["fault_type"] == "C5" and not truth["active"]
    onset = truth["onset_step"]
    assert {"grasp", "lift"} <= env.milestones() and "place" not in env.milestones()
    # The robot itself can see it: commanded to close, and yet wider than what it held.
    assert telemetry[onset + 5]["gripper_command"] == 1
    assert telemetry[onset + 9]["gripper_width_m"] > telemetry[onset - 1]["gripper_width_m"] + 0.015

    env.restore(snapshots[onset - 2])
    assert env.state_hash() == hashes[onset - 2]
    policy.reset()
    assert play(env, policy.act, 100), "the disturbance does not come back"
    assert env.fault_truth()["onset_step"] == onset


def test_fault_comes_back_after_rollback_if_it_is_to_repeat(env):
    policy = BelievingExpert(env)
    env.reset(seed=0, options={"fault": {"repeat": True}})
    policy.reset()
    early = None
    for step in range(120):
        if step == 34:
            early = env.snapshot()
        env.step(policy.act())
    first = env.fault_truth()["onset_step"]
    env.restore(early)
    assert env.fault_truth()["onset_step"] is None
    policy.reset()
    assert not play(env, policy.act, 100)
    assert env.fault_truth()["onset_step"] == pytest.approx(first, abs=8)


def test_fault_is_armed_by_inject_and_gone_with_the_next_reset():
    env = environments.make(TASK, "native")
    env.inject(Fault(after_steps=2))
    env.reset(seed=1)
    assert env.fault_truth()["onset_step"] is None
    env.reset(seed=1)
    assert env.fault_truth() is None
    env.inject({"kind": "gripper-opens-mid-carry", "severity": 2})
    assert env.fault_truth()["severity"] == 2
    env.inject(None)
    assert env.fault_truth() is None
    env.close()


def test_malformed_faults_and_options_are_refused_by_name(env):
    with pytest.raises(ValueError, match=r"fault\.duration_steps.*got 0"):
        env.reset(seed=1, options={"fault": {"duration_steps": 0}})
    with pytest.raises(ValueError, match=r"fault\.kind"):
        env.inject({"kind": "meteor"})
    with pytest.raises(ValueError, match=r"unknown reset options.*'faults'"):
        env.reset(seed=1, options={"faults": {}})


def test_telemetry_is_json_and_knows_no_object(env):
    env.reset(seed=1)
    env.step([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    telemetry = json.loads(json.dumps(env.telemetry()))
    known = {"command", "gripper_command", "gripper_width_m", "eef_pos_m", "eef_speed_m_s", "control_step"}
    assert set(telemetry) == known
    assert telemetry["gripper_command"] == 1.0 and 0 <= telemetry["gripper_width_m"] <= 0.0805


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_expert_succeeds_with_skills_in_few_steps(skilled, seed):
    skilled.reset(seed=seed)
    assert play(skilled, skilled.expert_action, 25)
    assert skilled.score() == 100.0


def test_move_goes_where_it_is_told(skilled):
    skilled.reset(seed=1)
    before = skilled.arm.position
    skilled.step({"skill": "move", "dx_cm": 3, "dy_cm": -4, "dz_cm": -5})
    assert np.allclose(skilled.arm.position - before, [0.03, -0.04, -0.05], atol=0.006)


def test_turn_and_gripper_do_what_they_say(skilled):
    skilled.reset(seed=1)
    before = np.arctan2(skilled.arm.rotation[1, 0], skilled.arm.rotation[0, 0])
    skilled.step({"skill": "turn", "yaw_deg": 30})
    after = np.arctan2(skilled.arm.rotation[1, 0], skilled.arm.rotation[0, 0])
    assert np.degrees(after - before) == pytest.approx(30, abs=3)
    skilled.step({"skill": "gripper", "state": "close"})
    assert skilled.arm.width_m < 0.005
    skilled.step({"skill": "move", "dz_cm": 2})
    assert skilled.arm.width_m < 0.005, "a move keeps the gripper as it is"
    skilled.step({"skill": "gripper", "state": "open"})
    assert skilled.arm.width_m > 0.075


def test_leaving_the_workspace_is_refused_and_moves_nothing(skilled):
    skilled.reset(seed=1)
    before = skilled.state_hash()
    *_, info = skilled.step({"skill": "move", "dz_cm": 15})
    assert info["illegal"].startswith("out of workspace: z would be 116")
    assert skilled.state_hash() == before


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ({"skill": "move", "dx_cm": 40}, "dx_cm"),
        ({"skill": "turn"}, "yaw_deg"),
        ({"skill": "gripper", "state": "ajar"}, "open"),
        ({"skill": "fly"}, "skill"),
        ({"skill": "move", "dx_cm": float("nan")}, "dx_cm"),
    ],
)
def test_the_skill_schema_refuses_and_explains(skilled, action, problem):
    with pytest.raises(InvalidAction, match=problem):
        skilled.action_space.parse(action)


def test_every_sampled_skill_is_valid(skilled):
    skilled.action_space.seed(0)
    assert {skilled.action_space.sample()["skill"] for _ in range(30)} == {"move", "turn", "gripper"}
