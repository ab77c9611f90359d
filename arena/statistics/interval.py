"""An estimate with its interval, or with the reason why there is none."""

from __future__ import annotations

from typing import NamedTuple

NAN = float("nan")

ONE_SEED = "one seed"
TWO_SEEDS = "two seeds"
A_TASK_OF_ONE = "a task of one seed"
NO_SPREAD = "no spread"
FEW_SEEDS = "few seeds"


class Interval(NamedTuple):
    """An estimate with its interval (95 % unless said otherwise); NaN bounds where none could be honest."""

    estimate: float
    low: float
    high: float
    n: int
    """Number of independent units (seeds) behind it."""
    why: str = ""
    """Why there are no bounds: `one seed`, `no spread`, ...; empty where there are."""

    @property
    def drawn(self) -> bool:
        """Whether it has bounds."""
        return self.low == self.low and self.high == self.high

    def covers(self, value: float) -> bool:
        """Whether a value lies within the bounds; never where there are none."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        if not self.drawn:
            return f"{self.estimate:.1f} [{self.why}]"
        return f"{self.estimate:.1f} [{self.low:.1f}, {self.high:.1f}]"


def without_bounds(estimate: float, n: int, why: str) -> Interval:
    """An estimate of which nothing more can be said, and why."""
    return Interval(estimate, NAN, NAN, n, why)
