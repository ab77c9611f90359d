"""`arena view`: the viewer's part of the command line, joined in by entry points."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlencode

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
    play: Annotated[bool, typer.Option("--play", help="Let visitors play games, which are recorded.")] = False,
    review: Annotated[
        bool, typer.Option("--review", help="Let visitors overrule judges, diagnose recordings, decide on milestones.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve leaderboards and replays in the browser; read-only without --play and --review."""
    _serve(location(database, artifacts), host=host, port=port, token=token, play=play, review=review, as_json=as_json)


def serve(
    database: str,
    artifacts: str,
    *,
    run_id: str | None = None,
    port: int = 7860,
    play: Mapping[str, str] | None = None,
    open_browser: bool = False,
) -> None:
    """Serve after a run, or for a person who plays (entry point group `arena.viewers`).

    Args:
        database: What is shown, and where games are recorded.
        artifacts: The same, for videos and images.
        run_id: The run that the link leads to.
        port: The port, or the first free one after it.
        play: Lets one person play; `task`, `seed` and `name` as the page's address takes them, or nothing to choose.
        open_browser: Open the link in a browser.
    """
    place = Location.of(database, artifacts)
    if play is None:
        _serve(place, host="127.0.0.1", port=port, token=None, run_id=run_id)
    else:
        _serve_player(place, play, port=port, open_browser=open_browser)


def _serve_player(place: Location, game: Mapping[str, str], *, port: int, open_browser: bool) -> None:
    from ui.app import serve as serve_app
    from ui.play import PlayDesk

    given = urlencode({key: value for key, value in game.items() if value})

    def ready(url: str) -> None:
        console.print(f"\nPlay at [link={url}]{url}[/link]", soft_wrap=True)
        console.print("Ctrl-C ends the server; what was played is in the run `human`.")

    with place.open() as store:
        serve_app(
            store,
            port=port,
            # Who else has an account on this machine shall not play in this person's name.
            token=secrets.token_urlsafe(16),
            play=PlayDesk(store, place.scratch, game.get("name") or "player"),
            path=f"play?{given}" if given else "play",
            open_browser=open_browser,
            ready=ready,
        )


def _serve(
    place: Location,
    *,
    host: str,
    port: int,
    token: str | None,
    run_id: str | None = None,
    play: bool = False,
    review: bool = False,
    as_json: bool = False,
) -> None:
    from ui.app import serve as serve_app  # Gradio takes seconds to import: only here
    from ui.play import PlayDesk

    def ready(url: str) -> None:
        if as_json:  # one line, at once: a script reads it and goes on, while the server stays
            print(json.dumps({"url": url}), flush=True)
            return
        link = f"{url}ui/?run={run_id}" if run_id else url
        console.print(f"\nReplays: [link={link}]{link}[/link]", soft_wrap=True)
        console.print("Ctrl-C ends the server; `arena view` starts it again.")

    with place.open() as store:
        desk = PlayDesk(store, place.scratch) if play else None
        serve_app(store, host=host, port=port, token=token, play=desk, review=review, ready=ready)
