"""`arena plan` and `arena run`: what an experiment file would do, and doing it."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from arena import experiments, plan, run
from arena.cli.board import leaderboard_tables
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
from arena.cli.progress import ProgressBar, amount, tell_unmeasured, unmeasured
from arena.errors import InvalidExperiment, Problem
from arena.experiment import Experiment, load, parse
from arena.leaderboard import leaderboard
from arena.location import Location
from storage.errors import NoDatabase
from storage.store import Store

File = Annotated[
    Path | None,
    typer.Argument(
        help="The experiment file (YAML). With --model it may be left out: then snake, 2048 and maze are played.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Model of every `vlm` in the file that names none itself.", show_default=False),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", help="Its OpenAI-compatible endpoint; without one, litellm's providers.", show_default=False
    ),
]
KeyEnv = Annotated[
    str | None, typer.Option("--key-env", help="Name of the variable that holds its key.", show_default=False)
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", "-j", min=0, help="Processes.  [default: one per processor]", show_default=False),
]


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command("plan")(show_plan)
    app.command("run")(run_file)


def show_plan(
    file: File = None,
    model: Model = None,
    base_url: BaseUrl = None,
    key_env: KeyEnv = None,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Show the episodes that an experiment file asks for, and which of them are done."""
    wanted = plan.build(_experiment(file, model, base_url, key_env))
    with contextlib.ExitStack() as opened:
        store = _recorded(location(database, artifacts), opened)
        wanted.check_recorded(store)
        left = run.status(store, wanted)
    pending = {attempt.identity for attempt in left.pending_tutorials} | {t.first.identity for t in left.pending_trials}
    if as_json:
        print_json(
            {
                "run": wanted.run_id,
                "done": left.done,
                "pending": len(pending),
                "trials": [
                    {
                        "identity": trial.first.identity,
                        "conditions": [condition.label for condition in trial.conditions],
                        "agent": trial.first.agent.label,
                        "spec": trial.first.spec,
                        "done": trial.first.identity not in pending,
                    }
                    for trial in wanted.trials
                ],
                "tutorials": [
                    {"identity": attempt.identity, "spec": attempt.spec, "done": attempt.identity not in pending}
                    for attempt in wanted.tutorials.values()
                ],
            }
        )
        return
    table = listing("task", "space", "agent", "conditions", "done", whole=("task", "space", "done"))
    total: Counter[tuple[str, ...]] = Counter()
    done: Counter[tuple[str, ...]] = Counter()
    rows = [(attempt, "tutorial") for attempt in wanted.tutorials.values()]
    rows += [(trial.first, ", ".join(condition.label for condition in trial.conditions)) for trial in wanted.trials]
    for attempt, use in rows:
        cell: tuple[str, ...] = (attempt.spec["task"], attempt.spec["space"], attempt.agent.label, use)
        total[cell] += 1
        done[cell] += attempt.identity not in pending
    for row in sorted(total):
        table.add_row(*map(plain, row), f"{done[row]}/{total[row]}")
    console.print(table)
    console.print(
        f"\nrun {wanted.run_id}: {left.done} of {total.total()} done ({amount(wanted)}); "
        "a failed first attempt may add retries"
    )


def _recorded(place: Location, opened: contextlib.ExitStack) -> Store:
    """What is recorded at a place: where there is nothing yet, a store without anything, for nothing is done."""
    try:
        return opened.enter_context(place.existing())
    except NoDatabase:
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="arena-"))
        return opened.enter_context(Store.open(Path(folder) / "arena.db"))


def run_file(
    file: File = None,
    model: Model = None,
    base_url: BaseUrl = None,
    key_env: KeyEnv = None,
    database: Database = None,
    artifacts: Artifacts = None,
    workers: Workers = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="Play on a Ray cluster: $RAY_ADDRESS, or one started here.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment file. The same command continues after any interruption."""
    experiment = _experiment(file, model, base_url, key_env)
    play(experiment, location(database, artifacts), workers=workers, on_ray=ray, as_json=as_json)


def _experiment(file: Path | None, model: str | None, base_url: str | None, key_env: str | None) -> Experiment:
    if model is None and (file is None or base_url or key_env):
        missing = "an experiment file, or --model for the built-in one" if file is None else "--model beside --base-url"
        raise InvalidExperiment("arguments", [Problem("command line", "", f"needs {missing}")])
    options = only_given(model=model, base_url=base_url, key_env=key_env) or None
    if file is None:
        return parse(experiments.text("model"), "model.yaml", model=options)
    return load(file, model=options)


def play(
    experiment: Experiment, place: Location, *, workers: int | None = None, on_ray: bool = False, as_json: bool = False
) -> str:
    """Run an experiment with a progress bar, print its leaderboard, return its run id."""
    with place.open() as store:
        with ProgressBar(errors) as bar:
            run_id = run.run(experiment, store, place, workers=workers, on_ray=on_ray, observer=bar)
        board = leaderboard(store, run_id)
        details = unmeasured(store, run_id)
    if as_json:
        print_json(board.to_json())
    else:
        console.print(leaderboard_tables(board))
    if bar.failures or details:
        tell_unmeasured(details, errors)
        raise typer.Exit(1)
    return run_id
