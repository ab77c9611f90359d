"""`arena demo`: the built-in experiment, its leaderboard, and the replays in a browser."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from arena import experiments
from arena.calibration import calibration, summary
from arena.cli.common import Artifacts, AsJson, Database, console, location
from arena.cli.running import Workers, play
from arena.experiment import parse


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command("demo")(demo)


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="The small version: under a minute, and no server.")] = False,
    serve: Annotated[
        bool | None,
        typer.Option(
            "--serve/--no-serve", help="Serve the replays afterwards.  [default: unless --quick]", show_default=False
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=1, max=65_535, help="Port of the replays; the next free one is taken if it is busy.")
    ] = 7860,
    database: Database = None,
    artifacts: Artifacts = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Run the built-in experiment: no key, no GPU, no network. Start it again to continue it."""
    name = "demo-quick" if quick else "demo"
    place = location(database, artifacts)
    run_id = play(parse(experiments.text(name), f"{name}.yaml"), place, workers=workers, as_json=as_json)
    if not as_json:
        with place.open() as store:
            for line in summary(calibration(store, run_id)):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    if serve if serve is not None else not quick and not as_json:
        _serve(place.database, place.artifacts, run_id, port)


def _serve(database: str, artifacts: str, run_id: str, port: int) -> None:
    viewers = metadata.entry_points(group="arena.viewers")
    if not viewers:
        console.print("The viewer is not installed: pip install 'rewind-arena\\[ui]', then `arena view`.")
        return
    next(iter(viewers)).load()(database, artifacts, run_id=run_id, port=port)
