"""`arena diagnose`: fault diagnosis in closed loop; its thresholds, and what each intervention was worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track
from typer.core import TyperGroup

import agents
import environments
from arena import run as runs
from arena.cli.common import (
    Artifacts,
    AsJson,
    Database,
    console,
    errors,
    listed,
    listing,
    location,
    only_given,
    plain,
    print_json,
)
from arena.cli.dynamic_tables import tell
from arena.cli.endpoints import entry_of, player_of, require_model, require_policy
from arena.cli.progress import ProgressBar, tell_unmeasured, unmeasured
from arena.diagnosis import conformal, counterfactual
from arena.diagnosis.conformal import Calibration
from arena.diagnosis.dynamic import CONDITIONS, Scenario, run_dynamic, scenarios
from arena.diagnosis.dynamic_table import dynamic_table
from arena.diagnosis.opinions import is_human
from arena.errors import InvalidExperiment, Problem
from arena.experiment import load
from arena.faults.plan import Player
from arena.identity import digest
from environments.robots.faults import KINDS
from environments.task import ActionSpace

DYNAMIC = "dynamic"


class _Tracks(TyperGroup):
    """A group whose first argument may be what the dynamic track is to be run on."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the dynamic track where no track is named."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [DYNAMIC, *args]
        return super().parse_args(ctx, args)


tracks = typer.Typer(
    cls=_Tracks,
    no_args_is_help=True,
    help="Diagnose faults in closed loop: watch, roll back, repair. `arena diagnose TASKS` is the dynamic track.",
)
"""Other tracks add their commands here."""


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.add_typer(tracks, name="diagnose")


Agent = Annotated[
    str,
    typer.Option("--agent", help="The policy; options behind a colon: `policy:protocol=openpi,url=ws://HOST:PORT`."),
]


@tracks.command(DYNAMIC)
def run_tasks(
    what: Annotated[
        list[str], typer.Argument(help="Tasks (globs), or one experiment file (YAML).", show_default=False)
    ],
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Seeds of each task, from 0.")] = 2,
    faults: Annotated[
        str, typer.Option("--faults", help="Kinds with commas; `all`, or `none` for clean episodes alone.")
    ] = "all",
    severities: Annotated[str, typer.Option("--severities", help="0 (benign) to 3, with commas.")] = "0,2",
    repeat: Annotated[bool, typer.Option("--repeat", help="Faults come back when they are rolled back from.")] = False,
    conditions: Annotated[
        str, typer.Option("--conditions", help="With commas; also `rules-subgoals`, `vlm`, `vlm-stages`, `human`.")
    ] = ",".join(CONDITIONS),
    agent: Agent = "scripted-policy",
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            help="Thresholds, by `arena diagnose calibrate`.  [default: made if needed]",
            show_default=False,
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="For `vlm`.", show_default=False)] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its endpoint.", show_default=False)] = None,
    key_env: Annotated[
        str | None, typer.Option("--key-env", help="Name of the variable that holds its key.", show_default=False)
    ] = None,
    rollback: Annotated[str, typer.Option("--rollback", help="`sim`, or `physical`: the arm alone.")] = "sim",
    interventions: Annotated[int, typer.Option("--interventions", min=1, max=20, help="In one episode.")] = 3,
    vary: Annotated[
        bool, typer.Option("--vary", help="A second try at the same place has other noise, or replans at other steps.")
    ] = False,
    video: Annotated[
        bool, typer.Option("--video", help="Film every step, to be watched; else what somebody saw.")
    ] = False,
    workers: Annotated[int | None, typer.Option("--workers", "-j", min=0, help="Processes.")] = None,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Run the dynamic track: every scenario alone and under every condition; continue after any interruption."""
    place = location(database, artifacts)
    names = listed(conditions)
    if model is not None and not {"vlm", "vlm-stages"} & set(names):
        names.append("vlm")
    options = only_given(model=model, base_url=base_url, key_env=key_env) or None
    with place.open() as store:
        with ProgressBar(errors) as bar:
            if len(what) == 1 and Path(what[0]).is_file():
                run_id = runs.run(load(what[0], model=options), store, place, workers=workers, observer=bar)
            else:
                scenes, player = _scenes(what, seeds, faults, severities, repeat), player_of(agent)
                require_policy(player)
                if options is not None and {"vlm", "vlm-stages"} & set(names):
                    require_model(options)
                file = _calibration(calibration, place.scratch.parent, player, scenes, names)
                try:
                    run_id = run_dynamic(
                        store, place, scenes, names, agent=entry_of(player), calibration=file, model=options,
                        max_interventions=interventions, rollback=rollback, vary=vary,
                        video="every-step" if video else "as-seen", workers=workers, observer=bar,
                    )  # fmt: skip
                except ValueError as error:
                    raise InvalidExperiment("arguments", [Problem("--conditions", conditions, str(error))]) from None
        table, missing = dynamic_table(store, run_id), unmeasured(store, run_id)
    tell(table, as_json)
    known = [line.condition for line in table.lines]
    for name in names:
        if is_human(name) and name not in known:
            told = f"{name}: nobody has looked at {run_id} yet; `arena view --review` has a page for that"
            errors.print(told, markup=False, highlight=False)
    if bar.failures or missing:
        tell_unmeasured(missing, errors)
        raise typer.Exit(1)


@tracks.command("table")
def show_table(
    run: Annotated[str, typer.Argument(help="Run id, or its beginning.", show_default=False)],
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Print the dynamic table of a run."""
    with location(database, artifacts).open() as store:
        table = dynamic_table(store, run)
    tell(table, as_json)


@tracks.command("calibrate")
def calibrate(
    what: Annotated[list[str], typer.Argument(help="Tasks (globs).", show_default=False)],
    to: Annotated[Path, typer.Option("--to", help="The file to write.", show_default=False)],
    agent: Agent = "scripted-policy",
    episodes: Annotated[int, typer.Option("--episodes", min=8, help="Clean episodes of each task.")] = 60,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0.001, max=0.5, help="Clean episodes with an alarm, at most.")
    ] = 0.05,
    first_seed: Annotated[
        int, typer.Option("--first-seed", min=0, max=2**31 - 1, help="Of the episodes; keep them apart from others.")
    ] = conformal.FIRST_SEED,
) -> None:
    """Set the monitors' thresholds from a policy's clean episodes, on seeds that nothing else uses.

    What was played when it is interrupted, or when a served policy fails, lies beside the file until it is written:
    the same command goes on there.
    """
    tasks, player = _tasks(what), player_of(agent)
    require_policy(player)
    _learn(to, tasks, player, episodes=episodes, alpha=alpha, first_seed=first_seed)
    console.print(f"wrote {to}", markup=False, highlight=False)


@tracks.command("counterfactual")
def replay_forks(
    run: Annotated[str, typer.Argument(help="Run id, or its beginning.", show_default=False)],
    conditions: Annotated[str, typer.Option("--conditions", help="With commas.  [default: all]")] = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Episodes at most.", show_default=False)] = None,
    video: Annotated[bool, typer.Option("--video", help="Film the other way, for the viewer.")] = False,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Play each intervention the other way and keep what came of it: was it needed, did it help?

    Exits with 1 if a replay is not exact.
    """
    place = location(database, artifacts)
    found = []
    with place.open() as store:
        films = place.scratch if video else None
        asked = counterfactual.of_run(store, run, conditions=listed(conditions), limit=limit, films=films)
        for item in track(asked, "Playing the other way", console=errors, transient=True):
            counterfactual.keep(store, item)
            found.append(item)
    counts = counterfactual.tally(found)
    if as_json:
        print_json({"tally": asdict(counts), "forks": [item.to_json() for item in found]})
    else:
        table = listing("episode", "step", "trigger", "with", "without", "verdict", "prefix", whole=("episode", "step"))
        words = {True: "success", False: "failure"}
        for item in found:
            trigger = item.trigger + " (suppressed)" * item.suppressed
            same = f"{item.prefix_steps} steps" if item.exact else "; ".join(item.differences)
            cells = (item.episode, str(item.step), trigger, words[item.with_it], words[item.without], item.verdict)
            table.add_row(*map(plain, (*cells, same)))
        console.print(table)
        console.print(
            f"{counts.exact} of {counts.forks} equal the record bit for bit until the fork; {counts.helped} helped, "
            f"{counts.harmed} harmed, {counts.not_needed} not needed, {counts.did_not_help} did not help",
            markup=False,
            highlight=False,
        )
    if counts.exact < counts.forks:
        raise typer.Exit(1)


def _tell_calibrated(task_id: str, found: conformal.TaskCalibration) -> None:
    factor = "no threshold keeps that promise" if found.factor is None else f"factor {found.factor:.2f}"
    told = f"{task_id}: learned on {found.learned_on}, set on {found.set_on} clean episodes; {factor}"
    errors.print(told, markup=False, highlight=False)


_WATCHED = ("rules", "restart", "monitors-only", "vlm")
"""Conditions whose alarms rest on limits; the beginnings of their names."""


def _learn(path: Path, tasks: Sequence[str], player: Player, **bounds: Any) -> None:
    """Write a policy's limits; the episodes played so far lie beside the file meanwhile."""
    conformal.calibrate(tasks, player.agent, player.options, to=path, tell=_tell_calibrated, **bounds)


def _calibration(
    given: Path | None, folder: Path, player: Player, scenes: Sequence[Scenario], names: Sequence[str]
) -> str | None:
    """The file of this policy's limits on these tasks: the given one, or one made before, or a new one.

    Raises:
        InvalidExperiment: if the given one is of another policy, or lacks a task.
    """
    tasks = sorted({scene.task for scene in scenes})
    who = agents.create(player.agent, player.options).fingerprint()
    if given is not None:
        found = Calibration.load(given)
        missing = [task for task in tasks if task not in found.tasks]
        if found.agent != who:
            remedy = f"is not of this policy but of {_who(found.agent)}; limits hold for one policy: calibrate again"
            raise InvalidExperiment("arguments", [Problem("--calibration", str(given), remedy)])
        if missing:
            remedy = f"lacks {', '.join(missing[:3])}, where nothing would ever be noticed; calibrate on it too"
            raise InvalidExperiment("arguments", [Problem("--calibration", str(given), remedy)])
        return str(given)
    if not any(name.startswith(_WATCHED) for name in names):
        return None
    told = f"-{digest(who, 10)}" if player.options else ""
    path = folder / "calibrations" / f"{player.agent}{told}-{conformal.name_of(tasks)}.json"
    if path.exists():
        try:
            Calibration.load(path)
        except conformal.NoCalibration as error:
            errors.print(f"{error}", markup=False, highlight=False)
        else:
            return str(path)
    errors.print(f"calibrating {player.label} on {len(tasks)} tasks", markup=False, highlight=False)
    _learn(path, tasks, player)
    return str(path)


def _who(fingerprint: Mapping[str, Any]) -> str:
    return " ".join(str(fingerprint[key]) for key in ("agent", "protocol", "model", "host") if fingerprint.get(key))


def _scenes(what: Sequence[str], seeds: int, faults: str, severities: str, repeat: bool) -> list[Scenario]:
    problems = []
    kinds: list[Any] = [None] if faults == "none" else [] if faults == "all" else list(listed(faults))
    unknown = [kind for kind in kinds if kind is not None and kind not in KINDS]
    if unknown:
        problems.append(Problem("--faults", unknown[0], f"unknown kind; there are {', '.join(KINDS)}"))
    levels = listed(severities)
    if not levels or any(level not in "0123" for level in levels):
        problems.append(Problem("--severities", severities, "expected numbers from 0 to 3, with commas"))
    if problems:
        raise InvalidExperiment("arguments", problems)
    named = [kind if kind is None else {"kind": kind, "repeat": repeat} for kind in (kinds or list(KINDS))]
    return scenarios(_tasks(what), range(seeds), named, [int(level) for level in levels])


def _tasks(patterns: Sequence[str]) -> list[str]:
    """The tasks of the patterns that a robot policy can play natively.

    Raises:
        InvalidExperiment: if there are none.
    """
    found = [task for pattern in patterns for task in environments.match(pattern)]
    fit = [task.id for task in found if "robot" in task.tags and ActionSpace.NATIVE in task.spaces]
    if not fit:
        raise InvalidExperiment("arguments", [Problem("TASKS", " ".join(patterns), "no robot task is called so")])
    return list(dict.fromkeys(fit))
