"""A model in every role, over HTTP, through the real SDKs, engine, display, store and command line.

The provider is the fake in `tests/fakes/`; nothing else is. What it says is decided by a policy that reads the request.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image
from sqlalchemy import delete, update
from typer.testing import CliRunner

import environments
from arena import run
from arena.cli.app import app
from arena.errors import InvalidExperiment
from arena.experiment import parse
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.outcomes import Outcome
from arena.review import EpisodeFrames
from benchmarks.provider_outcomes import CASES, SEED, Result, Way, expert_policy, play
from environments.desktop import check
from environments.errors import RenderError
from storage.models import Call, Episode, Step
from storage.pictures import address, halved
from storage.store import Store
from tests.fakes.provider import FakeProvider, Seen

MAZE = "games/maze-v1"
LESSON = "Do not walk up all the time: the key lies elsewhere."
display = [pytest.mark.display, pytest.mark.skipif(bool(check()), reason="; ".join(check()))]

THROUGH_BOTH = {
    "answers, until the steps run out", "slow answer", "429 with Retry-After, then an answer", "malformed JSON",
    "truncated reply", "action that the schema refuses", "illegal action again and again", "refusal",
    "content filter (HTTP 400)", "429 with Retry-After, for ever", "500, for ever", "401, key not accepted",
    "web page instead of JSON", "hangs", "drops the connection", "connection refused", "usage missing",
    "budget of calls used up",
}  # fmt: skip
"""Cases that are played through litellm too: one of each kind, since importing it takes seconds."""


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


def experiment(provider: FakeProvider, **changes: Any) -> Any:
    """A small experiment: the maze, one seed, `vlm` unless told otherwise."""
    vlm = {"name": "vlm", "label": "model", "model": "fake/ok", "base_url": provider.url, "max_retries": 0}
    file = {
        "name": "small", "tasks": MAZE, "spaces": "semantic", "seeds": [SEED], "agents": [vlm],
        "conditions": "single", "limits": {"max_steps": 3},
    }  # fmt: skip
    return parse(yaml.safe_dump({**file, **changes}))


def model(provider: FakeProvider, name: str = "fake/ok", **options: Any) -> dict[str, Any]:
    """A model that reflects, judges or diagnoses."""
    return {"model": name, "base_url": provider.url, "max_retries": 0, **options}


def play_once(provider: FakeProvider, store: Store, place: Location, **changes: Any) -> tuple[str, Episode]:
    run_id = run.run(experiment(provider, **changes), store, place, workers=0)
    links = [link for link in store.plan(run_id) if link.condition != "tutorial" and link.round == 0]
    return run_id, store.latest_tries([links[0].identity])[links[0].identity]


def pixels(store: Store, sha256: str) -> np.ndarray[Any, Any]:
    found = store.picture(sha256)
    assert found is not None and address(found) == sha256
    return found


def shown(call: Call) -> list[str]:
    """Addresses of the pictures in a recorded request, in its order."""
    parts = [part for m in call.request["messages"] if isinstance(m["content"], list) for part in m["content"]]
    return [part["artifact"] for part in parts if "artifact" in part]


def reminded(store: Store, call: Call) -> dict[str, np.ndarray[Any, Any]]:
    """The pictures that a recorded request shows at half their size, whole, by address."""
    parts = [part for m in call.request["messages"] if isinstance(m["content"], list) for part in m["content"]]
    return {part["half_of"]: pixels(store, part["half_of"]) for part in parts if "half_of" in part}


# -- how an episode ends -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Way], dict[str, Result]]]:
    """Plays all cases through one SDK, once."""
    known: dict[Way, dict[str, Result]] = {}
    place = Location.of(str(tmp_path_factory.mktemp("outcomes") / "arena.db"))
    with place.open() as store, FakeProvider(policy=expert_policy) as provider:

        def results(way: Way) -> dict[str, Result]:
            if way not in known:
                cases = [case for case in CASES if way == "openai" or case.label in THROUGH_BOTH]
                known[way] = {result.case.label: result for result in play(cases, provider, way, place, store)}
            return known[way]

        yield results


@pytest.mark.parametrize(
    ("way", "label"),
    [("openai", case.label) for case in CASES] + [("litellm", c.label) for c in CASES if c.label in THROUGH_BOTH],
)
def test_each_misbehaviour_ends_in_its_own_outcome_and_only_the_games_own_endings_are_scores(
    outcomes: Callable[[Way], dict[str, Result]], way: Way, label: str
) -> None:
    result = outcomes(way)[label]
    episode, row, expected = result.episode, result.row, result.case.outcome
    assert episode.outcome == expected, episode.outcome_detail
    game_decided = expected in (Outcome.WON, Outcome.LOST, Outcome.HORIZON)
    assert episode.scored is game_decided
    assert row.outcomes == {str(expected): 1}
    assert (row.scored, row.planned, row.done) == (int(game_decided), 1, int(not expected.rerun))
    assert (row.score is not None) is (row.success is not None) is game_decided
    if not game_decided:
        assert episode.outcome_detail


def test_all_behaviours_of_the_fake_are_in_the_table() -> None:
    from tests.fakes.provider import BEHAVIOURS

    played = {part.partition(":")[0] for case in CASES for part in case.behaviour.split("-then-")}
    elsewhere = {"usage", "surrogates", "deep"}  # what becomes of the record, not of the episode: tests of the gateway
    elsewhere |= {"html-key", "loud", "huge"}  # what of a reply is kept and told: there too
    elsewhere |= {"packed", "bomb", "endless"}  # how much of it is read: there too
    elsewhere |= {"diagnose"}  # a diagnoser's answer, not an agent's: test_diagnosis_served
    assert set(BEHAVIOURS) - played == {"echo", *elsewhere}, "echo is `ok` with another rationale"


def test_after_a_failure_of_the_provider_the_next_start_tries_again_and_after_bad_answers_it_does_not(
    provider: FakeProvider, store: Store, place: Location
) -> None:
    vlm = {"name": "vlm", "base_url": provider.url, "max_retries": 0}
    agents = [{**vlm, "model": "fake/one"}, {**vlm, "model": "fake/two"}]
    limits = {"max_steps": 3, "max_bad_in_a_row": 1}
    said = {"fake/one": "500", "fake/two": "prose"}
    provider.say_by(lambda seen: said[seen.body["model"]])
    provider.policy = expert_policy
    run_id = run.run(experiment(provider, agents=agents, limits=limits), store, place, workers=0)
    assert store.run(run_id).status == "interrupted"
    said = {"fake/one": "ok", "fake/two": "ok"}
    assert run.run(experiment(provider, agents=agents, limits=limits), store, place, workers=0) == run_id
    assert store.run(run_id).status == "finished"
    tries = sorted((e.agent, e.try_no, e.outcome, e.scored) for e in store.episodes(run_id=run_id))
    assert tries == [
        ("vlm:fake/one", 0, "provider_error", False),
        ("vlm:fake/one", 1, "horizon", True),
        ("vlm:fake/two", 0, "unparsable", False),
    ]


# -- what is written down ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "field"),
    [
        ({"cost": 1e300}, "cost"),
        ({"cost": -1}, "cost"),
        ({"prompt_tokens": 10**19}, "prompt_tokens"),
        ({"completion_tokens": -(10**19)}, "completion_tokens"),
        ({"completion_tokens": 1.5}, "completion_tokens"),
    ],
)
def test_absurd_usage_ends_no_trial_and_is_unknown_in_its_record(
    provider: FakeProvider, store: Store, place: Location, usage: dict[str, Any], field: str
) -> None:
    provider.say_by(lambda _: f"usage:{json.dumps(usage)}")
    _, episode = play_once(provider, store, place)
    assert episode.outcome == "horizon" and episode.summary["cost_unknown"]
    for call in store.calls(episode.id):
        assert (call.cost_usd, call.cost_source) == (None, f"unknown: usage.{field} is not believed")
        assert call.reply is not None and call.reply["usage"][field] == usage[field]
        assert (call.input_tokens is None) == (field == "prompt_tokens")
        assert (call.output_tokens is None) == (field == "completion_tokens")


def test_each_call_is_written_down_exactly_and_its_pictures_are_what_the_world_showed(
    provider: FakeProvider, store: Store, place: Location
) -> None:
    provider.policy = expert_policy
    agent = {"name": "vlm", "model": "fake/429:0-then-ok", "base_url": provider.url, "max_retries": 1,
             "input_price": "1.25", "output_price": "10"}  # fmt: skip
    _, episode = play_once(provider, store, place, agents=[agent])
    env = environments.make(MAZE, "semantic")
    observation, _ = env.reset(seed=SEED)
    steps, calls = store.steps(episode.id), store.calls(episode.id)
    answered = [seen for seen in provider.requests if seen.behaviour == "ok"]
    assert len(steps) == len(calls) == len(answered) == 3 and len(provider.requests) == 6
    for step, call, seen in zip(steps, calls, answered, strict=True):
        assert (call.step_index, call.purpose, call.status, call.retries) == (step.index, "act", "ok", 1)
        assert np.array_equal(pixels(store, shown(call)[-1]), observation["frame"])
        halves = {address(halved(whole)): sha for sha, whole in reminded(store, call).items()}
        kept = [*map(halved, reminded(store, call).values()), *(pixels(store, sha) for sha in shown(call))]
        assert len(kept) == 1 + (step.index > 0), "the view of now, and the last one at half its size"
        assert all(np.array_equal(a, b) for a, b in zip(kept, seen.images, strict=True))
        assert _as_recorded(seen.body, halves) == call.request
        assert call.reply is not None and call.reply["choices"][0]["message"]["tool_calls"]
        assert json.loads(call.text)["action"] == step.action
        usage = call.reply["usage"]
        assert (call.input_tokens, call.output_tokens) == (usage["prompt_tokens"], usage["completion_tokens"])
        cost = (Decimal("1.25") * usage["prompt_tokens"] + 10 * usage["completion_tokens"]) / 1_000_000
        assert (call.cost_usd, call.cost_source) == (cost, "options")
        assert 0 < call.latency_s <= step.think_s
        observation, *_ = env.step(step.action)
    total = sum((call.cost_usd or Decimal(0) for call in calls), Decimal(0))
    assert (Decimal(episode.summary["cost_usd"]), episode.summary["cost_unknown"]) == (total, False)
    assert (episode.summary["retries"], episode.summary["calls"]) == (3, 3)
    [*frames] = EpisodeFrames(store, episode)([0, 3])
    assert np.abs(frames[1].astype(int) - observation["frame"]).mean() < 3, "the video's last frame is the end"


def _as_recorded(body: dict[str, Any], halves: dict[str, str]) -> dict[str, Any]:
    """A request as it arrived, each picture replaced by its address, or by that of the whole one in `halves`."""
    import base64

    def mark(value: Any) -> Any:
        if isinstance(value, list):
            return [mark(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("type") == "image_url":
            png = base64.b64decode(value["image_url"]["url"].partition(",")[2])
            with Image.open(io.BytesIO(png)) as picture:
                sha256 = address(np.asarray(picture))
            return {"half_of": halves[sha256]} if sha256 in halves else {"artifact": sha256}
        return {key: mark(item) for key, item in value.items()}

    marked: dict[str, Any] = mark(body)
    return marked


def test_a_cost_that_nobody_tells_is_unknown_and_not_zero(
    provider: FakeProvider, store: Store, place: Location
) -> None:
    run_id, episode = play_once(provider, store, place)
    assert {call.cost_usd for call in store.calls(episode.id)} == {None}
    assert episode.summary["cost_unknown"] is True
    [row] = leaderboard(store, run_id).rows
    assert row.cost_usd is None and row.calls == 3


@pytest.mark.parametrize("way", ["openai", "litellm"])
def test_a_planted_key_arrives_and_is_kept_nowhere(
    provider: FakeProvider, place: Location, tmp_path: Path, monkeypatch: Any, caplog: Any, way: str
) -> None:
    key = "planted-key-0123456789abcdef"
    monkeypatch.setenv("ARENA_API_KEY", key)
    caplog.set_level("DEBUG", logger="arena")
    prefix = "openai/" if way == "litellm" else ""
    agents = [
        {"name": "vlm", "label": said, "model": f"{prefix}fake/{said}", "base_url": provider.url, "backend": way,
         "max_retries": 0}
        for said in ("ok", "401", "500")
    ]  # fmt: skip
    reflection = {"reflector": "vlm", "model": model(provider, f"{prefix}fake/401", backend=way), "tutorial": False}
    conditions = ["single", {"name": "reflect-and-retry", "reflection": reflection}]
    # The model repeats the key that it was never shown, as a hostile or leaking one might.
    provider.policy = lambda seen: {"move": "up"} if seen.tool == "act" else {"causes": [], "lesson": key}
    with place.open() as store:
        file = experiment(provider, agents=agents, conditions=conditions, limits={"max_steps": 1})
        run_id = run.run(file, store, place, workers=0)
        told = [e.outcome_detail for e in store.episodes(run_id=run_id)]
        assert any("[key]" in text for text in told), told
        assert key not in json.dumps(leaderboard(store, run_id).to_json())
    assert {seen.headers["authorization"] for seen in provider.requests} == {f"Bearer {key}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert [path for path in files if key.encode() in path.read_bytes()] == []
    assert key not in caplog.text


# -- reflect and retry -------------------------------------------------------------------------------------------------


def reflecting(provider: FakeProvider, **options: Any) -> list[Any]:
    reflection = {"reflector": "vlm", "frames": 6, "model": model(provider, "fake/reflector"), **options}
    return ["single", {"name": "reflect-and-retry", "reflection": reflection}]


def up_or_a_lesson(seen: Seen) -> Any:
    """A player that walks up whatever it is told, and a reflector that cites the first failure frame."""
    if seen.tool != "reflection":
        # Behind the GUI space the schema has a `verb`.
        return {"verb": "press", "key": "up"} if "verb" in json.dumps(seen.schema) else {"move": "up"}
    frame = int(re.findall(r"failure frame (\d+) \(", seen.text)[0])
    return {"causes": [{"text": "It met the wall.", "frame": frame}], "lesson": LESSON}


@pytest.mark.parametrize("space", ["semantic", pytest.param("gui", marks=display)])
def test_a_reflection_sees_both_videos_and_its_lesson_reaches_the_retry(
    provider: FakeProvider, store: Store, place: Location, space: str
) -> None:
    provider.policy = up_or_a_lesson
    provider.say_by(lambda seen: "ok")
    run_id, first = play_once(provider, store, place, spaces=space, conditions=reflecting(provider))
    [lesson] = store.lessons(first.id)
    assert lesson.text == LESSON and lesson.reflector == "fake/reflector"
    [reflection] = [seen for seen in provider.requests if seen.tool == "reflection"]
    assert lesson.tutorial_id is not None
    tutorial = store.episode(lesson.tutorial_id)
    assert tutorial.agent == "scripted" and tutorial.outcome == "won"
    assert tutorial.seed == environments.get(MAZE).tutorial_seed
    expected = [
        *EpisodeFrames(store, first)(lesson.frames["failure"]),
        *EpisodeFrames(store, tutorial)(lesson.frames["tutorial"]),
    ]
    assert len(reflection.images) == 6 and {image.shape for image in reflection.images} == {(480, 640, 3)}
    assert all(np.array_equal(a, b) for a, b in zip(expected, reflection.images, strict=True))
    [call] = [call for call in store.calls(first.id) if call.purpose == "reflect"]
    assert lesson.call_id == call.id and len(shown(call)) == 6
    [retry] = [e for e in store.episodes(run_id=run_id) if e.round == 1]
    assert (retry.parent_id, retry.lesson_id, retry.space) == (first.id, lesson.id, space)
    asked = [seen for seen in provider.requests if seen.tool == "act"]
    assert [f"| {LESSON}" in seen.text for seen in asked] == [False] * 3 + [True] * 3
    assert retry.outcome == "horizon" and retry.score == first.score, "the same seed, the same moves"
    [row] = [row for row in leaderboard(store, run_id).rows if row.condition == "reflect-and-retry"]
    assert row.gain is not None and row.gain.estimate == 0.0


def test_a_reflection_that_the_provider_fails_is_no_gain_of_zero_and_the_next_start_reflects_again(
    provider: FakeProvider, store: Store, place: Location
) -> None:
    provider.policy = up_or_a_lesson
    provider.say_by(lambda seen: "500" if seen.tool == "reflection" else "ok")
    conditions = reflecting(provider, tutorial=False)
    run_id, first = play_once(provider, store, place, conditions=conditions)
    assert store.run(run_id).status == "interrupted" and store.lessons(first.id) == []
    rows = {row.condition: row for row in leaderboard(store, run_id).rows}
    assert (rows["single"].done, rows["single"].scored) == (1, 1)
    retried = rows["reflect-and-retry"]
    assert (retried.planned, retried.done, retried.scored, retried.gain) == (1, 0, 0, None)
    assert [call.status for call in store.calls(first.id) if call.purpose == "reflect"] == ["server_error"]
    provider.reset()
    provider.policy = up_or_a_lesson
    provider.say_by(lambda seen: "ok")
    assert play_once(provider, store, place, conditions=conditions)[0] == run_id
    assert store.run(run_id).status == "finished" and store.lessons(first.id)[0].text == LESSON
    assert Counter(seen.tool for seen in provider.requests) == {"reflection": 1, "act": 3}
    [retried] = [row for row in leaderboard(store, run_id).rows if row.condition == "reflect-and-retry"]
    assert (retried.done, retried.scored) == (1, 1) and retried.gain is not None


@pytest.mark.parametrize("said", ["prose", "refusal", "malformed"])
def test_an_unusable_reflection_leaves_an_empty_lesson_and_a_retry_without_one(
    provider: FakeProvider, store: Store, place: Location, caplog: Any, said: str
) -> None:
    provider.policy = up_or_a_lesson
    provider.say_by(lambda seen: said if seen.tool == "reflection" else "ok")
    limits = {"max_steps": 1}
    run_id, first = play_once(provider, store, place, conditions=reflecting(provider, tutorial=False), limits=limits)
    [lesson] = store.lessons(first.id)
    assert lesson.text == "" and lesson.call_id is not None
    assert "retried without a lesson" in caplog.text
    [retry] = [e for e in store.episodes(run_id=run_id) if e.round == 1]
    assert retry.lesson_id == lesson.id
    assert not any("Advice" in seen.text for seen in provider.requests if seen.tool == "act")
    asked = len(provider.requests)
    play_once(provider, store, place, conditions=reflecting(provider, tutorial=False), limits=limits)
    assert len(provider.requests) == asked, "a bad answer is an answer: it is not asked for again"


# -- judging -----------------------------------------------------------------------------------------------------------


def test_judges_add_rows_and_relabel_none_and_the_engines_truth_stands_beside_them(
    provider: FakeProvider, store: Store, place: Location
) -> None:
    def judging(seen: Seen) -> Any:
        if seen.tool != "verdicts":
            return expert_policy(seen)
        frame = int(re.findall(r"^frame (\d+)", seen.text, re.MULTILINE)[-1])
        ids = re.findall(r'{"id": ?"([^"]+)"', seen.text)
        sure = seen.body["model"] == "fake/hawk"
        said = "reached" if sure else "uncertain"
        told = {"verdict": said, "confidence": 0.7, "frame": frame, "note": "seen"}
        return {"milestones": [{"id": milestone, **told} for milestone in ids]}

    provider.policy = judging
    provider.say_by(lambda seen: "ok")
    hawk = {"judge": "vlm", "frames": 4, "model": model(provider, "fake/hawk")}
    dove = {"judge": "vlm", "frames": 4, "model": model(provider, "fake/dove")}
    _, episode = play_once(provider, store, place, judge=hawk)
    milestones = [milestone.id for milestone in environments.get(MAZE).milestones]
    first = {v.id: (v.judge, v.fingerprint, v.verdict, v.frame) for v in store.verdicts(episode.id)}
    assert [v.milestone_id for v in sorted(store.verdicts(episode.id), key=lambda v: milestones.index(v.milestone_id))]
    assert len(first) == len(milestones) and {item[2] for item in first.values()} == {"reached"}
    [call] = [call for call in store.calls(episode.id) if call.purpose == "judge"]
    assert len(shown(call)) == episode.video_info["n_frames"] == 4
    assert {item[3] for item in first.values()} == {3}
    [seen] = [seen for seen in provider.requests if seen.tool == "verdicts"]
    assert np.array_equal(seen.images[3], EpisodeFrames(store, episode)([3])[0])
    truths = [(t.milestone_id, t.step_index) for t in store.truths(episode.id)]
    assert truths == [("first-step", 0)], "the engine saw one milestone, the judge claims all of them"

    asked = len([seen for seen in provider.requests if seen.tool == "act"])
    for judge in (dove, "engine", dove):  # the last of them has judged already
        play_once(provider, store, place, judge=judge)
    verdicts = store.verdicts(episode.id)
    assert {v.id: (v.judge, v.fingerprint, v.verdict, v.frame) for v in verdicts if v.id in first} == first
    assert Counter(v.judge for v in verdicts) == dict.fromkeys(["fake/hawk", "fake/dove", "engine"], len(milestones))
    assert len({v.fingerprint for v in verdicts}) == 3
    assert {v.verdict for v in verdicts if v.judge == "fake/dove"} == {"uncertain"}
    assert [v.milestone_id for v in verdicts if v.judge == "engine" and v.verdict == "reached"] == ["first-step"]
    assert [(t.milestone_id, t.step_index) for t in store.truths(episode.id)] == truths
    assert asked == len([seen for seen in provider.requests if seen.tool == "act"]) == 3, "nothing was played again"


def test_a_judge_that_the_provider_fails_leaves_no_verdict_and_is_asked_again_at_the_next_start(
    provider: FakeProvider, store: Store, place: Location
) -> None:
    judge = {"judge": "vlm", "frames": 4, "model": model(provider, "fake/judge")}
    provider.say_by(lambda seen: "503" if seen.tool == "verdicts" else "ok")
    run_id, episode = play_once(provider, store, place, judge=judge)
    assert store.verdicts(episode.id) == [] and store.run(run_id).status == "interrupted"
    assert episode.scored, "a judge's failure takes nothing from the player"
    provider.say_by(lambda seen: "ok")
    play_once(provider, store, place, judge=judge)
    assert len(store.verdicts(episode.id)) == 6 and store.run(run_id).status == "finished"


# -- diagnosis ---------------------------------------------------------------------------------------------------------

HOSTILE = {
    "verdict": "fault", "confidence": 1.0, "fault_class": "control", "fault_type": "C5", "severity": 3,
    "onset_step": 3, "rollback_step": "0; DROP TABLE episode", "rationale": "<script>alert(1)</script>",
    "evidence": [{"camera": "agentview", "step": 10**9, "note": "../../etc/passwd"}],
}  # fmt: skip


@pytest.mark.gl
def test_a_model_diagnoses_a_drop_and_a_hostile_or_absent_one_changes_nothing(
    provider: FakeProvider, store: Store, place: Location
) -> None:
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")
    from environments.robots import rendering

    try:
        rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))

    def diagnosing(seen: Seen) -> Any:
        if seen.body["model"] == "fake/hostile":
            return HOSTILE
        onset = int(re.findall(r"First odd reading: step (\d+)", seen.text)[0])
        evidence = [{"camera": "agentview", "step": onset, "note": "the cube falls"}]
        fault = {"fault_class": "control", "fault_type": "C5", "severity": 2, "onset_step": onset}
        return {"verdict": "fault", "confidence": 0.9, **fault, "rollback_step": onset - 6, "evidence": evidence}

    provider.policy = diagnosing
    provider.say_by(lambda seen: "503" if seen.body["model"] == "fake/down" else "ok")
    conditions = [
        {
            "name": "diagnose-and-rollback", "label": name, "fault": "gripper-opens-mid-carry",
            "diagnosis": {"diagnoser": "vlm", "model": model(provider, f"fake/{name}"), "max_diagnoses": 1},
        }
        for name in ("good", "hostile", "down")
    ]  # fmt: skip
    run_id = run.run(
        experiment(
            provider, tasks="tabletop/pick-place-bowl-v1", spaces="native", agents="scripted-policy",
            conditions=conditions, limits={"max_steps": 110},
        ),
        store, place, workers=0,
    )  # fmt: skip
    links = store.plan(run_id)
    episodes = {link.condition: store.latest_tries([link.identity])[link.identity] for link in links}
    said = {name: store.diagnoses(episode.id) for name, episode in episodes.items()}

    good = episodes["good"]
    [diagnosis], [fork] = said["good"], store.interventions(good.id)
    assert (good.outcome, good.success) == ("won", True)
    assert (diagnosis.verdict, diagnosis.fault_type, diagnosis.diagnoser) == ("fault", "C5", "fake/good")
    assert fork.exact and fork.diagnosis_id == diagnosis.id
    assert fork.to_step == diagnosis.rollback_step < fork.at_step == diagnosis.step_index
    assert {step.branch for step in store.steps(good.id)} == {0, 1}
    [fault] = store.faults(good.id)
    assert fault.onset_step is not None and fork.to_step < fault.onset_step <= diagnosis.body["onset_step"]
    [call] = store.calls(good.id)
    assert (call.purpose, call.id, call.step_index) == ("diagnose", diagnosis.call_id, diagnosis.step_index)
    [seen] = [seen for seen in provider.requests if seen.body["model"] == "fake/good"]
    kept = [pixels(store, sha) for sha in shown(call)]
    assert len(kept) >= 4 and all(np.array_equal(a, b) for a, b in zip(kept, seen.images, strict=True))

    for name, cause, statuses in (("hostile", "invalid", ["ok", "ok"]), ("down", "provider", ["server_error"])):
        [diagnosis], episode = said[name], episodes[name]
        assert (diagnosis.verdict, diagnosis.body["abstain_cause"]) == ("abstain", cause)
        assert store.interventions(episode.id) == [] and diagnosis.rollback_step is None
        assert (episode.outcome, episode.success, episode.scored) == ("horizon", False, True), "the episode went on"
        assert episode.n_steps == 110 and [call.status for call in store.calls(episode.id)] == statuses


# -- interruption ------------------------------------------------------------------------------------------------------


def undisturbed(provider: FakeProvider, folder: Path) -> Any:
    """What a run that nobody interrupted records."""
    place = Location.of(str(folder / "undisturbed" / "arena.db"))
    with place.open() as store:
        return recorded(store, play_once(provider, store, place, limits={"max_steps": 6})[1])


def _always_the_same(seen: Seen) -> str:
    """The fake's other rationales count its answers."""
    return "echo"


def recorded(store: Store, episode: Episode) -> Any:
    """All of an episode that must not depend on interruptions."""
    return {
        "episode": (
            episode.identity,
            episode.try_no,
            episode.outcome,
            episode.score,
            episode.state_hash,
            episode.video,
        ),
        "steps": [(s.index, s.action, s.status, s.reward, s.score, s.frame) for s in store.steps(episode.id)],
        "calls": [(c.step_index, c.request, c.text, c.status, c.input_tokens) for c in store.calls(episode.id)],
        "truths": [(t.milestone_id, t.step_index) for t in store.truths(episode.id)],
        "summary": episode.summary,
    }


@pytest.mark.parametrize("kept", [0, 1, 4])
def test_an_episode_of_a_model_goes_on_after_its_last_step_and_asks_nothing_twice(
    provider: FakeProvider, store: Store, place: Location, tmp_path: Path, kept: int
) -> None:
    provider.policy = expert_policy
    provider.say_by(_always_the_same)
    limits = {"max_steps": 6}
    before = undisturbed(provider, tmp_path)
    _, episode = play_once(provider, store, place, limits=limits)
    with store.session() as session:
        session.execute(delete(Call).where(Call.episode_id == episode.id, Call.step_index >= kept))
        session.execute(delete(Step).where(Step.episode_id == episode.id, Step.index >= kept))
        for table in ("verdict", "milestone_truth"):
            more = f" AND step_index >= {kept}" if table == "milestone_truth" else ""
            statement = f"DELETE FROM {table} WHERE episode_id = '{episode.id}'{more}"
            session.connection().exec_driver_sql(statement)
        session.execute(
            update(Episode).where(Episode.id == episode.id)
            .values(status="running", outcome=None, scored=None, score=None, success=None, n_steps=0, video=None,
                    state_hash=None, summary={})
        )  # fmt: skip
    provider.requests.clear()
    _, episode = play_once(provider, store, place, limits=limits)
    turns = [seen.number(r"This is turn (\d+)") for seen in provider.requests]
    assert turns == list(range(kept + 1, 7))
    assert recorded(store, episode) == before, "memory is rebuilt to the letter: the requests are the same too"


def test_a_killed_command_goes_on_with_the_same_command_and_pays_for_no_step_twice(
    provider: FakeProvider, tmp_path: Path
) -> None:
    """`arena run FILE --model --base-url`, killed while the provider thinks about turn 3."""
    file = tmp_path / "small.yaml"
    file.write_text(
        "name: small\ntasks: games/maze-v1\nspaces: semantic\nseeds: [0]\nagents: [vlm]\nconditions: single\n"
        "limits: {max_steps: 6}\n"
    )
    database = tmp_path / "killed" / "arena.db"
    command = [sys.executable, "-c", "from arena.cli import main; main()", "run", str(file), "--model", "fake/ok",
               "--base-url", provider.url, "--db", str(database), "--workers", "0", "--json"]  # fmt: skip
    running: list[subprocess.Popen[str]] = []

    def killing(seen: Seen) -> Any:
        if len(provider.requests) == 3:
            os.kill(running[0].pid, signal.SIGKILL)
        return expert_policy(seen)

    provider.policy = killing
    provider.say_by(_always_the_same)
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        running.append(process)
        process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    again = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False)
    assert again.returncode == 0, again.stderr
    turns = [seen.number(r"This is turn (\d+)") for seen in provider.requests]
    assert turns == [1, 2, 3, 3, 4, 5, 6], "only the turn in flight is asked again: its answer was lost"
    [row] = json.loads(again.stdout)["rows"]
    assert (row["agent"], row["outcomes"], row["scored"], row["calls"]) == ("vlm:fake/ok", {"horizon": 1}, 1, 6)
    provider.policy = expert_policy
    place = Location.of(str(database))
    with place.open() as store:
        [episode] = store.episodes()
        after, before = recorded(store, episode), undisturbed(provider, tmp_path)
    assert after == before


def test_without_a_file_the_command_plays_the_games_with_the_model(tmp_path: Path) -> None:
    planned = CliRunner().invoke(
        app,
        [
            "plan",
            "--model",
            "fake/ok",
            "--base-url",
            "http://127.0.0.1:9/v1",
            "--db",
            str(tmp_path / "arena.db"),
            "--json",
        ],
    )
    assert planned.exit_code == 0, planned.output
    trials = json.loads(planned.output)["trials"]
    assert Counter(trial["agent"] for trial in trials) == {"random": 30, "scripted": 30, "vlm:fake/ok": 30}
    spec = next(trial["spec"] for trial in trials if trial["agent"] == "vlm:fake/ok")
    assert (spec["agent"]["model"], spec["agent"]["host"]) == ("fake/ok", "127.0.0.1")


def test_one_player_under_two_labels_is_refused_since_its_episodes_would_have_one_row(provider: FakeProvider) -> None:
    vlm = {"name": "vlm", "model": "fake/ok", "base_url": provider.url}
    with pytest.raises(InvalidExperiment, match=r"agents\[1\]\.label: is the same player as 'dear'"):
        experiment(provider, agents=[{**vlm, "label": "dear"}, {**vlm, "label": "patient", "max_retries": 9}])
