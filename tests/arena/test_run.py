"""Runs on real games and a real database: results, retries, idempotence, resumption, failures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import delete, update

import environments
from arena import plan, run
from arena.calibration import calibration
from arena.compare import facts
from arena.experiment import parse
from arena.identity import identity
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.outcomes import Outcome
from arena.plan import Plan
from arena.trial import TrialRunner
from arena.workers import Progress
from environments.errors import DisplayError
from storage.models import Episode, RunEpisode, Step
from storage.store import Store
from tests.arena.conftest import SMALL


class Counting:
    """An observer that counts."""

    def __init__(self) -> None:
        self.done = -1
        self.played: list[str] = []

    def planned(self, plan: Plan, *, done: int) -> None:
        self.done = done

    def checking(self, task_id: str, number: int, of: int) -> None:
        """Not in games."""

    def finished(self, progress: Progress) -> None:
        assert not progress.error, progress.error
        self.played += [episode for episode, _, _ in progress.episodes]


@pytest.fixture
def small(store: Store, place: Location) -> str:
    return run.run(parse(SMALL), store, place, workers=0)


def test_the_first_attempt_of_a_retry_is_the_single_episode(store: Store, small: str) -> None:
    links = [link for link in store.plan(small) if link.round == 0 and link.condition != "tutorial"]
    by_condition = {
        condition: {link.identity for link in links if link.condition == condition}
        for condition in ("single", "reflect-and-retry")
    }
    assert by_condition["single"] == by_condition["reflect-and-retry"]
    assert len(by_condition["single"]) == 6


def test_identities_from_the_plan_and_from_the_rows_are_the_same(store: Store, small: str) -> None:
    planned = {trial.first.identity for trial in plan.build(parse(SMALL)).trials}
    episodes = store.episodes(run_id=small)
    assert planned <= {episode.identity for episode in episodes}
    for episode in episodes:
        assert identity(json.loads(json.dumps(episode.spec))) == episode.identity


def test_a_failed_attempt_is_retried_with_a_lesson_and_the_lesson_names_its_sources(store: Store, small: str) -> None:
    retries = [episode for episode in store.episodes(run_id=small) if episode.round == 1]
    assert retries
    for episode in retries:
        assert episode.parent_id is not None
        parent = store.episode(episode.parent_id)
        assert parent.success is False and parent.seed == episode.seed
        [lesson] = store.lessons(parent.id)
        assert lesson.id == episode.lesson_id and lesson.text
        assert lesson.tutorial_id is not None
        tutorial = store.episode(lesson.tutorial_id)
        assert tutorial.agent == "scripted" and tutorial.seed == environments.get(tutorial.task_id).tutorial_seed
        assert parent.video and tutorial.video


def test_the_leaderboard_orders_the_instruments_and_measures_the_known_gain(store: Store, small: str) -> None:
    board = leaderboard(store, small)
    single = {row.agent: row for row in board.rows if row.condition == "single"}
    scores = {agent: row.score.estimate for agent, row in single.items() if row.score}
    assert scores["scripted"] > scores["calibrated"] > scores["random"]
    assert all(row.instrument for agent, row in single.items() if agent != "random")
    assert board.planned == board.done == 12
    overall = next(item for item in calibration(store, small) if item.place == "in all")
    assert overall.known == 0.5
    assert overall.measured.estimate > 0.3
    assert json.dumps(board.to_json())


def test_a_second_run_repeats_nothing(store: Store, place: Location, small: str) -> None:
    before, observer = facts(store, small), Counting()
    assert run.run(parse(SMALL), store, place, workers=0, observer=observer) == small
    assert observer.played == [] and observer.done == 7
    assert facts(store, small) == before
    assert store.run(small).status == "finished"


@pytest.mark.parametrize("kept", [0, 1, 13])
def test_an_episode_cut_off_after_any_step_goes_on_to_the_same_end(
    store: Store, place: Location, small: str, kept: int
) -> None:
    before = facts(store, small)
    victim = max((e for e in store.episodes(run_id=small) if e.agent == "calibrated"), key=lambda e: e.n_steps)
    assert victim.n_steps > 13
    with store.session() as session:
        session.execute(delete(Step).where(Step.episode_id == victim.id, Step.index >= kept))
        for table in ("verdict", "milestone_truth"):
            condition = f"episode_id = '{victim.id}'" + (
                f" AND step_index >= {kept}" if table == "milestone_truth" else ""
            )
            session.connection().exec_driver_sql(f"DELETE FROM {table} WHERE {condition}")
        session.execute(
            update(Episode)
            .where(Episode.id == victim.id)
            .values(
                status="running",
                outcome=None,
                scored=None,
                score=None,
                success=None,
                n_steps=0,
                video=None,
                state_hash=None,
            )
        )
    run.run(parse(SMALL), store, place, workers=0)
    assert facts(store, small) == before


def test_a_record_that_does_not_replay_is_tried_afresh_and_kept(store: Store, place: Location, small: str) -> None:
    victim = next(e for e in store.episodes(run_id=small) if e.agent == "scripted" and e.seed == 0)
    with store.session() as session:
        session.execute(update(Step).where(Step.episode_id == victim.id, Step.index == 2).values(score=77.0))
        session.execute(update(Episode).where(Episode.id == victim.id).values(status="running", outcome=None))
    run.run(parse(SMALL), store, place, workers=0)
    tries = [e for e in store.episodes(run_id=small) if e.identity == victim.identity]
    assert sorted((e.try_no, e.outcome) for e in tries) == [(0, "infrastructure_error"), (1, "won")]
    assert "NotReproduced" in next(e for e in tries if e.try_no == 0).outcome_detail


def test_a_missing_last_link_is_mended(store: Store, place: Location, small: str) -> None:
    before = facts(store, small)
    with store.session() as session:
        session.execute(delete(RunEpisode).where(RunEpisode.round == 1))
    run.run(parse(SMALL), store, place, workers=0)
    assert facts(store, small) == before


def test_workers_give_the_same_results_as_one_process(store: Store, small: str, tmp_path: Any) -> None:
    elsewhere = Location.of(str(tmp_path / "elsewhere" / "arena.db"))
    with elsewhere.open() as other:
        assert run.run(parse(SMALL), other, elsewhere, workers=2) == small
        assert facts(other, small) == facts(store, small)


def test_a_machine_that_fails_is_tried_again_and_never_scored(store: Store, place: Location, monkeypatch: Any) -> None:
    text = (
        SMALL.replace("  - random\n", "")
        .replace("  - {name: calibrated, p: 0.5, gain: 0.5}\n", "")
        .replace("seeds: 2", "seeds: 1")
    )
    original, failures = TrialRunner._environment, iter([True, False, False])

    def sometimes(self: TrialRunner, attempt: Any) -> Any:
        if next(failures, False):
            raise DisplayError("the display died")
        return original(self, attempt)

    monkeypatch.setattr(TrialRunner, "_environment", sometimes)
    run_id = run.run(parse(text), store, place, workers=0)
    first = sorted(store.episodes(run_id=run_id), key=lambda e: (e.outcome != Outcome.INFRASTRUCTURE_ERROR, e.try_no))[
        0
    ]
    assert first.scored is False and first.score is None and "the display died" in first.outcome_detail
    [row] = [row for row in leaderboard(store, run_id).rows if row.condition == "single"]
    assert row.scored == 1


def test_a_changed_player_version_makes_a_new_run_that_reuses_the_rest(
    store: Store, place: Location, small: str, monkeypatch: Any
) -> None:
    from agents.scripted import RandomAgent

    monkeypatch.setattr(RandomAgent, "fingerprint", lambda self: {"agent": "random", "version": 99, "options": {}})
    observer = Counting()
    assert run.run(parse(SMALL), store, place, workers=0, observer=observer) != small
    played = {store.episode(episode).agent for episode in observer.played}
    assert played == {"random"}
