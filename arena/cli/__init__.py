"""The `arena` command."""

from __future__ import annotations

import signal
import sys
from types import FrameType


def main() -> None:
    """Entry point of the console script.

    A stop (Ctrl-C, or SIGTERM as containers send it) exits with 128 + the signal's number and one line,
    at any moment: the rest of the program, which takes a second to import, is imported under this guard.
    """
    stops: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        # Once: what follows is short, and a second Ctrl-C must not cut it off.
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, signal.SIG_IGN)
        stops.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        from arena.cli import app

        app.main()
    except (KeyboardInterrupt, SystemExit) as end:
        # Typer makes exit status 130 of an interrupt, without a word.
        if not stops or (isinstance(end, SystemExit) and end.code != 130):
            raise
        print("Interrupted. The same command goes on from here.", file=sys.stderr)
        sys.exit(128 + stops[0])


__all__ = ["main"]
