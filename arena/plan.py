"""From an experiment to the attempts it asks for, each under its identity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import agents
import environments
from arena import diagnosis, reflection
from arena.errors import InvalidExperiment, Problem
from arena.experiment import EVERY_STEP, AgentEntry, Block, Condition, Experiment
from arena.identity import digest, identity
from arena.judging import JudgeConfig
from arena.leaderboard import TUTORIAL
from environments.task import Task
from storage.models import RunEpisode
from storage.store import Store

RETRY = "reflect-and-retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One episode to be played: its specification, and what is needed to play it."""

    spec: dict[str, Any]
    """Everything that changes the result; `identity` is its hash."""
    agent: AgentEntry
    instrument: str = ""
    condition: Condition
    """Supervision and fault come from here; shared by all conditions that give the same spec."""
    round: int = 0
    parent: str | None = None
    """Id of the episode that this attempt follows."""
    lesson_id: str | None = None
    lesson: str | None = None

    @property
    def identity(self) -> str:
        """The versioned content hash of `spec`."""
        return identity(self.spec)

    @property
    def task(self) -> Task:
        """The task, from the register."""
        return environments.get(self.spec["task"])

    def link(self, run_id: str, condition: str, trial: str, *, final: bool) -> RunEpisode:
        """The row that says what a run uses this attempt for."""
        return RunEpisode(
            run_id=run_id,
            condition=condition,
            identity=self.identity,
            task_id=self.spec["task"],
            space=self.spec["space"],
            agent=self.agent.label,
            instrument=self.instrument,
            seed=self.spec["seed"],
            trial=trial,
            round=self.round,
            final=final,
        )


@dataclass(frozen=True, slots=True)
class Recorded:
    """A demonstration that is in the store already; the experiment names its episode."""

    episode_id: str

    @property
    def identity(self) -> str:
        """The identity of that episode."""
        return self.episode_id.rpartition("-")[0]


Demonstration: TypeAlias = Attempt | Recorded
"""What a reflection looks at beside the failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A first attempt, and the conditions that start from it."""

    first: Attempt
    conditions: tuple[Condition, ...]
    judges: tuple[JudgeConfig, ...]

    @property
    def retries(self) -> list[Condition]:
        """The conditions that may try again."""
        return [condition for condition in self.conditions if condition.name == RETRY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All trials of an experiment, and the tutorials that their reflections need."""

    run_id: str
    """The same file is the same run, however it is formatted, as long as it asks for the same attempts.

    A new version of a player, a supervisor or a reflector makes a new run, which reuses what did not change.
    """
    experiment: Experiment
    trials: list[Trial]
    tutorials: dict[tuple[str, str], Attempt] = field(default_factory=dict)
    """By task id and space."""

    def tutorial(self, attempt: Attempt, condition: Condition) -> Demonstration | None:
        """The demonstration that a condition's reflection on an attempt looks at, if it wants one."""
        wanted = condition.reflection.tutorial
        if isinstance(wanted, str):
            return Recorded(wanted)
        return self.tutorials[attempt.spec["task"], attempt.spec["space"]] if wanted else None

    def check_recorded(self, store: Store) -> None:
        """See that the episodes that reflections are to look at can serve as tutorials.

        Raises:
            InvalidExperiment: for each that is not there, was not won, is of another task, or gives a seed away.
        """
        seeds: dict[str, set[int]] = {}
        wanted: dict[str, set[tuple[str, str]]] = {}
        for trial in self.trials:
            spec = trial.first.spec
            seeds.setdefault(spec["task"], set()).add(spec["seed"])
            for condition in trial.retries:
                if isinstance(condition.reflection.tutorial, str):
                    wanted.setdefault(condition.reflection.tutorial, set()).add((spec["task"], spec["space"]))
        problems = [
            Problem("reflection.tutorial", episode_id, message)
            for episode_id, places in wanted.items()
            if (message := _unfit_tutorial(store, episode_id, places, seeds))
        ]
        if problems:
            raise InvalidExperiment(self.experiment.name, problems)

    def links(self) -> list[RunEpisode]:
        """The rows that are known before anything is played; retries add theirs, and say which is reported, later."""
        rows = [
            tutorial.link(self.run_id, TUTORIAL, tutorial.identity, final=True) for tutorial in self.tutorials.values()
        ]
        for trial in self.trials:
            first = trial.first
            rows += [first.link(self.run_id, c.label, first.identity, final=c.name != RETRY) for c in trial.conditions]
        return rows


def build(experiment: Experiment) -> Plan:
    """Expand every block; equal attempts of several conditions become one trial."""
    trials: dict[str, Trial] = {}
    tutorials: dict[tuple[str, str], Attempt] = {}
    for block in experiment.blocks:
        for attempt, condition in _expand(block):
            known = trials.get(attempt.identity)
            if known is None:
                trials[attempt.identity] = Trial(first=attempt, conditions=(condition,), judges=block.judge)
            elif condition not in known.conditions:
                trials[attempt.identity] = replace(known, conditions=(*known.conditions, condition))
            if condition.name == RETRY and condition.reflection.tutorial is True:
                place = (attempt.spec["task"], attempt.spec["space"])
                tutorials.setdefault(place, _tutorial(*place))
    planned = list(trials.values())
    run_id = _run_id(experiment, planned, tutorials.values())
    return Plan(run_id=run_id, experiment=experiment, trials=planned, tutorials=tutorials)


def _run_id(experiment: Experiment, trials: list[Trial], tutorials: Iterable[Attempt]) -> str:
    conditions = {condition.label: condition for trial in trials for condition in trial.retries}
    asked = [
        *(trial.first.identity for trial in trials),
        *(tutorial.identity for tutorial in tutorials),
        *(digest(reflection.build(condition.reflection).fingerprint()) for condition in conditions.values()),
    ]
    return f"{experiment.name}-{digest([experiment.model_dump(mode='json'), asked], 10)}"


def retry(previous: Attempt, condition: Condition, tutorial: Demonstration | None) -> Attempt:
    """The attempt that follows a failed one.

    Its identity is known before its lesson is: a lesson is a consequence of the attempt it looks at,
    of the tutorial, and of the reflector.
    """
    spec = dict(previous.spec)
    spec["retry"] = {
        "of": previous.identity,
        "round": previous.round + 1,
        "reflection": reflection.build(condition.reflection).fingerprint(),
        "tutorial": tutorial.identity if tutorial else None,
    }
    return Attempt(
        spec=spec,
        agent=previous.agent,
        instrument=previous.instrument,
        condition=previous.condition,
        round=previous.round + 1,
    )


def _unfit_tutorial(store: Store, episode_id: str, places: set[tuple[str, str]], seeds: dict[str, set[int]]) -> str:
    """Why an episode cannot be the tutorial of attempts at these places (task and space), or nothing.

    `seeds` are those that the experiment plays, by task.
    """
    found = store.episodes(id=episode_id)
    if not found:
        return "there is no such episode in this database; `arena view` lists those that are"
    episode = found[0]
    other = places - {(episode.task_id, episode.space)}
    if other:  # a retry could not do what it was shown
        names = ", ".join(sorted(" ".join(place) for place in other))
        return f"it was played on {episode.task_id} {episode.space}, and is to be the tutorial of {names}"
    if not episode.scored or not episode.success:
        return f"it ended as {episode.outcome or episode.status}; only a won episode shows how it is done"
    if episode.video is None:
        return "it has no video"
    if episode.seed in seeds[episode.task_id]:
        return f"its seed {episode.seed} is one of the experiment's own, so it would give the answer away"
    return ""


def _expand(block: Block) -> list[tuple[Attempt, Condition]]:
    found = {task.id: task for task in block.found()}
    players = [(entry, agents.create(entry.name, entry.options)) for entry in block.agents]
    return [
        (_attempt(task, space, entry, player, condition, seed, repetition, block), condition)
        for task in found.values()
        for space in block.spaces
        for seed in block.seeds
        for repetition in range(block.repetitions)
        for entry, player in players
        for condition in block.conditions
    ]


def _attempt(
    task: Task,
    space: str,
    entry: AgentEntry,
    player: agents.Agent,
    condition: Condition,
    seed: int,
    repetition: int,
    block: Block,
) -> Attempt:
    limits = block.limits.model_dump(mode="json")
    limits["max_steps"] = limits["max_steps"] or task.max_steps
    supervisor = diagnosis.build(condition.diagnosis) if condition.name == "diagnose-and-rollback" else None
    spec = {
        "task": task.id,
        "space": space,
        "agent": player.fingerprint(),
        "seed": seed,
        "repetition": repetition,
        "limits": limits,
        "clock": block.clock.model_dump(mode="json"),
        "fault": condition.fault.model_dump(mode="json") if condition.fault else None,
        "supervision": supervisor.fingerprint() if supervisor else None,
        "retry": None,
    }
    if block.video != EVERY_STEP:  # the default is not said, so that episodes keep the names they had before
        spec["video"] = block.video
    return Attempt(spec=spec, agent=entry, instrument=player.instrument, condition=condition)


def single(task_id: str, space: str, entry: AgentEntry, seed: int, *, repetition: int = 0, **settings: Any) -> Attempt:
    """One attempt at one task, outside any experiment file.

    Args:
        task_id: The task.
        space: The action space.
        entry: The player.
        seed: The world's seed.
        repetition: Tells plays of the same seed by the same player apart.
        **settings: `limits` and `clock`, as in an experiment file.
    """
    condition = Condition.model_validate("single")
    block = Block.model_validate(
        {
            "tasks": [task_id],
            "spaces": [space],
            "agents": [entry],
            "conditions": [condition],
            "seeds": [seed],
            **settings,
        }
    )
    player = agents.create(entry.name, entry.options)
    return _attempt(environments.get(task_id), space, entry, player, condition, seed, repetition, block)


def _tutorial(task_id: str, space: str) -> Attempt:
    """The expert on the task's tutorial seed, which no experiment scores."""
    seed = environments.get(task_id).tutorial_seed
    return single(task_id, space, AgentEntry.model_validate("scripted"), seed)
