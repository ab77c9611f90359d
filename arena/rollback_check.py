"""Does a task go back exactly? A self-test of rollback on this machine, made before a diagnosis is scored by it.

An episode is played here. Then the world is taken back to ten or more of its moments, some of them while the hand
holds on to something, in three ways: after a reset to another episode, in a world that was built anew, and in another
process. From each moment the same actions must lead to the same states and the same pictures, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import environments
from arena.certification import machine
from arena.errors import InexactRollback
from arena.files import put
from arena.identity import digest
from environments.env import ArenaEnv
from environments.errors import EnvironmentsError, InfrastructureError
from environments.task import IRREVERSIBLE, NO_EXPERT, ActionSpace, Task

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv

VERSION = 1
"""Raise it with any change of what is tested: what passed an older test is tested again."""
SEED, OTHER_SEED = 10_107, 10_108
"""The episode that is played, and the one that lies between it and going back; no public seeds."""
STEPS, AHEAD = 75, 3
"""Steps of the episode at most, and steps played on from each moment."""
POINTS, HOLDING = 10, 2
"""Moments, spread evenly; and further ones where the gripper is told to hold, if it ever is."""
_TUMBLE = 12
"""Steps at the end that are played by chance: the hand then turns and opens as no expert would let it."""
_EXPERT_SHARE = 0.7
_DOWN, _CLOSE, _UP = 16, 28, 40
"""Without an expert: steps at which the hand goes down, closes and rises again."""
_ABOVE_M = 0.12
_PACKAGES = ("rewind-arena", "gymnasium", "numpy", "mujoco", "robosuite", "hf-libero", "scipy")
_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class RollbackCheck:
    """What came of testing one task."""

    task: str
    points: int = 0
    """Moments that it was taken back to, in three ways each."""
    holding: int = 0
    """Of them, those at which the gripper was told to hold something."""
    differences: tuple[str, ...] = ()
    """Where it was not the same: none means that the task goes back exactly."""
    skipped: str = ""
    """Why it was not tried, or empty."""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether it goes back exactly."""
        return self.points > 0 and not self.differences

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "passed": self.passed}


Seen = list[str]
"""State hashes at a moment and after each step from there, and at the end the hash of all pictures."""


@dataclass(slots=True)
class _Episode:
    """What was played, and what it was like at the moments."""

    actions: list[Any] = field(default_factory=list)
    closed: list[bool] = field(default_factory=list)
    """Whether the gripper had been told to close before that step."""
    snapshots: dict[int, bytes] = field(default_factory=dict)
    """By step: the moment before it."""
    seen: dict[int, Seen] = field(default_factory=dict)

    def points(self) -> list[int]:
        """Steps whose beginnings are gone back to."""
        last = len(self.actions) - AHEAD
        spread = {round(at) for at in np.linspace(0, last, min(POINTS, last + 1))} if last >= 0 else set()
        held = [at for at in range(last + 1) if self.closed[at] and at not in spread]
        return sorted({*spread, *(held[(i + 1) * len(held) // (HOLDING + 1)] for i in range(HOLDING) if held)})

    def ahead(self, at: int) -> list[Any]:
        """The actions that are played on from a moment."""
        return self.actions[at : at + AHEAD]


def check_rollback(task: Task) -> RollbackCheck:
    """Test a task on this machine; it takes some seconds.

    Args:
        task: any with a native or semantic space; a program that cannot go back is skipped.
    """
    if IRREVERSIBLE in task.tags:
        return RollbackCheck(task.id, skipped="it is somebody else's program, which cannot be brought back to a moment")
    space = next((space for space in (ActionSpace.NATIVE, ActionSpace.SEMANTIC) if space in task.spaces), None)
    if space is None:
        return RollbackCheck(task.id, skipped="it has neither a native nor a semantic space to be played behind")
    started = time.perf_counter()
    try:
        env = task.make(space)
    except EnvironmentsError as error:
        return RollbackCheck(task.id, skipped=str(error))
    try:
        try:
            episode = _play(env)
        except InfrastructureError as error:  # whoever plays the task will be told the same
            return RollbackCheck(task.id, skipped=f"{type(error).__name__}: {error}")
        points = sorted(episode.snapshots)
        with ThreadPoolExecutor(1) as pool:
            elsewhere = pool.submit(_elsewhere, task, space, episode)  # starts up while this process goes on
            differences = _compared("after a reset", episode, lambda at: _after_reset(env, episode, at))
            anew = task.make(space)
            try:
                differences += _compared(
                    "in a world built anew", episode, lambda at: _from(anew, episode.snapshots[at], episode.ahead(at))
                )
            finally:
                anew.close()
            found = elsewhere.result()
        if isinstance(found, str):
            differences.append(found)
        else:
            differences += _compared("in another process", episode, lambda at: found[str(at)])
    finally:
        env.close()
    holding = sum(episode.closed[at] for at in points)
    return RollbackCheck(task.id, len(points), holding, tuple(differences), seconds=time.perf_counter() - started)


def _play(env: ArenaEnv) -> _Episode:
    """Find actions that come to something; then play them again, and look at the moments that are worth it."""
    episode = _Episode()
    robot = "robot" in env.task.tags
    rng = np.random.default_rng(SEED)
    env.reset(seed=SEED)
    env.action_space.seed(SEED)
    for step in range(STEPS):
        action = env.action_space.parse(_robot_action(env, step) if robot else _game_action(env, rng))
        episode.closed.append(env.telemetry().get("gripper_command", 0) > 0)
        episode.actions.append(action)
        if env.step(action)[2]:
            break
    points = episode.points()
    env.reset(seed=SEED)
    states = [env.state_hash()]
    pictures = {}
    for step, action in enumerate(episode.actions):
        if step in points:
            episode.snapshots[step] = env.snapshot()
        env.step(action)
        states.append(env.state_hash())
        if step + 1 - AHEAD in points:
            pictures[step + 1] = _pictures(env)
    episode.seen = {at: [*states[at : at + AHEAD + 1], pictures[at + AHEAD]] for at in points}
    return episode


def _game_action(env: ArenaEnv, rng: np.random.Generator) -> Any:
    expert = NO_EXPERT not in env.task.tags and rng.random() < _EXPERT_SHARE
    return env.expert_action() if expert else env.action_space.sample()


def _robot_action(env: ArenaEnv, step: int) -> Any:
    """The expert's; where there is none, reach for what the goal is about, close the hand, and lift."""
    if step >= STEPS - _TUMBLE:
        return env.action_space.sample()
    if NO_EXPERT not in env.task.tags:
        return env.expert_action()
    from environments.robots import motion  # loads MuJoCo

    robot = cast("RobotEnv", env)
    thing, _ = robot.focus()
    place = robot.arm.position if thing is None else robot.world.position(thing)
    above = 0.0 if _DOWN <= step < _UP else _ABOVE_M
    grip = motion.CLOSE if step >= _CLOSE else motion.OPEN
    return motion.native(robot.arm, motion.Aim("reach", place + np.array([0.0, 0.0, above]), 0.0, grip))


def _pictures(env: ArenaEnv) -> str:
    views = env.observe()
    keys = sorted(key for key, space in env.observation_space.spaces.items() if len(space.shape or ()) == 3)
    return hashlib.sha256(b"".join(views[key].tobytes() for key in keys)).hexdigest()


def _from(env: ArenaEnv, snapshot: bytes, actions: Sequence[Any]) -> Seen:
    env.restore(snapshot)
    seen = [env.state_hash()]
    for action in actions:
        env.step(action)
        seen.append(env.state_hash())
    return [*seen, _pictures(env)]


def _after_reset(env: ArenaEnv, episode: _Episode, at: int) -> Seen:
    env.reset(seed=OTHER_SEED)
    env.step(episode.actions[0])
    return _from(env, episode.snapshots[at], episode.ahead(at))


def _compared(how: str, episode: _Episode, again: Callable[[int], Seen]) -> list[str]:
    """The first difference of each moment, in words."""
    differences: list[str] = []
    for at, was in episode.seen.items():
        try:
            now = again(at)
        except EnvironmentsError as error:
            return [*differences, f"{how}, step {at}: {type(error).__name__}: {error}"]
        wrong = [number for number, (a, b) in enumerate(zip(was, now, strict=True)) if a != b]
        if wrong:
            what = "the pictures" if wrong[0] > AHEAD else "the state"
            differences.append(f"{how}, step {at}: {what} after {min(wrong[0], AHEAD)} steps differ")
    return differences


def _elsewhere(task: Task, space: ActionSpace, episode: _Episode) -> dict[str, Seen] | str:
    """What another process sees from each moment, or why there is no answer."""
    points = {str(at): [snapshot.hex(), episode.ahead(at)] for at, snapshot in episode.snapshots.items()}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "arena.rollback_check"],
            input=json.dumps({"task": task.id, "space": str(space), "points": points}),
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "7"},  # an order that hangs on it shows
            cwd=Path(environments.__file__).parents[1],
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"in another process: no answer within {_TIMEOUT_S:.0f} s"
    if done.returncode:
        return f"in another process: it failed: {''.join(done.stderr.strip().splitlines()[-1:]) or done.returncode}"
    found: dict[str, Seen] = json.loads(done.stdout.splitlines()[-1])
    return found


class RollbackChecks:
    """The tasks that are known to go back exactly on this machine: each is tested once, and that is remembered.

    Args:
        folder: a file for each task that passed lies there, named after the task, the versions of what simulates it
            and the machine; None remembers within this object alone.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._found: dict[str, RollbackCheck] = {}

    def known(self, task: Task) -> bool:
        """Whether a task has passed here already."""
        found = self._found.get(task.id)
        return found.passed if found else self._folder is not None and self._file(self._folder, task).exists()

    def require(self, task: Task) -> None:
        """Test a task unless it has been. What cannot be tested here is left to fail by itself where it is played.

        Raises:
            InexactRollback: if it does not go back exactly, with every difference; within one object it is not
                tested a second time then.
        """
        if self.known(task):
            return
        found = self._found.get(task.id) or check_rollback(task)
        self._found[task.id] = found
        if found.skipped:
            return
        if not found.passed:
            told = "; ".join(found.differences) or "its episode ended before there was a moment to go back to"
            raise InexactRollback(
                f"{task.id} does not go back exactly on this machine, and no diagnosis can be scored by it: {told}. "
                f"Try it alone: arena certify --rollback {task.id}"
            )
        if self._folder is not None:
            self._remember(found, self._file(self._folder, task))

    def _file(self, folder: Path, task: Task) -> Path:
        return folder / f"{digest([VERSION, task.id, _versions(), machine(), platform.node()])}.json"

    def _remember(self, found: RollbackCheck, file: Path) -> None:
        told = {**found.to_json(), "versions": _versions(), "machine": machine()}
        put(file, json.dumps(told, indent=1).encode())


def _versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def main() -> None:
    """Be the other process: go back to each moment that standard input names, play on, and print what is seen."""
    request = json.load(sys.stdin)
    env = environments.make(request["task"], request["space"])
    try:
        seen = {at: _from(env, bytes.fromhex(blob), actions) for at, (blob, actions) in request["points"].items()}
    finally:
        env.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
