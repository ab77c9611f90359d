"""Minesweeper: numbers, regions, deduction, boards without a guess, flags, and what is refused."""

from itertools import combinations

import numpy as np
import pytest

from environments.errors import InvalidAction
from environments.game import InputEvent
from environments.games.minesweeper import LEFT, SIDE, SIZE, TOP, Minesweeper, MinesweeperAction
from environments.games.minesweeper_logic import Field, deduce, draw_mines, needs_no_guess

TASK = "games/minesweeper-v1"


def board(seed=0, **params):
    game = Minesweeper(**params)
    game.reset(np.random.default_rng(seed))
    return game


def act(game, do, cell):
    reason = game.apply(MinesweeperAction(do=do, column="abcdefgh"[cell % SIZE], row=cell // SIZE + 1))
    game.tick()
    return reason


def custom(mines, opened):
    """A board of the test's own, opened at one cell."""
    game = board()
    game.field, game.count = Field(SIZE, mines), len(mines)
    game.opened, game.flags = set(game.field.region(opened)), set()
    game.given = len(game.opened)
    return game


def test_numbers_count_mines_in_corners_and_on_edges():
    field = Field(4, [0, 1, 5])
    assert [field.number(cell) for cell in (2, 4, 6, 10, 15)] == [2, 3, 2, 1, 0]
    assert field.around(0) == (1, 4, 5) and len(field.around(5)) == 8 and len(field.around(7)) == 5


def test_opening_spreads_over_cells_without_mines_around_and_stops_at_numbers():
    field = Field(4, [0])
    assert field.region(15) == set(range(16)) - {0}
    assert field.region(5) == {5} and field.region(1) == {1}


def test_least_openings_counts_regions_once():
    assert Field(4, [0]).least_openings(set()) == 1
    field = Field(3, [0, 2])
    assert field.least_openings(set()) == 2, "the lower two rows at once, and the cell between the mines"
    assert field.least_openings(field.region(6)) == 1


def consistent(view, size, count):
    """All ways to lay the mines that agree with what is in sight, by trying every one."""
    closed = [cell for cell in range(size * size) if cell not in view]
    for mines in combinations(closed, count):
        if all(Field(size, mines).number(cell) == number for cell, number in view.items()):
            yield set(mines)


@pytest.mark.parametrize("seed", range(30))
def test_deduction_is_sound(seed):
    """What is proven safe or mined on a small field is so in every arrangement that fits the numbers."""
    rng = np.random.default_rng(seed)
    field = Field(4, (int(cell) for cell in rng.permutation(16)[:4]))
    opened = [int(cell) for cell in rng.permutation(16)[:7] if cell not in field.mines]
    proof = deduce(field.view(opened), 4, 4)
    for mines in consistent(field.view(opened), 4, 4):
        assert proof.mines <= mines and not proof.safe & mines


def test_deduction_knows_overlapping_numbers_and_the_count():
    """1-2-1 below a wall of closed cells: mines over the ones; and with all mines found, the rest is safe."""
    field = Field(8, [1, 3])
    view = field.view(range(8, 64))
    assert [view[cell] for cell in range(8, 14)] == [1, 1, 2, 1, 1, 0]
    proof = deduce(view, 8, 2)
    assert proof.mines == {1, 3} and proof.safe == {0, 2, 4, 5, 6, 7}


def test_a_board_that_needs_a_guess_is_recognised():
    assert not needs_no_guess(Field(4, [0, 4, 5, 6, 7]), 15), "the mine behind a wall of mines may be anywhere"
    assert needs_no_guess(Field(4, [0]), 15)


@pytest.mark.parametrize("seed", range(40))
def test_every_board_can_be_cleared_by_what_is_in_sight(seed):
    """Played with deduction from the numbers and the count alone, no board ever needs a guess."""
    game = board(seed)
    assert len(game.field.mines) == 10 and 3 * game.given <= 64 and game.score() == 0.0
    while not game.won:
        safe = deduce(game.field.view(game.opened), SIZE, 10).safe
        assert safe
        for cell in sorted(safe):
            if cell not in game.opened and not game.over:
                assert act(game, "open", cell) is None
    assert game.exploded is None


def test_logic_without_the_engines_help_scores_well():
    """A player who opens any proven cell gets nearly all of the score: par leaves room for flags."""
    scores = []
    for seed in range(10):
        game = board(seed)
        while not game.over:
            act(game, "open", min(deduce(game.field.view(game.opened), SIZE, 10).safe))
        scores.append(game.score())
    assert sum(scores) / len(scores) >= 95.0


def test_mines_are_never_at_the_start():
    rng = np.random.default_rng(0)
    for start in (0, 7, 27, 63):
        field = draw_mines(rng, 8, 10, start)
        assert field.number(start) == 0 and start not in field.mines


def test_opening_a_mine_ends_the_game_and_keeps_the_progress():
    game = board(1)
    act(game, **cell_of(game.expert()))
    before = game.score()
    act(game, "open", min(game.field.mines))
    assert game.over and not game.won and game.score() == before > 0 and game.exploded == min(game.field.mines)


def cell_of(order):
    return {"do": order["do"], "cell": (order["row"] - 1) * SIZE + "abcdefgh".index(order["column"])}


def test_flags_protect_are_taken_away_and_are_refused_on_open_cells():
    game = custom([0, 9], 63)
    assert act(game, "flag", 0) is None and game.flags == {0}
    assert act(game, "open", 0) == "there is a flag on this cell; take it away first" and not game.over
    assert act(game, "flag", 0) is None and game.flags == set()
    assert act(game, "flag", 63) == "this cell is open"
    assert game.turns == 4, "refused turns count"


def test_a_number_with_all_its_flags_opens_the_rest_around_it():
    game = custom([0, 9], 63)
    assert game.field.number(10) == 1 and 1 not in game.opened
    assert act(game, "open", 10) == "this cell is open, and the flags around it are not as many as its number says"
    act(game, "flag", 9)
    assert act(game, "open", 10) is None and 1 in game.opened and not game.over
    assert act(game, "open", 63) == "there is nothing left to open around this cell"


def test_a_wrong_flag_makes_a_number_open_a_mine():
    game = custom([0, 9], 63)
    act(game, "flag", 1)
    assert 1 not in game.opened
    act(game, "open", 10)
    assert game.exploded == 9 and game.over and not game.won


def test_expert_takes_wrong_flags_away():
    game = board(4)
    wrong = cell_of(game.expert())["cell"]
    act(game, "flag", wrong)
    for _ in range(80):
        if not game.over:
            act(game, **cell_of(game.expert()))
    assert game.won and wrong in game.opened


def test_flags_on_all_mines_cost_nothing():
    """Par has room for one flag on each mine."""
    game = board(2)
    for mine in sorted(game.field.mines):
        act(game, "flag", mine)
    openings = 0
    while not game.over:
        act(game, **cell_of(game.expert()))
        openings += 1
    assert game.score() == pytest.approx(80 + 20 * min(1, game.par / (10 + openings)))


def test_buttons_open_and_flag_once_a_step():
    game = board(3)
    target = cell_of(game.expert())["cell"]
    x, y = LEFT + SIDE * (target % SIZE) + 5, TOP + SIDE * (target // SIZE) + 5
    for _ in range(2):  # a double click with the right button: one flag, not none
        game.on_input(InputEvent("button_down", button="right", x=x, y=y))
    game.tick()
    assert game.flags == {target}
    for wrong in (
        {"button": "middle", "x": x, "y": y},
        {"button": "left", "x": 10, "y": y},
        {"button": "left", "x": 550},
    ):
        assert game.on_input(InputEvent("button_down", **wrong)) is None
    assert target not in game.opened
    game.on_input(InputEvent("button_down", button="right", x=x, y=y))
    game.tick()
    game.on_input(InputEvent("button_down", button="left", x=x, y=y))
    assert target in game.opened


def test_mines_are_not_in_the_picture_before_the_end():
    """Two boards that look the same so far have the same picture, wherever their mines lie."""
    first, second = custom([0, 9], 63), custom([0, 9], 63)
    first.field, second.field = Field(SIZE, [0, 9]), Field(SIZE, [9, 0, 1])
    second.opened = first.opened - set(second.field.around(1)) - set(second.field.around(0))
    first.opened = set(second.opened)
    second.count = first.count
    assert np.array_equal(first.draw(), second.draw())


@pytest.mark.parametrize("mines", [0, 3, 15, 64])
def test_numbers_of_mines_that_make_no_board_are_refused(mines):
    with pytest.raises(ValueError, match="mines: expected"):
        Minesweeper(mines)


@pytest.mark.parametrize(
    "junk",
    [
        {"do": "open", "column": "i", "row": 1},
        {"do": "open", "column": "a", "row": 0},
        {"do": "open", "column": "a", "row": 9},
        {"do": "dig", "column": "a", "row": 1},
        {"do": "open", "column": "a", "row": "1; flag"},
    ],
)
def test_hostile_actions_are_refused(make_env, junk):
    env = make_env(TASK, seed=0)
    with pytest.raises(InvalidAction):
        env.step(junk)


def test_a_field_refuses_cells_that_are_not_on_it():
    with pytest.raises(ValueError, match="expected cells 0 to 63"):
        Field(8, [64])
