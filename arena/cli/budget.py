"""`arena budget`: were all conditions of a run given the same number of pictures and tokens?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from arena.cli.common import Artifacts, AsJson, Database, console, listing, location, plain, print_json
from arena.reflection.budget import MAX_PICTURES, MAX_SHARE, Budgets, budgets


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command("budget")(show_budget)


def show_budget(
    run: Annotated[str, typer.Argument(help="Run id, or its beginning.", show_default=False)],
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Count the pictures and tokens of each condition's reflections, in the stored calls.

    Exits with 1 if conditions on the matched budget differ by more than one picture or 5 % of the tokens.
    """
    with location(database, artifacts).existing() as store:
        found = budgets(store, run)
    if as_json:
        print_json({**asdict(found), "equal": found.equal})
    else:
        _print(found)
    if not found.equal:
        raise typer.Exit(1)


def _print(found: Budgets) -> None:
    if not found.rows:
        console.print("No model has reflected in this run.")
        return
    table = listing("condition", "model", "reflections", "pictures", "text", "tokens in", "tokens out")
    for row in found.rows:
        few, most = row.fewest_pictures, row.most_pictures
        table.add_row(
            plain(row.condition + ("" if row.matched else " (not matched)")),
            plain(row.model),
            str(row.reflections),
            str(most) if few == most else f"{few} to {most}",
            f"{row.text:.0f}",
            "unknown" if row.input_tokens is None else f"{row.input_tokens:.0f}",
            "unknown" if row.output_tokens is None else f"{row.output_tokens:.0f}",
        )
    console.print(table)
    tokens, text = (_share(share) for share in (found.tokens_apart, found.text_apart))
    console.print(
        f"first rounds of {found.trials} trials; the matched conditions differ by {found.pictures_apart} pictures, "
        f"{tokens} of the tokens and {text} of the text (at most {MAX_PICTURES} and {MAX_SHARE:.0%}): "
        f"{'equal' if found.equal else 'NOT EQUAL'}"
    )


def _share(value: float | None) -> str:
    return "nothing to compare" if value is None else f"{value:.1%}"
