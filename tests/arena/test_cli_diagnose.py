"""`arena diagnose` refuses what is wrong with its options: all of it at once, and before anything is done."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console
from typer.testing import CliRunner

from arena.cli.app import app
from arena.cli.diagnose_options import conditions_played, tasks_of
from arena.cli.progress import ProgressBar
from arena.errors import InvalidExperiment, Problem
from environments import registry
from environments.real import profile, tasks
from storage.errors import RunBusy

TASK = "tabletop/pick-place-bowl-v1"
PLANTED = "the form is `planted:DETECTION:FALSE_ALARM`, two probabilities from 0 to 1, and"
FILE = """
name: x
tasks: tabletop/pick-place-bowl-v1
spaces: native
seeds: 1
agents: scripted-polcy
conditions: [{name: diagnose-and-rollback, diagnosis: {diagnoser: vlm}}]
"""

TASKS: dict[str, list[str]] = {
    "--severities 12": ["--severities: expected some of 0, 1, 2, 3 (0 is benign), with commas (got '12')"],
    "--severities 2,01,-1": ["--severities: expected some of 0, 1, 2, 3", "(got '01')", "(got '-1')"],
    "--severities ,": ["--severities: expected some of 0, 1, 2, 3"],
    "--faults stuk": ["--faults: unknown kind; did you mean 'stuck'? (got 'stuk')"],
    "--faults gravity,none": ["there are wrong-object, pose-bias", "(got 'gravity')", "(got 'none')"],
    "--faults C5,stuck,Z9": ["arguments: 1 problem\n", "--faults: unknown kind; there are", "(got 'Z9')"],
    "--faults ''": ["--faults: name kinds with commas, or `all` or `none`"],
    "--conditions ruls": ["--conditions: there is no such condition; did you mean 'rules'? (got 'ruls')"],
    "--conditions oracle": ["did you mean 'oracle-detection'?"],
    "--conditions foo": ["there are none, random-trigger, restart", "human:NAME, planted:DETECTION:FALSE_ALARM"],
    "--conditions ,": ["--conditions: name at least one"],
    "--conditions vlm": ["--conditions: condition 'vlm' needs a model: name it with `--model`"],
    "--conditions random-trigger": ["--conditions: intervenes as often as `rules` does: add `rules`"],
    "--conditions human:": ["the form is `human:NAME`, and NAME must be 1 to 40 printable characters"],
    "--conditions 'human:a\tb'": ["the form is `human:NAME`, and NAME must be 1 to 40", r"(got 'human:a\tb')"],
    f"--conditions human:{'x' * 40}": ["is too long: its episodes are kept as", "49 are the most; shorten it by "],
    "--conditions planted:a:b": [f"{PLANTED} DETECTION is 'a' and FALSE_ALARM is 'b' (got 'planted:a:b')"],
    "--conditions planted:1": [f"{PLANTED} this has 1 (got 'planted:1')"],
    "--conditions planted": [f"{PLANTED} this has 0"],
    "--conditions planted:nan:-3": [f"{PLANTED} DETECTION is 'nan' and FALSE_ALARM is '-3'"],
    "--conditions planted:2:0": [f"{PLANTED} DETECTION is '2' (got"],
    "--conditions none --rollback phisical": ["--rollback: expected one of sim, physical; did you mean 'physical'?"],
    "--agent scripted-polcy": ["--agent: no agent 'scripted-polcy'; did you mean 'scripted-policy'?"],
    "--agent human": ["--agent: a person plays with `arena play", "is no agent of an experiment (got 'human')"],
    "--agent vlm:mdel=m": ["--agent: vlm: model: is required", "vlm: mdel: no such option; did you mean 'model'?"],
    "--agent policy:openpi": ["--agent: options are KEY=VALUE behind a colon"],
    "--base-url http://h/v1": ["--base-url: belongs to a model; name it with `--model`"],
    "--model m --key-env sk-1-2": ["--key-env: must be the name of an environment variable, not a key"],
    "--calibration nowhere.json": ["--calibration: nowhere.json: cannot be read"],
    "tabletop/pick-plce-bowl-v1": [f"TASKS: no task matches 'tabletop/pick-plce-bowl-v1'; did you mean '{TASK}'?"],
    "games/maze-v1": ["TASKS: no robot task is called so"],
    "experiment.yaml": ["TASKS: is a file; an experiment file is given alone"],
    "another.yaml": ["TASKS: there is no such file"],
    "tabletop/pick --severities 4 --faults stuk --conditions ruls,planted:2:0,vlm --agent scripted-polcy "
    "--rollback phisical --key-env KEY --calibration nowhere.json": [
        "arguments: 10 problems", "'tabletop/pick'", "'4'", "'stuk'", "'ruls'", "'planted:2:0'", "'vlm'",
        "'scripted-polcy'", "'phisical'", "--key-env", "nowhere.json",
    ],
}  # fmt: skip
"""Behind `arena diagnose TASK`, and what is told of it."""
OTHERS: dict[str, list[str]] = {
    "another.yaml": ["TASKS: there is no such file"],
    "experiment.yaml --seeds 2 --model m --base-url x": [
        "3 problems", "--seeds: is for tasks; an experiment file says this itself", "--base-url: must be an http(s)",
        "agents[0].name: no agent 'scripted-polcy'; did you mean 'scripted-policy'?",
    ],
    "physical experiment.yaml --base-url http://h/v1": [
        "2 problems", "--base-url: belongs to a model", "conditions[0].diagnosis: diagnoser 'vlm' needs `model`",
    ],
    "physical another.yaml": ["file: cannot be read"],
    f"calibrate tabletop/pick {TASK} --to . --agent human --episodes 8": [
        "4 problems", "TASKS: no task matches 'tabletop/pick'", "--agent: a person plays", "--to: is a folder",
        "--episodes: half of them set the limits, and --alpha 0.05 needs 19 for that; take 37 or more (got 8)",
    ],
    f"calibrate {TASK} --to experiment.yaml/limits.json --first-seed {2**31 - 1}": [
        "2 problems", "--to: experiment.yaml is a file and no folder", "--first-seed: leaves no room for 60 seeds",
    ],
}  # fmt: skip
"""Behind `arena diagnose`."""


@pytest.mark.parametrize(
    ("words", "told"), [*((f"{TASK} {words}", told) for words, told in TASKS.items()), *OTHERS.items()]
)
def test_what_is_wrong_is_told_before_anything_is_opened_calibrated_or_played(
    words: str, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run, limits, database or progress line is left, and each phrase is in the one error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARENA_DB", "d.db")
    (tmp_path / "experiment.yaml").write_text(FILE, "utf-8")
    result = CliRunner().invoke(app, ["diagnose", *shlex.split(words)])
    assert isinstance(result.exception, InvalidExperiment), result.output + repr(result.exception)
    assert [phrase for phrase in told if phrase not in str(result.exception)] == [], str(result.exception)
    assert result.output == ""
    assert [path.name for path in tmp_path.iterdir()] == ["experiment.yaml"]


def test_a_secret_in_the_wrong_place_is_not_told_again() -> None:
    for words in (["--key-env", "sk-secret"], ["--base-url", "https://me:secret@host/v1"]):
        result = CliRunner().invoke(app, ["diagnose", TASK, "--model", "m", *words])
        assert isinstance(result.exception, InvalidExperiment) and "secret" not in str(result.exception)


def test_a_real_robot_is_not_taken_for_a_simulated_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could roll back its world or put a fault into it; its limits may be learned."""
    words = {"name": "bench", "title": "Bench", "goal": "go there", "url": "ws://127.0.0.1:9", "max_steps": 40}
    task = tasks.task_of(profile.parse(json.dumps(words)))  # JSON is YAML
    monkeypatch.setattr(registry, "_tasks", {**registry._tasks, task.id: task})
    problems: list[Problem] = []
    assert tasks_of([task.id], problems, played_by="arena diagnose physical FILE") == []
    assert problems == [Problem("TASKS", task.id, "is a real robot, for `arena diagnose physical FILE`")]
    assert tasks_of([task.id], problems) == [task.id]


def test_conditions_of_a_counterfactual_are_those_of_its_run() -> None:
    assert conditions_played("rules, none", {"none", "rules"}) == ["rules", "none"]
    assert conditions_played("", {"none", "rules"}) == []
    with pytest.raises(InvalidExperiment) as refused:
        conditions_played("ruls,zzz", {"none", "rules"})
    assert [problem.message for problem in refused.value.problems] == [
        "is no condition of this run; did you mean 'rules'?", "is no condition of this run; there are none, rules"
    ]  # fmt: skip


@pytest.mark.parametrize("planned", [False, True])
def test_a_run_that_is_refused_leaves_no_progress_line(planned: bool) -> None:
    """For example by another process that is at it; what was planned is told of."""
    shown = io.StringIO()
    plan = SimpleNamespace(run_id="run-1", trials=[1], tutorials={})
    with pytest.raises(RunBusy), ProgressBar(Console(file=shown)) as bar:
        if planned:
            bar.planned(cast("Any", plan), done=0)
        raise RunBusy("another process is at it")
    assert ("run-1" in shown.getvalue()) is planned
    assert ("0/1" in shown.getvalue()) is planned and "planning" not in shown.getvalue()
