"""Ranks that overlapping intervals allow, and strengths from who beat whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.statistics.interval import FEW_SEEDS, Interval, without_bounds
from arena.statistics.means import SMALLEST

BT_RESAMPLES = 200
DEGENERATE = 0.05
"""Share of resamples without finite strengths beyond which no interval is drawn."""


class Duel(NamedTuple):
    """Two players on the same task and seed."""

    first: str
    second: str
    result: float
    """1 if the first did better, 0 if the second, 0.5 if both did alike."""
    block: str
    """Task and seed: duels of one block share their chance and are resampled together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """Bradley-Terry strengths, or why there are none."""

    players: dict[str, Interval] = field(default_factory=dict)
    """Natural logarithms, mean 0: a player that is ahead by d wins with odds of e^d to 1."""
    duels: int = 0
    degenerate: float = 0.0
    """Share of the bootstrap's resamples in which somebody had no finite strength; they are left out."""
    reason: str = ""
    """Why there are no strengths; empty if there are."""


def rank_bands(intervals: Sequence[Interval | None]) -> list[tuple[int, int] | None]:
    """The best and the worst rank (from 1) that each could have: who lies wholly above another is ranked before it.

    None stays None; an estimate without bounds could have any rank.
    """
    known = [value for value in intervals if value is not None]
    low = np.array([value.low if value.drawn else -np.inf for value in known])
    high = np.array([value.high if value.drawn else np.inf for value in known])
    above = (low[None, :] > high[:, None]).sum(axis=1)
    below = (high[None, :] < low[:, None]).sum(axis=1)
    bands = iter([(1 + int(a), len(known) - int(b)) for a, b in zip(above, below, strict=True)])
    return [None if value is None else next(bands) for value in intervals]


def bradley_terry(duels: Sequence[Duel], rng: np.random.Generator, level: float = 0.95) -> Strengths:
    """Strengths of Bradley and Terry (1952) with intervals from a bootstrap over blocks; a draw counts half to either.

    They are finite only if nobody can be split off: for every way to part the players in two, somebody of either part
    has beaten, or drawn with, somebody of the other (Ford 1957), which is that the graph of wins is strongly connected.

    Args:
        duels: Who met whom, and how it went.
        rng: The chance of the resamples.
        level: Nominal coverage.
    """
    names = sorted({name for duel in duels for name in (duel.first, duel.second)})
    if len(names) < 2:
        return Strengths(duels=len(duels), reason="there are no two players that met")
    counts, pairs = _counts(duels, names)
    parts = _components(counts.sum(axis=0), pairs, len(names))
    if max(parts) > 0:
        return Strengths(duels=len(duels), reason=_split(names, parts))
    estimate = _fit(counts.sum(axis=0), pairs, len(names))
    blocks = counts.shape[0]
    if blocks < SMALLEST:
        found = {name: without_bounds(float(v), blocks, FEW_SEEDS) for name, v in zip(names, estimate, strict=True)}
        return Strengths(players=found, duels=len(duels))
    weights = rng.multinomial(blocks - 1, np.full(blocks, 1 / blocks), size=BT_RESAMPLES)  # n - 1 of n, as for means
    fits = [
        _fit(resample, pairs, len(names))
        for resample in weights @ counts
        if max(_components(resample, pairs, len(names))) == 0
    ]
    degenerate = 1 - len(fits) / BT_RESAMPLES
    if degenerate > DEGENERATE:
        why = f"{degenerate:.0%} of resamples degenerate"
        found = {name: without_bounds(float(v), blocks, why) for name, v in zip(names, estimate, strict=True)}
    else:
        bounds = np.quantile(np.array(fits), [(1 - level) / 2, (1 + level) / 2], axis=0)
        found = {
            name: Interval(float(v), float(min(low, v)), float(max(high, v)), blocks)
            for name, v, low, high in zip(names, estimate, *bounds, strict=True)
        }
    return Strengths(players=found, duels=len(duels), degenerate=degenerate)


Pairs = list[tuple[int, int]]


def _counts(duels: Sequence[Duel], names: Sequence[str]) -> tuple[NDArray[np.float64], Pairs]:
    """Points that one player took from another, (blocks, ordered pairs); strengths depend on nothing else."""
    place = {name: i for i, name in enumerate(names)}
    points: dict[str, Counter[tuple[int, int]]] = {}
    for duel in duels:
        a, b = place[duel.first], place[duel.second]
        of_block = points.setdefault(duel.block, Counter())
        of_block[a, b] += duel.result  # type: ignore[assignment]  # halves, too
        of_block[b, a] += 1 - duel.result  # type: ignore[assignment]
    pairs = sorted({pair for counter in points.values() for pair in counter})
    table = np.array([[float(counter[pair]) for pair in pairs] for _, counter in sorted(points.items())])
    return table, pairs


def _components(points: NDArray[np.float64], pairs: Pairs, size: int) -> list[int]:
    """The strongly connected component of each player, in the graph of who took a point from whom."""
    from scipy.sparse import csgraph

    graph = np.zeros((size, size))
    for (a, b), value in zip(pairs, points, strict=True):
        graph[a, b] = value
    _, labels = csgraph.connected_components(graph, directed=True, connection="strong")
    return [int(label) - int(labels.min()) for label in labels]


def _fit(points: NDArray[np.float64], pairs: Pairs, size: int) -> NDArray[np.float64]:
    """Logarithms of the strengths, mean 0, (players,)."""
    import evalica  # brings pandas along, so only when it is needed

    found = evalica.bradley_terry(
        [a for a, _ in pairs],
        [b for _, b in pairs],
        [evalica.Winner.X] * len(pairs),
        weights=points.tolist(),
        tolerance=1e-8,
        limit=10_000,
    )
    scores = found.scores.to_dict()
    strengths = np.log([scores[player] for player in range(size)])
    centred: NDArray[np.float64] = strengths - strengths.mean()
    return centred


def _split(names: Sequence[str], parts: Sequence[int]) -> str:
    """Who stands apart, in words."""
    groups = [
        ", ".join(name for name, part in zip(names, parts, strict=True) if part == wanted)
        for wanted in sorted(set(parts))
    ]
    return "strengths are not finite: no wins both ways between " + " | ".join(groups)
