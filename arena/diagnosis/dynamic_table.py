"""The numbers of the dynamic track, from a run's rows: what supervision changed, and what it cost."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from arena.diagnosis import metrics
from arena.diagnosis.config import INSTRUMENTS
from arena.diagnosis.dynamic_rows import ALONE, SEPARATOR, Row, rows_of
from arena.statistics import mcnemar
from storage.store import Store

RESAMPLES = 10_000
_SEED = 20_260_101
DIAGNOSERS = ("rules", "vlm", "human")
"""Conditions that say what went wrong, and are asked whether that is right; the beginnings of their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """What was noticed of the faults of some episodes."""

    detected: int
    """Of the episodes with a harmful fault: claimed at or after its onset."""
    harmful: int
    class_accuracy: float | None
    """Of the detected ones, as all below; None where none was."""
    type_accuracy: float | None
    onset_median: float | None
    """Claimed minus true, steps: positive is late."""
    onset_p90: float | None
    """90th percentile of its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Noticed):
    """One condition beside doing nothing, over the scenarios that both have."""

    condition: str
    episodes: int
    success: float
    alone: float
    rescued: int
    """Failed alone, succeeded under the condition."""
    broken: int
    """Succeeded alone, failed under it."""
    net: int
    net_low: float | None
    net_high: float | None
    """95 % interval of `net`, by a bootstrap over (task, seed); None where there is one alone."""
    p: float
    """Exact McNemar test."""
    false_alarm_rate: float | None
    """Share of the episodes without a fault in which a fault was claimed."""
    false_alarm_rate_benign: float | None
    """The same where a fault of severity 0 began (N1)."""
    touched: float | None
    """Share of the episodes that succeed alone in which anything was done."""
    broken_clean: float | None
    """Share of the episodes without a fault, or with a benign one, that succeed alone and failed under it."""
    interventions: float
    """A mean over episodes, as all below."""
    undone: float
    added_steps: float
    diagnoses: float
    """What the diagnoser was asked, and what was said of repairs later."""
    abstained: float
    """Of them, those that said nothing."""
    calls: float
    call_s: float
    seconds: float
    tokens: int | None
    """Of all episodes together, as all below; None where some call's are unknown."""
    cost_usd: str | None
    abstentions: dict[str, int]
    """By cause: `declined`, `invalid` (the answer did not fit), `provider` (none came)."""

    @property
    def diagnoser(self) -> bool:
        """Whether it says what went wrong; others only do something about it, or know."""
        return self.condition.startswith(DIAGNOSERS)

    @property
    def instrument(self) -> bool:
        """Whether it is no contestant: it goes by chance, or by the truth."""
        return self.condition.partition(":")[0] in INSTRUMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeLine(Noticed):
    """One fault type under one condition."""

    condition: str
    fault_type: str
    episodes: int
    failed_alone: int
    rescued: int
    broken: int

    @property
    def rescue_rate(self) -> float | None:
        """Of the episodes that failed alone."""
        return self.rescued / self.failed_alone if self.failed_alone else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The dynamic table of a run."""

    run_id: str
    scenarios: int
    lines: tuple[Line, ...]
    types: tuple[TypeLine, ...]

    def line(self, condition: str) -> Line:
        """The line of a condition.

        Raises:
            KeyError: if the run does not have it.
        """
        for line in self.lines:
            if line.condition == condition:
                return line
        raise KeyError(condition)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        types = [{**asdict(line), "rescue_rate": line.rescue_rate} for line in self.types]
        return {
            "run": self.run_id,
            "scenarios": self.scenarios,
            "conditions": [
                asdict(line) | {"diagnoser": line.diagnoser, "instrument": line.instrument} for line in self.lines
            ],
            "types": types,
        }


def is_dynamic(store: Store, run_id: str) -> bool:
    """Whether a run has episodes that nobody watches beside others: those have a table."""
    return any(link.condition.partition(SEPARATOR)[0] == ALONE for link in store.plan(run_id))


def dynamic_table(store: Store, run_id: str) -> Table:
    """Read a run's dynamic table: that of its rows."""
    run_id = store.run(run_id).id
    return table_of(run_id, rows_of(store, run_id))


def table_of(run_id: str, rows: Sequence[Row]) -> Table:
    """The table of a run's rows. Scenarios that lack the episode without supervision are left out."""
    alone = {row.scene: row for row in rows if row.condition == ALONE}
    by_condition: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.scene in alone:
            by_condition[row.condition].append(row)
    lines = tuple(line_of(name, found, alone) for name, found in by_condition.items())
    types = tuple(
        type_line
        for name, found in by_condition.items()
        if name != ALONE
        for type_line in type_lines(name, found, alone)
    )
    return Table(run_id=run_id, scenarios=len(alone), lines=lines, types=types)


def line_of(condition: str, rows: Sequence[Row], alone: Mapping[str, Row]) -> Line:
    """The line of one condition.

    Args:
        condition: its label.
        rows: its episodes.
        alone: by scene, the same ones without supervision.
    """
    before = [alone[row.scene].success for row in rows]
    after = [row.success for row in rows]
    test = mcnemar(before, after)
    changes = [int(now) - int(then) for then, now in zip(before, after, strict=True)]
    interval = bootstrap_sum(changes, [f"{row.task}:{row.seed}" for row in rows])
    clean = [row for row in rows if row.onset is None]
    benign = [row for row in rows if row.severity == 0]
    fine = [row for row in rows if alone[row.scene].success]
    unharmed = [row for row in fine if not row.severity]
    costs, tokens = [row.cost_usd for row in rows], [row.tokens for row in rows]
    silent = [said for row in rows for said in row.diagnoses if said.verdict == "abstain"]
    return Line(
        condition=condition,
        episodes=len(rows),
        success=statistics.mean(after),
        alone=statistics.mean(before),
        rescued=test.gained,
        broken=test.lost,
        net=test.gained - test.lost,
        net_low=interval and interval[0],
        net_high=interval and interval[1],
        p=test.p,
        false_alarm_rate=_share(clean, lambda row: bool(row.supervised.claims())),
        false_alarm_rate_benign=_share(benign, lambda row: bool(row.supervised.claims())),
        touched=_share(fine, lambda row: row.interventions > 0),
        broken_clean=_share(unharmed, lambda row: not row.success),
        interventions=statistics.mean(row.interventions for row in rows),
        undone=statistics.mean(row.undone for row in rows),
        added_steps=statistics.mean(row.added for row in rows),
        diagnoses=statistics.mean(len(row.diagnoses) for row in rows),
        abstained=len(silent) / len(rows),
        calls=statistics.mean(row.calls for row in rows),
        call_s=statistics.mean(row.call_s for row in rows),
        seconds=statistics.mean(row.seconds for row in rows),
        tokens=None if any(count is None for count in tokens) else sum(count for count in tokens if count),
        cost_usd=None if any(cost is None for cost in costs) else str(sum((c for c in costs if c), Decimal(0))),
        abstentions=dict(Counter(str(said.body.get("abstain_cause") or "declined") for said in silent)),
        **_noticed(rows),
    )


def type_lines(condition: str, rows: Sequence[Row], alone: Mapping[str, Row]) -> list[TypeLine]:
    """One line for each fault type that began, by class and number; benign ones count as N1."""
    by_type: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        kind = "N0" if row.fault is None or row.onset is None else row.fault.fault_type if row.severity else "N1"
        by_type[kind].append(row)
    found = []
    for kind, group in sorted(by_type.items(), key=lambda item: ("PLCEN".index(item[0][0]), item[0])):
        failed = [row for row in group if not alone[row.scene].success]
        found.append(
            TypeLine(
                condition=condition,
                fault_type=kind,
                episodes=len(group),
                failed_alone=len(failed),
                rescued=sum(row.success for row in failed),
                broken=sum(alone[row.scene].success and not row.success for row in group),
                **_noticed(group),
            )
        )
    return found


def _noticed(rows: Sequence[Row]) -> dict[str, Any]:
    """The fields of `Noticed`."""
    watched = [row.supervised for row in rows]
    naming, onsets = metrics.naming(watched), metrics.onset_error(watched)
    return {
        "detected": metrics.detection(watched).detected,
        "harmful": sum(bool(row.severity) for row in rows),
        "class_accuracy": naming.class_accuracy,
        "type_accuracy": naming.type_accuracy,
        "onset_median": onsets.median,
        "onset_p90": onsets.p90_abs,
    }


def bootstrap_sum(values: Sequence[float], clusters: Sequence[str], level: float = 0.95) -> tuple[float, float] | None:
    """Percentile interval of a sum, resampling clusters with replacement (Efron & Tibshirani 1993, chapter 13).

    Scenarios of one task and seed share a scene, so that they are drawn together. The same values give the same
    interval. With fewer than two clusters there is none: nothing tells how another one would turn out.

    Args:
        values: one a scenario.
        clusters: which belong together.
        level: nominal coverage.
    """
    sums: dict[str, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value
    totals = np.array([sums[cluster] for cluster in sorted(sums)])
    if len(totals) < 2:
        return None
    picks = np.random.default_rng(_SEED).integers(len(totals), size=(RESAMPLES, len(totals)))
    low, high = np.quantile(totals[picks].sum(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _share(rows: Sequence[Row], holds: Callable[[Row], bool]) -> float | None:
    return sum(holds(row) for row in rows) / len(rows) if rows else None
