"""`arena diagnose physical`: the track on a real robot, with the time that each round of its loop took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from arena import loop_times
from arena import run as runs
from arena.cli.common import (
    Artifacts,
    AsJson,
    Database,
    console,
    errors,
    listing,
    location,
    only_given,
    plain,
    print_json,
)
from arena.cli.diagnose import tracks
from arena.cli.diagnose_options import experiment_asked, refuse
from arena.cli.dynamic_tables import share
from arena.cli.endpoints import require_model
from arena.cli.progress import ProgressBar, tell_unmeasured, unmeasured
from arena.diagnosis.dynamic_rows import Row, rows_of
from arena.diagnosis.dynamic_table import Line, table_of
from arena.errors import Problem
from environments.task import IRREVERSIBLE

_OUTCOMES = ("condition", "episodes", "success", "rescued", "broken", "net", "interventions", "added_steps")
"""Of the dynamic track's columns. False alarms are not among them: nobody knows in which episodes of a real robot there
was a fault."""
_TIMES = ("T_execute", "policy", "T_vlm", "T_rollback", "T_loop")
"""What `loop_times.TIMES` are called in the table."""


def add_to(app: typer.Typer) -> None:
    """Register the command of this file, beside the other tracks."""
    tracks.command("physical")(run_physical)


def run_physical(
    file: Annotated[Path, typer.Argument(help="The experiment file: `real/` tasks.", show_default=False)],
    model: Annotated[str | None, typer.Option("--model", help="For `vlm`.", show_default=False)] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its endpoint.", show_default=False)] = None,
    key_env: Annotated[
        str | None, typer.Option("--key-env", help="Name of the variable that holds its key.", show_default=False)
    ] = None,
    workers: Annotated[int, typer.Option("--workers", "-j", min=0, max=1, help="Processes: a robot is one.")] = 1,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Run the physical track: one episode at a time on a robot behind a URL (docs/real-robot.md).

    Prints what a condition rescued and broke against the one that is labelled `none`, and where each cycle's time went.
    """
    told, options = experiment_asked(file, only_given(model=model, base_url=base_url, key_env=key_env))
    found = {task.id: task for block in told.blocks for task in block.found()}
    others = [task.id for task in found.values() if not {"robot", IRREVERSIBLE} <= set(task.tags)]
    remedy = "the physical track plays `real/` tasks; ARENA_ROBOTS names their profiles"
    refuse([Problem("tasks", other, remedy) for other in others], str(file))
    if options is not None:
        require_model(options)
    place = location(database, artifacts)
    with place.open() as store:
        with ProgressBar(errors) as bar:
            run_id = runs.run(told, store, place, workers=workers, observer=bar)
        played = rows_of(store, run_id)
        lines = table_of(run_id, played).lines
        timed, missing = loop_times.of_run(store, run_id), unmeasured(store, run_id)
    if as_json:
        summed = {label: {"cycles": len(found), **loop_times.summary(found)} for label, found in timed.items()}
        told_of = [_episode(row) for row in played]
        outcomes = [_outcomes(line) for line in lines]
        print_json({"run": run_id, "conditions": outcomes, "episodes": told_of, "loop": summed})
    else:
        console.print(plain(f"run {run_id}"))
        _tell_conditions(lines)
        _tell_episodes(played)
        _tell_loop(timed)
    if bar.failures or missing:
        tell_unmeasured(missing, errors)
        raise typer.Exit(1)


def _outcomes(line: Line) -> dict[str, Any]:
    return {name: value for name, value in asdict(line).items() if name in _OUTCOMES}


def _episode(row: Row) -> dict[str, Any]:
    return {"id": row.episode_id, "condition": row.condition, "seed": row.seed, "success": row.success}


def _tell_conditions(lines: Sequence[Line]) -> None:
    heads = ("condition", "n", "won", "rescued", "broken", "net", "forks", "added")
    shown = listing(*heads, whole=heads)
    for line in lines:
        counts = (f"{value:g}" for value in (line.rescued, line.broken, line.net, line.interventions, line.added_steps))
        shown.add_row(*map(plain, [line.condition, str(line.episodes), share(line.success), *counts]))
    _tell(shown)


def _tell_episodes(rows: Sequence[Row]) -> None:
    """By their ids, for `arena show`."""
    heads = ("episode", "condition", "seed", "won")
    shown = listing(*heads, whole=heads)
    for row in rows:
        shown.add_row(*map(plain, [row.episode_id, row.condition, str(row.seed), "yes" if row.success else "no"]))
    _tell(shown)


def _tell_loop(timed: dict[str, list[loop_times.Cycle]]) -> None:
    """A line for each time: side by side the five of them do not fit beside the name of a condition."""
    heads = ("condition", "cycles", "seconds a cycle", "median", "largest")
    shown = listing(*heads, whole=heads)
    for label, found in timed.items():
        named = [label, str(len(found))]
        for name, figures in zip(_TIMES, loop_times.summary(found).values(), strict=True):
            shown.add_row(*map(plain, [*named, name, f"{figures['median']:.2f}", f"{figures['max']:.2f}"]))
            named = ["", ""]
    if _tell(shown):
        console.print("the policy's seconds are part of T_execute", markup=False, highlight=False)


def _tell(shown: Table) -> bool:
    """Print a table that has rows; returns whether it has any."""
    if shown.row_count:
        console.print(shown)
    return bool(shown.row_count)
