"""`arena power`: how many seeds it takes to see a gain, from the paired differences of a run."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import typer

from arena.cli.common import Artifacts, AsJson, Database, console, listing, location, plain, print_json
from arena.errors import NotEnoughData
from arena.leaderboard import cells, differences
from arena.statistics import NoPilot, SeedsNeeded, seeds_needed


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command("power")(show_power)


def show_power(
    run: Annotated[str, typer.Argument(help="The pilot: a run id, or its beginning.", show_default=False)],
    gain: Annotated[
        float,
        typer.Option("--gain", min=0.1, max=100, help="Points of the score that are to be seen.", show_default=False),
    ],
    power: Annotated[
        float, typer.Option("--power", min=0.05, max=0.999, help="Share of experiments that are to see them.")
    ] = 0.8,
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha", min=0.0001, max=0.5, help="Level of the two-sided test; divide it by the number of comparisons."
        ),
    ] = 0.05,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Say how many seeds it takes to see a gain, from a pilot run whose conditions try again."""
    if alpha >= power:
        raise typer.BadParameter(f"must be below --power, which is {power:g}", param_hint="--alpha")
    with location(database, artifacts).existing() as store:
        run_id = store.run(run).id
        pilots = differences(cells(store, run_id))
    if not pilots:
        raise NotEnoughData(
            f"run {run_id} has no paired differences: a pilot needs a condition that retries "
            "(such as reflect-and-retry), with scored first and last attempts"
        )
    answers = list(_answers(pilots, gain, power, alpha))
    problems = sorted({answer for _, answer in answers if isinstance(answer, str)})
    if all(isinstance(answer, str) for _, answer in answers):
        raise NotEnoughData(f"run {run_id} is too small a pilot: {'; '.join(problems)}")
    if as_json:
        keys = ("space", "agent", "condition", "reference", "task")
        rows = [{**dict(zip(keys, place, strict=True)), **_told(answer)} for place, answer in answers]
        print_json({"run": run_id, "gain": gain, "power": power, "alpha": alpha, "rows": rows})
    else:
        _print(run_id, answers, gain, power, alpha)


Place = tuple[str, str, str, str, str]
"""Space, agent, condition, reference and task; the task is empty for all of them together."""


def _answers(
    pilots: dict[tuple[str, str, str, str], dict[str, list[float]]], gain: float, power: float, alpha: float
) -> Iterator[tuple[Place, SeedsNeeded | str]]:
    """The answer for every comparison, over tasks and then task by task; or why there is none."""
    for key, tasks in sorted(pilots.items()):
        strata = [("", list(tasks.values()))] if len(tasks) > 1 else []
        for task, data in [*strata, *((task, [values]) for task, values in tasks.items())]:
            place = (*key, task)
            # Chance of an answer depends on what is asked, not on what else is.
            rng = np.random.default_rng(zlib.crc32("|".join(place).encode()))
            try:
                yield place, seeds_needed(data, gain, rng, power=power, alpha=alpha)
            except NoPilot as error:
                yield place, str(error)


def _told(answer: SeedsNeeded | str) -> dict[str, Any]:
    return {"problem": answer} if isinstance(answer, str) else {"seeds": answer.seeds, **asdict(answer)}


def _print(
    run_id: str, answers: list[tuple[Place, SeedsNeeded | str]], gain: float, power: float, alpha: float
) -> None:
    console.print(
        f"Seeds a task to see a gain of {gain:g} points in {power:.0%} of experiments, two-sided at {alpha:g}; "
        f"pilot {run_id}",
        markup=False,
        highlight=False,
    )
    table = listing("pilot", "seeds", "95 %", "formula", "spread", "pairs", whole=("pilot", "seeds", "95 %"))
    previous = ("", "")
    problems = []
    for (space, agent, condition, reference, task), answer in answers:
        group = (f"{agent}, {space}", f"  {condition} - {reference}")
        for level, head in enumerate(group):
            if group[: level + 1] != previous[: level + 1]:
                table.add_row(plain(head))
        previous = group
        name = plain(f"    {task or 'all tasks'}")
        if isinstance(answer, str):
            problems.append(f"{''.join(group)}, {task or 'all tasks'}: {answer}")
            table.add_row(name, "-")
            continue
        cells = (str(answer.seeds), f"{answer.low}-{answer.high}", str(answer.closed_form))
        table.add_row(name, *cells, f"{answer.spread:.1f}", str(answer.pairs))
    console.print(table)
    for problem in problems:
        console.print(plain(f"- {problem}"))
    console.print(
        "seeds: simulated from the pilot with the test of the comparisons; formula: noncentral t, and the answer "
        "beyond 1,000 pairs; 95 %: for what the pilot does not know of its own spread",
        markup=False,
        highlight=False,
    )
