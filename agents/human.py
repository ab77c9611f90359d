"""A person as a player: what an episode that somebody played by hand is recorded under."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agents.agent import Agent, Decision
from environments.actions import Action
from environments.task import ActionSpace, Task


class HumanOptions(BaseModel):
    """Who plays."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field("player", min_length=1, max_length=40, description="what the tables call the person")

    @field_validator("name")
    @classmethod
    def _is_one_line_of_text(cls, name: str) -> str:
        # `isprintable` also keeps out the characters that turn the direction of writing around.
        if not name.isprintable() or name != name.strip():
            raise ValueError("a name is 1 to 40 printable characters, without spaces around it")
        return name


class HumanAgent(Agent):
    """A person with keyboard and mouse; plays with `arena play` or in the viewer, never in an experiment."""

    name = "human"
    Options = HumanOptions
    options: HumanOptions

    hands: Callable[[], Action] | None = None
    """Gives the gesture that the person has just made; set by whoever watches keyboard and mouse."""
    refusal: str = ""
    """Why the rules refused the last gesture, or nothing: shown to the person, as it is told to a model."""

    @property
    def label(self) -> str:
        """What tables and lists call this person."""
        return f"{self.name}:{self.options.name}"

    def unfit(self, task: Task, space: ActionSpace) -> str | None:
        """A person cannot be started by a file: says where people play."""
        return f"a person plays with `arena play {task.id}` or in `arena view --play`, and is no agent of an experiment"

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """The gesture that was made.

        Raises:
            RuntimeError: if nobody's hands are watched, which is a fault of the caller.
        """
        if self.hands is None:
            raise RuntimeError("nobody is playing: a person's episodes are run by arena.human")
        return Decision(action=self.hands())

    def observe_result(self, *, illegal: str | None, reward: float) -> None:
        """Keep the reason of a refusal, to be shown."""
        self.refusal = illegal or ""
