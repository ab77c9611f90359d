"""The page `play`: a person chooses a game and plays it; there only if the server was started with it."""

from __future__ import annotations

from typing import Any, Final

from ui.pages.component import page

NAME: Final = "play"
TITLE: Final = "Play"


def build(static: str) -> Any:
    """Add the page to the open `gr.Blocks`; `static/play.js` draws it."""
    return page(NAME, static)
