"""Many comparisons at once: the more one looks at, the more one finds by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arena.statistics.means import Floats


def holm(p: Sequence[float]) -> list[float]:
    """Correct p so that no false finding at all is made in 1 - alpha of the families (Holm 1979).

    Raises:
        ValueError: for a p outside 0..1.
    """
    order, ordered = _ordered(p)
    factors = len(ordered) - np.arange(len(ordered))
    corrected = np.maximum.accumulate(np.minimum(1.0, factors * ordered))
    return _in_place(order, corrected)


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Correct p so that at most a share alpha of the findings is false (Benjamini and Hochberg 1995).

    Raises:
        ValueError: for a p outside 0..1.
    """
    order, ordered = _ordered(p)
    factors = len(ordered) / (1.0 + np.arange(len(ordered)))
    corrected = np.minimum.accumulate(np.minimum(1.0, factors * ordered)[::-1])[::-1]
    return _in_place(order, corrected)


def _ordered(p: Sequence[float]) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], Floats]:
    values = np.asarray(p, dtype=np.float64)
    wrong = values[~((values >= 0) & (values <= 1))]
    if wrong.size:
        raise ValueError(f"a p lies in 0..1, got {wrong[0]}")
    order = np.argsort(values, kind="stable")
    return order, values[order]


def _in_place(order: np.ndarray[tuple[int], np.dtype[np.intp]], corrected: Floats) -> list[float]:
    found = np.empty_like(corrected)
    found[order] = corrected
    return [float(value) for value in found]
