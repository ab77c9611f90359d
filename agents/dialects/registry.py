"""The dialects by name."""

from __future__ import annotations

from typing import Literal

from agents.coordinates import Coordinates
from agents.dialects.anthropic import Anthropic
from agents.dialects.base import Dialect, Spoken
from agents.dialects.openai import OpenAI
from agents.dialects.own import Own
from agents.dialects.ui_tars import UITars

DialectName = Literal["arena", "openai", "anthropic", "ui-tars"]
DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (Own(), OpenAI(), Anthropic(), UITars())}


def speak(name: DialectName, coordinates: Coordinates) -> Spoken:
    """A dialect, for pictures of one size."""
    return Spoken(DIALECTS[name], coordinates)
