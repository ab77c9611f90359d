"""How many seeds it takes to see a gain: from a pilot's paired differences.

The closed form takes the differences for normal: n seeds a task give the mean over T tasks a standard error of S /
sqrt(n) with S^2 = sum(s_t^2) / T^2, and the power of the two-sided paired t test follows from the noncentral t
distribution. The simulation draws seeds from the pilot itself, moved to the wanted gain, and applies the very test of
the comparisons table. Where pairs are equal, as those are whose first attempt was won, the move is an exponential tilt:
equal pairs stay equal and gains become more frequent. (A tilt of normal differences is a shift; a shift of all would
turn equal pairs into small gains, which no sign test could miss.) How far the answer can be trusted is told by the
spread of S: its interval is that of a variance, with the degrees of freedom that the differences' kurtosis leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from arena.statistics.means import Floats
from arena.statistics.paired import sign_flip_p

EXPERIMENTS = 2_000
"""Simulated experiments at each number of seeds: a power of 0.8 is then known to 0.018."""
SMALLEST_PILOT = 5
"""Pairs below which a pilot's spread is no more than a rumour."""
MOST_SEEDS = 1_000_000
_FLIPS = 2_000
_SIMULATED_PAIRS = 1_000
"""Beyond so many pairs the closed form and the simulation agree, and the latter would take its time."""


class NoPilot(ValueError):
    """Too little data to say how many seeds it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedsNeeded:
    """The answer, from both ways."""

    gain: float
    power: float
    alpha: float
    tasks: int
    pairs: int
    """Of the pilot."""
    spread: float
    """Standard deviation of a paired difference, over the tasks: S * sqrt(T)."""
    closed_form: int
    """Seeds a task, by the noncentral t distribution."""
    simulated: int | None
    """Seeds a task, by resampling the pilot; None beyond 1,000 pairs, where it adds nothing to the closed form."""
    low: int
    """Lower end of the 95 % interval of the answer, from how little a pilot knows of its own spread."""
    high: int

    @property
    def seeds(self) -> int:
        """The answer: what the simulation says, which knows the differences' shape, or else the closed form."""
        return self.closed_form if self.simulated is None else self.simulated


def seeds_needed(
    strata: Sequence[Sequence[float]],
    gain: float,
    rng: np.random.Generator,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> SeedsNeeded:
    """Seeds a task with which a two-sided test at `alpha` finds a mean gain, in a share `power` of experiments.

    Args:
        strata: The pilot: for each task, paired differences in points, one a seed.
        gain: The gain that is to be seen, in points; its sign does not matter.
        rng: The chance of the simulation.
        power: Share of experiments that are to find it.
        alpha: Level of the test; divide it by the number of comparisons to be on Bonferroni's side.

    Raises:
        NoPilot: for fewer than five pairs, a task with a single one, or differences that do not differ.
        ValueError: for a gain of zero, or a power or alpha that is no share (or a power below alpha).
    """
    if not (math.isfinite(gain) and gain != 0):
        raise ValueError(f"the gain must be a number of points other than 0, got {gain}")
    if not 0 < alpha < power < 1:
        raise ValueError(f"0 < alpha < power < 1 is needed, got alpha {alpha} and power {power}")
    data = [np.asarray(values, dtype=np.float64) for values in strata]
    pairs = sum(values.size for values in data)
    if pairs < SMALLEST_PILOT:
        raise NoPilot(f"a pilot needs at least {SMALLEST_PILOT} pairs, this one has {pairs}: play more seeds")
    if min(values.size for values in data) < 2:
        raise NoPilot("a task of the pilot has a single pair, which tells nothing of its spread: play more seeds")
    variances = np.array([values.var(ddof=1) for values in data])
    if not (variances > 0).any():
        raise NoPilot(
            f"the {pairs} differences are all equal within their tasks: the pilot shows no spread to reckon with"
        )
    tasks = len(data)
    variance = float(variances.sum()) / tasks**2
    closed = _closed_form(variance, abs(gain), tasks, power, alpha)
    simulated = None
    if closed * tasks <= _SIMULATED_PAIRS:
        simulated = _by_simulation(data, abs(gain), closed, rng, power, alpha)
    answer = closed if simulated is None else simulated
    freedom = _freedom(data, variances)
    factors = [freedom / special.chdtri(freedom, tail) for tail in (0.025, 0.975)]
    # The closed form's own interval, around the answer: both grow with the pilot's variance alike.
    low, high = (
        answer * _closed_form(variance * factor, abs(gain), tasks, power, alpha) / closed for factor in factors
    )
    return SeedsNeeded(
        gain=gain,
        power=power,
        alpha=alpha,
        tasks=tasks,
        pairs=pairs,
        spread=math.sqrt(variance * tasks),
        closed_form=closed,
        simulated=simulated,
        low=min(answer, max(2, math.floor(low))),
        high=max(answer, math.ceil(high)),
    )


def t_power(variance: float, gain: float, seeds: int, tasks: int, alpha: float = 0.05) -> float:
    """Power of the two-sided paired t test; `variance` is n times that of the mean over tasks."""
    freedom = tasks * (seeds - 1)
    noncentrality = gain / math.sqrt(variance / seeds)
    critical = special.stdtrit(freedom, 1 - alpha / 2)
    # Far out the distribution function underflows to NaN; there the test cannot miss.
    missed = special.nctdtr(freedom, noncentrality, critical) - special.nctdtr(freedom, noncentrality, -critical)
    return 1.0 if math.isnan(missed) else float(1 - missed)


class Pilot:
    """The pilot's differences as if their mean were another: seeds are drawn from it."""

    def __init__(self, strata: Sequence[ArrayLike], gain: float) -> None:
        """Move a pilot to a gain.

        Args:
            strata: For each task, paired differences.
            gain: What the mean over tasks is to be.
        """
        data = [np.asarray(values, dtype=np.float64) for values in strata]
        tied = any((values == 0).any() for values in data)
        rate = _tilt(data, gain) if tied else None
        self.too_small = 1.0
        """What a number of seeds lacks, because a sample's own variance is (n - 1) / n of what it estimates."""
        if rate is None:
            mean = float(np.mean([values.mean() for values in data]))
            self._values = [
                values.mean()
                + gain
                - mean
                + (values - values.mean()) * math.sqrt(values.size / max(1, values.size - 1))
                for values in data
            ]
            self._shares = [np.full(values.size, 1 / values.size) for values in data]
        else:
            # Stretching would part what is equal, so the answer is corrected and not the values.
            own = [float(values.var()) for values in data]
            unbiased = [v * values.size / max(1, values.size - 1) for v, values in zip(own, data, strict=True)]
            self.too_small = sum(unbiased) / sum(own)
            self._values = data
            self._shares = [_tilted(values, rate) for values in data]

    def experiments(self, count: int, seeds: int, rng: np.random.Generator) -> Floats:
        """Differences of simulated experiments times their weights, (count, tasks * seeds); a row sums to its mean."""
        drawn = [
            rng.choice(values, size=(count, seeds), p=shares)
            for values, shares in zip(self._values, self._shares, strict=True)
        ]
        return np.concatenate(drawn, axis=1) / (seeds * len(drawn))

    def power(self, seeds: int, rng: np.random.Generator, *, alpha: float = 0.05) -> float:
        """Share of simulated experiments of so many seeds a task in which the sign-flip test finds a difference."""
        return float((sign_flip_p(self.experiments(EXPERIMENTS, seeds, rng), flips=_FLIPS) <= alpha).mean())


def _tilted(values: Floats, rate: float) -> Floats:
    raised = np.exp(rate * values - (rate * values).max())
    shares: Floats = raised / raised.sum()
    return shares


def _tilt(data: Sequence[Floats], gain: float) -> float | None:
    """The rate of the exponential tilt that gives the mean over tasks; None if hardly a pair reaches so far."""

    def beyond(rate: float) -> float:
        return float(np.mean([values @ _tilted(values, rate) for values in data])) - gain

    scale = max(float(np.abs(values).max()) for values in data)
    if scale == 0 or beyond(-_STEEPEST / scale) >= 0 or beyond(_STEEPEST / scale) <= 0:
        return None
    from scipy import optimize

    rate: float = optimize.brentq(beyond, -_STEEPEST / scale, _STEEPEST / scale)
    return rate


_STEEPEST = 6.0
"""Tilt at which the largest difference outweighs an equal pair by e^6: beyond, the shape of the pilot is lost."""


def _closed_form(variance: float, gain: float, tasks: int, power: float, alpha: float) -> int:
    """The fewest seeds, by doubling and halving: power grows with them."""
    high = 2
    while t_power(variance, gain, high, tasks, alpha) < power:
        high *= 2
        if high > MOST_SEEDS:
            return MOST_SEEDS
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if t_power(variance, gain, middle, tasks, alpha) >= power else (middle, high)
    return max(2, high)


def _by_simulation(
    data: Sequence[Floats], gain: float, start: int, rng: np.random.Generator, power: float, alpha: float
) -> int:
    """The fewest seeds whose simulated power suffices, searched around the closed form's."""
    pilot = Pilot(data, gain)
    seed = int(rng.integers(2**32))

    def enough(seeds: int) -> bool:
        return pilot.power(seeds, np.random.default_rng([seed, seeds]), alpha=alpha) >= power

    low, high = 1, max(2, start)
    while not enough(high):
        low, high = high, math.ceil(high * 1.25) + 1
        if high * len(data) > 4 * _SIMULATED_PAIRS:
            return math.ceil(high * pilot.too_small)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.ceil(high * pilot.too_small)


def _freedom(data: Sequence[Floats], variances: Floats) -> float:
    """Degrees of freedom of the pilot's variance: 2 S^4 / Var(S^2), where heavy tails count (kurtosis pooled)."""
    sizes = np.array([values.size for values in data])
    residuals = np.concatenate(
        [(values - values.mean()) / math.sqrt(v) for values, v in zip(data, variances, strict=True) if v > 0]
    )
    excess = max(0.0, float((residuals**4).mean() / (residuals**2).mean() ** 2) - 3)
    spreads = variances**2 * (excess / sizes + 2 / (sizes - 1))
    return float(2 * variances.sum() ** 2 / spreads.sum())
