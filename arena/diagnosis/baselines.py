"""What a diagnoser must beat, and the ceiling that it cannot: triggers by chance, restarts, and oracles.

Oracles and planted diagnosers read the truth about the fault through a door that only instruments have
(`Supervisor.privileged`): they measure the loop, and are no contestants. The idea of the random trigger at an equal
rate is that of a placebo: it goes back as often, for no reason.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from arena.diagnosis.diagnoser import Case, Opinion, verified_snapshot
from arena.diagnosis.monitors import Alarm, Monitor
from arena.diagnosis.rules import MARGIN_STEPS, RulesDiagnoser
from arena.diagnosis.schema import CLASS_OF, Diagnosis, Evidence, Repair, RepairKind
from arena.diagnosis.signals import Reading
from arena.supervision import Moment

ROLLBACK_STEPS = 25
"""How far `monitors-only` goes back from an alarm: it knows that something is wrong, not what or since when."""


def went_wrong(
    case: Case, target: int | None, *, kind: RepairKind = "retry", onset: int | None = None, why: str, **fields: Any
) -> Opinion:
    """The opinion that there is a fault, and that one should go back to `target`."""
    begun = min(case.step_now, case.alarm.onset if onset is None else onset)
    return Opinion(
        diagnosis=Diagnosis(
            step_now=case.step_now,
            verdict="fault",
            confidence=1.0,
            onset_step=begun if target is None else max(begun, target),
            rollback_step=target,
            repair=Repair(kind="none" if target is None else kind),
            evidence=[Evidence(camera="proprioception", step=case.alarm.step, note=case.alarm.note[:500])],
            rationale=why,
            **{"fault_class": "control", "fault_type": "C6", "severity": 2, **fields},
        )
    )


class MonitorsOnly:
    """Every alarm leads back by the same number of steps; nothing is diagnosed."""

    name: ClassVar[str] = "monitors-only"
    wants_pictures: ClassVar[bool] = False

    def fingerprint(self) -> dict[str, Any]:
        """How far it goes back."""
        return {"diagnoser": self.name, "version": 1, "rollback_steps": ROLLBACK_STEPS}

    def diagnose(self, case: Case) -> Opinion:
        """Go back."""
        earlier = [step for step in case.snapshots if step <= case.step_now]
        at = max(0, len(earlier) - 1 - ROLLBACK_STEPS)
        target = verified_snapshot(case, earlier[at]) if earlier else None
        return went_wrong(case, target, why="An alarm was raised.")


class Restart:
    """Every alarm leads back to the beginning of the episode."""

    name: ClassVar[str] = "restart"
    wants_pictures: ClassVar[bool] = False

    def fingerprint(self) -> dict[str, Any]:
        """Nothing but its name."""
        return {"diagnoser": self.name, "version": 1}

    def diagnose(self, case: Case) -> Opinion:
        """Begin again."""
        return went_wrong(case, min(case.snapshots, default=None), kind="reset", why="An alarm was raised.")


class RandomTrigger(Monitor):
    """Raises alarms by chance, at a rate per episode, spread evenly over the steps that an episode usually takes.

    Args:
        rate: alarms expected in an episode, as many as another condition acts upon.
        steps: control steps over which they are spread.
    """

    name: ClassVar[str] = "random-trigger"
    instrument: ClassVar[bool] = True

    def __init__(self, rate: float, steps: int) -> None:
        self._rate, self._steps = rate, steps
        self._at: frozenset[int] = frozenset()
        self._drawn = False
        self._count = 0
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """Rate and spread."""
        return {"rate": self._rate, "steps": self._steps}

    def reset(self) -> None:
        """Forget nothing: how often it fires is a matter of the episode, not of the timeline."""

    def see(self, moment: Moment, seed: int) -> None:
        """Draw the moments at the first step of an episode."""
        if moment.index == 0 or not self._drawn:
            rng = np.random.default_rng(seed)
            whole = int(self._rate)
            number = whole + int(rng.random() < self._rate - whole)
            self._at = frozenset(int(step) for step in rng.integers(5, max(6, self._steps), number))
            self._drawn, self._count = True, 0

    def update(self, reading: Reading) -> Alarm | None:
        """An alarm if its time has come; steps are counted in order of play."""
        count, self._count = self._count, self._count + 1
        if count not in self._at:
            return None
        return Alarm(monitor=self.name, step=reading.step, onset=reading.step, since=0, note="by chance")


class RandomDiagnoser:
    """Goes back to a snapshot drawn by chance."""

    name: ClassVar[str] = "random-trigger"
    wants_pictures: ClassVar[bool] = False

    def fingerprint(self) -> dict[str, Any]:
        """Nothing but its name: the rate is the trigger's."""
        return {"diagnoser": self.name, "version": 1}

    def diagnose(self, case: Case) -> Opinion:
        """Draw."""
        rng = np.random.default_rng([case.seed, case.step_now])
        target = int(rng.choice(case.snapshots)) if case.snapshots else None
        return went_wrong(case, target, why="Chance said so.")


class TruthTrigger(Monitor):
    """Instrument: raises an alarm as soon as a fault has begun in the present timeline."""

    name: ClassVar[str] = "oracle"
    instrument: ClassVar[bool] = True

    def settings(self) -> dict[str, Any]:
        """None: it knows."""
        return {}

    def reset(self) -> None:
        """Forget nothing: a fault that was answered is not told again unless it comes again."""
        self._told = getattr(self, "_told", None)
        self._due: int | None = None

    def see(self, moment: Moment, seed: int) -> None:
        """Note whether a fault has begun, and at which step of the record."""
        if moment.index == 0:
            self._told = None
        onset = (moment.truth or {}).get("onset_step")
        self._due = None
        if onset is None:
            self._told = None
        elif self._told is None and onset <= moment.sim_step:
            self._told = onset
            self._due = max(0, moment.index - (moment.sim_step - onset))

    def update(self, reading: Reading) -> Alarm | None:
        """Tell of it once."""
        due, self._due = self._due, None
        if due is None:
            return None
        return Alarm(monitor=self.name, step=reading.step, onset=due, since=due, note="a fault was injected")


class OracleDetection:
    """Instrument: knows that there is a fault and since when, nothing more; goes back as `rules` does."""

    name: ClassVar[str] = "oracle-detection"
    wants_pictures: ClassVar[bool] = False

    def fingerprint(self) -> dict[str, Any]:
        """The margin."""
        return {"diagnoser": self.name, "version": 1, "margin_steps": MARGIN_STEPS}

    def diagnose(self, case: Case) -> Opinion:
        """Back to before the onset."""
        target = verified_snapshot(case, max(0, case.alarm.onset - MARGIN_STEPS))
        return went_wrong(case, target, why="The truth says so.")


class OracleEverything:
    """Instrument: knows the fault, whether it does harm, when it began, and the repair that helps least."""

    name: ClassVar[str] = "oracle-everything"
    wants_pictures: ClassVar[bool] = False

    def fingerprint(self) -> dict[str, Any]:
        """Nothing but its name."""
        return {"diagnoser": self.name, "version": 1}

    def diagnose(self, case: Case) -> Opinion:
        """Back to the moment before the onset, unless the fault is benign."""
        truth = case.truth or {}
        kind = str(truth.get("fault_type", "N0"))
        if kind == "N0" or not truth.get("severity"):
            return Opinion(diagnosis=Diagnosis(step_now=case.step_now, verdict="ok", confidence=1.0))
        target = max((step for step in case.snapshots if step <= case.alarm.onset), default=None)
        return went_wrong(
            case,
            target,
            onset=case.alarm.onset,
            why="The truth says so.",
            fault_class=CLASS_OF[kind[0]],
            fault_type=kind,
            severity=truth["severity"],
            stage=str(truth.get("stage") or ""),
            entity=str(truth.get("entity") or ""),
        )


class Periodic(Monitor):
    """Raises an alarm every so many steps: the question that a judge without monitors is asked again and again."""

    name: ClassVar[str] = "periodic"
    instrument: ClassVar[bool] = True

    def __init__(self, every: int) -> None:
        self._every = every
        self._count = 0
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """The period."""
        return {"every": self._every}

    def reset(self) -> None:
        """Forget nothing: it counts steps in order of play."""

    def see(self, moment: Moment, seed: int) -> None:
        """Begin to count at the first step of an episode."""
        if moment.index == 0:
            self._count = 0

    def update(self, reading: Reading) -> Alarm | None:
        """An alarm at the end of each period."""
        self._count += 1
        if self._count % self._every:
            return None
        step = reading.step
        return Alarm(monitor=self.name, step=step, onset=step, since=max(0, step - self._every), note="a regular look")


class PlantedDiagnoser:
    """Instrument: a judge of known quality, to see what quality it takes to do any good.

    Asked at regular steps, it claims a fault with probability `detection` once one has begun, and with probability
    `false_alarm` as long as none has, or none that harms. A right claim goes back to before the onset; a wrong one to a
    moment by chance, as a judge that sees a fault where there is none sees it somewhere.
    """

    name: ClassVar[str] = "planted"
    wants_pictures: ClassVar[bool] = False

    def __init__(self, detection: float, false_alarm: float) -> None:
        self.detection, self.false_alarm = detection, false_alarm
        self._cured: set[int] = set()
        """Episodes, by their chance, whose fault was claimed rightly: it is not there any more."""

    def fingerprint(self) -> dict[str, Any]:
        """Its two rates."""
        return {
            "diagnoser": self.name, "version": 1, "detection": self.detection, "false_alarm": self.false_alarm,
        }  # fmt: skip

    def diagnose(self, case: Case) -> Opinion:
        """Claim, or do not."""
        truth = case.truth or {}
        onset = truth.get("onset_step")
        wrong = onset is not None and bool(truth.get("severity")) and case.seed not in self._cured
        rng = np.random.default_rng([case.seed, case.step_now, 7])
        if wrong:
            if rng.random() >= self.detection:
                return Opinion(diagnosis=Diagnosis(step_now=case.step_now, verdict="ok", confidence=0.6))
            self._cured.add(case.seed)
            # Position in the present timeline, which has gaps in its step indices after a rollback.
            before = max(0, min(int(onset or 0), len(case.readings) - 1) - MARGIN_STEPS)
            target = verified_snapshot(case, case.readings[before].step)
            return went_wrong(case, target, onset=case.step_now, why="Planted: a right claim.")
        if rng.random() >= self.false_alarm or not case.snapshots:
            return Opinion(diagnosis=Diagnosis(step_now=case.step_now, verdict="ok", confidence=0.6))
        return went_wrong(case, int(rng.choice(case.snapshots)), why="Planted: a false alarm.")


__all__ = [
    "MonitorsOnly",
    "OracleDetection",
    "OracleEverything",
    "Periodic",
    "PlantedDiagnoser",
    "RandomDiagnoser",
    "RandomTrigger",
    "Restart",
    "RulesDiagnoser",
    "TruthTrigger",
    "went_wrong",
]
