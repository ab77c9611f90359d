"""Players that need no model: the floor, the ceiling, and a test weight between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from agents.agent import Agent, Briefing, Decision
from environments.actions import Action
from environments.env import ArenaEnv
from environments.task import NO_EXPERT, ActionSpace, Task


class RandomAgent(Agent):
    """Plays a random valid action: the floor of every table."""

    name = "random"
    varies = "noise"

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """Draw an action; the observation is not looked at."""
        return Decision(action=random_action(self.briefing, self.chance()))


class ExpertAgent(Agent):
    """Plays the scripted expert's action, from the engine's own state: the ceiling of every table."""

    name = "scripted"
    privileged = True
    instrument = "ceiling: the scripted expert, who sees the engine's state"

    def unfit(self, task: Task, space: ActionSpace) -> str | None:
        """Some programs of others have no expert."""
        return without_expert(self, task)

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """Ask the expert."""
        return Decision(action=world(self.briefing).expert_action())

    def replay(self, observation: Mapping[str, Any], decision: Decision) -> None:
        """Ask the expert too: behind the GUI space it plans several gestures ahead when it is asked."""
        world(self.briefing).expert_action()
        super().replay(observation, decision)


HELD_OUT = " (held-out)"
"""What the kind of a lesson ends in on a seed that it was not learned on."""

LESSON_KINDS = (
    "plain-retry",
    "text-log",
    "failure-video",
    "tutorial-video",
    "failure+tutorial",
    "other-model",
    "placebo",
)
"""What a retry may follow; on held-out seeds with `HELD_OUT` behind it."""

Gain = Annotated[float, Field(ge=-1, le=1)]


class CalibratedOptions(BaseModel):
    """How good the test weight is, and how much a lesson improves it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    p: float = Field(0.6, ge=0, le=1, description="probability of the expert's action at each step")
    gain: float = Field(0.3, ge=0, le=1, description="added to p in an attempt that has a lesson")
    gains: dict[str, Gain] = Field(
        default_factory=dict,
        exclude_if=lambda value: not value,
        description="the same by kind of lesson, such as failure-video: 0.2; kinds that are not named take `gain`",
    )

    @model_validator(mode="after")
    def _is_probability(self) -> Self:
        if self.p + self.gain > 1 + 1e-9:
            raise ValueError(f"p + gain must be at most 1, got {self.p} + {self.gain} = {self.p + self.gain:g}")
        for kind, gain in self.gains.items():
            if kind.removesuffix(HELD_OUT) not in LESSON_KINDS:
                raise ValueError(f"gains: no lesson is of kind {kind!r}; there are {', '.join(LESSON_KINDS)}")
            if not -1e-9 <= self.p + gain <= 1 + 1e-9:
                raise ValueError(f"p + gains[{kind!r}] must be in 0 to 1, got {self.p} + {gain} = {self.p + gain:g}")
        return self

    def known(self, kind: str, *, taught: bool) -> float:
        """What is added to p, for certain, in an attempt.

        Args:
            kind: of the lesson that the attempt follows; empty for a first attempt.
            taught: whether it has a lesson.
        """
        for name in (kind, kind.removesuffix(HELD_OUT)):
            if name in self.gains and (taught or name == "plain-retry"):
                return self.gains[name]
        return self.gain if taught else 0.0


class CalibratedAgent(Agent):
    """Plays the expert's action with a known probability that rises by a known amount after a lesson.

    It weighs the arena, not a model: if reflect-and-retry is measured rightly, the measured gain
    must agree with the one that was set. It does not read the lesson, only of what kind it is.
    """

    name = "calibrated"
    privileged = True
    instrument = "test weight: plays the expert's action with probability p, p + gain after a lesson"
    varies = "noise"
    Options = CalibratedOptions
    options: CalibratedOptions

    def unfit(self, task: Task, space: ActionSpace) -> str | None:
        """Some programs of others have no expert."""
        return without_expert(self, task)

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """Follow the expert or draw a random valid action; `notes["followed_expert"]` says which."""
        # The expert is asked in either case, so that it plans the same ahead in play and in replay.
        expert = world(self.briefing).expert_action()
        rng = self.chance()
        gain = self.options.known(self.briefing.lesson_kind, taught=bool(self.briefing.lesson))
        probability = self.options.p + gain
        followed = bool(rng.random() < probability)
        action = expert if followed else random_action(self.briefing, rng)
        return Decision(action=action, notes={"followed_expert": followed})

    def replay(self, observation: Mapping[str, Any], decision: Decision) -> None:
        """Ask the expert as `decide` did; nothing else is remembered."""
        world(self.briefing).expert_action()
        super().replay(observation, decision)


def without_expert(agent: Agent, task: Task) -> str | None:
    """Why a player that asks the scripted expert cannot play a task, or None."""
    return f"agent {agent.name!r} asks the scripted expert, and {task.id} has none" if NO_EXPERT in task.tags else None


def world(briefing: Briefing) -> ArenaEnv:
    """The environment that a privileged player reads.

    Raises:
        ValueError: if the briefing holds none, which is a fault of the caller.
    """
    if briefing.privileged is None:
        raise ValueError("this agent is privileged: the briefing must hold the environment in `privileged`")
    return briefing.privileged


def random_action(briefing: Briefing, rng: np.random.Generator) -> Action:
    """A random valid action in canonical JSON, drawn from `rng` alone."""
    # A Gymnasium space draws from a generator of its own, so that one is seeded anew for each draw.
    briefing.actions.seed(int(rng.integers(2**31)))
    return briefing.actions.parse(briefing.actions.sample())
