"""The metrics, on rows whose figures can be worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from arena.diagnosis.metrics import Supervised, abstentions, detection, naming, onset_error, rescue
from storage.models import Diagnosis, Fault


def fault(onset: int | None, fault_type: str = "C5", fault_class: str = "control") -> Fault:
    return Fault(episode_id="e", kind="k", fault_class=fault_class, fault_type=fault_type, onset_step=onset)


def said(step: int, verdict: str = "fault", **more: Any) -> Diagnosis:
    body = {"verdict": verdict, "onset_step": more.pop("onset", None), "abstain_cause": more.pop("cause", None)}
    return Diagnosis(
        id=f"d{step}", episode_id="e", step_index=step, trigger="t", diagnoser="x", fingerprint="f",
        verdict=verdict, body=body, **more,
    )  # fmt: skip


def named(step: int, fault_type: str, fault_class: str, onset: int | None = None) -> Diagnosis:
    return said(step, fault_type=fault_type, fault_class=fault_class, onset=onset)


def episode(truth: Fault | None, *diagnoses: Diagnosis, seed: int = 0) -> Supervised:
    return Supervised(episode_id="e", seed=seed, success=True, fault=truth, diagnoses=diagnoses)


def test_detection_counts_each_episode_once():
    found = detection(
        [
            episode(fault(10), said(14), said(30)),  # detected
            episode(fault(10), said(14, "unrecoverable")),  # detected
            episode(fault(10), said(14, "suspect")),  # missed: nothing would be done
            episode(fault(10), said(5)),  # missed, and a false alarm before the onset
            episode(None, said(5)),  # false alarm
            episode(fault(None), said(5, "ok")),  # clean: the fault never fired
            episode(None),
            episode(None, said(5, "abstain", cause="invalid")),
        ]
    )
    assert (found.detected, found.missed, found.false_alarms, found.quiet, found.premature) == (2, 2, 1, 3, 1)
    assert found.precision == pytest.approx(2 / 4)
    assert found.recall == pytest.approx(1 / 2)
    assert found.false_alarm_rate == pytest.approx(1 / 4)


def test_an_episode_without_an_answer_measures_nobody():
    """A provider failure is neither a miss nor a rightly quiet episode."""
    failed = said(5, "abstain", cause="provider")
    found = detection([episode(fault(3), failed), episode(None, failed), episode(fault(3), failed, said(9))])
    assert (found.unanswered, found.detected, found.missed, found.quiet) == (2, 1, 0, 0)


def test_rates_of_nothing_are_unknown():
    found = detection([])
    assert (found.precision, found.recall, found.false_alarm_rate) == (None, None, None)
    assert naming([]).type_accuracy is None
    assert onset_error([]).median is None
    nothing = rescue({}, {})
    assert (nothing.alone, nothing.p_value, nothing.net) == (None, None, 0)


def test_onset_error_is_signed_and_in_steps():
    claims = [(10, 9), (10, 10), (10, 12), (10, 20)]
    error = onset_error([episode(fault(true), said(30, onset=claim)) for true, claim in claims])
    assert (error.n, error.median, error.p90_abs) == (4, 1.0, 10.0)
    assert error.hits == {1: 0.5, 3: 0.75, 5: 0.75}


def test_naming_counts_class_and_type():
    found = naming(
        [
            episode(fault(1), named(5, "C5", "control")),
            episode(fault(1), named(5, "C3", "control")),
            episode(fault(1), named(5, "L2", "planning")),
            episode(fault(1)),  # not detected: not named
        ]
    )
    assert (found.n, found.class_accuracy, found.type_accuracy) == (3, pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert found.confusion == {("C5", "C5"): 1, ("C5", "C3"): 1, ("C5", "L2"): 1}


def test_abstentions_are_told_apart():
    causes = ("declined", "invalid", "invalid", "provider")
    counts = abstentions([episode(None, *(said(i, "abstain", cause=cause) for i, cause in enumerate(causes)))])
    assert (counts.declined, counts.invalid, counts.provider) == (1, 2, 1)


def test_rescue_pairs_by_seed():
    alone = {1: False, 2: False, 3: True, 4: True, 5: False, 9: True}
    supervised = {1: True, 2: True, 3: False, 4: True, 5: False, 7: True}
    found = rescue(alone, supervised)
    assert (found.pairs, found.rescued, found.broken, found.net, found.unpaired) == (5, 2, 1, 1, 2)
    assert (found.alone, found.supervised) == (pytest.approx(0.4), pytest.approx(0.6))


def test_mcnemar_is_exact():
    ten = rescue(dict.fromkeys(range(10), False), dict.fromkeys(range(10), True))
    assert ten.p_value == pytest.approx(2 / 1024)
    even = rescue({0: False, 1: True}, {0: True, 1: False})
    assert even.p_value == 1.0
