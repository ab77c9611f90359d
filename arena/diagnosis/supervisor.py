"""The supervisor: monitors first, a diagnoser at an alarm or a new stage, and by default nothing is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.vlm import pictures
from arena.diagnosis.diagnoser import Case, Diagnoser
from arena.diagnosis.monitors import Alarm, GraspSettings, Monitor, default_monitors
from arena.diagnosis.schema import Diagnosis, validate_against
from arena.diagnosis.signals import Reading, read
from arena.diagnosis.tempo import StageBoundary
from arena.supervision import Directive, Moment, RollbackKind
from environments.env import Frame
from environments.robots import repairs, rewind
from environments.task import Task

KEPT_PICTURES = 24
"""Moments whose pictures are kept; older ones fall out. Two 256x256 views take 0.4 MB a moment."""
VERIFY_STEPS = 40
"""Steps after a repair, beyond those that it undid, until it is asked whether things are worse than before."""
PATIENCE = 1.5
"""After an intervention an episode is no longer like those that the limits were set on: they are this much wider."""
SAME_PLACE_STEPS = 10
"""A try that begins no later than this after the place where an earlier one began goes over the same ground again."""
VERIFICATION = "verification"
"""Trigger of a directive that takes a repair back."""

MonitorsOf = Callable[[str], Sequence[Monitor]]
"""The monitors for a task, by its id."""


@dataclass(slots=True)
class _Pending:
    """A repair whose outcome is awaited."""

    due: int
    """Step index at which it is judged."""
    held: bool
    """Whether the hand held something when the alarm was raised."""
    subgoals: int | None
    """Milestones reached then, where they are known."""
    readings: list[Reading]
    """The branch that was left."""


class DiagnosingSupervisor:
    """Implements `arena.supervision.Supervisor`.

    Args:
        diagnoser: asked once per alarm, and once per look.
        monitors: see every step; their names are the triggers. A function gives those of a task.
        max_interventions: rollbacks and repairs carried out in one episode at most; later faults are only named.
        max_diagnoses: alarms that the diagnoser is asked about at most.
        stages: ask also when a new stage begins, without any alarm. Looks take at most half of `max_diagnoses`, and of
            what alarms have left of it; an alarm is asked about as if there were no looks.
        min_confidence: a diagnosis less sure than this changes nothing.
        picture_every: a diagnoser that wants pictures gets those of every so many steps, beside the
            present one. Each costs a rendering, unless somebody else has looked already.
        rollback: what kind the engine carries out; all of one supervisor's are of one kind.
        max_added_steps: once rollbacks have cost so many steps, faults are only named; None sets no bound.
        undo: take a rollback of the whole world back if, some time after it, things are worse than before.
        vary: from the second try at the same place on, have the policy act otherwise (`Agent.vary`).
        wants_subgoals: be told the engine's sub-goal predicates.
        privileged: be told the truth: for instruments.
        calibration: what the monitors' limits rest on, for the fingerprint.
        horizon: what the engine counts against the horizon, for the fingerprint.
    """

    version = 4
    """Raise it with any change of what is decided here, or of what a player meets while it is watched."""

    def __init__(
        self,
        diagnoser: Diagnoser,
        monitors: Sequence[Monitor] | MonitorsOf | None = None,
        *,
        max_interventions: int = 2,
        max_diagnoses: int = 6,
        min_confidence: float = 0.5,
        stages: bool = False,
        picture_every: int = 3,
        rollback: RollbackKind = "sim",
        max_added_steps: int | None = None,
        undo: bool = True,
        vary: bool = False,
        wants_subgoals: bool = False,
        privileged: bool = False,
        calibration: str | None = None,
        horizon: str = "world",
    ) -> None:
        self.diagnoser = diagnoser
        self._monitors_of: MonitorsOf | None = monitors if callable(monitors) else None
        self.monitors: tuple[Monitor, ...] = ()
        if not callable(monitors):
            self.monitors = tuple(default_monitors() if monitors is None else monitors)
        self.max_interventions = max_interventions
        self.max_diagnoses = max_diagnoses
        self.stages = StageBoundary() if stages else None
        self.min_confidence = min_confidence
        self.picture_every = picture_every
        self.rollback = rollback
        self.max_added_steps = max_added_steps
        self.undo = undo and rollback == "sim"
        self.vary = vary
        self.wants_subgoals = wants_subgoals
        self.privileged = privileged
        self.calibration = calibration
        self.horizon = horizon
        self._task_id = self._instruction = ""
        self._seed = 0
        self._forget()

    def fingerprint(self) -> dict[str, Any]:
        """Everything that changes what it decides, and what is done then."""
        # A default is not said, so that episodes keep the names that they had before there was a choice.
        chosen: dict[str, Any] = {}
        if self.rollback == "physical":
            chosen["rollback"] = {"kind": self.rollback, **rewind.settings()}
        if self.max_added_steps is not None:
            chosen["max_added_steps"] = self.max_added_steps
        if self.calibration is not None:
            chosen["calibration"] = self.calibration
        if not self.undo and self.rollback == "sim":
            chosen["undo"] = False
        if self.wants_subgoals:
            chosen["subgoals"] = True
        if self.privileged:
            chosen["privileged"] = True
        if self.horizon != "world":
            chosen["horizon"] = self.horizon
        if self.stages is not None:
            chosen["stages"] = self.stages.settings()
        if self.vary:
            chosen["vary"] = {"same_place_steps": SAME_PLACE_STEPS}
        return {
            "supervisor": self.version,
            "diagnoser": self.diagnoser.fingerprint(),
            "monitors": {monitor.name: monitor.settings() for monitor in self.monitors},
            "max_interventions": self.max_interventions,
            "max_diagnoses": self.max_diagnoses,
            "min_confidence": self.min_confidence,
            "picture_every": self.picture_every if self.diagnoser.wants_pictures else None,
            "repairs": repairs.settings(),
            "verification": {"steps": VERIFY_STEPS, "patience": PATIENCE},
            **chosen,
        }

    def begin(self, task: Task, instruction: str, seed: int = 0) -> None:
        """Forget the last episode."""
        self._task_id, self._instruction, self._seed = task.id, instruction, seed
        if self._monitors_of is not None:
            self.monitors = tuple(self._monitors_of(task.id))
        self._forget()

    def _forget(self) -> None:
        self._readings: list[Reading] = []
        self._pictures: dict[int, dict[str, Frame]] = {}
        self._interventions = self._diagnoses = self._looks = 0
        self._acted: list[str] = []
        self._places: list[int] = []
        """From where it was tried again, in steps of the timeline of then."""
        self._pending: _Pending | None = None
        self._last: tuple[str, Moment] | None = None
        """The last alarm and its moment, until it has led to something."""
        self._limits = [monitor.limit for monitor in self.monitors]
        self._restart()

    def watch(self, moment: Moment) -> Directive | None:
        """Take note of a step; at an alarm, ask the diagnoser and decide."""
        alarm = self._note(moment)
        if alarm is None:
            return self._verified(moment)
        opinion = self.diagnoser.diagnose(self._case(alarm, moment))
        diagnosis = opinion.diagnosis
        problems = validate_against(diagnosis, moment.snapshots, moment.index)
        if problems:  # whatever a diagnoser returns, an impossible target is never acted upon
            diagnosis = Diagnosis.abstention(moment.index, "invalid", "; ".join(problems))
        target = self._target(diagnosis, moment)
        act = target is None and self._acts(diagnosis, moment) and diagnosis.repair.kind not in ("none", "reset")
        variation = self._variation(target) if act or target is not None else 0
        repair = diagnosis.repair.model_copy(update={"vary": variation})
        return Directive(
            trigger=alarm.monitor,
            diagnoser=self.diagnoser.name,
            body=diagnosis.model_copy(update={"repair": repair}).to_json(),
            rollback_to=target,
            act=act,
            calls=opinion.calls,
        )

    def recall(self, moment: Moment) -> None:
        """Take note of a step from before an interruption; its alarm, if any, was answered then."""
        if self._note(moment) is None:
            self._verified(moment)

    def rolled_back(self, to: int) -> None:
        """Forget the undone steps, and count the rollback."""
        self._count(to)
        self._readings = [reading for reading in self._readings if reading.step < to]
        self._pictures = {step: views for step, views in self._pictures.items() if step < to}
        # The monitors see the remaining past again, so that each is just where it was before step `to`. But where the
        # arm alone went back, that past did not lead to the present: what was in the hand may not be there any more.
        self._restart()
        if self.rollback == "sim":
            self._see_again()

    def repaired(self) -> None:
        """The hand begins anew."""
        if self._last is not None:  # else the rollback before it was counted
            self._count(None)
        self._restart()

    def undone(self) -> None:
        """The branch that was left is the past again; nothing more is done in it."""
        if self._pending is not None:
            self._readings = self._pending.readings
        self._pending = self._last = None
        self._interventions = self.max_interventions
        self._restart()
        self._see_again()

    def _restart(self) -> None:
        """Monitors forget; after an intervention they are more patient."""
        for monitor, limit in zip(self.monitors, self._limits, strict=True):
            monitor.limit = limit * (PATIENCE if self._interventions and self.calibration else 1.0)
            monitor.reset()
        if self.stages is not None:
            self.stages.reset()

    def _see_again(self) -> None:
        own = [monitor for monitor in self.monitors if not monitor.instrument]  # the others count steps of the record
        if self.stages is not None:
            own.append(self.stages)
        for reading in self._readings:
            for monitor in own:
                monitor.update(reading)

    # -- deciding ------------------------------------------------------------------------------------------------------

    def _acts(self, diagnosis: Diagnosis, moment: Moment) -> bool:
        """Whether anything may be done at all; by default nothing is."""
        if self.max_added_steps is not None and moment.added_steps >= self.max_added_steps:
            return False
        if diagnosis.verdict != "fault" or diagnosis.confidence < self.min_confidence:
            return False
        return self._interventions < self.max_interventions

    def _target(self, diagnosis: Diagnosis, moment: Moment) -> int | None:
        """Where to go back to; None, the default, leaves the episode where it is."""
        if not self._acts(diagnosis, moment):
            return None
        if diagnosis.repair.kind == "reset" and diagnosis.rollback_step is None:
            return min(moment.snapshots, default=None)
        return diagnosis.rollback_step

    def _variation(self, to: int | None) -> int:
        """How often it was tried already from there, or from somewhat earlier or later: the policy is to act otherwise.

        The same state and the same policy would only fail in the same way again.
        """
        if not self.vary:
            return 0
        place = self._place(to)
        return sum(place <= earlier + SAME_PLACE_STEPS for earlier in self._places)

    def _place(self, to: int | None) -> int:
        """How many steps of the present timeline lie before a step; None is the present."""
        return sum(to is None or reading.step < to for reading in self._readings)

    def _count(self, to: int | None) -> None:
        """One more intervention, because of the last alarm; note what it is to be measured by."""
        if self._last is not None:
            trigger, moment = self._last
            self._acted.append(trigger)
            undone = 0 if to is None else sum(step >= to for step in moment.snapshots)
            self._pending = _Pending(
                due=moment.index + undone + VERIFY_STEPS,
                held=self._holds(),
                subgoals=_reached(self._readings),
                readings=list(self._readings),
            )
        self._places.append(self._place(to))
        self._interventions += 1
        self._last = None

    def _verified(self, moment: Moment) -> Directive | None:
        """Some time after a repair: take it back if things are worse than before it."""
        pending = self._pending
        if pending is None or moment.index < pending.due:
            return None
        self._pending = None
        reached = _reached(self._readings)
        lost = pending.subgoals is not None and reached is not None and reached < pending.subgoals
        worse = lost or (pending.subgoals is None and pending.held and not self._holds())
        if not (worse and self.undo):
            return None
        self._pending = pending
        reason = "some time after the repair there is less than before it"
        body = Diagnosis(
            step_now=moment.index, verdict="suspect", confidence=0.5, stage="repair", rationale=reason
        )  # fmt: skip
        return Directive(trigger=VERIFICATION, diagnoser=self.diagnoser.name, body=body.to_json(), undo=True)

    def _holds(self) -> bool:
        """Whether the hand is told to hold, and its fingers stand still on something."""
        recent = self._readings[-3:]
        if len(recent) < 3 or any(reading.closing is not True for reading in recent):
            return False
        widths = [reading.width_m for reading in recent]
        return min(widths) > GraspSettings().empty_m and max(widths) - min(widths) < GraspSettings().still_m

    # -- seeing --------------------------------------------------------------------------------------------------------

    def _note(self, moment: Moment) -> Alarm | None:
        """Show a step to every monitor; the first alarm, or else a look, if one is to be diagnosed."""
        reading = read(moment)
        if reading is None or not moment.own:
            return None
        self._readings.append(reading)
        self._tell(moment)
        alarms = [alarm for monitor in self.monitors if (alarm := monitor.update(reading)) is not None]
        look = None if self.stages is None else self.stages.update(reading)
        due = self._due(alarms, look)
        if self.diagnoser.wants_pictures and (due is not None or moment.sim_step % self.picture_every == 0):
            self._keep_pictures(moment)
        if due is not None:
            self._last = (due.monitor, moment)
        return due

    def _due(self, alarms: Sequence[Alarm], look: Alarm | None) -> Alarm | None:
        """What the diagnoser is to be asked about now; it is counted. Looks take nothing that alarms may need."""
        if alarms and self._diagnoses < self.max_diagnoses:
            self._diagnoses += 1
            return alarms[0]
        left = self.max_diagnoses - self._diagnoses
        if look is not None and not alarms and self._looks < min(left, self.max_diagnoses // 2):
            self._looks += 1
            return look
        return None

    def _tell(self, moment: Moment) -> None:
        """Let monitors that are instruments know what only they may."""
        for monitor in self.monitors:
            if monitor.instrument:
                monitor.see(moment, self._seed)

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
            earlier=tuple(self._acted),
            seed=self._seed,
            truth=moment.truth,
            pictures=dict(self._pictures),
            rollback=self.rollback,
        )


def _reached(readings: Sequence[Reading]) -> int | None:
    """Milestones reached by now, where sub-goals are known."""
    state = readings[-1].subgoal if readings else None
    return None if state is None else int(state.partition(":")[0])
