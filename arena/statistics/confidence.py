"""Whether somebody is as often right as they are sure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BINS = 10
"""Of equal width."""


def calibration_error(sure: Sequence[tuple[float, bool]]) -> float | None:
    """Expected calibration error over ten bins of equal width (Naeini et al. 2015); None without any answer.

    Args:
        sure: confidence in 0..1, and whether what it was said of was right.
    """
    if not sure:
        return None
    confidence, right = np.array([c for c, _ in sure]), np.array([r for _, r in sure], dtype=float)
    places = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [
        abs(float(confidence[places == place].mean() - right[places == place].mean())) * float((places == place).mean())
        for place in range(BINS)
        if (places == place).any()
    ]
    return sum(gaps)
