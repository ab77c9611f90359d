"""What the commands share: consoles, the options that name a place, JSON output, the leaderboard as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from arena.leaderboard import Leaderboard, Row
from arena.location import Location
from arena.statistics import Interval
from storage.column_types import dump_json

console = Console()
errors = Console(stderr=True)

Database = Annotated[
    str | None,
    typer.Option(
        "--db", help="SQLite file or SQLAlchemy URL.  [default: arena-data/arena.db, or $ARENA_DB]", show_default=False
    ),
]
Artifacts = Annotated[
    str | None,
    typer.Option(
        "--artifacts",
        help="Folder or fsspec URL for videos and images.  [default: beside a SQLite file, else in $ARENA_DATA]",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def location(database: str | None, artifacts: str | None) -> Location:
    """The place that the options name."""
    return Location.of(database, artifacts)


def print_json(value: Any) -> None:
    """Plain JSON on standard output, for scripts: ASCII, for what a model said may hold what no encoding has."""
    typer.echo(dump_json(value, indent=2, default=str))


def plain(text: str) -> Text:
    """Text that may come from a model: shown as it is, never as markup, control characters made visible."""
    text = text.replace("\t", "    ")  # as PostgreSQL begins the second line of its messages
    return Text("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text))


def listing(*columns: str, whole: Sequence[str] = ()) -> Table:
    """A table without frames; the columns named in `whole` hold ids, which are of no use cut short."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, no_wrap=name in whole, overflow="fold")
    return table


def leaderboard_table(board: Leaderboard) -> Group:
    """The leaderboard: a section per task and space; columns that are empty throughout are left out."""
    title = f"{board.run_id}: {board.done} of {board.planned} trials done; score 0..100 with 95 % interval"
    table = Table(header_style="bold underline", box=None, padding=(0, 1, 0, 0))
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("score", lambda row: _interval(row.score)),
        ("success", lambda row: f"{row.success.estimate:.0%}" if row.success else "-"),
        ("gain", lambda row: _interval(row.gain, signed=True)),
        ("n", _count),
        ("illegal", lambda row: str(row.illegal or "") if console.width >= 96 else ""),
        ("cost", _cost),
    ]
    counts = {_count(row) for row in board.rows}
    notes = []
    if len(counts) == 1:  # said once below is better than a column of one number
        columns = [column for column in columns if column[0] != "n"]
        notes.append(f"n = {counts.pop()} in every row; gain: reported round minus first, paired by seed")
    columns = [(name, show) for name, show in columns if any(show(row) for row in board.rows)]
    table.add_column("agent, condition", no_wrap=True)
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    previous: tuple[str, str] | None = None
    for row in board.rows:
        if (row.task, row.space) != previous:
            previous = (row.task, row.space)
            table.add_row()
            table.add_row(Text(f"{row.task} {row.space}", style="bold cyan"))
        label = plain(f"  {row.agent}{'*' if row.instrument else ''}")
        label.append(plain(f"  {row.condition}").plain, style="dim")
        table.add_row(label, *(Text(show(row)) for _, show in columns))  # "[one seed]" is no markup
    labels = sorted({f"  {row.agent}*: {row.instrument}" for row in board.rows if row.instrument})
    if labels:
        notes += ["* an instrument, no contestant", *labels]
    judges = sorted({row.judge for row in board.rows if row.judge})
    notes += [f"scores of worlds that tell none: share of milestones reached, judged by {name}" for name in judges]
    # Beside the table and not its title and caption, which would wrap at the table's width.
    return Group(Text(title), table, plain("\n".join(["", *notes])))


def _interval(value: Interval | None, *, signed: bool = False) -> str:
    if value is None:
        return ""
    form, bound = ("{:+.1f}", "{:+.0f}") if signed else ("{:.1f}", "{:.0f}")
    if value.n == 1:
        return f"{form.format(value.estimate)} [one seed]"
    return f"{form.format(value.estimate)} [{bound.format(value.low)}, {bound.format(value.high)}]"


def _count(row: Row) -> str:
    return str(row.scored) if row.scored == row.planned else f"{row.scored}/{row.planned}"


def _cost(row: Row) -> str:
    if row.calls == 0:
        return ""
    return "unknown" if row.cost_usd is None else f"${row.cost_usd:.4f}"
