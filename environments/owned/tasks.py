"""The `owned/` tasks: one for each profile of the package, and of the folders that ARENA_PROFILES names.

Worker processes see the same tasks: they inherit the variable and import this module as their parent did.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from environments.errors import InvalidProfile
from environments.owned.profile import Profile, load
from environments.registry import register, tasks
from environments.task import IRREVERSIBLE, NO_EXPERT, VLM_JUDGED, ActionSpace, Milestone, Task

log = logging.getLogger(__name__)

VARIABLE = "ARENA_PROFILES"
"""Folders with profiles of one's own, or single files, separated as in PATH."""
SHIPPED = Path(__file__).with_name("profiles")
_MOST_FILES = 200
_origins: dict[str, Path] = {}
"""The profile that each `owned/` task was registered from."""


def task_of(profile: Profile) -> Task:
    """The task that a profile describes."""
    return Task(
        id=profile.task_id,
        title=profile.title,
        goal=f"{profile.goal} {profile.controls}",
        entry_point="environments.owned.env:make_owned",
        spaces=(ActionSpace.GUI,),
        milestones=tuple(Milestone(m.id, m.text, m.after) for m in profile.milestones),
        max_steps=profile.max_steps,
        params={"profile": profile.model_dump(mode="json", exclude_defaults=True)},
        category=profile.category,
        tier=profile.tier,
        tags=("owned", IRREVERSIBLE, VLM_JUDGED, NO_EXPERT),
    )


def files(place: Path) -> list[Path]:
    """The profiles in a folder, sorted by name; a file is itself."""
    if place.is_dir():
        return sorted(path for path in place.iterdir() if path.suffix in (".yaml", ".yml"))[:_MOST_FILES]
    return [place]


def places() -> list[Path]:
    """The folders and files that ARENA_PROFILES names."""
    return [Path(name).expanduser() for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]


def owner(task_id: str) -> str | Path | None:
    """Who has the id of a task: the profile it was registered from, the entry point of another task, or nobody."""
    if task_id in _origins:
        return _origins[task_id]
    return next((task.entry_point for task in tasks() if task.id == task_id), None)


def _register(path: Path) -> None:
    task = register(task_of(load(path)))
    _origins[task.id] = path.resolve()


def _register_all() -> None:
    for path in files(SHIPPED):
        _register(path)
    for path in _users_own():
        try:
            _register(path)
        except InvalidProfile as error:
            # Somebody's half-written file must not take all other tasks away; `arena profile check` shows all of it.
            log.warning("%s; it is left out (see: arena profile check %s)", error, path)
        except ValueError as error:  # an id that is taken
            log.warning("%s is left out: %s", path, error)


def _users_own() -> Iterator[Path]:
    for place in places():
        if place.exists():
            yield from files(place)
        else:
            log.warning("%s names %s, which does not exist", VARIABLE, place)


_register_all()
