"""`arena diagnose physical`: the track on a real robot, with the time that each round of its loop took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

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
from arena.cli.endpoints import require_model
from arena.cli.progress import ProgressBar, tell_unmeasured, unmeasured
from arena.diagnosis.dynamic_table import Line, dynamic_table
from arena.errors import Problem
from environments.task import IRREVERSIBLE

_OUTCOMES = ("condition", "episodes", "success", "rescued", "broken", "net", "interventions", "added_steps")
"""Of the dynamic track's columns. False alarms are not among them: nobody knows in which episodes of a real robot there
was a fault."""


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
        table, timed, missing = (
            dynamic_table(store, run_id),
            loop_times.of_run(store, run_id),
            unmeasured(store, run_id),
        )
    if as_json:
        summed = {label: {"cycles": len(found), **loop_times.summary(found)} for label, found in timed.items()}
        print_json({"run": run_id, "conditions": [_outcomes(line) for line in table.lines], "loop": summed})
    else:
        _tell_conditions(run_id, table.lines)
        _tell_loop(timed)
    if bar.failures or missing:
        tell_unmeasured(missing, errors)
        raise typer.Exit(1)


def _outcomes(line: Line) -> dict[str, Any]:
    return {name: value for name, value in asdict(line).items() if name in _OUTCOMES}


def _tell_conditions(run_id: str, lines: Sequence[Line]) -> None:
    console.print(plain(f"run {run_id}"))
    heads = ("episodes", "success", "rescued", "broken", "net", "forks", "added")
    shown = listing("condition", *heads, whole=heads)
    for line in lines:
        shown.add_row(plain(line.condition), *(f"{value:g}" for value in list(_outcomes(line).values())[1:]))
    console.print(shown)


def _tell_loop(timed: dict[str, list[loop_times.Cycle]]) -> None:
    heads = ("cycles", "T_execute", "policy", "T_vlm", "T_rollback", "T_loop")
    shown = listing("condition", *heads, whole=heads)
    for label, found in timed.items():
        figures = loop_times.summary(found)
        times = (f"{figures[name]['median']:.2f} ({figures[name]['max']:.2f})" for name in loop_times.TIMES)
        shown.add_row(plain(label), str(len(found)), *times)
    console.print(shown)
    console.print(
        "seconds a cycle, median (largest); the policy's are part of T_execute", markup=False, highlight=False
    )
