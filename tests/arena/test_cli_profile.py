"""`arena profile`: what it says of good files, bad files, and the windows of a desktop."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import arena.cli.app as cli
from environments.desktop import check
from environments.desktop.xvfb import Xvfb
from environments.owned import tasks
from environments.owned.profile import load

WINDOW = Path(__file__).parents[1] / "environments" / "owned_window.py"


def invoke(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, ["profile", *map(str, arguments)])
    return result.exit_code, result.output


def test_the_shipped_profiles_are_valid() -> None:
    status, told = invoke("check", tasks.SHIPPED, "--json")
    results = json.loads(told)
    assert status == 0 and len(results) == 11
    assert all(result["task"] and not result["problems"] for result in results)


def test_a_bad_profile_is_told_line_by_line_and_markup_in_it_is_text(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: '[red]x[/red]'\ntier: esy\n", "utf-8")
    status, told = invoke("check", bad)
    assert status == 1
    assert "(got '[red]x[/red]')" in told and "did you mean 'easy'" in told and "goal: is missing" in told


def test_an_id_that_is_taken_is_told_with_its_owner(tmp_path: Path) -> None:
    shipped = next(iter(sorted(tasks.SHIPPED.glob("*.yaml"))))
    copy = tmp_path / "copy.yaml"
    copy.write_text(shipped.read_text("utf-8"), "utf-8")
    status, told = invoke("check", copy, "--json")
    [result] = json.loads(told)
    assert status == 1 and result["task"] is None
    [problem] = result["problems"]
    assert f"the id {load(shipped).task_id} is taken by the profile {shipped.resolve()}" in problem
    assert "choose another name, or raise the version" in problem


def test_two_profiles_of_one_id_are_told_and_one_named_twice_is_not(tmp_path: Path) -> None:
    shipped = next(iter(sorted(tasks.SHIPPED.glob("*.yaml"))))
    text = shipped.read_text("utf-8").replace(f"name: {load(shipped).name}", "name: mine-alone")
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(text, "utf-8")
    assert invoke("check", first, tmp_path)[0] == 0
    second.write_text(text, "utf-8")
    status, told = invoke("check", tmp_path)
    assert status == 1 and f"{first}: owned/mine-alone" in told and f"taken by the profile {first.resolve()}" in told


def test_an_id_of_another_task_is_taken_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = next(iter(sorted(tasks.SHIPPED.glob("*.yaml"))))
    monkeypatch.delitem(tasks._origins, load(shipped).task_id)  # as if an extension had registered it
    status, told = invoke("check", shipped)
    assert status == 1 and "taken by the task of environments.owned.env:make_owned" in told


def test_a_folder_without_profiles_is_no_success(tmp_path: Path) -> None:
    status, told = invoke("check", tmp_path)
    assert status == 1 and "no profile" in told


@pytest.mark.display
@pytest.mark.skipif(bool(check()), reason="; ".join(check()))
def test_windows_are_listed_with_their_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Xvfb((800, 600))
    server.wait()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_SESSION_TYPE", raising=False)
    options = {"title": "[bold]Mine", "left": 20, "top": 30, "width": 640, "height": 480}
    with subprocess.Popen(
        [sys.executable, str(WINDOW), json.dumps(options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as title:
        assert title.stdout and title.stdin
        while "shown" not in title.stdout.readline():
            pass
        status, told = invoke("windows", "--json")
        assert status == 0 and options in json.loads(told)
        status, told = invoke("windows")
        assert status == 0 and "[bold]Mine" in told and "640x480 at 20, 30" in told
        title.stdin.close()
    server.stop()
