"""The locked study: cases with one answer, traces that can be seen, answers that are final."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the study is rendered by MuJoCo (pip install 'rewind-arena[robots]')")

from environments.game import InputEvent
from environments.games.scene import CLUES, Scene, SceneAction
from environments.games.scene_case import LAYERS, QUESTIONS, Case, clock_text, make_case
from environments.games.scene_paint import TINT_COLOURS, hand_print, sole_mask
from environments.games.scene_room import HALF_X, HALF_Y, close_eye, pile_centre, readable, standing_eye, things, trail

CASES = [make_case(np.random.default_rng(seed)) for seed in range(150)]


@pytest.fixture
def scene():
    game = Scene()
    game.reset(np.random.default_rng(4))
    return game


def do(game, **action):
    reason = game.apply(SceneAction.model_validate(action).root)
    game.tick()
    game.release()
    return reason


def play_until(game, done):
    for _ in range(120):
        if done(game):
            return
        do(game, **game.expert())
    raise AssertionError("not within an episode")


@pytest.mark.parametrize("case", CASES[:40], ids=range(40))
def test_two_of_the_culprits_three_traces_name_one_guest_and_one_does_not(case):
    same = {
        kind: {guest for guest in range(4) if values[guest] == values[case.culprit]}
        for kind, values in (("sole", case.soles), ("hand", case.hands), ("coat", case.coats))
    }
    assert all(len(guests) == 2 for guests in same.values())
    for first, second in (("sole", "hand"), ("sole", "coat"), ("hand", "coat")):
        assert same[first] & same[second] == {case.culprit}


def test_every_question_has_four_different_choices_and_one_of_them_is_right():
    for case in CASES:
        assert case.culprit != case.victim and case.way_in != case.way_out
        for question in QUESTIONS:
            assert len(set(case.options[question])) == 4 and case.truth(question) in case.options[question]


def test_answers_are_spread_over_the_letters():
    """Nobody scores by always saying the same letter."""
    for question in QUESTIONS:
        letters = [case.right_choice(question) for case in CASES]
        assert all(letters.count(letter) < 0.45 * len(CASES) for letter in "ABCD")


def test_the_time_needs_the_clock_and_the_note():
    """The stopped clock's own reading is among the wrong choices, and so is the wall clock's."""
    for case in CASES:
        wrong = set(case.options["time"]) - {case.truth("time")}
        assert {clock_text(case.true_minutes + case.fast_minutes), clock_text(case.wall_minutes)} <= wrong


def test_cases_survive_json_and_damaged_ones_are_refused():
    for case in CASES[:20]:
        assert Case.from_json(case.as_json()) == case
    with pytest.raises(TypeError):
        Case.from_json({**CASES[0].as_json(), "weather": "rain"})


def test_trails_lead_from_the_way_in_to_the_victim_and_on_to_the_way_out():
    """The toes point into the room on the first step and out of it on the last, and no step leaves the room."""
    for case in CASES[:60]:
        for side, leaving in ((case.way_in, False), (case.way_out, True)):
            steps = trail(case, leaving=leaving)
            assert all(abs(x) < HALF_X and abs(y) < HALF_Y for x, y, _ in steps)
            x, y, direction = steps[-1 if leaving else 0]
            wall_distance = (HALF_Y - y, HALF_X - x, HALF_Y + y, HALF_X + x)[side]
            assert wall_distance < 0.7
            outwards = math.cos(direction) * x + math.sin(direction) * y
            assert outwards > 0 if leaving else outwards < 0


def test_no_step_of_the_trails_comes_near_the_pile():
    """Mud of a trail under the wine or the paper would tell a wrong order."""
    for case in CASES:
        steps = trail(case, leaving=False) + trail(case, leaving=True)
        assert min(math.dist((x, y), pile_centre(case)) for x, y, _ in steps) > 0.45


def test_every_trace_can_be_read_from_near_and_none_from_across_the_room():
    for case in CASES[:30]:
        for thing in things(case):
            near = [close_eye(thing, "s", orbit, level, 0) for orbit in range(8) for level in range(4)]
            assert any(readable(eye, thing, 0.75) for eye in near), thing.id
        memo = next(thing for thing in things(case) if thing.id == "memo")
        far = [standing_eye(spot, heading, pitch, 0) for spot in "qweasd" for heading in range(8) for pitch in range(4)]
        assert not any(readable(eye, memo) for eye in far if math.dist(eye.position, memo.centre) > 2.5)


def test_projection_agrees_with_the_axes(scene):
    eye = scene.eye
    ahead = tuple(eye.position[i] + 2 * eye.axes[2][i] + 0.1 * eye.axes[0][i] for i in range(3))
    x, y, depth = eye.project(ahead)
    assert depth == pytest.approx(2) and y == pytest.approx(192) and x == pytest.approx(224 + 0.05 * eye.focal)
    behind = tuple(eye.position[i] - eye.axes[2][i] for i in range(3))
    assert eye.project(behind)[2] < 0


def test_dregs_are_seen_only_from_above(scene):
    play_until(scene, lambda game: "vials" in game.seen or game.focus.startswith("seat"))
    scene.seen.remove("cup") if "cup" in scene.seen else None
    scene.elevation = 0
    scene.tick()
    assert "cup" not in scene.seen
    scene.elevation = 3
    scene.tick()
    assert "cup" in scene.seen


def test_nothing_is_noticed_while_the_casebook_is_open(scene):
    play_until(scene, lambda game: "tracks" in game.seen)
    scene.seen = []
    assert do(scene, do="casebook") is None and scene.seen == []
    assert "casebook" in do(scene, do="look", to="left")
    assert do(scene, do="back") is None and scene.seen == ["tracks"]


def test_an_answer_is_final_and_a_wrong_one_costs(scene):
    right = scene.case.right_choice("poison")
    wrong = "ABCD"[("ABCD".index(right) + 1) % 4]
    play_until(scene, lambda game: len(game.seen) == len(CLUES))
    before = scene.score()
    assert before == pytest.approx(20)
    assert do(scene, do="answer", question="poison", choice=wrong) is None
    assert scene.score() == pytest.approx(before - 40 / 6)
    assert "for good" in do(scene, do="answer", question="poison", choice=right)
    assert scene.answers == {"poison": wrong}
    play_until(scene, lambda game: game.over)
    assert not scene.won and scene.score() == pytest.approx(20 + 5 * 80 / 6 - 40 / 6)


def test_impossible_moves_are_refused_and_cost_a_turn(scene):
    assert "stand on this spot" in do(scene, do="walk", spot="s")
    assert "nothing to step back" in do(scene, do="back")
    assert "no such mark" in do(scene, do="inspect", mark=9)
    assert "zoom" in do(scene, do="zoom", to="out")
    while do(scene, do="look", to="up") is None:
        pass
    assert "further up" in do(scene, do="look", to="up")
    assert scene.turns >= 6


def test_marks_plan_and_form_take_clicks(scene):
    """A click on a mark inspects, one on the plan walks, one on the form answers; one on the floor does nothing."""
    x, y = scene._badges()[0]
    assert scene.on_input(InputEvent("button_down", button="left", x=x, y=y)) is None and scene.focus
    scene.on_input(InputEvent("button_down", button="left", x=506, y=72))
    assert scene.spot == "q" and not scene.focus
    gesture = scene.gestures({"do": "answer", "question": "time", "choice": "C"})[0]
    scene.on_input(InputEvent("button_down", button="left", x=gesture["x"], y=gesture["y"]))
    assert scene.answers == {"time": "C"}
    before = scene.state()
    scene.on_input(InputEvent("button_down", button="left", x=100, y=380))
    scene.on_input(InputEvent("button_down", button="right", x=gesture["x"], y=gesture["y"]))
    assert scene.state() == before


def test_left_and_right_hands_are_mirrored_and_soles_differ():
    left, right = (np.asarray(hand_print(hand, (200, 200, 200))) for hand in ("left", "right"))
    assert np.array_equal(left, right[:, ::-1]) and not np.array_equal(left, right)
    dark = right[120:150].sum(axis=(0, 2))
    assert dark[:60].sum() < dark[-60:].sum(), "the thumb of a right hand is on the left"
    masks = {sole_mask(pattern, 80, left=True).tobytes() for pattern in ("bars", "dots", "arrows", "plain")}
    assert len(masks) == 4


@pytest.mark.gl
def test_what_the_form_asks_can_be_seen(scene):
    """The dregs have the colour of the right bottle, and no other cup has that colour."""
    shares = []
    for seat in (scene.case.seats.index(guest) for guest in range(4)):
        scene.focus, scene.orbit, scene.elevation, scene.zoom = f"seat-{seat}", 0, 3, 1
        frame = scene.draw()[12:396, 12:460].astype(float)
        tint = np.array(TINT_COLOURS[scene.case.tints[scene.case.poison]], dtype=float)
        # Directions in colour space, so that the lamp's brightness does not matter.
        cosine = (frame @ tint) / (np.linalg.norm(frame, axis=2) * np.linalg.norm(tint) + 1e-9)
        shares.append(float((cosine > 0.995).mean()))
    victim = scene.case.victim
    assert shares[victim] > 0.005 and all(shares[guest] < shares[victim] / 3 for guest in range(4) if guest != victim)


@pytest.mark.gl
def test_the_order_of_the_pile_can_be_seen(scene):
    """The same room with another order on the floor looks different, in the pile alone."""
    fields = scene.case.as_json()
    pictures = []
    for order in (list(LAYERS), list(LAYERS[::-1])):
        scene.load({**scene.state(), "case": {**fields, "order": order}, "focus": "pile", "elevation": 3})
        pictures.append(scene.draw()[12:396, 12:460].astype(int))
    changed = np.abs(pictures[0] - pictures[1]).max(axis=2) > 30
    assert 0.01 < changed.mean() < 0.3
