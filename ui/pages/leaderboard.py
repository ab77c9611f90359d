"""The page `leaderboard`: the table of a run, with intervals; every cell leads to its episodes."""

from __future__ import annotations

from typing import Any, Final

from ui.pages.component import page

NAME: Final = "leaderboard"
TITLE: Final = "Leaderboard"


def build(static: str) -> Any:
    """Add the page to the open `gr.Blocks`; `static/leaderboard.js` draws it."""
    return page(NAME, static)
