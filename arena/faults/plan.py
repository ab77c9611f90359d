"""What a fault dataset is to hold: its cells, the slots of each cell, and which episodes a slot tries in which order.

A *cell* is a kind of fault at one severity; the episodes without any fault are one more cell. A *slot* is one episode
of a cell that is yet to be found. Each slot tries episodes of its own, in an order that follows from the configuration
alone, until one fits. Slots know nothing of each other, so that neither the number of workers nor their order has a
part in what is found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

import agents
import environments
from arena.errors import ArenaError
from arena.identity import digest
from environments.robots.faults.kinds import KINDS, KindName, Stage
from environments.robots.libero.conventions import INIT_STATES
from environments.task import ActionSpace

VERSION: Final = 2
"""Raise it with any change of what a configuration leads to."""
FIRST_SEED = 70_000
"""Seeds begin here: far from those of leaderboards (0), tutorials (10,000), held-out tests (20,000) and calibration
(50,000)."""
SEEDS_APART = 1_000
"""From the first seed of one dataset seed to that of the next."""
HELD_OUT_SHARE = 0.3
_SALT = "faults-split-2"
"""Chosen so that each family of the tabletop has tasks on both sides."""

_VARIANT = re.compile(r"^(libero/[^/]+/\d+)-.*(-v\d+)$")

Split = Literal["train", "heldout"]

STAGES: dict[KindName, tuple[Stage, ...]] = {
    "wrong-object": ("reach",),
    "pose-bias": ("reach",),
    "stale-view": ("reach",),
    "noisy-view": ("reach",),
    "proprio-bias": ("reach", "transport"),
    "false-grasp": ("lift", "transport"),
    "wrong-target": ("transport", "lift"),
    "skipped-step": ("reach",),
    "swapped-steps": ("lift", "transport"),
    "premature-stop": ("transport", "reach", "lift", "open", "turn"),
    "loop": ("reach", "transport", "lift"),
    "translation-bias": ("reach", "transport"),
    "rotation-bias": ("reach",),
    "grasp-miss": ("grasp",),
    "gripper-timing": ("grasp", "reach"),
    "gripper-opens-mid-carry": ("transport", "lift"),
    "stuck": ("transport", "reach", "lift", "open", "turn"),
    "delay": ("reach",),
    "collision": ("transport", "lift"),
    "object-moved": ("lift", "transport", "reach"),
}
"""Where each kind begins: the stages in which it can make an episode fail. Slots take them in turn."""


class CannotBuild(ArenaError, ValueError):
    """A dataset cannot be made as it was asked for."""


class Player(BaseModel):
    """A policy of the dataset: a registered agent and its options."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def own(self) -> dict[str, Any]:
        """The options that decide what it does: patience is none, nor is an address where `model` says what is there.

        Episodes are named, seeded and labelled by these, so that a build may go on with a server that has moved.
        """
        about_the_way = {"timeout_s", "retries", "key_env"} | ({"url"} if self.options.get("model") else set())
        return {name: value for name, value in self.options.items() if name not in about_the_way}

    @property
    def named(self) -> dict[str, Any]:
        """What episodes and datasets are named by, as JSON values."""
        return {"agent": self.agent, "options": self.own}

    @property
    def label(self) -> str:
        """`noisy-expert(failure_rate=0)`."""
        told = ", ".join(f"{name}={value}" for name, value in sorted(self.own.items()))
        return f"{self.agent}({told})" if told else self.agent


DEFAULT_PLAYERS = (
    Player(agent="scripted-policy"),
    # Its own failures would be mixed with those that are injected: it keeps its unsteady hand and nothing else.
    Player(agent="noisy-expert", options={"failure_rate": 0.0, "noise": 0.1}),
)


class BuildConfig(BaseModel):
    """Everything that decides what is in a dataset; the same configuration gives the same bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: tuple[str, ...]
    """Task ids, sorted."""
    players: tuple[Player, ...] = DEFAULT_PLAYERS
    kinds: tuple[KindName, ...] = tuple(KINDS)
    severities: tuple[Annotated[int, Field(ge=0, le=3)], ...] = (0, 1, 2, 3)
    """0 is the benign twin N1."""
    per_cell: int = Field(default=7, ge=1, le=1_000)
    """Episodes of each kind at each severity."""
    clean: int | None = Field(default=None, ge=0, le=100_000)
    """Episodes without a fault; None: as many as a severity has."""
    tries: int = Field(default=6, ge=1, le=100)
    """Episodes that a slot tries before it stays empty."""
    seeds: int = Field(default=60, ge=1, le=SEEDS_APART)
    """Seeds of each task that may be used."""
    seed: int = Field(default=0, ge=0, le=1_000_000)
    """Of the dataset: another one uses other seeds of the tasks."""
    pictures: Literal["clips", "none"] = "clips"
    every: Literal[1, 2, 4, 5, 10, 20] = 5
    """Control steps from one picture of a clip to the next: 5 gives 4 pictures a second."""

    @field_validator("tasks", "kinds", "severities")
    @classmethod
    def _sorted_once(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value:
            raise ValueError("at least one is needed")
        return tuple(sorted(set(value)))

    @property
    def n_clean(self) -> int:
        """Episodes without a fault that are wanted."""
        return self.per_cell * len(self.kinds) if self.clean is None else self.clean

    @property
    def fingerprint(self) -> str:
        """Digest of the configuration, the version of the plan, and the players' own fingerprints."""
        players = [agents.create(player.agent, player.options).fingerprint() for player in self.players]
        named = [player.named for player in self.players]
        return digest([VERSION, self.model_dump(mode="json") | {"players": named}, players])


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One episode that a slot may try."""

    task: str
    player: Player
    seed: int
    kind: KindName | None
    severity: int
    stage: Stage | None

    @property
    def id(self) -> str:
        """Of the episode: it tells nothing of what happens in it."""
        told = [self.task, self.player.named, self.seed, self.kind, self.severity, self.stage]
        return digest([VERSION, told], 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One episode that is wanted, and what it tries."""

    name: str
    """Such as `pose-bias-2-train-00`."""
    kind: KindName | None
    severity: int
    split: Split
    attempts: tuple[Attempt, ...]


def split_of(task_id: str) -> Split:
    """Which side a task is on: always the same, in every dataset, so that nothing leaks from one to another.

    A variant of a LIBERO task (`libero/goal/3-fast-v1`) is on the side of the task itself.
    """
    plain = _VARIANT.sub(r"\1\2", task_id)
    share = int(hashlib.sha256(f"{_SALT}:{plain}".encode()).hexdigest()[:8], 16) / 2**32
    return "heldout" if share < HELD_OUT_SHARE else "train"


def slots(config: BuildConfig) -> list[Slot]:
    """Every slot of a dataset, in a fixed order.

    Raises:
        CannotBuild: if no policy plays any of the tasks.
    """
    fit = _fitting(config)
    by_split: dict[Split, list[str]] = {"train": [], "heldout": []}
    for task in fit:
        by_split[split_of(task)].append(task)
    cells: list[tuple[KindName | None, int, int]] = [
        (kind, severity, config.per_cell) for kind in config.kinds for severity in config.severities
    ]
    if config.n_clean:
        cells.append((None, 0, config.n_clean))
    return [
        slot
        for kind, severity, wanted in cells
        for split, n in _shares(wanted, by_split).items()
        for slot in _cell(config, kind, severity, split, by_split[split], n, fit)
    ]


def _fitting(config: BuildConfig) -> dict[str, list[Player]]:
    """Task -> the players that can play it; tasks without any are left out."""
    made = [(player, agents.create(player.agent, player.options)) for player in config.players]
    fit: dict[str, list[Player]] = {}
    reasons = []
    for task_id in config.tasks:
        task = environments.get(task_id)
        told = [(player, agent.unfit(task, ActionSpace.NATIVE)) for player, agent in made]
        if "robot" not in task.tags or ActionSpace.NATIVE not in task.spaces:
            reasons.append(f"{task_id} is no robot task with native actions")
        elif able := [player for player, reason in told if reason is None]:
            fit[task_id] = able
        else:
            reasons += [reason for _, reason in told if reason]
    if not fit:
        raise CannotBuild("no policy plays any of these tasks: " + "; ".join(reasons[:5]))
    return fit


def _shares(wanted: int, by_split: Mapping[Split, Sequence[str]]) -> dict[Split, int]:
    """How many of a cell's episodes are of held-out tasks: three in ten, and one at least if there can be."""
    if not by_split["heldout"] or not by_split["train"]:
        return {"heldout": wanted if by_split["heldout"] else 0, "train": wanted if by_split["train"] else 0}
    held = max(1, round(HELD_OUT_SHARE * wanted)) if wanted > 1 else 0
    return {"train": wanted - held, "heldout": held}


def _cell(
    config: BuildConfig,
    kind: KindName | None,
    severity: int,
    split: Split,
    tasks: Sequence[str],
    wanted: int,
    fit: Mapping[str, Sequence[Player]],
) -> Iterator[Slot]:
    """The slots of a cell on one side of the split.

    Tasks, stages and policies take turns, from a beginning that differs from cell to cell. Seeds differ from try to
    try, and from one round through the tasks to the next: where `tries` divides the number of seeds, slots would come
    back to episodes that earlier ones have.
    """
    start = int(digest([config.seed, kind, severity, split], 8), 16)
    order = sorted(tasks, key=lambda task: digest([config.seed, kind, severity, task]))
    for j in range(wanted):
        attempts = []
        for k in range(config.tries):
            task = order[(j + k // 2) % len(order)]  # two tries a task: a world takes a second to build
            able = fit[task]
            stages = _stages(kind, task)
            stage = stages[j % len(stages)] if k < (config.tries + 1) // 2 else stages[0]
            seed = (start + j * config.tries + k + j // len(order)) % _distinct(task, config.seeds)
            attempts.append(
                Attempt(
                    task=task,
                    player=able[(start + j + k) % len(able)],
                    seed=FIRST_SEED + config.seed * SEEDS_APART + seed,
                    kind=kind,
                    severity=severity,
                    stage=stage,
                )
            )
        name = f"{kind or 'clean'}-{severity}-{split}-{j:03d}"
        yield Slot(name=name, kind=kind, severity=severity, split=split, attempts=tuple(attempts))


def _stages(kind: KindName | None, task_id: str) -> Sequence[Stage | None]:
    """Where a kind may begin in a task: LIBERO calls what is opened or turned `transport`."""
    if kind is None:
        return (None,)
    if "libero" not in environments.get(task_id).tags:
        return STAGES[kind]
    return tuple(stage for stage in STAGES[kind] if stage not in ("open", "turn"))


def _distinct(task_id: str, seeds: int) -> int:
    """How many of the first seeds begin differently: LIBERO has fifty initial states and begins anew after them."""
    return min(seeds, INIT_STATES) if "libero" in environments.get(task_id).tags else seeds
