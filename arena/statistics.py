"""Intervals one can defend: percentile bootstrap over seeds, paired where seeds are shared.

Every function takes its `numpy.random.Generator`, so that a table is reproduced to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000


class Interval(NamedTuple):
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float
    n: int
    """Number of independent units (seeds) behind it."""

    def __str__(self) -> str:
        return f"{self.estimate:.1f} [{self.low:.1f}, {self.high:.1f}]"


def mean_interval(values: Sequence[float], rng: np.random.Generator, level: float = 0.95) -> Interval:
    """Mean with a percentile-bootstrap interval over independent units.

    One value gives a degenerate interval at NaN bounds: nothing is known about its spread.

    Raises:
        ValueError: without values.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("no values: an interval needs at least one")
    if data.size == 1:
        return Interval(float(data[0]), float("nan"), float("nan"), 1)
    picks = rng.integers(data.size, size=(RESAMPLES, data.size))
    return _percentiles(float(data.mean()), data[picks].mean(axis=1), level, data.size)


def paired_difference(
    before: Sequence[float], after: Sequence[float], rng: np.random.Generator, level: float = 0.95
) -> Interval:
    """Mean of `after - before`, unit by unit, with its bootstrap interval.

    Raises:
        ValueError: for lists of different length or without values.
    """
    if len(before) != len(after):
        raise ValueError(f"pairs need equal lengths: {len(before)} values before, {len(after)} after")
    return mean_interval([b - a for a, b in zip(before, after, strict=True)], rng, level)


def ratio_interval(
    hits: Sequence[float], totals: Sequence[float], rng: np.random.Generator, level: float = 0.95
) -> Interval:
    """Pooled rate `sum(hits) / sum(totals)`, bootstrapped over clusters (episodes).

    The pooled ratio stays unbiased to first order where episodes stop for reasons that depend on the
    hits themselves; the mean of the episodes' own rates does not.

    Raises:
        ValueError: for lists of different length, or totals that sum to nothing.
    """
    top, bottom = np.asarray(hits, np.float64), np.asarray(totals, np.float64)
    if top.shape != bottom.shape or bottom.sum() <= 0:
        raise ValueError(f"a rate needs paired counts with a positive total; got {top.shape} and {bottom.shape}")
    if top.size == 1:
        return Interval(float(top[0] / bottom[0]), float("nan"), float("nan"), 1)
    return _percentiles(float(top.sum() / bottom.sum()), _ratio_resamples(top, bottom, rng), level, top.size)


def ratio_difference(
    before: tuple[Sequence[float], Sequence[float]],
    after: tuple[Sequence[float], Sequence[float]],
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Difference of two pooled rates `(hits, totals)`, each bootstrapped over its own clusters."""
    first, second = ratio_interval(*before, rng, level), ratio_interval(*after, rng, level)
    draws = [_ratio_resamples(np.asarray(h, np.float64), np.asarray(t, np.float64), rng) for h, t in (before, after)]
    return _percentiles(second.estimate - first.estimate, draws[1] - draws[0], level, min(first.n, second.n))


def _ratio_resamples(
    top: NDArray[np.float64], bottom: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    picks = rng.integers(top.size, size=(RESAMPLES, top.size))
    rates: NDArray[np.float64] = top[picks].sum(axis=1) / np.maximum(bottom[picks].sum(axis=1), 1e-12)
    return rates


def _percentiles(estimate: float, draws: NDArray[np.float64], level: float, n: int) -> Interval:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), n)
