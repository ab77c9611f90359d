"""What people say of recordings that were left alone: who watches what, and where it is kept.

An opinion is a row of the table `diagnosis` of the episode that was watched: trigger `review`, diagnoser
`human:<name>`, body in the schema. It is added and never changed; who speaks again adds a row, and the latest counts.
Nothing here tells a watcher the fault, how the episode ended or how long it is, which would tell that too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select

from arena.diagnosis.dynamic_rows import ALONE, SEPARATOR
from arena.diagnosis.human import REVIEW
from arena.diagnosis.schema import Diagnosis, validate_against
from arena.identity import digest
from arena.judging.human import InvalidReview, reviewer
from storage.errors import RowExists
from storage.models import Diagnosis as Row
from storage.models import Episode, RunEpisode
from storage.store import Store

HUMAN = "human"
"""The condition; `human:<name>` is that of one person's opinions alone."""
_LEFT_ALONE = ALONE + SEPARATOR
"""What the labels of those episodes begin with that are watched."""
_TRIES = 8
"""Opinions of one person on one episode at the same moment, in other windows."""


def is_human(condition: str) -> bool:
    """Whether a condition's name asks for people's opinions."""
    return condition == HUMAN or condition.startswith(f"{HUMAN}:")


def watchable(store: Store, episode: Episode) -> bool:
    """Whether a person can watch it step by step: it is over, was supervised by nobody, and every step was drawn."""
    filmed = episode.video is not None and episode.video_info.get("n_frames") == episode.n_steps + 1
    alone = episode.status == "finished" and not episode.spec.get("supervision") and bool(episode.scored)
    return alone and filmed and episode.n_steps > 1 and store.artifacts.exists(episode.video or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A recording of a run that was left alone."""

    episode: Episode
    label: str
    """Of its condition and fault: not for those who watch."""
    said: tuple[Row, ...]
    """What people said of it, oldest first."""

    def latest(self, by: str | None = None) -> Diagnosis | None:
        """The opinion that counts: the latest of one person (`human:<name>`), or of all."""
        rows = [row for row in self.said if by is None or row.diagnoser == by]
        return Diagnosis.model_validate(rows[-1].body) if rows else None


def recordings(store: Store, run_id: str) -> list[Watched]:
    """The recordings of a run that can be watched, in an order that tells nothing of their faults."""
    plan = store.plan(run_id)
    labels = {link.identity: link.condition for link in plan if link.condition.startswith(_LEFT_ALONE)}
    tries = store.latest_tries(labels)
    found = sorted((episode for episode in tries.values() if watchable(store, episode)), key=lambda it: it.id)
    said = _reviews(store, [episode.id for episode in found])
    return [
        Watched(episode=episode, label=labels[episode.identity], said=tuple(said.get(episode.id, ())))
        for episode in found
    ]


def runs_to_watch(store: Store) -> list[str]:
    """Runs with episodes that were left alone, newest first."""
    with store.read() as session:
        query = (
            select(RunEpisode.run_id).where(RunEpisode.condition.startswith(_LEFT_ALONE, autoescape=True)).distinct()
        )
        known = set(session.scalars(query))
    return [run.id for run in store.runs() if run.id in known]


def _reviews(store: Store, episode_ids: Sequence[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    with store.read() as session:
        for start in range(0, len(episode_ids), 500):
            some = episode_ids[start : start + 500]
            query = select(Row).where(Row.trigger == REVIEW, Row.episode_id.in_(some))
            for row in session.scalars(query.order_by(Row.created_at, Row.id)):
                found.setdefault(row.episode_id, []).append(row)
    return found


def add_opinion(store: Store, episode: Episode, said: Mapping[str, Any], *, name: str) -> Row:
    """Add what a person says of a recording; who said something before adds a row, and the latest counts.

    Args:
        store: Where it is written down.
        episode: One that `watchable` holds for.
        said: Fields of `arena.diagnosis.schema.Diagnosis`. `step_now` is the last step that they saw, and not the
            episode's last: after that there is nothing to be mended.
        name: Who it is, 1 to 40 printable characters.

    Raises:
        InvalidReview: something of it cannot be taken in; names the field.
    """
    diagnoser = reviewer(name)
    opinion = _checked(said)
    if not watchable(store, episode):
        told = "cannot be watched: it must be finished, without a supervisor, with a video of every step"
        raise InvalidReview("episode", episode.id, told)
    if opinion.step_now > episode.n_steps - 2:
        raise InvalidReview("step_now", opinion.step_now, "must be a step of the recording, and before its last one")
    problems = validate_against(opinion, range(episode.n_steps), opinion.step_now)
    if problems:
        raise InvalidReview("diagnosis", "", "; ".join(problems))
    body = opinion.to_json()
    for _ in range(_TRIES):
        count = len([row for row in _reviews(store, [episode.id]).get(episode.id, ()) if row.diagnoser == diagnoser])
        row = Row(
            id=f"h-{digest([episode.id, diagnoser, count])}",
            episode_id=episode.id,
            step_index=opinion.step_now,
            trigger=REVIEW,
            diagnoser=diagnoser,
            fingerprint=digest(body),
            verdict=opinion.verdict,
            fault_class=opinion.fault_class,
            fault_type=opinion.fault_type,
            rollback_step=opinion.rollback_step,
            body=body,
        )
        try:
            store.add(row)
        except RowExists:  # the same person decided in another window meanwhile: this opinion is the later one
            continue
        return row
    raise InvalidReview("name", name[:60], "is reviewing this recording in several windows at once; use one of them")


def _checked(said: Mapping[str, Any]) -> Diagnosis:
    try:
        return Diagnosis.model_validate(said)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"]) or "diagnosis"
        given = "" if not fault["loc"] else str(fault["input"])[:60]
        raise InvalidReview(where, given, fault["msg"].removeprefix("Value error, ")) from None


def by_scene(watched: Iterable[Watched], condition: str) -> dict[tuple[str, int, str], Diagnosis]:
    """The opinions that count for a condition: (task, seed, label of the fault) -> opinion."""
    by = None if condition == HUMAN else condition
    found = {}
    for item in watched:
        opinion = item.latest(by)
        if opinion is not None:
            fault = item.label.partition(SEPARATOR)[2]
            found[item.episode.task_id, item.episode.seed, fault] = opinion
    return found
