"""Cheap monitors of the hand: what the gripper was told, against what the fingers measure.

They run at every step, and whatever looks at pictures runs after them. A false alarm costs more than a late one: a
rollback of an episode that was going well can break it. Thresholds are therefore wide, an alarm needs a lasting sign,
and one event raises one alarm. Every monitor also grades each step (`score`), so that its threshold can be set from
clean episodes (see `conformal`): it alarms where the score reaches its `limit`, 1 unless that was set.
"""

from __future__ import annotations

import math
import statistics
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from arena.diagnosis.signals import Reading
from arena.supervision import Moment

_MEMORY_STEPS = 60
"""Readings of a grasp that are remembered to find out when it began to give way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Something that a monitor has noticed."""

    monitor: str
    step: int
    """Step index at which it was raised."""
    onset: int
    """First step whose reading does not fit any more: an upper bound of when it began."""
    since: int
    """First step of the steady state that ended at `onset`: a lower bound."""
    note: str
    """What was seen, in words and figures."""
    look: bool = False
    """A question without a suspicion: no monitor has noticed anything."""


class Monitor(ABC):
    """Sees every reading of an episode in order; remembers what it must, and can forget it."""

    name: ClassVar[str]
    instrument: ClassVar[bool] = False
    """Whether it is told what no robot knows, by `see`: such a monitor is no part of any diagnoser."""

    def __init__(self) -> None:
        self.limit = 1.0
        """The score from which on it raises its alarm."""
        self.score = 0.0
        """How far from normal the last reading was; 1 is its own idea of too far."""
        self.reset()

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Everything that changes what it grades, as JSON values."""

    @abstractmethod
    def reset(self) -> None:
        """Forget everything."""

    @abstractmethod
    def update(self, reading: Reading) -> Alarm | None:
        """Take note of a step; an alarm if one is due now."""

    def see(self, moment: Moment, seed: int) -> None:
        """For instruments: the moment with the truth, and the episode's chance; called before `update`."""


@dataclass(frozen=True, slots=True)
class GraspSettings:
    """When the hand holds something, and when it no longer does. Widths in metres, times in steps."""

    settle_steps: int = 4
    """The width must have stood still for so many readings, the hand closing, to count as a grasp."""
    still_m: float = 0.0005
    """Standing still: it varies by less than this. On the tabletop a held cube's varies by 0.02 mm a step."""
    empty_m: float = 0.005
    """Fingers closer than this hold nothing."""
    open_m: float = 0.075
    """Fingers wider apart than this are open: nothing that wide is being held."""
    leave_m: float = 0.001
    """A width this far from the held one is no longer the noise of a good grasp..."""
    lost_m: float = 0.004
    """...and once it is this far, without having come back between, the alarm is raised."""
    drift_m: float = 0.0001
    """The onset is where the width last began to be further than this from the median of the good grasp: a
    gripper that is losing its force gives way by tenths of a millimetre before it visibly opens."""


class GripperLost(Monitor):
    """The policy keeps the gripper closed on something, and yet the fingers open or close further.

    The residual is that between the policy's command and the measured width. Neither pictures nor
    forces are needed, so it sees drops and slips, and nothing else.
    """

    name: ClassVar[str] = "gripper-lost"

    def __init__(self, settings: GraspSettings = GraspSettings()) -> None:
        self._settings = settings
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The thresholds."""
        return asdict(self._settings)

    def reset(self) -> None:
        """Believe that the hand is empty."""
        self._settling: deque[Reading] = deque(maxlen=self._settings.settle_steps)
        self._holding: deque[Reading] = deque(maxlen=_MEMORY_STEPS)
        self._since: int | None = None
        self._width_m = 0.0
        self._raised = False
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Follow the grasp through one step."""
        self.score = 0.0
        if reading.closing is not True:
            self.reset()  # the policy let go itself
            return None
        if self._raised:
            return None  # one grasp is lost once: silent until the policy opens the hand
        if self._since is None:
            self._watch_closing(reading)
            return None
        self._holding.append(reading)
        away = reading.width_m - self._width_m
        self.score = abs(away) / self._settings.lost_m
        if self.score < self.limit:
            return None
        self._raised = True
        moved = "apart" if away > 0 else "together"
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=self._onset(),
            since=self._since,
            note=f"the policy commands the gripper closed, but the fingers moved {moved}: "
            f"{1000 * self._width_m:.1f} mm while holding, {1000 * reading.width_m:.1f} mm now",
        )

    def _watch_closing(self, reading: Reading) -> None:
        """Wait for the fingers to stop at a width at which they hold something."""
        limits = self._settings
        if reading.width_m > limits.open_m:
            self._settling.clear()
            return
        self._settling.append(reading)
        widths = [item.width_m for item in self._settling]
        still = len(widths) == limits.settle_steps and max(widths) - min(widths) < limits.still_m
        if still and widths[-1] > limits.empty_m:
            self._since, self._width_m = self._settling[0].step, sum(widths) / len(widths)
            self._holding.extend(self._settling)

    def _onset(self) -> int:
        """Walk back from now to the first reading of the present departure."""
        limits = self._settings
        good = [item.width_m for item in self._holding if abs(item.width_m - self._width_m) < limits.leave_m]
        normal = statistics.median(good) if good else self._width_m
        onset = self._holding[-1].step
        for item in reversed(self._holding):
            if abs(item.width_m - normal) <= limits.drift_m:
                break
            onset = item.step
        return onset


@dataclass(frozen=True, slots=True)
class ClosingSettings:
    """When a hand that was told to close has not closed, or has closed on nothing."""

    stroke_steps: int = 14
    """Steps after which the fingers have come to rest: 8 of command, 4 to follow, and 2 more."""
    open_m: float = 0.07
    """Fingers wider apart than this have not moved..."""
    obey_steps: int = 9
    """...and so many steps of that are too many. In clean episodes it is 5 to 7."""
    empty_m: float = 0.005
    """Without a profile: fingers closer than this hold nothing."""
    margin_m: float = 0.003
    """With one: a grasp is as wide as those of clean episodes, give or take this much."""
    lasting_steps: int = 3
    """For so many readings in a row."""


class Unclosed(Monitor):
    """The hand is told to close and its fingers stay apart."""

    name: ClassVar[str] = "gripper-open"

    def __init__(self, settings: ClosingSettings = ClosingSettings()) -> None:
        self._settings = settings
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The thresholds."""
        return {"open_m": self._settings.open_m, "obey_steps": self._settings.obey_steps}

    def reset(self) -> None:
        """Believe that the hand obeys."""
        self._first: int | None = None
        self._count = 0
        self._raised = False
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Count the steps for which it does not."""
        if reading.closing is not True or reading.width_m < self._settings.open_m:
            self.reset()
            return None
        self._first = reading.step if self._first is None else self._first
        self._count += 1
        self.score = self._count / self._settings.obey_steps
        if self.score < self.limit or self._raised:
            return None
        self._raised = True
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=self._first,
            since=max(0, self._first - 3),
            note=f"told to close for {self._count} steps, the fingers are {1000 * reading.width_m:.1f} mm apart",
        )


class GraspWidth(Monitor):
    """The hand has closed, and not on what it closes on in clean episodes: on nothing, or on something else.

    Args:
        settings: the thresholds.
        widths: by grasp in order, the least and the largest width of clean episodes, in metres; without them a hand is
            only empty or not.
    """

    name: ClassVar[str] = "grasp-miss"

    def __init__(
        self, settings: ClosingSettings = ClosingSettings(), widths: Sequence[tuple[float, float]] = ()
    ) -> None:
        self._settings = settings
        self._widths = tuple(widths)
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The thresholds; the widths are part of the calibration, which says who learned them."""
        return asdict(self._settings)

    def reset(self) -> None:
        """No grasp so far."""
        self._grasp, self._closed, self._start = -1, 0, 0
        self._odd = 0
        self._open_since = 0
        self._was: bool | None = None
        self._raised = False
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Look at the fingers once they have had the time to close."""
        self.score = 0.0
        if reading.closing is not True:
            if self._was is True:
                self._open_since = reading.step
            self._was, self._closed, self._odd = reading.closing, 0, 0
            return None
        if self._was is not True:
            self._grasp, self._start, self._raised = self._grasp + 1, reading.step, False
        self._was = True
        self._closed += 1
        limits = self._settings
        if not limits.stroke_steps <= self._closed < 2 * limits.stroke_steps:
            return None  # what is lost later is the affair of `GripperLost`
        beyond, what = self._beyond(reading.width_m)
        self._odd = self._odd + 1 if beyond > 0 else 0
        self.score = beyond * min(1.0, self._odd / limits.lasting_steps)
        if self.score < self.limit or self._raised or self._odd < limits.lasting_steps:
            return None
        self._raised = True
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=self._start,
            since=self._open_since,
            note=f"the hand has closed on {what}: {1000 * reading.width_m:.1f} mm after {self._closed} steps",
        )

    def _beyond(self, width_m: float) -> tuple[float, str]:
        """How far from a good grasp, in margins, and what that means."""
        limits = self._settings
        empty = "nothing" if width_m < limits.empty_m else "something else"
        if 0 <= self._grasp < len(self._widths):
            low, high = self._widths[self._grasp]
            return max(low - width_m, width_m - high, 0.0) / limits.margin_m, empty
        return (2.0 if width_m < limits.empty_m else 0.0), empty


@dataclass(frozen=True, slots=True)
class StallSettings:
    """When a commanded arm counts as not moving."""

    steps: int = 20
    """For so many steps in a row (one second at 20 Hz) the policy has pushed..."""
    push: float = 0.2
    """...with at least this command (1 is 5 cm a step, or 0.5 rad)..."""
    moved_m: float = 0.003
    """...and the hand has stayed within this distance of where it was."""
    rearm_m: float = 0.02
    """A new alarm needs the hand to have come this far from where the last one was raised."""


class Stall(Monitor):
    """The policy commands motion and the hand does not move."""

    name: ClassVar[str] = "stall"

    def __init__(self, settings: StallSettings = StallSettings()) -> None:
        self._settings = settings
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The thresholds."""
        return asdict(self._settings)

    def reset(self) -> None:
        """Forget where the hand was."""
        self._recent: list[Reading] = []
        self._stuck_at: tuple[float, float, float] | None = None
        self.score = 0.0

    def update(self, reading: Reading) -> Alarm | None:
        """Follow the hand through one step."""
        limits = self._settings
        self.score = 0.0
        if self._stuck_at is not None:
            if math.dist(reading.eef_pos_m, self._stuck_at) < limits.rearm_m:
                return None
            self._stuck_at = None
        if max(reading.push, reading.turn) < limits.push:
            self._recent.clear()
            return None
        self._recent.append(reading)
        while self._moved() >= limits.moved_m:
            del self._recent[0]
        self.score = len(self._recent) / limits.steps
        if self.score < self.limit:
            return None
        first, moved, count = self._recent[0], self._moved(), len(self._recent)
        pushing = statistics.median(item.push for item in self._recent)
        turning = statistics.median(item.turn for item in self._recent)
        self._stuck_at = reading.eef_pos_m
        self._recent.clear()
        how = "turning" if turning > pushing else "motion"
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=first.step,
            since=first.step,
            note=f"{how} was commanded for {count} steps and the hand moved {1000 * moved:.1f} mm",
        )

    def _moved(self) -> float:
        return max(math.dist(item.eef_pos_m, self._recent[0].eef_pos_m) for item in self._recent)


def default_monitors() -> tuple[Monitor, ...]:
    """The monitors of a supervisor that is told nothing else."""
    return GripperLost(), Stall()
