"""PyAutoGUI without its optional parts, and the way of a drag: what hands on any desktop share."""

from __future__ import annotations

import sys
from typing import Any

_DRAG_STEP = 16
"""Pixels between the points of a drag; a jump would be no drag to a program that follows the pointer."""


def import_pyautogui(*, failsafe: bool) -> Any:
    """Import PyAutoGUI, which connects to the desktop for the life of this process.

    Its optional parts are kept out: MouseInfo exits the process where tkinter is missing, and the
    others (screenshots by Pillow and OpenCV, message boxes) cost a tenth of a second and are unused.

    Args:
        failsafe: whether a pointer in a corner of the screen stops everything: the brake of a person who watches.
            On a private display a click into a corner is a click.
    """
    for unused in ("mouseinfo", "pyscreeze", "pymsgbox", "pytweening"):
        sys.modules[unused] = None  # type: ignore[assignment]  # Python's own way to forbid an import
    import pyautogui

    pyautogui.FAILSAFE = failsafe
    pyautogui.PAUSE = 0
    return pyautogui


def path(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """Points on the straight line from just after `start` to `end`, at most 16 pixels apart."""
    (x, y), (to_x, to_y) = start, end
    steps = max(1, -(-max(abs(to_x - x), abs(to_y - y)) // _DRAG_STEP))
    return [(x + (to_x - x) * i // steps, y + (to_y - y) * i // steps) for i in range(1, steps + 1)]
