"""The page `episodes`: all episodes, filtered, sorted and paged by the server."""

from __future__ import annotations

from typing import Any, Final

from ui.pages.component import page

NAME: Final = "episodes"
TITLE: Final = "Episodes"


def build(static: str) -> Any:
    """Add the page to the open `gr.Blocks`; `static/episodes.js` draws it."""
    return page(NAME, static)
