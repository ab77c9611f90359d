"""The `human` condition: a person stopped the recording of the episode that was left alone, and said what they saw.

The episode is played again with the same seed and fault. Until the step at which the person stopped nobody is asked, so
that it is the one that they watched, bit for bit; there the opinion is given and carried out like any diagnoser's. The
opinion is part of the configuration (`arena.diagnosis.opinions` reads it from the database), and so of the episode's
identity: who changes their mind makes another episode.
"""

from __future__ import annotations

from typing import Any, ClassVar

from arena.diagnosis.diagnoser import Case, Opinion, verified_snapshot
from arena.diagnosis.monitors import Alarm, Monitor
from arena.diagnosis.schema import Diagnosis
from arena.diagnosis.signals import Reading
from storage.models import Diagnosis as Row

REVIEW = "review"
"""Trigger of what a person said of a finished recording: nothing was done about it in that episode."""


def is_review(row: Row) -> bool:
    """Whether a person said it of the finished recording, and not a diagnoser in the course of the episode."""
    return row.trigger == REVIEW


class PersonStops(Monitor):
    """Raises its alarm at the step after which the person stopped the recording, and at no other.

    Args:
        step: index of the last step that they saw.
    """

    name: ClassVar[str] = "person"

    def __init__(self, step: int) -> None:
        self._step = step
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The step."""
        return {"step": self._step}

    def reset(self) -> None:
        """Forget nothing: step indices never come again, also not after a rollback."""

    def update(self, reading: Reading) -> Alarm | None:
        """The alarm, if this is the step."""
        step = reading.step
        if step != self._step:
            return None
        return Alarm(monitor=self.name, step=step, onset=step, since=0, note="the person stopped the recording here")


class HumanDiagnoser:
    """Says what a person said of the same episode.

    Args:
        opinion: theirs, in the schema; `step_now` is the step at which they stopped.
    """

    name: ClassVar[str] = "human"
    wants_pictures: ClassVar[bool] = False

    def __init__(self, opinion: Diagnosis) -> None:
        self.opinion = opinion

    def fingerprint(self) -> dict[str, Any]:
        """What was said, by whomever."""
        return {"diagnoser": self.name, "version": 1, "opinion": self.opinion.to_json()}

    def diagnose(self, case: Case) -> Opinion:
        """The opinion; it leads back to the verified snapshot at the chosen moment or shortly before.

        A person cannot see on a picture whether the fingers stand still.
        """
        wanted = self.opinion.rollback_step
        target = None if wanted is None else verified_snapshot(case, wanted)
        return Opinion(diagnosis=self.opinion.model_copy(update={"rollback_step": target}))
