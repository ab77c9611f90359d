"""`arena tasks` and `arena agents`: what there is to play, and who can play it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

import agents
import environments
from arena.cli.common import AsJson, console, listing, plain, print_json
from environments.certificates import shipped
from environments.robots.libero.loading import problems
from environments.task import CATEGORIES, TIERS, Task


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command("tasks")(list_tasks)
    app.command("agents")(list_agents)


def list_tasks(
    pattern: Annotated[
        str, typer.Argument(help="A glob over ids, such as 'games/*'; a single task is shown whole.")
    ] = "*",
    as_json: AsJson = False,
) -> None:
    """List the tasks, their action spaces and milestones."""
    found = environments.match(pattern)
    if as_json:
        print_json(
            [
                {
                    "id": task.id,
                    "title": task.title,
                    "goal": task.goal,
                    "category": task.category,
                    "tier": task.tier,
                    "spaces": list(task.spaces),
                    "max_steps": task.max_steps,
                    "certificate": certificate.to_json() if (certificate := shipped(task.id)) else None,
                    "milestones": [{"id": m.id, "text": m.text, "after": list(m.after)} for m in task.milestones],
                }
                for task in found
            ]
        )
        return
    rows = _folded(found)
    console.print(_table(rows))
    if folded := next((shown for shown, task in rows if shown != task.id), None):
        suite = folded.partition(" ")[0]
        console.print(f"\n{suite} is a suite; `arena tasks '{suite}'` lists its tasks.", style="dim", highlight=False)
    if len(found) > 1:
        console.print(_counted(found), style="dim", highlight=False)
    if any(task.id.startswith("libero/") for task in found):
        for problem in problems():
            console.print(f"libero/* cannot be played here: {problem}", style="dim", markup=False, highlight=False)
    if len(found) == 1:
        console.print(f"\n{found[0].goal}\n", markup=False, highlight=False)
        milestones = listing("milestone", "reached when", whole=("milestone",))
        for milestone in found[0].milestones:
            milestones.add_row(milestone.id, milestone.text)
        console.print(milestones)


def _table(rows: Sequence[tuple[str, Task]]) -> Table:
    """The tasks in rows; those of one suite, which differ in their instruction alone, with that instead of the rest."""
    suites = {task.id.rpartition("/")[0] for _, task in rows}
    if len(rows) > 1 and len(suites) == 1 and "/" in suites.pop():
        table = listing("task", "goal", "steps", whole=("task", "steps"))
        for shown, task in rows:
            table.add_row(shown, plain(task.goal), str(task.max_steps))
        return table
    table = listing("task", "category", "tier", "spaces", "steps", whole=("task", "tier", "steps"))
    for shown, task in rows:
        table.add_row(shown, task.category, task.tier, ", ".join(task.spaces), str(task.max_steps))
    return table


def _folded(tasks: Sequence[Task]) -> list[tuple[str, Task]]:
    """What stands in each row, and the task that it tells of: one row for a suite, unless nothing else was asked for.

    A suite's tasks have ids of three parts, as `libero/goal/3-v1`.
    """
    suites = [task.id.rpartition("/")[0] for task in tasks]
    if len(set(suites)) == 1:
        return [(task.id, task) for task in tasks]
    counts = Counter(suites)
    rows: dict[str, tuple[str, Task]] = {}
    for suite, task in zip(suites, tasks, strict=True):
        folded = "/" in suite and counts[suite] > 1
        rows.setdefault(suite if folded else task.id, (f"{suite}/* ({counts[suite]})" if folded else task.id, task))
    return list(rows.values())


def _counted(tasks: Sequence[Task]) -> str:
    """How many there are, and how much of the taxonomy the games fill."""
    cells = {(task.category, task.tier) for task in tasks if task.id.startswith("games/")}
    families = Counter(task.id.split("/")[0] for task in tasks)
    filled = f"; the games fill {len(cells)} of {len(CATEGORIES) * len(TIERS)} cells" if cells else ""
    return f"\n{', '.join(f'{count} {family}' for family, count in sorted(families.items()))}{filled}"


def list_agents(as_json: AsJson = False) -> None:
    """List the agents and their options."""
    found = agents.describe()
    if as_json:
        print_json(found)
        return
    table = listing("agent", "what it is", "options", whole=("agent",))
    for agent in found:
        summary = agent["summary"] + (f"\n[dim]instrument: {agent['instrument']}[/]" if agent["instrument"] else "")
        options = ", ".join(
            f"{option['name']}" if option["required"] else f"{option['name']}={option['default']}"
            for option in agent["options"]
        )
        table.add_row(agent["name"], summary, plain(options))
    console.print(table)
