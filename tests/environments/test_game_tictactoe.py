"""Tic-tac-toe: the game tree, fair openings, what a round is worth, the button, and what is refused."""

import itertools
from functools import cache

import numpy as np
import pytest

from environments.errors import InvalidAction, InvalidSnapshot
from environments.game import InputEvent
from environments.games.tictactoe import (
    CELLS,
    NEXT,
    TicTacToe,
    TicTacToeAction,
    draw_opening,
    free,
    put,
    value,
    winning_line,
)

TASK = "games/tictactoe-v1"


def match(seed=0, **params):
    game = TicTacToe(**params)
    game.reset(np.random.default_rng(seed))
    return game


def play(game, cell):
    reason = game.apply(TicTacToeAction(cell=cell))
    game.tick()
    return reason


def place(game, board):
    """Put the player before a board of the test's own, in a round against somebody who never errs."""
    game.board, game.chance, game.slips = board, value(board, "X") > 0, [0.0] * game.rounds


@cache
def outcome(board, mark):
    """1, 0, -1 for whoever is to move: a search without depth, to compare `value` with."""
    if winning_line(board):
        return -1
    after = [put(board, cell, mark) for cell in free(board)]
    return max((-outcome(one, "O" if mark == "X" else "X") for one in after), default=0)


@pytest.mark.parametrize("board", ["X.O......", "....X...#", "XO..#....", "O.X..#...", "XX..OO...", "XO.OX...."])
def test_value_has_the_sign_of_a_plain_search(board):
    for mark in "XO":
        assert np.sign(value(board, mark)) == outcome(board, mark)


def test_value_prefers_to_win_soon_and_to_lose_late():
    assert value("XX..OO...", "X") == 9
    assert value("XX.X...O#", "O") == -8, "two threats: one can be stopped, and the other wins two marks later"


@pytest.mark.parametrize("mark", ["X", "O"])
def test_openings_are_fair_and_hold_a_mistake(mark):
    """Best play draws, and at the player's first choice at least one cell loses."""
    rng = np.random.default_rng(1)
    boards = []
    for _ in range(40):
        board = draw_opening(rng, mark, boards)
        boards.append(board)
        assert outcome(board, mark) == 0 and board.count("X") == board.count("O") <= 1 and board.count("#") <= 1
        choices = [board] if mark == "X" else [put(board, cell, "O") for cell in free(board)]
        for before in choices:
            if outcome(before, "X") == 0:
                assert any(outcome(put(before, cell, "X"), "O") == 1 for cell in free(before))
    assert len(set(boards)) == 40


@pytest.mark.parametrize("seed", range(20))
def test_best_play_makes_all_points_against_everybody(seed):
    """The expert never loses a round and uses every mistake: a draw without a chance is full marks."""
    game = match(seed)
    while not game.over:
        play(game, game.expert()["cell"])
    assert game.score() == 100.0 and game.won and {"loss", "missed"}.isdisjoint(game.results)


def test_opponents_that_never_err_are_never_beaten():
    rng = np.random.default_rng(0)
    for seed in range(10):
        game = match(seed, flawless=6)
        while not game.over:
            play(game, "next" if game.resting else CELLS[int(rng.choice(free(game.board)))])
        assert "win" not in game.results and "missed" not in game.results


def test_starters_alternate_and_half_of_the_opponents_err():
    for seed in range(10):
        game = match(seed)
        assert all(a != b for a, b in itertools.pairwise(game.starts))
        assert sum(slip == 0 for slip in game.slips) == 3 and all(0.3 <= slip <= 0.7 for slip in game.slips if slip)
        assert len(set(game.openings)) == 6


def test_a_draw_after_a_missed_win_is_half_a_point():
    game = match()
    place(game, "XX.OOXXO.")
    assert game.chance
    play(game, "c3")  # instead of c1, which wins
    assert game.results == ["missed"] and game.points == 0.5 and game.score() == pytest.approx(100 / 12)


def test_a_win_a_draw_and_a_loss():
    for board, cell, result in (("XX.OO....", "c1", "win"), ("XOXXOO.XO", "a3", "win"), ("XOXOO..X.", "a3", "loss")):
        game = match()
        place(game, board)
        play(game, cell)
        assert game.results == [result]
    game = match()
    place(game, "XOXXOOO.X")
    play(game, "b3")
    assert game.results == ["draw"] and game.points == 1.0


def test_next_waits_for_the_end_of_the_round_and_cells_for_the_next():
    game = match()
    place(game, "XX.OO....")
    assert play(game, "next") == "the round is still being played"
    assert play(game, "a1") == "this cell is taken"
    place(game, "XX#OO....")
    assert play(game, "c1") == "this cell is blocked"
    place(game, "XX.OO....")
    assert play(game, "c1") is None and game.resting and not game.over
    before = game.board
    assert play(game, "c3") == "the round is over; go on to the next one" and game.board == before
    assert play(game, "next") is None and game.round == 1 and not game.resting


def test_clicks_mark_cells_and_the_button_goes_on():
    game = match()
    place(game, "XX.OO....")

    def click(x, y, button="left"):
        reason = game.on_input(InputEvent("button_down", button=button, x=x, y=y))
        game.tick()
        return reason

    before = game.board
    for x, y, button in (
        (390, 90, "right"),
        (550, 120, "left"),
        (5, 5, "left"),
        (390, 90, "middle"),
        (466, 470, "left"),
    ):
        assert click(x, y, button) is None and game.board == before
    assert click(NEXT[0], NEXT[1]) == "the round is still being played"
    click(390, 90)
    assert game.results == ["win"]
    click(NEXT[0] + 5, NEXT[1] + 5)
    assert game.round == 1


def test_a_double_click_makes_one_move(make_env):
    env = make_env(TASK, seed=3)
    game = env.game
    cell = game.expert()
    gesture = game.gestures(cell)[0]
    press = InputEvent("button_down", button="left", x=gesture["x"], y=gesture["y"])
    assert game.on_input(press) is None and game.on_input(press) is None


def test_unbeaten_with_misses_may_still_lose_the_match():
    game = match()
    game.results, game.round = ["draw"] * 4 + ["missed"] * 1 + ["loss"], 5
    assert game.over and not game.won and "match" not in game.reached() and "points-4" in game.reached()


@pytest.mark.parametrize(
    "params", [{"rounds": 0}, {"rounds": 7}, {"rounds": 2, "flawless": 3}, {"target": 0}, {"target": 7}]
)
def test_parameters_that_do_not_fit_are_refused(params):
    with pytest.raises(ValueError, match="expected"):
        TicTacToe(**params)


@pytest.mark.parametrize("junk", [{"cell": "d1"}, {"cell": 4}, {"cell": "A1"}, {"cell": ["a1"]}, {"cell": "a1; next"}])
def test_hostile_actions_are_refused_with_their_field(make_env, junk):
    env = make_env(TASK, seed=0)
    with pytest.raises(InvalidAction, match="cell"):
        env.step(junk)


def test_snapshot_of_another_game_is_refused(make_env):
    foreign = make_env("games/2048-v1", seed=0).snapshot()
    with pytest.raises(InvalidSnapshot):
        make_env(TASK, seed=0).restore(foreign)
