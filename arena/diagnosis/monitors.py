"""Cheap monitors on proprioception alone: they run at every step, and whatever looks at pictures runs after them.

A false alarm costs more than a late one: a rollback of an episode that was going well can break it.
Thresholds are therefore wide, an alarm needs a lasting sign, and one event raises one alarm.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

from arena.diagnosis.signals import Reading

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
    """First step of the steady state that ended at `onset`."""
    note: str
    """What was seen, in words and figures."""


class Monitor(Protocol):
    """Sees every reading of an episode in order; remembers what it must, and can forget it."""

    name: ClassVar[str]

    def settings(self) -> dict[str, Any]:
        """Everything that changes when it raises an alarm, as JSON values."""
        ...

    def reset(self) -> None:
        """Forget everything."""
        ...

    def update(self, reading: Reading) -> Alarm | None:
        """Take note of a step; an alarm if one is due now."""
        ...


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


class GripperLost:
    """The policy keeps the gripper closed on something, and yet the fingers open or close further.

    The residual is that between the policy's command and the measured width. Neither pictures nor
    forces are needed, so it sees drops and slips, and nothing else.
    """

    name: ClassVar[str] = "gripper-lost"

    def __init__(self, settings: GraspSettings = GraspSettings()) -> None:
        self._settings = settings
        self.reset()

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

    def update(self, reading: Reading) -> Alarm | None:
        """Follow the grasp through one step."""
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
        if abs(away) < self._settings.lost_m:
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
class StallSettings:
    """When a commanded arm counts as not moving."""

    steps: int = 20
    """For so many steps in a row (one second at 20 Hz) the policy has pushed..."""
    push: float = 0.2
    """...with at least this command (1 is 5 cm a step)..."""
    moved_m: float = 0.003
    """...and the hand has stayed within this distance of where it was."""
    rearm_m: float = 0.02
    """A new alarm needs the hand to have come this far from where the last one was raised."""


class Stall:
    """The policy commands motion and the hand does not move."""

    name: ClassVar[str] = "stall"

    def __init__(self, settings: StallSettings = StallSettings()) -> None:
        self._settings = settings
        self.reset()

    def settings(self) -> dict[str, Any]:
        """The thresholds."""
        return asdict(self._settings)

    def reset(self) -> None:
        """Forget where the hand was."""
        self._recent: deque[Reading] = deque(maxlen=self._settings.steps)
        self._stuck_at: tuple[float, float, float] | None = None

    def update(self, reading: Reading) -> Alarm | None:
        """Follow the hand through one step."""
        limits = self._settings
        if self._stuck_at is not None:
            if math.dist(reading.eef_pos_m, self._stuck_at) < limits.rearm_m:
                return None
            self._stuck_at = None
        if reading.push < limits.push:
            self._recent.clear()
            return None
        self._recent.append(reading)
        first = self._recent[0]
        moved = max(math.dist(item.eef_pos_m, first.eef_pos_m) for item in self._recent)
        if len(self._recent) < limits.steps or moved >= limits.moved_m:
            return None
        self._stuck_at = reading.eef_pos_m
        self._recent.clear()
        return Alarm(
            monitor=self.name,
            step=reading.step,
            onset=first.step,
            since=first.step,
            note=f"motion was commanded for {limits.steps} steps and the hand moved {1000 * moved:.1f} mm",
        )


def default_monitors() -> tuple[Monitor, ...]:
    """The monitors of a supervisor that is told nothing else."""
    return GripperLost(), Stall()
