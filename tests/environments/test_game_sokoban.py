"""Sokoban: walking and pushing, the solver against a plain search, levels for each seed, undo, and what is refused."""

from collections import deque

import numpy as np
import pytest

from environments.errors import InvalidAction
from environments.game import InputEvent
from environments.games.grid import STEPS
from environments.games.sokoban import Sokoban, SokobanAction
from environments.games.sokoban_levels import Level, Position, Solver, box_changes, draw_level, solver, step

CORRIDOR = ["#######", "#@$  .#", "#     #", "#######"]
TWO = ["########", "#  .   #", "# $$   #", "# @  . #", "########"]


def room(seed=0, **params):
    game = Sokoban(**params)
    game.reset(np.random.default_rng(seed))
    return game


def enter(rows):
    """A game in a level of the test's own."""
    game = room()
    game._enter(Level.parse(rows))
    return game


def play(game, *moves):
    reasons = []
    for move in moves:
        reasons.append(game.apply(SokobanAction(move=move)))
        game.tick()
    return reasons[-1]


def fewest_pushes(level):
    """Search forwards over boxes and player, walks free and pushes at one each: no masks of regions, no pulling."""
    best = {level.start: 0}
    queue = deque([level.start])
    while queue:
        position = queue.popleft()
        if position.boxes == level.room.targets:
            return best[position]
        for direction in STEPS:
            after = step(level.room, position, direction)
            if after is None:
                continue
            cost = best[position] + (after.boxes != position.boxes)
            if cost < best.get(after, 999):
                best[after] = cost
                (queue.append if after.boxes != position.boxes else queue.appendleft)(after)
    return None


def test_a_level_in_letters_comes_back():
    for seed in range(5):
        level = draw_level(np.random.default_rng(seed), 20, 45)
        assert Level.parse(level.rows()) == level
    level = Level.parse(["#####", "#+$*#", "#####"])
    assert level.start == Position(1 << 12 | 1 << 13, 11) and level.room.targets == 1 << 11 | 1 << 13


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        (["#####", "#@x #", "#####"], "unknown letter"),
        (["#####", "#@$.", "#####"], "edge must be wall"),
        (["# ###", "#@$.#", "#####"], "edge must be wall"),
        (["#####", "#@@ #", "#####"], "one player"),
        (["#####", "#@$$#", "#####"], "as many boxes"),
        (["#####", "#@$.#"], "edge must be wall"),
    ],
)
def test_damaged_levels_are_refused(rows, fault):
    with pytest.raises(ValueError, match=fault):
        Level.parse(rows)


def test_pushing_needs_a_free_cell_behind():
    level = Level.parse(["######", "#@$$ #", "#  ..#", "######"])
    assert step(level.room, level.start, "right") is None and step(level.room, level.start, "up") is None
    after = step(level.room, level.start, "down")
    assert after == Position(level.start.boxes, level.start.player + 10)
    pushed = step(*_pushable())
    assert pushed.player == 12 and pushed.boxes == 1 << 13


def _pushable():
    level = Level.parse(CORRIDOR)
    return level.room, level.start, "right"


@pytest.mark.parametrize("rows", [CORRIDOR, TWO, ["########", "#..  $ #", "# #$   #", "#   @  #", "########"]])
def test_solver_finds_the_fewest_pushes_of_a_plain_search(rows):
    level = Level.parse(rows)
    assert Solver(level.room).pushes_left(level.start) == fewest_pushes(level)


@pytest.mark.parametrize("seed", range(20))
def test_levels_can_be_solved_and_are_as_asked_for(seed):
    """The plan, move by move, solves the room in as few pushes as the solver says; no box starts on a target."""
    level = draw_level(np.random.default_rng(seed), 20, 45)
    boxes = level.start.boxes.bit_count()
    plan = Solver(level.room).plan(level.start)
    position, pushes = level.start, 0
    for direction in plan:
        after = step(level.room, position, direction)
        pushes += after.boxes != position.boxes
        position = after
    assert position.boxes == level.room.targets and pushes == Solver(level.room).pushes_left(level.start)
    assert 3 <= boxes <= 4 and 20 <= len(plan) <= 45 and not level.start.boxes & level.room.targets
    assert box_changes(level, plan) >= boxes, "at least one box is left and taken up again"


@pytest.mark.parametrize("seed", [0, 6])
def test_pushes_of_generated_levels_are_the_fewest(seed):
    level = draw_level(np.random.default_rng(seed), 20, 45)
    assert Solver(level.room).pushes_left(level.start) == fewest_pushes(level)


def test_levels_differ_from_seed_to_seed_and_are_the_same_for_one():
    levels = [tuple(draw_level(np.random.default_rng(seed), 20, 45).rows()) for seed in (*range(8), 0)]
    assert len(set(levels)) == 8 and levels[0] == levels[-1]


def test_plan_has_the_fewest_moves_among_those_with_the_fewest_pushes():
    level = Level.parse(CORRIDOR)
    assert Solver(level.room).plan(level.start) == ["right"] * 3
    assert Solver(level.room).plan(Position(level.room.targets, 11)) == []


def test_dead_positions_are_known_and_have_no_plan():
    level = Level.parse(TWO)
    search = Solver(level.room)
    cornered = Position(1 << 11 | 1 << 24, 23)
    assert search.pushes_left(cornered) is None and search.plan(cornered) is None


def test_refusals_name_what_is_in_the_way_and_take_a_turn():
    game = enter(["#######", "#     #", "#@$$ .#", "#   . #", "#######"])
    assert play(game, "left") == "there is a wall on the left"
    assert play(game, "right") == "the box on the right cannot move: another box is behind it"
    game = enter(["#######", "#  @  #", "#  $  #", "#  .  #", "#######"])
    play(game, "down")
    assert game.won
    game = enter(["#######", "#  $ .#", "#  @  #", "#######"])
    assert play(game, "up") == "the box above cannot move: a wall is behind it"
    assert game.turns == 1 and game.moves == []


def test_undo_and_restart_take_moves_back_and_cost_turns():
    game = enter(TWO)
    start = game.position
    assert play(game, "undo") == play(game, "restart") == "there is no move to take back"
    play(game, "right", "up", "right")
    assert game.position != start and len(game.moves) == 3
    play(game, "undo", "undo")
    assert len(game.moves) == 1 and game.position.boxes == start.boxes
    play(game, "up", "restart")
    assert game.position == start and game.moves == [] and game.turns == 9


@pytest.mark.parametrize("seed", range(6))
def test_expert_gets_out_of_dead_positions(seed):
    """After a box is pushed into a corner, undo or restart leads back, and the room is solved all the same."""
    game = room(seed)
    rng = np.random.default_rng(seed)
    search = solver(game.level.room)
    for _ in range(400):
        if search.pushes_left(game.position) is None:
            break
        play(game, list(STEPS)[int(rng.integers(4))])
        if game.won:
            pytest.skip("random play solved the room")
    assert not game.over and game.score() < 80
    for _ in range(400):
        if game.over:
            break
        play(game, game.expert()["move"])
    assert game.won and 80.0 < game.score() < 100.0


def test_score_follows_the_best_position_and_is_full_for_the_reference_plan():
    game = room(3)
    assert game.score() == 0.0
    best = 0.0
    while not game.over:
        play(game, game.expert()["move"])
        assert game.score() >= best
        best = game.score()
    assert game.score() == 100.0 and game.turns == game.par
    game = room(3)
    while game.score() == 0.0:
        play(game, game.expert()["move"])
    reached = game.score()
    play(game, "restart")
    assert game.score() == reached, "going back takes nothing away"


def test_keys_move_take_back_and_restart_once_a_step():
    game = enter(TWO)

    def press(*keys):
        for key in keys:
            game.on_input(InputEvent("key_down", key=key))
        game.tick()

    press("left", "up", "up")
    assert game.moves == ["left"]
    press("up")
    press("Z")
    assert game.moves == ["left"]
    press("r")
    assert game.moves == []
    press("q")
    press("space")
    assert game.moves == [] and game.turns == 6


def test_state_of_another_level_or_with_impossible_moves_is_refused():
    game = room()
    state = game.state()
    with pytest.raises(ValueError, match="moves nothing"):
        game.load(state | {"rows": CORRIDOR, "moves": ["up"]})
    with pytest.raises(ValueError, match="not solved and can be"):
        game.load(state | {"rows": ["#####", "#$  #", "#@ .#", "#####"], "moves": []})
    with pytest.raises(ValueError, match="not solved and can be"):
        game.load(state | {"rows": ["####", "#@*#", "####"], "moves": []})
    game.load(state)
    assert game.state() == state


@pytest.mark.parametrize(("shortest", "longest"), [(5, 45), (31, 60), (20, 29)])
def test_lengths_that_are_seldom_found_are_refused(shortest, longest):
    with pytest.raises(ValueError, match="shortest, longest: expected"):
        Sokoban(shortest, longest)


@pytest.mark.parametrize("junk", [{"move": "UP"}, {"move": "up", "times": 9}, {"move": None}, {"move": "z"}, {}])
def test_hostile_actions_are_refused(make_env, junk):
    env = make_env("games/sokoban-v1", seed=0)
    with pytest.raises(InvalidAction):
        env.step(junk)
