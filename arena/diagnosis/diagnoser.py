"""What a diagnoser is given and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.calls import ModelCall
from arena.diagnosis.monitors import Alarm
from arena.diagnosis.schema import Diagnosis
from arena.diagnosis.signals import Reading
from environments.env import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is known when an alarm is raised: the past of the present timeline, and no truth."""

    task_id: str
    instruction: str
    alarm: Alarm
    step_now: int
    snapshots: tuple[int, ...]
    """Step indices that can be gone back to, ascending; index s stands for the moment before step s."""
    readings: Sequence[Reading]
    """All steps of the present timeline, in order."""
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


def last_snapshot_before(snapshots: Sequence[int], onset: int, margin: int) -> int | None:
    """The latest snapshot that lies at least `margin` snapshots before step `onset`.

    Counted in snapshots of the present timeline, not by subtraction: after a rollback the step
    indices of a timeline have gaps.
    """
    earlier = [step for step in snapshots if step <= onset]
    # earlier[-1] is the moment just before the onset itself: a margin of 0.
    return earlier[-1 - margin] if len(earlier) > margin else None
