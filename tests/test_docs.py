"""The documentation works: its experiment files load, its game is a game, its player plays and resumes."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import agents
import environments
from agents import registry as agent_registry
from arena import run
from arena.experiment import load, parse
from arena.leaderboard import leaderboard
from arena.location import Location
from environments import registry as task_registry
from environments.desktop import check
from environments.task import CATEGORIES, TIERS
from tests.environments import test_games_contract as contract

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("*.yaml"))
MODEL = {"model": "some-model", "base_url": "http://127.0.0.1:9/v1"}
"""What `--model` and `--base-url` would give."""


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


def module(name: str, text: str, folder: Path) -> Any:
    """Import a module from a page's text."""
    path = folder / f"{name.rpartition('.')[2]}.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


# -- experiment files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_is_a_valid_experiment_named_after_its_file(path: Path) -> None:
    assert load(path, model=MODEL).name == path.stem


@pytest.mark.parametrize("number", range(len(blocks("experiment-file.md", "yaml"))))
def test_each_file_in_the_reference_is_a_valid_experiment(number: int) -> None:
    assert parse(blocks("experiment-file.md", "yaml")[number], model=MODEL).blocks


def test_a_model_from_the_command_line_goes_to_every_vlm_in_short_and_long_form_that_names_none() -> None:
    text = blocks("experiment-file.md", "yaml")[0].replace("[random, scripted]", "vlm")
    own = "{judge: vlm, model: its-own}"
    for judge, expected in (("vlm", "some-model"), ("{judge: vlm}", "some-model"), (own, "its-own")):
        for form in (judge, f"[{judge}]"):
            block = parse(f"{text}judge: {form}\n", model=MODEL).blocks[0]
            [asked] = block.judge
            assert asked.model is not None and asked.model.model == expected
        assert block.agents[0].options["model"] == "some-model"


def test_the_reference_names_every_field() -> None:
    from agents.vlm import VLMOptions
    from arena.diagnosis import DiagnosisConfig
    from arena.experiment import Block, Clock, Condition, Experiment, Limits
    from arena.judging import JudgeConfig
    from arena.models import ModelOptions
    from arena.reflection import ReflectionConfig
    from environments.robots.faults import Fault

    text = (DOCS / "experiment-file.md").read_text("utf-8") + (DOCS / "adding-a-model.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+)`", text))
    for fields in (
        Experiment, Block, Limits, Clock, Condition, ReflectionConfig, DiagnosisConfig, JudgeConfig, Fault,
        ModelOptions, VLMOptions,
    ):  # fmt: skip
        assert set(fields.model_fields) <= named, fields


# -- the game of the page ----------------------------------------------------------------------------------------------


@pytest.fixture
def lamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The page's game, registered as the page says; gone again after the test."""
    game, task, *_ = blocks("adding-a-game.md", "python")
    monkeypatch.setattr(task_registry, "_tasks", dict(task_registry._tasks))
    monkeypatch.setitem(sys.modules, "environments.games.lamps", None)  # restored at the end
    module("environments.games.lamps", game, tmp_path)
    from environments.games.tasks import non_real_time_linear

    exec(compile(task, "adding-a-game.md", "exec"), {**vars(non_real_time_linear)})
    contract.final_score.cache_clear()
    yield "games/lamps-v1"


CONTRACT = [
    function
    for name, function in vars(contract).items()
    if name.startswith("test_") and set(inspect.signature(function).parameters) <= {"make_env", "game_id", "digest"}
    and "fresh_process" not in name
]  # fmt: skip
"""The tests that every game must pass. A fresh process does not know the page's game."""


@pytest.mark.parametrize("check", CONTRACT, ids=lambda function: function.__name__)
def test_the_pages_game_keeps_the_contract(lamps: str, check: Callable[..., None]) -> None:
    import hashlib

    def make(task_id: str, space: str = "semantic", seed: int | None = None) -> Any:
        env = environments.make(task_id, space)
        if seed is not None:
            env.reset(seed=seed)
        return env

    given = {"make_env": make, "game_id": lamps, "digest": lambda frame: hashlib.sha256(frame.tobytes()).hexdigest()}
    check(**{name: given[name] for name in inspect.signature(check).parameters})


def test_enough_of_the_contract_was_found() -> None:
    assert len(CONTRACT) >= 10


def test_the_page_refuses_what_it_says_it_refuses(lamps: str) -> None:
    env = environments.make(lamps, "semantic")
    env.reset(seed=0)
    action = {"row": 0, "column": 0}
    assert env.step(action)[4]["illegal"] is None
    assert "hot" in env.step(action)[4]["illegal"]


@pytest.mark.display
@pytest.mark.skipif(bool(check()), reason="; ".join(check()))
def test_the_pages_game_is_played_on_a_real_window_too(lamps: str) -> None:
    ends = []
    for space in ("semantic", "gui"):
        env = environments.make(lamps, space)
        env.reset(seed=4)
        while not env.success():
            env.step(env.expert_action())
        ends.append(env.state_hash())
        env.close()
    assert ends[0] == ends[1]


def test_the_pages_experiment_runs(lamps: str, tmp_path: Path) -> None:
    [text] = blocks("adding-a-game.md", "yaml")
    place = Location.of(str(tmp_path / "arena.db"))
    with place.open() as store:
        rows = {row.agent: row for row in leaderboard(store, run.run(parse(text), store, place, workers=0)).rows}
    scripted, random = rows["scripted"].score, rows["random"].score
    assert scripted is not None and random is not None
    assert scripted.estimate == 100.0 > random.estimate


# -- the player of the page --------------------------------------------------------------------------------------------


def test_the_pages_player_plays_and_goes_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [text] = blocks("adding-a-policy.md", "python")
    monkeypatch.setattr(agent_registry, "_agents", dict(agent_registry._agents))
    monkeypatch.setitem(sys.modules, "stubborn", None)
    module("stubborn", text, tmp_path)
    assert "stubborn" in agents.names()
    file = {
        "name": "policy", "tasks": "games/maze-v1", "spaces": "semantic", "seeds": 1,
        "agents": [{"name": "stubborn", "patience": 5}], "conditions": "single", "limits": {"max_steps": 20},
    }  # fmt: skip
    experiment = parse(yaml.safe_dump(file))
    place = Location.of(str(tmp_path / "arena.db"))
    with place.open() as store:
        run.run(experiment, store, place, workers=0)
        [whole] = store.episodes()
        actions = [step.action for step in store.steps(whole.id)]
    assert len(actions) == 20 and len({str(action) for action in actions}) > 1

    # Cut off at step 7: the player fails as a killed process would, and the same run goes on.
    elsewhere = Location.of(str(tmp_path / "elsewhere" / "arena.db"))
    cls = agents.registry.get("stubborn")
    decide = cls.decide
    with elsewhere.open() as store:
        with monkeypatch.context() as patch:

            def failing(self: Any, observation: Any) -> Any:
                if self.step == 7:
                    raise KeyboardInterrupt
                return decide(self, observation)

            patch.setattr(cls, "decide", failing)
            with pytest.raises(KeyboardInterrupt):
                run.run(experiment, store, elsewhere, workers=0)
        run.run(experiment, store, elsewhere, workers=0)
        [episode] = store.episodes()
        assert [step.action for step in store.steps(episode.id)] == actions
        assert (episode.state_hash, episode.video) == (whole.state_hash, whole.video)
    shutil.rmtree(elsewhere.scratch, ignore_errors=True)


# -- the table of games ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", environments.match("games/*"), ids=lambda task: task.id)
def test_every_game_is_in_the_readme_and_on_its_page_with_a_picture_and_figures(task: environments.Task) -> None:
    figures = json.loads((DOCS.parent / "benchmarks" / "roster.json").read_text("utf-8"))["games"][task.id]
    name = task.id.removeprefix("games/").rsplit("-v", 1)[0]
    assert (DOCS / "images" / "games" / f"{name}.png").stat().st_size > 1000
    readme, page = (DOCS.parent / "README.md").read_text("utf-8"), (DOCS / "games.md").read_text("utf-8")
    assert f"`{task.id}`" in readme and f"`{task.id}`, {task.tier}" in page and task.goal in page
    assert f"expert **{figures['expert']['mean']:.1f}**" in page
    bound = 90.0 if task.tier != "hard" else figures["random"]["mean"] + 20
    assert figures["expert"]["mean"] >= bound


def test_every_cell_of_the_taxonomy_has_a_game_and_native_programs_are_from_all_categories() -> None:
    games, native = environments.match("games/*"), environments.match("desktop/*")
    cells = {(task.category, task.tier) for task in games}
    assert len(cells) == len(CATEGORIES) * len(TIERS) == 15 and len(games) >= 18
    assert len(native) >= 8 and {task.category for task in native} == set(CATEGORIES)
