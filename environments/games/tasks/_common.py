"""What the registrations of all games share."""

from __future__ import annotations

from environments.task import ActionSpace, Milestone

MAKE = "environments.game_env:make_game"
SPACES = (ActionSpace.SEMANTIC, ActionSpace.GUI)


def ladder(*steps: tuple[str, str]) -> tuple[Milestone, ...]:
    """Milestones that can only be reached in this order."""
    before: tuple[str, ...] = ()
    rungs = []
    for name, text in steps:
        rungs.append(Milestone(name, text, after=before))
        before = (name,)
    return tuple(rungs)
