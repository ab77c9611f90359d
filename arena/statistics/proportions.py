"""Proportions: Wilson's interval, Newcombe's for a difference, McNemar's test for pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy import special

from arena.statistics.interval import Interval

_Z = 1.959963984540054
"""Of the normal distribution, two-sided 95 %."""


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


class McNemar(NamedTuple):
    """Pairs whose success differs, and how likely so lopsided a split is if neither side is the better."""

    lost: int
    """Pairs of which only the first succeeded."""
    gained: int
    """Pairs of which only the second succeeded."""
    p: float
    """Two-sided, exact; 1 where no pair differs."""


def mcnemar(before: Sequence[bool], after: Sequence[bool]) -> McNemar:
    """Compare paired successes by McNemar's (1947) test, exactly: the discordant pairs are tosses of a fair coin.

    Raises:
        ValueError: for lists of different length.
    """
    if len(before) != len(after):
        raise ValueError(f"pairs need equal lengths: {len(before)} values before, {len(after)} after")
    lost = sum(b and not a for b, a in zip(before, after, strict=True))
    gained = sum(a and not b for b, a in zip(before, after, strict=True))
    tail = float(special.bdtr(min(lost, gained), lost + gained, 0.5))
    return McNemar(lost, gained, min(1.0, 2 * tail))
