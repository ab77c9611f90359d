"""The table of a run: rows with intervals, rows over tasks, comparisons of conditions, strengths of agents.

    board = leaderboard(store, run_id)

Everything is computed from the run's rows; the same rows give the same digits. `docs/statistics.md` says how.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from typing import Any

from arena.leaderboard.aggregate import Aggregate, HeadToHead, aggregates, head_to_heads
from arena.leaderboard.cell import TUTORIAL, Cell, cells
from arena.leaderboard.comparison import ALPHA, CORRECTION, FIRST, REFERENCES, Comparison, comparisons, differences
from arena.leaderboard.normalisation import scales
from arena.leaderboard.row import Row, rows, tried_again
from arena.statistics import Interval
from storage.store import Store

__all__ = [
    "ALPHA",
    "CORRECTION",
    "FIRST",
    "REFERENCES",
    "TUTORIAL",
    "Aggregate",
    "Cell",
    "Comparison",
    "HeadToHead",
    "Leaderboard",
    "Row",
    "cells",
    "differences",
    "leaderboard",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """All rows of a run, by task, space and condition (`single` first), the best first; and what follows from them."""

    run_id: str
    name: str
    status: str
    rows: list[Row]
    aggregates: list[Aggregate] = field(default_factory=list)
    """Over tasks, by space, agent and condition."""
    comparisons: list[Comparison] = field(default_factory=list)
    """Of the conditions that retry: over tasks (`task` is empty), then task by task."""
    strengths: list[HeadToHead] = field(default_factory=list)
    """Bradley-Terry, by space and condition."""
    correction: str = CORRECTION
    """How the p of the comparisons are corrected."""
    planned: int
    done: int
    retries: int = 0
    """Tries beyond the first; an attempt that several conditions share counts once."""
    failures: dict[str, int] = field(default_factory=dict)
    """Failures of machine and provider, by outcome, counted likewise."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; decimals become strings, so that nothing is rounded."""
        found: dict[str, Any] = _jsonable(self)
        for made, row in zip(self.comparisons, found["comparisons"], strict=True):
            row["verdict"] = made.verdict
        return found


def leaderboard(store: Store, run_id: str) -> Leaderboard:
    """Compute the table of a run from its rows; the same rows give the same digits."""
    run = store.run(run_id)
    found = cells(store, run.id)
    known = scales(found)
    made = rows(found, known)
    retries, failures = tried_again(found)
    return Leaderboard(
        run_id=run.id,
        name=run.name,
        status=run.status,
        rows=made,
        aggregates=aggregates(found, known),
        comparisons=comparisons(found),
        strengths=head_to_heads(found),
        planned=sum(row.planned for row in made),
        done=sum(row.done for row in made),
        retries=retries,
        failures=failures,
    )


def _jsonable(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Interval):
        bounds = {"low": _finite(value.low), "high": _finite(value.high)}
        return {"estimate": value.estimate, **bounds, "n": value.n, "why": value.why}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _jsonable(value._asdict())
    if is_dataclass(value):  # not dataclasses.asdict: it would take the named tuples apart
        return {entry.name: _jsonable(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return value


def _finite(value: float) -> float | None:
    return None if value != value else value
