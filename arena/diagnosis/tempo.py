"""Monitors of progress, learned from a policy's own clean episodes: how long its phases last, which sub-goals follow.

A phase lasts while the gripper is told the same: a robot knows that of itself. Sub-goals are the engine's predicates
(how many milestones, which stage), which a real robot would need eyes for; they are watched only where that is asked
for, and results with them say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from arena.diagnosis.monitors import Alarm, ClosingSettings, Monitor
from arena.diagnosis.signals import Reading

SLACK_STEPS = 5
"""Added to the longest duration that was seen, and taken from the shortest: a few episodes do not show the extremes."""
FLIP_STEPS = 3
"""The gripper must have been told something else for so many steps before a new phase counts as begun."""
NEW_STEPS = 4
"""A sub-goal state that no clean episode had counts from so many steps on."""


Count = Annotated[int, Field(ge=0, le=1_000_000)]
"""Steps or episodes."""


def _in_order(width_m: tuple[float, float]) -> tuple[float, float]:
    if width_m[0] > width_m[1]:
        raise ValueError("the least width comes first")
    return width_m


Width = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
"""In metres; below zero where a sensor reads a little less than closed."""
Widths = Annotated[tuple[Width, Width], AfterValidator(_in_order)]


class PhaseTimes(BaseModel):
    """Control steps that one phase took in clean episodes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    closing: bool
    shortest: Count
    longest: Count

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.shortest > self.longest:
            raise ValueError(f"shortest {self.shortest} is longer than longest {self.longest}")
        return self


class Profile(BaseModel):
    """What a policy's clean episodes of one task look like."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    phases: tuple[PhaseTimes, ...]
    """In order; as many as the clean episode with the fewest."""
    total: Count
    """Steps of the longest episode."""
    widths_m: tuple[Widths, ...]
    """By grasp in order: least and largest width between the fingers once they have closed."""
    subgoals: dict[str, Count]
    """State of the sub-goals -> steps for which it lasted at most; empty where nobody asked for them."""

    @classmethod
    def learn(cls, episodes: Sequence[Sequence[Reading]]) -> Profile:
        """From the readings of clean episodes.

        Raises:
            ValueError: without episodes.
        """
        if not episodes:
            raise ValueError("a profile needs at least one clean episode")
        split = [_phases(readings) for readings in episodes]
        shared = min(len(phases) for phases in split)
        phases = []
        for number in range(shared):
            lengths = [len(phases[number]) for phases in split]
            phases.append(PhaseTimes(closing=_closes(split[0][number]), shortest=min(lengths), longest=max(lengths)))
        grasps = [[_settled(phase) for phase in phases if _closes(phase)] for phases in split]
        known = [[width for width in row if width is not None] for row in grasps]
        widths = [(min(column), max(column)) for column in zip(*known, strict=False)]
        subgoals: dict[str, int] = {}
        for readings in episodes:
            for state, steps in _subgoal_runs(readings):
                subgoals[state] = max(steps, subgoals.get(state, 0))
        return cls(
            phases=tuple(phases),
            total=max(len(readings) for readings in episodes),
            widths_m=tuple((round(low, 6), round(high, 6)) for low, high in widths),
            subgoals=subgoals,
        )


class _Flips:
    """Tells where a phase ends, later than it does: a command of a step or two is no phase."""

    def __init__(self) -> None:
        self.closing: bool | None = None
        """What the gripper is told in the present phase."""
        self._other = 0

    def update(self, closing: bool) -> int | None:
        """None while the phase goes on; else how many steps the new one has lasted, this one included."""
        if self.closing is None:
            self.closing = closing
            return 1
        self._other = self._other + 1 if closing is not self.closing else 0
        if self._other < FLIP_STEPS:
            return None
        self.closing, self._other = closing, 0
        return FLIP_STEPS


def _phases(readings: Sequence[Reading]) -> list[list[Reading]]:
    """The readings, cut wherever the gripper is told something else for good."""
    phases: list[list[Reading]] = []
    flips = _Flips()
    for reading in readings:
        begun = flips.update(reading.closing is True)
        if begun is not None:
            taken = [] if not phases else [phases[-1].pop() for _ in range(begun - 1)][::-1]
            phases.append(taken)
        phases[-1].append(reading)
    return phases


def _closes(phase: Sequence[Reading]) -> bool:
    return phase[0].closing is True


def _settled(phase: Sequence[Reading]) -> float | None:
    """The width once the fingers have come to rest; None for a grasp that did not last as long."""
    stroke = ClosingSettings().stroke_steps
    return phase[stroke].width_m if len(phase) > stroke else None


def _subgoal_runs(readings: Sequence[Reading]) -> list[tuple[str, int]]:
    runs: list[tuple[str, int]] = []
    for reading in readings:
        if reading.subgoal is None:
            continue
        if runs and runs[-1][0] == reading.subgoal:
            runs[-1] = (reading.subgoal, runs[-1][1] + 1)
        else:
            runs.append((reading.subgoal, 1))
    return runs


class Tempo(Monitor):
    """A phase takes longer, or ends sooner, than it ever did in clean episodes; or the whole episode does."""

    name: ClassVar[str] = "tempo"

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The slack; the profile is part of the calibration."""
        return {"slack_steps": SLACK_STEPS, "flip_steps": FLIP_STEPS}

    def reset(self) -> None:
        """Before the first phase."""
        self._number, self._start, self._count, self._total = -1, 0, 0, 0
        self._before = 0
        self._flips = _Flips()
        self._raised: set[str] = set()
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Take the time."""
        self._total += 1
        hasty: tuple[float, str] | None = None
        begun = self._flips.update(reading.closing is True)
        if begun is not None:
            self._count -= begun - 1
            hasty = self._hasty()
            self._number += 1
            self._before, self._start, self._count = self._start, reading.step - begun + 1, begun - 1
        self._count += 1
        graded = [hasty] if hasty else []
        phases = self._profile.phases
        if self._number < len(phases):
            longest = phases[self._number].longest + SLACK_STEPS
            graded.append((self._count / longest, f"phase {self._number} lasts {self._count} steps, {longest} at most"))
        longest = self._profile.total + 2 * SLACK_STEPS
        graded.append((self._total / longest, f"the episode lasts {self._total} steps, {longest} at most"))
        self.score, note = max(graded)
        what = "early" if hasty and hasty[0] == self.score else f"late {self._number}"
        if self.score < self.limit or what in self._raised:
            return None
        self._raised.add(what)
        if what == "early":
            kind = "close" if self._flips.closing else "open"
            return Alarm(monitor=f"early-{kind}", step=reading.step, onset=self._start, since=self._before, note=note)
        return Alarm(monitor="late", step=reading.step, onset=self._start, since=self._before, note=note)

    def _hasty(self) -> tuple[float, str] | None:
        """How much too short the phase was that has just ended."""
        if not 0 <= self._number < len(self._profile.phases):
            return None
        shortest = self._profile.phases[self._number].shortest - SLACK_STEPS
        if shortest <= 0:
            return None
        told = f"phase {self._number} ended after {self._count} steps, {shortest} is the least"
        return shortest / max(1, self._count), told


class StageBoundary(Monitor):
    """Not a suspicion but an occasion: a new phase has begun, and the fingers have had the time to come to rest.

    It needs no profile: that the gripper is told something else, and for how long, a robot knows of itself.
    """

    name: ClassVar[str] = "stage"

    def settings(self) -> dict[str, Any]:
        """How long it waits."""
        return {"flip_steps": FLIP_STEPS, "settle_steps": ClosingSettings().stroke_steps}

    def reset(self) -> None:
        """In the phase that is under way, which is no new one."""
        self._flips = _Flips()
        self._due = False
        self._start = self._count = 0

    def update(self, reading: Reading) -> Alarm | None:
        """Say so once in each phase but the first."""
        first = self._flips.closing is None
        begun = self._flips.update(reading.closing is True)
        self._count += 1
        if begun is not None:
            self._due, self._start, self._count = not first, reading.step - begun + 1, begun
        over = (reading.closing is True) is not self._flips.closing  # it seems to end just now
        if not self._due or over or self._count < ClosingSettings().stroke_steps:
            return None
        self._due = False
        told = "close" if self._flips.closing else "open"
        note = f"the hand was told to {told}, and the fingers are {1000 * reading.width_m:.1f} mm apart"
        return Alarm(
            monitor=self.name, step=reading.step, onset=self._start, since=self._start, note=note, look=True
        )  # fmt: skip


class Subgoals(Monitor):
    """A state of the sub-goals that no clean episode had, or that lasts longer than it ever did."""

    name: ClassVar[str] = "subgoal"

    def __init__(self, profile: Profile) -> None:
        self._known = profile.subgoals
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The slack; the states are part of the calibration."""
        return {"slack_steps": SLACK_STEPS, "new_steps": NEW_STEPS}

    def reset(self) -> None:
        """Before the first state."""
        self._state: str | None = None
        self._count, self._start, self._before = 0, 0, 0
        self._new, self._lost_at = 0, 0
        self._raised: set[str] = set()
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Look which state it is, and since when."""
        self.score = 0.0
        state = reading.subgoal
        if state is None or not self._known:
            return None
        if state != self._state:
            self._state, self._count = state, 0
            self._before, self._start = self._start, reading.step
        self._count += 1
        if state in self._known:
            self._new = 0
            longest = self._known[state] + SLACK_STEPS
            self.score = self._count / longest
            monitor, onset, since = "subgoal-late", self._start, self._before
            note = f"sub-goals {state} last {self._count} steps, {longest} at most"
        else:
            if not self._new:
                self._lost_at = reading.step
            self._new += 1
            self.score = self._new / NEW_STEPS
            monitor, onset, since = "subgoal-lost", self._lost_at, self._before
            note = f"sub-goals {state}: no clean episode came by here"
        if self.score < self.limit or monitor + state in self._raised:
            return None
        self._raised.add(monitor + state)
        return Alarm(monitor=monitor, step=reading.step, onset=onset, since=since, note=note)
