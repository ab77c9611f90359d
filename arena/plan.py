"""From an experiment to the attempts it asks for, each under its identity."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import agents
import environments
from arena import diagnosis, reflection
from arena.conditions import HELD_OUT, Condition
from arena.errors import InvalidExperiment, Problem
from arena.experiment import EVERY_STEP, AgentEntry, Block, Experiment
from arena.identity import digest, identity
from arena.judging import JudgeConfig
from arena.leaderboard import TUTORIAL
from environments.task import Task
from storage.models import RunEpisode
from storage.store import Store

FIRST_HELD_OUT = 20_000
"""Held-out seeds begin here, above the public ones and those of tutorials."""
_PER_SEED = 100
"""Held-out seeds kept for each seed that is learned on: as many as a condition may ask for."""
SINGLE_HELD_OUT = "single" + HELD_OUT
"""Condition of the first attempts on held-out seeds: what those with a lesson are compared with."""


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

    @property
    def lesson_kind(self) -> str:
        """What kind of lesson the attempt follows, by the name of its condition; empty for a first attempt."""
        return lesson_kind(self.spec)

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


@dataclass(frozen=True, slots=True)
class Filmed:
    """A demonstration that is a video of somebody's own, added by `arena tutorial add`."""

    tutorial_id: str

    @property
    def identity(self) -> str:
        """The tutorial's id, which is a hash of its video."""
        return self.tutorial_id


Demonstration: TypeAlias = Attempt | Recorded | Filmed
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
        return [condition for condition in self.conditions if condition.retries]


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
    seeds: dict[str, list[int]] = field(default_factory=dict)
    """By task, all seeds that the experiment plays on it, in order."""

    def tutorial(self, attempt: Attempt, condition: Condition) -> Demonstration | None:
        """The demonstration that a condition's reflection on an attempt looks at, if it wants one.

        For a placebo of another game it is that game's.
        """
        if condition.reflection.other_game:
            return self.tutorials[other_game(attempt.spec["task"])]
        wanted = condition.reflection.demonstration
        if isinstance(wanted, str):
            return Filmed(wanted) if wanted.startswith("t-") else Recorded(wanted)
        return self.tutorials[attempt.spec["task"], attempt.spec["space"]] if wanted else None

    def held_out(self, first: Attempt, condition: Condition) -> list[Attempt]:
        """First attempts on the held-out seeds of a trial: those with its lesson are compared with them.

        The seeds follow from the place of the trial's own seed among the experiment's: no two trials of a player share
        one, all players and conditions do, and none is a seed that the experiment plays or shows.
        """
        task = first.spec["task"]
        start = self.seeds[task].index(first.spec["seed"]) * _PER_SEED
        free = itertools.islice(_free_seeds(task, self.seeds[task]), start, start + condition.heldout)
        return [replace(first, spec={**first.spec, "seed": seed}) for seed in free]

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
                seeds[spec["task"]].update(a.spec["seed"] for a in self.held_out(trial.first, condition))
                if isinstance(condition.reflection.demonstration, str):
                    wanted.setdefault(condition.reflection.demonstration, set()).add((spec["task"], spec["space"]))
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
            rows += [first.link(self.run_id, c.label, first.identity, final=not c.retries) for c in trial.conditions]
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
            place = (attempt.spec["task"], attempt.spec["space"])
            if condition.retries and condition.reflection.other_game:
                place = other_game(place[0])
            elif not condition.retries or condition.reflection.demonstration is not True:
                continue
            if place not in tutorials:
                tutorials[place] = _tutorial(*place)
    planned = list(trials.values())
    run_id = _run_id(experiment, planned, tutorials.values())
    seeds: dict[str, set[int]] = {}
    for trial in planned:
        seeds.setdefault(trial.first.spec["task"], set()).add(trial.first.spec["seed"])
    ordered = {task: sorted(found) for task, found in seeds.items()}
    return Plan(run_id=run_id, experiment=experiment, trials=planned, tutorials=tutorials, seeds=ordered)


def _run_id(experiment: Experiment, trials: list[Trial], tutorials: Iterable[Attempt]) -> str:
    lessons: dict[tuple[str, str], str] = {}
    for trial in trials:
        for condition in trial.retries:
            config = lessons_of(trial.first, condition)
            # The same reflector for all players counts once.
            whose = "" if config is condition.reflection else trial.first.agent.label
            lessons[condition.label, whose] = digest(reflection.fingerprint(config))
    asked = [
        *(trial.first.identity for trial in trials),
        *(tutorial.identity for tutorial in tutorials),
        *lessons.values(),
    ]
    return f"{experiment.name}-{digest([experiment.model_dump(mode='json'), asked], 10)}"


def lessons_of(attempt: Attempt, condition: Condition) -> reflection.ReflectionConfig:
    """Who reflects on an attempt, and how: a condition may leave that to the player's own model."""
    return condition.reflection.of(attempt.agent.name, attempt.agent.options)


def retry(
    previous: Attempt,
    condition: Condition,
    tutorial: Demonstration | None,
    *,
    number: int | None = None,
    tried: Sequence[Attempt] = (),
) -> Attempt:
    """The attempt that follows a failed one.

    Its identity is known before its lesson is: a lesson is a consequence of the attempt it looks at,
    of the tutorial, and of the reflector.

    Args:
        previous: The attempt that the lesson is drawn from.
        condition: Says who reflects.
        tutorial: What is looked at beside it.
        number: Which retry it is, from 1; None for the one after `previous`.
        tried: Retries after `previous` that did worse: the next lesson is told of theirs.
    """
    config = lessons_of(previous, condition)
    spec = dict(previous.spec)
    spec["retry"] = {
        "of": previous.identity,
        "round": number or previous.round + 1,
        "reflection": reflection.fingerprint(config),
        "tutorial": tutorial.identity if tutorial else None,
    }
    if config.evidence is not None:
        spec["retry"] |= {"kind": config.kind, "tried": [attempt.identity for attempt in tried]}
    return replace(previous, spec=spec, round=spec["retry"]["round"], parent=None, lesson_id=None, lesson=None)


def transfer(learned: Attempt, held_out: Attempt) -> Attempt:
    """The attempt on a held-out seed with the lesson of an attempt on another seed.

    Args:
        learned: A retry, which was played with the lesson.
        held_out: The first attempt on the held-out seed.
    """
    spec = {**held_out.spec, "retry": {**learned.spec["retry"], "learned_on": learned.spec["seed"]}}
    return replace(learned, spec=spec, parent=None)


def lesson_kind(spec: dict[str, Any]) -> str:
    """What kind of lesson an attempt of this specification follows; empty for a first attempt.

    It is the name of a condition, such as `failure-video`, with `(held-out)` behind it on a seed that the lesson was
    not learned on.
    """
    told = spec["retry"]
    if told is None:
        return ""
    kind = str(told.get("kind") or ("failure+tutorial" if told["tutorial"] else "failure-video"))
    return kind + HELD_OUT if "learned_on" in told else kind


def other_game(task_id: str) -> tuple[str, str]:
    """Task and space of the game whose tutorial is a placebo for a task: the next of our own games by name.

    It does not depend on the experiment, so that the retry's identity does not either. Pictures are the same behind all
    spaces; the semantic one needs no display.
    """
    games = sorted(task.id for task in environments.match("games/*") if task.id != task_id)
    following = next((name for name in games if name > task_id), games[0])
    return following, "semantic"


def _free_seeds(task_id: str, used: Iterable[int]) -> Iterator[int]:
    taken = {*used, environments.get(task_id).tutorial_seed}
    return (seed for seed in itertools.count(FIRST_HELD_OUT) if seed not in taken)


def _unfit_tutorial(store: Store, episode_id: str, places: set[tuple[str, str]], seeds: dict[str, set[int]]) -> str:
    """Why an episode cannot be the tutorial of attempts at these places (task and space), or nothing.

    `seeds` are those that the experiment plays, by task.
    """
    if episode_id.startswith("t-"):
        return _unfit_video(store, episode_id, places)
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


def _unfit_video(store: Store, tutorial_id: str, places: set[tuple[str, str]]) -> str:
    found = store.tutorial(tutorial_id)
    if found is None:
        return "there is no such tutorial in this database; `arena tutorial list` lists those that are"
    other = {place for place in places if found.task_id != place[0] or found.space not in ("", place[1])}
    if other:
        names = ", ".join(sorted(" ".join(place) for place in other))
        return f"it shows {found.task_id} {found.space}".rstrip() + f", and is to be the tutorial of {names}"
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
