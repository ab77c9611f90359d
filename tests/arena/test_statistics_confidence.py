"""The calibration error is worked out by hand."""

from __future__ import annotations

import pytest

from arena.statistics import calibration_error


def test_calibration_error_is_the_mean_gap_of_the_bins():
    """Bin 0.9: mean 0.95, half right, weight 1/2. Bin 0.2: 0.25, none right, weight 1/2."""
    sure = [(0.92, True), (0.98, False), (0.22, False), (0.28, False)]
    assert calibration_error(sure) == pytest.approx(0.5 * 0.45 + 0.5 * 0.25)
    assert calibration_error([(1.0, True)]) == 0.0
    assert calibration_error([]) is None
