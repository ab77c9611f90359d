"""Questions at stage boundaries: when they are asked, what they cost, and that alarms come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

import environments
from arena.diagnosis import Case, DiagnosingSupervisor, Diagnosis, DiagnosisConfig, Opinion, build, keyframes
from arena.diagnosis.dynamic import configs
from arena.diagnosis.monitors import ClosingSettings
from arena.diagnosis.signals import Reading
from arena.supervision import Directive, Moment

TASK = environments.get("tabletop/pick-place-bowl-v1")
SETTLE = ClosingSettings().stroke_steps
OPEN, CLOSE = -1.0, 1.0
Sample = tuple[float, float]
"""Commanded gripper, measured width in mm."""

REACH: list[Sample] = [(OPEN, 79.0)] * 30
CARRY: list[Sample] = [(CLOSE, mm) for mm in (78, 70, 60, 50, 42)] + [(CLOSE, 40.0)] * 25
PLACED: list[Sample] = [(OPEN, mm) for mm in (42, 50, 60, 70)] + [(OPEN, 79.0)] * 20
DROP: list[Sample] = [(CLOSE, mm) for mm in (42, 46, 55, 66, 78, 79)] + [(CLOSE, 79.0)] * 20


@dataclass
class Asked:
    """Answers with what it is told to, and remembers what it was asked."""

    name: ClassVar[str] = "asked"
    wants_pictures: ClassVar[bool] = False
    verdict: str = "ok"
    cases: list[Case] = field(default_factory=list)

    def fingerprint(self) -> dict[str, Any]:
        return {"diagnoser": self.name}

    def diagnose(self, case: Case) -> Opinion:
        self.cases.append(case)
        fault = {"fault_class": "control", "fault_type": "C3", "onset_step": case.alarm.onset, "rollback_step": 5}
        told = fault if self.verdict == "fault" else {}
        return Opinion(diagnosis=Diagnosis(step_now=case.step_now, verdict=self.verdict, confidence=0.9, **told))  # type: ignore[arg-type]

    @property
    def looks(self) -> list[int]:
        """Steps at which it was asked without an alarm."""
        return [case.step_now for case in self.cases if case.alarm.look]

    @property
    def alarms(self) -> int:
        return len(self.cases) - len(self.looks)


def watching(asked: Asked, **options: Any) -> DiagnosingSupervisor:
    supervisor = DiagnosingSupervisor(asked, stages=True, **options)
    supervisor.begin(TASK, TASK.goal)
    return supervisor


def play(
    supervisor: DiagnosingSupervisor, samples: Sequence[Sample], *, start: int = 0, recalled: int = 0
) -> list[Directive]:
    """Show the samples, the first of them as steps from before an interruption."""
    said = []
    for at, (command, mm) in enumerate(samples):
        telemetry = {"gripper_width_m": mm / 1000, "eef_pos_m": [0.01 * at, 0, 0.9], "eef_speed_m_s": 0.2}
        moment = Moment(
            index=start + at, sim_step=at, branch=0, action=[0.5, 0, 0, 0, 0, 0, command], telemetry=telemetry,
            observation={}, snapshots=tuple(range(start + at + 1)),
        )  # fmt: skip
        if at < recalled:
            supervisor.recall(moment)
        elif (directive := supervisor.watch(moment)) is not None:
            said.append(directive)
    return said


def test_each_new_stage_is_looked_at_once_its_fingers_have_settled():
    asked = Asked()
    said = play(watching(asked), REACH + CARRY + PLACED)
    begun = [len(REACH), len(REACH + CARRY)]
    assert asked.looks == [start + SETTLE - 1 for start in begun] and asked.alarms == 0
    assert [case.alarm.onset for case in asked.cases] == begun
    assert [directive.trigger for directive in said] == ["stage", "stage"]
    assert all(directive.rollback_to is None for directive in said)
    assert "told to close, and the fingers are 40.0 mm apart" in asked.cases[0].alarm.note
    assert "told to open" in asked.cases[1].alarm.note


@pytest.mark.parametrize(
    ("what", "samples"),
    [
        ("the stage that an episode begins with", [(CLOSE, 40.0)] * 60),
        ("a flicker of the command", REACH + [(CLOSE, 78.0)] * 2 + REACH),
        ("a stage that is over before the fingers have settled", REACH + [(CLOSE, 60.0)] * (SETTLE - 1) + REACH[:9]),
    ],
)
def test_nothing_else_is(what: str, samples: list[Sample]):
    asked = Asked()
    play(watching(asked), samples)
    assert asked.looks == [], what


def test_without_being_told_so_nobody_looks():
    asked = Asked()
    supervisor = DiagnosingSupervisor(asked)
    supervisor.begin(TASK, TASK.goal)
    play(supervisor, REACH + CARRY + PLACED)
    assert asked.cases == [] and "stages" not in supervisor.fingerprint()
    assert watching(asked).fingerprint()["stages"] == {"flip_steps": 3, "settle_steps": SETTLE}


@pytest.mark.parametrize("most", [1, 2, 3, 6])
def test_looks_never_starve_alarms(most: int):
    """As many alarms are asked about as without looks, and looks take half of the budget at most."""
    samples = (REACH + CARRY + DROP) * 5
    plain = Asked()
    without = DiagnosingSupervisor(plain, max_diagnoses=most, max_interventions=0)
    without.begin(TASK, TASK.goal)
    play(without, samples)
    asked = Asked()
    play(watching(asked, max_diagnoses=most, max_interventions=0), samples)
    assert asked.alarms == plain.alarms == min(5, most)
    assert len(asked.looks) <= most // 2
    assert [case.step_now for case in asked.cases if not case.alarm.look] == [case.step_now for case in plain.cases]


def test_when_alarms_have_used_the_budget_nobody_looks_any_more():
    asked = Asked()
    play(watching(asked, max_diagnoses=2, max_interventions=0), REACH + CARRY + DROP + REACH + CARRY + DROP)
    assert (asked.looks[0], len(asked.looks), asked.alarms) == (len(REACH) + SETTLE - 1, 1, 2)
    play(watching(asked, max_diagnoses=2, max_interventions=0), (REACH + CARRY + DROP) * 2 + REACH + CARRY)
    assert len(asked.looks) == 2, "one more in the second episode, at its beginning"


def test_an_alarm_at_the_same_step_comes_before_the_look():
    """A hand that stays open raises its alarm while the stage's look is due."""
    asked = Asked()
    closing: list[Sample] = [(CLOSE, 40.0)] * (SETTLE - 1) + [(CLOSE, 60.0)] * 10
    play(watching(asked), REACH + closing)
    assert [case.alarm.monitor for case in asked.cases] == ["gripper-lost"]
    assert asked.cases[0].step_now == len(REACH) + SETTLE - 1


def test_what_a_look_finds_is_acted_upon_and_after_the_rollback_the_stage_is_looked_at_again():
    asked = Asked("fault")
    supervisor = watching(asked)
    (said,) = play(supervisor, REACH + CARRY)
    assert (said.trigger, said.rollback_to) == ("stage", 5)
    supervisor.rolled_back(5)
    play(supervisor, REACH[5:] + CARRY, start=len(REACH + CARRY))
    assert len(asked.looks) == 2 and asked.cases[1].earlier == ("stage",)


def test_an_interrupted_episode_goes_on_with_the_same_looks():
    samples = REACH + CARRY + PLACED
    for cut in (10, len(REACH) + SETTLE - 2, len(REACH) + SETTLE, len(samples) - 8):
        asked = Asked()
        play(watching(asked), samples, recalled=cut)
        due = [len(REACH) + SETTLE - 1, len(REACH + CARRY) + SETTLE - 1]
        assert asked.looks == [step for step in due if step >= cut]


def test_looks_are_an_option_of_the_model_diagnoser_alone():
    asked = configs(["vlm", "vlm-stages"], calibration=None, model="fake/ok")
    assert "stages" not in asked["vlm"] and asked["vlm-stages"]["stages"] is True
    plain, looking = (DiagnosisConfig.model_validate(asked[name]) for name in ("vlm", "vlm-stages"))
    assert "stages" not in plain.model_dump(mode="json"), "a default is not said"
    built = build(looking)
    assert built is not None and built.stages is not None
    with pytest.raises(ValidationError, match="stages: for diagnoser 'vlm' alone"):
        DiagnosisConfig.model_validate({"diagnoser": "rules", "stages": True})
    with pytest.raises(ValueError, match="condition 'vlm-stages' needs a model"):
        configs(["vlm-stages"], calibration=None)


def test_the_table_reaches_to_the_present():
    readings = [
        Reading(step=i, closing=False, push=0.1, width_m=0.08, eef_pos_m=(0.1, 0.2, 0.9), speed_m_s=0.2)
        for i in range(200)
    ]

    def steps(onset: int, upto: int) -> list[int]:
        lines = keyframes.table(readings[:upto], onset).splitlines()[2:]
        return [int(line.split("|")[1]) for line in lines]

    assert steps(20, 30) == list(range(10, 30)), "all of them where they are few"
    long = steps(20, 200)
    assert long[:11] == list(range(10, 21)) and long[-1] == 199 and len(long) == 24
    assert long == sorted(set(long))
