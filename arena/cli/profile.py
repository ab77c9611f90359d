"""`arena profile`: write a profile of a game that you own, check it, and see what your windows are called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.common import AsJson, console, errors, listing, plain, print_json
from environments.errors import InvalidProfile
from environments.owned import tasks
from environments.owned.process import WorkerProcess
from environments.owned.profile import Profile, load


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    group = typer.Typer(help="Games that you own: check a profile, list the open windows.", no_args_is_help=True)
    group.command("check")(check_profiles)
    group.command("windows")(list_windows)
    app.add_typer(group, name="profile")


def check_profiles(
    places: Annotated[list[Path], typer.Argument(help="Profiles, or folders of them.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Validate profiles and say what is wrong with each; nothing of them runs.

    Exits with 1 if any of them cannot be used.
    """
    checked: dict[str, Path] = {}
    results = [_check(path, checked) for place in places for path in tasks.files(place)]
    if as_json:
        print_json(
            [
                {"file": str(path), "task": profile.task_id if profile else None, "problems": problems}
                for path, profile, problems in results
            ]
        )
    else:
        for path, profile, problems in results:
            if profile:
                console.print(plain(f"{path}: {profile.task_id} is valid"), soft_wrap=True)
            else:
                errors.print(plain(str(InvalidProfile(str(path), problems))), soft_wrap=True)
        if not results:
            errors.print(plain(f"no profile (*.yaml) in {', '.join(map(str, places))}"), soft_wrap=True)
    if not results or any(problems for _, _, problems in results):
        raise typer.Exit(1)


def list_windows(as_json: AsJson = False) -> None:
    """List the open windows of this desktop with their regions: what to write under `windows` in a profile."""
    worker = WorkerProcess()
    try:
        found, _ = worker.ask("list")
    finally:
        worker.close()
    if as_json:
        names = ("title", "left", "top", "width", "height")
        print_json([dict(zip(names, window, strict=True)) for window in found])
        return
    table = listing("title", "region")
    for title, left, top, width, height in found:
        table.add_row(plain(title), f"{width}x{height} at {left}, {top}")
    console.print(table)


def _check(path: Path, checked: dict[str, Path]) -> tuple[Path, Profile | None, list[str]]:
    """A profile and its problems; its id is noted in `checked`, unless somebody has it already."""
    try:
        profile = load(path)
    except InvalidProfile as error:
        return path, None, error.problems
    itself = path.resolve()
    other = tasks.owner(profile.task_id) or checked.setdefault(profile.task_id, itself)
    if other == itself:
        return path, profile, []
    has_it = f"the profile {other}" if isinstance(other, Path) else f"the task of {other}"
    taken = f"name, version: the id {profile.task_id} is taken by {has_it}; choose another name, or raise the version"
    return path, None, [taken]
