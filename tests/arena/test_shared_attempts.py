"""Runs that share attempts and are played at the same time: nothing fails and nothing is played twice."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from arena import plan, run
from arena.experiment import parse
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.trial import TrialRunner
from arena.workers import Progress
from environments.errors import DisplayError
from storage.locks import Busy
from storage.store import Store
from tests.arena.conftest import SMALL


def named(name: str) -> str:
    return SMALL.replace("name: small", f"name: {name}").replace("max_steps: 40", "max_steps: 15")


class Keeping:
    """An observer that keeps what it is told, once everybody has come as far as the plan."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self.barrier = barrier
        self.played: list[str] = []
        self.errors: list[str] = []

    def planned(self, plan: plan.Plan, *, done: int) -> None:
        assert done == 0
        self.barrier.wait(60)

    def checking(self, task_id: str, number: int, of: int) -> None:
        """Not in games."""

    def finished(self, progress: Progress) -> None:
        self.played += [episode for episode, _, _ in progress.episodes]
        self.errors += [progress.error] if progress.error else []


def _play(name: str, place: Location, observer: Keeping, workers: int) -> str:
    with place.open() as mine:
        return run.run(parse(named(name)), mine, place, workers=workers, observer=observer)


@pytest.mark.parametrize("workers", [0, 1], ids=["threads", "processes"])
def test_two_runs_at_once_share_every_attempt_and_play_each_once(store: Store, place: Location, workers: int) -> None:
    barrier = threading.Barrier(2)
    observers = {name: Keeping(barrier) for name in ("one", "other")}
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(_play, name, place, observer, workers) for name, observer in observers.items()]
        ids = [started.result(120) for started in runs]
    assert [error for observer in observers.values() for error in observer.errors] == []
    times = Counter(episode for observer in observers.values() for episode in observer.played)
    assert set(times.values()) == {1}
    assert ids[0] != ids[1]
    for run_id in ids:
        episodes = store.episodes(run_id=run_id)
        assert {episode.id for episode in episodes} == set(times)
        assert all(episode.try_no == 0 and episode.status == "finished" for episode in episodes)
        assert all(len(store.lessons(episode.id)) <= 1 for episode in episodes)
        assert store.run(run_id).status == "finished"
    assert [row.score for row in leaderboard(store, ids[0]).rows] == [
        row.score for row in leaderboard(store, ids[1]).rows
    ]


def test_finished_work_takes_no_lock_and_no_lock_leaves_a_file(
    store: Store, place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    _play("one", place, Keeping(threading.Barrier(1)), 0)
    assert [path.name for path in Path(f"{place.database}.locks").iterdir() if "episode" in path.name] == []
    trial = plan.build(parse(named("one"))).trials[0]
    monkeypatch.setattr(Store, "episode_lock", lambda *_: pytest.fail("took a lock"))
    assert TrialRunner(store, plan.build(parse(named("one"))), place.scratch).attempt(trial.first, trial.judges).scored


def test_an_episode_lock_is_waited_for_and_then_free(store: Store, place: Location) -> None:
    with place.open() as other:
        with store.episode_lock("a"):
            with pytest.raises(Busy, match="episode-a"), other.episode_lock("a", timeout_s=0.1):
                pass
            with other.episode_lock("b", timeout_s=0):
                pass
        with other.episode_lock("a", timeout_s=0):
            pass


def test_without_the_experts_episode_there_is_no_retry_until_the_next_start(
    store: Store, place: Location, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The retry's identity names the expert: it must not be played on a lesson that did not see the expert."""
    make = TrialRunner._environment
    tutorials = {attempt.identity for attempt in plan.build(parse(named("one"))).tutorials.values()}

    def broken(self: TrialRunner, attempt: Any) -> Any:
        if attempt.identity in tutorials:
            raise DisplayError("no display")
        return make(self, attempt)

    monkeypatch.setattr(TrialRunner, "_environment", broken)
    run_id = _play("one", place, Keeping(threading.Barrier(1)), 0)
    assert "the expert's episode" in caplog.text
    assert store.run(run_id).status == "interrupted"
    episodes = store.episodes(run_id=run_id)
    assert episodes and all(episode.round == 0 and not store.lessons(episode.id) for episode in episodes)

    monkeypatch.setattr(TrialRunner, "_environment", make)
    with place.open() as mine:
        assert run.run(parse(named("one")), mine, place, workers=0) == run_id
    assert store.run(run_id).status == "finished"
    assert any(episode.round == 1 for episode in store.episodes(run_id=run_id))
