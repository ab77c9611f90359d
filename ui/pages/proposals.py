"""The page `proposals`: milestones that models read out of recordings, with their frames, and who decided what."""

from __future__ import annotations

from typing import Any, Final

from ui.pages.component import page

NAME: Final = "proposals"
TITLE: Final = "Proposals"


def build(static: str) -> Any:
    """Add the page to the open `gr.Blocks`; `static/proposals.js` draws it."""
    return page(NAME, static)
