"""The player's contract: told once what to do, then asked again and again what to do now."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from agents.calls import ModelCall
from agents.gateway.limits import Budget
from environments.actions import Action, NativeActions, TypedActions
from environments.env import ArenaEnv
from environments.task import ActionSpace, Task

DecisionStatus = Literal["ok", "unparsable", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What a player is told at the start of an episode."""

    task: Task
    space: ActionSpace
    actions: TypedActions | NativeActions
    """Schema, parser and help of the action space."""
    max_steps: int | None = None
    """Horizon of this episode where the experiment sets one; None takes the task's own."""
    lesson: str | None = None
    """What an earlier attempt taught, if anything (model text)."""
    lesson_kind: str = ""
    """What the lesson rests on, such as `failure-video`; told to instruments alone, and empty for all others."""
    seed: int = 0
    """The player's own chance, derived from the episode's identity; not the world's seed."""
    privileged: ArenaEnv | None = None
    """The environment itself, for players that declare `privileged`; None for all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One answer: an action in canonical JSON, or the reason why there is none."""

    action: Action | None
    status: DecisionStatus = "ok"
    reason: str = ""
    """For `unparsable` and `refused`: what was wrong."""
    rationale: str = ""
    calls: tuple[ModelCall, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    """The player's own record, JSON values."""


class NoOptions(BaseModel):
    """The options of a player that has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Agent(ABC):
    """A player. It never knows that it is recorded, and carries no chance between steps.

    Whatever a player draws at step k comes from `chance()`, which depends on the episode and k
    alone, so that an episode interrupted after step k goes on exactly as it would have gone on.
    Subclasses implement `decide`, and `replay` if they remember anything. The order of calls, in
    play and in replay alike: `reset`, then per step `act` (or `replay`) and `observe_result`.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raise it when the player itself changes what it does; part of the fingerprint."""
    Options: ClassVar[type[BaseModel]] = NoOptions
    """What may be set, as a pydantic model that forbids extra fields."""
    privileged: ClassVar[bool] = False
    """Whether it reads the engine's state. Such a player is an instrument, not a contestant."""
    instrument: ClassVar[str] = ""
    """A label shown wherever its results are shown, for players that are no contestants."""

    varies: ClassVar[str] = ""
    """What a varied retry changes in what it does, in a word or two; empty where nothing does."""

    briefing: Briefing
    step: int
    """Decisions made so far in this episode."""
    variation: int = 0
    """Which way to act is wanted: 0 is the usual one, any other number another (see `vary`)."""

    def __init__(self, options: BaseModel | None = None) -> None:
        self.options = self.Options() if options is None else options

    def fingerprint(self) -> dict[str, Any]:
        """Everything that changes what it does, as JSON values; part of the episode's identity."""
        return {"agent": self.name, "version": self.version, "options": self.options.model_dump(mode="json")}

    def unfit(self, task: Task, space: ActionSpace) -> str | None:
        """Why it cannot play a task behind a space, or None: asked before anything is run."""
        return None

    def reset(self, briefing: Briefing) -> None:
        """Begin an episode."""
        self.briefing = briefing
        self.step = 0
        self.variation = 0

    def limit(self, budget: Budget) -> None:
        """Let a budget refuse model calls before they are sent; called after `reset`, if at all.

        The caller keeps the budget: it may be shared by episodes, and starts with what an
        interrupted episode had used. Players without a model ignore it.
        """

    @abstractmethod
    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """Decide what to do now.

        Raises:
            ProviderError: if the model's side failed; never for a bad answer.
        """

    def act(self, observation: Mapping[str, Any]) -> Decision:
        """`decide`, counted; a varied decision says so in its notes."""
        decision = self.decide(observation)
        self.step += 1
        if self.variation:
            told = {"variation": self.variation, "varied": self.varies or "nothing"}
            decision = replace(decision, notes={**decision.notes, **told})
        return decision

    def replay(self, observation: Mapping[str, Any], decision: Decision) -> None:
        """Take note of a decision of its own from before an interruption, in place of `act`."""
        self.step += 1

    def observe_result(self, *, illegal: str | None, reward: float) -> None:
        """Learn what came of the last decision; called after each step of the world, in replay too.

        Args:
            illegal: why the rules refused the action, or None if they did not.
            reward: the environment's reward for the step.
        """

    def rolled_back(self) -> None:
        """The world went back to an earlier moment: drop whatever was believed about the present."""

    def vary(self, variation: int) -> None:
        """From now on act otherwise than usual: the same state and the same policy would fail in the same way again.

        Called after a diagnosis, before the retry, in play and in replay alike; `rolled_back` changes nothing in it.

        Args:
            variation: 0 for the usual way; other numbers for other ways, each the same whenever it is asked for.
        """
        self.variation = variation

    def close(self) -> None:
        """Release what it holds."""

    def chance(self) -> np.random.Generator:
        """A fresh generator for this step: the same for the same episode, step and variation."""
        named = f"{self.briefing.seed}:{self.step}" + (f":{self.variation}" if self.variation else "")
        digest = hashlib.sha256(named.encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))
