"""Word Yard: the laws, the yards that are made, their plans, undo, and what is refused."""

import numpy as np
import pytest

import environments
from environments.errors import InvalidAction, InvalidSnapshot
from environments.game import InputEvent
from environments.games.grid import STEPS
from environments.games.rules import WordYard
from environments.games.rules_engine import Laws, Thing, is_won, sentences, step, yours
from environments.games.rules_levels import IDEAS, build
from environments.games.rules_planner import Stage, plan, win_route


def yard(*rows):
    """A position from rows of cells: words in capitals, objects in small letters, dots for nothing."""
    return tuple(
        Thing(name, x, y) for y, row in enumerate(rows) for x, name in enumerate(row.split()) if name.strip(".")
    )


def names(position):
    return sorted(thing.name for thing in position if not thing.is_word)


def cell(position, name):
    return next(thing.cell for thing in position if thing.name == name)


def test_sentences_are_read_to_the_right_and_downwards_only():
    position = yard("ROBOT IS YOU", "IS . IS", "PUSH . ROBOT", "WIN IS GEM")
    assert sentences(position) == (("ROBOT", "IS", "PUSH"), ("ROBOT", "IS", "YOU"))


def test_words_are_pushed_in_a_row_and_stop_at_the_edge():
    position = yard("ROBOT IS YOU", "robot GEM LAMP . . . . . . . . .")
    for pushes in range(1, 10):
        position = step(position, "right")
        assert cell(position, "robot") == (pushes, 1)
    assert cell(position, "LAMP") == (11, 1) and step(position, "right") is None


def test_stop_blocks_unless_it_is_push_too():
    row = "robot crate ."
    assert step(yard("ROBOT IS YOU", row, "CRATE IS STOP"), "right") is None
    after = step(yard("ROBOT IS YOU", row, "CRATE IS STOP", "CRATE IS PUSH"), "right")
    assert cell(after, "robot") == (1, 1) and cell(after, "crate") == (2, 1)


def test_breaking_the_sentence_of_you_leaves_nothing_to_move():
    position = yard(". . . .", "ROBOT IS YOU .", ". robot . .")
    after = step(position, "up")
    assert not yours(after) and all(step(after, way) is None for way in STEPS)


def test_everything_that_is_you_moves_and_rows_move_as_one():
    position = yard("ROBOT IS YOU", "ROBOT IS STOP", "robot robot . robot")
    after = step(position, "right")
    assert sorted(thing.x for thing in after if thing.name == "robot") == [1, 2, 4]


def test_a_noun_becomes_another_and_stays_itself_if_it_says_so():
    position = yard("ROBOT IS YOU", "BUSH IS GEM", ". . . .", "robot . bush bush")
    assert names(step(position, "up")) == ["gem", "gem", "robot"]
    position = yard("ROBOT IS YOU", "BUSH IS BUSH", "BUSH IS GEM", ". . . .", "robot . bush bush")
    assert names(step(position, "up")) == ["bush", "bush", "robot"]


def test_sink_takes_one_thing_with_it():
    position = yard("ROBOT IS YOU", "POND IS SINK", "robot pond .")
    assert names(step(position, "right")) == []
    position = yard("ROBOT IS YOU", "POND IS SINK", "robot GEM pond .")
    after = step(position, "right")
    assert names(after) == ["robot"] and "GEM" not in {thing.name for thing in after}


def test_zap_destroys_what_is_you_and_nothing_else():
    position = yard("ROBOT IS YOU", "BURR IS ZAP", "robot burr .")
    assert names(step(position, "right")) == ["burr"]
    assert Laws(position).properties == {"robot": {"YOU"}, "burr": {"ZAP"}}


def test_win_needs_you_and_win_in_one_cell():
    position = yard("ROBOT IS YOU", "GEM IS WIN", "robot gem .")
    assert not is_won(position) and is_won(step(position, "right"))
    assert is_won(yard("ROBOT IS YOU", "ROBOT IS WIN", "robot"))


@pytest.mark.parametrize("idea", IDEAS)
def test_every_idea_makes_yards_that_its_plan_wins(idea):
    """The plan is played by the real laws; no yard can be won by walking alone."""
    for seed in range(6):
        level = build(np.random.default_rng(seed), idea, 8, 25)
        assert 8 <= len(level.plan) <= 25 and win_route(level.position) is None
        position = level.position
        for move in level.plan:
            assert not is_won(position)
            position = step(position, move)
        assert is_won(position)
        assert sentences(position) != sentences(level.position)


def test_no_yard_is_won_within_four_moves_whatever_is_done():
    """Breadth-first over all moves by the real laws: there is no way around the puzzle next to the start."""
    for seed in range(9):
        seen = {build(np.random.default_rng(seed), list(IDEAS)[seed], 8, 25).position}
        front = set(seen)
        for _ in range(4):
            after = {step(position, way) for position in front for way in STEPS} - {None}
            front = after - seen
            seen |= front
        assert not any(is_won(position) for position in seen)


@pytest.mark.parametrize(("idea", "seed"), [("turn-walls", 11), ("disarm", 1), ("make-push", 11), ("become", 5)])
def test_a_plan_of_one_stage_is_as_short_as_an_exhaustive_search(idea, seed):
    """Breadth-first over all moves by the real laws finds nothing shorter."""
    level = build(np.random.default_rng(seed), idea, 8, 25)
    front, depth = {level.position}, 0
    seen = set(front)
    while not any(is_won(position) for position in front):
        front = {step(position, way) for position in front for way in STEPS} - {None} - seen
        seen |= front
        depth += 1
    assert len(level.plan) == depth


def test_stages_are_planned_in_the_better_order():
    position = yard(
        "ROBOT IS YOU", ". . . . . . . .", ". robot . CRATE IS STOP", ". . . . . . . .", "GEM IS . . . gem", ". . WIN"
    )
    stages = Stage(("CRATE", "IS", "STOP")), Stage(("GEM", "IS", "WIN"), "WIN")
    assert len(plan(position, stages)) == len(plan(position, stages[::-1]))


def test_seeds_bring_all_ideas_and_other_nouns():
    game, ideas, nouns = WordYard(), set(), set()
    for seed in range(60):
        game.reset(np.random.default_rng(seed))
        ideas.add(game.idea)
        nouns |= {sentence for sentence in sentences(game.position) if sentence[2] == "WIN"}
    assert ideas == set(IDEAS) and len(nouns) >= 5


def test_mean_solution_is_of_the_promised_length():
    game, lengths = WordYard(), []
    for seed in range(40):
        game.reset(np.random.default_rng(seed))
        lengths.append(game.par)
    assert 10 <= np.mean(lengths) <= 22 and min(lengths) >= 8 and max(lengths) <= 25


def test_undo_takes_back_one_move_and_costs_a_turn(make_env):
    env = make_env("games/rules-v1", seed=2)
    start = env.game.position
    assert "no move to take back" in env.step({"move": "undo"})[4]["illegal"]
    env.step(env.expert_action())
    env.step(env.expert_action())
    env.step({"move": "undo"})
    *_, info = env.step({"move": "undo"})
    assert info["illegal"] is None and env.game.position == start and env.game.turns == 5


def test_who_is_nobody_is_told_that_undo_helps():
    game = WordYard()
    game.reset(np.random.default_rng(0))
    game.history = [yard(". . . .", "ROBOT IS YOU .", ". robot . .")]
    assert game.apply(game.Action(move="up")) is None
    assert "undo" in game.apply(game.Action(move="left")) and game.expert() == {"move": "undo"}
    assert game.apply(game.Action(move="undo")) is None and yours(game.position)


def test_letters_and_mouse_mean_nothing_but_z():
    game = WordYard()
    game.reset(np.random.default_rng(1))
    before = game.state()
    for event in (
        InputEvent("key_down", key="x"),
        InputEvent("button_down", button="left", x=300, y=200),
        InputEvent("scroll", clicks=1),
    ):
        assert game.on_input(event) is None
    assert game.state() == before
    assert "no move" in game.on_input(InputEvent("key_down", key="z"))


def test_one_step_makes_one_move(make_env):
    """Several keys in one gesture: the first counts."""
    env = make_env("games/rules-v1", seed=4)
    move = env.expert_action()["move"]
    for key in (move, "up", "z"):
        env.game.on_input(InputEvent("key_down", key=key))
    assert env.game.moves == [move]


def test_damaged_moves_and_bad_parameters_are_refused(make_env):
    env = make_env("games/rules-v1", seed=4)
    state = env.game.state()
    with pytest.raises(ValueError, match="moves nothing"):
        env.game.load(state | {"moves": ["up"] * 30})
    with pytest.raises(InvalidSnapshot):
        env.restore(b"junk")
    with pytest.raises(ValueError, match="shortest"):
        WordYard(shortest=30, longest=31)
    for junk in ({"move": "north"}, {"move": "undo", "times": 2}, {"move": "UP"}):
        with pytest.raises(InvalidAction):
            env.step(junk)


def test_milestones_tell_the_way_to_the_win(make_env):
    """A sentence changes before the way is open or in the same step, on every seed tried."""
    declared = {milestone.id for milestone in environments.get("games/rules-v1").milestones}
    for seed in range(8):
        env = make_env("games/rules-v1", seed=seed)
        reached = {}
        while not env.success():
            env.step(env.expert_action())
            for name in env.milestones():
                reached.setdefault(name, env.moment)
        assert min(reached, key=reached.get) == "first-step" and reached.keys() == declared
        assert reached["word-pushed"] <= reached["sentence-changed"] <= reached["open"] <= reached["won"]


def test_the_last_move_and_whether_it_was_refused_are_told_on_the_screen(make_env):
    env = make_env("games/rules-v1", seed=0)
    for _ in range(20):
        *_, info = env.step({"move": "left"})
        if info["illegal"]:
            break
    assert env.game.refused and env.game.last == "left"
    refused = env.render()[:44, 190:460].copy()
    env.step({"move": "undo"})
    assert not env.game.refused and env.game.last == "undo"
    assert not np.array_equal(env.render()[:44, 190:460], refused)
