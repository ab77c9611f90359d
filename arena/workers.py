"""Worker processes that play trials, and what happens when one of them, or their parent, dies."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path

from arena.location import Location
from arena.plan import Plan, Trial
from arena.trial import TrialRunner
from storage.models import Episode
from storage.store import Store

log = logging.getLogger(__name__)

MAX_CRASHES = 5
"""Worker processes that may die within one run before it gives up."""

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
        BrokenProcessPool: after `MAX_CRASHES` deaths.
    """
    if not trials:
        return
    job.scratch.mkdir(parents=True, exist_ok=True)
    if workers == 0:
        with contextlib.closing(TrialRunner(store, job.plan, job.scratch)) as runner:
            for trial in trials:
                tell(_play(runner, trial))
        return
    left = list(trials)
    for crash in range(MAX_CRASHES + 1):
        left = _round(job, left, workers, tell)
        if not left:
            return
        log.warning("a worker process died (%d of at most %d); %d trials go on", crash + 1, MAX_CRASHES, len(left))
    raise BrokenProcessPool(f"{MAX_CRASHES + 1} worker processes died; {len(left)} trials are left")


def _round(job: Job, trials: list[Trial], workers: int, tell: Callable[[Progress], None]) -> list[Trial]:
    """Play trials in a fresh pool; those that are left when a worker dies are returned."""
    # Not fork: OpenGL contexts, threads and database connections do not survive it.
    context = multiprocessing.get_context("spawn")
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")  # inherited by the workers
    receiver, sender = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(job, receiver))
    futures: dict[Future[Progress], Trial] = {pool.submit(_play_in_worker, trial): trial for trial in trials}
    left = dict.fromkeys(futures)
    try:
        for future in as_completed(futures):
            tell(future.result())
            left.pop(future)
    except BrokenProcessPool:
        return [futures[future] for future in left]
    except BaseException:
        sender.close()  # workers still at it end at once: what is durable is enough to go on from
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        sender.close()
        receiver.close()
    return []


_runner: TrialRunner


def _start_worker(job: Job, lifeline: Connection) -> None:
    """Prepare a worker process; it ends with its parent, whichever way that ends."""
    global _runner
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent, which closes the lifeline
    parent = multiprocessing.parent_process()
    sentinels: list[Connection | int] = [lifeline]
    if parent is not None:
        sentinels.append(parent.sentinel)
    threading.Thread(target=_end_with, args=(sentinels,), daemon=True).start()
    store = job.location.open(migrate=False)
    _runner = TrialRunner(store, job.plan, job.scratch)


def _end_with(sentinels: list[Connection | int]) -> None:
    wait(sentinels)
    os._exit(1)


def _play_in_worker(trial: Trial) -> Progress:
    return _play(_runner, trial)


def _play(runner: TrialRunner, trial: Trial) -> Progress:
    episodes: list[Episode] = []
    runner.on_episode = episodes.append
    error = ""
    try:
        runner.run(trial)
    except Exception:  # noqa: BLE001  a bug in one game must not end the other games' episodes
        error = traceback.format_exc()
        runner.close()
    return Progress(trial, [(episode.id, episode.outcome, episode.score) for episode in episodes], error)
