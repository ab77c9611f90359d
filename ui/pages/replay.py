"""The page `replay`: one episode, frame by frame, with what the player saw, thought and did."""

from __future__ import annotations

from typing import Any, Final

from ui.pages.component import page

NAME: Final = "replay"
TITLE: Final = "Replay"


def build(static: str) -> Any:
    """Add the page to the open `gr.Blocks`; `static/replay.js` draws it."""
    return page(NAME, static)
