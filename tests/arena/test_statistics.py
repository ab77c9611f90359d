"""Intervals: known values, coverage, and refusal of nothing."""

import math

import numpy as np
import pytest

from arena.statistics import mean_interval, paired_difference, ratio_difference, ratio_interval


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


def test_a_pooled_rate_weighs_episodes_by_their_length() -> None:
    assert ratio_interval([1, 90], [10, 90], rng()).estimate == pytest.approx(0.91)
    with pytest.raises(ValueError, match="positive total"):
        ratio_interval([0], [0], rng())


def test_the_interval_of_a_rate_difference_covers_the_truth_about_95_percent_of_the_time() -> None:
    """Simulated calibrated agents, p 0.6 -> 0.9, whose episodes stop early on success: no bias, fair coverage."""
    chance = np.random.default_rng(11)

    def episodes(p: float) -> tuple[list[float], list[float]]:
        hits, totals = [], []
        for _ in range(20):
            n = int(chance.integers(20, 60))
            tosses = chance.random(n) < p
            stop = int(np.argmax(np.cumsum(tosses) >= 15)) + 1 if tosses.sum() >= 15 else n
            hits.append(float(tosses[:stop].sum()))
            totals.append(float(stop))
        return hits, totals

    inside = 0
    for _ in range(60):
        interval = ratio_difference(episodes(0.6), episodes(0.9), np.random.default_rng(1))
        inside += interval.low <= 0.3 <= interval.high
    assert inside >= 50
