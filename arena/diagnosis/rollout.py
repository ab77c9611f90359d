"""An episode in this process, without a record: what monitors are tuned on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents.agent import Agent, Briefing
from arena.diagnosis.signals import Reading, read
from arena.subgoals import subgoal_of
from arena.supervision import Moment
from environments.env import ArenaEnv


@dataclass(frozen=True, slots=True)
class Rollout:
    """One episode as a supervisor would have seen it."""

    success: bool
    readings: tuple[Reading, ...]


class Journal:
    """Episodes that were played for one purpose, in a file: what was interrupted need not be played again.

    Args:
        path: the file; None remembers nothing.
        of: what all of it belongs to, such as a policy's fingerprint, as JSON values; a file of something else is
            begun anew.
    """

    def __init__(self, path: Path | None = None, of: Any = None) -> None:
        self._path = path
        self._kept: dict[tuple[str, int], Rollout] = {}
        if path is None:
            return
        head = json.dumps({"of": of}, sort_keys=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and lines[0] == head:
            for line in lines[1:]:
                self._take(line)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(head, encoding="utf-8")

    def _take(self, line: str) -> None:
        try:
            entry = _ENTRY.validate_json(line)
        except ValidationError:
            return  # the process was killed in the middle of the line
        self._kept[entry.task, entry.seed] = Rollout(entry.success, entry.readings)

    def rollout(self, task: str, seed: int, play: Callable[[], Rollout]) -> Rollout:
        """The episode that is on file, or the one that is played now."""
        if (task, seed) not in self._kept:
            found = self._kept[task, seed] = play()
            if self._path is not None:
                entry = _Entry(task, seed, found.success, found.readings)
                with self._path.open("ab") as file:
                    file.write(b"\n" + _ENTRY.dump_json(entry))  # a line that was cut off ends here
        return self._kept[task, seed]

    def remove(self) -> None:
        """Delete the file: what it was for is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Entry:
    task: str
    seed: int
    success: bool
    readings: tuple[Reading, ...]


_ENTRY: TypeAdapter[_Entry] = TypeAdapter(_Entry)


def roll_out(env: ArenaEnv, agent: Agent, seed: int, *, fault: Any = None, max_steps: int | None = None) -> Rollout:
    """Play one episode that nobody supervises.

    Args:
        env: behind its native space.
        agent: who plays it.
        seed: of the world, and of the player's own chance.
        fault: injected, as `reset(options={"fault": ...})` takes it.
        max_steps: the horizon; None takes the task's.
    """
    observation, _ = env.reset(seed=seed, options={"fault": fault} if fault else None)
    agent.reset(
        Briefing(
            task=env.task,
            space=env.space,
            actions=env.action_space,
            max_steps=max_steps,
            seed=seed,
            privileged=env if agent.privileged else None,
        )
    )
    readings: list[Reading] = []
    for index in range(max_steps or env.task.max_steps):
        decision = agent.act(env.perceived(observation))
        terminated = False
        if decision.action is not None:
            observation, reward, terminated, _, info = env.step(decision.action)
            agent.observe_result(illegal=info["illegal"], reward=float(reward))
        moment = Moment(
            index=index,
            sim_step=index,
            branch=0,
            action=decision.action,
            telemetry=env.telemetry(),
            observation=observation,
            snapshots=(),
            notes=decision.notes,
            subgoal=subgoal_of(env),
        )
        reading = read(moment)
        if reading is not None:
            readings.append(reading)
        if terminated:
            return Rollout(env.success(), tuple(readings))
    return Rollout(False, tuple(readings))
