"""A metro planner's rule of thumb: every new station joins the line that reaches it with the least trouble."""

from __future__ import annotations

from math import dist
from typing import Any

from environments.games.metro_network import LINES, City

WAIT_MS = 2000


def plan(city: City, selected: int, tunnels: int) -> dict[str, Any]:
    """The next action, as JSON: draw the cheapest track that is missing, else let the trains run."""
    track = _missing_track(city, tunnels)
    if track is None:
        return {"do": "wait", "ms": WAIT_MS}
    line, start, end = track
    if line != selected:
        return {"do": "select", "line": LINES[line]}
    return {"do": "connect", "start": city.letters[start], "end": city.letters[end]}


def _missing_track(city: City, tunnels: int) -> tuple[int, int, int] | None:
    """Line, start and end of the cheapest track to a station that no line calls at."""
    served = {stop for line in city.lines for stop in line.stops}
    options = [
        (_trouble(city, which, start, orphan), (which, start, orphan))
        for orphan in city.open()
        if orphan not in served
        for which in range(len(LINES))
        for start in _starts(city, which, served)
        if city.refusal(which, start, orphan, tunnels) is None
    ]
    return min(options)[1] if options else None


def _starts(city: City, which: int, served: set[int]) -> list[int]:
    """The ends of a line. A fresh one starts where another calls, or its passengers could not change."""
    line = city.lines[which]
    return list(line.ends) if line.stops else sorted(served) or city.open()


def _trouble(city: City, which: int, start: int, end: int) -> float:
    """Pixels of track, and what counts like them: tunnels, neighbours of one shape, long lines, a fresh line."""
    line, a, b = city.lines[which], city.stations[start], city.stations[end]
    trouble = dist(a.place, b.place) + 60 * city.crosses(start, end)
    trouble += 50 * (a.shape == b.shape)
    trouble += 30 * len(line.stops) if line.stops else 40
    return trouble
