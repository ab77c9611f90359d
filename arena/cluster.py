"""Trials on a Ray cluster instead of this machine's processes (`arena run --ray`, extra `ray`).

Every node needs the same installation and the same store: PostgreSQL and a shared artifact folder or bucket for a
cluster of machines; anything for one. RAY_ADDRESS names a running cluster; without it one is started here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arena.errors import ArenaError, WorkersDied
from arena.plan import Trial
from arena.trial import TrialRunner
from arena.workers import MAX_CRASHES, ONE_THREAD, Job, Progress, play_one


class RayMissing(ArenaError, ImportError):
    """The extra is not installed."""


def play_on_ray(job: Job, trials: list[Trial], *, workers: int, tell: Callable[[Progress], None]) -> None:
    """Play trials on Ray actors, one processor each; an actor that dies is restarted and its trial goes on.

    Args:
        job: What every actor needs to know; its scratch folder is not used, since it is this machine's.
        trials: What to play.
        workers: Actors at most; 0 takes the cluster's processors.
        tell: Told about every trial that has come to its end.

    Raises:
        CannotRecord: if results can no longer be written.
        RayMissing: without the extra `ray`.
        WorkersDied: if an actor dies more than `MAX_CRASHES` times, or its node is lost for good.
    """
    if not trials:
        return
    try:
        import ray
        from ray.exceptions import RayActorError
        from ray.util import ActorPool
    except ImportError as error:
        raise RayMissing(f"Ray is not installed ({error}); install it with: pip install 'rewind-arena[ray]'") from None

    address = os.environ.get("RAY_ADDRESS")
    started = not ray.is_initialized()
    if started:
        local: dict[str, Any] = {} if address else {"num_cpus": workers or None, "include_dashboard": False}
        environment = {"env_vars": dict.fromkeys(ONE_THREAD, "1")}
        ray.init(address=address, configure_logging=False, log_to_driver=False, runtime_env=environment, **local)
    try:
        # An actor without a processor would stay pending, and the trial that it was given with it.
        processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
        count = min(workers or processors, processors, len(trials))
        # Retried, because a trial is idempotent: a second try finds what the first made durable. But not for ever:
        # there are trials that kill whoever plays them.
        actor = ray.remote(num_cpus=1, max_restarts=MAX_CRASHES, max_task_retries=MAX_CRASHES)(_Player)
        pool = ActorPool([actor.remote(job) for _ in range(count)])
        try:
            for progress in pool.map_unordered(lambda player, trial: player.play.remote(trial), trials):
                tell(progress)
        except RayActorError as error:
            raise WorkersDied(
                f"a Ray actor died and was not restarted again (at most {MAX_CRASHES} times): "
                f"{str(error).strip().splitlines()[0]}; see whether its node is lost or out of memory, or play on this "
                "machine without --ray. What is recorded is whole: the same command goes on from here"
            ) from None
    finally:
        if started:
            ray.shutdown()


class _Player:
    """One actor: a store of its own, and environments that are kept from trial to trial."""

    def __init__(self, job: Job) -> None:
        # Of this node: the folder that the job names lies on the machine that started the run. Each episode makes and
        # removes a temporary folder in it; one that lived as long as the actor would stay, for Ray just kills actors.
        self._runner = TrialRunner(job.location.open(migrate=False), job.plan, Path(tempfile.gettempdir()))

    def play(self, trial: Trial) -> Progress:
        """Bring a trial to its end."""
        return play_one(self._runner, trial)
