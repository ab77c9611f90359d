"""The questions of a probing: balanced, the same for the same seed, and true by other means than their own."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import environments
from arena import probing, run
from arena.experiment import parse
from arena.location import Location
from arena.probing import FORMS, Question, Recording, Spot
from arena.probing.chronology import FIRST, FORWARD
from arena.probing.pictures import Mark, Shape, drawn
from arena.probing.planning import ALLOWED
from arena.probing.recording import differ
from arena.probing.sets import balanced
from environments.drawing import BLUE, DEEP_TEAL, GOLD, RED
from storage.models import Episode
from storage.store import Store

TASKS = ("games/maze-v1", "games/snake-v1", "games/minesweeper-v1")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[Episode]]]:
    place = Location.of(str(tmp_path_factory.mktemp("questions") / "arena.db"), None)
    with place.open() as store:
        found = probing.of_tasks(store, place, [environments.get(task) for task in TASKS])
        yield store, [episode for episode in found if episode.seed == 0]


@pytest.fixture(scope="module")
def recordings(played: Any) -> list[Recording]:
    store, episodes = played
    return [Recording(store, episode, 0) for episode in episodes]


@pytest.fixture(scope="module")
def made(recordings: list[Recording]) -> list[Question]:
    return probing.questions(recordings, per_kind=48, seed=0)


def of(made: list[Question], form: str) -> list[Question]:
    found = [question for question in made if question.form == form]
    assert found, form
    return found


def rows_at(recording: Recording, frame: int) -> Any:
    """The row before which the player saw a frame."""
    return next(row for row in recording.rows if row.frame == frame)


# the set


def test_the_same_recordings_and_seed_give_the_same_questions(played: Any, made: list[Question]) -> None:
    store, episodes = played
    again = probing.questions([Recording(store, e, 0) for e in reversed(episodes)], per_kind=48, seed=0)
    assert again == made and [q.id for q in again] == [q.id for q in made]
    assert len({question.id for question in made}) == len(made)


def test_another_seed_asks_something_else(played: Any, made: list[Question]) -> None:
    store, episodes = played
    other = probing.questions([Recording(store, e, 1) for e in episodes], per_kind=8, seed=1, kinds=["chronology"])
    assert not {question.id for question in other} & {question.id for question in made}


def test_every_form_has_its_share(made: list[Question]) -> None:
    counts = Counter(question.form for question in made)
    assert set(counts) == {form.name for form in FORMS}
    per_kind = Counter(form.kind for form in FORMS)
    for form in FORMS:
        assert 0 < counts[form.name] <= -(-48 // per_kind[form.kind]) + form.ways - 1
    assert counts["which-first"] == counts["reversed"] == 24


@given(st.sampled_from([1, 2, 4]), st.integers(0, 60), st.integers(0, 10**9))
def test_slots_are_used_equally_often_at_every_point(ways: int, count: int, seed: int) -> None:
    slots = balanced(ways, count, np.random.default_rng(seed))
    assert len(slots) == count
    for stop in range(count + 1):
        used = Counter(slots[:stop])
        assert max(used.values(), default=0) - min((used[slot] for slot in range(ways)), default=0) <= 1


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), per_kind=st.integers(1, 40))
def test_the_order_of_time_is_balanced_exactly(recordings: list[Recording], seed: int, per_kind: int) -> None:
    made = probing.questions(recordings, per_kind=per_kind, seed=seed, kinds=["chronology"])
    first, clips = of(made, "which-first"), of(made, "reversed")
    assert 2 * sum(question.truth == FIRST for question in first) == len(first)
    places = Counter((question.truth == FORWARD, question.options.index(FORWARD)) for question in clips)
    assert len(places) == 4 and len(set(places.values())) == 1
    for question in first:
        assert (question.frames[0] < question.frames[1]) == (question.truth == FIRST)
    for question in clips:
        assert list(question.frames) == sorted(question.frames, reverse=question.truth != FORWARD)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_the_right_answer_stands_at_every_place_equally_often(recordings: list[Recording], seed: int) -> None:
    forms = [form for form in FORMS if form.name in ("quadrant", "further-left", "next-milestone")]
    for form in forms:
        for draft in form.drafts(recordings, np.random.default_rng(seed)):
            places = [draft(slot) for slot in range(form.ways)]
            spots = {question.options.index(str(question.truth)) for question in places}
            assert spots == set(range(len(places[0].options)))
            break


def test_a_question_whose_truth_is_no_option_cannot_be_made(made: list[Question]) -> None:
    from dataclasses import replace

    with pytest.raises(ValueError, match="must be one of different options"):
        replace(of(made, "which-first")[0], truth="neither")
    with pytest.raises(ValueError, match="different options"):
        replace(of(made, "which-first")[0], options=(FIRST, FIRST))


def test_less_than_one_question_is_refused(recordings: list[Recording]) -> None:
    with pytest.raises(ValueError, match="per_kind"):
        probing.questions(recordings, per_kind=0, seed=0)


# chronology


def test_no_two_frames_that_look_alike_are_compared(recordings: list[Recording], made: list[Question]) -> None:
    by_id = {recording.episode.id: recording for recording in recordings}
    for question in of(made, "which-first") + of(made, "reversed"):
        frames = [frame[::4, ::4].astype(np.int16) for frame in by_id[question.episode_id].load(question.frames)]
        assert all(differ(a, b) for a, b in combinations(frames, 2))


def test_identical_and_near_identical_pictures_are_told_from_different_ones() -> None:
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 200, (120, 160, 3)).astype(np.int16)
    assert not differ(picture, picture)
    assert not differ(picture, picture + rng.integers(0, 12, picture.shape).astype(np.int16))  # as coding leaves it
    moved = picture.copy()
    moved[10:17, 10:17] += 50  # 49 of 19,200 pixels
    assert differ(picture, moved)


def test_a_still_recording_gives_no_question_about_time(played: Any) -> None:
    store, episodes = played
    still = Recording(store, episodes[0], 0)
    still.glimpses = dict.fromkeys(range(10), np.zeros((120, 160, 3), np.int16))  # a cached property
    assert probing.questions([still], per_kind=4, seed=0, kinds=["chronology"]) == []


# perception


def test_shapes_lie_where_the_answer_says(made: list[Question]) -> None:
    for question in of(made, "quadrant") + of(made, "further-left") + of(made, "position"):
        shapes = {item.name: item for item in question.overlay if isinstance(item, Shape)}
        width, height = question.size
        for a, b in combinations(shapes.values(), 2):
            assert np.hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius
            assert a.figure != b.figure and a.colour != b.colour
        asked = next((name for name in shapes if question.text.endswith(f"{name}?")), "")
        if question.form == "quadrant":
            x, y = shapes[asked].x, shapes[asked].y
            assert question.truth == f"{'upper' if y < height / 2 else 'lower'} {'left' if x < width / 2 else 'right'}"
        elif question.form == "position":
            truth = question.truth
            assert isinstance(truth, Spot) and truth.holds(shapes[asked].x, shapes[asked].y)
            assert question.chance == pytest.approx(np.pi * truth.radius**2 / (width * height), rel=0.05)
        else:
            assert question.truth == min(shapes.values(), key=lambda shape: shape.x).name


def test_what_is_drawn_is_seen_and_the_frame_is_left_alone() -> None:
    frame = np.full((100, 200, 3), 90, np.uint8)
    before = frame.copy()
    seen = drawn(frame, [Shape("circle", "red", 50, 50, 20), Mark((120, 20, 160, 60))])
    assert (frame == before).all() and seen.shape == frame.shape
    assert tuple(seen[50, 50]) == (225, 30, 30) and tuple(seen[19, 140]) == (255, 0, 255)
    assert tuple(seen[40, 140]) == (90, 90, 90)  # what the mark is around is not covered


def test_a_marked_cell_is_one_that_the_engine_tells(recordings: list[Recording], made: list[Question]) -> None:
    by_id = {recording.episode.id: recording for recording in recordings}
    for question in of(made, "cell"):
        moments = {moment.frame: moment for moment in by_id[question.episode_id].moments}
        [mark] = question.overlay
        [cell] = [c for c in moments[question.frames[0]].facts.cells if isinstance(mark, Mark) and c.box == mark.box]
        assert cell.holds == question.truth and 2 <= len(question.options) <= 4


def test_no_constant_answer_is_good_at_states_or_cells(made: list[Question]) -> None:
    truths: dict[str, Counter[Any]] = defaultdict(Counter)
    for question in of(made, "state"):
        truths[question.text][question.truth] += 1
    assert truths
    for answers in truths.values():
        assert len(answers) == 1 or max(answers.values()) - min(answers.values()) <= 1, answers
    per_content = Counter((question.task_id, question.truth) for question in of(made, "cell"))
    assert max(per_content.values()) <= 2


@pytest.fixture
def late(tmp_path: Path) -> Iterator[Recording]:
    """A recording of a world that runs on while its player thinks."""
    place = Location.of(str(tmp_path / "late.db"), None)
    text = (
        "{name: late, tasks: games/snake-v1, spaces: semantic, seeds: 1, agents: scripted, conditions: single,"
        " clock: {kind: latency, ms: 400}, limits: {max_steps: 25}}"
    )
    with place.open() as store:
        [episode] = probing.of_run(store, run.run(parse(text), store, place, workers=0))
        yield Recording(store, episode, 0)


def test_facts_are_those_of_the_very_frame(recordings: list[Recording], late: Recording) -> None:
    """Where the engine has the player, the key and the apple, the recorded frame shows their colours."""
    colours = {"the player": BLUE, "the key": GOLD, "the snake's head": DEEP_TEAL, "the apple": RED}
    looked = Counter[str]()
    assert late.moments
    for recording in (*recordings, late):
        for moment in recording.moments:
            [frame] = recording.load([moment.frame])
            for thing in moment.facts.things:
                if thing.name not in colours:
                    continue
                r = thing.radius // 2 + 2
                part = frame[thing.y - r : thing.y + r, thing.x - r : thing.x + r].astype(int)
                near = np.abs(part - colours[thing.name]).max(axis=-1) < 40  # video coding blurs colours
                assert near.mean() > 0.1, (recording.episode.id, moment.frame, thing)
                looked[thing.name] += 1
    assert set(looked) == set(colours)


# planning


def test_the_next_milestone_is_the_engine_s_and_no_other_could_be(
    recordings: list[Recording], made: list[Question]
) -> None:
    by_id = {recording.episode.id: recording for recording in recordings}
    for question in of(made, "next-milestone"):
        recording = by_id[question.episode_id]
        row = rows_at(recording, question.frames[0])
        known = {milestone.text: milestone for milestone in recording.task.milestones}
        reached = {name for name, step in recording.reached.items() if step < row.index}
        later = sorted((step, name) for name, step in recording.reached.items() if step >= row.index)
        assert later[0][1] == known[str(question.truth)].id
        for text in set(question.options) - {question.truth}:
            other = known[text]
            assert other.id in reached or not set(other.after) <= reached


def test_one_action_alone_is_as_the_question_says(recordings: list[Recording], made: list[Question]) -> None:
    """Each option is tried in a world of its own, played from the start."""
    by_id = {recording.episode.id: recording for recording in recordings}
    for question in of(made, "legal-action")[:6]:
        recording = by_id[question.episode_id]
        row = rows_at(recording, question.frames[0])
        for option in question.options:
            env = environments.make(recording.episode.task_id, recording.episode.space)
            env.reset(seed=recording.episode.seed)
            for before in recording.rows[: row.index]:
                env.step(before.action)
            legal = not env.step(json.loads(option))[4]["illegal"]
            assert legal == ((option == question.truth) == (question.text == ALLOWED))
            env.close()
        assert recording.action_help and recording.action_help in question.about


def test_a_record_that_does_not_replay_gives_no_truth(played: Any) -> None:
    store, episodes = played
    recording = Recording(store, episodes[0], 0)
    for row in recording.rows:  # rows of a session that is over: the database keeps what it has
        row.score += 1.0
    assert len(recording.moments) <= 1  # before the first step nothing has shown it to be wrong
