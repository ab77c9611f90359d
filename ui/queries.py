"""Reads that only a viewer makes: sorted pages with their filters' values, and slim columns of all steps.

One short read-only transaction each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute

from arena.supervision import REPAIR, REWIND
from storage.models import Call, Episode, Fault, Intervention, Lesson, MilestoneProposal, RunEpisode, Step
from storage.store import Store
from ui.timeline import StepRow

COLUMNS: Final[Mapping[str, InstrumentedAttribute[Any]]] = {
    "task": Episode.task_id,
    "agent": Episode.agent,
    "space": Episode.space,
    "outcome": Episode.outcome,
    "status": Episode.status,
}
"""Filters on an episode itself; `run` and `condition` are a matter of a run's plan."""

SORTS: Final[Mapping[str, InstrumentedAttribute[Any]]] = {
    "created": Episode.created_at,
    "task": Episode.task_id,
    "space": Episode.space,
    "agent": Episode.agent,
    "seed": Episode.seed,
    "round": Episode.round,
    "outcome": Episode.outcome,
    "score": Episode.score,
    "steps": Episode.n_steps,
}


class UnknownSort(ValueError):
    """A sort order that is not offered."""


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """Some episodes of many."""

    items: list[Episode]
    total: int
    """Episodes that match the filters."""
    total_unfiltered: int


def episode_page(store: Store, filters: Mapping[str, str], sort: str, limit: int, offset: int) -> EpisodePage:
    """One page of episodes.

    Args:
        store: Where to read.
        filters: Values by name: those of `COLUMNS`, `run`, `condition`; empty values do not filter.
        sort: A key of `SORTS`, with a leading minus for falling order. Missing values come last.
        limit: At most so many.
        offset: Skip so many.

    Raises:
        UnknownSort: for another order.
    """
    column = SORTS.get(sort.removeprefix("-"))
    if column is None:
        raise UnknownSort(f"cannot sort by {sort[:40]!r}; the orders are {', '.join(SORTS)}, each with or without '-'")
    order = column.desc() if sort.startswith("-") else column.asc()
    clauses = _clauses(filters)
    with store.read() as session:
        query = select(Episode).where(*clauses).order_by(column.is_(None), order, Episode.id).limit(limit)
        return EpisodePage(
            items=list(session.scalars(query.offset(offset))),
            total=session.execute(select(func.count()).select_from(Episode).where(*clauses)).scalar_one(),
            total_unfiltered=session.execute(select(func.count()).select_from(Episode)).scalar_one(),
        )


def facets(store: Store, filters: Mapping[str, str]) -> dict[str, list[str]]:
    """The values that each filter offers, given the run (a choice never hides its own alternatives)."""
    run = {"run": filters.get("run", "")}
    found: dict[str, list[str]] = {}
    with store.read() as session:

        def values(query: Select[Any]) -> list[str]:
            return sorted(str(value) for value in session.scalars(query) if value is not None)

        for name, column in COLUMNS.items():
            found[name] = values(select(column).where(*_clauses(run)).distinct())
        conditions = select(RunEpisode.condition).distinct()
        if run["run"]:
            conditions = conditions.where(RunEpisode.run_id == run["run"])
        found["condition"] = values(conditions)
        found["run"] = values(select(RunEpisode.run_id).distinct())
    return found


def _clauses(filters: Mapping[str, str]) -> list[ColumnElement[bool]]:
    clauses: list[ColumnElement[bool]] = [
        column == filters[name] for name, column in COLUMNS.items() if filters.get(name)
    ]
    plan = [
        column == filters[name]
        for name, column in (("run", RunEpisode.run_id), ("condition", RunEpisode.condition))
        if filters.get(name)
    ]
    if plan:
        clauses.append(Episode.identity.in_(select(RunEpisode.identity).where(*plan)))
    return clauses


def marks(store: Store, episode_ids: Iterable[str]) -> dict[str, dict[str, int]]:
    """By episode: how many faults and rollbacks it shows; episodes without either are absent."""
    ids = list(episode_ids)
    found: dict[str, dict[str, int]] = {}
    with store.read() as session:
        for name, column in (("n_faults", Fault.episode_id), ("n_forks", Intervention.episode_id)):
            query = select(column, func.count()).where(column.in_(ids)).group_by(column)
            for episode_id, count in session.execute(query):
                found.setdefault(episode_id, {})[name] = count
    return found


def outline_rows(store: Store, episode_id: str) -> list[StepRow]:
    """A few columns of every step, in order of play: plain tuples, a tenth of the cost of rows."""
    columns = (Step.index, Step.branch, Step.sim_step, Step.status, Step.reward, Step.score, Step.frame)
    with store.read() as session:
        query = select(*columns).where(Step.episode_id == episode_id).order_by(Step.index)
        return [StepRow(*row) for row in session.execute(query)]


def arm_steps(store: Store, episode_id: str) -> dict[int, str]:
    """The steps that were no decision of the player, as their notes say: `rewind` (the arm goes back) or `repair`."""
    rewind, repair = Step.notes[REWIND].as_boolean().is_(True), Step.notes[REPAIR].as_string().is_not(None)
    with store.read() as session:
        query = select(Step.index, rewind).where(Step.episode_id == episode_id, rewind | repair)
        return {index: REWIND if back else REPAIR for index, back in session.execute(query)}


def calls_by_step(store: Store, episode_id: str, start: int, stop: int) -> dict[int, int]:
    """How many model calls belong to each step of a window; steps without any are absent."""
    inside = (Call.episode_id == episode_id, Call.step_index >= start, Call.step_index < stop)
    with store.read() as session:
        query = select(Call.step_index, func.count()).where(*inside).group_by(Call.step_index)
        return {index: count for index, count in session.execute(query) if index is not None}


def links_of(store: Store, identity: str) -> list[RunEpisode]:
    """As what which runs use an episode."""
    with store.read() as session:
        query = select(RunEpisode).where(RunEpisode.identity == identity)
        return list(session.scalars(query.order_by(RunEpisode.run_id, RunEpisode.condition)))


def lesson(store: Store, lesson_id: str) -> Lesson | None:
    """One lesson by its id."""
    with store.read() as session:
        return session.get(Lesson, lesson_id)


def retries_with(store: Store, lesson_ids: Iterable[str]) -> dict[str, list[str]]:
    """By lesson, the ids of the episodes that were given it, in order of play."""
    found: dict[str, list[str]] = {}
    with store.read() as session:
        query = select(Episode.lesson_id, Episode.id).where(Episode.lesson_id.in_(list(lesson_ids)))
        for lesson_id, episode_id in session.execute(query.order_by(Episode.created_at, Episode.id)):
            found.setdefault(str(lesson_id), []).append(episode_id)
    return found


def proposed_tasks(store: Store) -> list[dict[str, Any]]:
    """The tasks for which milestones were proposed: `id`, and `n` proposals of all versions."""
    with store.read() as session:
        query = select(MilestoneProposal.task_id, func.count()).group_by(MilestoneProposal.task_id)
        return [{"id": task, "n": n} for task, n in session.execute(query.order_by(MilestoneProposal.task_id))]
