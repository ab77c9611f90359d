"""`arena doctor`: checks what a run needs on this machine, and says how to mend what is missing."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

import environments
from arena.cli.common import Artifacts, AsJson, Database, console, listing, location, plain, print_json
from arena.location import Location
from environments.errors import EnvironmentsError, MissingEngine
from environments.task import Task
from storage.errors import StorageError
from storage.video import VideoWriter, read_frames

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "ARENA_API_KEY")
"""Variables that models' keys are read from; a run without models needs none."""


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = True
    """Whether `arena demo` needs it."""


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command("doctor")(doctor)


def doctor(database: Database = None, artifacts: Artifacts = None, as_json: AsJson = False) -> None:
    """Check display, graphics, video encoder, database and keys; say how to mend each."""
    checks = [
        check
        for look in (_python, _display, _graphics, _encoder, _viewer, _engines, _benchmarks, _programs, _keys)
        for check in look()
    ]
    checks += _database(location(database, artifacts))
    if as_json:
        print_json([check._asdict() for check in checks])
    else:
        table = listing("", "what", "found", "how to mend it", whole=("", "what"))
        for check in checks:
            mark = "[green]ok[/]" if check.ok else "[red]no[/]" if check.required else "[yellow]-[/]"
            table.add_row(mark, check.name, plain(check.detail), plain("" if check.ok else check.fix))
        console.print(table)
    if any(check.required and not check.ok for check in checks):
        raise typer.Exit(1)


def _python() -> Iterator[Check]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Check("Python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")


def _display() -> Iterator[Check]:
    from environments.desktop.check import check

    problems = check()
    if problems:
        for problem in problems:
            found, _, fix = problem.partition("; ")
            yield Check("display", False, found, fix)
        return
    from environments.desktop import Desktop

    yield _attempt("display", lambda: _shown(Desktop), "look at the message; a stale X lock in /tmp is a common cause")


def _shown(desktop: type) -> str:
    frame = np.random.default_rng(0).integers(0, 256, (120, 160, 3), dtype=np.uint8)
    screen = desktop(size=(160, 120), title="doctor")
    try:
        screen.show(frame)
        same = bool((screen.grab() == frame).all())
    finally:
        screen.close()
    if not same:
        raise EnvironmentsError("the private display does not show the frame that it was given")
    return "a private Xvfb shows what it is given, and echoes keyboard and mouse"


def _graphics() -> Iterator[Check]:
    if importlib.util.find_spec("robosuite") is None:
        yield Check("graphics", False, "robosuite is not installed", "pip install 'rewind-arena[robots]'")
        return
    from environments.robots.rendering import backend

    yield _attempt("graphics", lambda: "{}: {}".format(*backend()), "apt-get install libosmesa6")


def _encoder() -> Iterator[Check]:
    yield _attempt("video encoder", _encoded, "pip install --force-reinstall av")


def _encoded() -> str:
    frames = [np.full((64, 64, 3), value, np.uint8) for value in (0, 255)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "check.mp4"
        writer = VideoWriter(path, fps=10, size=(64, 64))
        for frame in frames:
            writer.write(frame)
        info = writer.close()
        back = read_frames(path, [1])[0]
    if abs(int(back.mean()) - 255) > 8:
        raise StorageError("a white frame did not come back white")
    return f"{info.codec}, frame-exact"


def _viewer() -> Iterator[Check]:
    found = importlib.util.find_spec("gradio") is not None
    yield Check(
        "viewer", found, "gradio is installed" if found else "gradio is missing", "pip install 'rewind-arena[ui]'"
    )


def _engines() -> Iterator[Check]:
    """Packages that games play on, one line an extra."""
    games: dict[str, list[Task]] = {}
    for task in environments.match("games/*"):
        games.setdefault(task.extra, []).append(task)
    for extra, tasks in sorted(games.items()):
        missing = sorted({module for task in tasks if (module := _missing_engine(task))})
        told = f"{', '.join(task.title for task in tasks)}" + (f"; missing: {', '.join(missing)}" if missing else "")
        if extra:
            yield Check(f"games [{extra}]", not missing, told, f"pip install 'rewind-arena[{extra}]'", required=False)


def _missing_engine(task: Task) -> str | None:
    try:
        task.make("semantic").close()
    except MissingEngine as error:
        return error.module
    return None


def _benchmarks() -> Iterator[Check]:
    """The real LIBERO: its code, its assets."""
    from environments.robots.libero.loading import problems

    found = problems()
    count = len(environments.match("libero/*"))
    told = "code or assets are missing" if found else f"{count} tasks; code and assets are here"
    yield Check("libero/* tasks", not found, told, "\n".join(found), required=False)


def _programs() -> Iterator[Check]:
    """Debian's own programs, one line for all of them."""
    from environments.native.check import check

    found = check()
    missing = {task: problems for task, problems in found.items() if problems}
    told = f"{len(found) - len(missing)} of {len(found)} can be played"
    cures = sorted({problem for problems in missing.values() for problem in problems})
    yield Check("desktop/* programs", not missing, told, "\n".join(cures), required=False)


def _keys() -> Iterator[Check]:
    found = [name for name in KEYS if os.environ.get(name)]
    detail = f"set: {', '.join(found)}" if found else "none set; only experiments with models need one"
    yield Check(
        "model keys", bool(found), detail, f"export one of {', '.join(KEYS)}" if not found else "", required=False
    )


def _database(place: Location) -> Iterator[Check]:
    yield _attempt(
        "database", lambda: _opened(place), "name another with --db, and a place for videos with --artifacts"
    )


def _opened(place: Location) -> str:
    with place.open() as store:
        runs = len(store.runs())
        store.artifacts.get(store.artifacts.put(b"arena doctor"))
    return f"opens and is up to date; {runs} runs; artifacts can be written and read"


def _attempt(name: str, look: Callable[[], str], fix: str) -> Check:
    try:
        return Check(name, True, look())
    except (EnvironmentsError, StorageError, OSError, ImportError) as error:
        return Check(name, False, f"{type(error).__name__}: {error}", fix)
