"""The outline of an episode: lanes, frames, curve and events, as pure functions."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from storage.models import Counterfactual, Diagnosis, Intervention, MilestoneTruth
from ui.forks import comparisons, latest, resumes_at, taken_back
from ui.timeline import (
    EVENT_LIMIT,
    StepRow,
    bands,
    branches,
    curve,
    events,
    frame_map,
    pictures,
    step_of_frame,
)


def rows(count: int, **columns: list[object]) -> list[StepRow]:
    base = [StepRow(i, 0, i, "ok", 0.0, float(i), i) for i in range(count)]
    return [row._replace(**{name: values[i] for name, values in columns.items()}) for i, row in enumerate(base)]


def fork(branch: int, at: int, to: int) -> Intervention:
    return Intervention(
        episode_id="e", branch=branch, diagnosis_id="d", kind="sim", at_step=at, to_step=to, snapshot="s", exact=True
    )


def test_branch_that_never_played_is_still_a_lane() -> None:
    """Killed between the rollback and the next step."""
    lanes = branches(rows(5), [fork(1, at=4, to=2)])
    assert [(lane["branch"], lane["start"], lane["sim_start"], lane["sim_stop"]) for lane in lanes] == [
        (0, 0, 0, 5),
        (1, None, 2, 2),
    ]


def test_no_steps_no_lanes() -> None:
    assert branches([], []) == []
    assert frame_map([]) == []
    assert curve([]) == []
    assert events([], truths=[MilestoneTruth(episode_id="e", milestone_id="m", step_index=-1)])[0]["step"] == 0


@given(st.lists(st.integers(0, 3), max_size=60))
def test_frame_map_gives_back_every_frame(gaps: list[int]) -> None:
    frames, frame = [], 0
    for gap in gaps:
        frame += gap
        frames.append(frame)
    made = rows(len(frames), frame=list(frames))
    runs = frame_map(made)
    for row in made:
        start, first = next(run for run in reversed(runs) if run[0] <= row.step)
        assert first + row.step - start == row.frame


@given(st.lists(st.integers(1, 3), min_size=1, max_size=60), st.data())
def test_step_of_frame_is_the_first_step_that_saw_it_or_a_later_one(gaps: list[int], data: st.DataObject) -> None:
    frames = [sum(gaps[:i]) for i in range(len(gaps))]
    made = rows(len(frames), frame=list(frames))
    asked = data.draw(st.integers(0, frames[-1] + 2))
    expected = next((i for i, frame in enumerate(frames) if frame >= asked), len(frames))
    assert step_of_frame(made, asked) == expected


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=300), st.integers(1, 50))
def test_curve_keeps_extremes_ends_and_rewards(scores: list[float], limit: int) -> None:
    made = rows(len(scores), score=list(scores), reward=list(scores))
    points = curve(made, limit)
    assert len(points) <= limit
    assert min(point["low"] for point in points) == min(scores)
    assert max(point["high"] for point in points) == max(scores)
    assert points[-1]["score"] == scores[-1]
    assert abs(sum(point["reward"] for point in points) - sum(scores)) < 1e-6


def test_refused_steps_of_one_kind_in_a_row_are_one_event() -> None:
    status = ["ok", "illegal", "illegal", "unparsable", "illegal", "ok"]
    found = events(rows(6, status=list(status)))
    assert [(event["kind"], event["step"], event["until"], event["label"]) for event in found] == [
        ("illegal", 1, 2, "illegal ×2"),
        ("unparsable", 3, 3, "unparsable"),
        ("illegal", 4, 4, "illegal"),
    ]


def test_very_many_refused_steps_are_drawn_together_and_none_is_lost() -> None:
    status = ["illegal" if i % 2 else "ok" for i in range(9_000)]
    found = events(rows(9_000, status=list(status)))
    assert len(found) <= EVENT_LIMIT
    assert (found[0]["step"], found[-1]["until"]) == (1, 8_999)


def test_what_a_diagnoser_saw_belongs_to_the_branch_that_ended() -> None:
    made = rows(6, branch=[0, 0, 0, 1, 1, 1], sim_step=[0, 1, 2, 1, 2, 3], frame=[0, 1, 2, 4, 5, 6])
    finding = Diagnosis(
        id="d", episode_id="e", step_index=2, trigger="t", diagnoser="rules", fingerprint="f", verdict="fault"
    )
    trigger, diagnosis, opened = events(made, diagnoses=[finding], interventions=[fork(1, at=2, to=1)])
    assert (trigger["kind"], trigger["label"], trigger["step"], trigger["frame"]) == ("trigger", "t", 2, 3)
    assert (diagnosis["kind"], diagnosis["step"], diagnosis["frame"], diagnosis["branch"], diagnosis["sim"]) == (
        "diagnosis",
        2,
        3,
        0,
        3,
    )
    assert (opened["kind"], opened["step"], opened["frame"], opened["branch"], opened["sim"]) == ("fork", 3, 4, 1, 1)


def test_importing_the_app_does_not_import_gradio() -> None:
    """It takes seconds, and the command line only needs it to serve."""
    code = "import sys, ui.app; sys.exit('gradio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_branches_not_taken_and_taken_begin_at_the_fork() -> None:
    """Also where a second rollback undoes the first: what it undid lies on two branches."""
    made = rows(10, branch=[0, 0, 0, 0, 1, 1, 1, 2, 2, 2], sim_step=[0, 1, 2, 3, 2, 3, 4, 1, 2, 3])
    first, second = comparisons(made, [fork(1, at=3, to=2), fork(2, at=6, to=1)])
    assert (first["left"], first["right"], first["left_branch"]) == ([[2, 4]], [[4, 7]], 0)
    assert (second["left"], second["right"], second["left_branch"]) == ([[1, 2], [4, 7]], [[7, 10]], 1)


def test_rewind_rows_are_one_run_and_left_out_of_the_comparison() -> None:
    made = rows(8, branch=[0, 0, 0, 0, 1, 1, 1, 1])
    back = fork(1, at=3, to=1)
    back.kind = "physical"
    [run] = bands(made, {4: "rewind", 5: "rewind"})
    assert (run["branch"], run["start"], run["stop"], run["sim_start"], run["sim_stop"]) == (1, 4, 6, 4, 6)
    [pair] = comparisons(made, [back], {4, 5})
    assert (pair["left"], pair["right"], pair["rewound"]) == ([[1, 4]], [[6, 8]], 2)


def test_bands_are_told_apart_by_kind_and_end_with_their_branch() -> None:
    made = rows(6, branch=[0, 0, 0, 1, 1, 1])
    found = bands(made, {1: "rewind", 2: "repair", 3: "repair", 5: "repair"})
    assert [(run["kind"], run["branch"], run["start"], run["stop"]) for run in found] == [
        ("rewind", 0, 1, 2),
        ("repair", 0, 2, 3),
        ("repair", 1, 3, 4),
        ("repair", 1, 5, 6),
    ]


def test_a_repair_gives_nothing_up_and_an_undo_gives_up_what_it_takes_back() -> None:
    """Branch 1 is a rollback to step 2 after step 3, branch 2 takes it back; branch 3 repairs on."""
    made = rows(10, branch=[0, 0, 0, 0, 1, 1, 2, 2, 3, 3])
    back, undo, repair = fork(1, at=3, to=2), fork(2, at=5, to=3), fork(3, at=7, to=7)
    undo.kind, repair.kind = "undo", "repair"
    assert [resumes_at(item) for item in (back, undo, repair)] == [2, 4, 8]
    found = comparisons(made, [back, undo, repair])
    assert [(pair["left"], pair["right"]) for pair in found] == [
        ([[2, 4]], [[4, 6]]),
        ([[4, 6]], [[6, 8]]),
        ([], [[8, 10]]),
    ]
    assert taken_back(made, [back, undo, repair]) == {4, 5}
    late = fork(4, at=9, to=1)
    assert comparisons(made, [back, undo, repair, late])[3]["left"] == [[1, 4], [6, 8], [8, 10]], "what led there"


def other(name: str, state: str, video: str | None) -> Counterfactual:
    return Counterfactual(
        id=name, episode_id="e", diagnosis_id="d", at_step=4, from_step=2, suppressed=True, verdict="helped",
        with_it=True, without_it=False, exact=True, prefix_steps=5, outcome="won", score=1.0, n_steps=1,
        state_hash=state, video=video,
    )  # fmt: skip


def test_a_film_is_shown_only_of_what_the_latest_replay_came_to() -> None:
    first, same, differs = other("a", "s", "film"), other("b", "s", None), other("c", "t", None)
    assert latest([first, same])["d"] == (same, first)
    assert latest([first, same, differs])["d"] == (differs, differs)
    [pair] = comparisons(rows(8), [], (), [first])
    assert (pair["key"], pair["branch"], pair["left"], pair["right"]) == ("d", None, [], [[2, 8]])


def test_fork_of_a_branch_that_was_never_played_has_nothing_to_watch() -> None:
    [pair] = comparisons(rows(5), [fork(1, at=4, to=2)])
    assert (pair["left"], pair["right"]) == ([[2, 5]], [])
    assert comparisons([], [fork(1, at=4, to=2)])[0]["left"] == []


def test_pictures_of_a_lesson_come_in_the_order_shown_and_odd_rows_are_left_out() -> None:
    frames = {"order": ["tutorial", "failure", "failure", "x"], "places": [3, 5, 6], "filled": [2]}
    shown = pictures(frames, {"failure": [5, 5], "tutorial": [3]})
    assert [(item["number"], item["video"], item["frame"], item["place"], item["filled"]) for item in shown] == [
        (1, "tutorial", 3, 3, False),
        (2, "failure", 5, 5, False),
        (3, "failure", 5, 6, True),
    ]
    assert pictures({"order": 7}, {}) == pictures({}, {}) == []
