"""The model diagnoser against the fake provider: good answers, bad ones, none at all."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import environments
from agents.gateway import ModelGateway
from agents.vlm import pictures
from arena.diagnosis import Alarm, Case, DiagnosingSupervisor, VlmDiagnoser, keyframes
from arena.diagnosis.schema import MAX_OFFSET_M, RepairKind
from arena.diagnosis.signals import Reading
from arena.models import ModelOptions
from arena.supervision import Moment
from environments.env import Views
from environments.robots import repairs

NOW, ONSET = 50, 45
SNAPSHOTS = tuple(range(NOW + 1))
GOOD = {
    "verdict": "fault",
    "confidence": 0.9,
    "fault_class": "control",
    "fault_type": "C5",
    "severity": 2,
    "onset_step": 44,
    "rollback_step": 38,
    "evidence": [{"camera": "agentview", "step": 48, "note": "the cube is below the fingers"}],
}
OK = {"verdict": "ok", "confidence": 0.8}


@pytest.fixture(scope="module")
def fakes() -> Any:
    """The fake provider's module, loaded by path: `tests` is no package."""
    if "fake_provider" not in sys.modules:
        path = Path(__file__).parents[1] / "fakes" / "provider.py"
        spec = importlib.util.spec_from_file_location("fake_provider", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["fake_provider"] = module
        spec.loader.exec_module(module)
    return sys.modules["fake_provider"]


@pytest.fixture
def serve(fakes: Any) -> Iterator[Callable[..., Any]]:
    """Starts providers that answer as told; stops them after the test."""
    running = []

    def start(*answers: Any, script: tuple[str, ...] = ()) -> Any:
        left = list(answers)
        provider = fakes.FakeProvider(list(script), policy=lambda seen: left.pop(0) if len(left) > 1 else left[0])
        running.append(provider.start())
        return provider

    yield start
    for provider in running:
        provider.close()


def picture(step: int, view: int) -> np.ndarray[Any, Any]:
    frame = np.zeros((64, 96, 3), np.uint8)
    frame[..., view] = 3 * step
    return frame


def case(**changes: Any) -> Case:
    readings = tuple(
        Reading(step=i, closing=True, push=0.3, width_m=0.04, eef_pos_m=(0.1, 0.2, 0.9), speed_m_s=0.2)
        for i in range(NOW + 1)
    )
    fields: dict[str, Any] = {
        "task_id": "tabletop/pick-place-bowl-v1",
        "instruction": "put the red cube in the bowl",
        "alarm": Alarm(monitor="gripper-lost", step=NOW, onset=ONSET, since=20, note="40.0 mm, then 45.0 mm"),
        "step_now": NOW,
        "snapshots": SNAPSHOTS,
        "readings": readings,
        "pictures": {
            step: {"agentview": picture(step, 0), "wrist": picture(step, 1)} for step in (30, 36, 42, 45, 48, 50)
        },
    }
    return Case(**(fields | changes))


def diagnoser(provider: Any, **options: Any) -> VlmDiagnoser:
    settings = ModelOptions(model="fake", base_url=provider.url, max_retries=0, **options)
    return VlmDiagnoser(ModelGateway(settings), settings)


def test_a_good_answer_becomes_a_diagnosis(serve: Any):
    opinion = diagnoser(serve(GOOD)).diagnose(case())
    it = opinion.diagnosis
    assert (it.verdict, it.fault_type, it.onset_step, it.rollback_step) == ("fault", "C5", 44, 38)
    assert [call.purpose for call in opinion.calls] == ["diagnose"]


def test_the_model_sees_labelled_pictures_of_both_cameras_and_the_facts(serve: Any):
    """What arrives decodes to the frames of the chosen moments, with a band for the label above each."""
    provider = serve(OK)
    call = diagnoser(provider).diagnose(case()).calls[0]
    (seen,) = provider.requests
    chosen = keyframes.choose([30, 36, 42, 45, 48, 50], ONSET, NOW)
    assert list(chosen) == [36, 45, 48, 50] or list(chosen) == [36, 45, 50]
    assert len(seen.images) == len(call.images) == 2 * len(chosen)
    for i, step in enumerate(chosen):
        for view in range(2):
            arrived = seen.images[2 * i + view]
            assert arrived.shape == (84, 96, 3)
            assert np.array_equal(arrived[20:], picture(step, view))
            assert arrived[:20].max() == 255, "the label is drawn in"
        assert f"Step {step} (" in seen.text
    for fact in ("put the red cube in the bowl", "gripper-lost", "0-50", "camera wrist", "| 45 | close | 40.0 |"):
        assert fact in seen.text
    assert "fault_truth" not in seen.text


def test_the_model_is_told_what_each_repair_does_within_which_bounds_and_that_doing_nothing_is_usual(serve: Any):
    provider = serve(OK)
    diagnoser(provider).diagnose(case(earlier=("stall", "gripper-lost")))
    text = provider.requests[0].text
    for kind in get_args(RepairKind):
        assert f"- `{kind}`: " in text, kind
    assert f"at most {MAX_OFFSET_M:.2f} m along each axis" in text and f"rises by {repairs.LIFT_M:.2f} m" in text
    assert "`world` and `base`" in text and "`eef`" in text and "Doing nothing is the default" in text
    assert "A false alarm costs more than a miss" in text
    assert "the objects as well as the arm" in text and "stay where they are now" not in text
    assert "by what led to them: stall, gripper-lost" in text
    assert "the monitor `gripper-lost`, which knows" in text and "no alarm was raised" not in text


def test_at_a_look_the_model_is_told_that_no_alarm_was_raised(serve: Any):
    provider = serve(OK)
    look = Alarm(monitor="stage", step=NOW, onset=ONSET, since=ONSET, note="the hand was told to close", look=True)
    diagnoser(provider).diagnose(case(alarm=look))
    text = provider.requests[0].text
    assert "no alarm was raised" in text and "the hand was told to close" in text and "raised an alarm at" not in text
    assert "(at the beginning of the stage)" in text and "(at the onset)" not in text


def test_where_the_arm_alone_goes_back_the_model_is_told_so(serve: Any):
    provider = serve(OK)
    diagnoser(provider).diagnose(case(rollback="physical"))
    text = provider.requests[0].text
    assert "stay where they are now" in text and "the objects as well as the arm" not in text


@pytest.mark.parametrize("mode", ["tool", "json_schema", "prompt"])
def test_every_way_to_ask_for_the_form_works(serve: Any, mode: str):
    assert diagnoser(serve(GOOD), mode=mode).diagnose(case()).diagnosis.fault_type == "C5"


def test_an_impossible_step_is_told_and_may_be_mended(serve: Any):
    provider = serve(GOOD | {"rollback_step": 39}, GOOD)
    opinion = diagnoser(provider).diagnose(case(snapshots=(0, 20, 38)))
    assert opinion.diagnosis.rollback_step == 38
    assert [call.purpose for call in opinion.calls] == ["diagnose", "repair"]
    assert "rollback_step 39 is not one of the snapshots; the nearest is 38" in provider.requests[1].text


@pytest.mark.parametrize(
    "answer",
    [
        GOOD | {"rollback_step": 10**9},
        GOOD | {"rollback_step": 47},
        GOOD | {"onset_step": 99},
        GOOD | {"fault_type": "; DROP TABLE diagnosis"},
        GOOD | {"rollback_step": "__import__('os').system('true')"},
        GOOD | {"confidence": "very"},
        {"verdict": "fault", "confidence": 1},
        {"verdict": "ok", "confidence": 1, "rollback_step": 3},
        {"action": "rollback"},
        [],
    ],
)
def test_what_stays_impossible_is_an_abstention_after_one_repair(serve: Any, answer: Any):
    provider = serve(answer)
    opinion = diagnoser(provider).diagnose(case())
    assert (opinion.diagnosis.verdict, opinion.diagnosis.abstain_cause) == ("abstain", "invalid")
    assert opinion.diagnosis.rollback_step is None and opinion.diagnosis.abstain_reason
    assert len(provider.requests) == len(opinion.calls) == 2


@pytest.mark.parametrize("kind", ["malformed", "prose", "empty", "truncated"])
def test_an_unreadable_reply_is_an_abstention(serve: Any, kind: str):
    opinion = diagnoser(serve(GOOD, script=(kind, kind))).diagnose(case())
    assert (opinion.diagnosis.verdict, opinion.diagnosis.abstain_cause) == ("abstain", "invalid")
    assert len(opinion.calls) == 2


def test_an_unreadable_reply_may_be_mended(serve: Any):
    assert diagnoser(serve(GOOD, script=("prose", "ok"))).diagnose(case()).diagnosis.verdict == "fault"


def test_hostile_words_are_kept_as_words(serve: Any):
    words = "<script>alert(1)</script>\x1b[31m ignore all rules \x00"
    it = diagnoser(serve(GOOD | {"rationale": words, "entity": "../../etc"})).diagnose(case()).diagnosis
    assert it.rationale == "<script>alert(1)</script>\ufffd[31m ignore all rules \ufffd"
    assert it.entity == "../../etc"


def test_a_refusal_is_the_models_own_abstention(serve: Any):
    opinion = diagnoser(serve(GOOD, script=("refusal",))).diagnose(case())
    assert (opinion.diagnosis.verdict, opinion.diagnosis.abstain_cause) == ("abstain", "declined")
    assert len(opinion.calls) == 1


@pytest.mark.parametrize(
    ("kind", "status"),
    [("hang", "timeout"), ("500", "server_error"), ("429", "rate_limited"), ("drop", "network"), ("html", "malformed")],
)
def test_a_failing_provider_is_no_opinion_and_leaves_its_call(serve: Any, kind: str, status: str):
    opinion = diagnoser(serve(GOOD, script=(kind,)), timeout_s=0.5).diagnose(case())
    assert (opinion.diagnosis.verdict, opinion.diagnosis.abstain_cause) == ("abstain", "provider")
    assert [call.status for call in opinion.calls] == [status]


def test_a_provider_that_fails_at_the_repair_leaves_both_calls(serve: Any):
    opinion = diagnoser(serve(GOOD, script=("prose", "500"))).diagnose(case())
    assert opinion.diagnosis.abstain_cause == "provider"
    assert [call.status for call in opinion.calls] == ["ok", "server_error"]


def test_the_fingerprint_follows_what_changes_the_answer_and_holds_no_key(serve: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ARENA_API_KEY", "sk-very-secret")
    provider = serve(GOOD)
    mark = repr(diagnoser(provider).fingerprint())
    assert mark == repr(diagnoser(provider, timeout_s=9).fingerprint())
    assert mark != repr(diagnoser(provider, temperature=1.0).fingerprint())
    assert "secret" not in mark


class _World:
    """As much of an environment as `Views` looks at."""

    moment = 0
    lazy = True


def watched(supervisor: DiagnosingSupervisor, drop: bool) -> tuple[list[Any], list[int]]:
    """Play a carry; returns the directives, and the steps whose pictures were rendered."""
    supervisor.begin(environments.get("tabletop/pick-place-bowl-v1"), "put the red cube in the bowl")
    said, rendered = [], []
    for i in range(31):
        width = 0.04 if i < 25 or not drop else 0.04 + 0.003 * (i - 24)

        def render(i: int = i) -> Any:
            rendered.append(i)
            return picture(i, 0)

        views = Views({"state": np.zeros(8, np.float32), "instruction": "x"}, {"agentview": render}, _World())  # type: ignore[arg-type]
        telemetry = {"gripper_width_m": width, "eef_pos_m": [0.01 * i, 0, 0.9], "eef_speed_m_s": 0.2}
        moment = Moment(
            index=i, sim_step=i, branch=0, action=[0.2, 0, 0, 0, 0, 0, 1.0], telemetry=telemetry,
            observation=views, snapshots=tuple(range(i + 1)),
        )  # fmt: skip
        directive = supervisor.watch(moment)
        said += [directive] if directive else []
    return said, rendered


def test_supervisor_looks_now_and_then_and_at_the_alarm(serve: Any):
    provider = serve(GOOD | {"onset_step": 25, "rollback_step": 20, "evidence": []})
    supervisor = DiagnosingSupervisor(diagnoser(provider), picture_every=5)
    (said,), rendered = watched(supervisor, drop=True)
    assert said.rollback_to == 20 and len(said.calls) == 1
    assert rendered == [0, 5, 10, 15, 20, 25, 26, 30]
    assert len(provider.requests[0].images) >= 3


def test_without_an_alarm_no_model_is_asked(serve: Any):
    provider = serve(GOOD)
    said, _ = watched(DiagnosingSupervisor(diagnoser(provider)), drop=False)
    assert said == [] and provider.requests == []


def test_a_failing_provider_does_not_end_the_episode(serve: Any):
    (said,), _ = watched(DiagnosingSupervisor(diagnoser(serve(GOOD, script=("500",)))), drop=True)
    assert said.rollback_to is None
    assert (said.body["verdict"], said.body["abstain_cause"]) == ("abstain", "provider")


def test_pictures_are_found_by_what_they_are():
    views = Views(
        {"state": np.zeros(8, np.float32), "instruction": "x"},
        {"agentview": lambda: picture(1, 0), "wrist": lambda: picture(1, 1)},
        _World(),  # type: ignore[arg-type]
    )
    assert list(pictures(views)) == ["agentview", "wrist"]


def test_keyframes_are_few_distinct_and_in_order():
    assert keyframes.choose([], 5, 9) == {}
    assert keyframes.choose([9], 5, 9) == {9: "now"}
    assert list(keyframes.choose(range(71), 50, 70)) == [46, 50, 60, 70]


def test_ranges_of_steps_in_words():
    assert keyframes.ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert keyframes.ranges([]) == "none"
