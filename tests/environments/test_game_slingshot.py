"""Slingshot's own rules: forts at rest, throws that repeat to the bit, pulls that are refused, the score."""

import gc
import json
import math

import numpy as np
import pytest

pytest.importorskip("pymunk", reason="pymunk is not installed (pip install 'rewind-arena[games]')")

from environments.errors import InvalidAction
from environments.game import InputEvent
from environments.games.slingshot import Slingshot, SlingshotAction
from environments.games.slingshot_picture import FULL_PULL, POUCH
from environments.games.slingshot_world import GROUND, IMP_RADIUS, SPEED, Piece, launch_speed, settle, throw

FLOOR = [(-200, GROUND, 840, 480)]


def game(seed=0, **params):
    made = Slingshot(**params)
    made.reset(np.random.default_rng(seed))
    return made


def imp(x, surface=GROUND):
    return Piece("imp", x, surface - IMP_RADIUS, 2 * IMP_RADIUS, 2 * IMP_RADIUS)


def drag(target, to_x, to_y, start=POUCH):
    target.on_input(InputEvent("button_down", button="left", x=start[0], y=start[1]))
    return target.on_input(InputEvent("button_up", button="left", x=to_x, y=to_y))


@pytest.mark.parametrize("seed", range(12))
def test_forts_stand_still_in_the_picture_with_all_their_imps(seed):
    fort = game(seed)
    rested = settle(fort.pieces, fort.terrain)
    assert fort.left == 5 and len(rested) == len(fort.pieces)
    for before, after in zip(fort.pieces, rested, strict=True):
        assert math.hypot(after.x - before.x, after.y - before.y) < 3 and after.harm == 0
        assert 300 < after.x < 640 and 60 < after.y < GROUND


def test_throw_repeats_to_the_bit_whatever_was_thrown_in_between():
    """No contact or hint of an earlier space is left over."""
    fort = game(3)
    first = [piece.row() for piece in throw(fort.pieces, fort.terrain, POUCH, (600.0, -120.0))[0]]
    for speed in (300.0, 500.0, 640.0):
        throw(fort.pieces, fort.terrain, POUCH, (speed, -80.0))
    assert [piece.row() for piece in throw(fort.pieces, fort.terrain, POUCH, (600.0, -120.0))[0]] == first


def test_state_returns_in_the_middle_of_a_ruin():
    """After a throw the state goes through JSON, and the next throw ends as it would have ended."""
    one, other = game(4), game(9)
    one.apply(SlingshotAction(back=88, down=16))
    other.load(json.loads(json.dumps(one.state())))
    for target in (one, other):
        target.apply(SlingshotAction(back=85, down=25))
    assert one.state() == other.state() and np.array_equal(one.draw(), other.draw())


def test_direct_hit_takes_an_imp_out_and_a_miss_does_not():
    stand = [*FLOOR, (380, 340, 420, GROUND)]
    rest, flight = throw([imp(400, 340)], stand, POUCH, launch_speed(88, 40, FULL_PULL))
    assert len(rest) == 1 and not flight.struck
    rest, flight = throw([imp(400, 340)], stand, POUCH, launch_speed(89, 12, FULL_PULL))
    assert rest == [] and flight.struck and flight.impact is not None and 370 < flight.impact[0] < 400


def test_one_throw_repeated_does_not_do_for_any_fort():
    """Most forts stand behind a wall: flat and hard throws alone stay far below a player who looks."""
    scores = []
    for seed in range(10):
        fort = game(seed)
        while not fort.over:
            fort.apply(SlingshotAction(back=90, down=0))
        scores.append(fort.score())
    assert np.mean(scores) < 50


def test_throws_leave_no_memory_behind():
    """Without waiting for the collector: what pymunk keeps in cycles is C memory, which that does not count."""
    fort = game(1)
    gc.collect()  # what the tests before it have left
    throw(fort.pieces, fort.terrain, POUCH, (600.0, -120.0))
    assert gc.collect() < 100, "a throw leaves almost three hundred objects behind otherwise"


def test_falling_block_hurts_the_imp_below():
    hanging = Piece("stone", 500, 200, 38, 38)
    rest = settle([imp(500), hanging], FLOOR)
    assert [piece.kind for piece in rest] == ["stone"]


def test_long_fall_takes_an_imp_out_and_a_short_one_leaves_a_plaster():
    assert settle([imp(500, GROUND - 160)], FLOOR) == []
    (bruised,) = settle([imp(500, GROUND - 40)], FLOOR)
    assert bruised.harm > 0


def test_wood_breaks_and_stone_does_not():
    for kind, left in (("wood", 0), ("stone", 1)):
        block = Piece(kind, 400, GROUND - 40, 30, 80)
        assert len(throw([block], FLOOR, (112, GROUND - 60), (640.0, -60.0))[0]) == left


def test_what_leaves_the_picture_is_gone():
    (rest, _) = throw([Piece("stone", 655, GROUND - 20, 24, 40)], FLOOR, (112, GROUND - 60), (640.0, -60.0))
    assert rest == []


def test_launch_speed_grows_with_the_pull_up_to_the_ring():
    assert math.hypot(*launch_speed(45, 0, FULL_PULL)) == pytest.approx(SPEED / 2)
    assert launch_speed(90, 0, FULL_PULL) == (SPEED, 0)
    assert launch_speed(100, 0, FULL_PULL) == (SPEED, 0)
    across, up = launch_speed(60, 60, FULL_PULL)
    assert across == -up > 0, "pulled down, it flies up"


@pytest.mark.parametrize(("back", "down"), [(0, 0), (10, 8), (3, -14)])
def test_short_pull_is_refused_in_both_spaces_and_costs_no_stone(back, down):
    fort = game()
    before = fort.state()
    reason = fort.apply(SlingshotAction(back=back, down=down))
    assert "too short" in reason and drag(fort, POUCH[0] - back, POUCH[1] + down) == reason
    after = fort.state()
    assert "short" in after.pop("refused") and not before.pop("refused") and after == before, "it is shown, no more"


def test_pull_towards_the_fort_is_refused():
    fort = game()
    assert "to the left" in drag(fort, POUCH[0] + 60, POUCH[1])
    assert fort.thrown == 0


def test_drag_and_semantic_pull_do_the_same():
    one, other = game(2), game(2)
    one.apply(SlingshotAction(back=80, down=30))
    assert drag(other, POUCH[0] - 80, POUCH[1] + 30) is None
    assert one.state() == other.state() and one.thrown == 1


def test_drag_that_does_not_start_at_the_pouch_means_nothing():
    fort = game()
    before = fort.state()
    assert drag(fort, 20, 340, start=(300, 300)) is None
    fort.on_input(InputEvent("button_down", button="right", x=POUCH[0], y=POUCH[1]))
    fort.on_input(InputEvent("button_up", button="right", x=20, y=340))
    assert fort.state() == before


def test_pouch_that_is_held_is_let_go_of_at_the_end_of_the_step():
    fort = game()
    fort.on_input(InputEvent("button_down", button="left", x=POUCH[0], y=POUCH[1]))
    fort.release()
    assert fort.on_input(InputEvent("button_up", button="left", x=20, y=340)) is None and fort.thrown == 0


def test_score_counts_imps_and_rewards_few_stones():
    fort = game(par=2)
    fort.pieces = [piece for piece in fort.pieces if piece.kind != "imp"]
    scores = []
    for thrown in (1, 2, 3, 5):
        fort.thrown = thrown
        scores.append(fort.score())
    assert fort.won and scores == [100, 100, pytest.approx(80 + 40 / 3), 88]
    fort.pieces += [imp(500)]
    assert fort.score() == 64 and fort.over and not fort.won
    assert fort.reached() >= {"out-1", "out-4"} and "all-out" not in fort.reached()


@pytest.mark.parametrize(
    "junk", [{"back": 101, "down": 0}, {"back": -1, "down": 0}, {"back": 50.5, "down": 0}, {"back": "50px", "down": 1},
             {"back": float("nan"), "down": 0}, {"back": 50, "down": 0, "power": 9}, {"back": 10**30, "down": 0}],
)  # fmt: skip
def test_hostile_pulls_are_refused_by_the_schema(make_env, junk):
    env = make_env("games/slingshot-v1", seed=0)
    with pytest.raises(InvalidAction):
        env.step(junk)


@pytest.mark.parametrize("params", [{"imps": 0}, {"imps": 9}, {"stones": 0}, {"par": 6}, {"par": 0}])
def test_parameters_that_make_no_game_are_refused(params):
    with pytest.raises(ValueError, match="expected"):
        Slingshot(**params)
