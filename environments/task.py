"""What is to be done: a task, its milestones, and the action spaces that it offers."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from environments.errors import InvalidParams, UnsupportedSpace

if TYPE_CHECKING:
    from environments.env import ArenaEnv


CATEGORIES = (
    "markov-grid",
    "non-real-time-linear",
    "non-real-time-nonlinear",
    "real-time-linear",
    "real-time-nonlinear",
)
"""The categories of GameVerse's taxonomy: what the screen shows, whether time runs, whether there is one way."""
TIERS = ("easy", "medium", "hard")


VLM_JUDGED = "vlm-judged"
"""Tag of a world that tells nothing a score could be made of: only who looks at the frames can tell."""
NO_EXPERT = "no-expert"
"""Tag of a task without a scripted expert: `expert_action` raises `NoExpert`."""
IRREVERSIBLE = "irreversible"
"""Tag of a world that is somebody else's program: it can neither be copied nor taken back."""
ONE_AT_A_TIME = "one-at-a-time"
"""Tag of a world of which there is one, such as a robot: never two episodes at once."""


class ActionSpace(StrEnum):
    """The three ways to act."""

    SEMANTIC = "semantic"
    """Typed moves of the game or skills of the robot."""
    GUI = "gui"
    """Keyboard and mouse, in pixels, through a real window."""
    NATIVE = "native"
    """The robot's own 7-D end-effector action."""


@dataclass(frozen=True, slots=True)
class Milestone:
    """A checkable point of progress, worded so that a person can see it on the frames."""

    id: str
    text: str
    after: tuple[str, ...] = ()
    """Milestones that must have been reached before this one (a partial order)."""


@dataclass(frozen=True, slots=True)
class Task:
    """A versioned problem: an environment, its parameters, the goal in words, its limits.

    A change to anything that may change a result needs a new version in the id: results are
    compared by id alone.
    """

    id: str
    """`family/name-vN`, for example `games/snake-v1`."""
    title: str
    goal: str
    """What a player is told. It gives away nothing that the screen should tell."""
    entry_point: str
    """`module:callable`, imported on first use; called as `callable(task, space)`."""
    spaces: tuple[ActionSpace, ...]
    milestones: tuple[Milestone, ...]
    max_steps: int
    """Horizon in environment steps; the episode is truncated there and its score counts."""
    params: Mapping[str, Any] = field(default_factory=dict)
    public_seeds: tuple[int, ...] = tuple(range(100))
    tutorial_seed: int = 10_007
    """The seed on which the expert's tutorial is recorded; never a public seed."""
    category: str = ""
    """For games one of `CATEGORIES`; free for others."""
    tier: str = ""
    """For games one of `TIERS`."""
    tags: tuple[str, ...] = ()
    extra: str = ""
    """The extra of this package that brings the engine, if it is not one of the core's dependencies."""
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What may be set of it and to what, the first being the default: single words, none in two settings."""
    varied_by: str = ""
    """`module:callable` that makes the variant; called as `callable(task_id, **params)`, without defaults."""

    def vary(self, params: Mapping[str, Any]) -> Task:
        """The same task with other settings, under an id that says so; itself where all are the defaults.

        Results are compared by id, so settings are part of an episode's identity, and are recorded with it.

        Raises:
            InvalidParams: for a setting that this task does not have, or a value that is not one of its own.
        """
        problems = {}
        for name, value in params.items():
            if name not in self.settings:
                known = ", ".join(map(repr, self.settings))
                hint = f"{nearest(name, self.settings)}; it takes {known}" if known else "; it takes none"
                problems[str(name)] = f"{self.id} has no parameter {name!r}{hint}"
            elif value not in self.settings[name]:
                known = ", ".join(self.settings[name])
                problems[name] = f"expected one of {known}{nearest(value, self.settings[name])}"
        if problems:
            raise InvalidParams(self.id, problems)
        chosen = {name: value for name, value in params.items() if value != self.settings[name][0]}
        if not chosen:
            return self
        module, _, name = self.varied_by.partition(":")
        made: Task = getattr(importlib.import_module(module), name)(self.id, **chosen)
        return made

    def make(self, space: ActionSpace | str) -> ArenaEnv:
        """Build the environment behind one action space.

        Raises:
            UnsupportedSpace: if the task does not offer `space`.
        """
        if space not in self.spaces:
            offered = ", ".join(self.spaces)
            raise UnsupportedSpace(f"{self.id} offers {offered}; there is no {space!r} space for it")
        module, _, name = self.entry_point.partition(":")
        build = getattr(importlib.import_module(module), name)
        env: ArenaEnv = build(self, ActionSpace(space))
        return env


def nearest(word: Any, known: Iterable[str]) -> str:
    """A clause that helps someone who mistyped; empty where nothing is near."""
    near = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
