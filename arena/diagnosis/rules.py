"""The diagnoser that needs no model: each monitor's alarm means one thing."""

from __future__ import annotations

from typing import Any, ClassVar

from arena.diagnosis.diagnoser import Case, Opinion, last_snapshot_before
from arena.diagnosis.monitors import GripperLost, Stall
from arena.diagnosis.schema import Diagnosis, Evidence, Repair, validate_against

MARGIN_STEPS = 6
"""Steps between the rollback target and the first odd reading.

The gripper's command is a ramp of eight steps, so that the fingers move some steps after the fault
began: up to 2 on the tabletop (20 drops in 20 scenes). A snapshot from between the two would hold a
hand that is already opening.
"""


class RulesDiagnoser:
    """Maps an alarm to a diagnosis by rule: a lost grasp is a drop (C5), and is gone back from.

    A stall is reported as suspect and left alone: proprioception does not tell what blocks the arm,
    and going back to before it would meet it again.
    """

    name: ClassVar[str] = "rules"
    version: ClassVar[int] = 1
    """Raise it with any change of a rule."""
    wants_pictures: ClassVar[bool] = False

    def __init__(self, margin_steps: int = MARGIN_STEPS) -> None:
        if margin_steps < 2:
            raise ValueError(f"margin_steps must be at least 2, got {margin_steps}: the onset is only an upper bound")
        self.margin_steps = margin_steps

    def fingerprint(self) -> dict[str, Any]:
        """Version and margin."""
        return {"diagnoser": self.name, "version": self.version, "margin_steps": self.margin_steps}

    def diagnose(self, case: Case) -> Opinion:
        """Apply the rule of the monitor that raised the alarm."""
        if case.alarm.monitor == GripperLost.name:
            diagnosis = self._lost_grasp(case)
        elif case.alarm.monitor == Stall.name:
            diagnosis = self._stalled(case)
        else:
            reason = f"no rule for monitor {case.alarm.monitor!r}"
            diagnosis = Diagnosis.abstention(case.step_now, "declined", reason)
        problems = validate_against(diagnosis, case.snapshots, case.step_now)
        if problems:
            diagnosis = Diagnosis.abstention(case.step_now, "invalid", "; ".join(problems))
        return Opinion(diagnosis=diagnosis)

    def _lost_grasp(self, case: Case) -> Diagnosis:
        alarm = case.alarm
        target = last_snapshot_before(case.snapshots, alarm.onset, self.margin_steps)
        return Diagnosis(
            step_now=case.step_now,
            verdict="fault",
            confidence=0.95,
            fault_class="control",
            fault_type="C5",
            severity=2,
            stage="carrying",
            onset_step=alarm.onset,
            onset_interval=[max(alarm.since, alarm.onset - self.margin_steps), alarm.onset],
            rollback_step=target,
            entity="gripper",
            repair=Repair(kind="retry" if target is not None else "none"),
            evidence=[Evidence(camera="proprioception", step=alarm.step, note=alarm.note)],
            rationale="The hand lost what it held without having been told to let go.",
        )

    def _stalled(self, case: Case) -> Diagnosis:
        alarm = case.alarm
        return Diagnosis(
            step_now=case.step_now,
            verdict="suspect",
            confidence=0.5,
            fault_class="control",
            fault_type="C6",
            severity=1,
            onset_step=alarm.onset,
            entity="arm",
            evidence=[Evidence(camera="proprioception", step=alarm.step, note=alarm.note)],
            rationale="The arm does not follow its command; the readings do not tell why.",
        )
