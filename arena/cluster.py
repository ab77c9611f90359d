"""Trials on a Ray cluster instead of this machine's processes (`arena run --ray`, extra `ray`).

Every node needs the same installation and the same store: PostgreSQL and a shared artifact folder or bucket for a
cluster of machines; anything for one. RAY_ADDRESS names a running cluster; without it one is started here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from arena.errors import ArenaError
from arena.plan import Trial
from arena.trial import TrialRunner
from arena.workers import ONE_THREAD, Job, Progress, play_one


class RayMissing(ArenaError, ImportError):
    """The extra is not installed."""


def play_on_ray(job: Job, trials: list[Trial], *, workers: int, tell: Callable[[Progress], None]) -> None:
    """Play trials on Ray actors, one processor each; an actor that dies is restarted and its trial goes on.

    Raises:
        RayMissing: without the extra `ray`.
    """
    if not trials:
        return
    try:
        import ray
        from ray.util import ActorPool
    except ImportError as error:
        raise RayMissing(f"Ray is not installed ({error}); install it with: pip install 'rewind-arena[ray]'") from None

    address = os.environ.get("RAY_ADDRESS")
    started = not ray.is_initialized()
    if started:
        local: dict[str, Any] = {} if address else {"num_cpus": workers, "include_dashboard": False}
        environment = {"env_vars": dict.fromkeys(ONE_THREAD, "1")}
        ray.init(address=address, configure_logging=False, log_to_driver=False, runtime_env=environment, **local)
    try:
        # Retried for ever, because a trial is idempotent: a second try finds what the first made durable.
        actor = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Player)
        pool = ActorPool([actor.remote(job) for _ in range(workers)])
        for progress in pool.map_unordered(lambda player, trial: player.play.remote(trial), trials):
            tell(progress)
    finally:
        if started:
            ray.shutdown()


class _Player:
    """One actor: a store of its own, and environments that are kept from trial to trial."""

    def __init__(self, job: Job) -> None:
        job.scratch.mkdir(parents=True, exist_ok=True)
        self._runner = TrialRunner(job.location.open(migrate=False), job.plan, job.scratch)

    def play(self, trial: Trial) -> Progress:
        """Bring a trial to its end."""
        return play_one(self._runner, trial)
