"""The episodes of a dynamic run as rows: what the database holds of each, under each condition that it stands for."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from sqlalchemy import func, select

from arena.diagnosis.human import is_review
from arena.diagnosis.metrics import Supervised
from arena.identity import digest
from arena.supervision import REPAIR, REWIND, UNDO, by_arm
from storage.models import Call, Diagnosis, Episode, Fault, Intervention, Step
from storage.store import Store

ALONE = "none"
"""The condition in which nobody watches."""
SEPARATOR = " | "
"""Between the condition and the fault in a label."""
_AT_ONCE = 500
"""Episodes that one query asks about; databases bound the number of values in one."""
DIAGNOSING = ("diagnose", "repair")
"""Purposes of a diagnoser's calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One episode under one condition."""

    episode_id: str
    condition: str
    task: str
    seed: int
    fault_label: str
    """Of its label: `clean`, or kind and severity."""
    scene: str
    """Hash of task, seed, repetition, player and fault: what is the same in all conditions."""
    success: bool
    steps: int
    """Control steps that were played, undone ones included."""
    fault: Fault | None
    diagnoses: tuple[Diagnosis, ...]
    interventions: int
    undone: int
    """Interventions that were taken back."""
    added: int
    """Steps that rollbacks and repairs have cost."""
    calls: int
    """Of the diagnoser's model."""
    call_s: float
    tokens: int | None
    """That they took in and put out; None where some call's are unknown."""
    cost_usd: Decimal | None
    """None where some call's cost is unknown."""
    seconds: float
    """Wall time of the episode."""

    @property
    def onset(self) -> int | None:
        """Step at which the fault began; None in a clean episode."""
        return self.fault.onset_step if self.fault is not None else None

    @property
    def severity(self) -> int | None:
        """Of the fault that began; None in a clean episode."""
        return None if self.fault is None or self.onset is None else int(self.fault.params.get("severity", 3))

    @property
    def supervised(self) -> Supervised:
        """For the metrics of diagnosis; a benign fault makes a clean episode."""
        harmful = self.fault if self.severity else None
        return Supervised(
            episode_id=self.episode_id,
            seed=self.seed,
            success=self.success,
            fault=harmful,
            diagnoses=self.diagnoses,
        )


def rows_of(store: Store, run_id: str) -> list[Row]:
    """Every finished, scored episode of a run that diagnoses, once for each condition that it stands for."""
    links = [link for link in store.plan(run_id) if link.final]
    tries = store.latest_tries(link.identity for link in links)
    played = [
        (episode, link.condition)
        for link in links
        if (episode := tries.get(link.identity)) is not None and episode.status == "finished" and episode.scored
    ]
    rows = []
    for start in range(0, len(played), _AT_ONCE):
        batch = played[start : start + _AT_ONCE]
        records = _records(store, [episode.id for episode, _ in batch])
        rows += [_row(episode, label, records[episode.id]) for episode, label in batch]
    return rows


@dataclass(slots=True)
class _Record:
    """What the database holds of one episode beside its own row."""

    faults: list[Fault] = field(default_factory=list)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    forks: list[str] = field(default_factory=list)
    """Kinds of the interventions."""
    last_sim_step: int | None = None
    led: int = 0
    """Steps of the arm on its way back or in a repair."""
    calls: int = 0
    call_s: float = 0.0
    cost_usd: Decimal | None = Decimal(0)
    tokens: int | None = 0


def _records(store: Store, ids: Sequence[str]) -> dict[str, _Record]:
    """Of some episodes, in a few queries: a run has thousands."""
    found: dict[str, _Record] = defaultdict(_Record)
    last = select(Step.episode_id, func.max(Step.index).label("index")).where(Step.episode_id.in_(ids))
    ends = last.group_by(Step.episode_id).subquery()
    told = Call.input_tokens + Call.output_tokens
    sums = (
        func.sum(Call.latency_s),
        func.sum(Call.cost_usd),
        func.count(Call.cost_usd),
        func.sum(told),
        func.count(told),
    )
    # What the database looks for is only where such notes may be; what they mean is said in one place.
    marked = Step.notes[REWIND].as_string().is_not(None) | Step.notes[REPAIR].as_string().is_not(None)
    with store.read() as session:
        for fault in session.scalars(select(Fault).where(Fault.episode_id.in_(ids)).order_by(Fault.kind)):
            found[fault.episode_id].faults.append(fault)
        order = (Diagnosis.step_index, Diagnosis.created_at, Diagnosis.id)
        for said in session.scalars(select(Diagnosis).where(Diagnosis.episode_id.in_(ids)).order_by(*order)):
            found[said.episode_id].diagnoses.append(said)
        forks = select(Intervention.episode_id, Intervention.kind).where(Intervention.episode_id.in_(ids))
        for name, kind in session.execute(forks):
            found[name].forks.append(kind)
        at_end = (Step.episode_id == ends.c.episode_id) & (Step.index == ends.c.index)
        for name, sim_step in session.execute(select(Step.episode_id, Step.sim_step).join(ends, at_end)):
            found[name].last_sim_step = sim_step
        forked = [name for name in ids if found[name].forks]
        for name, notes in session.execute(
            select(Step.episode_id, Step.notes).where(Step.episode_id.in_(forked), marked)
        ):
            found[name].led += by_arm(notes)
        asked = select(Call.episode_id, func.count(), *sums).where(
            Call.episode_id.in_(ids), Call.purpose.in_(DIAGNOSING)
        )
        for of, calls, latency, cost, priced, tokens, metered in session.execute(asked.group_by(Call.episode_id)):
            record = found[str(of)]
            record.calls, record.call_s = calls, float(latency or 0.0)
            record.cost_usd = Decimal(str(cost or 0)) if priced == calls else None
            record.tokens = int(tokens or 0) if metered == calls else None
    return found


def _row(episode: Episode, label: str, kept: _Record) -> Row:
    condition, _, fault_label = label.partition(SEPARATOR)
    undone = episode.n_steps - (kept.last_sim_step + 1) if kept.last_sim_step is not None else 0
    spec = episode.spec
    return Row(
        episode_id=episode.id,
        condition=condition,
        task=episode.task_id,
        seed=episode.seed,
        fault_label=fault_label or "-",
        scene=digest([spec[key] for key in ("task", "space", "agent", "seed", "repetition", "fault")]),
        success=bool(episode.success),
        steps=episode.n_steps,
        fault=kept.faults[0] if kept.faults else None,
        diagnoses=tuple(said for said in kept.diagnoses if not is_review(said)),
        interventions=sum(kind != UNDO for kind in kept.forks),
        undone=sum(kind == UNDO for kind in kept.forks),
        added=undone + kept.led,
        calls=kept.calls,
        call_s=kept.call_s,
        tokens=kept.tokens,
        cost_usd=kept.cost_usd,
        seconds=_seconds(episode),
    )


def _seconds(episode: Episode) -> float:
    if episode.finished_at is None:
        return 0.0
    return (episode.finished_at - episode.created_at).total_seconds()


def rule_rate(rows: Sequence[Row], condition: str = "rules") -> float:
    """Interventions per episode of a condition, to three digits: what a random trigger is to match."""
    counts = [row.interventions for row in rows if row.condition == condition]
    return round(statistics.mean(counts), 3) if counts else 0.0
