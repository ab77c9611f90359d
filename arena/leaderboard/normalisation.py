"""The scale between a random player and the expert: 0 is the floor, 1 the ceiling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from arena.leaderboard.cell import Cell, by_seed
from storage.models import Episode

FLOOR = "random"
"""The agent whose mean is the floor."""
CEILING = ("scripted", "scripted-policy")
"""The agents one of whose means is the ceiling, the first that is there."""

NEAR = 0.05
"""Share of the scale within which a row sits at its floor or ceiling."""
_LEAST = 1.0
"""Points between floor and ceiling below which there is no scale."""


class Scale(NamedTuple):
    """Mean scores of the random player and of the expert on one task and space."""

    floor: float
    ceiling: float

    def share(self, score: float) -> float:
        """The normalised score; below 0 or above 1 where a player is worse than random or better than the expert."""
        return (score - self.floor) / (self.ceiling - self.floor)


Place = tuple[str, str]
"""Task and space."""


def scales(found: Iterable[Cell]) -> dict[Place, Scale]:
    """The scale of every task and space whose random player and expert are part of the run, unaided and unfaulted."""
    episodes: dict[tuple[Place, str], dict[str, Episode]] = defaultdict(dict)
    for cell in found:
        for episode in cell.first.values():
            name = episode.spec.get("agent", {}).get("agent", "")
            unaided = not episode.spec.get("fault") and not episode.spec.get("supervision")
            if unaided and (name == FLOOR or name in CEILING):
                episodes[(cell.task, cell.space), name][episode.id] = episode
    means = {key: _mean(group.values()) for key, group in episodes.items()}
    result = {}
    for place, name in means:
        ceiling = next((means[place, top] for top in CEILING if (place, top) in means), None)
        if name == FLOOR and ceiling is not None and ceiling - means[place, name] >= _LEAST:
            result[place] = Scale(means[place, name], ceiling)
    return result


def extreme(score: float, scale: Scale | None) -> str:
    """`floor` or `ceiling` where a mean score has nowhere left to go, and differences say little; else empty."""
    share = score / 100 if scale is None else scale.share(score)
    return "floor" if share <= NEAR else "ceiling" if share >= 1 - NEAR else ""


def _mean(episodes: Iterable[Episode]) -> float:
    seeds = by_seed((episode.seed, episode.score or 0.0) for episode in episodes)
    return sum(seeds.values()) / len(seeds)
