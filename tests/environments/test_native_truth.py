"""What is read of native programs: boards from pixels, saves, logs. No program and no display is needed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from environments.native.files import (
    MinetestTruth,
    PingusTruth,
    SavedLevelTruth,
    WesnothTruth,
    parse_wesnoth,
)
from environments.native.pixels import (
    BLACK,
    EMPTY,
    WHITE,
    BreakoutTruth,
    FloodTruth,
    HopTruth,
    MinesTruth,
    TilesTruth,
    UnrulyTruth,
    flooded,
    solve_unruly,
)
from environments.native.truth import Sources

BLANK = np.zeros((480, 640, 3), np.uint8)


@pytest.fixture
def sources(tmp_path) -> Sources:
    (tmp_path / "home").mkdir()
    return Sources(tmp_path / "home", tmp_path / "log", 3)


def painted(truth, board) -> np.ndarray:
    """A frame whose cells have the colours of a board's labels."""
    colour_of = {label: colour for colour, label in truth.palette.items()}
    frame = np.full((480, 640, 3), 240, np.uint8)
    for (row, column), label in np.ndenumerate(board):
        x, y = truth.grid.point(row, column)
        frame[y - 3 : y + 4, x - 3 : x + 4] = colour_of[int(label)]
    return frame


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_flood_counts_the_region_and_its_expert_fills_the_board(sources):
    truth = FloodTruth(sources)
    board = np.random.default_rng(1).integers(0, 6, (12, 12))
    first = truth.read(painted(truth, board))
    assert first.score == 0.0 and not first.over
    last = 0.0
    for _ in range(60):
        frame = painted(truth, board)
        reading = truth.read(frame)
        assert reading.score >= last
        last = reading.score
        if reading.over:
            break
        click = truth.advise(frame)
        column, row = (click["x"] - 144 + 16) // 32, (click["y"] - 58 + 16) // 32
        colour = board[row, column]
        for cell in flooded(board):
            board[cell] = colour
    assert reading.won and reading.score == 100.0 and "all" in reading.reached


def test_a_board_that_is_covered_is_not_read(sources):
    truth = FloodTruth(sources)
    board = np.zeros((12, 12), int)
    board[6:] = 1
    truth.read(painted(truth, board))
    board[6] = 0
    read = truth.read(painted(truth, board))
    assert read.score > 0 and truth.read(BLANK) == read


def test_unruly_solver_keeps_the_rules_and_the_given_cells():
    given = np.zeros((8, 8), int)
    given[0, :2], given[3, 0], given[2, 3] = BLACK, WHITE, WHITE
    solution = solve_unruly(given)
    assert solution is not None and (solution[given != EMPTY] == given[given != EMPTY]).all()
    for line in [*solution, *solution.T]:
        assert (line == BLACK).sum() == (line == WHITE).sum() == 4
        assert not any(line[i] == line[i + 1] == line[i + 2] for i in range(6))
    impossible = given.copy()
    impossible[0, :3] = BLACK
    assert solve_unruly(impossible) is None


def test_unruly_scores_right_less_wrong_squares(sources):
    truth = UnrulyTruth(sources)
    given = np.zeros((8, 8), int)
    given[0, :2] = BLACK
    assert truth.read(painted(truth, given)).score == 0.0
    solution = truth._solution
    board = given.copy()
    board[1] = solution[1]
    assert truth.read(painted(truth, board)).score == pytest.approx(100 * 8 / 62)
    board[1, 0] = BLACK + WHITE - board[1, 0]
    assert truth.read(painted(truth, board)).score == pytest.approx(100 * 6 / 62)
    done = truth.read(painted(truth, solution))
    assert done.won and done.score == 100.0 and "solved" in done.reached


def test_mines_counts_opened_squares_and_sees_the_mine(sources):
    truth = MinesTruth(sources)
    board = np.zeros((8, 8), int)
    assert truth.read(painted(truth, board)).score == 0.0
    board[:4] = 1
    half = truth.read(painted(truth, board))
    assert half.score == pytest.approx(100 * 32 / 54) and "opened-30" in half.reached and not half.over
    board[5, 5] = 2
    lost = truth.read(painted(truth, board))
    assert lost.over and not lost.won


def test_tiles_score_by_the_greatest(sources):
    truth = TilesTruth(sources)
    board = np.zeros((4, 4), int)
    board[0, 0] = 1
    assert truth.read(painted(truth, board)).score == 0.0
    board[1, 1] = 7
    reading = truth.read(painted(truth, board))
    assert reading.score == pytest.approx(100 * 5 / 9)
    assert reading.reached == {"tile-32", "tile-64", "tile-128"}
    board[2, 2] = 11
    assert truth.read(painted(truth, board)).won


def test_breakout_needs_two_looks_and_ignores_a_dimmed_picture(sources):
    truth = BreakoutTruth(sources)
    frame = np.full((480, 640, 3), 120, np.uint8)
    assert truth.read(frame).score == 0.0
    hit = frame.copy()
    hit[300:320, 41:81] = 20
    assert truth.read(hit).score == 0.0, "a ball may be passing by"
    assert truth.read(hit // 4).score == 0.0
    reading = truth.read(hit)
    assert reading.score == pytest.approx(100 / 154) and reading.reached == {"brick-1"}


def test_hop_ignores_what_covers_the_island(sources):
    truth = HopTruth(sources)

    def island(share):
        frame = np.full((480, 640, 3), (60, 70, 160), np.uint8)
        frame[: int(400 * share)] = (90, 200, 40)
        return frame

    assert truth.read(island(1.0)).score == 0.0
    assert truth.read(island(0.7)).score == pytest.approx(30.0)
    assert truth.read(island(0.1)).score == pytest.approx(30.0), "a dialog"
    for share in (0.4, 0.1):
        truth.read(island(share))
    assert truth.read(island(0.0)).won


SAVE = """[snapshot]
    turn_at=3
    [side]
        side={side}
        [village]
            x=1
        [/village]
        [village]
            x=2
        [/village]
        [unit]
            canrecruit="yes"
            side=1
        [/unit]
        [unit]
            side=1
        [/unit]
    [/side]
[/snapshot]
[replay_start]
    [side]
        side=1
        [village]
        [/village]
    [/side]
[/replay_start]
"""


def test_wesnoth_save_is_parsed(sources):
    save = parse_wesnoth(SAVE.replace("{side}", "1"))
    assert save.turn == 3 and list(save.sides) == [1]
    assert (save.sides[1].villages, save.sides[1].units, save.sides[1].leaders) == (2, 2, 1)
    assert parse_wesnoth("junk\n[/x]\n]]]") == parse_wesnoth("")


def test_wesnoth_scores_villages_and_the_winner(sources):
    truth = WesnothTruth(sources)
    assert truth.read(BLANK).score == 0.0
    path = sources.home / truth.saves / "2p-Auto-Save3.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(SAVE.replace("{side}", "1").encode())[:-40])
    assert truth.read(BLANK).score == 0.0, "a file that is half written is left for the next look"
    path.write_bytes(gzip.compress(SAVE.replace("{side}", "1").encode()))
    reading = truth.read(BLANK)
    assert reading.score == 10.0 and reading.reached == {"second-turn", "recruited", "village-1"} and not reading.over
    sources.log.write_text("info ai/testing: WINNER: 2\n")
    assert truth.read(BLANK).over and not truth.read(BLANK).won
    sources.log.write_text("info ai/testing: WINNER: 1\n")
    assert truth.read(BLANK).won and truth.read(BLANK).score == 100.0


def test_minetest_recorder_is_read_with_suspicion(sources):
    truth = MinetestTruth(sources)
    path = sources.home / truth.path
    assert truth.read(BLANK).score == 0.0
    for junk in ("", "{", "[]", '{"dug": 7, "crafted": [1], "distance": "far"}'):
        write(path, junk)
        assert truth.read(BLANK).score == 0.0
    write(path, json.dumps({"dug": ["default:tree", "tree"], "crafted": ["planks"], "distance": 12.5}))
    assert truth.read(BLANK).reached == {"walked", "dug", "tree", "planks"}


def test_finished_levels_are_found_in_the_private_home(sources):
    for truth, text in ((SavedLevelTruth(sources), "saved_moves='rr'"), (PingusTruth(sources), '(status "finished")')):
        assert not truth.read(BLANK).won
        write(sources.home / truth.path, text)
        assert truth.read(BLANK).won and truth.read(BLANK).score == 100.0
