"""What the engine can carry out of a diagnosis' repair, and how a player is told something else than the task says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from environments.env import ArenaEnv, Views
from environments.task import ActionSpace

_MOVES_THE_ARM = ("regrasp", "offset")


def executable(repair: Mapping[str, Any], env: ArenaEnv) -> bool:
    """Whether there is anything to be carried out, and this world can do it.

    `retry`, `reset` and `abort` are the rollback itself, or the end; an arm is moved by native actions alone.
    """
    kind = repair.get("kind", "none")
    if kind in _MOVES_THE_ARM:
        return "robot" in env.task.tags and env.space == ActionSpace.NATIVE
    return bool(kind == "reprompt")


def told(observation: Mapping[str, Any], instruction: str) -> Mapping[str, Any]:
    """The observation with another instruction in it; the observation itself without one, or where it holds none.

    Pictures are rendered when they are looked at, as before.
    """
    if not instruction or "instruction" not in observation:
        return observation
    if not isinstance(observation, Views):
        return {**observation, "instruction": instruction}
    return observation.with_values(instruction=instruction)
