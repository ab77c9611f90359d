"""Intervals: known values, coverage, and none where none could be honest."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from arena.statistics import (
    DIFFERENCE,
    SHARE,
    Interval,
    interquartile_mean,
    iqm_interval,
    mean_interval,
    paired_difference,
    proportion,
    proportion_difference,
    stratified_mean,
)

Scores = st.lists(st.floats(0, 100), min_size=3, max_size=30)


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- means -------------------------------------------------------------------------------------------------------------


def test_an_interval_encloses_its_mean() -> None:
    interval = mean_interval([10.0, 20.0, 30.0, 40.0])
    assert interval.estimate == 25.0
    assert interval.low < 25.0 < interval.high
    assert (interval.n, interval.why, interval.drawn) == (4, "", True)


def test_the_bounds_are_those_of_the_formula() -> None:
    """By hand, on the scale 0..1: mean 0.25, s^2 = 1/60, t(3 df) = 3.182446, phi = s^2 / 0.1875 = 0.0888889,
    c = t^2 * phi / 4 = 0.2250631, centre = (0.25 + c / 2) / (1 + c), half = sqrt(c * 0.1875 + c^2 / 4) / (1 + c)."""
    c = 3.182446305284263**2 * (1 / 60 / 0.1875) / 4
    centre, half = (0.25 + c / 2) / (1 + c), math.sqrt(c * 0.1875 + c**2 / 4) / (1 + c)
    interval = mean_interval([10.0, 20.0, 30.0, 40.0])
    assert (interval.low, interval.high) == pytest.approx((100 * (centre - half), 100 * (centre + half)))


def test_in_the_middle_of_the_scale_it_is_nearly_students_interval() -> None:
    values = rng().normal(50, 3, size=20)
    low, high = stats.t.interval(0.95, 19, values.mean(), stats.sem(values))
    interval = mean_interval(list(values))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.02)


@given(Scores)
def test_an_interval_lies_within_the_scale_and_around_its_mean(values: list[float]) -> None:
    interval = mean_interval(values)
    if interval.drawn:
        assert 0 <= interval.low <= interval.estimate + 1e-9
        assert interval.estimate - 1e-9 <= interval.high <= 100
    else:
        assert interval.why == "no spread"


@given(Scores)
def test_mirrored_scores_have_the_mirrored_interval(values: list[float]) -> None:
    one, other = mean_interval(values), mean_interval([100 - value for value in values])
    if one.drawn and other.drawn:
        assert (100 - other.high, 100 - other.low) == pytest.approx((one.low, one.high), abs=1e-4)


def test_the_level_widens_it() -> None:
    values = [10.0, 35.0, 60.0, 20.0]
    assert mean_interval(values, 0.99).low < mean_interval(values).low < mean_interval(values, 0.8).low


@pytest.mark.parametrize(
    ("values", "why"), [([3.0], "one seed"), ([3.0, 9.0], "two seeds"), ([14.3] * 9, "no spread"), ([], None)]
)
def test_where_no_interval_could_be_honest_none_is_drawn(values: list[float], why: str | None) -> None:
    if why is None:
        with pytest.raises(ValueError, match="at least one"):
            mean_interval(values)
        return
    interval = mean_interval(values)
    assert interval.estimate == pytest.approx(np.mean(values))
    assert math.isnan(interval.low) and math.isnan(interval.high) and not interval.drawn
    assert interval.why == why and f"[{why}]" in str(interval)
    assert not interval.covers(interval.estimate)


def test_five_perfect_scores_are_no_certainty() -> None:
    """At a bound no spread says nothing: Wilson's interval of 5 of 5, as for successes."""
    interval = mean_interval([100.0] * 5)
    assert interval.low == pytest.approx(100 * proportion(5, 5).low)
    assert interval.high == 100.0


def test_values_beyond_their_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.\.100, got 100.5"):
        mean_interval([1.0, 100.5, 3.0])
    with pytest.raises(ValueError, match="got nan"):
        mean_interval([1.0, math.nan, 3.0])


# -- over tasks --------------------------------------------------------------------------------------------------------


def test_tasks_weigh_alike_however_many_seeds_they_have() -> None:
    interval = stratified_mean([[10.0, 20.0], [50.0, 60.0, 70.0, 80.0]])
    assert (interval.estimate, interval.n) == (40.0, 6)


def test_of_one_task_it_is_the_tasks_own() -> None:
    values = [10.0, 20.0, 30.0, 0.0, 100.0]
    assert stratified_mean([values]) == mean_interval(values)


def test_many_tasks_are_surer_than_one() -> None:
    """Four alike: half the width, for the error, and less than that, for the degrees of freedom."""
    values = [40.0, 45.0, 50.0, 55.0, 60.0]
    one, four = mean_interval(values), stratified_mean([values] * 4)
    assert (four.high - four.low) < (one.high - one.low) / 2
    assert (four.high - four.low) == pytest.approx(
        2 * stats.t.ppf(0.975, 16) * np.std(values, ddof=1) / 20**0.5, rel=0.02
    )


def test_weights_scale_estimate_and_bounds() -> None:
    strata = [[10.0, 20.0, 35.0], [50.0, 60.0, 90.0]]
    plain, double = stratified_mean(strata), stratified_mean(strata, weights=[1.0, 1.0])
    assert double.estimate == pytest.approx(2 * plain.estimate)
    assert double.high - double.estimate == pytest.approx(2 * (plain.high - plain.estimate))
    with pytest.raises(ValueError, match="positive"):
        stratified_mean(strata, weights=[1.0, 0.0])


def test_a_task_of_one_seed_hides_its_spread() -> None:
    assert stratified_mean([[1.0, 2.0, 3.0], [4.0]]).why == "a task of one seed"
    assert stratified_mean([[1.0, 2.0], [4.0, 6.0]]).drawn


# -- interquartile means -----------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=40))
def test_the_interquartile_mean_is_scipys(values: list[float]) -> None:
    assert float(interquartile_mean(values)) == pytest.approx(float(stats.trim_mean(values, 0.25)), abs=1e-9)


def test_the_same_generator_gives_the_same_digits() -> None:
    strata = [list(rng(8).uniform(0, 100, 12)), list(rng(9).uniform(0, 50, 9))]
    assert iqm_interval(strata, rng()) == iqm_interval(strata, rng())
    assert iqm_interval(strata, rng()) != iqm_interval(strata, rng(6))


def test_an_outlier_does_not_move_the_interquartile_mean() -> None:
    values = [*np.arange(10.0, 29.0), 100.0]
    interval = iqm_interval([values], rng(), bounds=(0, 100))
    assert interval.estimate == 19.5
    assert 15 < interval.low < 19.5 < interval.high < 25


def test_resamples_keep_to_their_tasks() -> None:
    """Tasks without spread stay what they are: were they mixed, their difference would show in the interval."""
    assert iqm_interval([[0.0] * 5, [50.0] * 5, [100.0] * 5], rng()).why == "no spread"
    tight = iqm_interval([[0.0] * 5, [49.0, 50.0, 51.0, 50.0, 50.0], [100.0] * 5], rng())
    assert tight.high - tight.low < 40


@pytest.mark.parametrize(
    ("strata", "why"), [([[1.0]], "one seed"), ([[1.0, 2.0, 3.0, 4.0]], "few seeds"), ([[1.0, 2.0]] * 4, "few seeds")]
)
def test_an_interquartile_mean_of_few_seeds_has_no_interval(strata: list[list[float]], why: str) -> None:
    assert iqm_interval(strata, rng()).why == why


# -- coverage: small versions of benchmarks/interval_coverage.py -------------------------------------------------------


def ties(chance: np.random.Generator, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Skewed scores: half of them 0, some 100."""
    kind = chance.random(n)
    return np.where(kind < 0.5, 0.0, np.where(kind < 0.6, 100.0, chance.uniform(0, 100, n)))


@pytest.mark.parametrize("n", [5, 10, 20])
def test_the_interval_of_a_mean_covers_where_a_percentile_bootstrap_does_not(n: int) -> None:
    chance, truth = rng(1), 30.0
    covered = percentile = 0
    for _ in range(600):
        values = ties(chance, n)
        covered += mean_interval(list(values)).covers(truth)
        low, high = np.quantile(values[chance.integers(n, size=(300, n))].mean(axis=1), [0.025, 0.975])
        percentile += low <= truth <= high
    assert 0.93 <= covered / 600 <= 0.985
    if n == 5:
        assert percentile / 600 < 0.9


def test_the_interval_over_tasks_covers_although_some_never_succeed() -> None:
    chance = rng(2)
    rates = (0.05, 0.1, 0.3, 0.9)
    covered = [
        stratified_mean([list(chance.binomial(1, rate, 5).astype(float)) for rate in rates], bounds=SHARE).covers(
            float(np.mean(rates))
        )
        for _ in range(600)
    ]
    assert 0.93 <= np.mean(covered) <= 0.99


def test_the_interval_of_an_interquartile_mean_covers() -> None:
    chance = rng(3)
    truth = float(interquartile_mean(np.concatenate([chance.beta(2, 2, 200_000), chance.beta(1, 6, 200_000)])))
    covered = [
        iqm_interval([list(chance.beta(2, 2, 20)), list(chance.beta(1, 6, 20))], chance).covers(truth)
        for _ in range(400)
    ]
    assert 0.92 <= np.mean(covered) <= 0.985


# -- pairs and proportions ---------------------------------------------------------------------------------------------


def test_pairing_removes_what_the_seeds_share() -> None:
    before = [0.0, 50.0, 100.0, 20.0, 80.0]
    after = [4.0, 55.0, 104.0 - 4.0, 26.0, 85.0]
    paired = paired_difference(before, after)
    assert paired.estimate == 4.0
    assert paired.high - paired.low < 8 < mean_interval(after).high - mean_interval(after).low
    with pytest.raises(ValueError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0])


def test_a_difference_has_the_interval_of_a_mean_on_its_own_scale() -> None:
    assert paired_difference([0.0, 10.0, 20.0], [50.0, 0.0, 20.0]) == mean_interval(
        [50.0, -10.0, 0.0], bounds=DIFFERENCE
    )
    assert paired_difference([0.0, 50.0, 95.0], [5.0, 55.0, 100.0]).why == "no spread"


def test_a_proportion_has_wilsons_interval() -> None:
    """Reference values: 81 of 263 gives 0.308 [0.2553, 0.3662] (Newcombe 1998, table I)."""
    interval = proportion(81, 263)
    assert (round(interval.estimate, 3), round(interval.low, 4), round(interval.high, 4)) == (0.308, 0.2553, 0.3662)
    assert proportion(0, 20).low == 0.0
    with pytest.raises(ValueError, match="0 <= hits <= n"):
        proportion(3, 2)


@given(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_is_scipys(trial: tuple[int, int]) -> None:
    hits, n = trial
    interval = proportion(hits, n)
    theirs = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (interval.low, interval.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


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


def test_an_interval_prints_its_bounds_or_why_it_has_none() -> None:
    assert str(Interval(12.34, 10.0, 14.0, 5)) == "12.3 [10.0, 14.0]"
    assert str(mean_interval([12.34])) == "12.3 [one seed]"
