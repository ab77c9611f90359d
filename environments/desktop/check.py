"""Whether this machine can have a private display, and what to install if not."""

from __future__ import annotations

import ctypes.util
import importlib.util
import shutil
import sys

SYSTEM_PACKAGES = ("xvfb", "libxcb-randr0", "libxcb-render0", "libxcb-shm0", "libxcb-xfixes0")
"""Debian packages that a desktop needs: the X server, and what MSS loads to look at it."""

_MODULES = {"pyautogui": "pyautogui", "mss": "mss", "Xlib": "python3-xlib"}
_LIBRARIES = {"xcb": "libxcb1", **{f"xcb-{part}": f"libxcb-{part}0" for part in ("randr", "render", "shm", "xfixes")}}


def check() -> list[str]:
    """Problems that would keep a `Desktop` from starting, each with its cure; cheap, starts nothing."""
    if not sys.platform.startswith("linux"):
        return [f"a private X display needs Linux, this is {sys.platform}; the semantic action spaces work anywhere"]
    problems = [
        f"{program} is not installed; install it with: apt-get install {package}"
        for program, package in (("Xvfb", "xvfb"), ("xkbcomp", "x11-xkb-utils"))
        if shutil.which(program) is None
    ]
    problems += [
        f"the Python module {module} is missing; install it with: pip install {package}"
        for module, package in _MODULES.items()
        if importlib.util.find_spec(module) is None
    ]
    problems += [
        f"the library lib{library} is missing, which MSS needs; install it with: apt-get install {package}"
        for library, package in _LIBRARIES.items()
        if ctypes.util.find_library(library) is None
    ]
    return problems
