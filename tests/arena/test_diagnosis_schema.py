"""The diagnosis schema: what it accepts, what it refuses, and that junk never gets through."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.errors import UnreadableReply
from arena.diagnosis.schema import CLASS_OF, FAULT_TYPES, MAX_OFFSET_M, Diagnosis, validate_against
from arena.diagnosis.vlm import read_answer

SNAPSHOTS = tuple(range(51))


def drop(**changes: Any) -> dict[str, Any]:
    """A good diagnosis of a drop, with changes."""
    return {
        "step_now": 50,
        "verdict": "fault",
        "confidence": 0.9,
        "fault_class": "control",
        "fault_type": "C5",
        "severity": 2,
        "onset_step": 45,
        "onset_interval": [43, 46],
        "rollback_step": 38,
        "repair": {"kind": "retry"},
    } | changes


def test_a_good_diagnosis_survives_storage():
    diagnosis = Diagnosis.model_validate(drop())
    assert Diagnosis.model_validate_json(json.dumps(diagnosis.to_json())) == diagnosis
    assert validate_against(diagnosis, SNAPSHOTS, 50) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"fault_class": "planning"}, "C5 is of class 'control'"),
        ({"fault_class": "none", "fault_type": "N0"}, "needs a fault_class"),
        ({"verdict": "ok"}, "goes with fault_class 'none'"),
        ({"verdict": "suspect"}, "only a fault is rolled back"),
        ({"verdict": "unrecoverable"}, "only a fault is rolled back"),
        ({"onset_step": None, "onset_interval": None}, "needs an onset_step"),
        ({"rollback_step": 46}, "is after onset_step"),
        ({"onset_interval": [47, 48]}, "outside onset_interval"),
        ({"onset_interval": [46, 43]}, "ends before it begins"),
        ({"confidence": 1.01}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"severity": 4}, "severity"),
        ({"fault_type": "C9"}, "fault_type"),
        ({"onset_step": -1}, "onset_step"),
        ({"surprise": 1}, "surprise"),
        ({"abstain_reason": "because"}, "abstain_reason belongs"),
        ({"schema_version": 2}, "schema_version"),
        ({"repair": {"kind": "offset"}}, "offset_m belongs"),
        ({"repair": {"kind": "offset", "offset_m": [0, 0, MAX_OFFSET_M * 1.01], "apply_steps": 2}}, "offset_m"),
        ({"repair": {"kind": "reprompt"}}, "reprompt"),
        ({"deviation": {"dxyz_m": [0, 0, 0.01]}}, "frame"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], told: str):
    with pytest.raises(ValidationError, match=told):
        Diagnosis.model_validate(drop(**changes))


def test_every_type_belongs_to_exactly_one_class():
    for fault_type in FAULT_TYPES:
        right = CLASS_OF[fault_type[0]]
        for fault_class in set(CLASS_OF.values()):
            value = {
                "step_now": 1,
                "verdict": "suspect",
                "confidence": 0,
                "fault_type": fault_type,
                "fault_class": fault_class,
            }
            if fault_class == right:
                assert Diagnosis.model_validate(value).fault_type == fault_type
            else:
                with pytest.raises(ValidationError, match="is of class"):
                    Diagnosis.model_validate(value)


def test_what_is_impossible_in_this_episode_is_told():
    diagnosis = Diagnosis.model_validate(drop(evidence=[{"camera": "wrist", "step": 60, "note": "?"}]))
    problems = validate_against(diagnosis, (0, 10, 36), 44)
    assert any("step_now: expected 44, got 50" in problem for problem in problems)
    assert any("onset_step 45 is in the future" in problem for problem in problems)
    assert any("rollback_step 38 is not one of the snapshots; the nearest is 36" in problem for problem in problems)
    assert any("evidence[0].step 60" in problem for problem in problems)
    assert any("onset_interval ends at 46" in problem for problem in problems)


def test_an_abstention_keeps_its_cause_and_bounds_its_reason():
    it = Diagnosis.abstention(3, "provider", "x" * 5_000 + "\x00")
    assert (it.verdict, it.abstain_cause, it.rollback_step, len(it.abstain_reason)) == (
        "abstain",
        "provider",
        None,
        2_000,
    )
    assert Diagnosis.abstention(3, "invalid", " ").abstain_reason == "no reason given"


def test_control_characters_never_reach_the_database():
    hostile = "a\x00b\x1b[2J\x7f"
    it = Diagnosis.model_validate(drop(entity=hostile, evidence=[{"camera": "wrist", "step": 1, "note": hostile}]))
    assert it.entity == it.evidence[0].note == "a\ufffdb\ufffd[2J\ufffd"


@pytest.mark.parametrize(
    ("hostile", "kept"),
    [
        ("a\x80b\x9b2Jc\x9f", "a\ufffdb\ufffd2Jc\ufffd"),  # C1: 0x9b begins an escape sequence like ESC [
        ("no \u202etluaf\u202c", "no tluaf"),
        ("\u202a\u202b\u202d\u2066\u2067\u2068\u2069\u200e\u200f\u061cx", "x"),
        ("c\u200bu\u200cb\u200de\u2060\ufeff\u00ad", "cube"),
        ("x\U000e0069\U000e0067", "x"),  # tags: letters that nobody sees
        ("a\u2028b\u2029c\u0085d", "a\ufffdb\ufffdc\ufffdd"),
        ("café 物体 \U0001f916 one\ttwo\nthree", "café 物体 \U0001f916 one\ttwo\nthree"),
    ],
)
def test_what_turns_a_line_round_or_hides_in_it_is_taken_out_of_every_text(hostile: str, kept: str):
    """Through the schema, and through a model's answer; nothing of it is left in what is stored."""
    texts = {
        "entity": hostile, "stage": hostile, "rationale": hostile,
        "evidence": [{"camera": hostile, "step": 1, "note": hostile}],
        "repair": {"kind": "reprompt", "reprompt": "go " + hostile},
    }  # fmt: skip
    answer = {key: value for key, value in drop(**texts).items() if key != "step_now"}
    for it in (Diagnosis.model_validate(drop(**texts)), read_answer(json.dumps(answer), SNAPSHOTS, 50)):
        assert (it.entity, it.stage, it.rationale, it.repair.reprompt) == (kept, kept, kept, "go " + kept)
        assert (it.evidence[0].camera, it.evidence[0].note) == (kept, kept)
    assert Diagnosis.abstention(3, "declined", hostile).abstain_reason == kept


def test_an_instruction_that_nobody_can_see_is_none():
    with pytest.raises(ValidationError, match="reprompt"):
        Diagnosis.model_validate(drop(repair={"kind": "reprompt", "reprompt": "\u200b\u202e"}))


def test_the_answer_schema_is_plain_and_asks_for_nothing_the_arena_knows():
    text = json.dumps(Diagnosis.answer_schema())
    assert "$ref" not in text and "prefixItems" not in text
    assert not {"schema_version", "step_now", "abstain_cause"} & Diagnosis.answer_schema()["properties"].keys()


def test_an_answer_is_read_through_prose_and_wrapping():
    answer = {key: value for key, value in drop().items() if key != "step_now"}
    for text in (json.dumps(answer), f"Well.\n```json\n{json.dumps(answer)}\n```", json.dumps({"diagnosis": answer})):
        assert read_answer(text, SNAPSHOTS, 50) == Diagnosis.model_validate(drop())


def test_a_model_cannot_say_what_only_the_arena_knows():
    text = json.dumps(drop(step_now=7, schema_version=9, abstain_cause="provider"))
    it = read_answer(text, SNAPSHOTS, 50)
    assert (it.step_now, it.schema_version, it.abstain_cause) == (50, 1, None)
    declined = json.dumps(
        {"verdict": "abstain", "confidence": 0, "abstain_reason": "dark", "abstain_cause": "provider"}
    )
    assert read_answer(declined, SNAPSHOTS, 50).abstain_cause == "declined"


_junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_half_right = st.fixed_dictionaries(
    {}, optional={name: _junk | st.just(value) for name, value in drop(rollback_step=3).items()}
)


@settings(max_examples=100, deadline=None)
@given(_half_right | _junk)
def test_junk_is_refused_or_is_a_possible_diagnosis(value: Any):
    """Whatever comes in, the only ways out are `UnreadableReply` and a diagnosis that may be acted upon."""
    try:
        it = read_answer(json.dumps(value), (0, 3, 9), 10)
    except UnreadableReply as error:
        assert error.problems and all(error.problems)
        return
    assert validate_against(it, (0, 3, 9), 10) == []
    assert it.rollback_step is None or (it.verdict == "fault" and it.rollback_step in (0, 3, 9))
    json.dumps(it.to_json(), allow_nan=False).encode("utf-8")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda data: data.decode("latin-1")))
def test_any_text_is_refused_or_read_never_raised(text: str):
    with contextlib.suppress(UnreadableReply):
        read_answer(text, (0,), 1)
