"""Intervals one can defend: bootstrap over seeds, paired where seeds are shared; score intervals for coin tosses.

Every function with chance takes its `numpy.random.Generator`, so that a table is reproduced to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
_Z = 1.959963984540054
"""Of the normal distribution, two-sided 95 %."""


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


def proportion(hits: float, n: float) -> Interval:
    """A proportion with its Wilson 95 % score interval (Wilson 1927), for independent trials.

    Raises:
        ValueError: without trials, or for more hits than trials.
    """
    if n <= 0 or not 0 <= hits <= n:
        raise ValueError(f"a proportion needs 0 <= hits <= n and n > 0, got {hits} of {n}")
    rate = hits / n
    centre = (rate + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(rate * (1 - rate) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return Interval(rate, max(0.0, centre - half), min(1.0, centre + half), int(n))


def proportion_difference(before: tuple[float, float], after: tuple[float, float]) -> Interval:
    """Difference of two independent proportions `(hits, n)`: Newcombe's (1998) hybrid score interval, 95 %.

    Raises:
        ValueError: as `proportion`.
    """
    first, second = proportion(*before), proportion(*after)
    difference = second.estimate - first.estimate
    low = math.hypot(second.estimate - second.low, first.high - first.estimate)
    high = math.hypot(second.high - second.estimate, first.estimate - first.low)
    return Interval(difference, difference - low, difference + high, min(first.n, second.n))


def _percentiles(estimate: float, draws: NDArray[np.float64], level: float, n: int) -> Interval:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), n)
