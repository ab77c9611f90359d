"""`arena runs`, `arena leaderboard`, `arena show` and `arena verify`: reading and checking what was recorded."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, fields
from typing import Annotated, Any

import typer
from rich.progress import track
from rich.table import Table

from arena import loop_times
from arena.cli.board import leaderboard_tables
from arena.cli.common import (
    Artifacts,
    AsJson,
    Database,
    console,
    errors,
    listing,
    location,
    plain,
    print_json,
)
from arena.leaderboard import leaderboard
from arena.verification import verify
from storage.errors import NoDatabase, RunBusy, UnknownRow
from storage.models import Base, Episode, Run
from storage.store import Store


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command("runs")(list_runs)
    app.command("leaderboard")(show_leaderboard)
    app.command("show")(show)
    app.command("verify")(verify_episodes)


def list_runs(database: Database = None, artifacts: Artifacts = None, as_json: AsJson = False) -> None:
    """List the runs in the database."""
    runs, told = [], "No runs yet. `arena demo` makes one."
    try:
        with location(database, artifacts).existing() as store:
            runs = [(run, len({link.identity for link in store.plan(run.id)})) for run in store.runs()]
            for run, _ in runs:
                run.status = _status(store, run)
    except NoDatabase as error:
        told = f"No runs yet: {error}."
    if as_json:
        print_json([{**_columns(run), "episodes": count} for run, count in runs])
        return
    if not runs:
        console.print(plain(told), soft_wrap=True)  # a path is of no use in two pieces
        return
    table = listing("run", "status", "episodes", "begun", whole=("run", "status"))
    for run, count in runs:
        table.add_row(run.id, run.status, str(count), f"{run.created_at:%Y-%m-%d %H:%M} UTC")
    console.print(table)


def show_leaderboard(
    run: Annotated[str, typer.Argument(help="Run id, or its beginning.", show_default=False)],
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Print the leaderboard of a run, with 95 % intervals."""
    with location(database, artifacts).existing() as store:
        board = leaderboard(store, run)
    if as_json:
        print_json(board.to_json())
    else:
        console.print(leaderboard_tables(board))


def show(
    record: Annotated[str, typer.Argument(help="Run or episode id, or its beginning.", show_default=False)],
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Show a run (its tables and comparisons), or an episode: its outcome, milestones, diagnoses, and every step."""
    with location(database, artifacts).existing() as store:
        try:
            run_id = store.run(record).id
        except UnknownRow:
            run_id = ""
    if run_id:
        show_leaderboard(run_id, database, artifacts, as_json)
    else:
        _show_episode(record, database, artifacts, as_json)


def _show_episode(episode: str, database: str | None, artifacts: str | None, as_json: bool) -> None:
    with location(database, artifacts).existing() as store:
        row = store.episode(episode)
        parts: dict[str, list[Any]] = {
            "steps": store.steps(row.id),
            "calls": store.calls(row.id),
            "truths": store.truths(row.id),
            "verdicts": store.verdicts(row.id),
            "lessons": store.lessons(row.id),
            "faults": store.faults(row.id),
            "diagnoses": store.diagnoses(row.id),
            "interventions": store.interventions(row.id),
        }
    if as_json:
        listed = {name: [_columns(item) for item in items] for name, items in parts.items()}
        print_json({**_columns(row), **listed, "cycles": loop_times.to_json(loop_times.cycles(parts["steps"]))})
        return
    head = Table.grid(padding=(0, 2))
    score = "-" if row.score is None else f"{row.score:.1f}" + ("" if row.scored else " (not scored)")
    for name, value in (
        ("episode", row.id),
        ("task", f"{row.task_id} ({row.space}), seed {row.seed}, round {row.round}"),
        ("agent", row.agent),
        ("outcome", f"{row.outcome or row.status} {row.outcome_detail}"),
        ("score", score),
        ("milestones", ", ".join(f"{truth.milestone_id}@{truth.step_index}" for truth in parts["truths"]) or "-"),
        *(("fault", f"{fault.fault_type} {fault.kind} at step {fault.onset_step}") for fault in parts["faults"]),
        *(
            ("diagnosis", f"after step {d.step_index}: {d.verdict} {d.fault_type or ''} by {d.diagnoser}")
            for d in parts["diagnoses"]
        ),
        *(
            ("rollback", f"{i.kind}, after step {i.at_step} to step {i.to_step}, exact: {i.exact}")
            for i in parts["interventions"]
        ),
        *(("lesson", lesson.text) for lesson in parts["lessons"]),
    ):
        head.add_row(plain(name), plain(str(value)))
    console.print(head)
    table = listing("step", "branch", "score", "status", "action", "what was said", whole=("step", "branch", "score"))
    for step in parts["steps"]:
        said = " ".join(part for part in (step.reason, step.rationale) if part)
        numbers = (str(step.index), str(step.branch), f"{step.score:.1f}")
        table.add_row(*numbers, step.status, plain(_action(step.action)), plain(said))
    console.print(table)
    if timed := loop_times.cycles(parts["steps"]):
        console.print(_loop_table(timed))


def _loop_table(timed: list[loop_times.Cycle]) -> Table:
    """Where the time of each cycle on a real robot went, in seconds."""
    heads = ("cycle", "steps", "back", "T_execute", "of it policy", "T_vlm", "T_rollback", "T_loop")
    table = listing(*heads, whole=heads)
    for cycle in timed:
        times = (f"{getattr(cycle, name):.2f}" for name in loop_times.TIMES)
        table.add_row(str(cycle.cycle), str(cycle.steps), str(cycle.back), *times)
    for what in ("median", "max", "sum"):
        figures = loop_times.summary(timed)
        table.add_row(what, "", "", *(f"{figures[name][what]:.2f}" for name in loop_times.TIMES))
    return table


def verify_episodes(
    record: Annotated[str, typer.Argument(help="Episode or run id, or its beginning.", show_default=False)],
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Play recorded episodes again and compare every step and diagnosis: does the record lead to its result?

    Exits with 1 if any of them differs. What could not be compared is said, and is no difference.
    """
    with location(database, artifacts).existing() as store:
        episodes = _recorded(store, record)
        checked = [
            verify(store, episode) for episode in track(episodes, "Playing again", console=errors, transient=True)
        ]
    if as_json:
        print_json([{**asdict(result), "holds": result.holds} for result in checked])
    else:
        table = listing("episode", "steps", "result", whole=("episode", "steps"))
        for result in checked:
            lines = result.differences or (f"skipped: {result.skipped}" if result.skipped else "as recorded",)
            table.add_row(result.episode, str(result.steps), plain("\n".join((*lines, *result.unchecked))))
        console.print(table)
        holding = sum(result.holds for result in checked)
        skipped = sum(bool(result.skipped) for result in checked)
        console.print(f"{holding} as recorded, {len(checked) - holding - skipped} different, {skipped} skipped")
        if partly := sum(bool(result.unchecked) for result in checked):
            console.print(f"{partly} could not be compared in every part; their lines say what and why")
    if any(result.differences for result in checked):
        raise typer.Exit(1)


def _recorded(store: Store, record: str) -> list[Episode]:
    """The episodes of a run, or the one episode."""
    try:
        run = store.run(record)
    except UnknownRow:
        return [store.episode(record)]
    return store.episodes(run.id)


def _action(value: Any) -> str:
    """An action for reading: a verb without quotes, joints to three decimals. `--json` has it whole."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_action(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(map(_action, value)) + "]"
    return f"{value:.3g}" if isinstance(value, float) else "-" if value is None else str(value)


def _status(store: Store, run: Run) -> str:
    """A killed process leaves `running` behind, but not the lock of its run."""
    if run.status == "running":
        with contextlib.suppress(RunBusy), store.run_lock(run.id):
            return "interrupted"
    return run.status


def _columns(row: Base) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}
