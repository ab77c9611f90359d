"""`arena faults` says all that is wrong with its options at once, and before anything is played."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arena.cli.app import app
from arena.cli.common import counted
from arena.cli.diagnose_options import kinds_of
from arena.errors import InvalidExperiment, Problem
from environments.robots.faults import KINDS

BUILD: dict[str, list[str]] = {
    "--kinds stuk": ["--kinds: unknown kind; did you mean 'stuck'? (got 'stuk')"],
    "--kinds Z9,Q*": ["--kinds: unknown kind; there are wrong-object", "(got 'Z9')", "(got 'Q*')"],
    "--kinds ''": ["--kinds: name kinds with commas, or `all`"],
    "--severities 7,x": ["2 problems", "--severities: expected some of 0, 1, 2, 3", "(got '7')", "(got 'x')"],
    "--policies 'scripted-polcy;policy:openpi'": [
        "2 problems", "--policies: no agent 'scripted-polcy'; did you mean 'scripted-policy'?",
        "--policies: options are KEY=VALUE behind a colon (got 'policy:openpi')",
    ],
    "--tasks games/maze-v1": ["1 problem\n", "--tasks: no robot task is called so"],
    "--tasks ,": ["1 problem\n", "--tasks: at least one is needed"],
    "--libero nowhere": ["1 problem\n", "--libero: is no folder (got 'nowhere')"],
    "--tasks nope --kinds stuk,Z9 --severities 7,x --policies bad --every 3 --libero nowhere": [
        "arguments: 8 problems", "no task matches 'nope'", "'stuk'", "'Z9'", "'7'", "'x'", "no agent 'bad'", "--every",
        "nowhere",
    ],
}  # fmt: skip
"""Behind `arena faults build set`, and what is told of it."""


@pytest.mark.parametrize(("words", "told"), BUILD.items())
def test_what_is_wrong_with_a_build_is_told_at_once(words: str, told: list[str], tmp_path: Path) -> None:
    home = tmp_path / "faults"
    result = CliRunner().invoke(app, ["faults", "build", "set", "--home", str(home), *shlex.split(words)])
    assert isinstance(result.exception, InvalidExperiment), result.output + repr(result.exception)
    assert [phrase for phrase in told if phrase not in str(result.exception)] == [], str(result.exception)
    assert not home.exists()


def test_kinds_are_named_by_name_type_or_glob_each_once() -> None:
    problems: list[Problem] = []
    assert kinds_of("stuck, C5,C6", problems, "--kinds") == ["stuck", "gripper-opens-mid-carry"]
    assert kinds_of("P*", problems, "--kinds") == [kind for kind, about in KINDS.items() if about.fault_type[0] == "P"]
    assert kinds_of("gripper-*", problems, "--kinds") == ["gripper-timing", "gripper-opens-mid-carry"]
    assert kinds_of("all", problems, "--kinds") == kinds_of("*", problems, "--kinds") == list(KINDS)
    assert problems == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--diagnoser vlm", "--model: --diagnoser vlm needs --model NAME"),
        ("--model m", "--model: belongs to --diagnoser vlm (got 'm')"),
    ],
)
def test_a_model_and_the_diagnoser_that_asks_it_go_together(words: str, told: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["faults", "eval", "set", "--home", str(tmp_path), *words.split()])
    assert str(result.exception) == f"arguments: 1 problem\n  {told}"


def test_all_mistakes_of_the_static_track_are_told_at_once_and_before_the_dataset_is_looked_for(tmp_path: Path) -> None:
    words = "--model m --base-url http://127.0.0.1:1/v1 --key-env K --calibration nowhere.json"
    result = CliRunner().invoke(app, ["diagnose", "static", "set", "--home", str(tmp_path), *words.split()])
    told = str(result.exception)
    assert told.startswith("arguments: 4 problems\n") and "nowhere.json: cannot be read" in told
    assert all(f"{name}: belongs to --diagnoser vlm" in told for name in ("--model", "--base-url", "--key-env"))
    words = "--diagnoser vlm --mode magic --calibration nowhere.json"
    told = str(CliRunner().invoke(app, ["diagnose", "static", "set", *words.split()]).exception)
    assert "--model: --diagnoser vlm needs --model NAME" in told and "--mode: " in told
    assert "--calibration: belongs to --diagnoser rules" in told and "cannot be read" in told


def test_a_number_stands_with_its_noun() -> None:
    assert [counted(n, "try", "tries") for n in (0, 1, 2)] == ["0 tries", "1 try", "2 tries"]
    assert [counted(n, "problem") for n in (1, 2)] == ["1 problem", "2 problems"]
