"""Keeps keys out of everything that is stored, shown or raised."""

from __future__ import annotations

import os
import re
from typing import Any

_ENVIRONMENT = re.compile(r"(_KEY|_TOKEN|_SECRET|_PASSWORD|_CREDENTIALS)$")
_SHAPES = re.compile(r"(?i)\bbearer\s+[\w.~+/=-]{8,}|\b(?:sk|pk|rk|key|hf|gsk|xai)[-_][\w*.-]{8,}|\bAIza[\w-]{20,}")
_MASK = "[key]"
SHORTEST = 8
"""Characters of a key that is looked for where nobody said that it is one; shorter ones are also words and numbers."""


class Mask:
    """Replaces known keys, and whatever looks like one, by `[key]`.

    Known are `extra` and the value of each environment variable that is named like a key; they are
    read when the mask is made and never shown.
    """

    def __init__(self, *extra: str | None) -> None:
        named = [value for name, value in os.environ.items() if _ENVIRONMENT.search(name) and len(value) >= SHORTEST]
        known = sorted({value for value in (*named, *extra) if value}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def text(self, text: str) -> str:
        """An error message or another text that nobody needs to read back exactly."""
        return _SHAPES.sub(_MASK, self.known(text))

    def known(self, text: str) -> str:
        """The same for requests and replies: only keys that are known are replaced."""
        return self._known.sub(_MASK, text) if self._known else text

    def json(self, value: Any) -> Any:
        """`known`, for every string of a JSON value, keys of objects included."""
        if isinstance(value, str):
            return self.known(value)
        if isinstance(value, dict):
            return {self.known(str(key)): self.json(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item) for item in value]
        return value

    def __repr__(self) -> str:
        return "Mask()"
