"""Determinism certificates: the same seed and actions in fresh processes give the same frames and states.

A certificate is made by playing a mixture of expert and random actions here, and replaying the actions in three
processes of their own, each with another hash seed: two from the start, and one from a snapshot taken half-way. The
certificates that the package ships were made on one machine; certifying elsewhere compares with them too.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import environments
from environments.certificates import Certificate, shipped
from environments.env import ArenaEnv
from environments.errors import EnvironmentsError
from environments.task import IRREVERSIBLE, ActionSpace, Task

SEEDS = (0, 1)
STEPS = 60
"""Steps of each seed; a game that ends before is shorter."""
PROCESSES = 3
_EXPERT_SHARE = 0.7
_TIMEOUT_S = 600.0

Moments = list[list[str]]
"""Frame hash and state hash, at the start and after each step."""


@dataclass(frozen=True, slots=True)
class Certification:
    """What came of certifying one task."""

    task: str
    certificate: Certificate | None = None
    """None if it could not be made."""
    differences: tuple[str, ...] = ()
    """Where a fresh process saw or was something else."""
    elsewhere: str = ""
    """How the shipped certificate differs, which was made on another machine: a note, no failure."""
    skipped: str = ""
    """Why it was not tried, or empty."""

    @property
    def passed(self) -> bool:
        """Whether every fresh process agreed."""
        return self.certificate is not None and not self.differences

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "passed": self.passed}


@dataclass(slots=True)
class _Script:
    """What is played, and what was seen here."""

    seed: int
    actions: list[Any] = field(default_factory=list)
    moments: Moments = field(default_factory=list)
    half: int = 0
    snapshot: bytes = b""


def certify(task: Task, *, seeds: Sequence[int] = SEEDS, steps: int = STEPS) -> Certification:
    """Play a task here and replay it in fresh processes.

    Args:
        task: one with a semantic or native space; a program that cannot go back to a snapshot is skipped.
        seeds: the episodes to play.
        steps: of each episode, at most.
    """
    if IRREVERSIBLE in task.tags:
        return Certification(task.id, skipped="it is somebody else's program, which cannot be brought back to a moment")
    space = next((space for space in (ActionSpace.SEMANTIC, ActionSpace.NATIVE) if space in task.spaces), None)
    if space is None:
        return Certification(task.id, skipped="it has neither a semantic nor a native space to be replayed behind")
    try:
        scripts = [_play(task, space, seed, steps) for seed in seeds]
    except EnvironmentsError as error:
        return Certification(task.id, skipped=str(error))
    jobs = [(script, "" if number < PROCESSES - 1 else "half") for number in range(PROCESSES) for script in scripts]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = list(pool.map(lambda job: _compare(task, space, *job), jobs))
    certificate = Certificate(
        seeds=tuple(seeds),
        steps=tuple(len(script.actions) for script in scripts),
        frames=_digest(moment[0] for script in scripts for moment in script.moments),
        states=_digest(moment[1] for script in scripts for moment in script.moments),
        machine=machine(),
    )
    differences = tuple(difference for difference in found if difference)
    return Certification(task.id, certificate, differences, _compared(certificate, shipped(task.id)))


def machine() -> str:
    """The platform and the libraries that draw, in a few words."""
    from PIL import __version__ as pillow

    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{system}, NumPy {np.__version__}, Pillow {pillow}"


def _compared(new: Certificate, old: Certificate | None) -> str:
    if old is None or old.seeds != new.seeds:
        return ""
    kinds = [kind for kind in ("states", "frames") if getattr(old, kind) != getattr(new, kind)]
    return f"{' and '.join(kinds)} differ from the shipped certificate ({old.machine})" if kinds else ""


def _play(task: Task, space: ActionSpace, seed: int, steps: int) -> _Script:
    script = _Script(seed)
    env = task.make(space)
    try:
        rng = np.random.default_rng(seed)
        observation, _ = env.reset(seed=seed)
        env.action_space.seed(seed)
        script.moments.append(_moment(env, observation))
        for number in range(steps):
            if number == steps // 4:
                script.half, script.snapshot = number, env.snapshot()
            expert = rng.random() < _EXPERT_SHARE
            action = env.action_space.parse(env.expert_action() if expert else env.action_space.sample())
            observation, _, over, _, _ = env.step(action)
            script.actions.append(action)
            script.moments.append(_moment(env, observation))
            if over:
                break
    finally:
        env.close()
    return script


def _compare(task: Task, space: ActionSpace, script: _Script, start: str) -> str:
    """Replay a script in a process of its own; the first difference, or nothing."""
    from_half = bool(start and script.snapshot)
    first = script.half if from_half else 0
    request = {
        "task": task.id,
        "space": str(space),
        "seed": script.seed,
        "snapshot": script.snapshot.hex() if from_half else "",
        "actions": script.actions[first:],
    }
    # Another hash seed in every process: an order that hangs on it shows.
    environment = {**os.environ, "PYTHONHASHSEED": str(1 + script.seed * 7 + len(start))}
    done = subprocess.run(
        [sys.executable, "-m", "arena.certification"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(environments.__file__).parents[1],
        timeout=_TIMEOUT_S,
        check=False,
    )
    where = f"seed {script.seed}{' from a snapshot' if from_half else ''}"
    if done.returncode:
        return f"{where}: the process failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}"
    replayed: Moments = json.loads(done.stdout)
    for step, (was, now) in enumerate(zip(script.moments[first:], replayed, strict=True), first):
        kinds = [kind for kind, a, b in zip(("frame", "state"), was, now, strict=True) if a != b]
        if kinds:
            return f"{where}: {' and '.join(kinds)} of step {step} differ"
    return ""


def _moment(env: ArenaEnv, observation: Any) -> list[str]:
    return [hashlib.sha256(observation[env.main_view].tobytes()).hexdigest(), env.state_hash()]


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def main() -> None:
    """Replay what standard input asks for, and print the moments: the fresh process's side."""
    request = json.load(sys.stdin)
    env = environments.make(request["task"], request["space"])
    try:
        if request["snapshot"]:
            observation: Any = env.restore(bytes.fromhex(request["snapshot"]))
        else:
            observation, _ = env.reset(seed=request["seed"])
        moments = [_moment(env, observation)]
        for action in request["actions"]:
            observation, *_ = env.step(action)
            moments.append(_moment(env, observation))
    finally:
        env.close()
    json.dump(moments, sys.stdout)


if __name__ == "__main__":
    main()
