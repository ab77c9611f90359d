"""LIBERO's own scenes in the teleoperation window."""

import os

import numpy as np
import pytest

from tests.environments.test_games_contract import EventDesk

pytest.importorskip("environments.robots._robosuite", reason="pip install 'rewind-arena[robots]'")

pytestmark = [
    pytest.mark.shared,
    pytest.mark.gl,
    pytest.mark.skipif("ARENA_LIBERO_ASSETS" not in os.environ, reason="ARENA_LIBERO_ASSETS names no folder"),
]


def test_forward_and_left_are_those_of_the_picture_and_the_state_comes_back(make_env):
    """Forward leads towards the robot, which faces the main camera; its pictures are not mirrored."""
    env = make_env("libero/goal/0-v1", "gui", seed=0)
    env._teleop._desktop = EventDesk()
    start = env.robot.arm.position
    env.step({"verb": "press", "key": "2"})
    snap = env.snapshot()
    env.step({"verb": "press", "key": "w"})
    env.step({"verb": "press", "key": "a"})
    moved = env.robot.arm.position - start
    assert moved == pytest.approx([-0.05, -0.05, 0.0], abs=0.006)
    hashed, frame = env.state_hash(), env.render()
    env.restore(snap)
    env.step({"verb": "press", "key": "w"})
    env.step({"verb": "press", "key": "a"})
    assert env.state_hash() == hashed and (env.render() == frame).all()


@pytest.mark.display
@pytest.mark.parametrize(
    "task_id", ["libero/object/0-v1", "libero/spatial/0-v1", "libero/goal/0-v1", "libero/10/0-v1", "libero/10/5-v1"]
)
def test_the_expert_wins_at_the_window(make_env, task_id):
    """Through the real display; goal/0 opens a drawer with a leaning hand, and an episode ends within a gesture."""
    env = make_env(task_id, "gui", seed=0)
    for _ in range(60):
        gesture = env.expert_action()
        assert gesture["verb"] in ("click", "hold", "hotkey", "wait")
        *_, done, _, info = env.step(gesture)
        assert info["illegal"] is None
        if done:
            break
    assert done and env.success() and env.score() == 100
    assert env.robot.world.problem._check_success(), "the benchmark's own check, at this very moment"
    assert env._teleop.state()["message"] == "The episode is over."


def test_a_leaning_hand_goes_straight_into_where_it_points(make_env):
    """The expert's line to the bar of the drawer is left by less than the clearance of its fingers."""
    env = make_env("libero/goal/0-v1", "gui", seed=1)
    env._teleop._desktop = EventDesk()
    beside = []
    for _ in range(40):
        goal = env.robot.waypoint()
        if goal.phase == "descend":
            pointing = goal.rotation[:, 2]
            away = goal.position - env.robot.arm.position
            beside.append(float(np.linalg.norm(away - pointing * float(away @ pointing))))
        if goal.phase == "pull":
            break
        env.step(env.expert_action())
    assert goal.phase == "pull" and len(beside) > 4 and max(beside) < 0.012
