"""The static track against the fake provider: known quality, false alarms, impossible steps, hostile text."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.gateway import ModelGateway
from arena.cli import common, static_tables
from arena.diagnosis import static_view
from arena.diagnosis.signals import Reading
from arena.diagnosis.static import StaticRules, StaticVlm, readings, recording
from arena.faults.dataset import Dataset, Episode, Manifest, Truth, as_line, clip_path, data_path, packed
from arena.faults.evaluation import Evaluation, NothingToShow, evaluate
from arena.faults.plan import BuildConfig
from arena.files import put
from arena.models import ModelOptions
from storage.video import VideoWriter

STEPS, ONSET = 120, 60
FAULT = {
    "verdict": "fault", "confidence": 0.9, "fault_class": "control", "fault_type": "C5", "severity": 2,
    "stage": "transport", "onset_step": ONSET + 3, "onset_interval": [ONSET, ONSET + 5], "rollback_step": 50,
    "deviation": {"frame": "world", "dxyz_m": [0.0, 0.0, -0.1]}, "repair": {"kind": "retry"},
    "subtasks": [{"name": "reach", "done": True}, {"name": "place", "done": False}],
}  # fmt: skip
OK = {
    "verdict": "ok",
    "confidence": 0.9,
    "subtasks": [{"name": "reach", "done": True}, {"name": "place", "done": True}],
}


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
    """Starts providers that answer by the request; stops them after the test."""
    running = []

    def start(policy: Callable[[Any], Any], script: tuple[str, ...] = ()) -> Any:
        provider = fakes.FakeProvider(list(script), policy=policy)
        running.append(provider.start())
        return provider

    yield start
    for provider in running:
        provider.close()


def arrays(drops: bool) -> dict[str, Any]:
    """A hand that closes at step 30 on something 40 mm wide and, if it drops it, opens ever faster from step 60 on."""
    n = np.arange(STEPS)
    command = np.zeros((STEPS, 7))
    command[:, 0], command[:, 6] = 0.3, np.where(n < 30, -1.0, 1.0)
    width = np.where(n < 30, 0.08, np.maximum(0.04, 0.08 - 0.005 * (n - 30)))
    if drops:
        width = np.where(n >= ONSET, np.minimum(0.08, 0.04 + 0.0005 * (n - ONSET) ** 2), width)
    place = np.stack([0.002 * n, np.zeros(STEPS), np.full(STEPS, 1.0)], axis=1)
    return {
        "state": np.zeros((STEPS + 1, 8), np.float32), "action": command, "command": command,
        "gripper_width_m": width, "eef_pos_m": place, "eef_speed_m_s": np.full(STEPS, 0.04),
        "stage": np.zeros(STEPS, np.int16),
    }  # fmt: skip


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Ten episodes, made by hand: six drops of which the odd ones are C5, and four good ones, two of them N1."""
    folder = tmp_path_factory.mktemp("home") / "made"
    episodes = []
    for i in range(10):
        faulty, benign = i < 6, i in (8, 9)
        truth = Truth(fault_class="none", fault_type="N1" if benign else "N0")
        if faulty:
            truth = Truth(
                fault_class="control", fault_type="C5" if i % 2 else "C3", severity=2, stage="transport",
                onset_step=ONSET, manifest_step=ONSET + 5, no_return_step=90, dxyz_m=(0.0, 0.0, -0.1), repair="retry",
            )  # fmt: skip
        name = hashlib.sha256(str(i).encode()).hexdigest()[:16]
        episodes.append(Episode(
            id=name, split="heldout", task="none/such-v1", family="f", instruction=f"do number {i}", player="p", seed=i,
            success=not faulty, steps=STEPS, horizon=STEPS, truth=truth, fault=None, stages=["transport"],
            subtasks={"reach": 10, "place": None if faulty else 100}, cameras=["agentview", "wrist"],
            clip_moments=[*range(0, STEPS, 20), STEPS],
        ))  # fmt: skip
        put(folder / data_path(name), packed(arrays(faulty)))
        for camera, level in (("agentview", 60), ("wrist", 180)):
            path = folder / clip_path(name, camera)
            path.parent.mkdir(parents=True, exist_ok=True)
            with VideoWriter(path, 1, (64, 48)) as writer:
                for _ in episodes[-1].clip_moments:
                    writer.write(np.full((48, 64, 3), level, np.uint8))
    lines = "\n".join(as_line(episode.model_dump(mode="json")) for episode in sorted(episodes, key=lambda e: e.id))
    put(folder / "episodes.jsonl", (lines + "\n").encode())
    manifest = Manifest(
        name="made", fingerprint="f", config=BuildConfig(tasks=("none/such-v1",)), made_with={}, wanted=10, episodes=10,
        dropped={}, unfilled=[], files={"episodes.jsonl": (hashlib.sha256(lines.encode()).hexdigest(), 1)},
    )  # fmt: skip
    put(folder / "manifest.json", json.dumps(manifest.model_dump(mode="json")).encode())
    return Dataset.open(folder)


@pytest.fixture(autouse=True)
def forgotten(dataset: Dataset) -> Iterator[None]:
    """No test meets the answers of another."""
    yield
    shutil.rmtree(dataset.folder.with_name("made.answers"), ignore_errors=True)


def vlm(provider: Any, **more: Any) -> StaticVlm:
    options = ModelOptions(model="fake", base_url=provider.url, max_retries=0)
    return StaticVlm(ModelGateway(options), options, **more)


def number(seen: Any) -> int:
    """Which of the episodes a request is about."""
    return int(re.findall(r"do number (\d+)", seen.text)[0])


def test_an_answer_of_known_quality_gets_its_figures(serve: Any, dataset: Dataset):
    """Faults 0 to 3 of 0 to 5 are found, and 6 is a confident false alarm: recall 4/6, FPR 1/4, precision 4/5."""
    found = evaluate(dataset, vlm(serve(lambda seen: FAULT if number(seen) in (0, 1, 2, 3, 6) else OK)))
    total = found.overall
    assert (total.recall, total.false_positive_rate, total.precision) == pytest.approx((4 / 6, 1 / 4, 4 / 5))
    assert (total.onset_median, total.type_accuracy, total.rollback_valid) == (3.0, 0.5, 1.0)
    assert (total.spatial_cosine, total.magnitude_ratio) == pytest.approx((1.0, 1.0))
    # "done" is right for both sub-tasks of found faults and quiet good ones; place is wrong in 4, 5 (missed) and 6.
    assert (total.subtask_accuracy, total.subtask_answered) == pytest.approx((17 / 20, 1.0))
    assert set(found.by_type) == {"C3", "C5", "N0", "N1"}
    assert found.by_type["N0"].false_positive_rate == 0.5
    assert found.calls == 10 and total.abstained == {}


def test_the_model_sees_both_cameras_the_steps_and_the_plot_and_no_truth(serve: Any, dataset: Dataset):
    provider = serve(lambda seen: OK)
    evaluate(dataset, vlm(provider, frames=4), limit=1)
    (seen,) = provider.requests
    moments = static_view.spread(dataset.episodes[0].clip_moments, 4)
    assert len(moments) == 4 and moments[0] == 0 and moments[-1] == STEPS
    assert len(seen.images) == 5, "four moments and the plot"
    for moment, picture in zip(moments, seen.images[:4], strict=True):
        assert picture.shape == (68, 128, 3), "two pictures of 48 x 64 side by side, and the band"
        assert abs(int(picture[40, 20].mean()) - 60) < 12 and abs(int(picture[40, 100].mean()) - 180) < 12
        assert picture[:20].max() == 255, "the label is drawn in"
        assert f"Step {moment}:" in seen.text
    assert "`reach`" in seen.text and "0 to 119" in seen.text
    truth = dataset.episodes[0]
    for secret in (truth.id, "heldout", "no_return", "manifest", "gripper-opens", "scripted-policy"):
        assert secret not in seen.text


def test_confident_false_alarms_everywhere_are_worth_nothing(serve: Any, dataset: Dataset):
    total = evaluate(dataset, vlm(serve(lambda seen: FAULT | {"confidence": 1.0}))).overall
    assert (total.recall, total.false_positive_rate, total.auroc) == (1.0, 1.0, 0.5)
    assert total.ece == pytest.approx(0.4), "sure of all ten, right in six"


@pytest.mark.parametrize(
    "answer",
    [
        FAULT | {"onset_step": STEPS + 5},
        FAULT | {"rollback_step": ONSET + 40},
        FAULT | {"rollback_step": 10**9},
        FAULT | {"fault_type": "'; DROP TABLE episode; --"},
        FAULT | {"confidence": 7},
        FAULT | {"subtasks": [{"name": "x" * 500, "done": True}]},
        FAULT | {"subtasks": [{"name": "reach", "done": "../../etc/passwd"}]},
        {"verdict": "fault", "confidence": 1},
        "I am sorry, I cannot.",
        [],
    ],
)
def test_what_does_not_fit_is_an_abstention_and_is_counted(serve: Any, dataset: Dataset, answer: Any):
    provider = serve(lambda seen: answer)
    total = evaluate(dataset, vlm(provider), limit=1).overall
    assert total.abstained == {"invalid": 1}
    assert (total.n, total.detected, total.false_alarms) == (1, 0, 0)
    assert len(provider.requests) == 2, "it was told once what was wrong"


def test_an_impossible_step_may_be_mended(serve: Any, dataset: Dataset):
    answers = [FAULT | {"onset_step": 500, "onset_interval": None}, FAULT]
    provider = serve(lambda seen: answers.pop(0))
    found = evaluate(dataset, vlm(provider), limit=1)
    assert found.overall.abstained == {}
    assert "onset_step 500 is in the future" in provider.requests[1].text
    assert found.pairs[0].body["onset_step"] == ONSET + 3


def test_hostile_text_stays_text(serve: Any, dataset: Dataset):
    """Control characters are replaced, lengths are bounded, and nothing is run or becomes a path."""
    hostile = "\x1b[2J\x00<script>alert(1)</script> __import__('os')"
    provider = serve(lambda seen: FAULT | {"rationale": hostile, "stage": "../../x", "entity": "$(touch owned)"})
    (pair,) = evaluate(dataset, vlm(provider), limit=1).pairs
    assert "\x1b" not in pair.body["rationale"] and "\x00" not in pair.body["rationale"]
    assert "<script>" in pair.body["rationale"], "kept as it was said"
    answers = dataset.folder.with_name("made.answers")
    assert all(re.fullmatch(r"[0-9a-f]{24}\.jsonl", path.name) for path in answers.iterdir())


def test_an_interrupted_evaluation_asks_nothing_twice(serve: Any, dataset: Dataset):
    provider = serve(lambda seen: FAULT if number(seen) < 6 else OK)
    model = vlm(provider, frames=3)
    evaluate(dataset, model, limit=4)
    path = next(p for p in dataset.folder.with_name("made.answers").iterdir() if len(p.read_text().splitlines()) == 4)
    with path.open("a") as file:
        file.write('{"episode": "half a li')
    total = evaluate(dataset, model).overall
    assert len(provider.requests) == 10
    assert (total.recall, total.false_positive_rate) == (1.0, 0.0)


def test_a_failing_provider_is_no_opinion_and_is_asked_again(serve: Any, dataset: Dataset):
    broken = serve(lambda seen: OK, script=("error:500",) * 1)
    model = vlm(broken, frames=5)
    first = evaluate(dataset, model, limit=1).overall
    assert first.abstained == {"provider": 1} and first.n == 0
    assert evaluate(dataset, model, limit=1).overall.n == 1


def test_rules_find_the_drop_in_the_readings_alone(dataset: Dataset):
    found = evaluate(dataset, StaticRules())
    assert (found.overall.recall, found.overall.false_positive_rate) == (1.0, 0.0)
    assert found.by_type["C5"].type_accuracy == 1.0
    assert found.overall.hits["5"] == 1.0
    assert found.overall.lead_in_time == 1.0
    assert (found.calls, found.latency_s) == (0, 0)


def test_readings_are_those_that_a_supervisor_had(dataset: Dataset):
    found = readings(arrays(drops=True))
    assert len(found) == STEPS
    assert found[29].closing is False and found[30].closing is True
    assert found[70].width_m == pytest.approx(0.08) and found[59].width_m == pytest.approx(0.04)
    assert recording(dataset, dataset.episodes[0], {}).step_now == STEPS - 1


def test_the_plot_shows_every_reading():
    """A finger gap that opens half way is drawn: the right half of that panel differs from the left."""
    steady = [
        Reading(step=i, closing=True, push=0.1, width_m=0.04, eef_pos_m=(0.0, 0.0, 1.0), speed_m_s=0.1)
        for i in range(60)
    ]
    opened = [replace(reading, width_m=0.08) if reading.step >= 30 else reading for reading in steady]
    one, other = static_view.plot(steady), static_view.plot(opened)
    assert one.shape == (560, 768, 3) and one.dtype == np.uint8
    differs = np.argwhere((one != other).any(axis=2))
    assert len(differs) and differs[:, 0].min() > 250, "only the panel of the fingers has changed"
    assert static_view.plot([]).shape == (560, 768, 3)


def test_moments_are_spread_from_the_first_to_the_last():
    assert static_view.spread([0, 5, 10, 15, 20], 3) == [0, 10, 20]
    assert static_view.spread([0, 5], 12) == [0, 5]


def test_a_dataset_without_clips_has_nothing_for_a_model(serve: Any, dataset: Dataset):
    bare = Dataset(dataset.folder, dataset.manifest)
    bare.__dict__["episodes"] = [episode.model_copy(update={"cameras": []}) for episode in dataset.episodes]
    with pytest.raises(NothingToShow, match="without clips"):
        evaluate(bare, vlm(serve(lambda seen: OK)))
    with pytest.raises(NothingToShow, match=r"no episodes in split 'train': it has 10 in heldout.*--split all"):
        evaluate(dataset, StaticRules(), split="train")


LAST = ["cosine", "target", "repair"]


def told(found: Evaluation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of an evaluation at a terminal of 80 columns."""
    monkeypatch.setattr(common.console, "width", 80)
    static_tables.tell(found)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_the_tables_fit_into_eighty_columns_and_say_why_a_figure_is_missing(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    lines = told(evaluate(dataset, StaticRules()), monkeypatch, capsys)
    assert lines[:2] == ["static track: rules, without limits", "made, split heldout: 10 episodes, 6 with a fault"]
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert lines[3].split() == ["type", "n", "found", "alarms", "class", "named", "onset", "in", "10", *LAST]
    assert rows["C5"][:6] == ["C5", "3", "3/3", "-", "1.00", "1.00"]
    assert rows["all"][:4] == ["all", "10", "6/6", "0/4"]
    text = " ".join(" ".join(lines).split())
    assert "false positive rate 0.00 [0.00, 0.49]" in text
    assert "answered 0.00; not measured: right (none was answered)" in text, "rules say nothing of sub-tasks"
    assert (
        "space not measured: cosine, magnitude ratio, error in cm (no deviation in the world frame was named)" in text
    )
    assert lines[-1] == "abstentions: none; no model was asked"
    assert "None" not in text


def test_the_heading_says_which_model_answered_and_where_and_no_key(
    serve: Any, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("OWN_KEY", "sk-secret")
    provider = serve(lambda seen: {"verdict": "ok", "confidence": 0.9})
    options = ModelOptions(model="fake/ok", base_url=provider.url, key_env="OWN_KEY", max_retries=0)
    found = evaluate(dataset, StaticVlm(ModelGateway(options), options))
    lines = told(found, monkeypatch, capsys)
    host = provider.url.removeprefix("http://").removesuffix("/v1")
    assert lines[0] == f"static track: vlm, model fake/ok at {host}" == f"static track: {found.to_json()['title']}"
    text = " ".join(" ".join(lines).split())
    assert "abstentions: none; 10 calls, " in text and "cost unknown (no price is known)" in text
    assert "not measured: precision (no fault was claimed)" in text
    assert "sk-secret" not in text and "OWN_KEY" not in text and "None" not in text
    named = ModelOptions(model="openai/some")
    assert StaticVlm(ModelGateway(options), named).title == "vlm, model openai/some at litellm:openai"
