"""`arena certify`: does a task play the same in fresh processes?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

import environments
from arena.certification import PROCESSES, Certification, certify
from arena.cli.common import AsJson, console, errors, listing, plain, print_json
from arena.rollback_check import RollbackCheck, check_rollback
from environments.task import Task


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command("certify")(certify_tasks)


def certify_tasks(
    pattern: Annotated[str, typer.Argument(help="A glob over task ids, such as 'games/*'.")] = "games/*",
    write: Annotated[
        Path | None,
        typer.Option(help="Update this JSON file of certificates, for the package's own.", show_default=False),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write the results as a Markdown page.", show_default=False)] = None,
    rollback: Annotated[
        bool,
        typer.Option("--rollback", help="Instead: go back to moments of an episode, and compare what follows."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Replay tasks in three fresh processes each and compare every frame and state.

    With --rollback, take each task back to ten or more moments of an episode, some while the hand holds something,
    after a reset, in a world built anew and in another process; the same actions must give the same states and
    pictures. `arena run` tests this by itself before a diagnosis is scored.

    Exits with 1 if any of them differs.
    """
    tasks = environments.match(pattern)
    if rollback:
        if write is not None or page is not None:
            raise typer.BadParameter("--rollback goes with neither --write nor --page; use --json")
        _check_rollbacks(tasks, as_json=as_json)
        return
    done = [certify(task) for task in track(tasks, "Certifying", console=errors, transient=True)]
    if write is not None:
        _update(write, done)
    if page is not None:
        page.write_text(_page(done), "utf-8")
    if as_json:
        print_json([result.to_json() for result in done])
    else:
        table = listing("task", "steps", "frames", "states", "result", whole=("task", "steps", "frames", "states"))
        for result in done:
            table.add_row(*_row(result))
        console.print(table)
        passed, skipped = sum(result.passed for result in done), sum(bool(result.skipped) for result in done)
        console.print(f"{passed} passed, {len(done) - passed - skipped} failed, {skipped} skipped")
    if any(not result.passed and not result.skipped for result in done):
        raise typer.Exit(1)


def _check_rollbacks(tasks: Sequence[Task], *, as_json: bool) -> None:
    done = [check_rollback(task) for task in track(tasks, "Going back", console=errors, transient=True)]
    if as_json:
        print_json([result.to_json() for result in done])
    else:
        table = listing("task", "moments", "holding", "seconds", "result", whole=("task",))
        for result in done:
            table.add_row(*_rollback_row(result))
        console.print(table)
    if any(not result.passed and not result.skipped for result in done):
        raise typer.Exit(1)


def _rollback_row(result: RollbackCheck) -> tuple[str, ...]:
    told = "\n".join(result.differences) or (f"skipped: {result.skipped}" if result.skipped else "same")
    if not result.passed and not result.differences and not result.skipped:
        told = "its episode ended before there was a moment to go back to"
    figures = ("-", "-", "-") if result.skipped else (str(result.points), str(result.holding), f"{result.seconds:.1f}")
    return result.task, *figures, plain(told).plain


def _row(result: Certification) -> tuple[str, str, str, str, str]:
    made = result.certificate
    told = "\n".join(result.differences) or (f"skipped: {result.skipped}" if result.skipped else "same")
    if result.elsewhere:
        told += f"; {result.elsewhere}"
    if made is None:
        return result.task, "-", "-", "-", plain(told).plain
    return result.task, str(sum(made.steps)), made.frames[:12], made.states[:12], plain(told).plain


_PAGE = """# Determinism

The same seed and the same actions give the same frames and the same states, in any process. `arena certify` shows it:
it plays a mixture of expert and random actions on {seeds} seeds of each game, replays them in {processes} fresh
processes with other hash seeds (two from the start, one from a snapshot taken on the way), and compares every frame
and every state bit for bit. This page is its output (`arena certify --page docs/determinism.md`), made on

> {machine}

The hashes below are shipped with the package (`environments/certificates.json`), so that certifying on another machine
says whether it draws the same pixels too. Frames that OpenGL renders (*{rendered}*) may differ between drivers; their
states may not.

| game | steps | frames | states | result |
|---|---|---|---|---|
{rows}
"""


def _page(done: list[Certification]) -> str:
    made = [result.certificate for result in done if result.certificate]
    rows = ["| " + " | ".join((f"`{task}`", *rest)) + " |" for task, *rest in map(_row, done)]
    return _PAGE.format(
        seeds=max((len(certificate.seeds) for certificate in made), default=0),
        processes=PROCESSES,
        machine="; ".join(sorted({certificate.machine for certificate in made})),
        rendered=", ".join(task.title for task in environments.tasks() if "rendered" in task.tags) or "none",
        rows="\n".join(rows),
    )


def _update(path: Path, done: list[Certification]) -> None:
    kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
    kept.update({result.task: result.certificate.to_json() for result in done if result.certificate and result.passed})
    known = {task.id for task in environments.tasks()}
    kept = {task: kept[task] for task in sorted(kept) if task in known}
    path.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
