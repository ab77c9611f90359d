"""Profiles: those of the package are good, hostile ones are refused with reasons, one's own become tasks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import environments
from environments.errors import InvalidProfile
from environments.owned import tasks
from environments.owned.env import READY, WAIT
from environments.owned.letterbox import Region
from environments.owned.profile import MAX_BYTES, Profile, load, parse
from environments.owned.window import NoWindow, OpenWindow, find, matches
from environments.task import ActionSpace

SHIPPED = tasks.files(tasks.SHIPPED)
LIMITS = {
    "baba-is-you": 30, "angry-birds": 30, "slay-the-spire": 50, "ace-attorney": 500, "civilization-vi": 200,
    "scene-investigators": 1000, "plants-vs-zombies": 50, "forza-horizon-5": 50, "mini-metro": 100,
    "genshin-impact": 100, "red-dead-redemption-2": 200,
}  # fmt: skip
"""Steps that GameVerse's launchers grant."""
GOOD: dict[str, Any] = yaml.safe_load((tasks.SHIPPED / "mini-metro.yaml").read_text("utf-8"))


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidProfile) as caught:
        parse(text)
    assert caught.value.problems
    return caught.value.problems


def changed(**fields: Any) -> str:
    return yaml.safe_dump(GOOD | fields, allow_unicode=True)


# -- the package's own -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_each_shipped_profile_is_a_task_with_five_to_ten_milestones(path: Path) -> None:
    profile = load(path)
    assert profile.name == path.stem
    task = environments.get(profile.task_id)
    assert 5 <= len(task.milestones) <= 10
    assert task.spaces == (ActionSpace.GUI,)
    assert {"owned", "vlm-judged", "no-expert"} <= set(task.tags)
    assert task.max_steps == LIMITS[profile.name]
    assert Profile.model_validate(task.params["profile"]) == profile  # what the environment is built from
    assert any(milestone.after for milestone in profile.milestones)


def test_every_title_that_is_not_free_has_a_profile_in_its_own_cell() -> None:
    assert {path.stem for path in SHIPPED} == set(LIMITS)
    cells = [(task.category, task.tier) for task in environments.match("owned/*")]
    assert len(set(cells)) == len(cells)


def test_the_profile_of_the_page_is_valid_and_the_page_names_every_field() -> None:
    page = (Path(__file__).parents[2] / "docs" / "owned-games.md").read_text("utf-8")
    [text] = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert parse(text).task_id == "owned/my-puzzle-v1"
    assert set(Profile.model_fields) <= set(re.findall(r"`([a-z_]+)`", page))
    assert {tasks.VARIABLE, READY, WAIT} <= set(re.findall(r"`([A-Z_]+)`", page))


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: &a [x]\nb: [*a, *a]", "line 1, column 4: is used again by an alias"),
        ("a: &a [*a]", "alias"),
        ("a: &a {b: c}\nd: {<<: *a}\ne: {<<: *a}", "alias"),
        ("title: !!python/object/apply:os.system ['true']", "line 1, column 8: a tag (!python/object/apply:os"),
        ("title: !!python/name:os.system", "a tag (!python/name:os.system) is not allowed"),
        ("title: !include other.yaml", "a tag (!include) is not allowed"),
        ("name: a\nname: b", "line 2, column 1: 'name' is given twice"),
        ("[" * 5_000, "nesting"),
        ("[" * 900 + "]" * 900, "file: "),
        ("a" * (MAX_BYTES + 1), "larger than 64 kB"),
        ("", "expected fields such as `name`"),
        ("- a\n- b", "expected fields"),
        ("a: b: c", "line 1"),
        ("a: 2024-99-99", "reads as a date"),
        ("\0", "control characters"),
        ("? [a]\n: b", "a key is a list"),
        ("a: b\n---\nc: d", "line 2"),
    ],
    ids=range(17),
)
def test_hostile_yaml_is_refused_with_a_reason(text: str, told: str) -> None:
    [problem] = problems(text)
    assert told in problem and len(problem) < 500


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "../up"}, "name: is made of lower-case letters"),
        ({"tier": "esy"}, "tier: expected one of easy, medium, hard; did you mean 'easy'? (got 'esy')"),
        ({"category": "real-time"}, "category: expected one of markov-grid, "),
        ({"tap_ms": 15}, "tap_ms: input should be greater than or equal to 60 (got 15)"),
        ({"max_steps": True}, "max_steps: "),
        ({"max_steps": "ten"}, "max_steps: "),
        ({"goals": "x"}, "goals: unknown field; did you mean 'goal'?"),
        ({"windows": {"window": ["x"]}}, "windows.window: unknown field; did you mean 'windows'?"),
        ({"windows": {}}, "windows: names no window"),
        ({"windows": {"everywhere": ["a*b"]}}, "windows.everywhere[0]: a title is plain text; a `*` may stand"),
        ({"windows": {"everywhere": ["*"]}}, "windows.everywhere[0]: "),
        ({"goal": "a\u202eb"}, "goal: holds characters that nobody can see: U+202E"),
        ({"goal": " \n "}, "goal: is empty"),
        ({"launch": "x" * 2_000}, "launch: "),
        ({"key_map": {"upp": "w"}}, "key_map.upp: is no key; did you mean 'up'?"),
        ({"key_map": {"up": "pageupp"}}, "key_map.up: is no key; did you mean 'pageup'?"),
        ({"reset": [{"verb": "press", "key": "entr"}]}, "reset[0].press.key: is no key; did you mean 'enter'?"),
        ({"reset": [{"verb": "run", "command": "true"}]}, "reset[0]: "),
        ({"reset": [{"verb": "click", "x": 640, "y": 0}]}, "reset[0].click.x: input should be less than 640 (got 640)"),
        ({"reset": "import os"}, "reset: "),
        ({"milestones": []}, "milestones: "),
        ({"milestones": [{"id": "a", "text": "b"}, {"id": "a", "text": "c"}]}, "milestone 'a' is declared twice"),
        ({"milestones": [{"id": "a", "text": "b", "after": ["z"]}]}, "milestone 'a' follows 'z', not declared"),
        ({"milestones": [{"id": "a", "txt": "b"}]}, "milestones[0].txt: unknown field; did you mean 'text'?"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_field_is_told_with_its_value_and_its_cure(fields: dict[str, Any], told: str) -> None:
    found = problems(changed(**fields))
    assert any(told in problem for problem in found), found


def test_all_problems_are_told_at_once() -> None:
    found = problems("name: A B\ntier: x\nmax_steps: 0\nmilestones: [{id: a}]")
    fields = {problem.partition(":")[0] for problem in found}
    assert fields >= {"name", "tier", "max_steps", "title", "goal", "milestones[0].text", "windows"}


def test_the_keys_0_to_9_may_be_written_as_numbers() -> None:
    assert parse(changed(key_map={1: 2, "a": "insert"})).key_map == {"1": "2", "a": "insert"}


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
def test_any_text_is_refused_in_words(text: str) -> None:
    assert problems(text)


def test_a_file_that_cannot_be_read_is_a_problem_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"title: caf\xe9")
    for path in (tmp_path, tmp_path / "none.yaml", tmp_path / "latin.yaml"):
        with pytest.raises(InvalidProfile, match="cannot be read"):
            load(path)


# -- one's own ---------------------------------------------------------------------------------------------------------


def test_profiles_of_ones_own_are_tasks_in_every_process_and_broken_ones_take_nothing_away(tmp_path: Path) -> None:
    """As a worker process sees them, which inherits ARENA_PROFILES."""
    (tmp_path / "mine.yaml").write_text(changed(name="mine", version=3), "utf-8")
    (tmp_path / "broken.yaml").write_text("name: [", "utf-8")
    (tmp_path / "taken.yaml").write_text(changed(), "utf-8")
    (tmp_path / "notes.txt").write_text("not a profile", "utf-8")
    single = tmp_path / "apart" / "other.yaml"
    single.parent.mkdir()
    single.write_text(changed(name="other"), "utf-8")
    seen = subprocess.run(
        [sys.executable, "-c", "import environments; print(*(t.id for t in environments.match('owned/*')))"],
        env={**os.environ, tasks.VARIABLE: os.pathsep.join([str(tmp_path), str(single), str(tmp_path / "nowhere")])},
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    ids = seen.stdout.split()
    assert {"owned/mine-v3", "owned/other-v1", "owned/mini-metro-v1"} <= set(ids) and len(ids) == len(SHIPPED) + 2
    assert "broken.yaml: 1 problem" in seen.stderr and "arena profile check" in seen.stderr
    assert "taken.yaml is left out" in seen.stderr and "nowhere" in seen.stderr


# -- titles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "wanted", "same"),
    [
        ("Sid Meier’s Civilization® VI (DX12)", "sid meier's civilization vi (dx12)", True),
        ("Mini  Metro ", "Mini Metro", True),
        ("Mini Metro - Wiki - Browser", "Mini Metro", False),
        ("Buy Mini Metro", "Mini Metro", False),
        ("Mini Metro 1.2", "Mini Metro*", True),
        ("Level 3 - Puzzle", "*- Puzzle", True),
        ("The Puzzle Box", "*Puzzle*", True),
        ("原神", "原神", True),
        ("A.B", "AxB", False),
    ],
)
def test_a_title_is_matched_whole_whatever_its_case(title: str, wanted: str, same: bool) -> None:
    assert matches(title, wanted) is same


def test_earlier_titles_are_preferred_and_long_lists_are_cut() -> None:
    windows = [OpenWindow(n, f"Window {n}", Region(0, 0, 9, 9)) for n in range(20)]
    assert find(windows, ["Window 7", "Window 3"]).handle == 7
    with pytest.raises(
        NoWindow, match=r"no window is called 'Windw 3'; the nearest is 'Window 3'; open are: .* and 8 more"
    ):
        find(windows, ["Windw 3"])
    with pytest.raises(NoWindow, match="open are: none"):
        find([], ["x"])
