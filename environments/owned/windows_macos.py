"""The windows of a Mac, by way of Quartz."""

from __future__ import annotations

from typing import Any

import Quartz

from environments.owned.letterbox import Region
from environments.owned.window import OpenWindow

_SHOWN = Quartz.kCGWindowListExcludeDesktopElements | Quartz.kCGWindowListOptionOnScreenOnly


class MacWindows:
    """Windows on the screen, in points; a region includes the title bar, which a full-screen window lacks.

    A window is called by its program's name where the system does not tell its title, which it does only to programs
    that may record the screen.
    """

    def open(self) -> list[OpenWindow]:
        """Every window of the normal layer, front to back."""
        return [
            OpenWindow(
                int(window[Quartz.kCGWindowNumber]),
                str(window.get(Quartz.kCGWindowName) or window.get(Quartz.kCGWindowOwnerName) or ""),
                _region(window),
            )
            for window in self._normal()
        ]

    def region(self, handle: int) -> Region | None:
        """Where a window is now; None if it is gone or not on the screen."""
        return next((_region(window) for window in self._normal() if window[Quartz.kCGWindowNumber] == handle), None)

    def active(self) -> int | None:
        """The foremost window of the normal layer."""
        return next((int(window[Quartz.kCGWindowNumber]) for window in self._normal()), None)

    def activate(self, handle: int) -> None:
        """Nothing: Quartz looks only, and the person brings the window to the front."""

    def _normal(self) -> list[Any]:
        listed = Quartz.CGWindowListCopyWindowInfo(_SHOWN, Quartz.kCGNullWindowID) or []
        return [window for window in listed if window.get(Quartz.kCGWindowLayer) == 0]


def _region(window: Any) -> Region:
    bounds = window[Quartz.kCGWindowBounds]
    return Region(int(bounds["X"]), int(bounds["Y"]), int(bounds["Width"]), int(bounds["Height"]))
