"""The option that names LIBERO's assets, for every command that plays robot tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from arena.errors import Problem
from environments.robots.libero import loading

Libero = Annotated[
    Path | None,
    typer.Option(
        "--libero",
        help=f"Folder with LIBERO's assets, for its tasks.  [default: ${loading.ASSETS}]",
        show_default=False,
    ),
]


def use_libero(folder: Path | None, problems: list[Problem]) -> None:
    """Make a folder of LIBERO's assets known to this process and to those that it starts.

    Args:
        folder: the assets; None leaves everything as it is.
        problems: what is wrong with it is added.
    """
    if folder is None:
        return
    if not folder.is_dir():
        problems.append(Problem("--libero", str(folder), "is no folder"))
        return
    os.environ[loading.ASSETS] = str(folder.absolute())  # workers inherit it
    found = loading.assets_folder()
    if isinstance(found, str):
        problems.append(Problem("--libero", "", found.replace(loading.ASSETS, "it", 1)))
