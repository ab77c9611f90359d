"""The figures of the static track, on answers whose figures can be worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from arena.diagnosis.static_metrics import Pair, by_type, intervals, macro_f1, score
from arena.faults.dataset import Episode, Truth

TRUTH: dict[str, Any] = {
    "fault_class": "control", "fault_type": "C5", "kind": "gripper-opens-mid-carry", "injected_type": "C5",
    "severity": 2, "stage": "transport", "onset_step": 50, "manifest_step": 59, "no_return_step": 90,
    "entity": "cube", "dxyz_m": (0.03, 0.04, 0.0), "drot_rad": (0.0, 0.0, 0.0), "repair": "retry",
}  # fmt: skip
SAID: dict[str, Any] = {
    "verdict": "fault", "confidence": 0.9, "fault_class": "control", "fault_type": "C5", "severity": 2,
    "stage": "transport", "onset_step": 50, "onset_interval": None, "rollback_step": 40, "deviation": None,
    "repair": {"kind": "retry"}, "abstain_cause": None, "subtasks": [],
}  # fmt: skip
OK = SAID | {"verdict": "ok", "fault_class": "none", "fault_type": "N0", "onset_step": None, "rollback_step": None}


def episode(truth: dict[str, Any] | None) -> Episode:
    told = Truth(**truth) if truth else Truth(fault_class="none", fault_type="N0")
    return Episode(
        id="0" * 16, split="heldout", task="t", family="f", instruction="i", player="p", seed=0,
        success=not told.faulty, steps=200, horizon=200, truth=told, fault=None, stages=[],
        subtasks={"reach": 10, "place": None},
    )  # fmt: skip


def faulty(said: dict[str, Any] = {}, noticed: int | None = None, **truth: Any) -> Pair:  # noqa: B006  never changed
    return Pair(episode=episode(TRUTH | truth), body=SAID | said, noticed_step=noticed)


def good(said: dict[str, Any] = OK, **truth: Any) -> Pair:
    return Pair(episode=episode(TRUTH | truth if truth else None), body=said)


def abstained(cause: str, *, faulty_: bool) -> Pair:
    return Pair(episode=episode(TRUTH if faulty_ else None), body=OK | {"verdict": "abstain", "abstain_cause": cause})


def test_detection_counts_claims_and_nothing_else():
    """3 of 5 faults claimed, 1 of 4 good episodes: precision 3/4, recall 3/5, F1 2*3/(2*3+1+2), FPR 1/4."""
    pairs = [
        faulty(), faulty(), faulty({"verdict": "unrecoverable"}),
        faulty(OK), faulty({"verdict": "suspect"}),
        good(), good(OK | {"verdict": "suspect"}), abstained("invalid", faulty_=False), good(SAID),
    ]  # fmt: skip
    found = score(pairs)
    assert (found.n, found.faulty, found.detected, found.false_alarms) == (9, 5, 3, 1)
    assert found.precision == pytest.approx(3 / 4)
    assert found.recall == pytest.approx(3 / 5)
    assert found.f1 == pytest.approx(6 / 9)
    assert found.false_positive_rate == pytest.approx(1 / 4)
    assert found.abstained == {"invalid": 1}
    low, high = intervals(found)["recall"][1:3]  # type: ignore[index]
    assert low == pytest.approx(0.2307, abs=1e-3) and high == pytest.approx(0.8824, abs=1e-3)


def test_a_provider_that_failed_measures_nobody():
    found = score([faulty(), abstained("provider", faulty_=True), abstained("provider", faulty_=False)])
    assert (found.n, found.recall, found.false_positive_rate) == (1, 1.0, None)
    assert found.abstained == {"provider": 2}


def test_an_abstention_on_a_fault_is_a_miss():
    found = score([faulty(), abstained("declined", faulty_=True)])
    assert found.recall == pytest.approx(1 / 2)
    assert found.class_macro_f1 == pytest.approx(2 / 3), "one right, one without a label"


def test_auroc_orders_episodes_by_how_likely_a_fault_was_said_to_be():
    """Scores of faults 0.9, 0.5 (suspect); of good ones 0.2 (ok at 0.8), 0.6: of 4 pairs 3 are in order."""
    pairs = [
        faulty(), faulty({"verdict": "suspect"}),
        good(OK | {"confidence": 0.8}), good(SAID | {"confidence": 0.6}),
    ]  # fmt: skip
    assert score(pairs).auroc == pytest.approx(3 / 4)


def test_macro_f1_weighs_rare_labels_as_common_ones():
    """a: 2 right of 3, nothing wrong besides: 4/5. b: 1 right, and 1 said of an a: 2/3."""
    assert macro_f1([("a", "a"), ("a", "a"), ("a", "b"), ("b", "b")]) == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert macro_f1([("a", "abstain")]) == 0.0
    assert macro_f1([]) is None


def test_benign_injections_and_clean_episodes_are_one_label():
    benign = good(OK, fault_class="none", fault_type="N1", severity=0)
    assert score([benign, good()]).type_macro_f1 == 1.0


def test_onset_error_is_signed_and_its_size_has_a_tail():
    """Errors -4, 0, 2, 12: median 1, 90th percentile of the size 12, within 5: 3 of 4."""
    found = score([faulty({"onset_step": 50 + error}) for error in (-4, 0, 2, 12)])
    assert (found.onset_n, found.onset_median, found.onset_p90_abs) == (4, 1.0, 12.0)
    assert found.hits == {"5": 0.75, "10": 0.75, "20": 1.0}


def test_interval_iou_counts_steps():
    """The truth is 50 to 59. 55 to 64 shares 5 of 15 steps; 50 to 59 all; 100 to 110 none."""
    intervals_ = ([55, 64], [50, 59], [100, 110])
    values = [score([faulty({"onset_interval": said})]).interval_iou for said in intervals_]
    assert values == [pytest.approx(1 / 3), 1.0, 0.0]
    assert score([faulty()]).interval_iou is None


def test_lead_time_is_counted_to_the_point_of_no_return():
    """Alarms at 60 and 100 before and after 90; where no monitor spoke, the claimed onset (50) stands for it."""
    found = score([faulty(noticed=60), faulty(noticed=100), faulty()])
    assert found.lead_median == 30.0
    assert found.lead_in_time == pytest.approx(2 / 3)
    assert score([faulty(no_return_step=None)]).lead_median is None


def test_deviation_is_compared_in_direction_length_and_place():
    """True (3, 4, 0) cm. Said (6, 8, 0): cosine 1, twice as long, 5 cm off. Said (-4, 3, 0): at a right angle."""

    def said(*xyz: float, frame: str = "world") -> Pair:
        return faulty({"deviation": {"frame": frame, "dxyz_m": list(xyz)}})

    double = score([said(0.06, 0.08, 0.0)])
    assert (double.spatial_cosine, double.magnitude_ratio, double.error_cm) == pytest.approx((1.0, 2.0, 5.0))
    across = score([said(-0.04, 0.03, 0.0)])
    assert across.spatial_cosine == pytest.approx(0.0, abs=1e-9)
    assert across.error_cm == pytest.approx(50**0.5)
    assert score([said(0.0, 0.0, 0.0)]).spatial_cosine == 0.0
    assert score([said(0.03, 0.04, 0.0, frame="eef")]).spatial_n == 0, "another frame is not compared"
    gone = faulty({"deviation": {"frame": "world", "dxyz_m": [2.0, 0.0, 0.0]}}, dxyz_m=(4.8, 0.0, -1.0))
    assert score([gone]).spatial_n == 0, "no answer can say so much"


def test_a_rollback_is_valid_before_onset_and_point_of_no_return():
    pairs = [faulty({"rollback_step": step}) for step in (0, 50, 51, None)]
    found = score(pairs)
    assert found.rollback_named == pytest.approx(3 / 4)
    assert found.rollback_valid == pytest.approx(2 / 3)
    assert score([faulty({"rollback_step": 45}, no_return_step=40)]).rollback_valid == 0.0


def test_naming_severity_and_repair_are_of_detected_faults_alone():
    pairs = [
        faulty(),
        faulty({"fault_type": "C6", "severity": 3, "stage": " Reach ", "repair": {"kind": "reset"}}),
        faulty(OK), good(SAID),
    ]  # fmt: skip
    found = score(pairs)
    assert (found.class_accuracy, found.type_accuracy, found.stage_accuracy) == (1.0, 0.5, 0.5)
    assert (found.severity_mae, found.repair_accuracy) == (0.5, 0.5)


def test_subtasks_are_judged_by_name():
    """`reach` was done, `place` was not; an unknown name counts for nothing."""
    said = [{"name": "reach", "done": True}, {"name": "place", "done": True}, {"name": "; DROP", "done": True}]
    found = score([faulty({"subtasks": said}), faulty()])
    assert found.subtask_accuracy == pytest.approx(1 / 2)
    assert found.subtask_answered == pytest.approx(2 / 4)


def test_rows_by_type_keep_benign_injections_apart():
    rows = by_type([faulty(), good(), good(SAID, fault_class="none", fault_type="N1")])
    assert sorted(rows) == ["C5", "N0", "N1"]
    assert (rows["N1"].false_positive_rate, rows["N0"].false_positive_rate) == (1.0, 0.0)


def test_figures_of_nothing_are_unknown():
    found = score([])
    assert found.n == 0
    told = found.to_json()
    assert all(told[name] is None for name in ("precision", "recall", "auroc", "ece", "onset_median", "spatial_cosine"))
