"""Each installed program: it starts, shows a picture, answers a gesture, and ends. Skipped where it is missing."""

from __future__ import annotations

import time

import numpy as np
import pytest

import environments
from environments.desktop import check as desktop_problems
from environments.errors import MissingProgram
from environments.native import check
from environments.native.env import program_of

pytestmark = [
    pytest.mark.display,
    pytest.mark.skipif(bool(desktop_problems()), reason="; ".join(desktop_problems())),
]
PRESS = {"verb": "press"}
GESTURES = {
    "desktop/flood-v1": [{"verb": "click", "x": x, "y": 58} for x in (176, 208, 240)],
    "desktop/unruly-v1": [{"verb": "click", "x": x, "y": 207} for x in (195, 245)],
    "desktop/mines-v1": [{"verb": "click", "x": 60, "y": 90}],
    "desktop/2048-v1": [PRESS | {"key": key} for key in ("left", "up", "right")],
    "desktop/hexahop-v1": [PRESS | {"key": "e"}],
    "desktop/fishfillets-v1": [PRESS | {"key": "right"}],
    "desktop/wesnoth-v1": [{"verb": "click", "x": 100, "y": 60}],
    "desktop/steelsky-v1": [{"verb": "click", "x": 320, "y": 300}],
    "desktop/pingus-v1": [{"verb": "wait", "ms": 1500}],
    "desktop/frozenbubble-v1": [{"verb": "hold", "key": "left", "ms": 300}, PRESS | {"key": "up"}],
    "desktop/lbreakout-v1": [PRESS | {"key": "space"}, {"verb": "hold", "key": "left", "ms": 300}],
    "desktop/minetest-v1": [PRESS | {"key": "i"}],
    "desktop/freedoom-v1": [{"verb": "hold", "key": "up", "ms": 800}],
}
TASKS = [task.id for task in environments.match("desktop/*")]


def made(task_id):
    try:
        return environments.make(task_id, "gui")
    except MissingProgram as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    "task_id",
    [
        pytest.param(name, marks=[pytest.mark.slow] if len(program_of(environments.get(name)).opening) > 3 else [])
        for name in TASKS
    ],
)
def test_program_starts_answers_and_ends(task_id):
    env = made(task_id)
    try:
        observation, info = env.reset(seed=5)
        first = observation["frame"]
        assert info == {"illegal": None} and first in env.observation_space["frame"]
        assert len(np.unique(first.reshape(-1, 3), axis=0)) > 5
        for gesture in GESTURES[task_id]:
            observation, _, over, _, _ = env.step(gesture)
        assert not over and (observation["frame"] != first).any()
        assert 0.0 <= env.score() <= 100.0
        home = env._truth.sources.home
        assert home.is_dir()
    finally:
        env.close()
    assert not home.exists()


@pytest.mark.parametrize("task_id", ["desktop/flood-v1", "desktop/unruly-v1"])
@pytest.mark.slow
def test_scripted_expert_wins_in_the_real_program(task_id):
    env = made(task_id)
    try:
        env.reset(seed=env.task.tutorial_seed)
        total, over = 0.0, False
        for _ in range(env.task.max_steps):
            _, reward, over, _, _ = env.step(env.expert_action())
            total += reward
            if over:
                break
        assert over and env.success() and env.score() == pytest.approx(total) == pytest.approx(100.0)
        assert env.milestones() == {milestone.id for milestone in env.task.milestones}
    finally:
        env.close()


def test_same_seed_gives_the_same_puzzle_and_others_differ():
    env = made("desktop/flood-v1")
    try:
        hashes = []
        for seed in (1, 1, 2):
            env.reset(seed=seed)
            hashes.append(env.state_hash())
        assert hashes[0] == hashes[1] != hashes[2]
    finally:
        env.close()


def test_visible_timer_does_not_run_while_the_program_is_stopped():
    """After a stop of four seconds the minesweeper shows 00:00 or 00:01, as it does when it is played at once."""
    env = made("desktop/mines-v1")

    def timer() -> bytes:
        return env.render()[170:195, 490:570].tobytes()

    try:
        shown = []
        for stop_s in (0.0, 4.0):
            env.reset(seed=5)
            env.step({"verb": "click", "x": 60, "y": 90})
            shown.append(timer())
            time.sleep(stop_s)
            env.step({"verb": "move", "x": 530, "y": 210})
            if stop_s:
                assert timer() in shown
            else:
                while timer() == shown[0]:
                    env.step({"verb": "wait", "ms": 100})
                shown.append(timer())
    finally:
        env.close()


def test_every_task_has_a_gesture_here_and_a_line_in_the_check():
    assert set(TASKS) == set(GESTURES) == set(check.check())
