"""What a diagnoser is given and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.calls import ModelCall
from arena.diagnosis.monitors import Alarm
from arena.diagnosis.schema import Diagnosis
from arena.diagnosis.signals import Reading
from arena.supervision import RollbackKind
from environments.env import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is known at an alarm, or at a look: the past of the present timeline, and no truth."""

    task_id: str
    instruction: str
    alarm: Alarm
    step_now: int
    snapshots: tuple[int, ...]
    """Step indices that can be gone back to, ascending; index s stands for the moment before step s."""
    readings: Sequence[Reading]
    """All steps of the present timeline, in order."""
    earlier: tuple[str, ...] = ()
    """Alarms of this episode that were acted upon before, in order."""
    rollback: RollbackKind = "sim"
    """What going back does."""
    seed: int = 0
    """For whatever chance a diagnoser has."""
    truth: Mapping[str, Any] | None = None
    """The injected fault, for instruments alone."""
    pictures: Mapping[int, Mapping[str, Frame]] = field(default_factory=dict)
    """Step index -> camera -> picture after that step, (H, W, 3) uint8; empty for those who do not look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A diagnosis that fits the schema and the episode, and the model calls that led to it."""

    diagnosis: Diagnosis
    calls: tuple[ModelCall, ...] = ()


class Diagnoser(Protocol):
    """Turns an alarm into a diagnosis. It never raises for a failing model: it abstains."""

    @property
    def name(self) -> str:
        """`rules`, or the model's name."""
        ...

    @property
    def wants_pictures(self) -> bool:
        """Whether pictures are to be rendered and kept for it."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """Everything that changes what it says, as JSON values."""
        ...

    def diagnose(self, case: Case) -> Opinion:
        """Say what happened, or abstain."""
        ...


SETTLED_M = 0.0005
"""Between two readings the fingers of a settled gripper move by less than this."""
SLOW_M_S = 0.25
"""A hand slower than this is a good one to go back to."""
_LOOK_BACK = 15
"""Snapshots that are looked through for a good one."""


def verified_snapshot(case: Case, latest: int) -> int | None:
    """The best snapshot to go back to, at `latest` or shortly before: gripper settled, hand slow.

    Where none is both, one with a settled gripper; where there is none either, the one at `latest`. None only where
    nothing as old is kept.
    """
    earlier = [step for step in case.snapshots if step <= latest][-_LOOK_BACK:]
    if not earlier:
        return None
    places = {reading.step: number for number, reading in enumerate(case.readings)}

    def before(step: int) -> int | None:
        """Place of the last reading from before a step."""
        return places.get(step - 1)

    def settled(step: int) -> bool:
        at = before(step)
        if at is None or at == 0:
            return True  # the episode's beginning
        return abs(case.readings[at].width_m - case.readings[at - 1].width_m) < SETTLED_M

    def slow(step: int) -> bool:
        at = before(step)
        return at is None or case.readings[at].speed_m_s <= SLOW_M_S

    good = [step for step in earlier if settled(step)]
    best = [step for step in good if slow(step)]
    return (best or good or earlier)[-1]


def last_snapshot_before(snapshots: Sequence[int], onset: int, margin: int) -> int | None:
    """The latest snapshot that lies at least `margin` snapshots before step `onset`.

    Counted in snapshots of the present timeline, not by subtraction: after a rollback the step
    indices of a timeline have gaps.
    """
    earlier = [step for step in snapshots if step <= onset]
    # earlier[-1] is the moment just before the onset itself: a margin of 0.
    return earlier[-1 - margin] if len(earlier) > margin else None
