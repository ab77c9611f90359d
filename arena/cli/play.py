"""`arena play`: play a game by hand, in a page of the local viewer; it is recorded like any agent's episode."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

import agents
import environments
from arena.cli.common import Artifacts, Database, console, listing, location
from arena.human import playable
from environments.errors import UnknownTask, UnsupportedSpace


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command("play")(play)


def play(
    task: Annotated[
        str | None, typer.Argument(help="Id of the game; without one, those that can be played.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the game.")] = 0,
    name: Annotated[
        str, typer.Option(envvar="ARENA_PLAYER", help="Recorded as `human:NAME`; 1 to 40 printable characters.")
    ] = "player",
    database: Database = None,
    artifacts: Artifacts = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port; the next free one is taken if it is busy.")
    ] = 7860,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page, or only say where it is.")
    ] = True,
) -> None:
    """Play a game by hand; the episode is a baseline in the run `human`, and may serve as a tutorial."""
    agents.create("human", {"name": name})  # refuses a name that cannot be shown, with the reason
    if task is None:
        _list()
        return
    found = _find(task)
    if not playable(found):
        raise UnsupportedSpace(f"{found.id} is no game with a window of ours; `arena play` lists what can be played")
    viewers = metadata.entry_points(group="arena.viewers")
    if not viewers:
        console.print("Games are played in the viewer, which is not installed: pip install 'rewind-arena\\[ui]'")
        raise typer.Exit(2)
    place = location(database, artifacts)
    game = {"task": found.id, "seed": str(seed), "name": name}
    next(iter(viewers)).load()(place.database, place.artifacts, port=port, play=game, open_browser=browser)


def _find(name: str) -> environments.Task:
    """The task of an id, or of the one game that is called so: `snake` is `games/snake-v1`."""
    try:
        return environments.get(name)
    except UnknownTask:
        called = [task for task in environments.tasks() if task.id.partition("/")[2].rpartition("-v")[0] == name]
        games = [task for task in called if playable(task)]
        if len(games) == 1:
            return games[0]
        raise


def _list() -> None:
    table = listing("task", "title", "category", "tier", whole=("task",))
    for task in filter(playable, environments.tasks()):
        table.add_row(task.id, task.title, task.category, task.tier)
    console.print(table)
    console.print("\nPlay one with: arena play TASK")
