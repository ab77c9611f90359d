"""`arena tutorial add` and `arena tutorial list`: people's own videos for reflections to look at."""

from __future__ import annotations

import contextlib
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from arena import tutorials
from arena.cli.common import Artifacts, AsJson, Database, console, listing, location, plain, print_json
from storage.errors import NoDatabase
from storage.models import Tutorial

group = typer.Typer(help="Videos of your own that reflections may look at as tutorials.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    group.command("add")(add)
    group.command("list")(list_tutorials)
    app.add_typer(group, name="tutorial")


def add(
    task: Annotated[str, typer.Argument(help="The task that the video shows.", show_default=False)],
    file: Annotated[Path, typer.Argument(help="An MP4, QuickTime, Matroska, WebM or AVI file.", show_default=False)],
    space: Annotated[
        str | None,
        typer.Option(
            "--space", help="The action space that it shows, if it is to serve that alone.", show_default=False
        ),
    ] = None,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Take in a video of how a task is done, and print the id that `reflection: {tutorial: ID}` takes.

    At most 512 MiB and 30 minutes; it is decoded, thinned out to 10 frames a second and encoded again, without sound.
    """
    with location(database, artifacts).open() as store:
        row = tutorials.add(store, task, file, space=space)
    if as_json:
        print_json(_columns(row))
        return
    info = row.video_info
    console.print(
        plain(f"{row.id}: {info['n_frames']} frames of {info['width']} x {info['height']}, {info['fps']:.3g} a second")
    )
    console.print(plain(f"In an experiment file: reflection: {{tutorial: {row.id}}}"))


def list_tutorials(database: Database = None, artifacts: Artifacts = None, as_json: AsJson = False) -> None:
    """List the videos that were added."""
    rows: list[Tutorial] = []
    with contextlib.suppress(NoDatabase), location(database, artifacts).existing() as store:
        rows = store.tutorials()
    if as_json:
        print_json([_columns(row) for row in rows])
        return
    if not rows:
        console.print("No videos yet. `arena tutorial add TASK FILE` takes one in.")
        return
    table = listing("id", "task", "space", "frames", "seconds", "file", whole=("id", "task"))
    for row in rows:
        seconds = row.video_info["n_frames"] / row.video_info["fps"]
        cells = (row.id, row.task_id, row.space or "any", str(row.video_info["n_frames"]), f"{seconds:.0f}", row.source)
        table.add_row(*map(plain, cells))
    console.print(table)


def _columns(row: Tutorial) -> dict[str, object]:
    return {field.name: getattr(row, field.name) for field in fields(row)}
