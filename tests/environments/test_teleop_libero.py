"""LIBERO's own scenes in the teleoperation window."""

import os

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
