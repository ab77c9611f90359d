"""Probings in the store: which episodes are asked about, what is asked already, and the rows of the rest."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

import environments
from agents.coordinates import Convention
from agents.errors import ProviderError
from arena import run as running
from arena.errors import NotEnoughData
from arena.experiment import parse
from arena.identity import derived_seed, digest
from arena.location import Location
from arena.models import ModelOptions
from arena.plan import Plan
from arena.probing.prober import Prober, as_json, is_right
from arena.probing.question import KINDS, Kind, Question, shuffled
from arena.probing.recording import Recording
from arena.probing.sets import questions
from arena.recorder import record_calls
from arena.workers import Progress
from environments.errors import UnknownTask
from environments.task import IRREVERSIBLE, NO_EXPERT, Task
from storage.models import Episode, ProbeAnswer
from storage.store import Store

log = logging.getLogger(__name__)

EPISODES = 16
"""Episodes that a probing looks at, unless there are more tasks: then one of each."""
PLAYED = "probe-recordings"
"""Name of the runs that are played for tasks without a recording."""
_MAX_STEPS = 120

Track = Callable[[Sequence[Question]], Iterable[Question]]


@dataclass(frozen=True, slots=True)
class Probing:
    """What was asked, and what is known of it now."""

    id: str
    asked: list[tuple[Question, ProbeAnswer]]
    missing: int
    """Questions without an answer because the model's side failed; the same call again asks these alone."""
    episodes: dict[str, Recording]
    """What was asked about, by the episode's id."""


def of_run(store: Store, run_id: str) -> list[Episode]:
    """The finished episodes of a run that have a video, and whose tasks this version has."""
    return [episode for episode in store.episodes(run_id, status="finished") if _can_be_shown(episode)]


def of_tasks(store: Store, location: Location, tasks: Sequence[Task]) -> list[Episode]:
    """The finished episodes of tasks; where a task has none, two of its expert's and two at random are played first.

    Of several tasks, those of which there is and can be no recording are told and left out.

    Raises:
        NotEnoughData: there is no recording, and none can be played: why, for each task.
    """
    found: list[Episode] = []
    problems: list[str] = []
    for task in tasks:
        episodes = [e for e in store.episodes(task_id=task.id, status="finished") if _can_be_shown(e)]
        try:
            found += episodes or _played(store, location, task)
        except NotEnoughData as error:
            problems.append(str(error))
    if not found:
        raise NotEnoughData("\n".join(problems))
    for problem in problems:
        log.warning("%s", problem)
    return found


def probe(
    store: Store,
    episodes: Sequence[Episode],
    model: ModelOptions,
    *,
    coordinates: Convention = "pixel",
    kinds: Collection[Kind] = KINDS,
    per_kind: int = 48,
    seed: int = 0,
    track: Track = iter,
) -> Probing:
    """Ask a model about some episodes. What it was asked before, in the same way, is not asked again.

    Args:
        store: Where the episodes are, and the answers go.
        episodes: Finished ones with a video; if they are many, a seeded choice of them over all tasks.
        model: Who is asked.
        coordinates: What the model's numbers mean, where it is asked for a place.
        kinds: What to ask.
        per_kind: How much; see `questions`.
        seed: Decides what is asked.
        track: Wraps the questions that are still to be asked, for a progress bar.

    Raises:
        NotEnoughData: if the episodes give no question.
    """
    prober = Prober(model, coordinates)
    probing = _name(prober)
    recordings = {e.id: Recording(store, e, seed) for e in _chosen(episodes, seed)}
    wanted = questions(list(recordings.values()), kinds=kinds, per_kind=per_kind, seed=seed)
    if not wanted:
        raise NotEnoughData(
            f"{len(recordings)} episodes give no question of {', '.join(kinds)}; probe episodes that are longer, or"
            " another kind"
        )
    known = {row.id: row for row in store.probe_answers(probing)}
    ids = {question.id: f"p-{digest([probing, question.id])}" for question in wanted}
    for question in track([question for question in wanted if ids[question.id] not in known]):
        row = _asked(store, prober, recordings[question.episode_id], question, ids[question.id])
        if row is not None:
            known[row.id] = row
    asked = [(question, known[ids[question.id]]) for question in wanted if ids[question.id] in known]
    return Probing(probing, asked, len(wanted) - len(asked), recordings)


def _name(prober: Prober) -> str:
    """What all answers of a model that is asked in one way are kept under, whatever set of questions they belong to."""
    return f"q-{digest(prober.fingerprint())}"


def _asked(store: Store, prober: Prober, recording: Recording, question: Question, row_id: str) -> ProbeAnswer | None:
    """The row of a question that was asked now; None if the model's side failed, whose calls are recorded then."""
    try:
        answer = prober.ask(question, recording.task, recording.load)
    except ProviderError as error:
        record_calls(store, error.calls, question.episode_id)
        log.warning("%s about %s: %s: %s", question.form, question.episode_id, type(error).__name__, error)
        return None
    row = ProbeAnswer(
        id=row_id,
        probing=_name(prober),
        fingerprint=digest(prober.fingerprint()),
        kind=question.kind,
        name=question.form,
        task_id=question.task_id,
        episode_id=question.episode_id,
        frames=list(question.frames),
        question=question.text,
        options=list(question.options),
        truth=as_json(question.truth),
        answer=as_json(answer.said),
        correct=None if answer.said is None else is_right(question, answer.said),
        status=answer.status,
        model=prober.name,
        call_id=answer.calls[-1].id,
    )
    record_calls(store, answer.calls, question.episode_id, row)
    return row


def _can_be_shown(episode: Episode) -> bool:
    try:
        environments.get(episode.task_id)
    except UnknownTask:
        return False
    return episode.video is not None and episode.video_info.get("n_frames", 0) > 0


def _chosen(episodes: Sequence[Episode], seed: int) -> list[Episode]:
    """So many as are looked at, from all tasks in turn."""
    by_task: dict[str, list[Episode]] = {}
    for episode in sorted(episodes, key=lambda episode: episode.id):
        by_task.setdefault(episode.task_id, []).append(episode)
    mixed = [shuffled(some, _chance(task_id, seed)) for task_id, some in sorted(by_task.items())]
    turns = [episode for turn in zip_longest(*mixed) for episode in turn if episode is not None]
    return turns[: max(EPISODES, len(by_task))]


def _chance(task_id: str, seed: int) -> np.random.Generator:
    return np.random.default_rng(derived_seed(task_id, f"{seed} episodes"))


def _played(store: Store, location: Location, task: Task) -> list[Episode]:
    """Episodes of a task of which there are none, in a run of their own.

    Raises:
        NotEnoughData: none can be played, or its world is a program that is not started for this.
    """
    if IRREVERSIBLE in task.tags:
        raise NotEnoughData(f"{task.id} has no recorded episode, and is not started to get one: play it first")
    experiment = {
        "name": PLAYED,
        "tasks": [task.id],
        "spaces": [task.spaces[0].value],
        "seeds": 2,
        "agents": ["random"] if NO_EXPERT in task.tags else ["scripted", "random"],
        "conditions": ["single"],
        "limits": {"max_steps": min(task.max_steps, _MAX_STEPS)},
    }
    problems = _Problems()
    run_id = running.run(parse(json.dumps(experiment), PLAYED), store, location, workers=0, observer=problems)
    found = of_run(store, run_id)
    if not found:
        told = problems.last or "nothing that was played came to its end"
        raise NotEnoughData(f"{task.id} has no recorded episode, and none could be played: {told}")
    return found


class _Problems:
    """Implements `arena.run.Observer`: remembers what went wrong while nobody watches."""

    def __init__(self) -> None:
        self.last = ""
        """The last line of the last error."""

    def planned(self, plan: Plan, *, done: int) -> None:
        """Nothing to note."""

    def checking(self, task_id: str, number: int, of: int) -> None:
        """Nothing to note."""

    def finished(self, progress: Progress) -> None:
        """Note an error of the program."""
        if progress.error:
            self.last = progress.error.strip().splitlines()[-1]
