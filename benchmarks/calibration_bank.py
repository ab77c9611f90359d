"""The bank of `calibration.py`: episodes that calibrated players really played, from which experiments are drawn."""

from __future__ import annotations

import multiprocessing
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

import agents
import environments
from agents.agent import Agent, Briefing
from arena.calibration import NOTE
from arena.identity import derived_seed
from environments.env import ArenaEnv
from environments.task import ActionSpace

TASKS = ("games/maze-v1", "games/snake-v1", "games/minesweeper-v1")
MAX_STEPS = 40
FIRST, PLAIN, VIDEO, PLACEBO = "single", "plain-retry", "failure-video", "placebo"
RETRIES = (PLAIN, VIDEO, PLACEBO)
PLAYERS: dict[str, dict[str, Any]] = {
    "learner": {"p": 0.5, "gain": 0.0, "gains": {VIDEO: 0.2}},
    "imitator": {"p": 0.7, "gain": 0.0},
    "beginner": {"p": 0.2, "gain": 0.0},
}
"""One who learns from the failure video alone, and two who never learn; from weak to strong."""

Floats = NDArray[np.float64]


class Played(NamedTuple):
    """What an episode came to."""

    score: float
    success: float
    followed: float
    """Steps at which the expert's action was played."""
    steps: float


def play(env: ArenaEnv, agent: Agent, task_id: str, seed: int, chance: int, kind: str, lesson: str | None) -> Played:
    """One episode as `arena.play` plays it, without recording anything."""
    task = environments.get(task_id)
    observation, _ = env.reset(seed=seed)
    agent.reset(
        Briefing(
            task=task,
            space=ActionSpace.SEMANTIC,
            actions=env.action_space,
            max_steps=MAX_STEPS,
            lesson=lesson,
            lesson_kind=kind,
            seed=chance,
            privileged=env,
        )
    )
    followed = steps = 0
    while steps < MAX_STEPS:
        decision = agent.act(env.perceived(observation))
        observation, reward, terminated, truncated, info = env.step(decision.action)
        agent.observe_result(illegal=info["illegal"], reward=float(reward))
        steps += 1
        followed += bool(decision.notes[NOTE])
        if terminated or truncated:
            break
    return Played(env.score(), float(env.success()), followed, steps)


# -- the bank ----------------------------------------------------------------------------------------------------------


class Job(NamedTuple):
    """Episodes of one player on one task, of all four kinds."""

    task: str
    player: str
    seeds: range


def bank_of(job: Job) -> Floats:
    """Play a job: (kinds, seeds, 4), the last axis as `Played`; what a won first attempt reports is itself."""
    env = environments.make(job.task, "semantic")
    agent = agents.create("calibrated", PLAYERS[job.player])
    found = np.zeros((1 + len(RETRIES), len(job.seeds), 4))
    try:
        for place, seed in enumerate(job.seeds):
            for number, kind in enumerate((FIRST, *RETRIES)):
                chance = derived_seed(f"{job.task}|{job.player}|{kind}|{seed}", "bank")
                told = "" if kind == FIRST else kind
                lesson = "what was learned" if kind in (VIDEO, PLACEBO) else None
                found[number, place] = play(env, agent, job.task, seed, chance, told, lesson)
    finally:
        env.close()
    return found


@dataclass
class Bank:
    """Played episodes by task and player, (kinds, seeds, 4)."""

    episodes: dict[tuple[str, str], Floats]
    size: int

    def reported(self, task: str, player: str, condition: str, what: int = 0) -> Floats:
        """Score (0) or success (1) that a condition reports, (seeds,): a won first attempt is not tried again."""
        cell = self.episodes[task, player]
        if condition == FIRST:
            return cell[0, :, what]
        retry = cell[1 + RETRIES.index(condition), :, what]
        return np.where(cell[0, :, 1] > 0, cell[0, :, what], retry)

    def save(self, path: Path) -> None:
        """Write it as arrays."""
        np.savez_compressed(path, **{f"{task}|{player}": found for (task, player), found in self.episodes.items()})

    @classmethod
    def load(cls, path: Path) -> Bank:
        """Read what `save` wrote.

        Raises:
            SystemExit: if it is another bank.
        """
        with np.load(path) as stored:
            episodes = {tuple(name.split("|")): stored[name] for name in stored.files}
        if set(episodes) != {(task, player) for task in TASKS for player in PLAYERS}:
            sys.exit(f"{path} holds other tasks or players: name another file, or none, to play the bank")
        return cls(episodes, next(iter(episodes.values())).shape[1])  # type: ignore[arg-type]

    def gains(self, player: str, condition: str, reference: str) -> list[Floats]:
        """Differences of the scores by task, (seeds,) each."""
        return [self.reported(t, player, condition) - self.reported(t, player, reference) for t in TASKS]


def build(size: int, workers: int) -> Bank:
    """Play the bank in chunks, on several processes."""
    chunk = max(1, size // 8)
    seeds = range(1_000_000, 1_000_000 + size)  # none of the experiment's own
    jobs = [
        Job(task, player, seeds[i : i + chunk]) for task in TASKS for player in PLAYERS for i in range(0, size, chunk)
    ]
    parts: dict[tuple[str, str], list[Floats]] = defaultdict(list)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for job, found in zip(jobs, track(pool.map(bank_of, jobs), "Playing the bank", len(jobs)), strict=True):
            parts[job.task, job.player].append(found)
    return Bank({key: np.concatenate(found, axis=1) for key, found in parts.items()}, size)
