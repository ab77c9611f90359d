"""The text part of a reflection's evidence: how the attempt ended, and its log, bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from arena.text import as_data, clean
from storage.models import Episode, Step

FIRST, LAST = 10, 40
"""Steps of a log that are written out: how it began and how it ended."""
_ENDINGS = {"won": "the goal was reached", "lost": "the game was lost", "horizon": "the steps ran out"}


def ending(episode: Episode) -> str:
    """How an attempt ended, in words that tell no score."""
    return _ENDINGS.get(str(episode.outcome), "it was broken off")


def elided(steps: Sequence[Step]) -> str:
    """What is left out of a log, or nothing."""
    left_out = len(steps) - FIRST - LAST
    return f" (the first {FIRST} and the last {LAST}; {left_out} between them are left out)" if left_out > 0 else ""


def lines(steps: Sequence[Step]) -> Iterator[str]:
    """A line of JSON for each step; the player's own words come cleaned and shortened."""
    shown = steps if len(steps) <= FIRST + LAST else [*steps[:FIRST], *steps[-LAST:]]
    for step in shown:
        entry: dict[str, Any] = {"step": step.index, "action": step.action}
        if step.status != "ok":
            entry |= {"status": step.status, "reason": clean(step.reason, 200)}
        if step.rationale:
            entry["player_said"] = clean(step.rationale, 200)
        yield as_data(entry)
