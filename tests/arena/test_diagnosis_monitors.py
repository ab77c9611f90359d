"""Monitors, rules and supervisor on synthetic telemetry: no simulator, no pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import environments
from arena.diagnosis import (
    Alarm,
    Case,
    Diagnosis,
    DiagnosisConfig,
    GripperLost,
    Opinion,
    RulesDiagnoser,
    Stall,
    build,
)
from arena.diagnosis.diagnoser import last_snapshot_before
from arena.diagnosis.monitors import Monitor
from arena.diagnosis.signals import Reading, read
from arena.diagnosis.supervisor import DiagnosingSupervisor
from arena.supervision import Moment

OPEN, CLOSE = -1.0, 1.0
TASK = environments.get("tabletop/pick-place-bowl-v1")
Sample = tuple[float, float]
"""Commanded gripper, measured width in mm."""

CLOSING: list[Sample] = [(CLOSE, mm) for mm in (78, 70, 60, 50, 42, 40.1, 40.0, 40.0, 40.0)]
HELD: list[Sample] = [(CLOSE, 40.0)] * 20
OPENED: list[Sample] = [(CLOSE, mm) for mm in (40.3, 40.8, 42, 46, 55, 66, 78, 79, 79)]
SLIPPED: list[Sample] = [(CLOSE, mm) for mm in (39.5, 38, 33, 20, 8, 2, 1, 1, 1)]
RELEASED: list[Sample] = [(OPEN, mm) for mm in (40, 44, 55, 66, 78, 79)]
ONSET = len(CLOSING + HELD)


def moment(index: int, command: float, width_mm: float, *, x: float = 0.0, push: float = 0.5, **more: Any) -> Moment:
    telemetry = {
        "gripper_command": command,
        "gripper_width_m": width_mm / 1000,
        "eef_pos_m": [x, 0.0, 0.9],
        "eef_speed_m_s": 0.2,
        "control_step": index,
    }
    fields = {"sim_step": index, "branch": 0, "snapshots": tuple(range(index + 1)), "observation": {}} | more
    return Moment(index=index, action=[push, 0, 0, 0, 0, 0, command], telemetry=telemetry, **fields)


def moments(samples: Sequence[Sample], start: int = 0) -> list[Moment]:
    return [moment(start + i, command, mm, x=0.01 * i) for i, (command, mm) in enumerate(samples)]


def alarms(monitor: Monitor, played: Iterable[Moment]) -> list[Alarm]:
    readings = [reading for item in played if (reading := read(item)) is not None]
    return [alarm for reading in readings if (alarm := monitor.update(reading)) is not None]


@pytest.mark.parametrize("lost", [OPENED, SLIPPED])
def test_a_lost_grasp_raises_one_alarm_with_its_onset(lost: list[Sample]):
    found = alarms(GripperLost(), moments(CLOSING + HELD + lost + [lost[-1]] * 30))
    assert [(alarm.monitor, alarm.onset) for alarm in found] == [("gripper-lost", ONSET)]
    assert ONSET < found[0].step <= ONSET + 4
    assert len(CLOSING) - 4 <= found[0].since < ONSET


@pytest.mark.parametrize(
    ("what", "samples"),
    [
        ("a carry and a release", CLOSING + HELD + RELEASED),
        ("closing on nothing", [(CLOSE, mm) for mm in (78, 60, 40, 20, 4, 1, 0.5)] + [(CLOSE, 0.4)] * 30),
        ("an empty grasp that is opened again", [(CLOSE, 0.4)] * 20 + RELEASED),
        ("the hand open all the time", [(OPEN, 79.0)] * 60),
        ("told to close and stuck open", [(CLOSE, 79.0)] * 60),
        ("no gripper command at all", [(0.0, 40.0)] * 20 + [(0.0, 60.0)] * 20),
        ("a held thing that gives a little and comes back", CLOSING + HELD + [(CLOSE, 42.0), (CLOSE, 40.0)] * 10),
    ],
)
def test_nothing_else_does(what: str, samples: list[Sample]):
    assert alarms(GripperLost(), moments(samples)) == [], what


def test_sensor_noise_raises_nothing_and_hides_nothing():
    """0.2 mm of noise (standard deviation) on the width: no alarm while holding, and the drop still is one."""
    rng = np.random.default_rng(3)
    held = CLOSING + HELD * 10
    noisy = [(command, mm + rng.normal(0, 0.05)) for command, mm in CLOSING + HELD]
    noisy += [(command, mm + rng.normal(0, 0.2)) for command, mm in HELD * 9 + OPENED]
    found = alarms(GripperLost(), moments(noisy))
    assert len(found) == 1 and found[0].step >= len(held)


def test_a_second_grasp_can_be_lost_again():
    once = CLOSING + HELD + OPENED
    assert len(alarms(GripperLost(), moments(once + RELEASED + once))) == 2


def test_stall_needs_a_lasting_command_without_motion():
    stuck = [moment(i, OPEN, 79, x=0.0) for i in range(60)]
    found = alarms(Stall(), stuck)
    assert [(alarm.onset, alarm.step) for alarm in found] == [(0, 19)]
    assert alarms(Stall(), [moment(i, OPEN, 79, x=0.0, push=0.05) for i in range(60)]) == []
    assert alarms(Stall(), [moment(i, OPEN, 79, x=0.001 * i) for i in range(60)]) == []


def test_stall_is_raised_again_only_after_the_hand_has_moved():
    path = [0.0] * 40 + [0.005 * i for i in range(10)] + [0.05] * 40
    assert len(alarms(Stall(), [moment(i, OPEN, 79, x=x) for i, x in enumerate(path)])) == 2


def test_a_reading_needs_a_native_action_and_sensors():
    skill = Moment(
        index=0,
        sim_step=0,
        branch=0,
        action={"skill": "gripper", "state": "close"},
        telemetry=moment(0, CLOSE, 40).telemetry,
        observation={},  # type: ignore[arg-type]
        snapshots=(0,),
    )
    assert read(skill) is None
    assert read(moment(0, 0.0, 40)) == Reading(
        step=0,
        closing=None,
        push=0.5,
        width_m=0.04,
        eef_pos_m=(0.0, 0.0, 0.9),
        speed_m_s=0.2,
        command=(0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    )


def test_margin_counts_snapshots_not_indices():
    """After a rollback from 60 to 40 the timeline is 0..40, 61, 62, ...: six back from 63 is 38."""
    assert last_snapshot_before((*range(41), *range(61, 70)), 63, 6) == 37
    assert last_snapshot_before(range(100), 50, 6) == 44
    assert last_snapshot_before(range(5), 3, 6) is None
    assert last_snapshot_before((), 3, 0) is None


def case(alarm: Alarm, snapshots: tuple[int, ...]) -> Case:
    return Case(
        task_id=TASK.id, instruction=TASK.goal, alarm=alarm, step_now=alarm.step, snapshots=snapshots, readings=()
    )


def lost(onset: int = 30, step: int = 35, monitor: str = "gripper-lost") -> Alarm:
    return Alarm(monitor=monitor, step=step, onset=onset, since=10, note="40.0 mm, then 45.0 mm")


def test_rules_call_a_lost_grasp_a_drop_and_go_back_to_before_it():
    it = RulesDiagnoser().diagnose(case(lost(), tuple(range(36)))).diagnosis
    assert (it.verdict, it.fault_class, it.fault_type, it.onset_step) == ("fault", "control", "C5", 30)
    assert it.rollback_step == 24 and it.repair.kind == "retry"


def test_rules_tell_what_was_torn_from_the_hand_from_a_hand_that_opened():
    """A gripper begins to open slowly; a blow parts the fingers within a step."""
    named = {step: RulesDiagnoser().diagnose(case(lost(step=step), tuple(range(36)))).diagnosis for step in (31, 32)}
    assert {step: it.fault_type for step, it in named.items()} == {31: "C8", 32: "C5"}
    assert {it.rollback_step for it in named.values()} == {24}, "the name changes nothing about what is done"


@pytest.mark.parametrize(
    ("widths_mm", "fault_type", "onset"),
    [
        ((79, 74, 68, 59, 50, 41, 31, 21, 13, 8, 5, 4, 3, 3, 2), "P2", None),
        ((79, 74, 68, 59, 50, 50, 50, 34, 20, 12, 8, 5, 4, 3, 3), "E1", 7),
        ((80, 80, 80, 79, 74, 68, 59, 50, 41, 31, 21, 13, 8, 4, 3), "P2", None),
    ],
    ids=("closes on nothing", "pauses on something", "is late"),
)
def test_rules_tell_an_object_that_was_taken_from_one_that_never_was_in_the_hand(widths_mm, fault_type, onset):
    readings = tuple(read(moment(step, CLOSE, mm)) for step, mm in enumerate(widths_mm))
    alarm = Alarm(monitor="grasp-miss", step=14, onset=0, since=0, note="the hand has closed on nothing")
    told = Case(
        task_id=TASK.id, instruction="", alarm=alarm, step_now=14, snapshots=tuple(range(15)), readings=readings
    )
    it = RulesDiagnoser(calibrated=True).diagnose(told).diagnosis
    assert it.fault_type == fault_type
    assert onset is None or it.onset_step == onset


def test_rules_name_the_fault_even_without_a_snapshot_to_go_back_to():
    it = RulesDiagnoser().diagnose(case(lost(), (29, 30, 35))).diagnosis
    assert (it.verdict, it.rollback_step, it.repair.kind) == ("fault", None, "none")


def test_rules_leave_a_stall_alone_and_abstain_on_what_they_do_not_know():
    stalled = RulesDiagnoser().diagnose(case(lost(monitor="stall"), tuple(range(36)))).diagnosis
    assert (stalled.verdict, stalled.fault_type, stalled.rollback_step) == ("suspect", "C1", None)
    unknown = RulesDiagnoser().diagnose(case(lost(monitor="smoke"), (0,))).diagnosis
    assert (unknown.verdict, unknown.abstain_cause) == ("abstain", "declined")


def test_a_margin_that_trusts_the_onset_too_much_is_refused():
    with pytest.raises(ValueError, match="margin_steps must be at least 2"):
        RulesDiagnoser(1)


def play(supervisor: DiagnosingSupervisor, samples: Sequence[Sample], start: int = 0) -> list[Any]:
    return [said for item in moments(samples, start) if (said := supervisor.watch(item)) is not None]


def rules(**options: Any) -> DiagnosingSupervisor:
    supervisor = build(DiagnosisConfig(diagnoser="rules", **options))
    assert supervisor is not None
    supervisor.begin(TASK, TASK.goal)
    return supervisor


def test_supervisor_says_nothing_until_an_alarm_and_then_names_a_snapshot():
    (said,) = play(rules(), CLOSING + HELD + OPENED)
    assert (said.trigger, said.diagnoser, said.rollback_to) == ("gripper-lost", "rules", ONSET - 6)
    assert Diagnosis.model_validate(said.body).rollback_step == ONSET - 6


def test_after_a_rollback_the_undone_steps_are_forgotten():
    """The grasp is still known to be held, so that the same drop on the new branch is noticed again."""
    supervisor = rules()
    samples = CLOSING + HELD + OPENED
    (first,) = play(supervisor, samples)
    supervisor.rolled_back(first.rollback_to)
    timeline = tuple(range(first.rollback_to + 1))
    again = [(CLOSE, 40.0)] * 3 + OPENED
    said = []
    for i, (command, mm) in enumerate(again):
        index = len(samples) + i
        item = moment(index, command, mm, x=0.01 * i, snapshots=(*timeline, *range(len(samples), index + 1)), branch=1)
        said += [directive for directive in [supervisor.watch(item)] if directive]
    (second,) = said
    assert second.body["onset_step"] == len(samples) + 3
    assert second.rollback_to is not None and second.rollback_to < first.rollback_to


def test_the_budget_of_interventions_ends_rollbacks_but_not_diagnoses():
    supervisor = rules(max_interventions=1)
    once = CLOSING + HELD + OPENED + RELEASED
    (first,) = play(supervisor, once)
    supervisor.rolled_back(first.rollback_to)
    (second,) = play(supervisor, once, start=len(once))
    assert second.body["verdict"] == "fault" and second.rollback_to is None


def test_without_interventions_faults_are_named_and_nothing_is_done():
    (said,) = play(rules(max_interventions=0), CLOSING + HELD + OPENED)
    assert said.body["verdict"] == "fault" and said.rollback_to is None


def test_the_diagnoser_is_asked_about_so_many_alarms_at_most():
    once = CLOSING + HELD + OPENED + RELEASED
    assert len(play(rules(max_diagnoses=2, max_interventions=0), once * 4)) == 2


def test_a_diagnosis_less_sure_than_asked_changes_nothing():
    (said,) = play(rules(min_confidence=0.99), CLOSING + HELD + OPENED)
    assert said.body["rollback_step"] is not None and said.rollback_to is None


def test_recalled_steps_leave_the_supervisor_where_it_was():
    """An interrupted episode goes on as it would have: what `recall` was shown is known, and not asked about again."""
    samples = CLOSING + HELD + OPENED + RELEASED + CLOSING + HELD + OPENED
    straight = play(rules(max_diagnoses=2), samples)
    assert len(straight) == 2
    for cut in (5, ONSET - 1, ONSET + 3, ONSET + 8, len(samples) - 5):
        resumed = rules(max_diagnoses=2)
        for item in moments(samples)[:cut]:
            resumed.recall(item)
        said = [directive for item in moments(samples)[cut:] if (directive := resumed.watch(item))]
        assert said == [directive for directive in straight if directive.body["step_now"] >= cut]


def test_begin_forgets_the_last_episode():
    supervisor = rules(max_diagnoses=1)
    for _ in range(3):
        supervisor.begin(TASK, TASK.goal)
        assert len(play(supervisor, CLOSING + HELD + OPENED)) == 1


class Reckless:
    """Names a target that does not exist."""

    name = "reckless"
    wants_pictures = False

    def fingerprint(self) -> dict[str, Any]:
        return {"diagnoser": self.name}

    def diagnose(self, case: Case) -> Opinion:
        return Opinion(
            diagnosis=Diagnosis(
                step_now=case.step_now,
                verdict="fault",
                confidence=1.0,
                fault_class="control",
                fault_type="C5",
                onset_step=case.alarm.onset,
                rollback_step=0,
            )
        )


def test_an_impossible_target_is_an_abstention_whoever_names_it():
    supervisor = DiagnosingSupervisor(Reckless())
    supervisor.begin(TASK, TASK.goal)
    played = [moment(i, c, mm, x=0.01 * i, snapshots=(7,)) for i, (c, mm) in enumerate(CLOSING + HELD + OPENED)]
    (said,) = [directive for item in played if (directive := supervisor.watch(item))]
    assert said.rollback_to is None
    assert (said.body["verdict"], said.body["abstain_cause"]) == ("abstain", "invalid")


def test_fingerprint_follows_everything_that_changes_decisions():
    def mark(**options: Any) -> str:
        return repr(rules(**options).fingerprint())

    assert mark() == mark()
    changes: list[dict[str, Any]] = [
        {"margin_steps": 7},
        {"max_interventions": 1},
        {"max_diagnoses": 3},
        {"min_confidence": 0.7},
    ]
    assert len({mark(), *(mark(**change) for change in changes)}) == 5


def test_configuration_is_strict():
    assert build(DiagnosisConfig(diagnoser="none")) is None
    assert DiagnosisConfig.model_validate("none").diagnoser == "none"
    with pytest.raises(ValidationError, match="max_intervention"):
        DiagnosisConfig.model_validate({"max_intervention": 3})
    with pytest.raises(ValidationError, match="needs `model`"):
        DiagnosisConfig.model_validate("vlm")
    with pytest.raises(ValidationError, match="take none"):
        DiagnosisConfig.model_validate({"diagnoser": "rules", "model": "x"})
    assert DiagnosisConfig.model_validate({"diagnoser": "vlm", "model": "fake/ok"}).model is not None
