"""The supervisor: monitors first, a diagnoser only at an alarm, and by default nothing is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.vlm import pictures
from arena.diagnosis.diagnoser import Case, Diagnoser
from arena.diagnosis.monitors import Alarm, Monitor, default_monitors
from arena.diagnosis.schema import Diagnosis, validate_against
from arena.diagnosis.signals import Reading, read
from arena.supervision import Directive, Moment, RollbackKind
from environments.env import Frame
from environments.robots import rewind
from environments.task import Task

KEPT_PICTURES = 24
"""Moments whose pictures are kept; older ones fall out. Two 256x256 views take 0.4 MB a moment."""


class DiagnosingSupervisor:
    """Implements `arena.supervision.Supervisor`.

    Args:
        diagnoser: asked once per alarm.
        monitors: see every step; their names are the triggers.
        max_interventions: rollbacks carried out in one episode at most; later faults are only named.
        max_diagnoses: alarms that the diagnoser is asked about at most.
        min_confidence: a diagnosis less sure than this changes nothing.
        picture_every: a diagnoser that wants pictures gets those of every so many steps, beside the
            present one. Each costs a rendering, unless somebody else has looked already.
        rollback: what kind the engine carries out; all of one supervisor's are of one kind.
        max_added_steps: once rollbacks have cost so many steps, faults are only named; None sets no bound.
    """

    version = 1
    """Raise it with any change of what is decided here."""

    def __init__(
        self,
        diagnoser: Diagnoser,
        monitors: Sequence[Monitor] | None = None,
        *,
        max_interventions: int = 2,
        max_diagnoses: int = 6,
        min_confidence: float = 0.5,
        picture_every: int = 3,
        rollback: RollbackKind = "sim",
        max_added_steps: int | None = None,
    ) -> None:
        self.diagnoser = diagnoser
        self.monitors = tuple(default_monitors() if monitors is None else monitors)
        self.max_interventions = max_interventions
        self.max_diagnoses = max_diagnoses
        self.min_confidence = min_confidence
        self.picture_every = picture_every
        self.rollback = rollback
        self.max_added_steps = max_added_steps
        self._task_id = self._instruction = ""
        self._readings: list[Reading] = []
        self._pictures: dict[int, dict[str, Frame]] = {}
        self._interventions = self._diagnoses = 0

    def fingerprint(self) -> dict[str, Any]:
        """Everything that changes what it decides, and what is done then."""
        # A default is not said, so that episodes keep the names that they had before there was a choice.
        chosen: dict[str, Any] = {}
        if self.rollback == "physical":
            chosen["rollback"] = {"kind": self.rollback, **rewind.settings()}
        if self.max_added_steps is not None:
            chosen["max_added_steps"] = self.max_added_steps
        return {
            "supervisor": self.version,
            "diagnoser": self.diagnoser.fingerprint(),
            "monitors": {monitor.name: monitor.settings() for monitor in self.monitors},
            "max_interventions": self.max_interventions,
            "max_diagnoses": self.max_diagnoses,
            "min_confidence": self.min_confidence,
            "picture_every": self.picture_every if self.diagnoser.wants_pictures else None,
            **chosen,
        }

    def begin(self, task: Task, instruction: str) -> None:
        """Forget the last episode."""
        self._task_id, self._instruction = task.id, instruction
        self._readings, self._pictures = [], {}
        self._interventions = self._diagnoses = 0
        for monitor in self.monitors:
            monitor.reset()

    def watch(self, moment: Moment) -> Directive | None:
        """Take note of a step; at an alarm, ask the diagnoser and decide."""
        alarm = self._note(moment)
        if alarm is None:
            return None
        opinion = self.diagnoser.diagnose(self._case(alarm, moment))
        diagnosis = opinion.diagnosis
        problems = validate_against(diagnosis, moment.snapshots, moment.index)
        if problems:  # whatever a diagnoser returns, an impossible target is never acted upon
            diagnosis = Diagnosis.abstention(moment.index, "invalid", "; ".join(problems))
        return Directive(
            trigger=alarm.monitor,
            diagnoser=self.diagnoser.name,
            body=diagnosis.to_json(),
            rollback_to=self._target(diagnosis, moment),
            calls=opinion.calls,
        )

    def recall(self, moment: Moment) -> None:
        """Take note of a step from before an interruption; its alarm, if any, was answered then."""
        self._note(moment)

    def rolled_back(self, to: int) -> None:
        """Forget the undone steps, and count the rollback."""
        self._interventions += 1
        self._readings = [reading for reading in self._readings if reading.step < to]
        self._pictures = {step: views for step, views in self._pictures.items() if step < to}
        # The monitors see the remaining past again, so that each is just where it was before step `to`. But where the
        # arm alone went back, that past did not lead to the present: what was in the hand may not be there any more.
        for monitor in self.monitors:
            monitor.reset()
            for reading in self._readings if self.rollback == "sim" else ():
                monitor.update(reading)

    def _note(self, moment: Moment) -> Alarm | None:
        """Show a step to every monitor; the first alarm, if one is to be diagnosed."""
        reading = read(moment)
        if reading is None:
            return None
        self._readings.append(reading)
        alarms = [alarm for monitor in self.monitors if (alarm := monitor.update(reading)) is not None]
        due = bool(alarms) and self._diagnoses < self.max_diagnoses
        if self.diagnoser.wants_pictures and (due or moment.sim_step % self.picture_every == 0):
            self._keep_pictures(moment)
        if not due:
            return None
        self._diagnoses += 1
        return alarms[0]

    def _keep_pictures(self, moment: Moment) -> None:
        self._pictures[moment.index] = pictures(moment.observation)
        while len(self._pictures) > KEPT_PICTURES:
            del self._pictures[next(iter(self._pictures))]

    def _case(self, alarm: Alarm, moment: Moment) -> Case:
        return Case(
            task_id=self._task_id,
            instruction=self._instruction,
            alarm=alarm,
            step_now=moment.index,
            snapshots=tuple(sorted(moment.snapshots)),
            readings=tuple(self._readings),
            pictures=dict(self._pictures),
        )

    def _target(self, diagnosis: Diagnosis, moment: Moment) -> int | None:
        """Where to go back to; None, the default, leaves the episode alone."""
        if self.max_added_steps is not None and moment.added_steps >= self.max_added_steps:
            return None
        if diagnosis.verdict != "fault" or diagnosis.confidence < self.min_confidence:
            return None
        return diagnosis.rollback_step if self._interventions < self.max_interventions else None
