"""Real processes, really killed: whatever ends a run, the same command brings it to the same results."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.compare import Facts, differences
from benchmarks.kill_resume import ARENA, Started, count_steps, disturb, finish, leftovers, results

pytestmark = pytest.mark.slow

FILE = """
name: killed
tasks: games/maze-v1
spaces: semantic
seeds: 2
agents:
  - random
  - {name: calibrated, p: 0.5, gain: 0.5}
conditions: [single, reflect-and-retry]
"""


class Undisturbed:
    """The run as it is when nothing happens to it."""

    def __init__(self, folder: Path) -> None:
        (folder / "killed.yaml").write_text(FILE)
        self.command: tuple[str, ...] = (*ARENA, "run", str(folder / "killed.yaml"), "--workers", "2")
        self.first_s, _ = finish(self.command, folder / "undisturbed")
        self.steps = count_steps(folder / "undisturbed" / "arena.db")
        self.facts: Facts = results(folder / "undisturbed")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("kill"))


def _assert_finishes_equal(whole: Undisturbed, folder: Path) -> None:
    finish(whole.command, folder)
    assert differences(whole.facts, results(folder)) == []
    assert leftovers(folder) == []


def _stop_within(whole: Undisturbed, folder: Path, number: int, *, steps: int) -> Started:
    started = Started(whole.command, folder)
    started.wait_for(steps=steps)
    assert started.process.poll() is None, started.output()
    started.stop(number)
    return started


def test_killed_runs_lose_nothing_and_leave_no_process(whole: Undisturbed, tmp_path: Path) -> None:
    report = disturb(
        whole.command,
        tmp_path,
        kills=3,
        steps=whole.steps,
        first_s=whole.first_s,
        number=signal.SIGKILL,
        seed=1,
    )
    assert report.problems == []
    _assert_finishes_equal(whole, tmp_path)


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_stop_is_answered_with_one_line(whole: Undisturbed, tmp_path: Path, name: str, status: int) -> None:
    number = signal.Signals[name]
    started = _stop_within(whole, tmp_path, number, steps=whole.steps // 3)
    assert started.process.returncode == status
    assert started.left() == []
    assert started.output().splitlines()[-1] == "Interrupted. The same command goes on from here."
    assert "Traceback" not in started.output()
    with closing(sqlite3.connect(tmp_path / "arena.db")) as connection:
        assert connection.execute("SELECT status FROM run").fetchall() == [("interrupted",)]
    if name == "SIGINT":
        _assert_finishes_equal(whole, tmp_path)


def test_an_impatient_ctrl_c_while_everything_is_imported_prints_no_trace(whole: Undisturbed, tmp_path: Path) -> None:
    for share in (0.15, 0.5, 0.95):
        started = Started(whole.command, tmp_path)
        started.wait_for(steps=1, age_s=share * whole.first_s)
        os.killpg(started.process.pid, signal.SIGINT)
        time.sleep(0.02)
        if started.process.poll() is None:
            os.killpg(started.process.pid, signal.SIGINT)
        assert started.process.wait(30) == 130
        assert started.output().count("Interrupted") == 1
        assert "Traceback" not in started.output() and "KeyboardInterrupt" not in started.output()


def test_a_worker_that_is_killed_costs_nothing(whole: Undisturbed, tmp_path: Path) -> None:
    started = Started(whole.command, tmp_path)
    started.wait_for(steps=whole.steps // 4)
    victim = next(iter(_workers(started)))
    os.kill(victim, signal.SIGKILL)
    assert started.process.wait(120) == 0, started.output()
    assert "a worker process died" in started.output() and "Traceback" not in started.output()
    assert differences(whole.facts, results(tmp_path)) == []
    assert leftovers(tmp_path) == [] and started.left() == []


def _workers(started: Started) -> Iterator[int]:
    """The spawned worker processes among those that live."""
    for pid in started.alive():
        if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
            yield pid


def test_the_same_run_is_not_run_twice_at_once(whole: Undisturbed, tmp_path: Path) -> None:
    started = Started(whole.command, tmp_path)
    started.wait_for(steps=1)
    second = Started(whole.command, tmp_path)
    assert second.process.wait(60) == 2
    assert f"already being run by process {started.process.pid}" in second.output()
    assert "Traceback" not in second.output()
    assert started.process.wait(120) == 0, started.output()
    assert differences(whole.facts, results(tmp_path)) == []


def test_another_writer_that_holds_the_database_for_seconds_is_waited_for(whole: Undisturbed, tmp_path: Path) -> None:
    started = Started(whole.command, tmp_path)
    started.wait_for(steps=10)
    with closing(sqlite3.connect(tmp_path / "arena.db", timeout=30, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        before = count_steps(tmp_path / "arena.db")
        time.sleep(2)
        assert count_steps(tmp_path / "arena.db") == before
        other.execute("COMMIT")
    assert started.process.wait(120) == 0, started.output()
    assert differences(whole.facts, results(tmp_path)) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which a run soon fills."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("full", ["artifacts", "everything"])
def test_a_full_disk_stops_the_run_and_free_space_lets_it_go_on(
    whole: Undisturbed, tmp_path: Path, small_disk: Path, full: str
) -> None:
    folder = small_disk if full == "everything" else tmp_path / "data"
    folder.mkdir(exist_ok=True)
    (folder / "artifacts").mkdir()
    command = whole.command
    if full == "artifacts":
        command = (*command, "--artifacts", str(small_disk))
        (small_disk / "ballast").write_bytes(bytes(1_000_000))
    started = Started(command, folder)
    assert started.process.wait(120) == 2, started.output()
    assert "error: CannotRecord" in started.output() or "full" in started.output()
    assert "Traceback" not in started.output()
    assert started.left() == []
    (small_disk / "ballast").unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,size=100m", small_disk], check=True)
    finish(command, folder)
    with closing(sqlite3.connect(folder / "arena.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT status FROM run").fetchall() == [("finished",)]
    if full == "everything":
        assert differences(whole.facts, results(folder)) == []
    assert leftovers(small_disk) == []
