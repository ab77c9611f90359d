"""Montezuma's Revenge: stages that only the living reach, the way there and back, what the joystick does."""

import numpy as np
import pytest

pytest.importorskip("ale_py", reason="the extra 'atari' is not installed")
from environments.games.montezuma import STAGES, Montezuma, MontezumaAction
from environments.games.montezuma_expert import FLOOR, MIDDLE, Hero, next_move


def started(seed=0):
    game = Montezuma()
    game.reset(np.random.default_rng(seed))
    return game


def play(game, action):
    game.apply(MontezumaAction(**action))
    for _ in range(max(4, action["ms"] // 17)):
        game.tick()
    game.release()


def until(game, stage, limit=80):
    for _ in range(limit):
        if stage in game.reached():
            return
        play(game, game.expert())
    raise AssertionError(f"{stage} not reached: {game.hero}")


def hero(**changes):
    values = {"room": 1, "x": 77, "y": MIDDLE, "dying": False, "in_air": False, "has_key": False, "open_door": 0,
              "skull": 80}  # fmt: skip
    return Hero(**(values | changes))


def test_expert_walks_every_stage_in_order_and_keeps_its_lives():
    game = started(3)
    scores = []
    for count, stage in enumerate(STAGES[1:], start=1):
        until(game, stage)
        assert game.reached() >= set(STAGES[1 : count + 1])
        scores.append(game.score())
    assert scores == sorted(scores) and game.won and game.score() == 100.0
    assert game.console.lives == started(3).console.lives


def test_fall_to_the_floor_is_no_progress():
    """The hero lies on the floor, dead, for a second; standing there is what counts."""
    game = started(0)
    until(game, "middle")
    lives = game.console.lives
    while game.console.lives == lives:
        play(game, {"move": "left", "jump": False, "ms": 510})
    for _ in range(4):
        play(game, {"move": "stay", "jump": False, "ms": 510})
    assert game.reached() == {"middle"} and game.score() == 4.0


def test_last_life_ends_the_game():
    game = started(2)
    for _ in range(60):
        play(game, {"move": "right", "jump": False, "ms": 2000})
        if game.over:
            break
    assert game.over and not game.won and game.console.lives == 0
    before = game.state()
    play(game, {"move": "left", "jump": True, "ms": 500})
    assert game.state() == before


def test_skull_and_place_depend_on_the_seed():
    heroes = [started(seed).hero for seed in range(12)]
    assert len({each.skull for each in heroes}) > 6 and len({each.x for each in heroes}) > 4
    assert all(not each.dying and each.y == 235 for each in heroes), "nobody starts in a gap"


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, "middle"),
        ({"x": 130}, "right-ledge"),
        ({"x": 20}, "left-ledge"),
        ({"y": FLOOR, "x": 100}, "floor"),
        ({"y": FLOOR, "x": 21}, "past-skull"),
        ({"y": FLOOR, "x": 21, "dying": True}, "start"),
        ({"in_air": True}, "start"),
        ({"y": 170}, "start"),
    ],
)
def test_places_of_the_room(changes, place):
    assert hero(**changes).place == place


def test_skull_that_comes_is_jumped_and_one_that_goes_is_followed():
    near = hero(y=FLOOR, x=100, skull=88)
    assert next_move(near, drift=2)[0] == (-1, 0, True)
    assert next_move(near, drift=-2)[0] == (0, 0, False)
    assert next_move(hero(y=FLOOR, x=130, skull=60), drift=2)[0] == (-1, 0, False)


def test_hero_with_the_key_goes_back_and_through_the_open_door():
    assert next_move(hero(x=20, has_key=True), drift=0)[0] == (0, 1, False)
    assert next_move(hero(x=20), drift=0)[0] == (-1, 0, False)
    assert next_move(hero(y=235, x=120, open_door=1), drift=0)[0] == (1, 0, False)
    assert next_move(hero(y=235, x=40, open_door=-1), drift=0)[0] == (-1, 0, False)


@pytest.mark.parametrize("stage", [-1, len(STAGES)])
def test_stage_that_does_not_exist_is_refused(stage):
    game = started()
    with pytest.raises(ValueError, match="stage"):
        game.load(game.state() | {"stage": stage})


def test_diagonal_jump_is_one_gesture():
    gesture = started().gestures({"move": "up-right", "jump": True, "ms": 300})
    assert gesture == [{"verb": "hotkey", "keys": ["right", "up", "space"], "ms": 300}]
