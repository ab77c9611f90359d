"""The windows of a Windows desktop, by way of user32."""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes

from environments.owned.letterbox import Region
from environments.owned.window import OpenWindow

assert sys.platform == "win32"  # also tells type checkers on other platforms to look away

_Visit = ctypes.WINFUNCTYPE(wintypes.BOOL, wintypes.HWND, wintypes.LPARAM)


class Win32Windows:
    """Visible top-level windows; regions are client areas in physical pixels."""

    def __init__(self) -> None:
        user32 = ctypes.WinDLL("user32", use_last_error=True)
        # Physical pixels, as MSS grabs them and PyAutoGUI moves in them: all three have to count alike.
        user32.SetProcessDPIAware()
        user32.EnumWindows.argtypes = [_Visit, wintypes.LPARAM]
        user32.GetWindowTextW.argtypes = [wintypes.HWND, wintypes.LPWSTR, ctypes.c_int]
        for name in ("GetWindowTextLengthW", "IsWindowVisible", "IsIconic", "SetForegroundWindow"):
            getattr(user32, name).argtypes = [wintypes.HWND]
        user32.GetClientRect.argtypes = [wintypes.HWND, ctypes.POINTER(wintypes.RECT)]
        user32.ClientToScreen.argtypes = [wintypes.HWND, ctypes.POINTER(wintypes.POINT)]
        user32.GetForegroundWindow.restype = wintypes.HWND
        self._user32 = user32

    def open(self) -> list[OpenWindow]:
        """Every visible window that has a title."""
        handles: list[int] = []

        def visit(handle: int, _: int) -> bool:
            handles.append(handle)
            return True

        self._user32.EnumWindows(_Visit(visit), 0)
        found = []
        for handle in handles:
            title, region = self._title(handle), self.region(handle)
            if title and region is not None:
                found.append(OpenWindow(handle, title, region))
        return found

    def region(self, handle: int) -> Region | None:
        """Where a window's client area is now; None if it is gone, hidden or minimised."""
        area, corner = wintypes.RECT(), wintypes.POINT(0, 0)
        if not self._user32.IsWindowVisible(handle) or self._user32.IsIconic(handle):
            return None
        if not self._user32.GetClientRect(handle, ctypes.byref(area)):
            return None
        if not self._user32.ClientToScreen(handle, ctypes.byref(corner)) or not area.right or not area.bottom:
            return None
        return Region(corner.x, corner.y, area.right, area.bottom)

    def active(self) -> int | None:
        """The foreground window."""
        handle: int | None = self._user32.GetForegroundWindow()
        return handle

    def activate(self, handle: int) -> None:
        """Ask for the foreground. Windows grants it only now and then; the person can always do it."""
        self._user32.SetForegroundWindow(handle)

    def _title(self, handle: int) -> str:
        length = self._user32.GetWindowTextLengthW(handle)
        text = ctypes.create_unicode_buffer(length + 1)
        self._user32.GetWindowTextW(handle, text, length + 1)
        return text.value
