"""What the commands share: consoles, the options that name a place, JSON output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ValidationError
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from arena.errors import InvalidExperiment, Problem
from arena.location import Location
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


def listed(text: str, separator: str = ",") -> list[str]:
    """The parts of an option that names several things; empty ones are left out."""
    return [part.strip() for part in text.split(separator) if part.strip()]


def only_given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others keep the defaults of whatever takes them."""
    return {name: value for name, value in options.items() if value is not None}


Options = TypeVar("Options", bound=BaseModel)


def checked(model: type[Options], values: dict[str, Any]) -> Options:
    """Command-line options as a validated model.

    Raises:
        InvalidExperiment: with every option that is wrong.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = [
            Problem(_option(item["loc"]), item.get("input"), item["msg"].removeprefix("Value error, "))
            for item in error.errors(include_url=False)
        ]
        raise InvalidExperiment("arguments", problems) from None


def _option(location: Sequence[int | str]) -> str:
    return f"--{str(location[-1]).replace('_', '-')}" if location else "options"


def print_json(value: Any) -> None:
    """Plain JSON on standard output, for scripts: ASCII, for what a model said may hold what no encoding has."""
    typer.echo(dump_json(value, indent=2, default=str))


def plain(text: str) -> Text:
    """Text that may come from a model: shown as it is, never as markup, control characters made visible."""
    text = text.replace("\t", "    ")  # as PostgreSQL begins the second line of its messages
    return Text("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text))


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 try`, `2 tries`, `2 problems`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def say(text: str) -> None:
    """Print a sentence or more of plain text to standard output, wrapped at the terminal's width."""
    console.print(plain(text))


def listing(*columns: str, whole: Sequence[str] = ()) -> Table:
    """A table without frames; the columns named in `whole` hold ids, which are of no use cut short."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, no_wrap=name in whole, overflow="fold")
    return table
