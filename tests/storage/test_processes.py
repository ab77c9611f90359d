"""Several processes at one store: kill -9, concurrent writers, the lock of a run."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import pytest

from storage.errors import RunBusy
from storage.store import Store

Python = Callable[..., "subprocess.Popen[str]"]
Rows = Callable[[str], Callable[..., Any]]

APPEND = """
import sys
from storage.models import Call, Step
from storage.store import Store
store = Store.open(sys.argv[1], sys.argv[2])
episode_id = sys.argv[3]
for index in range(100_000):
    step = Step(episode_id=episode_id, index=index, sim_step=index, action={"i": index}, status="ok")
    call = Call(id=f"call-{index}", episode_id=episode_id, step_index=index, purpose="act", model="m",
                request={"n": "x" * 2000}, status="ok")
    store.append_step(step, calls=[call])
    print(index, flush=True)
"""

PLAY = """
import sys
from storage.models import Episode, Step
from storage.store import Store
store = Store.open(sys.argv[1], sys.argv[2])
worker, n = int(sys.argv[3]), int(sys.argv[4])
for i in range(n):
    identity = f"{worker:016x}{i:016x}"
    episode = store.begin_episode(Episode(id=f"{identity}-1", identity=identity, try_no=1, spec={}, task_id="t",
                                          space="s", agent="a", seed=i))
    store.append_step(Step(episode_id=episode.id, index=0, sim_step=0, action={}, status="ok"))
    store.finish_episode(episode.id, outcome="won", score=1.0, scored=True)
"""

HOLD = """
import sys
from storage.store import Store
store = Store.open(sys.argv[1], sys.argv[2])
with store.run_lock(sys.argv[3]):
    print("held", flush=True)
    sys.stdin.read() if len(sys.argv) > 4 else __import__("time").sleep(600)
"""


def test_kill_9_loses_no_step_that_was_appended(
    store: Store, database: str, artifacts: str, python: Python, rows: Rows
) -> None:
    episode = store.begin_episode(rows("episode")())
    process = python(APPEND, database, artifacts, episode.id)
    assert process.stdout is not None
    reported = [int(process.stdout.readline()) for _ in range(150)]
    process.kill()
    rest, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    # The last line may be cut short by the kill; whole lines were printed after append_step returned.
    reported += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    stored = [step.index for step in store.steps(episode.id)]
    assert stored[: len(reported)] == reported == list(range(len(reported)))
    assert len(stored) - len(reported) in (0, 1), "at most the one that was under way"
    assert [call.step_index for call in store.calls(episode.id)] == stored, "a step and its call: both or neither"
    store.append_step(rows("step")(episode.id, len(stored)))


def test_four_processes_play_200_episodes_each_without_lock_errors(
    store: Store, database: str, artifacts: str, python: Python
) -> None:
    workers = [python(PLAY, database, artifacts, str(worker), "200") for worker in range(4)]
    answers = [process.communicate(timeout=120) for process in workers]
    assert [process.returncode for process in workers] == [0] * 4, answers
    assert store.count_episodes(status="finished", outcome="won") == 800


def test_a_run_is_run_by_one_process_and_its_holder_is_named(
    store: Store, database: str, artifacts: str, python: Python
) -> None:
    process = python(HOLD, database, artifacts, "demo-1")
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    with pytest.raises(RunBusy, match=f"process {process.pid}") as caught, store.run_lock("demo-1"):
        pytest.fail("entered a run that another process holds")
    assert caught.value.pid == process.pid
    with store.run_lock("demo-2"):
        pass
    process.kill()
    process.wait()
    _enter_soon(store, "demo-1")


def _enter_soon(store: Store, run_id: str) -> None:
    """The kernel frees a dead holder's lock at once; a PostgreSQL server notices its connection a moment later."""
    for _ in range(100):
        try:
            with store.run_lock(run_id):
                return
        except RunBusy:
            threading.Event().wait(0.05)
    pytest.fail("the lock of a killed process was never freed")


def test_threads_of_one_process_exclude_each_other_too(store: Store) -> None:
    with store.run_lock("demo-1"), pytest.raises(RunBusy), store.run_lock("demo-1"):
        pytest.fail("entered twice")
    with store.run_lock("demo-1"):
        pass


def test_an_error_inside_a_run_frees_its_lock(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.run_lock("demo-1"):
        raise ZeroDivisionError
    with store.run_lock("demo-1"):
        pass


def test_a_hostile_run_id_stays_inside_the_lock_folder(sqlite_store: Store) -> None:
    path = sqlite_store._engines.sqlite_path
    assert path is not None
    before = set(path.parent.iterdir())
    with sqlite_store.run_lock("../../../etc/x\n"):
        (lock_file,) = [p for p in path.parent.rglob("*.lock") if "run" in p.name]
        assert lock_file.parent.name == "arena.db.locks"
    assert set(path.parent.iterdir()) - before <= {lock_file.parent}


def test_threads_share_a_store(store: Store, rows: Rows) -> None:
    episode = store.begin_episode(rows("episode")())
    errors: list[BaseException] = []

    def append(worker: int) -> None:
        try:
            for i in range(25):
                store.append_step(rows("step")(episode.id, worker * 25 + i))
                store.steps(episode.id, start=worker * 25)
        except BaseException as error:  # noqa: BLE001  carried to the test's thread
            errors.append(error)

    threads = [threading.Thread(target=append, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(store.steps(episode.id)) == 200
