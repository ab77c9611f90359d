"""The same games through a real window: keys in, pixels out, one engine behind both spaces."""

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from environments.errors import DisplayError

pytestmark = pytest.mark.display


def test_expert_ends_in_the_same_state_behind_both_spaces(make_env, game_id):
    """Every state on the way is the same too, and what the screen shows is what the engine drew."""
    semantic, gui = make_env(game_id, "semantic", seed=8), make_env(game_id, "gui", seed=8)
    for step in range(min(80, semantic.task.max_steps)):
        action = semantic.expert_action()
        *_, over, _, info = semantic.step(action)
        for gesture in gui.game.gestures(action):
            observation, _, gui_over, _, gui_info = gui.step(gesture)
        assert gui.state_hash() == semantic.state_hash() and gui_over == over and gui_info == info
        if step % 10 == 0 or over:
            assert np.array_equal(observation["frame"], semantic.render())
        if over:
            break
    assert gui.success() == semantic.success() and gui.milestones() == semantic.milestones()


def test_experts_gestures_follow_their_plan(make_env, game_id):
    """Asked behind the GUI space, the expert does one gesture after the other and makes progress."""
    gui = make_env(game_id, "gui", seed=8)
    for _ in range(40):
        if gui.step(gui.expert_action())[2]:
            break
    assert gui.score() > 0 or gui.milestones()


def test_random_gestures_stay_on_the_floor(make_env, game_id):
    """Random GUI play scores less than half of what a random semantic player could hope for."""
    gui = make_env(game_id, "gui", seed=0)
    gui.action_space.seed(0)
    for _ in range(60):
        _, _, over, _, info = gui.step(gui.action_space.sample())
        assert set(info) == {"illegal"}
        if over:
            break
    assert gui.score() < 50.0


def test_gymnasium_checker_is_content_with_the_screen(make_env):
    env = make_env("games/maze-v1", "gui")
    env.lazy = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(env)


def test_illegal_key_is_refused_with_the_same_reason(make_env):
    env = make_env("games/snake-v1", "gui", seed=0)
    *_, info = env.step({"verb": "press", "key": "left"})
    assert "cannot turn back" in info["illegal"]


def test_hotkey_and_hold_make_one_move(make_env):
    env, twin = make_env("games/2048-v1", "gui", seed=0), make_env("games/2048-v1", "semantic", seed=0)
    move = twin.expert_action()["move"]
    twin.step({"move": move})
    start = env.snapshot()
    for gesture in ({"verb": "hotkey", "keys": [move, "down", "left"]}, {"verb": "hold", "key": move, "ms": 700}):
        env.restore(start)
        env.step(gesture)
        assert env.state_hash() == twin.state_hash()


@pytest.mark.parametrize(("ms", "cells"), [(0, 1), (399, 1), (400, 2), (1000, 5)])
def test_wait_lets_its_own_time_pass(make_env, ms, cells):
    env = make_env("games/snake-v1", "gui", seed=0)
    env.step({"verb": "wait", "ms": ms})
    assert env.game.body[0][0] == 3 + cells


def test_waiting_too_long_ends_the_game_once(make_env):
    env = make_env("games/snake-v1", "gui", seed=0)
    _, _, over, _, _ = env.step({"verb": "wait", "ms": 2000})
    assert over and env.game.collision == "wall" and env.game.body[0][0] == 10


def test_restored_moment_is_on_the_screen(make_env):
    env = make_env("games/maze-v1", "gui", seed=0)
    start, first = env.snapshot(), env.render()
    for _ in range(3):
        env.step(env.expert_action())
    assert not np.array_equal(env.render(), first)
    assert np.array_equal(env.restore(start)["frame"], first)


def test_dead_display_is_reported_and_replaced(make_env, monkeypatch):
    """A display that dies is the machine's fault; the same environment goes on with another after a reset."""
    env = make_env("games/maze-v1", "gui", seed=0)
    first = env.render()
    dead = env._desktop

    def broken(_gesture):
        raise DisplayError("the display is gone")

    monkeypatch.setattr(dead, "perform", broken)
    with pytest.raises(DisplayError):
        env.step({"verb": "press", "key": "up"})
    assert env._desktop is None
    observation, _ = env.reset(seed=0)
    assert np.array_equal(observation["frame"], first) and env._desktop is not dead
