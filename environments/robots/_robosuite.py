"""The one place that imports robosuite and MuJoCo: without OpenGL, without log files, with help.

robosuite 1.4.0 opens an OpenGL library while it is being imported (and forces EGL), warns about
a missing private settings file, and writes a debug log to the temporary folder. None of that is
wanted in a process that only wants physics, or that has no OpenGL at all. Rendering is chosen
later, on the first look, in `environments.robots.rendering`.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_INSTALL = "the robot tasks need robosuite and MuJoCo: pip install 'rewind-arena[robots]'"


@contextmanager
def _no_opengl() -> Iterator[None]:
    """Hide OpenGL from whatever is imported inside; the user's `MUJOCO_GL` comes back afterwards."""
    before = os.environ.get("MUJOCO_GL")
    os.environ["MUJOCO_GL"] = "disable"
    try:
        yield
    finally:
        if before is None:
            del os.environ["MUJOCO_GL"]
        else:
            os.environ["MUJOCO_GL"] = before


def _preload_macros() -> None:
    """Load robosuite's settings module ahead of the package, to change three settings in time."""
    package = importlib.util.find_spec("robosuite")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError(_INSTALL, name="robosuite")
    path = f"{package.submodule_search_locations[0]}/macros.py"
    spec = importlib.util.spec_from_file_location("robosuite.macros", path)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"{path} is missing: {_INSTALL}")
    macros = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(macros)
    macros.MUJOCO_GPU_RENDERING = False  # type: ignore[attr-defined]  # else it forces EGL at import
    macros.FILE_LOGGING_LEVEL = None  # type: ignore[attr-defined]
    macros.CONSOLE_LOGGING_LEVEL = None  # type: ignore[attr-defined]
    sys.modules["robosuite.macros"] = macros


def load() -> None:
    """Import MuJoCo and robosuite once, quietly.

    Raises:
        ModuleNotFoundError: if they are not installed; the message says what to install.
    """
    if "robosuite" in sys.modules:
        return
    with _no_opengl():
        _preload_macros()
        try:
            importlib.import_module("mujoco")
            logger = logging.getLogger("robosuite_logs")
            logger.setLevel(logging.ERROR)
            logger.propagate = False
            importlib.import_module("robosuite")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{error}; {_INSTALL}", name=error.name) from error


load()

import mujoco  # noqa: E402

__all__ = ["load", "mujoco"]
