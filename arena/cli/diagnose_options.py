"""What `arena diagnose` is asked for: every option is read before anything is opened, asked or played.

Each reader adds what is wrong with its option to a list of problems and returns the rest, so that all of a command
line's mistakes are told at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

import environments
from agents.agent import Agent
from arena.cli.common import listed
from arena.cli.endpoints import agent_of, model_of, player_of
from arena.diagnosis.condition_names import WITH_MODEL, run_problems
from arena.diagnosis.conformal import Calibration, NoCalibration, needed
from arena.diagnosis.dynamic import Scenario, scenarios
from arena.errors import InvalidExperiment, Problem
from arena.experiment import Experiment, load
from arena.faults.plan import Player
from arena.supervision import RollbackKind
from environments.errors import UnknownTask
from environments.robots.faults import KINDS, KindName
from environments.task import IRREVERSIBLE, ActionSpace, nearest

MAX_SEEDS = 10_000
"""Of a task: seeds from there on show tutorials and calibrate."""
_LEVELS = ("0", "1", "2", "3")
_ROLLBACKS: tuple[str, ...] = get_args(RollbackKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A dynamic run, as its options describe it."""

    scenes: list[Scenario]
    names: list[str]
    """Of conditions."""
    player: Player
    playing: Agent
    """The player itself."""
    model: dict[str, Any] | None

    @property
    def tasks(self) -> list[str]:
        """Ids, sorted."""
        return sorted({scene.task for scene in self.scenes})


def refuse(problems: Sequence[Problem], source: str = "arguments") -> None:
    """Go on only if there are no problems.

    Raises:
        InvalidExperiment: with all of them.
    """
    if problems:
        raise InvalidExperiment(source, list(problems))


def dynamic_asked(
    what: Sequence[str],
    *,
    seeds: int,
    faults: str,
    severities: str,
    repeat: bool,
    conditions: str,
    agent: str,
    calibration: Path | None,
    model: Mapping[str, Any],
    rollback: str,
) -> Asked:
    """The scenarios, conditions, policy and model of a dynamic run.

    Args:
        what: task ids or globs.
        seeds: of each task.
        faults: kinds as `kinds_of` takes them, or `none`.
        severities: with commas.
        repeat: whether faults come back.
        conditions: names with commas.
        agent: the policy, options behind a colon.
        calibration: file of its limits, if one is given.
        model: options of the model, those that are given.
        rollback: `sim` or `physical`.

    Raises:
        InvalidExperiment: with everything that is wrong.
    """
    problems: list[Problem] = []
    tasks = tasks_of(what, problems, played_by="arena diagnose physical FILE")
    clean = listed(faults) == ["none"]
    kinds = [] if clean else kinds_of(faults, problems, "--faults", alone=("all", "none"))
    levels = severities_of(severities, problems)
    named = [None] if clean else [{"kind": kind, "repeat": repeat} for kind in kinds]
    options = model_of(model, problems)
    names = _names_of(conditions, model, problems)
    labels = {scene.label for scene in scenarios([""], [0], named or [None], levels)}
    problems += run_problems(names, labels, model="model" in model, at="--conditions")
    player, playing = player_fit(agent, tasks, problems)
    if rollback not in _ROLLBACKS:
        told = f"expected one of {', '.join(_ROLLBACKS)}{nearest(rollback, _ROLLBACKS)}"
        problems.append(Problem("--rollback", rollback, told))
    if calibration is not None:
        problems += _limits_problems(calibration, playing, tasks)
    if problems or playing is None:  # there is no player only where there is a problem
        raise InvalidExperiment("arguments", problems)
    return Asked(
        scenes=scenarios(tasks, range(seeds), named, levels), names=names, player=player, playing=playing, model=options
    )


def experiment_asked(
    file: Path, model: Mapping[str, Any], problems: Sequence[Problem] = ()
) -> tuple[Experiment, dict[str, Any] | None]:
    """An experiment file, and the options of the model for what names none in it.

    Args:
        file: the experiment file.
        model: options of the model, those that are given.
        problems: what is wrong with the command's other options.

    Raises:
        InvalidExperiment: with these and all other problems, those of the file included.
    """
    problems = list(problems)
    before = len(problems)
    options = model_of(model, problems)
    if len(problems) > before and "model" in model:
        options = {"model": str(model["model"])}  # what is wrong is told once, and not where the file asks a model
    try:
        asked = load(file, model=options)
    except InvalidExperiment as error:
        raise InvalidExperiment(str(file), [*problems, *error.problems]) from None
    refuse(problems)
    return asked, options


def calibration_asked(
    what: Sequence[str], to: Path, *, agent: str, episodes: int, alpha: float, first_seed: int
) -> tuple[list[str], Player]:
    """The tasks and the policy of a calibration.

    Args:
        what: task ids or globs.
        to: the file to write.
        agent: the policy, options behind a colon.
        episodes: of each task.
        alpha: clean episodes with an alarm, at most.
        first_seed: of the episodes.

    Raises:
        InvalidExperiment: with everything that is wrong.
    """
    problems: list[Problem] = []
    tasks = tasks_of(what, problems)
    player, _ = player_fit(agent, tasks, problems)
    problems += _place_problems(to)
    half = needed(alpha)
    if episodes < 2 * half - 1:
        told = f"half of them set the limits, and --alpha {alpha:g} needs {half} for that; take {2 * half - 1} or more"
        problems.append(Problem("--episodes", episodes, told))
    if first_seed + episodes > 2**31:
        problems.append(Problem("--first-seed", first_seed, f"leaves no room for {episodes} seeds below {2**31}"))
    refuse(problems)
    return tasks, player


def conditions_played(text: str, played: Collection[str]) -> list[str]:
    """The conditions of a run that are named; none means all.

    Raises:
        InvalidExperiment: with every name that is not among those of the run.
    """
    names, known = listed(text), sorted(played)
    told = {name: nearest(name, known) or f"; there are {', '.join(known)}" for name in names if name not in played}
    refuse([Problem("--conditions", name, f"is no condition of this run{hint}") for name, hint in told.items()])
    return names


def tasks_of(
    patterns: Sequence[str], problems: list[Problem], option: str = "TASKS", *, played_by: str | None = None
) -> list[str]:
    """The tasks of the patterns that a robot policy can play natively.

    Args:
        patterns: ids or globs.
        problems: each pattern without such a task is added.
        option: that the patterns are of.
        played_by: command that plays real robots, if it is not this one.
    """
    found: list[str] = []
    for pattern in patterns:
        try:
            matched = environments.match(pattern)
        except UnknownTask as error:
            problems.append(Problem(option, pattern, _about_file(pattern) or str(error)))
            continue
        arms = [task for task in matched if "robot" in task.tags and ActionSpace.NATIVE in task.spaces]
        fit = [task.id for task in arms if played_by is None or IRREVERSIBLE not in task.tags]
        if not fit:
            told = f"is a real robot, for `{played_by}`" if arms else "no robot task is called so (`arena tasks`)"
            problems.append(Problem(option, pattern, told))
        found += fit
    return list(dict.fromkeys(found))


def _about_file(pattern: str) -> str | None:
    """What is wrong with a pattern that is meant as an experiment file."""
    path = Path(pattern)
    if path.is_file():
        return "is a file; an experiment file is given alone"
    return "there is no such file" if path.suffix in (".yaml", ".yml") else None


def kinds_of(text: str, problems: list[Problem], option: str, *, alone: Sequence[str] = ("all",)) -> list[KindName]:
    """Kinds of faults in the order named, each once.

    Args:
        text: names (`stuck`), types (`C5`) or globs over both (`P*`, `gripper-*`), with commas; or `all`.
        problems: each part that names no kind is added.
        option: that the text is of.
        alone: words that stand for themselves, for the hint.
    """
    named = listed(text)
    if named == ["all"]:
        return list(KINDS)
    words = " or ".join(f"`{word}`" for word in alone)
    if not named:
        problems.append(Problem(option, text, f"name kinds with commas, or {words}"))
    found: list[KindName] = []
    for item in named:
        hits = [kind for kind, about in KINDS.items() if fnmatchcase(kind, item) or fnmatchcase(about.fault_type, item)]
        if not hits:
            hint = nearest(item, KINDS) or f"; there are {', '.join(KINDS)}, types and globs (C5, P*), or {words} alone"
            problems.append(Problem(option, item, f"unknown kind{hint}"))
        found += hits
    return list(dict.fromkeys(found))


def severities_of(text: str, problems: list[Problem]) -> list[int]:
    """The severities of `--severities`; each that is none is added to the problems."""
    named = listed(text)
    told = f"expected some of {', '.join(_LEVELS)} (0 is benign), with commas"
    problems += [Problem("--severities", level, told) for level in named or [text] if level not in _LEVELS]
    return [int(level) for level in named if level in _LEVELS]


def _names_of(text: str, model: Mapping[str, Any], problems: list[Problem]) -> list[str]:
    """Names of conditions; a model that nothing asks adds `vlm`."""
    names = listed(text)
    if not names:
        problems.append(Problem("--conditions", text, "name at least one; `none` is always played"))
    return names if "model" not in model or set(WITH_MODEL) & set(names) else [*names, "vlm"]


def player_fit(text: str, tasks: Sequence[str], problems: list[Problem]) -> tuple[Player, Agent | None]:
    """A policy that plays these tasks natively, and the player itself if there is one.

    Args:
        text: name, and options behind a colon.
        tasks: ids.
        problems: what is wrong with it is added.
    """
    before = len(problems)
    try:
        player = player_of(text)
    except InvalidExperiment as error:
        problems += error.problems
        return Player(agent=text), None
    playing = agent_of(player, problems)
    if playing is None:
        return player, None
    found = (environments.get(task) for task in tasks)
    reasons = [reason for task in found if (reason := playing.unfit(task, ActionSpace.NATIVE))]
    if reasons:
        problems.append(Problem("--agent", player.agent, reasons[0]))
    return player, playing if len(problems) == before else None


def _limits_problems(file: Path, playing: Agent | None, tasks: Sequence[str]) -> Iterator[Problem]:
    """What keeps a calibration file from being that of a policy on these tasks."""
    try:
        found = Calibration.load(file)
    except NoCalibration as error:
        yield Problem("--calibration", "", str(error))
        return
    if playing is not None and found.agent != playing.fingerprint():
        told = f"is not of this policy but of {_who(found.agent)}; limits hold for one policy: calibrate again"
        yield Problem("--calibration", str(file), told)
    missing = [task for task in tasks if task not in found.tasks]
    if missing:
        told = f"lacks {', '.join(missing[:3])}, where nothing would ever be noticed; calibrate on it too"
        yield Problem("--calibration", str(file), told)


def _who(fingerprint: Mapping[str, Any]) -> str:
    return " ".join(str(fingerprint[key]) for key in ("agent", "protocol", "model", "host") if fingerprint.get(key))


def _place_problems(to: Path) -> Iterator[Problem]:
    """What keeps a file from being written after hours of play."""
    if to.is_dir():
        yield Problem("--to", str(to), "is a folder; name a file in it")
    blocking = next((parent for parent in to.absolute().parents if parent.exists()), None)
    if blocking is not None and not blocking.is_dir():
        yield Problem("--to", str(to), f"{blocking.name} is a file and no folder")
