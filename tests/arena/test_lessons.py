"""A lesson reaches the next attempt's request word for word, whoever plays and however the model is asked."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import yaml

import agents
import environments
from agents.agent import Briefing
from agents.dialects import DialectName
from agents.gateway.messages import Mode
from arena import plan, run
from arena.experiment import parse
from arena.location import Location
from arena.play import Play
from arena.reflection import ReflectionConfig, build, fingerprint
from arena.reflection.pictures import choose, events_of, record
from arena.sampling import in_turns, sample_frames
from environments.actions import NativeActions, TypedActions
from environments.actions.gui import GuiAction
from environments.desktop import check
from environments.task import ActionSpace
from storage.models import MilestoneTruth, Step
from storage.store import Store
from tests.arena.test_reflection import evidence, step
from tests.fakes.provider import FakeProvider, Seen

LESSON = "Look for the key first.\nThen, and only then, walk to the door\u2026"
MAZE = "games/maze-v1"
MODES, DIALECTS = get_args(Mode), get_args(DialectName)
WAYS = [
    *((ActionSpace.SEMANTIC, mode, "arena") for mode in MODES),
    *((ActionSpace.NATIVE, mode, "arena") for mode in MODES),
    *((ActionSpace.GUI, mode, dialect) for mode, dialect in product(MODES, DIALECTS)),
]
display = [pytest.mark.display, pytest.mark.skipif(bool(check()), reason="; ".join(check()))]


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


# -- the player --------------------------------------------------------------------------------------------------------


def test_the_agents_that_take_lessons_are_the_ones_tested_here() -> None:
    """`calibrated` knows that it has one, and never what it says; a new agent that reads lessons belongs in `WAYS`."""
    reading = {name for name in agents.names() if "briefing.lesson" in inspect.getsource(agents.get(name))}
    assert reading == {"vlm", "calibrated"}
    assert "briefing.lesson_kind" not in inspect.getsource(agents.get("vlm"))


@pytest.mark.parametrize(("space", "mode", "dialect"), WAYS)
def test_the_words_of_a_lesson_are_in_the_request_behind_every_space(
    provider: FakeProvider, space: ActionSpace, mode: Mode, dialect: DialectName
) -> None:
    options = {"model": "fake/ok", "base_url": provider.url, "mode": mode, "dialect": dialect, "max_retries": 0}
    agent = agents.create("vlm", options)
    actions: Any = {
        ActionSpace.SEMANTIC: environments.make(MAZE, "semantic").action_space,
        ActionSpace.GUI: TypedActions(GuiAction),
        ActionSpace.NATIVE: NativeActions(),
    }[space]
    task = environments.get(MAZE)
    for lesson in (LESSON, None):
        agent.reset(Briefing(task=task, space=space, actions=actions, lesson=lesson, lesson_kind="failure-video"))
        agent.act({"frame": np.zeros((120, 160, 3), np.uint8)})
    bare = [seen for seen in provider.requests if "Advice" not in seen.text]
    taught = [seen for seen in provider.requests if "Advice" in seen.text]
    assert taught and bare
    for seen in taught:
        assert all(f"| {line}" in seen.text for line in LESSON.splitlines())
    assert not any("failure-video" in json.dumps(seen.body) for seen in provider.requests), "the kind is told to nobody"


# -- the pipeline ------------------------------------------------------------------------------------------------------


def acting(seen: Seen) -> Any:
    """A lesson, or an action of whatever space the schema is."""
    if seen.tool == "reflection":
        return {"causes": [], "lesson": LESSON}
    schema = json.dumps(seen.schema)
    if '"minItems": 7' in schema:
        return [0.0] * 7
    return {"verb": "press", "key": "up"} if '"verb"' in schema else {"move": "up"}


@pytest.mark.parametrize(
    ("task", "space"),
    [
        (MAZE, "semantic"),
        pytest.param(MAZE, "gui", marks=display),
        pytest.param("tabletop/pick-place-bowl-v1", "native", marks=pytest.mark.gl),
    ],
)
def test_a_lesson_is_written_stored_and_read_in_each_space(
    provider: FakeProvider, store: Store, place: Location, task: str, space: str
) -> None:
    provider.policy = acting
    vlm = {"name": "vlm", "model": "fake/ok", "base_url": provider.url, "max_retries": 0}
    file = {"name": "reach", "tasks": task, "spaces": space, "seeds": [3], "agents": [vlm],
            "conditions": ["failure-video"], "limits": {"max_steps": 2}}  # fmt: skip
    run_id = run.run(parse(yaml.safe_dump(file)), store, place, workers=0)
    first, retry = sorted(store.episodes(run_id=run_id), key=lambda episode: episode.round)
    lesson = store.lesson(retry.lesson_id or "")
    assert lesson is not None and lesson.text == LESSON and lesson.episode_id == first.id
    asked = [seen for seen in provider.requests if seen.tool == "act"]
    taught = [all(f"| {line}" in seen.text for line in LESSON.splitlines()) for seen in asked]
    assert taught == [False, False, True, True]


def test_only_an_instrument_is_told_the_kind_of_its_lesson(
    store: Store, place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, int, str, bool]] = []
    real = Play._begin

    def begin(self: Play) -> None:
        real(self)
        briefing = self._agent.briefing
        told.append((self._agent.name, self._attempt.round, briefing.lesson_kind, briefing.lesson is not None))

    monkeypatch.setattr(Play, "_begin", begin)
    file = {"name": "kinds", "tasks": MAZE, "spaces": "semantic", "seeds": [3], "limits": {"max_steps": 2},
            "agents": [{"name": "calibrated", "p": 0.0, "gain": 0.0}, "random"],
            "conditions": ["plain-retry", {"name": "failure-video", "heldout": 1}]}  # fmt: skip
    run.run(parse(yaml.safe_dump(file)), store, place, workers=0)
    calibrated = {entry[1:] for entry in told if entry[0] == "calibrated"}
    assert calibrated == {
        (0, "", False),
        (1, "plain-retry", False),
        (1, "failure-video", True),
        (1, "failure-video (held-out)", True),
    }
    assert {entry[2] for entry in told if entry[0] == "random"} == {""}


# -- rules in every condition ------------------------------------------------------------------------------------------


def rules(kind: str, **more: Any) -> str:
    config = ReflectionConfig.model_validate({"evidence": kind, "reflector": "rules", **more})
    return build(config).reflect(evidence()).text


def test_rules_look_at_no_more_than_their_condition_grants() -> None:
    log, failure, tutorial, both = (rules(kind) for kind in ("log", "failure", "tutorial", "both"))
    assert log == failure and "expert" not in log and "next one to reach" in log
    assert tutorial == both and "The expert, on another seed, took 6 steps" in both
    shuffled, foreign = rules("placebo"), rules("placebo", placebo="other-game")
    assert "expert" not in shuffled + foreign and "Milestones" not in shuffled + foreign
    assert "after 10 steps" in shuffled and shuffled == rules("placebo"), "the same each time"
    assert "after 6 steps" in foreign and "The last actions were right (2 times), up (4 times)" in foreign


def test_rules_tell_each_condition_apart_in_their_fingerprint() -> None:
    kinds = ["log", "failure", "tutorial", "both", "placebo"]
    configs = [ReflectionConfig.model_validate({"evidence": kind, "reflector": "rules"}) for kind in kinds]
    configs.append(ReflectionConfig.model_validate({"evidence": "none", "reflector": "rules"}))
    assert len({json.dumps(fingerprint(config)) for config in configs}) == len(configs)


# -- which pictures ----------------------------------------------------------------------------------------------------


def vlm_config(kind: str, frames: int = 8, **more: Any) -> ReflectionConfig:
    model = {"reflector": "vlm", "model": "m", "evidence": kind, "frames": frames}
    return ReflectionConfig.model_validate({**model, **more})


@pytest.mark.parametrize("frames", [4, 7, 8, 64])
@pytest.mark.parametrize(("n_failure", "n_other"), [(0, 0), (1, 1), (3, 200), (200, 3), (500, 500)])
@pytest.mark.parametrize("kind", ["log", "failure", "tutorial", "both", "placebo"])
def test_every_condition_shows_exactly_as_many_pictures_however_short_the_videos(
    kind: str, n_failure: int, n_other: int, frames: int
) -> None:
    config = vlm_config(kind, frames)
    picks = choose(config, n_failure=n_failure, n_other=n_other, chance=1)
    assert len(picks) == frames
    for pick in picks:
        length = {"failure": n_failure, "tutorial": n_other, "other": n_other}.get(pick.video, 1_000)
        assert 0 <= pick.index < max(1, length)
    assert {pick.video for pick in picks} <= {
        "log": {"blank"},
        "failure": {"failure", "blank"},
        "tutorial": {"tutorial", "blank"},
        "both": {"failure", "tutorial", "blank"},
        "placebo": {"failure", "blank"},
    }[kind]


def test_a_shuffled_placebo_leaves_no_picture_at_its_place_and_its_labels_in_order() -> None:
    for chance in range(20):
        picks = choose(vlm_config("placebo"), n_failure=100, n_other=0, chance=chance)
        plain = choose(vlm_config("failure"), n_failure=100, n_other=0, chance=chance)
        assert sorted(pick.index for pick in picks) == [pick.index for pick in plain]
        assert [pick.place for pick in picks] == [pick.index for pick in plain]
        assert all(pick.index != pick.place for pick in picks)


def test_what_is_filled_up_is_written_down() -> None:
    from arena.reflection.pictures import Shown, blank

    picks = choose(vlm_config("both"), n_failure=2, n_other=100, chance=1)
    kept = record([Shown(pick, "", blank((4, 4))) for pick in picks])
    assert kept == {
        "failure": [0, 1, 1, 1],
        "tutorial": [0, 33, 66, 99],
        "order": ["failure"] * 4 + ["tutorial"] * 4,
        "filled": [2, 3],
    }


# -- sampling by events ------------------------------------------------------------------------------------------------


def test_event_takes_the_frames_before_and_after_what_happened() -> None:
    assert sample_frames(100, 6, "event", events=[40, 70]) == [0, 40, 41, 70, 71, 99]
    assert sample_frames(100, 4, "event", events=[40, 70]) == [0, 40, 41, 99], "the weightiest first"
    assert sample_frames(101, 5, "event") == [0, 25, 50, 75, 100], "nothing happened: the gaps are halved"
    assert sample_frames(3, 8, "event", events=[1]) == [0, 1, 2]
    assert sample_frames(100, 3, "event", events=[-5, 400]) == [0, 49, 99]


def test_many_events_of_one_kind_do_not_push_out_the_others() -> None:
    order = in_turns([[98], [50], [], list(range(0, 40, 2))])
    assert order[:3] == [98, 50, 38] and len(order) == 22
    assert in_turns([list(range(9))]) == [8, 0, 4, 2, 6, 1, 3, 5, 7]
    assert in_turns([]) == []


def test_events_are_the_ending_milestones_changes_of_score_and_refusals() -> None:
    steps: list[Step] = [step(i, {"move": "up"}, score=0.0 if i < 20 else 30.0) for i in range(40)]
    steps[10] = step(10, None, status="illegal", reason="a wall")
    truths = [MilestoneTruth(episode_id="e", milestone_id="key", step_index=25)]
    found = events_of(steps, truths, 41)
    assert found[:4] == [39, 25, 20, 10] and set(found) == {37, 38, 39, 25, 20, 10}
    chosen = sample_frames(41, 10, "event", events=found)
    assert {0, 10, 11, 20, 21, 25, 26, 39, 40} <= set(chosen)


# -- the calibrated player ---------------------------------------------------------------------------------------------


def test_known_gains_by_kind_of_lesson() -> None:
    gains = {"failure-video": 0.2, "placebo": 0.0, "failure-video (held-out)": 0.1, "text-log": -0.1}
    options: Any = agents.create("calibrated", {"p": 0.5, "gain": 0.3, "gains": gains}).options
    assert options.known("failure-video", taught=True) == 0.2
    assert options.known("failure-video (held-out)", taught=True) == 0.1
    assert options.known("text-log (held-out)", taught=True) == -0.1, "as on its own seed, unless told otherwise"
    assert options.known("placebo", taught=True) == 0.0
    assert options.known("tutorial-video", taught=True) == 0.3
    assert options.known("failure-video", taught=False) == 0.0, "an empty lesson teaches nothing"
    assert options.known("plain-retry", taught=False) == options.known("", taught=False) == 0.0


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ({"failure": 0.1}, "no lesson is of kind 'failure'"),
        ({"placebo": 0.6}, "must be in 0 to 1"),
        ({"placebo": -0.6}, "must be in 0 to 1"),
    ],
)
def test_gains_that_cannot_be_are_refused(gains: dict[str, float], message: str) -> None:
    with pytest.raises(agents.errors.InvalidOptions, match=message):
        agents.create("calibrated", {"p": 0.5, "gains": gains})


def test_gains_are_part_of_the_identity_and_their_absence_is_not() -> None:
    plain = agents.create("calibrated", {"p": 0.5, "gain": 0.4}).fingerprint()
    assert plain["options"] == {"p": 0.5, "gain": 0.4}
    assert agents.create("calibrated", {"p": 0.5, "gain": 0.4, "gains": {"placebo": 0.0}}).fingerprint() != plain


def test_the_kind_of_a_lesson_follows_from_the_specification_alone() -> None:
    told = {"of": "e1-x", "round": 1, "reflection": {}, "tutorial": None}
    assert plan.lesson_kind({"retry": None}) == ""
    assert plan.lesson_kind({"retry": told}) == "failure-video"
    assert plan.lesson_kind({"retry": {**told, "tutorial": "e1-y"}}) == "failure+tutorial"
    assert plan.lesson_kind({"retry": {**told, "kind": "other-model"}}) == "other-model"
    assert plan.lesson_kind({"retry": {**told, "kind": "placebo", "learned_on": 3}}) == "placebo (held-out)"


def test_kinds_are_the_names_of_conditions() -> None:
    from agents.scripted import HELD_OUT, LESSON_KINDS
    from arena import conditions
    from arena.reflection import PRESETS

    assert set(LESSON_KINDS) == set(PRESETS) and conditions.HELD_OUT == HELD_OUT
