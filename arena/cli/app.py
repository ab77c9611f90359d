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

from agents.errors import AgentsError
from arena.cli import catalogue, demo, doctor, results, running
from arena.cli.common import errors
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


@app.callback()
def _root(verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what happens.")] = False) -> None:
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )


for _group in (demo, running, results, catalogue, doctor):
    _group.add_to(app)


def main() -> None:
    """Entry point of the console script."""
    for entry in metadata.entry_points(group="arena.commands"):
        entry.load()(app)
    try:
        app()
    except EXPECTED as error:
        errors.print(f"[bold red]error:[/] {type(error).__name__}", highlight=False)
        errors.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
