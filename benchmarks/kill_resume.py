"""Kill a run again and again and see whether anything is lost: `python benchmarks/kill_resume.py [--kills N]`.

`arena demo --quick` is run undisturbed in one folder. In another one it is started, killed and started
again, then left to finish. Both must hold the same results, row by row and video by video. A quarter of
the kills fall while the program imports, migrates and plans; the others are spread over the run's steps,
the last ones over its final steps. After each kill every process of the run must go by itself.

Exits with 1 if anything differs, is left behind, or is damaged.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arena.compare import Facts, differences, facts
from arena.location import Location

MARK = "ARENA_KILL_RESUME"
"""A variable that all processes of a run inherit: by it they are found, whoever has become their parent."""

ARENA = (str(Path(sys.executable).with_name("arena")),)
"""The console script, as users start it."""

GONE_S = 15.0
"""How long processes may take to go: a moment, or as long as their imports, which on a loaded machine is seconds."""


class Started:
    """The command under way in a folder, with all the processes that it starts."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.database = folder / "arena.db"
        self._mark = uuid.uuid4().hex
        self._output = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115  closed with the object
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "ARENA_DATA": str(folder), MARK: self._mark},
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.begun

    def wait_for(self, *, steps: int, age_s: float = math.inf) -> None:
        """Wait until so many steps are recorded, or the command is so old, or it has ended."""
        while self.process.poll() is None and self.age_s < age_s and count_steps(self.database) < steps:
            time.sleep(0.005)

    def stop(self, number: int) -> float:
        """Send SIGKILL to the main process alone, any other signal to the group; seconds until all are gone."""
        sent = time.monotonic()
        if number == signal.SIGKILL:
            self.process.send_signal(number)
        else:
            os.killpg(self.process.pid, number)
        self.process.wait()
        self.left()
        return time.monotonic() - sent

    def left(self) -> list[int]:
        """Ids of the processes that still live, once all had time to go."""
        deadline = time.monotonic() + GONE_S
        while (alive := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return alive

    def alive(self) -> list[int]:
        """Ids of the processes of this run that still live."""
        wanted = f"{MARK}={self._mark}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):  # it ended, or is somebody else's
                    if wanted in (folder / "environ").read_bytes().split(b"\0"):
                        found.append(int(folder.name))
        return found

    def output(self) -> str:
        """What it has printed, on both streams."""
        self._output.seek(0)
        return self._output.read()


@dataclass
class Report:
    """What a disturbed run came to."""

    problems: list[str] = field(default_factory=list)
    landed: int = 0
    """Signals that met a live process; a start with little left may end before its own."""
    slowest_s: float = 0.0
    """The longest that processes outlived their parent."""


def count_steps(database: Path) -> int:
    """Steps recorded so far; 0 where there is no database yet."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM step").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def finish(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Let the command end by itself. Returns seconds to its first step, and to its end.

    Raises:
        RuntimeError: if it fails, with what it said.
    """
    started = Started(command, folder)
    started.wait_for(steps=1)
    first_s = started.age_s
    if started.process.wait() != 0:
        raise RuntimeError(f"exit status {started.process.returncode}:\n{started.output()}")
    return first_s, started.age_s


def disturb(
    command: Sequence[str],
    folder: Path,
    *,
    kills: int,
    steps: int,
    first_s: float,
    number: int,
    seed: int,
    tell: Callable[[str], None] = print,
) -> Report:
    """Start and stop the command `kills` times, leaving it unfinished or finished as it falls.

    Args:
        command: What to start.
        folder: Its data folder.
        kills: How many times.
        steps: Steps that the whole run records.
        first_s: Seconds from a start to the first step.
        number: The signal.
        seed: Of the times.
        tell: Is told about each kill, in a line.
    """
    chance, report = random.Random(seed), Report()
    early = max(1, kills // 4)
    for kill in range(kills):
        before = count_steps(folder / "arena.db")
        started = Started(command, folder)
        if kill < early or before >= steps:
            # Before the first new step; at the latest with it, as a start may be quicker than it was.
            started.wait_for(steps=before + 1, age_s=chance.uniform(0, first_s))
        else:
            # A stratum of the steps for each, and the very end for the last two.
            share = (kill - early + chance.random()) / (kills - early) if kill < kills - 2 else chance.uniform(0.985, 1)
            started.wait_for(steps=min(steps, max(round(share * steps), before + chance.randint(1, 30))))
            time.sleep(chance.uniform(0, 0.3))
        age_s, ended = started.age_s, started.process.poll()
        gone_s = started.stop(number) if ended is None else 0.0
        report.landed += ended is None
        report.slowest_s = max(report.slowest_s, gone_s)
        status = started.process.returncode
        recorded = count_steps(started.database)
        tell(
            f"{kill + 1:4}  {age_s:6.1f} s  {recorded:6} of {steps} steps  exit {status:4}  "
            f"all gone after {gone_s:5.2f} s" + ("  (it had ended)" if ended is not None else "")
        )
        report.problems += [f"kill {kill + 1}: {problem}" for problem in _problems(started, ended, number)]
    return report


def _problems(started: Started, ended: int | None, number: int) -> list[str]:
    found = [f"process {pid} was left" for pid in started.alive()]
    output = started.output()
    if ended is not None:
        if ended != 0:
            found.append(f"ended by itself with {ended}: {output[-2000:]}")
    elif number != signal.SIGKILL:
        expected = 128 + number
        # An interrupt may come when the work is done.
        if started.process.returncode not in (0, expected):
            found.append(f"exit status {started.process.returncode}, expected {expected}: {output[-2000:]}")
        if "Traceback" in output:
            found.append(f"a trace was printed: {output[-2000:]}")
    if started.database.exists():
        with contextlib.closing(sqlite3.connect(started.database, timeout=30)) as connection:
            [[answer]] = connection.execute("PRAGMA quick_check").fetchall()
            if answer != "ok":
                found.append(f"the database is damaged: {answer}")
    return found


def results(folder: Path) -> Facts:
    """What the only run in a folder has recorded."""
    with Location.of(str(folder / "arena.db")).open() as store:
        [run] = store.runs()
        return facts(store, run.id)


def leftovers(folder: Path) -> list[str]:
    """Files that belong to nothing: unfinished videos and half-written artifacts."""
    names = [path for path in folder.rglob("*") if path.is_file()]
    return [
        f"left behind: {path.relative_to(folder)}" for path in names if ".scratch" in str(path) or ".put-" in path.name
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="how many (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the times at which they fall (default: 0)")
    parser.add_argument("--signal", choices=("KILL", "INT", "TERM"), default="KILL", help="(default: KILL)")
    parser.add_argument("--folder", type=Path, help="keep the data here (default: a temporary folder)")
    options = parser.parse_args()
    command = (*ARENA, "demo", "--quick")
    root = options.folder or Path(tempfile.mkdtemp(prefix="arena-kill-"))
    try:
        first_s, whole_s = finish(command, root / "a")
        steps = count_steps(root / "a" / "arena.db")
        print(f"undisturbed: {whole_s:.1f} s, first step after {first_s:.1f} s, {steps} steps", flush=True)
        report = disturb(
            command,
            root / "b",
            kills=options.kills,
            steps=steps,
            first_s=first_s,
            number=signal.Signals[f"SIG{options.signal}"],
            seed=options.seed,
            tell=functools.partial(print, flush=True),
        )
        _, last_s = finish(command, root / "b")
        print(f"the last start finished in {last_s:.1f} s")
        undisturbed, disturbed = results(root / "a"), results(root / "b")
        problems = report.problems + leftovers(root / "b") + differences(undisturbed, disturbed)
        for kind, rows in undisturbed.items():
            print(f"{kind:14} {len(rows):6} undisturbed  {len(disturbed[kind]):6} after {report.landed} kills")
        print(f"processes outlived their parent by at most {report.slowest_s:.2f} s")
    finally:
        if options.folder is None:
            shutil.rmtree(root, ignore_errors=True)
    print("\n".join(problems) if problems else "nothing differs, nothing is left behind")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
