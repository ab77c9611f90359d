"""`arena view`: the real command serves, says where, and ends when told to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("gradio", reason="the extra `ui` is not installed")


def test_view_tells_a_script_where_it_serves_and_ends_cleanly(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from arena.cli import main; main()", "view", "--json", "--port", "0"]
    command += ["--db", str(tmp_path / "arena.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        try:
            url = json.loads(server.stdout.readline())["url"]
            assert url.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(f"{url}healthz", timeout=60) as answer:
                assert json.load(answer) == {"status": "ok"}
        finally:
            server.send_signal(signal.SIGINT)
            rest, trace = server.communicate(timeout=30)
    assert rest == "" and "Traceback" not in trace


def test_play_serves_the_page_of_the_game_behind_a_token_of_its_own(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from arena.cli import main; main()",
        "play",
        "maze",
        "--seed",
        "4",
        "--name",
        "ada",
    ]
    command += ["--no-browser", "--port", "0", "--db", str(tmp_path / "arena.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        try:
            assert server.stdout.readline() == "\n"
            url = server.stdout.readline().removeprefix("Play at ").strip()
            assert url.startswith("http://127.0.0.1:")
            assert "/play?task=games%2Fmaze-v1&seed=4&name=ada&token=" in url
            with urllib.request.urlopen(f"{url.partition('/play')[0]}/healthz", timeout=60) as answer:
                assert json.load(answer) == {"status": "ok"}
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(url.partition("&token=")[0], timeout=60)
        finally:
            server.send_signal(signal.SIGINT)
            _, trace = server.communicate(timeout=30)
    assert "Traceback" not in trace
