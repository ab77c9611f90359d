"""What a store takes, keeps and gives back, on SQLite and on PostgreSQL."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from storage.column_types import dump_json
from storage.errors import RowExists, StorageError, UnknownRow
from storage.models import (
    Artifact,
    Call,
    Diagnosis,
    Episode,
    Fault,
    Intervention,
    Lesson,
    MilestoneTruth,
    RunEpisode,
    Step,
    Verdict,
)
from storage.store import Store

Rows = Callable[[str], Callable[..., Any]]


@pytest.fixture
def episode(store: Store, rows: Rows) -> Episode:
    return store.begin_episode(rows("episode")())


def plan_row(run_id: str, identity: str, **columns: Any) -> RunEpisode:
    values: dict[str, Any] = {
        "run_id": run_id,
        "condition": "single",
        "identity": identity,
        "task_id": "games/snake-v1",
        "space": "semantic",
        "agent": "scripted",
        "seed": 7,
        "trial": identity,
        "round": 0,
    }
    return RunEpisode(**{**values, **columns})


def make_call(episode_id: str, name: str = "c1", **columns: Any) -> Call:
    values: dict[str, Any] = {
        "id": name,
        "episode_id": episode_id,
        "step_index": 0,
        "purpose": "act",
        "model": "m",
        "request": {"messages": []},
        "status": "ok",
    }
    return Call(**{**values, **columns})


def test_a_step_comes_back_as_it_went_in(store: Store, episode: Episode, rows: Rows) -> None:
    step = rows("step")(
        episode.id, 0, action=["left", 2.5, None], rationale="naïve ✓", notes={"z": 1, "a": {"b": [True]}}, reward=0.1
    )
    call = make_call(episode.id, cost_usd=decimal.Decimal("0.000123457"), reply={"b": 1, "a": 2}, input_tokens=5)
    truth = MilestoneTruth(episode_id=episode.id, milestone_id="first-apple", step_index=0)
    store.append_step(step, calls=[call], truths=[truth])

    (got,) = store.steps(episode.id)
    assert (got.action, got.rationale, got.notes, got.reward) == (step.action, step.rationale, step.notes, 0.1)
    (called,) = store.calls(episode.id, step_index=0)
    assert called.cost_usd == decimal.Decimal("0.000123457")
    assert list(called.reply or {}) == ["b", "a"], "the reply is evidence: its key order is kept"
    assert called.created_at == call.created_at and called.created_at.tzinfo is not None
    assert store.truths(episode.id)[0].milestone_id == "first-apple"
    assert store.calls(episode.id, step_index=1) == []


def test_all_that_belongs_to_a_step_is_appended_or_none_of_it(store: Store, episode: Episode, rows: Rows) -> None:
    store.append_step(rows("step")(episode.id, 0), calls=[make_call(episode.id, "c1")])
    with pytest.raises(RowExists, match="never overwritten"):
        store.append_step(rows("step")(episode.id, 1), calls=[make_call(episode.id, "c1")])
    assert [step.index for step in store.steps(episode.id)] == [0]
    with pytest.raises(RowExists):
        store.append_step(rows("step")(episode.id, 0, reward=99.0))
    assert store.steps(episode.id)[0].reward == 0.0


def test_extra_rows_are_inserted_in_the_order_that_their_keys_need(store: Store, episode: Episode, rows: Rows) -> None:
    diagnosis = Diagnosis(
        id="d1", episode_id=episode.id, step_index=3, trigger="drop", diagnoser="rule", fingerprint="f", verdict="fault"
    )
    intervention = Intervention(
        episode_id=episode.id,
        branch=1,
        diagnosis_id="d1",
        kind="sim",
        at_step=3,
        to_step=1,
        snapshot="0" * 64,
        exact=True,
    )
    fault = Fault(episode_id=episode.id, kind="gripper-opens", fault_class="control", fault_type="C1", onset_step=2)
    store.append_step(rows("step")(episode.id, 0), extra=[intervention, fault, diagnosis])
    assert store.interventions(episode.id)[0].diagnosis_id == store.diagnoses(episode.id)[0].id == "d1"
    assert store.faults(episode.id)[0].onset_step == 2


def test_a_row_of_an_unknown_episode_is_refused(store: Store, rows: Rows) -> None:
    with pytest.raises(StorageError, match=r"(?i)foreign key"):
        store.append_step(rows("step")("nobody-1", 0))


def test_none_in_a_json_column_is_null_in_sql(store: Store, episode: Episode, rows: Rows) -> None:
    store.append_step(rows("step")(episode.id, 0, action=None, status="unparsable"), calls=[make_call(episode.id)])
    with store.read() as session:
        assert session.scalar(text("SELECT count(*) FROM step WHERE action IS NULL")) == 1
        assert session.scalar(text("SELECT count(*) FROM call WHERE reply IS NULL")) == 1
    assert store.steps(episode.id)[0].action is None


def test_hostile_text_is_stored_and_cannot_stop_a_run(store: Store, episode: Episode, rows: Rows) -> None:
    text_ = "a\x00b\ud800c'); DROP TABLE step;--😀"
    step = rows("step")(
        episode.id, 0, rationale=text_, notes={"raw": text_, "nan": float("nan"), "inf": [-float("inf")]}
    )
    store.append_step(step)
    (got,) = store.steps(episode.id)
    assert got.rationale == "a\ufffdb\ufffdc'); DROP TABLE step;--😀"
    assert got.notes == {"raw": text_, "nan": "NaN", "inf": ["-Infinity"]}


@pytest.mark.parametrize("amount", ["1e300", "NaN", "-Infinity", "1e9"])
def test_an_amount_that_no_column_holds_is_refused_by_name(
    store: Store, episode: Episode, rows: Rows, amount: str
) -> None:
    with pytest.raises(ValueError, match="US dollars"):
        store.append_step(rows("step")(episode.id, 0), calls=[make_call(episode.id, cost_usd=decimal.Decimal(amount))])


def test_json_for_people_and_programs_is_ascii_without_nan() -> None:
    value = {"half": "\ud83d", "whole": "😀", "nan": [float("nan")], "when": dt.date(2026, 1, 1)}
    for indent in (None, 2):
        told = dump_json(value, indent=indent, default=str)
        assert told.isascii() and ("\n" in told) is (indent is not None)
        assert json.loads(told) == {"half": "\ud83d", "whole": "😀", "nan": ["NaN"], "when": "2026-01-01"}


def test_what_is_not_json_is_refused_with_its_type(store: Store, episode: Episode, rows: Rows) -> None:
    with pytest.raises(TypeError, match="bytes"):
        store.append_step(rows("step")(episode.id, 0, notes={"image": b"png"}))


def test_a_moment_without_zone_is_refused(store: Store, rows: Rows) -> None:
    with pytest.raises(ValueError, match="time zone"):
        store.add(rows("episode")(created_at=dt.datetime(2026, 1, 1)))


def test_moments_come_back_in_utc(store: Store, rows: Rows) -> None:
    moment = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=5)))
    store.add(rows("episode")(created_at=moment))
    got = store.episode("aaaa").created_at
    assert got == moment and got.utcoffset() == dt.timedelta(0)


def test_steps_are_read_by_window(store: Store, episode: Episode, rows: Rows) -> None:
    store.add(*(rows("step")(episode.id, index) for index in range(20)))
    assert [step.index for step in store.steps(episode.id, 5, 8)] == [5, 6, 7]
    assert [step.index for step in store.steps(episode.id, 18)] == [18, 19]


def test_beginning_an_episode_again_returns_the_row_that_is_there(store: Store, rows: Rows) -> None:
    first = store.begin_episode(rows("episode")())
    store.append_step(rows("step")(first.id, 0))
    again = store.begin_episode(rows("episode")(agent="somebody else"))
    assert (again.agent, again.created_at) == ("scripted", first.created_at)
    assert len(store.steps(first.id)) == 1
    with pytest.raises(RowExists):
        store.begin_episode(rows("episode")(id="other-1"))


def test_a_finished_episode_never_changes(store: Store, episode: Episode) -> None:
    sha256 = store.put_artifact(b"video", "video/mp4")
    store.finish_episode(episode.id, outcome="won", score=100.0, success=True, video=sha256, summary={"illegal": 0})
    got = store.episode(episode.id)
    assert (got.status, got.outcome, got.score, got.video) == ("finished", "won", 100.0, sha256)
    assert got.finished_at is not None and got.finished_at >= got.created_at
    with pytest.raises(RowExists, match="never changes"):
        store.finish_episode(episode.id, score=0.0)
    assert store.episode(episode.id).score == 100.0


def test_the_end_of_an_episode_cannot_rewrite_what_was_played(store: Store, episode: Episode) -> None:
    with pytest.raises(ValueError, match="cannot set 'agent'"):
        store.finish_episode(episode.id, agent="random")
    with pytest.raises(UnknownRow):
        store.finish_episode("nobody-1", score=1.0)
    with pytest.raises(StorageError, match=r"(?i)foreign key"):
        store.finish_episode(episode.id, video="0" * 64)
    assert store.episode(episode.id).status == "running"


def test_beginning_a_run_again_sets_it_running(store: Store, rows: Rows) -> None:
    first = store.begin_run(rows("run")())
    store.finish_run(first.id, "interrupted")
    assert store.run(first.id).finished_at is not None
    again = store.begin_run(rows("run")())
    assert (again.status, again.finished_at, again.created_at) == ("running", None, first.created_at)
    assert [run.id for run in store.runs()] == [first.id]
    with pytest.raises(UnknownRow):
        store.finish_run("nothing", "finished")


def test_plan_rows_are_inserted_then_updated(store: Store, rows: Rows) -> None:
    run = store.begin_run(rows("run")())
    store.link([plan_row(run.id, f"{i:032x}", seed=i) for i in range(1500)])
    store.link([plan_row(run.id, f"{i:032x}", seed=i, final=True) for i in range(2)])
    plan = store.plan(run.id)
    assert len(plan) == 1500
    assert [row.seed for row in plan if row.final] == [0, 1]
    store.link([])


def test_episodes_are_filtered_and_paged(store: Store, rows: Rows) -> None:
    run = store.begin_run(rows("run")())
    for i in range(6):
        store.begin_episode(rows("episode")(f"{i:032x}", agent="random" if i % 2 else "scripted", seed=i))
    store.link([plan_row(run.id, f"{i:032x}", condition="single" if i < 2 else "retry") for i in range(4)])
    assert len(store.episodes()) == 6 == store.count_episodes()
    assert [e.seed for e in store.episodes(run.id)] == [0, 1, 2, 3]
    assert [e.seed for e in store.episodes(run.id, condition="retry", agent="random")] == [3]
    assert [e.seed for e in store.episodes(agent="random", limit=2, offset=1)] == [3, 5]
    assert [e.seed for e in store.episodes(seed=[1, 4])] == [1, 4]
    assert store.count_episodes(outcome=None, agent={"random", "scripted"}) == 6
    with pytest.raises(ValueError, match="did you mean 'agent'"):
        store.episodes(agnt="random")
    with pytest.raises(ValueError, match="limit must not be negative"):
        store.episodes(limit=-1)


def test_the_latest_try_of_each_identity(store: Store, rows: Rows) -> None:
    for identity, tries in (("a" * 32, 3), ("b" * 32, 1)):
        for try_no in range(1, tries + 1):
            store.begin_episode(rows("episode")(identity, try_no))
    latest = store.latest_tries(["a" * 32, "b" * 32, "c" * 32, *(f"{i:032x}" for i in range(1000))])
    assert {identity: episode.try_no for identity, episode in latest.items()} == {"a" * 32: 3, "b" * 32: 1}


def test_an_episode_is_found_by_a_unique_prefix(store: Store, rows: Rows) -> None:
    for identity in ("ab12" + "0" * 28, "ab34" + "0" * 28):
        store.begin_episode(rows("episode")(identity))
    store.begin_episode(rows("episode")("ab34" + "0" * 28, 2))
    assert store.episode("ab1").identity.startswith("ab12")
    assert store.episode("ab34").try_no == 2, "several tries of one identity: the latest"
    with pytest.raises(UnknownRow, match="fits several episodes: ab12"):
        store.episode("ab")
    with pytest.raises(UnknownRow, match="did you mean ab12"):
        store.episode("ab12" + "0" * 27 + "1-1")
    for pattern in ("%", "ab__", ""):
        with pytest.raises(UnknownRow):
            store.episode(pattern)


def test_a_run_is_found_by_prefix_and_an_empty_store_says_so(store: Store, rows: Rows) -> None:
    with pytest.raises(UnknownRow, match="there are no runs yet"):
        store.run("demo")
    store.begin_run(rows("run")())
    assert store.run("demo").id == "demo-0123456789"


def test_verdicts_and_lessons_are_added_never_overwritten(store: Store, episode: Episode) -> None:
    def verdict(name: str, answer: str, repeat: int = 0) -> Verdict:
        return Verdict(
            id=name,
            episode_id=episode.id,
            milestone_id="m",
            judge="engine",
            fingerprint="f",
            repeat=repeat,
            verdict=answer,
        )

    store.add(verdict("v1", "reached"), verdict("v2", "uncertain", repeat=1))
    with pytest.raises(RowExists):
        store.add(verdict("v3", "not_reached"))
    assert [row.verdict for row in store.verdicts(episode.id)] == ["reached", "uncertain"]
    store.add(Lesson(id="l1", episode_id=episode.id, reflector="r", fingerprint="f", text="look left"))
    assert [row.text for row in store.lessons(episode.id)] == ["look left"]


def test_upsert_leaves_rows_that_are_there(store: Store, episode: Episode, rows: Rows) -> None:
    store.upsert(rows("step")(episode.id, 0, reward=1.0), rows("episode")(agent="nobody"))
    store.upsert(rows("step")(episode.id, 0, reward=2.0), rows("step")(episode.id, 1, reward=3.0))
    assert [step.reward for step in store.steps(episode.id)] == [1.0, 3.0]
    assert store.episode(episode.id).agent == "scripted"


def test_an_artifact_is_bytes_and_a_row_once(store: Store, tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"film")
    sha256 = store.put_artifact(b"film", "video/mp4")
    assert store.put_artifact(tmp_path / "film.mp4", "video/mp4") == sha256
    row = store.artifact(sha256)
    assert row is not None and (row.media_type, row.size) == ("video/mp4", 4)
    assert store.artifacts.get(sha256) == b"film"
    assert store.artifact("0" * 64) is None
    with store.read() as session:
        assert len(session.scalars(select(Artifact)).all()) == 1


def test_a_session_commits_or_rolls_back(store: Store, rows: Rows) -> None:
    with store.session() as session:
        session.add(rows("run")())
    with pytest.raises(ZeroDivisionError), store.session() as session:
        session.add(rows("run")("other"))
        session.flush()
        raise ZeroDivisionError
    assert [run.id for run in store.runs()] == ["demo-0123456789"]


def test_a_reader_cannot_write(store: Store, rows: Rows) -> None:
    with pytest.raises(StorageError, match=r"(?i)read.?only"), store.read() as session:
        session.add(rows("run")())
        session.flush()
    store.begin_run(rows("run")())  # the connection goes back to the pool unharmed


def test_readers_see_one_snapshot_and_never_wait_for_a_writer(store: Store, episode: Episode, rows: Rows) -> None:
    with store.read() as reader:
        assert reader.scalars(select(Step)).all() == []
        with store.session() as writer:
            writer.add(rows("step")(episode.id, 0))
            writer.flush()
            assert store.steps(episode.id) == [], "another reader goes past the open writer"
        assert reader.scalars(select(Step)).all() == [], "and this one keeps its snapshot"
    assert len(store.steps(episode.id)) == 1
