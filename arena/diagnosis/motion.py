"""Cheap monitors of the arm: nothing commanded, the same commanded again and again, everything carried out late.

And one of a policy's own mind: a new chunk of actions that does not go on as the last one foresaw.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arena.diagnosis.monitors import Alarm, Monitor
from arena.diagnosis.signals import Reading


@dataclass(frozen=True, slots=True)
class IdleSettings:
    """When a policy counts as having stopped."""

    steps: int = 25
    """For so many steps in a row..."""
    still: float = 0.02
    """...it has commanded less motion than this (1 is 5 cm a step, or 0.5 rad), and its gripper as before."""


class Idle(Monitor):
    """No motion is commanded, although the episode goes on: a premature stop."""

    name: ClassVar[str] = "no-motion"

    def __init__(self, settings: IdleSettings = IdleSettings()) -> None:
        self._settings = settings
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The thresholds."""
        return asdict(self._settings)

    def reset(self) -> None:
        """Believe that it moves."""
        self._first: int | None = None
        self._count = 0
        self._closing: bool | None = None
        self._raised = False
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Count the idle steps."""
        busy = max(reading.push, reading.turn) >= self._settings.still or reading.closing is not self._closing
        if busy:
            self.reset()
            self._closing = reading.closing
            return None
        self._first = reading.step if self._first is None else self._first
        self._count += 1
        self.score = self._count / self._settings.steps
        if self.score < self.limit or self._raised:
            return None
        self._raised = True
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=self._first,
            since=self._first,
            note=f"no motion was commanded for {self._count} steps, and the episode is not over",
        )


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """When commands count as repeating themselves."""

    shortest: int = 3
    longest: int = 20
    """Periods that are looked for, in steps."""
    same: float = 0.02
    """Commands are the same if no number differs by more..."""
    varied: float = 0.05
    """...and vary if some number spreads this far within a period: a hand that holds still repeats nothing."""
    rounds: float = 2.0
    """So many periods must have been repeated."""
    least_steps: int = 16
    """And so many steps, however short the period."""


class Loop(Monitor):
    """The policy goes through the same commands again and again."""

    name: ClassVar[str] = "loop"

    def __init__(self, settings: LoopSettings = LoopSettings()) -> None:
        self._settings = settings
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The thresholds."""
        return asdict(self._settings)

    def reset(self) -> None:
        """Forget all commands."""
        self._past: deque[tuple[float, ...]] = deque(maxlen=self._settings.longest + 1)
        self._runs: dict[int, int] = {}
        self._raised = False
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Compare the command with those of one period ago, for every period."""
        self.score = 0.0
        if len(reading.command) != 7:
            return None
        limits = self._settings
        self._past.append(reading.command)
        past = np.array(self._past)
        same = np.abs(past[:-1] - past[-1]).max(axis=1) <= limits.same
        best = 0
        for period in range(limits.shortest, min(limits.longest, len(past) - 1) + 1):
            again = bool(same[-period])
            varies = again and float(np.ptp(past[-period:, :6], axis=0).max()) >= limits.varied
            self._runs[period] = self._runs.get(period, 0) + 1 if varies else 0
            score = self._runs[period] / max(limits.rounds * period, limits.least_steps)
            if score > self.score:
                self.score, best = score, period
        if self.score < self.limit:
            self._raised = self._raised and self.score > 0
            return None
        if self._raised:
            return None
        self._raised = True
        repeated = self._runs[best]
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=max(0, reading.step - repeated + 1),
            since=max(0, reading.step - repeated - best + 1),
            note=f"the commands of {best} steps were repeated for {repeated} steps",
        )


@dataclass(frozen=True, slots=True)
class LagSettings:
    """When motion counts as coming late."""

    window: int = 24
    """Steps that are compared."""
    late: int = 4
    """The motion fits the commands of at least so many steps ago..."""
    longest: int = 14
    usual: int = 2
    """...where it should fit those of the last so many."""
    fit: float = 0.75
    """Cosine between commands and motion from which on they fit."""
    better: float = 0.3
    """By so much the late fit must be better than the usual one."""
    least_m: float = 0.05
    """The hand must have moved this far in the window, and been told to, for anything to be compared."""


class Lag(Monitor):
    """The hand does what it was told some steps ago: actions are delayed."""

    name: ClassVar[str] = "lag"

    def __init__(self, settings: LagSettings = LagSettings()) -> None:
        self._settings = settings
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The thresholds."""
        return asdict(self._settings)

    def reset(self) -> None:
        """Forget all motion."""
        size = self._settings.window + self._settings.longest
        self._told: deque[NDArray[np.float64]] = deque(maxlen=size)
        self._moved: deque[NDArray[np.float64]] = deque(maxlen=size)
        self._last: NDArray[np.float64] | None = None
        self._odd = 0
        self._raised = False
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Find the delay under which commands and motion agree best."""
        self.score = 0.0
        here = np.array(reading.eef_pos_m)
        moved = np.zeros(3) if self._last is None else here - self._last
        self._last = here
        self._told.append(np.array(reading.command[:3]) if reading.command else np.zeros(3))
        self._moved.append(moved)
        limits = self._settings
        size = limits.window + limits.longest
        if len(self._told) < size:
            return None
        told, moved = np.array(self._told), np.array(self._moved)[-limits.window :]
        usual = max(self._fit(told, moved, delay) for delay in range(limits.usual + 1))
        late, best = 0, 0.0
        if usual <= 1.0 - limits.better:  # else no delay can fit so much better
            fits = [self._fit(told, moved, delay) for delay in range(limits.late, limits.longest + 1)]
            best = max(fits)
            late = limits.late + fits.index(best)
        odd = best >= limits.fit and best - usual >= limits.better
        self._odd = self._odd + 1 if odd else 0
        self.score = self._odd / 3
        if self.score < self.limit or self._raised:
            return None
        self._raised = True
        onset = max(0, reading.step - size)
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=onset,
            since=max(0, onset - limits.window),
            note=f"the hand moves as it was told {late} steps before",
        )

    def _fit(self, told: NDArray[np.float64], moved: NDArray[np.float64], delay: int) -> float:
        """Cosine between the motion of the window, (window, 3), and the commands of `delay` steps before."""
        limits = self._settings
        if float(np.abs(moved).sum()) < limits.least_m:
            return 0.0
        end = len(told) - delay
        then = told[end - limits.window : end]
        norm = float(np.linalg.norm(then)) * float(np.linalg.norm(moved))
        return float((then * moved).sum()) / norm if norm > 1e-9 else 0.0


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """When two chunks of a policy disagree."""

    apart: float = 0.5
    """Mean distance per step between what the last chunk foresaw and what the new one says, in units of the action."""


class ChunkDisagreement(Monitor):
    """A policy's new chunk of actions is not what its last one foresaw: it is unsure, or the world surprised it."""

    name: ClassVar[str] = "chunk-disagreement"

    def __init__(self, settings: ChunkSettings = ChunkSettings()) -> None:
        self._settings = settings
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The threshold."""
        return asdict(self._settings)

    def reset(self) -> None:
        """Forget the last chunk."""
        self._before = 0
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Look at a step that began a chunk."""
        self.score = 0.0
        if reading.disagreement is None:
            return None
        before, self._before = self._before, reading.step
        self.score = reading.disagreement / self._settings.apart
        if self.score < self.limit:
            return None
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=before,
            since=before,
            note=f"the new chunk is {reading.disagreement:.2f} a step away from what the last one foresaw",
        )
