"""Files that are whole or not there, with real processes that are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from arena.files import put

WRITER = """
import sys
from pathlib import Path
from arena.files import put

print("writing", flush=True)
while True:
    for letter in (b"a", b"b"):
        put(Path(sys.argv[1]), letter * 4_000_000)
"""


def test_folders_are_made_and_a_second_file_takes_the_place_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "limits.json"
    put(path, b"first")
    put(path, b"second")
    assert path.read_bytes() == b"second" and [item.name for item in path.parent.iterdir()] == ["limits.json"]


def test_a_process_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "whole"
    put(path, b"b" * 4_000_000)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == b"writing\n"
        for _ in range(20):
            assert path.read_bytes() in (b"a" * 4_000_000, b"b" * 4_000_000)
        writer.send_signal(signal.SIGKILL)
    assert path.read_bytes() in (b"a" * 4_000_000, b"b" * 4_000_000)


def test_threads_may_put_the_same_name(tmp_path: Path) -> None:
    path = tmp_path / "same"
    wanted = [bytes([65 + n]) * 500_000 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda data: put(path, data), wanted))
    assert path.read_bytes() in wanted and list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        put(tmp_path / "taken", b"data")
    assert [item.name for item in tmp_path.iterdir()] == ["taken"]
