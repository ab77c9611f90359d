"""Intervals: known values, coverage, and refusal of nothing."""

import math

import numpy as np
import pytest

from arena.statistics import mean_interval, paired_difference, proportion, proportion_difference


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_the_same_generator_gives_the_same_digits() -> None:
    values = [1.0, 4.0, 2.0, 9.0]
    assert mean_interval(values, rng()) == mean_interval(values, rng())


def test_an_interval_encloses_its_mean() -> None:
    interval = mean_interval([10.0, 20.0, 30.0, 40.0], rng())
    assert interval.estimate == 25.0
    assert interval.low < 25.0 < interval.high
    assert interval.n == 4


def test_one_value_says_nothing_about_its_spread() -> None:
    interval = mean_interval([3.0], rng())
    assert interval.estimate == 3.0
    assert math.isnan(interval.low) and math.isnan(interval.high)


@pytest.mark.parametrize("values", [[], ()])
def test_no_values_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        mean_interval(values, rng())


def test_pairing_removes_what_the_seeds_share() -> None:
    before = [0.0, 50.0, 100.0, 20.0, 80.0]
    after = [value + 5 for value in before]
    interval = paired_difference(before, after, rng())
    assert interval.low == interval.estimate == interval.high == pytest.approx(5.0)
    with pytest.raises(ValueError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0], rng())


def test_a_proportion_has_wilsons_interval() -> None:
    """Reference values: 81 of 263 gives 0.308 [0.2553, 0.3662] (Newcombe 1998, table I)."""
    interval = proportion(81, 263)
    assert (round(interval.estimate, 3), round(interval.low, 4), round(interval.high, 4)) == (0.308, 0.2553, 0.3662)
    assert proportion(0, 20).low == 0.0
    with pytest.raises(ValueError, match="0 <= hits <= n"):
        proportion(3, 2)


def test_a_difference_of_proportions_has_newcombes_interval() -> None:
    """Reference values: 56/70 - 48/80 gives 0.2 [0.0524, 0.3339] (Newcombe 1998, method 10)."""
    interval = proportion_difference((48, 80), (56, 70))
    assert (round(interval.estimate, 4), round(interval.low, 4), round(interval.high, 4)) == (0.2, 0.0524, 0.3339)


def test_the_interval_of_a_gain_covers_the_truth_although_episodes_stop_on_success() -> None:
    """Simulated calibrated agents, p 0.6 -> 0.9, whose episodes end at 15 hits: no bias, fair coverage."""
    chance = np.random.default_rng(11)

    def tosses(p: float) -> tuple[float, float]:
        hits = total = 0
        for _ in range(20):
            row = chance.random(int(chance.integers(20, 60))) < p
            stop = int(np.argmax(np.cumsum(row) >= 15)) + 1 if row.sum() >= 15 else len(row)
            hits, total = hits + int(row[:stop].sum()), total + stop
        return hits, total

    intervals = [proportion_difference(tosses(0.6), tosses(0.9)) for _ in range(400)]
    assert 0.92 <= np.mean([interval.low <= 0.3 <= interval.high for interval in intervals]) <= 0.99
