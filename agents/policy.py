"""A robot policy without a model, for the diagnosis loop: it acts on what it believes, not on what it sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents.agent import Agent, Briefing, Decision
from agents.scripted import world
from environments.errors import UnsupportedSpace
from environments.task import ActionSpace, Task

if TYPE_CHECKING:
    from environments.robots.expert import BelievingExpert


class ScriptedPolicy(Agent):
    """A scripted pick-and-place policy that does not re-check its grasp, as many learned policies do not.

    Told that the world went back, it looks at the scene once and believes what is true then.
    """

    name = "scripted-policy"
    privileged = True
    instrument = "scripted policy: does not re-check its grasp; its faults are there to be diagnosed"

    _policy: BelievingExpert | None = None

    def unfit(self, task: Task, space: ActionSpace) -> str | None:
        """It knows the tabletop's native space alone."""
        if space == ActionSpace.NATIVE and task.id.startswith("tabletop/"):
            return None
        return f"agent {self.name!r} plays the native space of tabletop tasks, not the {space} space of {task.id}"

    def reset(self, briefing: Briefing) -> None:
        """Begin an episode without beliefs.

        Raises:
            UnsupportedSpace: for anything but the native space of a tabletop task.
        """
        super().reset(briefing)
        reason = self.unfit(briefing.task, briefing.space)
        if reason:
            raise UnsupportedSpace(reason)
        self._policy = None

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """Act on the present belief."""
        policy = self._present()
        action = self.briefing.actions.parse(policy.act())
        return Decision(action=action)

    def replay(self, observation: Mapping[str, Any], decision: Decision) -> None:
        """Let the policy act on the same world, so that it comes to the same beliefs."""
        self._present().act()
        super().replay(observation, decision)

    def rolled_back(self) -> None:
        """Drop all beliefs; new ones are formed at the next decision, when the world is as it is to be."""
        self._policy = None

    def _present(self) -> BelievingExpert:
        if self._policy is None:
            from environments.robots.expert import BelievingExpert  # loads MuJoCo

            self._policy = BelievingExpert(world(self.briefing))  # type: ignore[arg-type]  # `reset` has checked it
            self._policy.reset()
        return self._policy
