"""`arena view`: the viewer's part of the command line, joined in by entry points."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from arena.cli.common import Artifacts, AsJson, Database, console, location
from arena.location import Location


def add_to(app: typer.Typer) -> None:
    """Register the command of this file (entry point group `arena.commands`)."""
    app.command("view")(view)


def view(
    database: Database = None,
    artifacts: Artifacts = None,
    host: Annotated[str, typer.Option(help="Address; anything but loopback needs --token.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port; the next free one is taken if it is busy.")
    ] = 7860,
    token: Annotated[
        str | None, typer.Option(envvar="ARENA_TOKEN", help="What visitors must present.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve leaderboards and replays in the browser."""
    _serve(location(database, artifacts), host=host, port=port, token=token, as_json=as_json)


def serve(database: str, artifacts: str, *, run_id: str | None = None, port: int = 7860) -> None:
    """Serve after a run (entry point group `arena.viewers`)."""
    _serve(Location.of(database, artifacts), host="127.0.0.1", port=port, token=None, run_id=run_id)


def _serve(
    place: Location, *, host: str, port: int, token: str | None, run_id: str | None = None, as_json: bool = False
) -> None:
    from ui.app import serve as serve_app  # Gradio takes seconds to import: only here

    def ready(url: str) -> None:
        if as_json:  # one line, at once: a script reads it and goes on, while the server stays
            print(json.dumps({"url": url}), flush=True)
            return
        link = f"{url}ui/?run={run_id}" if run_id else url
        console.print(f"\nReplays: [link={link}]{link}[/link]", soft_wrap=True)
        console.print("Ctrl-C ends the server; `arena view` starts it again.")

    with place.open() as store:
        serve_app(store, host=host, port=port, token=token, ready=ready)
