"""Lazy observations: paid for when looked at, never a picture of another moment."""

import copy
import pickle

import numpy as np
import pytest

from environments.errors import StaleObservation


@pytest.fixture
def counted(make_env, monkeypatch):
    """A game that counts how often it was drawn."""
    env = make_env("games/maze-v1", seed=0)
    env.drawn = 0
    draw = env.game.draw

    def counting():
        env.drawn += 1
        return draw()

    monkeypatch.setattr(env.game, "draw", counting)
    return env


def test_nothing_is_drawn_until_somebody_looks(counted):
    observation = counted.observe()
    assert "frame" in observation and len(observation) == 1 and list(observation) == ["frame"]
    assert not observation.rendered("frame") and counted.drawn == 0
    first = observation["frame"]
    assert observation["frame"] is first and observation.rendered("frame") and counted.drawn == 1
    assert not observation.rendered("nothing")


@pytest.mark.parametrize(
    "read",
    [
        lambda views: views["frame"],
        lambda views: views.get("frame"),
        lambda views: dict(views)["frame"],
        lambda views: {**views}["frame"],
        lambda views: next(iter(views.values())),
        lambda views: next(iter(views.items()))[1],
        lambda views: views.copy()["frame"],
        lambda views: copy.deepcopy(views)["frame"],
        lambda views: pickle.loads(pickle.dumps(views))["frame"],
    ],
)
def test_every_way_of_reading_shows_the_picture(counted, read):
    assert np.array_equal(read(counted.observe()), counted.render())


@pytest.mark.parametrize("change", ["step", "reset", "restore"])
def test_unread_picture_of_a_past_moment_is_refused(counted, change):
    unread, read = counted.observe(), counted.observe()
    kept = read["frame"].copy()
    match change:
        case "step":
            counted.step(counted.expert_action())
        case "reset":
            counted.reset(seed=1)
        case "restore":
            counted.restore(counted.snapshot())
    with pytest.raises(StaleObservation, match="frame"):
        unread["frame"]
    with pytest.raises(StaleObservation):
        dict(unread)
    assert np.array_equal(read["frame"], kept), "what was looked at stays"


def test_advance_makes_old_views_stale_only_when_time_passed(make_env):
    env = make_env("games/snake-v1", seed=0)
    observation = env.observe()
    env.advance(150)
    observation["frame"]
    unread = env.observe()
    env.advance(150)
    with pytest.raises(StaleObservation):
        unread["frame"]


def test_missing_key_is_a_key_error_or_the_default(counted):
    observation = counted.observe()
    with pytest.raises(KeyError):
        observation["depth"]
    assert observation.get("depth") is None and observation.get("depth", 3) == 3


def test_failed_renderer_can_be_asked_again(counted, monkeypatch):
    observation = counted.observe()
    working = observation._renderers["frame"]

    def broken():
        raise RuntimeError("no picture now")

    observation._renderers["frame"] = broken
    with pytest.raises(RuntimeError):
        observation["frame"]
    observation._renderers["frame"] = working
    assert observation["frame"].shape == (480, 640, 3)


def test_eager_environments_render_at_once(counted):
    counted.lazy = False
    observation, *_ = counted.step(counted.expert_action())
    assert observation.rendered("frame") and counted.drawn == 1
    counted.reset(seed=1)
    observation["frame"]
