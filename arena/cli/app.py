"""The `arena` command: its groups of subcommands, and how it answers errors.

A room above this one adds commands through the entry-point group `arena.commands`: each entry is a
callable that is given the Typer application. So the viewer joins in and no arrow points upwards.
"""

from __future__ import annotations

import logging
import sys
from importlib import metadata
from typing import Annotated

import typer
from rich.highlighter import NullHighlighter
from rich.logging import RichHandler

from agents.errors import AgentsError
from arena.cli import (
    budget,
    catalogue,
    certify,
    demo,
    diagnose,
    diagnose_physical,
    doctor,
    faults,
    judging,
    milestones,
    play,
    power,
    probing,
    profile,
    results,
    running,
    serve_policy,
    serve_robot,
    tutorial,
)
from arena.cli.common import errors, plain
from arena.errors import ArenaError
from environments.errors import EnvironmentsError
from storage.errors import StorageError

EXPECTED = (ArenaError, AgentsError, EnvironmentsError, StorageError)
"""Errors whose message is the answer; anything else is a bug and shows its trace."""

app = typer.Typer(
    name="arena",
    help="Evaluate agents that see and act: run experiments, read leaderboards, replay episodes.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # locals may hold keys
    rich_markup_mode="rich",
    add_completion=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"arena {metadata.version('rewind-arena')}")
        raise typer.Exit


@app.callback()
def _root(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what happens.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    # Through the console that draws the progress bar: any other way to standard error would tear it.
    handler = RichHandler(console=errors, show_time=False, show_path=False, highlighter=NullHighlighter())
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s", handlers=[handler]
    )


for _group in (
    demo,
    running,
    play,
    results,
    budget,
    power,
    judging,
    milestones,
    probing,
    tutorial,
    catalogue,
    certify,
    diagnose,
    diagnose_physical,
    profile,
    serve_policy,
    serve_robot,
    faults,
    doctor,
):
    _group.add_to(app)


def main() -> None:
    """Run the command line; an error that a room foresaw is answered with its message and exit status 2."""
    for entry in metadata.entry_points(group="arena.commands"):
        entry.load()(app)
    try:
        app()
    except EXPECTED as error:
        errors.print(f"[bold red]error:[/] {type(error).__name__}", highlight=False)
        errors.print(plain(str(error)), soft_wrap=True)
        sys.exit(2)
