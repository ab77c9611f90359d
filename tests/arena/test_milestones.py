"""Milestones read out of a recording: what is kept of a model's proposals, who accepts them, and the commands."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import environments
from agents import errors
from arena import milestones, run
from arena.cli.app import app
from arena.experiment import parse
from arena.judging.extraction import MOST, Extraction, Extractor
from arena.location import Location
from arena.models import ModelOptions
from environments.task import Task
from storage.models import Episode, MilestoneProposal

MAZE = "games/maze-v1"


@pytest.fixture
def provider() -> Iterator[Any]:
    path = Path(__file__).parents[1] / "fakes" / "provider.py"
    spec = importlib.util.spec_from_file_location("fake_provider", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault("fake_provider", importlib.util.module_from_spec(spec))
    if not hasattr(module, "FakeProvider"):
        spec.loader.exec_module(module)
    with module.FakeProvider() as running:
        yield running


def frames(indices: Any) -> list[Any]:
    return [np.full((48, 64, 3), 5 * index % 256, np.uint8) for index in indices]


def task() -> Task:
    return environments.get(MAZE)


def extracted(provider: Any, *items: Any, behaviour: str = "ok", n_frames: int = 21) -> Extraction:
    provider.policy = lambda seen: {"milestones": list(items)}
    options = ModelOptions(model=f"fake/{behaviour}", base_url=provider.url, max_retries=0, timeout_s=5)
    return Extractor(options, frames=5, sampling="uniform").extract(task(), n_frames, frames)


def item(text: Any = "The door is open.", first: Any = 5, last: Any = 10, shown: Any = (10,)) -> dict[str, Any]:
    return {"text": text, "first_frame": first, "last_frame": last, "frames": list(shown)}


# what is kept


def test_proposals_are_kept_in_the_order_of_the_recording(provider: Any) -> None:
    found = extracted(provider, item("The door is open.", 15, 20, [20]), item("The key is held.", 5, 10, [10, 15]))
    assert [proposal.text for proposal in found.proposals] == ["The key is held.", "The door is open."]
    assert found.proposals[0].frames == (10, 15) and found.shown == (0, 5, 10, 15, 20)
    [seen] = provider.requests
    assert len(seen.images) == 5 and task().goal in seen.text and "frame 15:" in seen.text
    for milestone in task().milestones:  # the engine's list would make it repeat, and not watch
        assert milestone.text not in seen.text


@pytest.mark.parametrize(
    ("given_item", "told"),
    [
        (item(text=""), "has no text"),
        (item(text=7), "has no text"),
        (item(first=7), "cites frame 7, which was not shown"),
        (item(shown=[999]), "cites frame 999"),
        (item(shown=[]), "no frame that shows it"),
        (item(first=15, last=10), "between frame 15 and the earlier frame 10"),
        (item(first="soon"), "expected a frame number"),
        (item(last=None), "names no stretch"),
        ({"text": "x"}, "names no stretch"),
    ],
)
def test_what_does_not_stand_on_shown_frames_is_left_out_and_told(provider: Any, given_item: Any, told: str) -> None:
    found = extracted(provider, given_item, item("Good."))
    assert [proposal.text for proposal in found.proposals] == ["Good."]
    assert len(found.dropped) == 1 and told in found.dropped[0] and found.dropped[0].startswith("milestones[0]")


def test_doubles_and_too_many_are_left_out(provider: Any) -> None:
    found = extracted(provider, *(item(f"State {i}.") for i in range(MOST + 3)), item("STATE 0."))
    assert len(found.proposals) == MOST and len(found.dropped) == 4
    assert "says the same" in found.dropped[-1]


def test_hostile_text_is_one_bounded_line(provider: Any) -> None:
    found = extracted(provider, item("a\u202e\x00b\n# system\n" + "x" * 5_000))
    [proposal] = found.proposals
    assert "\n" not in proposal.text and "\u202e" not in proposal.text and len(proposal.text) <= 300


@pytest.mark.parametrize("behaviour", ["refusal", "prose", "empty", "malformed"])
def test_an_answer_without_milestones_proposes_nothing_and_says_why(provider: Any, behaviour: str) -> None:
    found = extracted(provider, behaviour=behaviour)
    assert found.proposals == () and len(found.dropped) == 1
    assert len(found.calls) == (1 if behaviour == "refusal" else 2)


def test_a_failing_provider_is_an_error_and_a_still_is_no_recording(provider: Any) -> None:
    with pytest.raises(errors.ServerError):
        extracted(provider, behaviour="500")
    with pytest.raises(ValueError, match="two at least"):
        extracted(provider, n_frames=1)


# in the store


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Location, Episode]:
    text = f"{{name: m, tasks: {MAZE}, spaces: semantic, seeds: 1, agents: scripted, conditions: single}}"
    place = Location.of(str(tmp_path_factory.mktemp("milestones") / "arena.db"), None)
    with place.open() as store:
        run_id = run.run(parse(text), store, place, workers=0)
        [link] = store.plan(run_id)
        return place, store.latest_tries({link.identity})[link.identity]


def invoke(place: Location, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["milestones", *arguments, "--db", str(place.database)])


def test_a_recording_is_read_reviewed_and_agreed_with_by_the_engine(played: Any, provider: Any) -> None:
    place, episode = played
    with place.open() as store:
        steps = {step.index: step.frame + 1 for step in store.steps(episode.id)}
        truths = [(t.milestone_id, steps[t.step_index]) for t in store.truths(episode.id) if t.step_index >= 0]

    def policy(seen: Any) -> Any:
        shown = sorted({int(line.split()[1][:-1]) for line in seen.text.splitlines() if line.startswith("frame ")})
        made = []
        for name, frame in truths:
            first, last = max(f for f in shown if f < frame), min(f for f in shown if f >= frame)
            made.append(item(f"Of {name}.", first, last, [last]))
        return {"milestones": made}

    provider.policy = policy
    options = ("--model", "fake/ok", "--base-url", provider.url, "--frames", "64")
    result = invoke(place, "extract", MAZE, episode.id, *options, "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["proposals"]
    assert len(rows) == len(truths) and {row["version"] for row in rows} == {1}
    again = json.loads(invoke(place, "extract", MAZE, episode.id, *options, "--json").stdout)["proposals"]
    assert {row["version"] for row in again} == {2}
    assert invoke(place, "review", rows[0]["id"], "rejected", "--as", "Ada", "--note", "not seen").exit_code == 0
    assert "accepted now" in invoke(place, "agree", MAZE, "--version", "1").stdout
    listed = {row["id"]: row for row in json.loads(invoke(place, "list", MAZE, "--json").stdout)}
    assert listed[rows[0]["id"]]["state"] == "rejected"  # what a person decided is left alone
    assert listed[rows[0]["id"]]["reviewer"] == "human:Ada"
    for row, (name, _) in list(zip(rows, truths, strict=True))[1:]:
        assert (listed[row["id"]]["state"], listed[row["id"]]["matches"]) == ("accepted", name)
    assert all(listed[row["id"]]["state"] == "proposed" for row in again)


def test_wrong_sources_versions_and_names_are_refused_with_the_remedy(played: Any, provider: Any) -> None:
    place, episode = played
    options = ("--model", "fake/ok", "--base-url", provider.url)
    other = invoke(place, "extract", "games/snake-v1", episode.id, *options)
    assert "shows games/maze-v1" in str(other.exception)
    assert "arena tutorial" in str(invoke(place, "extract", MAZE, "t-none", *options).exception)
    assert "no such version" in str(invoke(place, "agree", MAZE, "--version", "99").exception)
    assert "--as" in str(invoke(place, "review", "m-", "accepted", "--as", "\x07").exception)
    told = invoke(place, "review", "m-", "accepted", "--as", "A" * 41)
    assert "--as: must be 1 to 40 printable characters" in str(told.exception)
    told = invoke(place, "review", "m-", "accepted", "--as", "Ada", "--note", "x" * 1_001)
    assert "--note: has 1001 characters" in str(told.exception)


# agreement in time


def proposal(place: int, first: int, last: int) -> MilestoneProposal:
    return MilestoneProposal(
        id=str(place), task_id=MAZE, version=1, place=place, text="x", first_frame=first, last_frame=last
    )


@given(
    stretches=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=6),
    reached=st.lists(st.integers(0, 80), max_size=6).map(sorted),
)
def test_agreement_gives_each_milestone_once_and_keeps_the_order(stretches: Any, reached: list[int]) -> None:
    ordered = sorted((first + length, first) for first, length in stretches)
    proposals = [proposal(i, first, last) for i, (last, first) in enumerate(ordered)]
    given_to = milestones._assigned(proposals, [(str(i), frame) for i, frame in enumerate(reached)])
    pairs = sorted((int(key), int(value)) for key, value in given_to.items())
    assert [value for _, value in pairs] == sorted({value for _, value in pairs})


def test_a_milestone_far_from_every_stretch_is_given_to_none() -> None:
    assert milestones._assigned([proposal(0, 10, 12)], [("key", 40)]) == {}
    assert milestones._assigned([proposal(0, 10, 12)], [("key", 13)]) == {"0": "key"}
