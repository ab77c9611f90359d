"""What changed on the same seeds: differences, preferences, effect sizes, and a test that trusts no distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from arena.statistics.interval import Interval
from arena.statistics.means import DIFFERENCE, SHARE, Floats, mean_interval, stratified_mean

FLIPS = 10_000
"""Signings of a test that cannot try them all: a p of 0.05 is then known to 0.004."""
_ALL_OF = 13
"""Up to so many pairs all signings are tried: 2^13 are fewer than `FLIPS`."""
_NORMAL_FROM = 1_000
"""From so many pairs the signed sum is as good as normal."""


def differences(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """`after - before`, pair by pair.

    Raises:
        ValueError: for lists of different length.
    """
    if len(before) != len(after):
        raise ValueError(f"pairs need equal lengths: {len(before)} values before, {len(after)} after")
    return [b - a for a, b in zip(before, after, strict=True)]


def paired_difference(
    before: Sequence[float],
    after: Sequence[float],
    level: float = 0.95,
    *,
    bounds: tuple[float, float] = DIFFERENCE,
) -> Interval:
    """Mean of `after - before`, pair by pair, with its interval.

    Raises:
        ValueError: for lists of different length or without values, or for a difference beyond the bounds.
    """
    return mean_interval(differences(before, after), level, bounds=bounds)


def probability_of_improvement(strata: Sequence[Sequence[float]], level: float = 0.95) -> Interval:
    """How likely a pair improves, half of those that stay equal counted in: P(after > before) + P(equal) / 2.

    Agarwal et al. (2021) compare all runs with all runs; on shared seeds the pairs themselves are compared.

    Args:
        strata: For each task, the differences `after - before`.
        level: Nominal coverage.

    Raises:
        ValueError: without differences.
    """
    wins = [list((np.sign(np.asarray(values, dtype=np.float64)) + 1) / 2) for values in strata]
    return stratified_mean(wins, level, bounds=SHARE)


def standardised_effect(strata: Sequence[Sequence[float]]) -> float | None:
    """Mean difference over the standard deviation of differences within tasks (Cohen's d_z), corrected for few pairs.

    The correction is that of Hedges (1981). None where the differences have no spread to be measured against.
    """
    data = [np.asarray(values, dtype=np.float64) for values in strata]
    freedom = sum(values.size - 1 for values in data)
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in data)
    if freedom < 2 or squares <= 0:
        return None
    mean = float(np.mean([values.mean() for values in data]))
    return mean / math.sqrt(squares / freedom) * (1 - 3 / (4 * freedom - 1))


def sign_flip_test(strata: Sequence[Sequence[float]]) -> float:
    """Two-sided p of no effect, by Fisher's (1935) permutation of signs; tasks weigh alike.

    If nothing differs but chance, each pair could as well have come the other way round. The p is the share of all
    signings whose mean is at least as far from zero: exact up to 13 pairs, from 10,000 signings beyond, from their
    normal limit beyond 1,000. Five pairs cannot give less than 2 / 2^5 = 0.06, however they fell.

    Args:
        strata: For each task, the differences `after - before`.

    Raises:
        ValueError: without differences.
    """
    if not strata or any(len(values) == 0 for values in strata):
        raise ValueError("no differences: a test needs at least one pair in every stratum")
    weighted = [np.asarray(values, dtype=np.float64) / len(values) for values in strata]
    return float(sign_flip_p(np.concatenate(weighted)[None, :])[0])


def sign_flip_p(weighted: Floats, *, flips: int = FLIPS) -> Floats:
    """The test of many experiments at once.

    Args:
        weighted: Differences times their weights, (experiments, pairs).
        flips: Signings where they cannot all be tried.

    Returns:
        p of each, (experiments,). The same number of pairs gives the same signings.
    """
    pairs = weighted.shape[1]
    observed = np.abs(weighted.sum(axis=1))
    slack = 1e-9 * np.abs(weighted).sum(axis=1)
    if pairs > _NORMAL_FROM:
        scale = np.sqrt((weighted**2).sum(axis=1))
        z = np.divide(observed, scale, out=np.zeros_like(scale), where=scale > 0)
        return np.asarray(2 * special.ndtr(-z))
    signs = _signs(pairs, flips)
    # 32 bits halve the time of the product; the slack is far above their rounding.
    sums = np.abs(weighted.astype(np.float32) @ signs.T)
    reached = (sums >= (observed - slack - 1e-6 * np.abs(weighted).sum(axis=1))[:, None].astype(np.float32)).sum(axis=1)
    p: Floats = reached / signs.shape[0] if pairs <= _ALL_OF else (1 + reached) / (1 + signs.shape[0])
    return p


@lru_cache(maxsize=64)
def _signs(pairs: int, flips: int) -> NDArray[np.float32]:
    """Signings, (signings, pairs): all of them but for the mirrored half, which gives the same; or a fixed draw."""
    if pairs <= _ALL_OF:
        bits = np.arange(2 ** max(0, pairs - 1))[:, None] >> np.arange(pairs)[None, :] & 1
    else:
        bits = np.random.default_rng(pairs).integers(2, size=(flips, pairs), dtype=np.int8)
    signs = (2 * bits - 1).astype(np.float32)
    signs.setflags(write=False)
    return signs
