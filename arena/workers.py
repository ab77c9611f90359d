"""Worker processes that play trials, and what happens when one of them, or their parent, dies."""

from __future__ import annotations

import contextlib
import errno
import logging
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path

from sqlalchemy.exc import OperationalError

from arena.errors import CannotRecord, WorkersDied
from arena.location import Location
from arena.plan import Plan, Trial
from arena.trial import TrialRunner
from storage.errors import DatabaseUnreachable
from storage.models import Episode
from storage.store import Store

log = logging.getLogger(__name__)

MAX_CRASHES = 5
"""Times in a row that workers may die without a trial coming to its end, before the run gives up."""

_NO_STORAGE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""What the system says when it is the storage that fails, and not a trial."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "LP_NUM_THREADS")
"""Libraries that would each use every processor: workers share the processors among episodes instead."""


@dataclass(frozen=True, slots=True)
class Job:
    """What every worker needs to know."""

    location: Location
    plan: Plan
    scratch: Path


@dataclass(frozen=True, slots=True)
class Progress:
    """A trial that has come to its end, and what was played for it just now."""

    trial: Trial
    episodes: list[tuple[str, str | None, float | None]]
    """(episode id, outcome, score)"""
    error: str = ""
    """The trace of an error that nobody expected; the trial is not done, the others go on."""


def play_trials(job: Job, trials: list[Trial], store: Store, *, workers: int, tell: Callable[[Progress], None]) -> None:
    """Play trials to their end; `workers=0` plays them in this process, through `store`.

    A worker that dies (a crash in a graphics driver, the kernel out of memory) takes nothing with
    it: the trial is taken up again after its last durable step.

    Raises:
        CannotRecord: if results can no longer be written.
        WorkersDied: after `MAX_CRASHES` deaths in a row.
    """
    if not trials:
        return
    try:
        job.scratch.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRecord(f"no folder for unfinished videos: {error}") from None
    if workers == 0:
        checks = job.location.rollback_checks
        with contextlib.closing(TrialRunner(store, job.plan, job.scratch, checks)) as runner:
            for trial in trials:
                tell(play_one(runner, trial))
        return
    left, crashes = list(trials), 0
    while left:
        before = len(left)
        left = _round(job, left, workers, tell)
        if not left:
            return
        crashes = 1 if len(left) < before else crashes + 1
        if crashes > MAX_CRASHES:
            names = ", ".join(trial.first.identity for trial in left[:5]) + (", ..." if len(left) > 5 else "")
            raise WorkersDied(
                f"worker processes died {crashes} times in a row without finishing a trial; {len(left)} trials are "
                f"left: {names}; see whether the machine is out of memory, or play in one process with --workers 0"
            )
        log.warning("a worker process died; %d trials go on from their last step", len(left))
        # Those that were under way go last: one that kills its worker each time holds up no other.
        left = left[workers:] + left[:workers]


def _round(job: Job, trials: list[Trial], workers: int, tell: Callable[[Progress], None]) -> list[Trial]:
    """Play trials in a fresh pool; those that are left when a worker dies are returned."""
    # Not fork: OpenGL contexts, threads and database connections do not survive it.
    context = multiprocessing.get_context("spawn")
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")  # inherited by the workers
    receiver, sender = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(job, receiver))
    left: dict[Future[Progress], Trial] = {}
    try:
        with _interrupts_held():
            left.update((pool.submit(_play_in_worker, trial), trial) for trial in trials)
        for future in as_completed(list(left)):
            tell(future.result())
            left.pop(future)
    except BrokenProcessPool:
        return list(left.values())
    except BaseException:
        sender.close()  # workers still at it end at once: what is durable is enough to go on from
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        sender.close()
        receiver.close()
    return []


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Start processes that never see Ctrl-C: they inherit the mask, and the parent, which closes the lifeline, is told.

    Without it an interrupt that comes while they are still importing makes each of them print a trace.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_job: Job
_runner: TrialRunner | None = None


def _start_worker(job: Job, lifeline: Connection) -> None:
    """Prepare a worker process; it ends with its parent, whichever way that ends."""
    global _job
    parent = multiprocessing.parent_process()
    sentinels: list[Connection | int] = [lifeline]
    if parent is not None:
        sentinels.append(parent.sentinel)
    threading.Thread(target=_end_with, args=(sentinels,), daemon=True).start()
    _job = job


def _end_with(sentinels: list[Connection | int]) -> None:
    wait(sentinels)
    os._exit(1)


def _play_in_worker(trial: Trial) -> Progress:
    global _runner
    if _runner is None:  # not in the initializer, whose errors reach nobody
        place = _job.location
        _runner = TrialRunner(place.open(migrate=False), _job.plan, _job.scratch, place.rollback_checks)
    return play_one(_runner, trial)


def play_one(runner: TrialRunner, trial: Trial) -> Progress:
    """Bring a trial to its end, whatever it takes; an error of the program is reported, not raised.

    Raises:
        CannotRecord: if results can no longer be written.
    """
    episodes: list[Episode] = []
    error = ""
    try:
        runner.run(trial, episodes.append)
    except Exception as bug:  # noqa: BLE001  a bug in one game must not end the other games' episodes
        runner.close()
        if _is_storage_failing(bug):  # which would meet every other trial too
            raise CannotRecord(
                f"{type(bug).__name__}: {bug}, while recording in {runner.store!r}\n"
                "The run stopped; what was recorded is whole. Free space or mend the storage, and start the same "
                "command again: it goes on from here."
            ) from None
        error = traceback.format_exc()
    return Progress(trial, [(episode.id, episode.outcome, episode.score) for episode in episodes], error)


def _is_storage_failing(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, DatabaseUnreachable | OperationalError) or getattr(error, "errno", None) in _NO_STORAGE:
            return True
        error = error.__cause__ or error.__context__
    return False
