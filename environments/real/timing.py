"""Where the time of an execute / pause-and-inspect cycle goes: one record a step, sums by cycle.

A cycle is `execute_s` of motion, a pause in which somebody may look and decide, and the way back if one was ordered
(VLA-FixBench's real track: T_loop = T_execute + T_vlm + T_rollback). The clock is the wall's. Every moment belongs to
one of four phases, so that a cycle's parts add up to its length:

    execute    an action is carried out
    think      the player is asked for the next one (a policy's inference)
    inspect    between the end of a step and the player's being asked again: monitors, diagnoser, record
    rollback   from the first step on the way back (or of a repair) until the player is asked again
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

Phase = Literal["execute", "think", "inspect", "rollback"]
PHASES: tuple[Phase, ...] = ("execute", "think", "inspect", "rollback")
LOOP = "loop"
"""Key in the notes of a step: what `Stopwatch.step` returned."""


class Stopwatch:
    """Follows an episode through its phases.

    Args:
        steps: actions of a cycle, at least 1.
        now: the clock, in seconds.
    """

    def __init__(self, steps: int, now: Callable[[], float] = time.perf_counter) -> None:
        self._steps, self._now = steps, now
        self.begin()

    def begin(self) -> None:
        """An episode begins."""
        self._cycle = self._played = 0
        self._phase: Phase | None = None
        self._spent = dict.fromkeys(PHASES, 0.0)
        self._since = self._now()
        self._went_back = False

    def enter(self, phase: Phase) -> None:
        """From now on time is spent on that; on a way back only the player's being asked ends it.

        What lies between the reset and the first asking is preparation, and is nobody's.
        """
        if self._phase == "rollback" and phase in ("execute", "inspect"):
            return
        now = self._now()
        if self._phase is not None:
            self._spent[self._phase] += now - self._since
        self._phase, self._since = phase, now

    @property
    def due(self) -> bool:
        """Whether the cycle's actions have been played: time to pause."""
        return self._played >= self._steps

    def acting(self, *, back: bool) -> None:
        """An action is about to be carried out.

        Args:
            back: whether it is one of the way back or of a repair, not the player's.
        """
        if back:
            self._went_back = True
            self.enter("rollback")
            return
        if self.due or self._went_back:
            self._cycle, self._played, self._went_back = self._cycle + 1, 0, False
        if self._phase == "rollback":
            self.enter("think")  # ends it although nobody was asked
        self.enter("execute")
        self._played += 1

    def step(self) -> dict[str, Any]:
        """The action is over: which cycle it was of, and the seconds since the last step's end, by phase."""
        self.enter("inspect")
        if self._phase == "rollback":  # goes on, and is told so far
            now = self._now()
            self._spent["rollback"] += now - self._since
            self._since = now
        told: dict[str, Any] = {"cycle": self._cycle}
        told |= {f"{phase}_s": round(seconds, 6) for phase, seconds in self._spent.items() if seconds}
        self._spent = dict.fromkeys(PHASES, 0.0)
        return told
