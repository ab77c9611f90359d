"""LIBERO's tasks are listed without the benchmark, and say what is missing when they cannot be made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import environments
from environments.errors import MissingBenchmark
from environments.robots.libero import loading
from environments.robots.libero.conventions import CONVENTIONS, MAX_STEPS
from environments.robots.libero.goals import as_said, words
from environments.robots.libero.suites import fact, facts, instruction
from environments.robots.libero.tasks import variant


def test_all_130_tasks_are_registered_without_importing_benchmark_or_physics() -> None:
    program = (
        "import sys, environments; tasks = environments.match('libero/*');"
        "print(len(tasks), [m for m in ('mujoco', 'robosuite', 'libero', 'numba', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "130 []"


def test_tasks_carry_the_published_instructions_and_horizons() -> None:
    task = environments.get("libero/10/3-v1")
    assert task.goal == "put the black bowl in the bottom drawer of the cabinet and close it"
    assert task.max_steps == 520
    assert environments.get("libero/spatial/0-v1").max_steps == 220
    assert environments.get("libero/object/0-v1").goal == "pick up the alphabet soup and place it in the basket"
    assert {suite: MAX_STEPS[suite] for suite in MAX_STEPS} == {
        "spatial": 220, "object": 280, "goal": 300, "10": 520, "90": 400,
    }  # fmt: skip


def test_conventions_differ_where_the_harnesses_do() -> None:
    openpi, openvla, lerobot = (CONVENTIONS[name] for name in ("openpi", "openvla", "lerobot"))
    assert (openpi.seed, openvla.seed) == (7, 0)
    assert (lerobot.max_steps["spatial"], lerobot.max_steps["goal"], lerobot.episodes_per_task) == (280, 300, 10)
    changed = variant("libero/spatial/3-v1", convention="lerobot")
    assert (changed.id, changed.max_steps) == ("libero/spatial/3-lerobot-v1", 280)


def test_what_a_person_reads_of_a_task_has_no_identifiers() -> None:
    for task in environments.match("libero/*"):
        text = " ".join(milestone.text for milestone in task.milestones)
        assert "_" not in text and not any(digit in text for digit in "0123456789"), (task.id, text)
    assert words("white_cabinet_1_bottom_region") == "bottom drawer of the white cabinet"
    assert words("main_table_stove_front_region") == "place in front of the stove"
    assert words("living_room_table_plate_right_region") == "place to the right of the plate"
    assert words("moka_pot_2") == "second moka pot"


def test_instructions_are_made_from_names_as_the_benchmark_does() -> None:
    assert instruction("KITCHEN_SCENE10_close_the_top_drawer_of_the_cabinet") == "close the top drawer of the cabinet"
    assert instruction("open_the_middle_drawer_of_the_cabinet") == "open the middle drawer of the cabinet"
    assert all(known.instruction == instruction(known.name) for known in facts())


@pytest.mark.parametrize(
    ("name", "instruction", "said"),
    [
        ("akita_black_bowl_1", "put the bowl on the plate", "bowl"),
        ("akita_black_bowl_2", "put the middle black bowl on the plate", "black bowl"),
        ("white_cabinet_1_bottom_region", "close the bottom drawer of the cabinet", "bottom drawer"),
        ("cookies_1", "put the bowl on the plate", "cookies"),
    ],
)
def test_things_are_called_as_the_instruction_does(name: str, instruction: str, said: str) -> None:
    assert as_said(name, instruction) == said


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(LookupError, match="no task 10 in suite 'spatial'"):
        fact("spatial", 10)


def test_the_carried_facts_are_those_of_the_installed_benchmark() -> None:
    if loading.package_problem():
        pytest.skip(str(loading.package_problem()))
    order = loading.benchmark().task_names()
    for suite in MAX_STEPS:
        assert [known.name for known in facts() if known.suite == suite] == order[f"libero_{suite}"]


def test_missing_assets_name_the_variable_and_the_download(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(loading.ASSETS, str(tmp_path))
    with pytest.raises(MissingBenchmark, match=r"libero/goal/0-v1.*ARENA_LIBERO_ASSETS names.*hf download"):
        environments.make("libero/goal/0-v1", "native")
    monkeypatch.delenv(loading.ASSETS)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(MissingBenchmark, match=r"name their folder in ARENA_LIBERO_ASSETS"):
        environments.make("libero/goal/0-v1", "native")


def test_a_missing_package_names_the_two_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise loading.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(loading.metadata, "version", absent)
    with pytest.raises(MissingBenchmark) as caught:
        environments.make("libero/goal/0-v1", "native")
    assert "pip install 'rewind-arena[libero]'" in str(caught.value)
    assert "pip install --no-deps hf-libero==0.1.4 bddl==1.0.1" in str(caught.value)


def test_another_version_is_not_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading.metadata, "version", lambda name: "0.2.0")
    assert "0.2.0 is installed, but results are defined by 0.1.4" in str(loading.package_problem())


IMPORT = """
import os, sys, warnings
import numpy as np
from environments.robots import _robosuite  # brings OpenCV, which has its own marks to leave
_robosuite.load()
np.random.seed(5)
before = (np.random.get_state()[1].tolist(), dict(os.environ), list(warnings.filters))
def no_questions(*_):
    raise SystemExit("asked on standard input")
import builtins
builtins.input = no_questions
from environments.robots.libero import loading
loading.benchmark()
after = (np.random.get_state()[1].tolist(), dict(os.environ), list(warnings.filters))
assert before == after, [a == b for a, b in zip(before, after)]
assert "torch" not in sys.modules and "OpenGL" not in sys.modules
"""


def test_importing_the_benchmark_asks_nothing_says_nothing_and_changes_nothing(tmp_path: Path) -> None:
    if loading.package_problem():
        pytest.skip(str(loading.package_problem()))
    home = {"HOME": str(tmp_path), "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, text=True, env=home, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert not (tmp_path / ".libero").exists()
