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
