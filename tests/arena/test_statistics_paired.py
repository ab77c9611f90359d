"""Pairs, many comparisons and power: hand-worked examples, SciPy's numbers, and properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arena.statistics import (
    NoPilot,
    benjamini_hochberg,
    differences,
    holm,
    mcnemar,
    probability_of_improvement,
    seeds_needed,
    sign_flip_test,
    standardised_effect,
)
from arena.statistics.paired import sign_flip_p
from arena.statistics.power import Pilot, t_power

Differences = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=9)
Ps = st.lists(st.floats(0, 1), max_size=12)


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- the sign-flip test ------------------------------------------------------------------------------------------------


def test_five_gains_of_five_cannot_be_more_certain_than_a_coin_allows() -> None:
    assert sign_flip_test([[3.0, 40.0, 1.0, 9.0, 80.0]]) == 2 / 2**5


def test_a_hand_worked_example() -> None:
    """|3 + 2 - 1| = 4 is reached by the signings +++ (6), ++- (4) and their mirrors: 4 of 8."""
    assert sign_flip_test([[3.0, 2.0, -1.0]]) == 0.5


@given(Differences)
def test_small_samples_try_every_signing(values: list[float]) -> None:
    sums = [abs(np.dot(values, signs)) for signs in itertools.product((-1, 1), repeat=len(values))]
    assert sign_flip_test([values]) == pytest.approx(np.mean(np.array(sums) >= abs(sum(values)) - 1e-9))


def test_it_agrees_with_scipys_permutation_test() -> None:
    values = rng().normal(0.5, 1, 10)
    theirs = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_test([list(values)]) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("n", [40, 2000])
def test_larger_samples_come_near_students_test(n: int) -> None:
    values = rng(2).normal(1.2 / n**0.5, 1, n)
    assert sign_flip_test([list(values)]) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.02)


def test_no_difference_at_all_is_no_evidence() -> None:
    assert sign_flip_test([[0.0] * 6]) == sign_flip_test([[0.0] * 30]) == 1.0
    assert sign_flip_test([[0.0] * 1500]) == 1.0
    with pytest.raises(ValueError, match="at least one pair"):
        sign_flip_test([[]])


def test_tasks_weigh_alike_however_many_seeds_they_have() -> None:
    """One task of two pairs against eight of another: weights 1/2 and 1/8, tried by hand."""
    short, long = [10.0, -2.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    weighted = np.array([*(v / 2 for v in short), *(v / 8 for v in long)])
    sums = [abs(weighted @ signs) for signs in itertools.product((-1, 1), repeat=10)]
    assert sign_flip_test([short, long]) == pytest.approx(np.mean(np.array(sums) >= abs(weighted.sum()) - 1e-9))


@pytest.mark.parametrize("n", [8, 20])
def test_false_findings_are_no_more_frequent_than_promised(n: int) -> None:
    """Two equal players with many ties: the test holds its level, whatever the scores look like."""
    chance = rng(3)
    scores = np.where(chance.random((2, 2000, n)) < 0.4, 100.0, chance.integers(0, 4, (2, 2000, n)) * 10.0)
    assert (sign_flip_p(scores[1] - scores[0]) <= 0.05).mean() <= 0.062


# -- effect sizes ------------------------------------------------------------------------------------------------------


def test_the_standardised_effect_of_a_hand_worked_example() -> None:
    """Mean 4, standard deviation 2 (n - 1 = 2), Hedges' factor 1 - 3 / (4 * 2 - 1) = 4/7."""
    assert standardised_effect([[2.0, 4.0, 6.0]]) == pytest.approx(2 * 4 / 7)
    assert standardised_effect([[5.0, 5.0, 5.0]]) is None
    assert standardised_effect([[5.0]]) is None


def test_tasks_that_differ_do_not_hide_an_effect() -> None:
    """The spread is that within tasks."""
    one = standardised_effect([[9.0, 10.0, 11.0], [29.0, 30.0, 31.0]])
    assert one == pytest.approx(20 * (1 - 3 / 15))


def test_the_probability_of_improvement_counts_half_of_the_equal() -> None:
    interval = probability_of_improvement([[5.0, 0.0, -1.0, 3.0]])
    assert interval.estimate == 0.625 and 0 <= interval.low < 0.625 < interval.high <= 1
    assert probability_of_improvement([[0.0, 0.0, 0.0]]).why == "no spread"
    assert probability_of_improvement([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]).estimate == 0.5


def test_differences_are_after_minus_before() -> None:
    assert differences([1.0, 5.0], [4.0, 3.0]) == [3.0, -2.0]
    with pytest.raises(ValueError, match="2 values before, 1 after"):
        differences([1.0, 2.0], [1.0])


def test_mcnemar_of_a_hand_worked_example() -> None:
    """One success lost, six gained: 2 * (1 + 7) / 2^7 = 0.125; equal pairs do not count."""
    before = [True] * 3 + [True] + [False] * 6 + [False] * 2
    after = [True] * 3 + [False] + [True] * 6 + [False] * 2
    assert mcnemar(before, after) == (1, 6, 0.125)
    assert mcnemar([True, False], [True, False]) == (0, 0, 1.0)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_mcnemar_is_a_binomial_test_of_the_discordant(pairs: list[tuple[bool, bool]]) -> None:
    found = mcnemar([b for b, _ in pairs], [a for _, a in pairs])
    discordant = found.lost + found.gained
    expected = stats.binomtest(found.gained, discordant).pvalue if discordant else 1.0
    assert found.p == pytest.approx(expected)


# -- many comparisons --------------------------------------------------------------------------------------------------


def test_holm_of_a_hand_worked_example() -> None:
    """Ordered 0.01, 0.03, 0.04: times 3, 2, 1, and never less than the one before."""
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []


@given(Ps)
def test_benjamini_and_hochberg_is_scipys(p: list[float]) -> None:
    expected = stats.false_discovery_control(p) if p else []
    assert benjamini_hochberg(p) == pytest.approx(list(expected))


@given(Ps)
def test_corrections_keep_the_order_and_never_lower_a_p(p: list[float]) -> None:
    for correct in (holm, benjamini_hochberg):
        corrected = correct(p)
        assert all(c >= v - 1e-12 and c <= 1 for c, v in zip(corrected, p, strict=True))
        assert [corrected[i] for i in np.argsort(p, kind="stable")] == sorted(corrected)
    assert all(h >= b - 1e-12 for h, b in zip(holm(p), benjamini_hochberg(p), strict=True))


def test_what_is_no_p_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lies in 0\.\.1, got 1.5"):
        holm([0.5, 1.5])


# -- power -------------------------------------------------------------------------------------------------------------


def test_the_closed_form_is_the_textbooks() -> None:
    """Effect d = 0.5, power 0.8, two-sided 0.05: 34 pairs (Cohen 1988; G*Power gives the same)."""
    pilot = [list(stats.norm.ppf((np.arange(400) + 0.5) / 400) * 20)]
    answer = seeds_needed(pilot, 10.0, rng())
    assert answer.closed_form == 34
    assert t_power(400.0, 10.0, 34, 1) >= 0.8 > t_power(400.0, 10.0, 33, 1)
    assert answer.simulated == pytest.approx(34, abs=3)
    assert answer.low < answer.seeds < answer.high


def test_a_smaller_gain_or_more_power_takes_more_seeds() -> None:
    pilot = [list(rng().normal(0, 15, 12))]
    base = seeds_needed(pilot, 15.0, rng())
    assert seeds_needed(pilot, 10.0, rng()).seeds > base.seeds
    assert seeds_needed(pilot, 15.0, rng(), power=0.95).seeds > base.seeds
    assert seeds_needed(pilot, 15.0, rng(), alpha=0.005).seeds > base.seeds
    assert seeds_needed(pilot, -15.0, rng()).closed_form == base.closed_form


def test_more_tasks_take_fewer_seeds_a_task() -> None:
    task = list(rng().normal(0, 15, 12))
    assert seeds_needed([task] * 4, 5.0, rng()).seeds < seeds_needed([task], 5.0, rng()).seeds / 2


def test_the_same_generator_gives_the_same_answer() -> None:
    pilot = [[0.0, 30.0, 0.0, -10.0, 0.0, 60.0, 0.0]]
    assert seeds_needed(pilot, 8.0, rng()) == seeds_needed(pilot, 8.0, rng())


def test_equal_pairs_stay_equal_when_the_pilot_is_moved() -> None:
    """Seven of ten seeds are won at once: a shift of all would make a gain of them that no sign test could miss."""
    pilot = Pilot([[0.0] * 7 + [30.0, 60.0, 20.0]], 15.0)
    drawn = pilot.experiments(4000, 6, rng()) * 6
    assert drawn.sum(axis=1).mean() / 6 == pytest.approx(15.0, abs=0.6)
    assert {float(v) for v in np.unique(drawn.round(9))} == {0.0, 20.0, 30.0, 60.0}
    assert pilot.power(6, rng()) < 0.5


def test_a_gain_beyond_the_pilots_best_pair_shifts_it() -> None:
    drawn = Pilot([[0.0, 0.0, 10.0]], 40.0).experiments(2000, 5, rng()) * 5
    assert drawn.sum(axis=1).mean() / 5 == pytest.approx(40.0, abs=0.5)


def test_a_great_number_of_seeds_is_told_by_the_closed_form_alone() -> None:
    answer = seeds_needed([list(rng().normal(0, 30, 20))], 0.5, rng())
    assert answer.simulated is None and answer.seeds == answer.closed_form > 1000


@pytest.mark.parametrize(
    ("pilot", "message"),
    [
        ([[1.0, 2.0, 3.0]], "at least 5 pairs, this one has 3"),
        ([[1.0, 2.0, 3.0, 4.0, 5.0], [7.0]], "a single pair"),
        ([[0.0] * 8], "all equal"),
    ],
)
def test_a_pilot_that_tells_nothing_is_refused(pilot: list[list[float]], message: str) -> None:
    with pytest.raises(NoPilot, match=message):
        seeds_needed(pilot, 5.0, rng())


@pytest.mark.parametrize(("gain", "power", "alpha"), [(0.0, 0.8, 0.05), (5.0, 0.04, 0.05), (5.0, 1.0, 0.05)])
def test_questions_without_an_answer_are_refused(gain: float, power: float, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"needed|other than 0"):
        seeds_needed([[1.0, 2.0, 3.0, 4.0, 9.0]], gain, rng(), power=power, alpha=alpha)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000))
def test_the_interval_holds_the_answer(seed: int) -> None:
    answer = seeds_needed([list(rng(seed).normal(3, 20, 8))], 20.0, rng(seed))
    assert 2 <= answer.low <= answer.seeds <= answer.high
