"""The engine's sub-goal predicates as one word, for monitors that are allowed to know more than a robot's sensors."""

from __future__ import annotations

from environments.env import ArenaEnv


def subgoal_of(env: ArenaEnv) -> str | None:
    """How many milestones are reached, and the present stage, as `2:lift`; None for a world without stages."""
    stage = getattr(env, "stage", None)
    return None if stage is None else f"{len(env.milestones())}:{stage()}"
