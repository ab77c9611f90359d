"""The readers: each one short read-only transaction that returns plain rows, free of their session."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from storage.errors import UnknownRow
from storage.models import (
    Artifact,
    Base,
    Call,
    Counterfactual,
    Diagnosis,
    Episode,
    Fault,
    Intervention,
    Lesson,
    MilestoneProposal,
    MilestoneReview,
    MilestoneTruth,
    Picture,
    ProbeAnswer,
    Run,
    RunEpisode,
    Step,
    Tutorial,
    Verdict,
)
from storage.pictures import Pixels, decode
from storage.requests import referred, whole

_Keyed = TypeVar("_Keyed", Run, Episode, MilestoneProposal)
_IN_CHUNK = 500
_PLAN_FILTERS = ("condition", "instrument", "trial", "final")


class Queries:
    """Everything that is read. `Store` is its only subclass."""

    def read(self) -> AbstractContextManager[Session]:
        """A read-only transaction with one snapshot of the database."""
        raise NotImplementedError

    # -- runs ------------------------------------------------------------------------------------------------------

    def run(self, run_id: str) -> Run:
        """The run of that id, or of that unique prefix.

        Raises:
            UnknownRow: None or several; the message names the closest.
        """
        return self._by_prefix(Run, run_id)

    def runs(self) -> list[Run]:
        """All runs, newest first."""
        return self._all(Run, order=(Run.created_at.desc(), Run.id))

    def plan(self, run_id: str) -> list[RunEpisode]:
        """The plan rows of a run, ordered by condition, task, space, agent, seed and round."""
        row = RunEpisode
        order = (row.condition, row.task_id, row.space, row.agent, row.seed, row.round, row.identity)
        return self._all(row, row.run_id == run_id, order=order)

    def links(self, identity: str) -> list[RunEpisode]:
        """The plan rows of all runs that use an episode of this identity, ordered by run and condition."""
        row = RunEpisode
        return self._all(row, row.identity == identity, order=(row.run_id, row.condition))

    # -- episodes --------------------------------------------------------------------------------------------------

    def episode(self, episode_id: str) -> Episode:
        """The episode of that id, or of that unique prefix.

        A prefix that fits several tries of one identity, and nothing else, means the latest try.

        Raises:
            UnknownRow: None or several; the message names the closest.
        """
        return self._by_prefix(Episode, episode_id)

    def episodes(
        self, run_id: str | None = None, *, limit: int | None = None, offset: int = 0, **filters: Any
    ) -> list[Episode]:
        """Episodes, oldest first.

        Args:
            run_id: Only those that this run uses (every try of them).
            limit: At most so many; None for all.
            offset: Skip so many.
            **filters: `column=value` of `Episode`; a list, tuple or set of values means any of them, None means NULL.
                With `run_id` also `condition`, `instrument`, `trial` and `final`, which the run's plan knows.

        Raises:
            ValueError: A filter that is not a column, or a negative limit or offset.
        """
        with self.read() as session:
            query = select(Episode).where(*self._episode_clauses(run_id, filters))
            query = query.order_by(Episode.created_at, Episode.id).limit(_natural("limit", limit))
            return list(session.scalars(query.offset(_natural("offset", offset))))

    def count_episodes(self, run_id: str | None = None, **filters: Any) -> int:
        """How many `episodes` would return without limit: for pagers.

        Raises:
            ValueError: A filter that is not a column.
        """
        with self.read() as session:
            query = select(func.count()).select_from(Episode).where(*self._episode_clauses(run_id, filters))
            return session.execute(query).scalar_one()

    def latest_tries(self, identities: Iterable[str]) -> dict[str, Episode]:
        """By identity, its episode with the highest `try_no`; identities never played are absent."""
        wanted = list(dict.fromkeys(identities))
        found: dict[str, Episode] = {}
        with self.read() as session:
            for start in range(0, len(wanted), _IN_CHUNK):
                clause = Episode.identity.in_(wanted[start : start + _IN_CHUNK])
                latest = (
                    select(Episode.identity, func.max(Episode.try_no).label("try_no"))
                    .where(clause)
                    .group_by(Episode.identity)
                    .subquery()
                )
                join = (latest.c.identity == Episode.identity) & (latest.c.try_no == Episode.try_no)
                for episode in session.scalars(select(Episode).join(latest, join)):
                    found[episode.identity] = episode
        return found

    # -- what happened in one --------------------------------------------------------------------------------------

    def steps(self, episode_id: str, start: int = 0, stop: int | None = None) -> list[Step]:
        """Steps with `start <= index < stop`, in order of play. Ask for windows: an episode may have 100,000."""
        clauses = [Step.episode_id == episode_id, Step.index >= start]
        if stop is not None:
            clauses.append(Step.index < stop)
        return self._all(Step, *clauses, order=(Step.index,))

    def calls(self, episode_id: str, step_index: int | None = None) -> list[Call]:
        """Model calls of an episode, or of one step of it, in the order in which they were made; requests whole."""
        clauses = [Call.episode_id == episode_id]
        if step_index is not None:
            clauses.append(Call.step_index == step_index)
        calls = self._all(Call, *clauses, order=(Call.created_at, Call.id))
        known = {call.id: call for call in calls}
        while missing := {ref for call in known.values() if (ref := referred(call.request))} - known.keys():
            found = self._all(Call, Call.id.in_(missing), order=(Call.id,))
            known |= {call.id: call for call in found}
            if len(found) < len(missing):
                break  # a damaged database: what is there is told
        for call in calls:
            _fill_in(call, known)
        return calls

    def truths(self, episode_id: str) -> list[MilestoneTruth]:
        """Milestones that the engine saw, in the order in which they were reached."""
        row = MilestoneTruth
        return self._all(row, row.episode_id == episode_id, order=(row.step_index, row.milestone_id))

    def verdicts(self, episode_id: str) -> list[Verdict]:
        """Every judge's answers, oldest first."""
        return self._all(Verdict, Verdict.episode_id == episode_id, order=(Verdict.created_at, Verdict.id))

    def lessons(self, episode_id: str) -> list[Lesson]:
        """Lessons drawn from the episode, oldest first."""
        return self._all(Lesson, Lesson.episode_id == episode_id, order=(Lesson.created_at, Lesson.id))

    def lesson(self, lesson_id: str) -> Lesson | None:
        """The lesson of that id; None if the database does not know it."""
        with self.read() as session:
            return session.get(Lesson, lesson_id)

    def tutorial(self, tutorial_id: str) -> Tutorial | None:
        """A person's own tutorial video; None if the database does not know it."""
        with self.read() as session:
            return session.get(Tutorial, tutorial_id)

    def tutorials(self) -> list[Tutorial]:
        """All tutorial videos that people added, by task, the oldest first."""
        return self._all(Tutorial, order=(Tutorial.task_id, Tutorial.created_at, Tutorial.id))

    def proposals(self, task_id: str) -> list[MilestoneProposal]:
        """Milestones that were proposed for a task, by version and place."""
        return self._all(
            MilestoneProposal,
            MilestoneProposal.task_id == task_id,
            order=(MilestoneProposal.version, MilestoneProposal.place),
        )

    def proposal(self, proposal_id: str) -> MilestoneProposal:
        """A proposal by its id or the id's beginning.

        Raises:
            UnknownRow: none of that id, or several that begin so.
        """
        return self._by_prefix(MilestoneProposal, proposal_id)

    def reviews(self, task_id: str) -> list[MilestoneReview]:
        """Reviews of a task's proposals, the earliest first."""
        ids = select(MilestoneProposal.id).where(MilestoneProposal.task_id == task_id)
        return self._all(
            MilestoneReview,
            MilestoneReview.proposal_id.in_(ids),
            order=(MilestoneReview.created_at, MilestoneReview.id),
        )

    def probe_answers(self, probing: str) -> list[ProbeAnswer]:
        """All answers of one probing, in the order of their ids."""
        return self._all(ProbeAnswer, ProbeAnswer.probing == probing, order=(ProbeAnswer.id,))

    def diagnoses(self, episode_id: str) -> list[Diagnosis]:
        """Diagnoses made during the episode, in order of play."""
        row = Diagnosis
        return self._all(row, row.episode_id == episode_id, order=(row.step_index, row.created_at, row.id))

    def interventions(self, episode_id: str) -> list[Intervention]:
        """Rollbacks carried out, in the order of the branches that they opened."""
        return self._all(Intervention, Intervention.episode_id == episode_id, order=(Intervention.branch,))

    def counterfactuals(self, episode_id: str) -> list[Counterfactual]:
        """What the other ways at the episode's diagnoses led to, in order of play; of each the oldest first."""
        row = Counterfactual
        return self._all(row, row.episode_id == episode_id, order=(row.at_step, row.created_at, row.id))

    def faults(self, episode_id: str) -> list[Fault]:
        """Faults that were injected, by kind."""
        return self._all(Fault, Fault.episode_id == episode_id, order=(Fault.kind,))

    def artifact(self, sha256: str) -> Artifact | None:
        """Media type and size of an artifact; None if the database does not know it."""
        with self.read() as session:
            return session.get(Artifact, sha256)

    def picture(self, sha256: str) -> Pixels | None:
        """A picture that a model was shown, (height, width, 3) uint8 RGB; None if the database does not know it.

        Raises:
            PictureCorrupt: its rows are damaged, or one is missing.
        """
        with self.read() as session:
            row = session.scalars(select(Picture).where(Picture.sha256 == sha256).limit(1)).first()
            return None if row is None else decode(self._chain(session, row))

    def _chain(self, session: Session, row: Picture) -> list[Picture]:
        """The rows that it takes to read a picture, in order."""
        source = session.get(Picture, (row.log, row.first))
        if source is None:
            return [row]
        if (source.width, source.height) != (row.width, row.height):  # it is the other one at half its size
            return [*self._chain(session, source), row]
        same = (Picture.log == row.log, Picture.width == row.width, Picture.height == row.height)
        between = Picture.index.between(row.first, row.index)
        rows = session.scalars(select(Picture).where(*same, between).order_by(Picture.index))
        return [entry for entry in rows if entry.first == row.first]

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _all(self, model: type[_Row], *clauses: ColumnElement[bool], order: Sequence[Any]) -> list[_Row]:
        with self.read() as session:
            return list(session.scalars(select(model).where(*clauses).order_by(*order)))

    @staticmethod
    def _episode_clauses(run_id: str | None, filters: dict[str, Any]) -> list[ColumnElement[bool]]:
        clauses, plan = [], []
        for name, value in filters.items():
            if run_id is not None and name in _PLAN_FILTERS:
                plan.append(_matches(getattr(RunEpisode, name), value))
            elif name in Episode.__table__.columns:
                clauses.append(_matches(getattr(Episode, name), value))
            else:
                known = [column.key for column in Episode.__table__.columns] + list(_PLAN_FILTERS)
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"columns are {', '.join(known)}"
                raise ValueError(f"cannot filter episodes by {name!r}; {hint}")
        if run_id is not None:
            used = select(RunEpisode.identity).where(RunEpisode.run_id == run_id, *plan)
            clauses.append(Episode.identity.in_(used))
        return clauses

    def _by_prefix(self, model: type[_Keyed], key: str) -> _Keyed:
        noun = model.__tablename__.replace("_", " ")
        with self.read() as session:
            exact = session.get(model, key)
            if exact is not None:
                return exact
            found: list[_Keyed] = []
            if key:
                query = select(model).where(model.id.startswith(key, autoescape=True)).order_by(model.id).limit(6)
                found = list(session.scalars(query))
            if len(found) == 1:
                return found[0]
            latest = _latest_of_one_identity(session, found)
            if latest is not None:
                return latest
            if found:
                shown = ", ".join(row.id for row in found[:5]) + (", ..." if len(found) > 5 else "")
                raise UnknownRow(f"{key[:80]!r} fits several {noun}s: {shown}; write more of the id")
            recent = session.scalars(select(model.id).order_by(model.created_at.desc()).limit(2000)).all()
        near = difflib.get_close_matches(key[:120], recent, 3, cutoff=0.5)
        if near:
            raise UnknownRow(f"no {noun} {key[:80]!r}; did you mean {' or '.join(near)}?")
        newest = f"the newest is {recent[0]}" if recent else f"there are no {noun}s yet"
        raise UnknownRow(f"no {noun} {key[:80]!r}; {newest}")


_Row = TypeVar("_Row", bound=Base)


def _fill_in(call: Call, known: Mapping[str, Call]) -> None:
    """Make a request whole that refers to others; one that cannot be made so stays as it is stored, and can be seen."""
    chain = [call]
    while (earlier := known.get(referred(chain[-1].request) or "")) is not None and len(chain) <= len(known):
        chain.append(earlier)
    for later, earlier in zip(chain[-2::-1], chain[:0:-1], strict=True):
        with contextlib.suppress(ValueError):
            later.request = whole(later.request, earlier.request)


def _latest_of_one_identity(session: Session, found: Sequence[_Keyed]) -> _Keyed | None:
    """The latest try, if all that was found are tries of one identity."""
    episodes = [row for row in found if isinstance(row, Episode)]
    if not episodes or len({row.identity for row in episodes}) != 1:
        return None
    query = select(Episode).where(Episode.identity == episodes[0].identity).order_by(Episode.try_no.desc()).limit(1)
    return session.scalars(query).one()  # type: ignore[return-value]


def _matches(column: Any, value: Any) -> ColumnElement[bool]:
    clause: ColumnElement[bool]
    clause = column.in_(list(value)) if isinstance(value, list | tuple | set | frozenset) else column == value
    return clause


def _natural(name: str, value: int | None) -> int | None:
    if value is not None and value < 0:
        raise ValueError(f"{name} must not be negative, not {value}")
    return value
