"""The diagnoser that needs no model: what each alarm means, since when, and what to do about it."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from arena.diagnosis.diagnoser import Case, Opinion, last_snapshot_before, verified_snapshot
from arena.diagnosis.monitors import ClosingSettings, GraspWidth, GripperLost, Stall, Unclosed
from arena.diagnosis.motion import ChunkDisagreement, Idle, Lag, Loop
from arena.diagnosis.schema import CLASS_OF, Diagnosis, Evidence, Repair, validate_against
from arena.diagnosis.signals import Reading

MARGIN_STEPS = 6
"""Steps between the rollback target and the first odd reading.

The gripper's command is a ramp of eight steps, so that the fingers move some steps after the fault
began: up to 2 on the tabletop (20 drops in 20 scenes). A snapshot from between the two would hold a
hand that is already opening.
"""
LOOKING_STEPS = 4
"""A fault of what is seen, or of the way there, begins about so many steps into its phase."""
_MOVING_M_S, _HELD_M_S, _BRAKE_STEPS = 0.2, 0.04, 4
"""A hand that was faster than the first and is slower than the second so many steps later was held up; one that finds
a balance between two pulls comes to rest more slowly."""
_WINDOW_STEPS = 12
"""Readings that tell what a late phase is late for."""
_PUSHING, _TURNING = 0.8, 0.65
"""Commands larger than these (1 is 5 cm a step, or 0.5 rad) ask for all the motion that there is. A hand that is kept
from where it goes is told to go at full speed; one that cannot turn, to turn so."""
_STEADY = 0.35
"""Commands that vary by less (standard deviation) are the same again and again."""
_FAST_M_S = 0.35
"""A hand that is late is slow, as a rule."""
_RISEN_M = 0.06
"""A hand this far above where it closed carries; below, it still lifts."""
_TORN_STEPS = 1
"""A gripper begins to open slowly: for what it does itself it takes longer than this to be seen."""
_PAUSE_M = 0.001
"""Fingers that close on nothing close by more than this in each step, until they meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule makes of an alarm."""

    fault_type: str
    stage: str
    onset: int
    low: int
    """The fault began here at the earliest..."""
    high: int
    """...and here at the latest."""
    entity: str
    why: str
    severity: int = 2
    confidence: float = 0.8
    sure: bool = False
    """Whether the onset is known to some steps: then it is gone back to a margin before it, else to before `low`."""


class RulesDiagnoser:
    """Maps an alarm to a diagnosis by rule.

    The target of a rollback is a verified snapshot from before the earliest step at which the fault may have begun.
    An alarm that comes again after it was acted upon leads to the beginning of the episode. Where the monitors have no
    calibration, a lost grasp alone is acted upon: nobody knows then how often the others are wrong.
    """

    name: ClassVar[str] = "rules"
    version: ClassVar[int] = 4
    """Raise it with any change of a rule."""
    wants_pictures: ClassVar[bool] = False

    def __init__(self, margin_steps: int = MARGIN_STEPS, *, calibrated: bool = False) -> None:
        if margin_steps < 2:
            raise ValueError(f"margin_steps must be at least 2, got {margin_steps}: the onset is only an upper bound")
        self.margin_steps = margin_steps
        self.calibrated = calibrated

    def fingerprint(self) -> dict[str, Any]:
        """Version, margin, and whether all alarms are acted upon."""
        return {
            "diagnoser": self.name,
            "version": self.version,
            "margin_steps": self.margin_steps,
            "calibrated": self.calibrated,
        }

    def diagnose(self, case: Case) -> Opinion:
        """Apply the rule of the monitor that raised the alarm."""
        rule = RULES.get(case.alarm.monitor)
        if rule is None:
            reason = f"no rule for monitor {case.alarm.monitor!r}"
            return Opinion(diagnosis=Diagnosis.abstention(case.step_now, "declined", reason))
        diagnosis = self._said(case, rule(case))
        problems = validate_against(diagnosis, case.snapshots, case.step_now)
        if problems:
            diagnosis = Diagnosis.abstention(case.step_now, "invalid", "; ".join(problems))
        return Opinion(diagnosis=diagnosis)

    def _said(self, case: Case, found: Finding) -> Diagnosis:
        alarm = case.alarm
        onset = max(found.low, min(found.onset, found.high))
        acts = alarm.monitor == GripperLost.name or (self.calibrated and alarm.monitor != ChunkDisagreement.name)
        again = alarm.monitor in case.earlier
        target = self._target(case, found, again) if acts else None
        kind = "none" if target is None else "reset" if again else "retry"
        return Diagnosis(
            step_now=case.step_now,
            verdict="fault" if acts else "suspect",
            confidence=found.confidence if acts else 0.5,
            fault_class=CLASS_OF[found.fault_type[0]],
            fault_type=found.fault_type,  # type: ignore[arg-type]  # checked by the schema
            severity=found.severity if acts else 1,
            stage=found.stage,
            onset_step=onset,
            onset_interval=[found.low, found.high],
            rollback_step=target,
            entity=found.entity,
            repair=Repair(kind=kind),  # type: ignore[arg-type]
            evidence=[Evidence(camera="proprioception", step=alarm.step, note=alarm.note[:500])],
            rationale=found.why,
        )

    def _target(self, case: Case, found: Finding, again: bool) -> int | None:
        if again:
            return min(case.snapshots, default=None)
        first = min(case.snapshots, default=None)
        if found.sure:
            latest = last_snapshot_before(case.snapshots, found.onset, self.margin_steps)
            if latest is None and self.calibrated:
                latest = first
        else:
            latest = max((step for step in case.snapshots if step <= found.low), default=None)
        return None if latest is None else verified_snapshot(case, latest)


# -- rules: one for each alarm -----------------------------------------------------------------------------------------


def _phase_start(case: Case, step: int) -> int:
    """First step of the phase (gripper told the same) that a step is in."""
    start = case.readings[0].step if case.readings else 0
    before: bool | None = None
    for reading in case.readings:
        if reading.step > step:
            break
        closing = reading.closing is True
        if closing is not before:
            start, before = reading.step, closing
    return start


def _within(case: Case, start: int) -> int:
    """Somewhat after the beginning of a phase, and not in the future."""
    return min(start + LOOKING_STEPS, case.step_now)


def _lost_grasp(case: Case) -> Finding:
    alarm = case.alarm
    low = max(alarm.since, alarm.onset - MARGIN_STEPS)
    together = "together" in alarm.note
    kind, what = "C5", "gripper"
    if not together and alarm.step - alarm.onset <= _TORN_STEPS:
        kind, what = "C8", "object"
    if together:
        closed = next((item for item in case.readings if item.step >= alarm.since), None)
        now = case.readings[-1]
        lifting = closed is not None and now.eef_pos_m[2] - closed.eef_pos_m[2] < _RISEN_M
        kind, what = ("E1" if lifting else "C8"), "object"
    return Finding(
        fault_type=kind, stage="carrying", onset=alarm.onset, low=low, high=alarm.onset, entity=what,
        why="The hand lost what it held without having been told to let go.", confidence=0.95, sure=True,
    )  # fmt: skip


def _unclosed(case: Case) -> Finding:
    onset = case.alarm.onset
    return Finding(
        fault_type="C3", stage="grasp", onset=onset, low=max(0, onset - 3), high=case.step_now, entity="gripper",
        why="The hand was told to close and stayed open.", confidence=0.9, sure=True,
    )  # fmt: skip


def _missed(case: Case) -> Finding:
    alarm = case.alarm
    if (lost := _lost_after(case, alarm.onset)) is not None:
        return Finding(
            fault_type="E1", stage="lift", onset=lost, low=max(alarm.onset, lost - MARGIN_STEPS), high=lost,
            entity="object", why="The fingers paused on something, and then met: it was taken from them.",
            confidence=0.85, sure=True,
        )  # fmt: skip
    other = "something else" in alarm.note and case.readings[-1].width_m > ClosingSettings().empty_m
    start = min(alarm.since, alarm.onset)
    return Finding(
        fault_type="P1" if other else "P2", stage="reach", onset=_within(case, start), low=start, high=alarm.onset,
        entity="object", why="The hand closed where the object is not.", confidence=0.85,
    )  # fmt: skip


def _lost_after(case: Case, closing: int) -> int | None:
    """Step at which fingers that now hold nothing left the width at which they had paused; None if they never did."""
    limits = ClosingSettings()
    since = [item for item in case.readings if item.step >= closing]
    if not since or since[-1].width_m > limits.empty_m:
        return None
    pauses = (
        after.step + 1
        for item, after in itertools.pairwise(since)
        if item.width_m - after.width_m < _PAUSE_M and limits.empty_m < after.width_m < limits.open_m
    )
    return max(pauses, default=None)


def _stalled(case: Case) -> Finding:
    alarm = case.alarm
    start = _phase_start(case, alarm.onset)
    if alarm.note.startswith("turning"):
        kind, onset = "C2", _within(case, start)
        why = "The hand does not turn as it is told."
    elif (stopped := _stopped(case, alarm.onset)) is not None:
        kind, onset = "C6", stopped
        why = "The arm stopped at once although it was told to move on."
    else:
        kind, onset = "C1", _within(case, start)
        why = "The hand comes to rest beside where it is told to go."
    return Finding(
        fault_type=kind, stage="", onset=onset, low=start, high=max(onset, alarm.onset), entity="arm", why=why,
        severity=3,
    )  # fmt: skip


def _stopped(case: Case, until: int) -> int | None:
    """First step of a sudden stop not long before a step; None if the hand came to rest slowly."""
    recent = [item for item in case.readings if item.step <= until + _BRAKE_STEPS][-4 * _BRAKE_STEPS :]
    for fast, slow in zip(recent, recent[_BRAKE_STEPS:], strict=False):
        if fast.speed_m_s > _MOVING_M_S and slow.speed_m_s < _HELD_M_S:
            return fast.step + 1
    return None


def _at_onset(kind: str, stage: str, entity: str, why: str) -> Callable[[Case], Finding]:
    """A rule for alarms that know when it began."""

    def rule(case: Case) -> Finding:
        onset = case.alarm.onset
        return Finding(
            fault_type=kind, stage=stage, onset=onset, low=max(0, min(case.alarm.since, onset) - 1), high=onset,
            entity=entity, why=why, sure=True, confidence=0.85,
        )  # fmt: skip

    return rule


def _early_close(case: Case) -> Finding:
    start = min(case.alarm.since, case.alarm.onset)
    return Finding(
        fault_type="L2", stage="reach", onset=_within(case, start), low=start, high=case.alarm.onset, entity="policy",
        why="The hand closed sooner than any way to an object takes.", confidence=0.9,
    )  # fmt: skip


def _early_open(case: Case) -> Finding:
    onset = case.alarm.onset
    return Finding(
        fault_type="L3", stage="lift", onset=onset, low=max(0, onset - 2), high=onset, entity="policy",
        why="The policy let go sooner than any way to a place takes.", confidence=0.9, sure=True,
    )  # fmt: skip


def _lagging(case: Case) -> Finding:
    start = _phase_start(case, case.alarm.onset)
    return Finding(
        fault_type="C7", stage="", onset=_within(case, start), low=start, high=case.step_now, entity="arm",
        why="The hand does what it was told some steps ago.",
    )  # fmt: skip


def _late(case: Case) -> Finding:
    """Too long in a phase, or in the episode: what went wrong lies in it, or in the one before that."""
    alarm = case.alarm
    closed = case.readings[-1].closing is True
    opened = alarm.onset > case.readings[0].step and not closed  # it has let go, and is not done
    first = case.readings[0].step
    if opened:
        grasp = _phase_start(case, alarm.onset - 1)
        reach = _phase_start(case, grasp - 1) if grasp > first else grasp
        return Finding(
            fault_type="L1", stage="transport", onset=(grasp + alarm.onset) // 2, low=reach, high=alarm.onset,
            entity="target", why="It has let go and the task is not done.", severity=3, confidence=0.75,
        )  # fmt: skip
    # A hand that carries for too long may carry the wrong thing: what was grasped was chosen in the phase before.
    low = _phase_start(case, alarm.onset - 1) if closed and alarm.onset > first else alarm.onset
    kind, why = _kept_from(case)
    return Finding(
        fault_type=kind, stage="transport" if closed else "reach", onset=_within(case, alarm.onset), low=low,
        high=case.step_now, entity="arm" if kind[0] == "C" else "object", why=why, severity=3, confidence=0.75,
    )  # fmt: skip


def _kept_from(case: Case) -> tuple[str, str]:
    """What keeps a phase from its end: type of fault, and why."""
    recent = case.readings[-_WINDOW_STEPS:]
    turn, push, speed = (
        statistics.median(getattr(item, name) for item in recent) for name in ("turn", "push", "speed_m_s")
    )
    if push > 1.0 and speed > _FAST_M_S:
        return "C7", "The hand hurries to and fro and never arrives, as one that hears its orders late."
    if turn > _TURNING:
        return "C2", "The hand is told to turn and does not get there, and this phase lasts too long."
    if push > _PUSHING and _steady(recent):
        return "C1", "The hand is told to go on in the same way and does not get there, and this phase lasts too long."
    return "P4", "This phase lasts longer than it ever does when all is well."


def _steady(readings: Sequence[Reading]) -> bool:
    """Whether the commands hardly change: a policy that sees badly changes its mind at every step."""
    axes = zip(*(item.command[:3] for item in readings if item.command), strict=True)
    return all(statistics.pstdev(axis) < _STEADY for axis in axes)


def _lost_subgoal(case: Case) -> Finding:
    """The predicates say that something was lost, or never had; the hand says what."""
    alarm, now = case.alarm, case.readings[-1]
    if now.closing is True:
        start = _phase_start(case, alarm.onset)
        reach = _phase_start(case, start - 1) if start > case.readings[0].step else start
        kind = "P2" if now.width_m < ClosingSettings().empty_m else "P1"
        return Finding(
            fault_type=kind, stage="reach", onset=_within(case, reach), low=reach, high=alarm.onset, entity="object",
            why="The hand has closed, and what it should hold is not in it.", confidence=0.85,
        )  # fmt: skip
    return _late(case)


RULES: dict[str, Callable[[Case], Finding]] = {
    GripperLost.name: _lost_grasp,
    Unclosed.name: _unclosed,
    GraspWidth.name: _missed,
    Stall.name: _stalled,
    Idle.name: _at_onset("L4", "", "policy", "The policy commands nothing although the task is not done."),
    Loop.name: _at_onset("L5", "", "policy", "The policy repeats the same commands."),
    Lag.name: _lagging,
    ChunkDisagreement.name: _at_onset("P4", "", "policy", "The policy changed its mind between two chunks."),
    "early-close": _early_close,
    "early-open": _early_open,
    "late": _late,
    "subgoal-late": _late,
    "subgoal-lost": _lost_subgoal,
}
"""By alarm; one that is not listed is not understood, and nothing is done."""
