"""The rules of each game."""

import numpy as np
import pytest

from environments.game import InputEvent
from environments.games.g2048 import Game2048, slide
from environments.games.maze import Maze
from environments.games.snake import Snake, SnakeAction

DIRECTIONS = ("up", "right", "down", "left")


def press(game, *keys):
    return [game.on_input(InputEvent("key_down", key=key)) for key in keys]


@pytest.mark.parametrize(
    ("game", "params", "complaint"),
    [
        (Snake, {"size": 12}, "size: expected one of"),
        (Snake, {"target": 0}, "target"),
        (Snake, {"target": 118}, "target"),
        (Game2048, {"goal": 100}, "power of two"),
        (Game2048, {"goal": 32}, "64 at least"),
        (Maze, {"size": 0}, "size: expected one of"),
        (Maze, {"loops": -1}, "loops"),
        (Maze, {"shortest": 60, "longest": 90}, "shortest"),
        (Maze, {"shortest": 20, "longest": 10}, "shortest"),
    ],
)
def test_parameters_that_make_no_game_are_refused(game, params, complaint):
    with pytest.raises(ValueError, match=complaint):
        game(**params)


@pytest.mark.parametrize("size", [8, 10, 11])
def test_other_sizes_can_be_played_and_drawn(size):
    for game in (Snake(size=size), Maze(size=size, shortest=size, longest=4 * size)):
        game.reset(np.random.default_rng(0))
        for _ in range(200):
            if game.over:
                break
            game.apply(game.Action(**game.expert()))
            game.tick()
        assert game.won and game.draw().shape == (480, 640, 3)


# Snake


def snake(seed=0, **params):
    game = Snake(**params)
    game.reset(np.random.default_rng(seed))
    return game


def test_snake_moves_one_cell_a_tick_by_itself():
    game = snake()
    x, y = game.body[0]
    game.tick()
    assert game.body[0] == (x + 1, y) and len(game.body) == 3


def test_snake_refuses_to_turn_back_and_goes_straight_on(make_env):
    env = make_env("games/snake-v1", seed=0)
    start = env.snapshot()
    *_, info = env.step({"turn": "left"})
    assert "cannot turn back" in info["illegal"]
    refused, told = env.game.body, env.render()
    env.restore(start)
    *_, info = env.step({"turn": "straight"})
    assert info["illegal"] is None and env.game.body == refused
    assert not np.array_equal(env.render(), told), "the refusal is on the screen"


def test_snake_two_quick_keys_cannot_turn_it_round():
    """A reversal is judged by the last step, not by the last key."""
    game = snake()
    refusals = press(game, "up", "left")
    assert refusals[0] is None and "cannot turn back" in refusals[1]
    game.tick()
    assert game.heading == "up"


def test_snake_ends_at_the_wall_and_stays_where_it_was():
    game = snake()
    for _ in range(20):
        game.tick()
    assert game.over and not game.won and game.collision == "wall" and game.body[0] == (10, game.body[0][1])


def test_snake_ends_at_its_body_but_may_follow_its_tail():
    game = snake()
    game.apple = (10, 10)
    game.body = [(5, 5), (5, 6), (4, 6), (4, 5)]
    game.heading = game.next_heading = "up"
    game.apply(SnakeAction(turn="left"))
    game.tick()
    assert not game.over and game.body[0] == (4, 5), "the tail has made room"
    game.body = [(5, 5), (5, 6), (4, 6), (4, 5), (4, 4)]
    game.heading, game.next_heading = "up", "left"
    game.tick()
    assert game.collision == "body" and not game.won


def test_snake_grows_by_apples_and_wins_with_the_last():
    game = snake(target=2)
    for eaten in (1, 2):
        game.apple = (game.body[0][0] + 1, game.body[0][1])
        game.tick()
        assert game.eaten == eaten and len(game.body) == 3 + eaten and game.score() == 50.0 * eaten
    assert game.won and game.over and game.apple is None and "all-apples" in game.reached()


def test_snake_apples_lie_on_free_cells(make_env):
    env = make_env("games/snake-v1")
    for seed in range(5):
        env.reset(seed=seed)
        while not env.game.over:
            assert env.game.apple not in env.game.body and len(set(env.game.body)) == len(env.game.body)
            env.step(env.expert_action())


def test_snake_time_passes_in_whole_ticks_and_the_rest_is_kept(make_env):
    env, other = make_env("games/snake-v1", seed=0), make_env("games/snake-v1", seed=0)
    for _ in range(4):
        env.advance(150)
    other.advance(600)
    assert env.game.state() == other.game.state() and env.state_hash() == other.state_hash()
    assert env.game.body[0][0] == 3 + 3
    env.advance(150)
    snapshot = env.snapshot()
    env.advance(50)
    env.restore(snapshot)
    env.advance(50)
    assert env.game.body[0][0] == 3 + 4, "time that is owed is part of the snapshot"
    env.advance(10**6)
    assert env.game.collision == "wall"


# 2048


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ((0, 0, 0, 0), (0, 0, 0, 0)),
        ((0, 3, 0, 3), (4, 0, 0, 0)),
        ((1, 1, 1, 0), (2, 1, 0, 0)),
        ((1, 1, 1, 1), (2, 2, 0, 0)),
        ((2, 1, 1, 0), (2, 2, 0, 0)),
        ((1, 2, 1, 2), (1, 2, 1, 2)),
        ((2, 2, 3, 0), (3, 3, 0, 0)),
    ],
)
def test_2048_lines_slide(line, after):
    """A tile merges once in a move, the pair in front first; and the same in all four directions."""
    empty = (0, 0, 0, 0)
    assert slide((line, empty, empty, empty), "left") == (after, empty, empty, empty)
    assert slide((line[::-1], empty, empty, empty), "right") == (after[::-1], empty, empty, empty)
    columns = tuple((exponent, 0, 0, 0) for exponent in line)
    assert slide(columns, "up") == tuple((exponent, 0, 0, 0) for exponent in after)
    assert slide(columns[::-1], "down") == tuple((exponent, 0, 0, 0) for exponent in after[::-1])


def test_2048_is_over_when_no_tile_can_move():
    game = Game2048()
    game.board = ((1, 2, 1, 2), (2, 1, 2, 1), (1, 2, 1, 2), (2, 1, 2, 1))
    assert game.over and not game.won
    game.board = ((1, 2, 1, 2), (2, 1, 2, 1), (1, 2, 1, 2), (2, 1, 2, 2))
    assert not game.over


def test_2048_move_without_effect_is_refused_and_only_the_turn_counts(make_env):
    env = make_env("games/2048-v1", seed=0)
    env.game.board = ((1, 2, 3, 4), (0,) * 4, (0,) * 4, (0,) * 4)
    before = env.game.state()
    _, reward, _, _, info = env.step({"move": "left"})
    assert info["illegal"] == "no tile can move left" and reward == 0.0
    assert env.game.state() == before | {"turns": 1}


def test_2048_new_tiles_are_twos_and_one_four_in_ten():
    game = Game2048()
    game.reset(np.random.default_rng(0))
    drawn = []
    for _ in range(2_000):
        game.board = ((0,) * 4,) * 4
        game._spawn()
        drawn.append(game.highest)
    assert set(drawn) == {1, 2} and 0.07 < drawn.count(2) / len(drawn) < 0.13


@pytest.mark.parametrize(("exponent", "score"), [(1, 0), (5, 0), (6, 20), (7, 40), (8, 100), (9, 100)])
def test_2048_score_is_even_in_doublings_from_32_to_the_goal(exponent, score):
    game = Game2048(goal=256)
    game.board = ((exponent, 1, 0, 0), (0,) * 4, (0,) * 4, (0,) * 4)
    game.turns = 128
    assert game.score() == pytest.approx(score) and game.won == (exponent >= 8)
    game.turns = 160  # 128 / 160 of the 40 points for economy
    assert game.score() == pytest.approx(92 if game.won else score)


@pytest.mark.parametrize("task", ["games/2048-v1", "games/maze-v1"])
def test_one_gesture_makes_one_move(make_env, task):
    """Several arrow keys in one step, as a hotkey makes them, count once; the next step may move again."""
    env, single = make_env(task, seed=0), make_env(task, seed=0)
    action = single.expert_action()
    key = action["move"]
    single.step(action)
    press(env.game, key, "up", "down", "left", "right")
    env.game.tick()
    assert env.game.state() == single.game.state()
    press(env.game, single.expert_action()["move"])
    single.step(single.expert_action())
    env.game.tick()
    assert env.game.state() == single.game.state()


# Maze


def test_mazes_are_connected_and_as_long_as_promised():
    game = Maze()
    for seed in range(60):
        game.reset(np.random.default_rng(seed))
        assert len(game._to_door) == game.size**2, "every cell can be reached"
        assert 30 <= game.whole_way <= 50
        openings = sum(len(ways) for ways in game.ways.values()) // 2
        assert openings == game.size**2 - 1 + game.loops
        assert game.start in game._to_key, "the key can be had without passing the door"


def test_maze_wall_is_refused_and_only_the_turn_counts(make_env):
    env = make_env("games/maze-v1", seed=0)
    blocked = next(way for way in DIRECTIONS if way not in env.game.ways[env.game.player])
    before = env.game.state()
    *_, info = env.step({"move": blocked})
    assert "wall" in info["illegal"] and env.game.state() == before | {"turns": 1}


def test_maze_door_is_locked_without_the_key_and_open_with_it(make_env):
    env = make_env("games/maze-v1", seed=0)
    game = env.game
    way = next(iter(game.ways[game.door]))
    dx, dy = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}[way]
    back = {"up": "down", "down": "up", "left": "right", "right": "left"}[way]
    game.player = (game.door[0] + dx, game.door[1] + dy)
    *_, over, _, info = env.step({"move": back})
    assert "locked" in info["illegal"] and not over and "door" not in env.milestones()
    game.has_key = True
    *_, over, _, info = env.step({"move": back})
    assert info["illegal"] is None and over and env.success()


def test_maze_score_rewards_progress_and_economy(make_env):
    env = make_env("games/maze-v1", seed=0)
    whole = env.game.whole_way
    for _ in range(whole):
        env.step(env.expert_action())
    assert env.success() and env.score() == pytest.approx(100.0)
    env.reset(seed=0)
    for _ in range(whole):  # a turn lost for every step
        env.game.tick()
        env.step(env.expert_action())
    assert env.success() and env.score() == pytest.approx(90.0)
    env.reset(seed=0)
    env.step(env.expert_action())
    assert env.score() == pytest.approx(80.0 / whole)
