"""The register of tasks: look-up by id, by glob, and the helpful refusal of a wrong id."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable

from environments.errors import UnknownTask
from environments.task import CATEGORIES, TIERS, Task

_ID = re.compile(r"[a-z0-9_]+(/[a-z0-9_-]+)+-v\d+")
_tasks: dict[str, Task] = {}
_origins: dict[str, Callable[[], str]] = {}


def register(task: Task) -> Task:
    """Add a task; its id must be new and of the form `family/name-vN`.

    Raises:
        ValueError: for a malformed or taken id or entry point, no way to act or no steps to do it in, milestones
            that are declared twice or follow one that is not declared before them, a game outside the taxonomy.
    """
    if not _ID.fullmatch(task.id):
        raise ValueError(f"task id {task.id!r} is not of the form 'family/name-vN' in lower case")
    if task.id in _tasks:
        raise ValueError(f"task id {task.id!r} is taken by {_tasks[task.id].entry_point}; raise the version")
    known: set[str] = set()
    for milestone in task.milestones:
        unknown = [before for before in milestone.after if before not in known]
        if milestone.id in known:
            raise ValueError(f"{task.id}: milestone {milestone.id!r} is declared twice")
        if unknown:  # what must come before is declared before, so that the order has no circles
            raise ValueError(f"{task.id}: milestone {milestone.id!r} follows {unknown}, not declared before it")
        known.add(milestone.id)
    if not task.spaces or task.max_steps < 1:
        raise ValueError(f"{task.id}: needs an action space and max_steps >= 1, has {task.spaces}, {task.max_steps}")
    if not all(task.entry_point.partition(":")):
        raise ValueError(f"{task.id}: entry point {task.entry_point!r} is not of the form 'module:callable'")
    if task.id.startswith("games/") and (task.category not in CATEGORIES or task.tier not in TIERS):
        wanted = f"a category of {', '.join(CATEGORIES)} and a tier of {', '.join(TIERS)}"
        raise ValueError(f"{task.id}: a game has {wanted}; this one has {task.category!r}, {task.tier!r}")
    words = [word for values in task.settings.values() for word in values]
    if len(set(words)) < len(words) or not all(re.fullmatch(r"[a-z0-9]+", word) for word in words):
        raise ValueError(f"{task.id}: values of settings are single words, none of them twice; got {words}")
    if task.settings and not all(task.varied_by.partition(":")):
        raise ValueError(f"{task.id}: varied_by {task.varied_by!r} is not of the form 'module:callable'")
    if task.tutorial_seed in task.public_seeds:
        raise ValueError(f"{task.id}: tutorial seed {task.tutorial_seed} is also a public seed")
    _tasks[task.id] = task
    return task


def explain(family: str, origin: Callable[[], str]) -> None:
    """Have a wrong id of a family answered with where its tasks come from, for one whose tasks users register.

    Args:
        family: the first part of its tasks' ids.
        origin: gives the clause; called when an id is refused.
    """
    _origins[family] = origin


def tasks() -> list[Task]:
    """Every registered task, sorted by id."""
    return [_tasks[task_id] for task_id in sorted(_tasks)]


def get(task_id: str) -> Task:
    """The task of that exact id, also that of a variant (`Task.vary`), which no list has.

    Raises:
        UnknownTask: with the nearest id, or the versions that exist.
    """
    found = _tasks.get(task_id) or _variant(task_id)
    if found is None:
        raise UnknownTask(f"no task {task_id!r}{suggestion(task_id)}")
    return found


def _variant(task_id: str) -> Task | None:
    """The variant of that id: a task's id with words of its settings before the version."""
    stem, _, version = task_id.rpartition("-")
    base, *words = stem.split("-")
    for cut in range(len(words)):
        task = _tasks.get(f"{'-'.join((base, *words[:cut]))}-{version}")
        if task is None or not task.settings:
            continue
        settings = {word: name for name, values in task.settings.items() for word in values[1:]}
        if all(word in settings for word in words[cut:]):
            varied = task.vary({settings[word]: word for word in words[cut:]})
            return varied if varied.id == task_id else None  # the words in the order of their settings' names
    return None


def match(pattern: str) -> list[Task]:
    """The tasks whose id matches a shell-style glob (an exact id matches itself, and a variant's no glob).

    Raises:
        UnknownTask: if nothing matches.
    """
    found = [task for task in tasks() if fnmatch.fnmatchcase(task.id, pattern)]
    if not found and (varied := _variant(pattern)) is not None:
        return [varied]
    if not found:
        raise UnknownTask(f"no task matches {pattern!r}{suggestion(pattern)}")
    return found


def suggestion(task_id: str) -> str:
    """A clause that helps someone who mistyped: other versions, the nearest id, or all families.

    Of a family that is explained (`explain`): what there is of it, and where it comes from.
    """
    family = task_id.partition("/")[0]
    if family in _origins:
        near = difflib.get_close_matches(task_id, [known for known in _tasks if known.startswith(f"{family}/")], n=1)
        return (f"; did you mean {near[0]!r}?" if near else "") + f"; {_origins[family]()}"
    stem = re.sub(r"-v\d+$", "", task_id)
    versions = [known for known in _tasks if re.sub(r"-v\d+$", "", known) == stem]
    if versions:
        return f"; did you mean {' or '.join(repr(known) for known in sorted(versions))}?"
    near = difflib.get_close_matches(task_id, _tasks, n=1, cutoff=0.5)
    if not near:  # compare the names alone: 'snake' finds 'games/snake-v1'
        names = {known.rsplit("/", 1)[-1].rsplit("-v", 1)[0]: known for known in _tasks}
        near = [names[name] for name in difflib.get_close_matches(stem.rsplit("/", 1)[-1], names, n=1, cutoff=0.6)]
    if near:
        return f"; did you mean {near[0]!r}?"
    families = sorted({known.split("/", 1)[0] for known in _tasks})
    return f"; the families are {', '.join(families)} (see `arena tasks`)"
