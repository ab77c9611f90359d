"""What a run's table says beyond its rows: references, rows over tasks, comparisons, ranks, what was left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

import environments
from arena.conditions import HELD_OUT
from arena.identity import digest
from arena.leaderboard import Comparison, Leaderboard, leaderboard
from arena.statistics import holm, mean_interval, sign_flip_test, stratified_mean
from environments.task import VLM_JUDGED
from storage.models import Episode, Run, RunEpisode, Verdict
from storage.store import Store

RUN = "written-0000000000"


class Book:
    """Writes episodes of a run straight into the store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        store.add(Run(id=RUN, name="written", experiment={}, status="finished"))

    def episode(self, *parts: object, score: float = 0.0, try_no: int = 0, **more: Any) -> str:
        """One episode; the first parts are task, space, agent, seed and round. Returns its identity."""
        task, space, agent, seed, round_ = parts[:5]
        identity = f"e1-{digest(list(map(str, parts)))[:24]}"
        spec = {"agent": {"agent": agent}, "fault": None, "supervision": None, "retry": None, "repetition": 0}
        facts = {"status": "finished", "outcome": "horizon", "scored": True, "success": score == 100.0} | more
        self.store.add(
            Episode(
                id=f"{identity}-{try_no}",
                identity=identity,
                try_no=try_no,
                spec=spec | facts.pop("spec", {}),
                task_id=str(task),
                space=str(space),
                agent=str(agent),
                seed=int(str(seed)),
                round=int(str(round_)),
                score=score,
                summary={},
                **facts,
            )
        )
        return identity

    def link(self, identity: str, condition: str, trial: str, *parts: object, final: bool) -> None:
        task, space, agent, seed, round_ = parts[:5]
        self.store.add(
            RunEpisode(
                run_id=RUN,
                condition=condition,
                identity=identity,
                task_id=str(task),
                space=str(space),
                agent=str(agent),
                seed=int(str(seed)),
                trial=trial,
                round=int(str(round_)),
                final=final,
            )
        )

    def trials(
        self,
        task: str,
        agent: str,
        first: Sequence[float],
        space: str = "semantic",
        single: bool = True,
        **retries: Sequence[float],
    ) -> None:
        """A trial a score: the first attempts, and what each condition made of them (None: won at once)."""
        for seed, score in enumerate(first):
            trial = self.episode(task, space, agent, seed, 0, score=score)
            if single:
                self.link(trial, "single", trial, task, space, agent, seed, 0, final=True)
            for condition, scores in retries.items():
                label = condition.replace("_", "-")
                self.link(trial, label, trial, task, space, agent, seed, 0, final=score == 100.0)
                if score != 100.0:
                    again = self.episode(task, space, agent, seed, 1, label, score=scores[seed])
                    self.link(again, label, trial, task, space, agent, seed, 1, final=True)

    def board(self) -> Leaderboard:
        return leaderboard(self.store, RUN)


@pytest.fixture
def book(store: Store) -> Book:
    return Book(store)


FIRST = [10.0, 20.0, 30.0, 40.0, 100.0]
PLAIN = [15.0, 20.0, 35.0, 38.0, 0.0]
VIDEO = [40.0, 55.0, 60.0, 90.0, 0.0]


def only(board: Leaderboard, **wanted: str) -> Comparison:
    [found] = [c for c in board.comparisons if all(getattr(c, key) == value for key, value in wanted.items())]
    return found


# -- comparisons -------------------------------------------------------------------------------------------------------


def test_a_condition_is_compared_with_its_first_attempts_and_with_the_references(book: Book) -> None:
    book.trials("games/maze-v1", "a", FIRST, plain_retry=PLAIN, failure_video=VIDEO, placebo=PLAIN)
    board = book.board()
    made = [(c.condition, c.reference) for c in board.comparisons if c.task]
    assert made == [
        ("failure-video", "first attempt"), ("failure-video", "plain-retry"), ("failure-video", "placebo"),
        ("placebo", "first attempt"), ("placebo", "plain-retry"),
        ("plain-retry", "first attempt"),
    ]  # fmt: skip
    found = only(board, task="games/maze-v1", condition="failure-video", reference="plain-retry")
    changes = [25.0, 35.0, 25.0, 52.0, 0.0]  # the last was won at once, under either
    assert found.difference.estimate == pytest.approx(27.4)
    assert found.p == sign_flip_test([changes]) == 2 / 16
    assert (found.pairs, found.tasks) == (5, 1)
    assert found.improvement.estimate == pytest.approx(0.9)
    assert only(board, task="games/maze-v1", condition="placebo", reference="plain-retry").difference.estimate == 0.0


def test_p_is_corrected_among_an_agents_comparisons_of_a_level(book: Book) -> None:
    for task in ("games/maze-v1", "games/snake-v1"):
        book.trials(task, "a", FIRST, plain_retry=PLAIN, failure_video=VIDEO)
        book.trials(task, "b", [0.0] * 5, plain_retry=[0.0] * 5, failure_video=VIDEO)
    board = book.board()
    for agent in "ab":
        own = [c for c in board.comparisons if c.agent == agent]
        for family in ([c for c in own if c.task], [c for c in own if not c.task]):
            assert [c.p_corrected for c in family] == holm([c.p for c in family])
        assert (len([c for c in own if c.task]), len(own)) == (6, 9)
    assert board.correction == "Holm"


def test_a_task_that_was_won_at_once_counts_as_no_gain(book: Book) -> None:
    """Left out, the mean over tasks would be that of the tasks where there was something to gain."""
    book.trials("games/maze-v1", "a", FIRST, plain_retry=PLAIN, failure_video=VIDEO)
    book.trials("games/snake-v1", "a", [100.0] * 5, plain_retry=[0.0] * 5, failure_video=[0.0] * 5)
    board = book.board()
    over = only(board, task="", condition="failure-video", reference="plain-retry")
    assert (over.tasks, over.pairs, over.difference.estimate) == (2, 10, pytest.approx(27.4 / 2))
    [row] = [row for row in board.rows if row.task == "games/snake-v1" and row.condition == "failure-video"]
    assert row.gain is None, "nothing was retried"


def test_over_tasks_every_task_weighs_alike_and_more_pairs_decide(book: Book) -> None:
    """Ten pairs decide what five cannot: the least p of five is 0.06, and here 0.004, times three for Holm."""
    for task in ("games/maze-v1", "games/snake-v1"):
        book.trials(task, "a", FIRST, plain_retry=PLAIN, failure_video=VIDEO)
    board = book.board()
    over = only(board, task="", condition="failure-video", reference="plain-retry")
    changes = [25.0, 35.0, 25.0, 52.0, 0.0]
    assert (over.tasks, over.pairs, over.verdict) == (2, 10, "better")
    assert over.p == sign_flip_test([changes, changes]) == 2 / 2**8
    single = only(board, task="games/maze-v1", condition="failure-video", reference="plain-retry")
    assert single.verdict == "" and single.p > 0.05
    assert only(board, task="", condition="plain-retry").verdict == ""


def test_successes_are_compared_by_mcnemar(book: Book) -> None:
    won = [100.0] * 4 + [0.0]
    book.trials("games/maze-v1", "a", [0.0] * 5, plain_retry=[0.0, 0.0, 0.0, 0.0, 100.0], failure_video=won)
    found = only(book.board(), task="", condition="failure-video", reference="plain-retry").success
    assert (found.lost, found.gained, found.p) == (1, 4, 0.375)


def test_what_was_not_measured_is_in_no_pair(book: Book) -> None:
    book.trials("games/maze-v1", "a", FIRST[:4], plain_retry=PLAIN)
    trial = book.episode("games/maze-v1", "semantic", "a", 9, 0, score=10.0)
    again = book.episode("games/maze-v1", "semantic", "a", 9, 1, score=90.0, scored=False, outcome="unparsable")
    book.link(trial, "plain-retry", trial, "games/maze-v1", "semantic", "a", 9, 0, final=False)
    book.link(again, "plain-retry", trial, "games/maze-v1", "semantic", "a", 9, 1, final=True)
    board = book.board()
    assert only(board, task="", condition="plain-retry").pairs == 4
    [row] = [row for row in board.rows if row.condition == "plain-retry"]
    assert (row.planned, row.scored, row.excluded) == (5, 4, 1)
    assert row.gain is not None and row.gain.n == 4


def test_held_out_seeds_are_compared_apart_and_count_by_their_lesson(book: Book) -> None:
    """Two held-out seeds of one lesson are one unit: what they share is the lesson."""
    task, label = "games/maze-v1", "failure-video" + HELD_OUT
    for lesson in range(4):
        for place in range(2):
            seed = 100 + 10 * lesson + place
            parts = (task, "semantic", "a", seed)
            before = book.episode(*parts, 0, score=20.0)
            spec = {"retry": {"learned_on": lesson}}
            after = book.episode(*parts, 1, score=30.0 + 10 * lesson, spec=spec)
            book.link(before, label, before, *parts, 0, final=False)
            book.link(after, label, before, *parts, 1, final=True)
    book.trials(task, "a", FIRST, plain_retry=PLAIN)
    board = book.board()
    found = only(board, task="", condition=label)
    assert (found.reference, found.pairs, found.difference.estimate) == ("first attempt", 4, 25.0)
    [row] = [row for row in board.rows if row.condition == label]
    assert row.score is not None and (row.scored, row.score.n) == (8, 4)


def test_a_run_without_retries_has_no_comparisons(book: Book) -> None:
    book.trials("games/maze-v1", "a", FIRST)
    assert book.board().comparisons == []


# -- scale, ranks, rows over tasks -------------------------------------------------------------------------------------


def test_scores_are_normalised_between_random_and_expert(book: Book) -> None:
    book.trials("games/maze-v1", "random", [0.0, 10.0, 20.0])
    book.trials("games/maze-v1", "scripted", [80.0, 90.0, 100.0])
    book.trials("games/maze-v1", "a", [30.0, 50.0, 70.0])
    rows = {row.agent: row for row in book.board().rows}
    assert {name: row.normalised and round(row.normalised.estimate, 9) for name, row in rows.items()} == {
        "random": 0.0, "a": 0.5, "scripted": 1.0,
    }  # fmt: skip
    normalised, score = rows["a"].normalised, rows["a"].score
    assert normalised is not None and score is not None
    assert normalised.low == pytest.approx((score.low - 10) / 80)
    assert (rows["random"].extreme, rows["a"].extreme, rows["scripted"].extreme) == ("floor", "", "ceiling")


def test_retries_of_the_random_player_are_not_the_floor(book: Book) -> None:
    book.trials("games/maze-v1", "random", [0.0] * 3, plain_retry=[50.0] * 3)
    book.trials("games/maze-v1", "scripted", [80.0] * 3)
    rows = {(row.agent, row.condition): row for row in book.board().rows}
    found = rows["random", "plain-retry"].normalised
    assert found is not None and found.estimate == pytest.approx(50 / 80)


def test_without_both_references_nothing_is_normalised_and_ends_are_those_of_the_score(book: Book) -> None:
    book.trials("games/maze-v1", "random", [0.0, 3.0, 5.0])
    book.trials("games/maze-v1", "a", [96.0, 97.0, 98.0])
    rows = {row.agent: row for row in book.board().rows}
    assert rows["a"].normalised is rows["random"].normalised is None
    assert (rows["random"].extreme, rows["a"].extreme) == ("floor", "ceiling")


def test_overlapping_agents_share_their_ranks(book: Book) -> None:
    book.trials("games/maze-v1", "best", [90.0, 91.0, 92.0, 93.0, 94.0])
    book.trials("games/maze-v1", "one", [40.0, 50.0, 60.0, 45.0, 55.0])
    book.trials("games/maze-v1", "other", [42.0, 52.0, 62.0, 47.0, 57.0])
    assert {row.agent: row.rank for row in book.board().rows} == {"best": (1, 1), "one": (2, 3), "other": (2, 3)}


def test_rows_over_tasks_weigh_tasks_alike(book: Book) -> None:
    maze, snake = [30.0, 50.0, 70.0, 20.0, 40.0], [5.0, 0.0, 10.0, 20.0, 0.0]
    book.trials("games/maze-v1", "a", maze)
    book.trials("games/snake-v1", "a", snake)
    book.trials("games/maze-v1", "b", maze)
    rows = {row.agent: row for row in book.board().aggregates}
    assert rows["a"].score == stratified_mean([maze, snake])
    assert (rows["a"].tasks, rows["a"].of_tasks, rows["a"].n, rows["a"].iqm_normalised) == (2, 2, 10, False)
    assert rows["a"].iqm.estimate == pytest.approx(sum(sorted(maze + snake)[2:8]) / 6)
    assert rows["b"].score == mean_interval(maze)
    assert rows["a"].rank == rows["b"].rank == (1, 1), "who played other tasks is not in the same ranking"


def test_normalised_rows_over_tasks_are_means_of_normalised_scores(book: Book) -> None:
    for task, scores in (("games/maze-v1", [30.0, 50.0, 70.0]), ("games/snake-v1", [10.0, 20.0, 0.0])):
        book.trials(task, "random", [0.0, 10.0, 20.0])
        book.trials(task, "scripted", [80.0, 90.0, 100.0])
        book.trials(task, "a", scores)
    [row] = [row for row in book.board().aggregates if row.agent == "a"]
    assert row.normalised is not None and row.iqm_normalised
    assert row.normalised.estimate == pytest.approx(((50 - 10) / 80 + (10 - 10) / 80) / 2)
    assert row.normalised.low < row.normalised.estimate < row.normalised.high


def test_strengths_follow_the_duels_or_tell_why_not(book: Book) -> None:
    book.trials("games/maze-v1", "a", [10.0, 20.0, 30.0, 40.0])
    book.trials("games/maze-v1", "b", [20.0, 10.0, 20.0, 40.0])
    book.trials("games/snake-v1", "a", [10.0, 20.0], space="gui")
    book.trials("games/snake-v1", "b", [0.0, 0.0], space="gui")
    gui, semantic = sorted(book.board().strengths, key=lambda made: made.space)
    assert "no wins both ways between a | b" in gui.strengths.reason or "b | a" in gui.strengths.reason
    assert semantic.strengths.duels == 4 and semantic.strengths.players["a"].estimate > 0


# -- what was left out, and JSON ---------------------------------------------------------------------------------------


def test_tries_and_failures_are_counted_beside_the_scores(book: Book) -> None:
    parts = ("games/maze-v1", "semantic", "a", 0, 0)
    failed = {"scored": False, "score": 0.0}
    identity = book.episode(*parts, try_no=0, outcome="provider_error", **failed)
    book.episode(*parts, try_no=1, outcome="infrastructure_error", **failed)
    book.episode(*parts, try_no=2, score=60.0)
    book.link(identity, "single", identity, *parts, final=True)
    other = ("games/maze-v1", "semantic", "a", 1, 0)
    lost = book.episode(*other, outcome="provider_error", **failed)
    book.link(lost, "single", lost, *other, final=True)
    [row] = book.board().rows
    assert (row.retries, row.excluded, row.scored, row.done) == (2, 1, 1, 1)
    assert row.failures == {"infrastructure_error": 1, "provider_error": 2}
    assert row.score is not None and row.score.why == "one seed"


def test_json_has_everything_without_nan(book: Book) -> None:
    book.trials("games/maze-v1", "random", [0.0, 0.0])
    book.trials("games/maze-v1", "a", FIRST, plain_retry=PLAIN)
    told = json.loads(json.dumps(book.board().to_json(), allow_nan=False))
    assert {"rows", "aggregates", "comparisons", "strengths", "correction"} <= told.keys()
    assert told["comparisons"][0].keys() >= {"difference", "p", "p_corrected", "verdict", "effect", "success"}
    row = next(row for row in told["rows"] if row["agent"] == "random")
    assert row["score"] == {"estimate": 0.0, "low": None, "high": None, "n": 2, "why": "two seeds"}
    assert told == json.loads(json.dumps(book.board().to_json())), "the same rows give the same digits"


def test_a_judge_that_was_asked_repeatedly_scores_by_its_majority(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """One milestone is held reached by two answers of three, the others by one of three."""
    monkeypatch.setattr("arena.leaderboard.cell._tags", lambda task_id: (VLM_JUDGED,))
    parts = ("desktop/pingus-v1", "gui", "a", 0, 0)
    identity = book.episode(*parts)
    book.link(identity, "single", identity, *parts, final=True)
    names = [milestone.id for milestone in environments.get("desktop/pingus-v1").milestones]
    for milestone, answers in zip(names, ("rrn", *["rnn"] * (len(names) - 1)), strict=True):
        book.store.add(
            *(
                Verdict(
                    id=f"{milestone}-{repeat}",
                    episode_id=f"{identity}-0",
                    milestone_id=milestone,
                    judge="some model",
                    fingerprint="f",
                    repeat=repeat,
                    verdict="reached" if answer == "r" else "not_reached",
                )
                for repeat, answer in enumerate(answers)
            )
        )
    [row] = book.board().rows
    assert row.score is not None and (row.score.estimate, row.judge) == (pytest.approx(100 / len(names)), "some model")
