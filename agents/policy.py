"""Robot policies without a model: one that acts on what it believes, and one that fails at a known rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from agents.agent import Agent, Briefing, Decision
from agents.scripted import without_expert, world
from environments.errors import UnsupportedSpace
from environments.task import ActionSpace, Task

if TYPE_CHECKING:
    from environments.robots.believing import BelievingPlayer
    from environments.robots.expert import BelievingExpert


class ScriptedPolicy(Agent):
    """A scripted policy that does not re-check its grasp, as many learned policies do not.

    It plays the tabletop and the LIBERO tasks that the scripted expert manages.
    Told that the world went back, it looks at the scene once and believes what is true then. A varied retry gives its
    hand a little noise.
    """

    name = "scripted-policy"
    privileged = True
    instrument = "scripted policy: does not re-check its grasp; its faults are there to be diagnosed"
    varies = "noise"

    _policy: BelievingExpert | BelievingPlayer | None = None

    def unfit(self, task: Task, space: ActionSpace) -> str | None:
        """It knows the native space of the tabletop and of LIBERO, where there is an expert."""
        if space == ActionSpace.NATIVE and task.id.startswith(("tabletop/", "libero/")):
            return without_expert(self, task)
        return (
            f"agent {self.name!r} plays the native space of tabletop and LIBERO tasks, not the {space} space of"
            f" {task.id}"
        )

    def reset(self, briefing: Briefing) -> None:
        """Begin an episode without beliefs.

        Raises:
            UnsupportedSpace: for anything but the native space of a tabletop or LIBERO task.
        """
        super().reset(briefing)
        reason = self.unfit(briefing.task, briefing.space)
        if reason:
            raise UnsupportedSpace(reason)
        self._policy = None

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """Act on the present belief."""
        action = np.array(self._present().act(), float)
        if self.variation:
            action[:3] += self.chance().normal(0.0, VARIED_NOISE, 3)
        return Decision(action=self.briefing.actions.parse(np.clip(action, -1.0, 1.0).tolist()))

    def replay(self, observation: Mapping[str, Any], decision: Decision) -> None:
        """Let the policy act on the same world, so that it comes to the same beliefs."""
        self._present().act()
        super().replay(observation, decision)

    def rolled_back(self) -> None:
        """Drop all beliefs; new ones are formed at the next decision, when the world is as it is to be."""
        self._policy = None

    def _present(self) -> BelievingExpert | BelievingPlayer:
        if self._policy is None:
            from environments.robots.expert import believing_player  # loads MuJoCo

            self._policy = believing_player(world(self.briefing))  # type: ignore[arg-type]  # `reset` has checked it
            self._policy.reset()
        return self._policy


VARIED_NOISE = 0.05
"""Standard deviation of what a varied retry adds to the scripted policy's translation: 2.5 mm in each step."""


class NoisyExpertOptions(BaseModel):
    """How much chance there is in the hand."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    failure_rate: float = Field(0.3, ge=0, le=1, description="share of the episodes in which the hand is pulled aside")
    noise: float = Field(
        0.1, ge=0, le=0.5, description="standard deviation added to the motion components of an action"
    )


@dataclass(frozen=True, slots=True)
class _Pull:
    """What happens to the hand in an episode that is to fail."""

    onset: int
    """Step from which it acts."""
    push: tuple[float, float, float]
    """Added to the translation of each action."""


class NoisyExpert(Agent):
    """The scripted expert with an unsteady hand, which fails at the rate that was set.

    Every action gets seeded noise, which the expert corrects. In a share `failure_rate` of the episodes,
    drawn from the episode's own chance, a constant sideways pull sets in within the first steps (5 to 24),
    somewhat stronger than the expert's largest correction: the hand drifts off and the episode fails. So the
    expected success is (1 - failure_rate) times the expert's own: a policy to weigh monitors and diagnoses with.
    A varied retry has other noise, and draws afresh whether it is pulled.
    `notes["pulled"]` says whether the pull acts, for whoever compares.
    """

    name = "noisy-expert"
    privileged = True
    instrument = "test weight: the scripted expert with noise; a set share of its episodes is pulled off course"
    varies = "noise"
    Options = NoisyExpertOptions
    options: NoisyExpertOptions

    def unfit(self, task: Task, space: ActionSpace) -> str | None:
        """It shakes native actions of robots, where there is an expert."""
        if space != ActionSpace.NATIVE:
            return f"agent {self.name!r} plays the native space of robot tasks, not the {space} space of {task.id}"
        return without_expert(self, task)

    def reset(self, briefing: Briefing) -> None:
        """Begin an episode and draw whether it is to fail.

        Raises:
            UnsupportedSpace: for anything but the native space of a task with an expert.
        """
        super().reset(briefing)
        reason = self.unfit(briefing.task, briefing.space)
        if reason:
            raise UnsupportedSpace(reason)
        self._pull = _draw(briefing.seed, self.options.failure_rate)

    def vary(self, variation: int) -> None:
        """Other noise, and another draw."""
        super().vary(variation)
        self._pull = _draw(self.briefing.seed, self.options.failure_rate, variation)

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """The expert's action, shaken, and in an episode that is to fail pulled aside."""
        action = np.array(world(self.briefing).expert_action(), float)
        action[:6] += self.chance().normal(0.0, self.options.noise, 6) if self.options.noise else 0.0
        pulled = self._pull is not None and self.step >= self._pull.onset
        if self._pull is not None and pulled:
            action[:3] += self._pull.push
        clipped = np.clip(action, -1.0, 1.0).tolist()
        return Decision(action=self.briefing.actions.parse(clipped), notes={"pulled": pulled})


PULL = 1.6
"""Of the pull, where 1 is the largest action: what remains of it when the expert pulls back with all its might is a
drift of 0.6, 1.5 cm in each step."""


def _draw(seed: int, rate: float, variation: int = 0) -> _Pull | None:
    """Whether and how the episode of that seed is pulled; the draws do not depend on the rate."""
    rng = np.random.default_rng([seed & 0xFFFFFFFFFFFFFFFF, 0x9011, *([variation] if variation else [])])
    chance, onset, angle = rng.random(), int(rng.integers(5, 25)), rng.uniform(-np.pi, np.pi)
    if chance >= rate:
        return None
    return _Pull(onset, (PULL * float(np.cos(angle)), PULL * float(np.sin(angle)), 0.6))
