"""Numbers one can defend: intervals that cover at small n, paired comparisons, corrected tests, honest ranks.

Every function with chance takes its `numpy.random.Generator`, so that a table is reproduced to the last digit.
Formulas, sources and the simulations behind each choice: `docs/statistics.md`.
"""

from arena.statistics.confidence import calibration_error
from arena.statistics.interval import Interval
from arena.statistics.means import (
    DIFFERENCE,
    SCORE,
    SHARE,
    interquartile_mean,
    iqm_interval,
    mean_interval,
    stratified_mean,
)
from arena.statistics.multiple import benjamini_hochberg, holm
from arena.statistics.paired import (
    differences,
    paired_difference,
    probability_of_improvement,
    sign_flip_test,
    standardised_effect,
)
from arena.statistics.power import NoPilot, SeedsNeeded, seeds_needed
from arena.statistics.proportions import McNemar, mcnemar, proportion, proportion_difference
from arena.statistics.ranking import Duel, Strengths, bradley_terry, rank_bands

__all__ = [
    "DIFFERENCE",
    "SCORE",
    "SHARE",
    "Duel",
    "Interval",
    "McNemar",
    "NoPilot",
    "SeedsNeeded",
    "Strengths",
    "benjamini_hochberg",
    "bradley_terry",
    "calibration_error",
    "differences",
    "holm",
    "interquartile_mean",
    "iqm_interval",
    "mcnemar",
    "mean_interval",
    "paired_difference",
    "probability_of_improvement",
    "proportion",
    "proportion_difference",
    "rank_bands",
    "seeds_needed",
    "sign_flip_test",
    "standardised_effect",
    "stratified_mean",
]
