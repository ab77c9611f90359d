"""What the commands share: consoles, the options that name a place, JSON output, the leaderboard as a table."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from arena.leaderboard import Leaderboard, Row
from arena.location import Location
from arena.statistics import Interval

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
        help="Folder or fsspec URL for videos and images.  [default: beside the database]",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def location(database: str | None, artifacts: str | None) -> Location:
    """The place that the options name."""
    return Location.of(database, artifacts)


def print_json(value: Any) -> None:
    """Plain JSON on standard output, for scripts."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def plain(text: str) -> Text:
    """Text that may come from a model: shown as it is, never as markup, control characters made visible."""
    return Text("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text))


def leaderboard_table(board: Leaderboard) -> Table:
    """The leaderboard, one row per task, space, condition and agent."""
    table = Table(
        title=f"{board.name}: {board.done} of {board.planned} trials", title_justify="left", header_style="bold"
    )
    for name in ("task", "space", "condition", "agent"):
        table.add_column(name, no_wrap=name != "task")
    for name in ("score [95 %]", "success", "gain [95 %]", "n", "illegal", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    previous: tuple[str, str] | None = None
    for row in board.rows:
        place = (row.task, row.space)
        if previous is not None and place != previous:
            table.add_section()
        first = place != previous
        previous = place
        agent = Text(row.agent)
        if row.instrument:
            agent.append(" *", style="dim")
        table.add_row(
            row.task if first else "",
            row.space if first else "",
            row.condition,
            agent,
            _interval(row.score),
            f"{row.success.estimate:.0%}" if row.success else "-",
            _interval(row.gain, signed=True),
            _count(row),
            str(row.illegal) if row.illegal else "",
            _cost(row),
        )
    labels = sorted({f"{row.agent}: {row.instrument}" for row in board.rows if row.instrument})
    if labels:
        table.caption = "* an instrument, no contestant.\n" + "\n".join(labels)
        table.caption_justify = "left"
    return table


def _interval(value: Interval | None, *, signed: bool = False) -> str:
    if value is None:
        return ""
    form = "{:+.1f}" if signed else "{:.1f}"
    if value.n == 1:
        return f"{form.format(value.estimate)} [one seed]"
    return f"{form.format(value.estimate)} [{form.format(value.low)}, {form.format(value.high)}]"


def _count(row: Row) -> str:
    return str(row.scored) if row.scored == row.planned else f"{row.scored}/{row.planned}"


def _cost(row: Row) -> str:
    if row.calls == 0:
        return ""
    return "unknown" if row.cost_usd is None else f"${row.cost_usd:.4f}"
