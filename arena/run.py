"""A whole run: what is left of the plan, played by worker processes, resumable at any moment."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from arena import plan
from arena.cluster import play_on_ray
from arena.conditions import Condition
from arena.experiment import Experiment
from arena.judging import JudgeConfig
from arena.location import Location
from arena.plan import Attempt, Plan, Trial
from arena.review import is_judged
from arena.rollback_check import RollbackChecks
from arena.rounds import Rounds
from arena.trial import is_done, rests_on_rollback
from arena.workers import Job, Progress, play_trials
from environments.task import ONE_AT_A_TIME
from storage.errors import RunBusy, StorageError
from storage.models import Episode, Run
from storage.store import Store

log = logging.getLogger(__name__)

Finals = Mapping[tuple[str, str], set[str]]
"""By condition and trial: the identities that the store says are reported. That row is the last that a trial writes."""


class Observer(Protocol):
    """Who is told how a run goes on."""

    def planned(self, plan: Plan, *, done: int) -> None:
        """The plan is made; `done` of its trials and tutorials need nothing more."""
        ...

    def checking(self, task_id: str, number: int, of: int) -> None:
        """A task is tested for exact rollback, the `number`th (from 1) of so many; it takes some seconds."""
        ...

    def finished(self, progress: Progress) -> None:
        """A trial (with its retries) or a tutorial has come to its end."""
        ...


@dataclass(frozen=True, slots=True)
class Status:
    """How much of a plan is done."""

    pending_tutorials: list[Attempt]
    pending_trials: list[Trial]
    done: int


def status(store: Store, wanted: Plan) -> Status:
    """What of a plan is still to be played, judged or retried."""
    first = [*wanted.tutorials.values(), *(trial.first for trial in wanted.trials)]
    tries = store.latest_tries([attempt.identity for attempt in first])
    tutorials = [
        attempt
        for attempt in wanted.tutorials.values()
        if not is_done(tries.get(attempt.identity))
        or not _judged(store, _demonstration(attempt).judges, tries.get(attempt.identity))
    ]
    finals: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for link in store.plan(wanted.run_id):
        if link.final:
            finals[link.condition, link.trial].add(link.identity)
    trials = [
        trial
        for trial in wanted.trials
        if not _trial_done(store, wanted, finals, trial, tries.get(trial.first.identity))
    ]
    return Status(tutorials, trials, len(first) - len(tutorials) - len(trials))


def run(
    experiment: Experiment,
    store: Store,
    location: Location,
    *,
    workers: int | None = None,
    on_ray: bool = False,
    observer: Observer | None = None,
) -> str:
    """Play what is left of an experiment and return the run's id.

    The same call continues where an earlier one was cut off: nothing that is finished is repeated,
    and an episode that was under way goes on after its last durable step.

    Args:
        experiment: The validated experiment.
        store: Where the results go.
        location: The same place, for the workers to open; its scratch folder takes unfinished videos.
        workers: Processes; None takes the processors, 0 plays in this process. A world of which there is one, such as a
            robot, is played by one process whatever is said here.
        on_ray: Play on a Ray cluster, with `workers` actors (see arena/cluster.py).
        observer: Told about the plan and about every finished trial.

    Raises:
        InvalidExperiment: if an episode that it names as a tutorial cannot serve as one.
        RunBusy: if another process is at this run.
        CannotRecord: if results can no longer be written.
        WorkersDied: if worker processes die one after another.
    """
    wanted = plan.build(experiment)
    wanted.check_recorded(store)
    scratch = location.scratch / wanted.run_id
    with store.run_lock(wanted.run_id):
        shutil.rmtree(scratch, ignore_errors=True)
        _clean(store, location.scratch)
        store.begin_run(
            Run(id=wanted.run_id, name=experiment.name, experiment=experiment.model_dump(mode="json"), host=host())
        )
        known = {(link.condition, link.identity) for link in store.plan(wanted.run_id)}
        store.link([link for link in wanted.links() if (link.condition, link.identity) not in known])
        left = status(store, wanted)
        if observer:
            observer.planned(wanted, done=left.done)
        job = Job(location=location, plan=wanted, scratch=scratch)
        count = len(os.sched_getaffinity(0)) if workers is None else workers
        if any(ONE_AT_A_TIME in trial.first.task.tags for trial in wanted.trials):
            count = min(count, 1)
        tell = observer.finished if observer else lambda progress: None
        try:
            if not on_ray:  # the machines of a cluster test for themselves
                _check_rollbacks(store, location, left.pending_trials, observer)
            # Reflections look at the tutorials, so these come first.
            for batch in ([_demonstration(attempt) for attempt in left.pending_tutorials], left.pending_trials):
                if on_ray:
                    play_on_ray(job, batch, workers=max(1, min(count, len(batch))), tell=tell)
                else:
                    play_trials(job, batch, store, workers=min(count, len(batch)), tell=tell)
        except BaseException:
            with contextlib.suppress(StorageError):  # the storage itself may be what failed
                store.finish_run(wanted.run_id, "interrupted")
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        store.finish_run(wanted.run_id, "interrupted" if status(store, wanted).pending_trials else "finished")
    return wanted.run_id


def _check_rollbacks(store: Store, location: Location, trials: Sequence[Trial], observer: Observer | None) -> None:
    """Test the tasks whose diagnoses are scored by going back, unless they have been tested on this machine.

    One that fails is told by the worker that comes to its first trial: only its own trials end.
    """
    firsts = [trial.first for trial in trials if rests_on_rollback(trial.first)]
    tries = store.latest_tries([first.identity for first in firsts])
    checks = RollbackChecks(location.rollback_checks)
    tasks = {first.task.id: first.task for first in firsts if not is_done(tries.get(first.identity))}
    left = [task for task in tasks.values() if not checks.known(task)]
    for number, task in enumerate(left, 1):
        if observer:
            observer.checking(task.id, number, len(left))
        try:
            checks.require(task)
        except Exception as error:  # noqa: BLE001  a bug in one task must not end the others; its first trial meets it
            log.info("%s: %s: %s", task.id, type(error).__name__, error)


def host() -> dict[str, Any]:
    """What produced the results: versions and the machine; no name of a user or a machine."""
    packages = ("rewind-arena", "gymnasium", "numpy", "mujoco", "robosuite", "pillow", "litellm", "openai", "av")
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "packages": versions,
    }


def _demonstration(attempt: Attempt) -> Trial:
    return Trial(first=attempt, conditions=(), judges=(JudgeConfig(),))


def _trial_done(store: Store, wanted: Plan, finals: Finals, trial: Trial, episode: Episode | None) -> bool:
    if not is_done(episode) or not _judged(store, trial.judges, episode):
        return False
    return all(
        finals[label, name] == {identity}
        for condition in trial.retries
        for label, name, identity in _reported(store, wanted, trial, condition, episode)
    )


def _reported(
    store: Store, wanted: Plan, trial: Trial, condition: Condition, episode: Episode | None
) -> Iterator[tuple[str, str, str | None]]:
    """What a condition reports of a trial: label, name of the trial, and the identity of the round.

    One of the trial itself, and one for each held-out seed on which its lesson is tried. The identity is None while
    that round, or one before it, is not at its end.
    """

    def ended(attempt: Attempt) -> Episode | None:
        found = store.latest_tries([attempt.identity]).get(attempt.identity)
        return found if is_done(found) and _judged(store, trial.judges, found) else None

    if episode is None:
        return
    rounds = Rounds.begin(trial.first, condition, wanted.tutorial(trial.first, condition), episode)
    while not rounds.over:
        attempt = rounds.following()
        played = ended(attempt)
        if played is None:
            yield condition.label, trial.first.identity, None
            return
        rounds.played(attempt, played)
    yield condition.label, trial.first.identity, rounds.attempts[-1].identity
    learned = rounds.learned()
    if learned is None:
        return
    for before in wanted.held_out(trial.first, condition):
        after = plan.transfer(learned, before)
        whole = ended(before) is not None and ended(after) is not None
        yield condition.held_out_label, before.identity, after.identity if whole else None


def _judged(store: Store, judges: Sequence[JudgeConfig], episode: Episode | None) -> bool:
    return episode is None or all(is_judged(store, episode, judge) for judge in judges)


def _clean(store: Store, scratch: Path) -> None:
    """Remove what killed runs have left: a folder belongs to whoever holds the lock of the run that it is named by."""
    for folder in list(scratch.iterdir()) if scratch.is_dir() else []:
        with contextlib.suppress(RunBusy), store.run_lock(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
