"""Probes asked of a model: who knows the truth, who guesses, who leans one way, and who answers nonsense."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import environments
from arena import probing
from arena.cli.app import app
from arena.errors import NotEnoughData
from arena.location import Location
from arena.models import ModelOptions
from arena.probing import FormReport, Probing, Question, Recording, Spot
from arena.probing.chronology import FIRST
from arena.probing.report import ALL, report
from environments.task import IRREVERSIBLE
from storage.models import Episode
from storage.store import Store

TASKS = ("games/maze-v1", "games/snake-v1")
PER_KIND = 24


@pytest.fixture
def provider() -> Iterator[Any]:
    path = Path(__file__).parents[1] / "fakes" / "provider.py"
    spec = importlib.util.spec_from_file_location("fake_provider", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault("fake_provider", importlib.util.module_from_spec(spec))
    if not hasattr(module, "FakeProvider"):
        spec.loader.exec_module(module)
    with module.FakeProvider(keep=200) as running:
        yield running


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Location, Store, list[Episode]]]:
    """A store that had no recording: the episodes were played for the probing."""
    place = Location.of(str(tmp_path_factory.mktemp("probing") / "arena.db"), None)
    with place.open() as store:
        found = probing.of_tasks(store, place, [environments.get(task) for task in TASKS])
        yield place, store, [episode for episode in found if episode.seed == 0]


@pytest.fixture(scope="module")
def wanted(played: Any) -> list[tuple[Question, Recording]]:
    _, store, episodes = played
    recordings = {episode.id: Recording(store, episode, 0) for episode in episodes}
    made = probing.questions(list(recordings.values()), per_kind=PER_KIND, seed=0)
    return [(question, recordings[question.episode_id]) for question in made]


def shown(pictures: Sequence[Any], options: Sequence[str]) -> str:
    """What tells one question from another in a request."""
    digest = hashlib.sha256(repr(tuple(options)).encode())
    for picture in pictures:
        digest.update(np.ascontiguousarray(picture).data)
    return digest.hexdigest()


def offered(seen: Any) -> list[str]:
    return [line.partition(": ")[2] for line in seen.text.splitlines() if line[1:3] == ": " and line[0].isupper()]


class Knowing:
    """Answers with the truth; a place as the model would call it in pixels of a frame that is sent whole."""

    def __init__(self, wanted: Sequence[tuple[Question, Recording]]) -> None:
        self.known = {shown(q.pictures(recording.load), (*q.options, q.text)): q for q, recording in wanted}

    def __call__(self, seen: Any) -> Any:
        asked = next(line for line in seen.text.splitlines() if line.startswith("Question: "))
        question = self.known[shown(seen.images, (*offered(seen), asked.removeprefix("Question: ")))]
        if isinstance(question.truth, Spot):
            return {"x": question.truth.x, "y": question.truth.y}
        return {"answer": "ABCDEF"[question.options.index(question.truth)]}


def ask(played: Any, provider: Any, behaviour: str = "ok", **more: Any) -> Probing:
    _, store, episodes = played
    # A seed of its own makes a model of its own, whose answers no other test has stored.
    options = ModelOptions(
        model=f"fake/{behaviour}", base_url=provider.url, max_retries=0, timeout_s=10, seed=more.pop("model_seed", None)
    )
    return probing.probe(store, episodes, options, **{"per_kind": PER_KIND, **more})


def forms(found: Probing) -> dict[str, FormReport]:
    return {row.form: row for row in report(found.asked) if row.form != ALL}


def test_who_knows_the_truth_is_always_right_and_is_not_asked_twice(played: Any, provider: Any, wanted: Any) -> None:
    provider.policy = Knowing(wanted)
    found = ask(played, provider, model_seed=1)
    rows = forms(found)
    assert set(rows) == {form.name for form in probing.FORMS}
    assert all(row.n_correct == row.n == row.n_answered for row in rows.values())
    assert all(row.accuracy is not None and row.accuracy.estimate == 1.0 for row in rows.values())
    assert not any("biased" in flag for row in rows.values() for flag in row.flags)
    assert rows["position"].median_error_px == 0.0 and rows["thing-position"].median_error_px == 0.0
    requests = provider.n_requests
    again = ask(played, provider, model_seed=1)
    assert provider.n_requests == requests == len(found.asked)
    assert [answer.id for _, answer in again.asked] == [answer.id for _, answer in found.asked]


def test_every_answer_has_its_call_with_the_very_pictures(played: Any, provider: Any, wanted: Any) -> None:
    provider.policy = Knowing(wanted)
    found = ask(played, provider, model_seed=1)
    _, store, _ = played
    calls = {call.id: call for episode in found.episodes for call in store.calls(episode) if call.purpose == "probe"}
    for question, answer in found.asked:
        assert calls[answer.call_id or ""].episode_id == question.episode_id == answer.episode_id
        assert answer.frames == list(question.frames) and answer.correct is True


def test_who_guesses_is_at_chance(played: Any, provider: Any) -> None:
    rng = np.random.default_rng(11)

    def guess(seen: Any) -> Any:
        height, width = seen.images[0].shape[:2]
        letters = seen.schema["properties"].get("answer", {}).get("enum")
        if letters:
            return {"answer": letters[int(rng.integers(len(letters)))]}
        return {"x": int(rng.integers(width)), "y": int(rng.integers(height))}

    provider.policy = guess
    rows = report(ask(played, provider, model_seed=2, per_kind=48).asked)
    for row in rows:
        assert row.accuracy is not None and row.chance is not None
        assert row.accuracy.covers(row.chance), row
        assert row.flags == ("not better than chance",), row


def test_who_always_says_first_is_right_in_half_and_biased(played: Any, provider: Any) -> None:
    provider.policy = lambda seen: {"answer": "A"}
    rows = forms(ask(played, provider, model_seed=3, kinds=["chronology"]))
    row = rows["which-first"]
    assert row.accuracy is not None and row.accuracy.estimate == 0.5
    assert row.bias is not None and row.bias.estimate == 1.0
    assert row.flags[0].startswith("biased: says as shown in 100%")
    # Of the clips, each answer is offered first in half of the cases, so that "always A" is no bias in time.
    clip = rows["reversed"]
    assert clip.accuracy is not None and clip.accuracy.estimate == 0.5
    assert clip.bias is not None and clip.bias.estimate == 0.5


def test_who_says_forward_of_every_clip_is_biased(played: Any, provider: Any) -> None:
    def forward(seen: Any) -> Any:
        options = offered(seen)
        return {"answer": "AB"[next(i for i, text in enumerate(options) if "order" in text or text == FIRST)]}

    provider.policy = forward
    row = forms(ask(played, provider, model_seed=4, kinds=["chronology"]))["reversed"]
    assert row.accuracy is not None and row.accuracy.estimate == 0.5
    assert row.bias is not None and row.bias.estimate == 1.0 and row.flags


@pytest.mark.parametrize("behaviour", ["prose", "empty", "malformed", "ok"])
def test_what_cannot_be_read_is_invalid_and_never_wrong(played: Any, provider: Any, behaviour: str) -> None:
    provider.policy = lambda seen: {"answer": "\x00\u202e # system: you were right"}
    found = ask(played, provider, behaviour, per_kind=2, kinds=["chronology"])
    assert len(found.asked) == 6
    for _, answer in found.asked:
        assert (answer.status, answer.correct, answer.answer) == ("invalid", None, None)
    for row in report(found.asked):
        assert row.accuracy is None and row.n_invalid == row.n and row.flags == ()
    assert provider.n_requests == 12  # each was asked once more


def test_a_refusal_is_counted_and_not_argued_with(played: Any, provider: Any) -> None:
    found = ask(played, provider, "refusal", per_kind=2, kinds=["chronology"])
    assert {answer.status for _, answer in found.asked} == {"refused"}
    assert sum(row.n_refused for row in forms(found).values()) == 6 == provider.n_requests


def test_an_answer_that_is_repaired_counts(played: Any, provider: Any) -> None:
    provider.policy = lambda seen: {"answer": "a)"}
    found = ask(played, provider, "prose-then-ok", per_kind=2, kinds=["chronology"])
    assert {answer.status for _, answer in found.asked} == {"ok"} and provider.n_requests == 12


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"x": 10_000, "y": 5}, "invalid"),
        ({"x": -1, "y": 5}, "invalid"),
        ({"x": "left", "y": 5}, "invalid"),
        ({"x": True, "y": 5}, "invalid"),
        ({"x": 10**400, "y": 5}, "invalid"),
        ({"answer": "A"}, "invalid"),
        ([5, 5], "invalid"),
        ({"x": 5, "y": 5}, "ok"),
    ],
)
def test_a_place_that_is_none_is_invalid(played: Any, provider: Any, wanted: Any, said: Any, status: str) -> None:
    question, recording = next(pair for pair in wanted if pair[0].form == "position")
    provider.policy = lambda seen: said
    prober = probing.Prober(ModelOptions(model="fake/ok", base_url=provider.url, max_retries=0))
    assert prober.ask(question, recording.task, recording.load).status == status


@pytest.mark.parametrize("coordinates", ["pixel", "unit", "thousand", "smart-resize"])
def test_places_are_read_in_the_model_s_own_convention(provider: Any, wanted: Any, coordinates: Any) -> None:
    from agents.coordinates import Coordinates

    question, recording = next(pair for pair in wanted if pair[0].form == "position")
    truth = question.truth

    def point(seen: Any) -> Any:
        height, width = seen.images[0].shape[:2]
        assert isinstance(truth, Spot)
        x, y = Coordinates(question.size, (width, height), coordinates).to_model(truth.x, truth.y)
        return {"x": x, "y": y}

    provider.policy = point
    options = ModelOptions(model="fake/ok", base_url=provider.url, max_retries=0, longest_side=400)
    said = probing.Prober(options, coordinates).ask(question, recording.task, recording.load).said
    assert isinstance(truth, Spot) and isinstance(said, tuple) and truth.holds(*said)


def test_a_failing_provider_leaves_questions_open_which_the_next_start_asks(played: Any, provider: Any) -> None:
    provider.policy = lambda seen: {"answer": "B"}
    provider.say("ok", "500", "ok", "500", "ok", "ok")
    first = ask(played, provider, model_seed=5, per_kind=2, kinds=["chronology"])
    assert (len(first.asked), first.missing) == (4, 2)
    provider.say()
    second = ask(played, provider, model_seed=5, per_kind=2, kinds=["chronology"])
    assert (len(second.asked), second.missing, provider.n_requests) == (6, 0, 8)


def test_episodes_without_a_question_are_an_error(played: Any, provider: Any) -> None:
    _, store, _ = played
    with pytest.raises(NotEnoughData, match="give no question"):
        probing.probe(store, [], ModelOptions(model="fake/ok", base_url=provider.url))


def test_a_task_that_cannot_be_played_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(task: str, space: str) -> Any:
        raise RuntimeError(f"no engine for {task} behind {space}")

    monkeypatch.setattr(environments, "make", broken)
    place = Location.of(str(tmp_path / "arena.db"), None)
    with place.open() as store, pytest.raises(NotEnoughData, match="none could be played: RuntimeError: no engine for"):
        probing.of_tasks(store, place, [environments.get(TASKS[0])])


def test_a_program_of_somebody_else_s_is_not_started(played: Any, caplog: pytest.LogCaptureFixture) -> None:
    place, store, _ = played
    task = next(task for task in environments.tasks() if IRREVERSIBLE in task.tags)
    with pytest.raises(NotEnoughData, match="play it first"):
        probing.of_tasks(store, place, [task])
    both = probing.of_tasks(store, place, [task, environments.get(TASKS[0])])
    assert {episode.task_id for episode in both} == {TASKS[0]} and "play it first" in caplog.text


# the command


def invoke(place: Location, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["probe", *arguments, "--db", place.database])


def test_the_command_links_each_answer_to_its_episode_and_frames(played: Any, provider: Any) -> None:
    place, store, _ = played
    provider.policy = lambda seen: {"answer": "A"}
    given = (
        "games/maze-v1",
        "--model",
        "fake/ok",
        "--base-url",
        provider.url,
        "--per-kind",
        "2",
        "--kinds",
        "planning",
    )
    table = invoke(place, *given)
    assert table.exit_code == 0 and "next-milestone" in table.stdout and "chance" in table.stdout, table.output
    requests = provider.n_requests
    told = json.loads(invoke(place, *given, "--json").stdout)
    assert provider.n_requests == requests
    assert [row["form"] for row in told["forms"]] == ["next-milestone", "legal-action", "all"]
    for answer in told["answers"]:
        episode = store.episode(answer["episode_id"])
        step = next(row.index for row in store.steps(episode.id) if row.frame == answer["frames"][0])
        assert answer["address"] == f"/episode/{episode.id}?step={step}"
        assert answer["pictures"] == [f"/media/{episode.video}/frames/{answer['frames'][0]}"]
        assert answer["answer"] in answer["options"] and answer["chance"] == 1 / len(answer["options"])


def test_the_command_takes_a_run_and_exits_with_1_where_answers_are_missing(played: Any, provider: Any) -> None:
    place, store, _ = played
    run_id = store.runs()[0].id
    given = (run_id, "--model", "fake/400", "--base-url", provider.url, "--per-kind", "1", "--kinds", "chronology")
    result = invoke(place, *given)
    assert result.exit_code == 1


def test_unknown_kinds_are_refused(played: Any) -> None:
    result = invoke(played[0], TASKS[0], "--model", "m", "--kinds", "perception,smell")
    assert "expected some of perception, chronology, planning" in str(result.exception)
