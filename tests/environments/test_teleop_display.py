"""The teleoperation window on a real private X display: keys and clicks in, pixels out."""

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.environments.test_games_contract import EventDesk

pytest.importorskip("environments.robots._robosuite", reason="pip install 'rewind-arena[robots]'")

from environments.errors import DisplayError, RenderError
from environments.robots import rendering
from environments.robots.teleop_controls import BY_ID, CONTROLS

TASK = "tabletop/pick-place-bowl-v1"
pytestmark = pytest.mark.display


@pytest.fixture
def gl():
    """Skips where nothing can be rendered, saying what to install."""
    try:
        return rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))


@pytest.fixture
def pair(make_env):
    """The same episode on a real display and on one made of events."""
    real, events = make_env(TASK, "gui", seed=5), make_env(TASK, "gui", seed=5)
    events._teleop._desktop = EventDesk()
    return real, events


def test_every_button_and_key_arrives_as_the_events_say(pair):
    """Clicks and keys of all controls, texts, capitals, holds, drags, wheel: the same states with and without X."""
    real, events = pair
    gestures = [
        *({"verb": "press", "key": key} for control in CONTROLS for key in (control.key, *control.also)),
        *({"verb": "click", "x": c.centre[0], "y": c.centre[1]} for c in CONTROLS),
        {"verb": "hotkey", "keys": ["w", "a", "r"], "ms": 200},
        {"verb": "hold", "key": "q", "ms": 400},
        {"verb": "type", "text": "Wa2€"},
        {"verb": "drag", "x": 440, "y": 270, "to_x": 10, "to_y": 10},
        {"verb": "scroll", "x": 440, "y": 270, "clicks": -2},
        {"verb": "click", "x": 440, "y": 270, "button": "right"},
        {"verb": "click", "x": 440, "y": 270, "count": 3},
    ]
    for gesture in gestures:
        outcomes = [env.step(gesture)[1:] for env in pair]
        assert outcomes[0] == outcomes[1] and real.snapshot() == events.snapshot(), gesture


def test_a_key_of_one_step_is_up_in_the_next(make_env):
    env = make_env(TASK, "gui", seed=0)
    env.step({"verb": "key_down", "key": "a"})
    there = env.robot.arm.position
    env.step({"verb": "wait", "ms": 500})
    assert np.linalg.norm(env.robot.arm.position - there) < 0.004


def test_the_expert_ends_in_the_same_state_with_and_without_a_display(pair):
    real, events = pair
    for _ in range(40):
        action = real.expert_action()
        assert action == events.expert_action()
        done = [env.step(action)[2] for env in pair]
        assert real.snapshot() == events.snapshot()
        if any(done):
            break
    assert real.success() and events.success()


@pytest.mark.gl
def test_the_screen_shows_the_window_bit_for_bit(make_env, gl):
    env = make_env(TASK, "gui", seed=0)
    observation, *_ = env.step({"verb": "click", "x": BY_ID["forward"].centre[0], "y": BY_ID["forward"].centre[1]})
    assert np.array_equal(observation["frame"], env._teleop.draw())


@pytest.mark.gl
def test_a_dead_display_is_an_infrastructure_error_and_the_next_step_has_another(make_env, gl):
    env = make_env(TASK, "gui", seed=0)
    frame = env.render()
    before = env.snapshot()
    env._teleop._desktop.close()
    with pytest.raises(DisplayError):
        env.step({"verb": "press", "key": "a"})
    assert env.snapshot() == before
    assert np.array_equal(env.render(), frame)


@pytest.mark.gl
def test_gymnasiums_checker_is_content(make_env, gl):
    env = make_env(TASK, "gui")
    env.lazy = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(env)
