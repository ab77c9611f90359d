"""The page `diagnose`: a person watches a recording and says what went wrong; only with `--review`."""

from __future__ import annotations

from typing import Any, Final

from ui.pages.component import page

NAME: Final = "diagnose"
TITLE: Final = "Diagnose"


def build(static: str) -> Any:
    """Add the page to the open `gr.Blocks`; `static/diagnose.js` draws it."""
    return page(NAME, static)
