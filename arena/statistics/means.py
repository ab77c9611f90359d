"""Intervals for means: of one task, and over tasks whose seeds are drawn task by task.

The percentile bootstrap, which most tables of this field use, covers far too seldom where few seeds stand behind a row
(83 % instead of 95 % at five seeds, 23 % for rare successes). What is used instead was chosen by simulation:
`benchmarks/interval_coverage.py` compares the candidates, `docs/statistics.md` has the result.

**Means** are bounded (a score lies in 0..100), so they get Wilson's score interval (1927) with the dispersion that the
data show: all mu with |mean - mu| <= t * sqrt(phi * mu * (1 - mu) / n) on the scale 0..1, where phi = s^2 / (mean *
(1 - mean)) is the dispersion of a quasi-binomial model (McCullagh and Nelder 1989, section 4.5) and t is Student's.
It leans away from the bounds as skew asks for, and never leaves them. Where all values lie on one bound no dispersion
is seen, and the binomial's, the largest there is, takes its place. Over several tasks the one-task intervals are
combined by the recovery of variance estimates (Zou and Donner 2008), with Satterthwaite's (1946) degrees of freedom.

**Interquartile means** (Agarwal et al. 2021) get a bootstrap that is stratified by task. It draws n - 1 of n seeds,
with replacement (McCarthy and Snowden 1985), because n of n understates the variance by (n - 1) / n; and its
percentiles are stretched by Student's t over the normal quantile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from arena.statistics.interval import (
    A_TASK_OF_ONE,
    FEW_SEEDS,
    NO_SPREAD,
    ONE_SEED,
    TWO_SEEDS,
    Interval,
    without_bounds,
)

Floats = NDArray[np.float64]

SCORE = (0.0, 100.0)
"""Bounds of a score."""
DIFFERENCE = (-100.0, 100.0)
"""Bounds of a difference of two scores."""
SHARE = (0.0, 1.0)
"""Bounds of a success or of a preference."""

RESAMPLES = 2_000
"""Of a bootstrap: the bounds then move by a thirtieth of the interval's width from generator to generator."""

SMALLEST = 3
"""Seeds of a single task that an interval needs. Of two, an honest one spans four fifths of the scale."""
SMALLEST_IQM = 5
"""Seeds of every task that an interval of an interquartile mean needs: with three it covers 88 to 92 %."""

_TOLERANCE = 1e-9


def mean_interval(values: Sequence[float], level: float = 0.95, *, bounds: tuple[float, float] = SCORE) -> Interval:
    """Mean of independent units with its interval; without bounds, but with the reason, where they are few or equal.

    Args:
        values: One value a unit.
        level: Nominal coverage.
        bounds: Between which the values lie by their nature.

    Raises:
        ValueError: without values, or for a value beyond the bounds.
    """
    return stratified_mean([values], level, bounds=bounds)


def stratified_mean(
    strata: Sequence[Sequence[float]],
    level: float = 0.95,
    *,
    bounds: tuple[float, float] = SCORE,
    weights: Sequence[float] | None = None,
) -> Interval:
    """Weighted sum of the strata's means (by default their plain mean), with its interval.

    Args:
        strata: For each task, one value a seed.
        level: Nominal coverage.
        bounds: Between which the values lie by their nature.
        weights: One positive weight a stratum.

    Raises:
        ValueError: without strata, for an empty one, for a value beyond the bounds, or for other than one positive
            weight a stratum.
    """
    data = _strata(strata, bounds)
    shares = np.full(len(data), 1 / len(data)) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (len(data),) or not (shares > 0).all():
        raise ValueError(f"weights must be {len(data)} positive numbers, one a stratum, not {weights}")
    n = np.array([values.size for values in data])
    means = np.array([values.mean() for values in data])
    spreads = np.array([_variance(values, bounds[1] - bounds[0]) for values in data])
    estimate = float(shares @ means)
    why = _too_few(n)
    if why:
        return without_bounds(estimate, int(n.sum()), why)
    quantile = _quantile(shares**2 * spreads / n, n - 1, level)
    low, high = _score_bounds(means, spreads, n, quantile, float(special.ndtri((1 + level) / 2)), bounds)
    below = float(np.sqrt(((shares * (means - low)) ** 2).sum()))
    above = float(np.sqrt(((shares * (high - means)) ** 2).sum()))
    if below + above <= _TOLERANCE * float(shares.sum()) * (bounds[1] - bounds[0]):
        return without_bounds(estimate, int(n.sum()), NO_SPREAD)
    least, most = float(shares.sum()) * bounds[0], float(shares.sum()) * bounds[1]  # rounding must not pass them
    return Interval(estimate, max(least, estimate - below), min(most, estimate + above), int(n.sum()))


def interquartile_mean(values: ArrayLike, axis: int = -1) -> Floats:
    """Mean of the middle half: a quarter of the values, rounded down, is left out at either end."""
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=axis)
    size = ordered.shape[axis]
    middle: Floats = ordered.take(np.arange(size // 4, size - size // 4), axis=axis).mean(axis=axis)
    return middle


def iqm_interval(
    strata: Sequence[Sequence[float]],
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Interquartile mean of all values together, with its bootstrap interval, stratified by task.

    Args:
        strata: For each task, one value a seed, on a scale that tasks share.
        rng: The chance of the resamples.
        level: Nominal coverage.
        bounds: Beyond which no value can lie, if there are any.

    Raises:
        ValueError: without strata, for an empty one, or for a value beyond the bounds.
    """
    data = _strata(strata, bounds or (-np.inf, np.inf))
    pooled = np.concatenate(data)
    estimate = float(interquartile_mean(pooled))
    why = ONE_SEED if pooled.size == 1 else ""
    if min(values.size for values in data) < SMALLEST_IQM:
        why = why or FEW_SEEDS
    elif all(np.ptp(values) == 0 for values in data):
        why = NO_SPREAD
    if why:
        return without_bounds(estimate, pooled.size, why)
    draws = _resampled(data, rng)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    stretch = _t(pooled.size - len(data), level) / special.ndtri((1 + level) / 2)
    floor, ceiling = bounds or (-np.inf, np.inf)
    # A resample of fewer may trim otherwise, so that its percentiles can both lie on one side.
    low = max(floor, estimate - max(0.0, estimate - low) * stretch)
    high = min(ceiling, estimate + max(0.0, high - estimate) * stretch)
    if low == high:
        return without_bounds(estimate, pooled.size, NO_SPREAD)
    return Interval(estimate, float(low), float(high), pooled.size)


def _resampled(data: Sequence[Floats], rng: np.random.Generator) -> Floats:
    """Interquartile means of resamples, (RESAMPLES,)."""
    size = sum(values.size - 1 for values in data)
    chunk = max(1, min(RESAMPLES, 4_000_000 // size))  # bounds the memory of a run of many seeds
    found = []
    for start in range(0, RESAMPLES, chunk):
        rows = min(chunk, RESAMPLES - start)
        picks = [values[rng.integers(values.size, size=(rows, values.size - 1))] for values in data]
        found.append(interquartile_mean(np.concatenate(picks, axis=1)))
    return np.concatenate(found)


def _strata(strata: Sequence[Sequence[float]], bounds: tuple[float, float]) -> list[Floats]:
    data = [np.asarray(values, dtype=np.float64) for values in strata]
    if not data or any(values.size == 0 for values in data):
        raise ValueError("no values: an interval needs at least one in every stratum")
    low, high = bounds
    slack = _TOLERANCE * (high - low) if np.isfinite(high - low) else 0.0
    for values in data:
        outside = values[~((values >= low - slack) & (values <= high + slack))]
        if outside.size:
            raise ValueError(f"values must lie in {low:g}..{high:g}, got {outside[0]}")
    return [np.clip(values, low, high) for values in data]


def _variance(values: Floats, width: float) -> float:
    """Sample variance; none where the values differ by rounding alone, or where there is but one."""
    return 0.0 if np.ptp(values) <= _TOLERANCE * width else float(values.var(ddof=1))


def _too_few(n: NDArray[np.int_]) -> str:
    if n.size == 1:
        return {1: ONE_SEED, 2: TWO_SEEDS}.get(int(n[0]), "")
    return A_TASK_OF_ONE if n.min() == 1 else ""


def _t(freedom: float, level: float) -> float:
    """Student's quantile of a two-sided interval."""
    return float(special.stdtrit(freedom, (1 + level) / 2))


def _quantile(variances: Floats, freedom: NDArray[np.int_], level: float) -> float:
    """Student's quantile with Satterthwaite's degrees of freedom, for a sum of estimates with these variances."""
    spread = variances > 0
    if not spread.any():
        return float(special.ndtri((1 + level) / 2))
    v, f = variances[spread], freedom[spread]
    return _t(float(v.sum() ** 2 / (v**2 / f).sum()), level)


def _score_bounds(
    means: Floats, spreads: Floats, n: NDArray[np.int_], t: float, z: float, bounds: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Score bounds of each stratum's mean; `spreads` are sample variances, all arrays (strata,)."""
    floor, ceiling = bounds
    width = ceiling - floor
    mean = (means - floor) / width
    largest = mean * (1 - mean)  # the variance of a value in 0..1 cannot be larger
    edge = largest <= _TOLERANCE
    dispersion = np.divide(spreads / width**2, largest, out=np.ones_like(mean), where=~edge)
    c = np.where(edge, z**2, t**2 * dispersion) / n
    centre = (mean + c / 2) / (1 + c)
    half = np.sqrt(c * largest + c**2 / 4) / (1 + c)
    low = np.minimum(np.maximum(0.0, centre - half), mean)
    high = np.maximum(np.minimum(1.0, centre + half), mean)
    return floor + width * low, floor + width * high
