"""The `real/` tasks: one for each profile in the files and folders that ARENA_ROBOTS names, separated as in PATH.

Worker processes see the same tasks: they inherit the variable and import this module as their parent did.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from environments.errors import InvalidProfile
from environments.real.profile import RobotProfile, load
from environments.registry import explain, register, tasks
from environments.task import IRREVERSIBLE, NO_EXPERT, ONE_AT_A_TIME, ActionSpace, Milestone, Task

log = logging.getLogger(__name__)

VARIABLE = "ARENA_ROBOTS"
_MOST_FILES = 200


def task_of(profile: RobotProfile) -> Task:
    """The task that a profile describes."""
    return Task(
        id=profile.task_id,
        title=profile.title,
        goal=profile.goal,
        entry_point="environments.real.env:make_real",
        spaces=(ActionSpace.NATIVE,),
        milestones=(Milestone("done", "who judges says that the goal is reached"),),
        max_steps=profile.max_steps,
        params={"profile": profile.model_dump(mode="json", exclude_defaults=True)},
        tags=("robot", "real", IRREVERSIBLE, ONE_AT_A_TIME, NO_EXPERT),
        extra="policies",
    )


def _places() -> list[Path]:
    return [Path(name).expanduser() for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]


def _files() -> Iterator[Path]:
    for place in _places():
        if place.is_dir():
            yield from sorted(path for path in place.iterdir() if path.suffix in (".yaml", ".yml"))[:_MOST_FILES]
        elif place.exists():
            yield place
        else:
            log.warning("%s names %s, which does not exist", VARIABLE, place)


def _origin() -> str:
    """Where `real/` tasks come from, and which there are."""
    told = f"robots are registered by profiles, files or folders, that {VARIABLE} names"
    if not _places():
        return f"{told}, and it is not set (docs/real-robot.md)"
    named = os.pathsep.join(map(str, _places()))
    found = [task.id for task in tasks() if task.id.startswith("real/")]
    return f"{told}; {named} has " + (", ".join(found) if found else "no profile that can be used")


def _register_all() -> None:
    for path in _files():
        try:
            register(task_of(load(path)))
        except InvalidProfile as error:  # somebody's half-written file must not take all other tasks away
            log.warning("%s; it is left out", error)
        except ValueError as error:  # an id that is taken
            log.warning("%s is left out: %s", path, error)


explain("real", _origin)
_register_all()
