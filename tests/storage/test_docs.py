"""The SQL in docs/database.md runs, on both databases, and says what the page says."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import text

from storage.models import Base, Call, Counterfactual, Diagnosis, Fault, MilestoneTruth, RunEpisode, Verdict
from storage.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "database.md"
Rows = Callable[[str], Callable[..., Any]]


def other_way(name: str, episode_id: str, verdict: str, minute: int) -> Counterfactual:
    """A replay of diagnosis `d` the other way."""
    created = dt.datetime(2026, 1, 1, 0, minute, tzinfo=dt.UTC)
    return Counterfactual(
        id=name, episode_id=episode_id, diagnosis_id="d", at_step=5, from_step=6, suppressed=False, verdict=verdict,
        with_it=True, without_it=False, exact=True, prefix_steps=6, outcome="horizon", score=0.0, n_steps=1,
        state_hash="s" * 64, created_at=created,
    )  # fmt: skip


def played(store: Store, rows: Rows) -> str:
    """A run of two episodes, the first tried twice; the second is not finished. Returns the first's id."""
    run = store.begin_run(rows("run")())
    failed = store.begin_episode(rows("episode")("a" * 32, 1))
    store.finish_episode(failed.id, outcome="provider_error", scored=False)
    episode = store.begin_episode(rows("episode")("a" * 32, 2))
    store.append_step(
        rows("step")(episode.id, 0),
        calls=[
            Call(
                id=f"c{i}",
                episode_id=episode.id,
                step_index=0,
                purpose="act",
                model="m",
                request={},
                status="ok",
                text="up",
                cost_usd=cost,
            )
            for i, cost in enumerate([decimal.Decimal("0.25"), None])
        ],
        truths=[MilestoneTruth(episode_id=episode.id, milestone_id="m1", step_index=0)],
        extra=[
            Verdict(id="v1", episode_id=episode.id, milestone_id="m1", judge="j", fingerprint="f", verdict="reached"),
            Verdict(id="v2", episode_id=episode.id, milestone_id="m2", judge="j", fingerprint="f", verdict="reached"),
            Fault(episode_id=episode.id, kind="k", fault_class="control", fault_type="C1", onset_step=2),
            Diagnosis(
                id="d",
                episode_id=episode.id,
                step_index=5,
                trigger="t",
                diagnoser="rule",
                fingerprint="f",
                verdict="fault",
                fault_type="C1",
            ),
            *(other_way(f"o{i}", episode.id, verdict, i) for i, verdict in enumerate(["harmed", "helped"])),
        ],
    )
    store.finish_episode(episode.id, outcome="won", scored=True, score=80.0, success=True)
    shared = {"run_id": run.id, "condition": "single", "task_id": "games/snake-v1", "space": "semantic", "round": 0}
    store.link(
        [
            RunEpisode(identity=i * 32, agent="scripted", seed=7, trial=i * 32, final=True, **shared)  # type: ignore[arg-type]
            for i in "ab"
        ]
    )
    return episode.id


def test_every_query_of_the_page_answers_as_the_page_says(store: Store, rows: Rows) -> None:
    episode_id = played(store, rows)
    queries = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(queries) == 7
    with store.read() as session:
        answers = []
        for query in queries:
            parameters = {"episode_id": episode_id} if ":episode_id" in query else {}
            answers.append(session.execute(text(query), parameters).mappings().all())
    board, missing, cost, steps, disagreements, diagnoses, others = answers
    assert [(row["episodes"], row["mean_score"], float(row["success_rate"])) for row in board] == [(1, 80.0, 1.0)]
    assert [row["identity"] for row in missing] == ["b" * 32]
    assert [(row["calls"], float(row["known_usd"]), row["calls_of_unknown_cost"]) for row in cost] == [(2, 0.25, 1)]
    assert [row["text"] for row in steps] == ["up", "up"]
    assert [row["milestone_id"] for row in disagreements] == ["m2"]
    assert [row["steps_late"] for row in diagnoses] == [3]
    [latest] = others
    assert (latest["diagnoser"], latest["verdict"], latest["forks"], latest["exact_ones"]) == ("rule", "helped", 1, 1)


def test_the_page_names_every_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in Base.metadata.tables if f"| `{name}` |" not in page] == []
