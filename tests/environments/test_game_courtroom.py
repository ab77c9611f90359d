"""One False Word: cases that have one answer each, and the rules of the court."""

import numpy as np
import pytest

from environments import drawing
from environments.actions.spec import TypedActions
from environments.errors import InvalidAction
from environments.game import InputEvent
from environments.games import courtroom_view as view
from environments.games.courtroom import Courtroom, CourtroomAction
from environments.games.courtroom_case import LETTERS, case_of
from environments.games.courtroom_facts import COMBINED, DIRECT

ACTIONS = TypedActions(CourtroomAction)


def game_of(seed=0):
    game = Courtroom()
    game.reset(np.random.default_rng(seed))
    return game


def do(game, **action):
    reason = game.apply(ACTIONS.load(action))
    game.tick()
    game.release()
    return reason


def drag(game, start, end):
    (x, y), (to_x, to_y) = start, end
    down = game.on_input(InputEvent("button_down", button="left", x=x, y=y))
    up = game.on_input(InputEvent("button_up", button="left", x=to_x, y=to_y))
    game.tick()
    game.release()
    return down or up


def at_the_lie(game):
    while game.statement != game.testimony.lie:
        do(game, do="next")
    return game.testimony


def words(testimony):
    return [f"{item.text} {item.addition}" for item in testimony.statements]


def test_every_kind_of_contradiction_comes_up():
    lies = set()
    for number in range(400):
        case = case_of(number)
        lies |= {case.evidence[LETTERS.index(told.answer)].name for told in case.testimonies}
    assert len(lies) == len(DIRECT) + len(COMBINED)


@pytest.mark.parametrize("make", DIRECT)
def test_direct_kinds_record_the_truth_and_not_the_lie(make):
    """The record tells the values apart: a lie's own record differs from the truth's."""
    rng = np.random.default_rng(0)
    records = {}
    for _ in range(60):
        fact = make(rng)
        assert fact.truth != fact.lie
        records.setdefault(fact.truth, set()).add(fact.record[1])
    assert len(records) == len(make.values)
    assert all(len(lines) == 1 for lines in records.values())
    assert len({next(iter(lines)) for lines in records.values()}) == len(records)


@pytest.mark.parametrize("make", COMBINED)
def test_combined_kinds_take_a_line_of_the_case_file(make):
    rng = np.random.default_rng(0)
    for _ in range(30):
        fact = make(rng, ["baker", "cook", "usher"])
        assert fact.truth != fact.lie and fact.file
        assert not any(fact.truth in line for line in fact.record), "the record alone would give it away"


def test_clock_lies_take_the_hands_for_the_time():
    """The false time is the one that the hall clock shows; the true one follows from the case file."""
    fact = COMBINED[0](np.random.default_rng(3), [])
    shown, right = (60 * int(hour) + int(minute) for hour, minute in (t.split(":") for t in (fact.lie, fact.truth)))
    assert fact.lie in fact.record[1]
    offset = int(next(word for word in fact.file.split() if word.isdigit()))
    assert shown - right == (offset if "fast" in fact.file else -offset)


def test_each_testimony_has_one_lie_that_is_not_in_the_first_statement():
    for number in range(200):
        case = case_of(number)
        assert [told.needs_press for told in case.testimonies[:2]] == [False, True]
        assert len({told.answer for told in case.testimonies}) == 3
        assert len({piece.name for piece in case.evidence}) == 6
        for told in case.testimonies:
            assert 0 < told.lie < len(told.statements)
            assert len(set(words(told))) == len(words(told))
        assert not any(brace in text for told in case.testimonies for text in words(told) for brace in "{}")


def test_texts_fit_into_their_boxes():
    """Nothing is cut: statements with what pressing adds, open cards, names on the cards."""
    for number in range(300):
        case = case_of(number)
        left, top, right, bottom = view.TESTIMONY
        for told in case.testimonies:
            for item in told.statements:
                lines = len(view.wrap(f"“{item.text}”", 17, right - left - 36))
                added = len(view.wrap(f"Pressed: “{item.addition}”", 16, right - left - 36))
                assert top + 44 + 23 * lines + 6 + 21 * added <= bottom
        for shown in ("file", *LETTERS):
            size = 13 if shown == "file" else 15
            placed = view.detail_lines(view.details_of(case, shown)[1], view.DETAILS[1] + 33, size)
            assert placed[-1][0] + size + 3 <= view.DETAILS[3]
        assert all(drawing.font(12).getlength(piece.name) < 90 for piece in case.evidence)


def test_evidence_must_be_read_before_it_is_presented():
    game = game_of()
    told = at_the_lie(game)
    assert "opened and read" in do(game, do="present", evidence=told.answer)
    assert game.wrong == 0 and game.found == 0
    do(game, do="open", item=told.answer)
    assert do(game, do="present", evidence=told.answer) is None
    assert game.found == 1 and game.statement == 0


def test_lie_that_must_be_pressed_for_is_none_before():
    game = game_of(1)
    while game.found == 0:
        action = game.expert()
        do(game, **action)
    told = at_the_lie(game)
    do(game, do="open", item=told.answer)
    do(game, do="present", evidence=told.answer)
    assert (game.found, game.wrong) == (1, 1)
    assert do(game, do="press") is None
    assert "pressed about this statement" in do(game, do="press")
    do(game, do="present", evidence=told.answer)
    assert (game.found, game.wrong) == (2, 1)


def test_every_other_pair_is_wrong():
    game = game_of(2)
    told = game.testimony
    for letter in LETTERS:
        do(game, do="open", item=letter)
    start = game.state()
    for index in range(len(told.statements)):
        for letter in LETTERS:
            game.load(start)
            game.statement = index
            do(game, do="present", evidence=letter)
            assert (game.found == 1) == (index == told.lie and letter == told.answer) == (game.wrong == 0)


def test_patience_ends_and_with_it_the_game():
    game = game_of(3)
    do(game, do="open", item="A")
    for _ in range(4):
        assert not game.over
        do(game, do="present", evidence="A")
    assert game.over and not game.won and game.score() == 0.0


def test_score_counts_lies_errors_and_turns():
    game = game_of(4)
    while not game.won:
        do(game, **game.expert())
    assert game.score() == 100.0
    game.turns, game.wrong = 70, 2
    assert game.score() == pytest.approx(84 + 8 - 12)
    game.turns = 100
    assert game.score() == pytest.approx(84 - 12)


def test_statements_go_round():
    game = game_of()
    do(game, do="previous")
    assert game.statement == len(game.testimony.statements) - 1
    do(game, do="next")
    assert game.statement == 0


def test_keys_and_drags_do_what_actions_do():
    game, twin = game_of(5), game_of(5)
    for key, action in (
        ("right", {"do": "next"}),
        ("left", {"do": "previous"}),
        ("p", {"do": "press"}),
        ("b", {"do": "open", "item": "B"}),
        ("enter", {"do": "present", "evidence": "B"}),
        ("0", {"do": "open", "item": "file"}),
    ):
        game.on_input(InputEvent("key_down", key=key))
        game.tick()
        do(twin, **action)
        assert game.state() == twin.state()
    assert "first" in game.on_input(InputEvent("key_down", key="enter"))


def test_card_dropped_beside_the_testimony_does_nothing():
    game = game_of(6)
    do(game, do="open", item="C")
    before = game.state() | {"turns": game.turns + 1}
    assert drag(game, view.centre(view.CARDS["C"]), (300, 100)) is None
    assert game.state() == before
    drag(game, view.centre(view.CARDS["file"]), view.centre(view.TESTIMONY))
    assert game.state() == before | {"turns": game.turns}


def test_several_clicks_in_a_step_make_one_move():
    game = game_of()
    x, y = view.centre(view.BUTTONS["next"])
    for _ in range(3):
        for kind in ("button_down", "button_up"):
            game.on_input(InputEvent(kind, button="left", x=x, y=y))
    assert game.statement == 1


@pytest.mark.parametrize(
    "action",
    [
        {"do": "present", "evidence": "file"},
        {"do": "open", "item": "a"},
        {"do": "open", "item": "../A"},
        {"do": "press", "evidence": "A"},
        {"do": "confess"},
        {"do": ["next"]},
    ],
)
def test_actions_outside_the_schema_are_refused(action):
    with pytest.raises(InvalidAction):
        ACTIONS.parse(action)


def test_refusals_are_told_on_the_screen_and_gone_with_the_next_action():
    game = game_of()
    before = game.draw()
    reason = do(game, do="present", evidence="B")
    assert reason in game.message and not np.array_equal(game.draw(), before)
    assert drag(game, view.centre(view.CARDS["B"]), view.centre(view.TESTIMONY)) == reason
    do(game, do="next")
    assert game.message == ""
    game.on_input(InputEvent("key_down", key="enter"))
    assert "open the piece of evidence" in game.message
