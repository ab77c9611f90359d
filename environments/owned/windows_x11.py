"""The windows of an X11 desktop, with or without a window manager."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from Xlib import X, error
from Xlib.display import Display
from Xlib.protocol.event import ClientMessage

from environments.owned.letterbox import Region
from environments.owned.window import DesktopLost, OpenWindow

_FROM_A_PAGER = 2
"""Source indication of _NET_ACTIVE_WINDOW (Extended Window Manager Hints): on behalf of the user."""


class X11Windows:
    """What the window manager lists (_NET_CLIENT_LIST), or the children of the root where there is none.

    Raises:
        DesktopLost: without a display that can be reached, or on Wayland.
    """

    def __init__(self) -> None:
        if os.environ.get("XDG_SESSION_TYPE") == "wayland":
            raise DesktopLost(
                "this is a Wayland session, in which programs may neither see nor touch each other's windows;"
                " log in with an X11 (Xorg) session"
            )
        if not os.environ.get("DISPLAY"):
            raise DesktopLost("DISPLAY is not set: there is no desktop here; start this in a session on an X11 desktop")
        try:
            self.display = Display()
        except (error.DisplayError, error.XauthError, OSError) as problem:
            raise DesktopLost(f"the display {os.environ['DISPLAY']} cannot be opened: {problem}") from None
        self._root = self.display.screen().root
        self._atom = {
            name: self.display.intern_atom(name)
            for name in ("_NET_CLIENT_LIST", "_NET_WM_NAME", "_NET_ACTIVE_WINDOW", "UTF8_STRING")
        }

    def open(self) -> list[OpenWindow]:
        """Every visible window that has a title."""
        found = []
        for handle in self._handles():
            with contextlib.suppress(error.BadWindow):
                title, region = self._title(handle), self.region(handle)
                if title and region is not None:
                    found.append(OpenWindow(handle, title, region))
        return found

    def region(self, handle: int) -> Region | None:
        """Where a window is now, without the frame that a window manager puts around it; None if it is not shown."""
        window = self._window(handle)
        try:
            if window.get_attributes().map_state != X.IsViewable:
                return None
            size = window.get_geometry()
            corner = self._root.translate_coords(window, 0, 0)
        except (error.BadWindow, error.BadDrawable):
            return None
        return Region(corner.x, corner.y, size.width, size.height)

    def active(self) -> int | None:
        """The window that has the keyboard: the manager's word, or the top-level window of the X focus."""
        named = self._property(self._root, "_NET_ACTIVE_WINDOW")
        if named is not None:
            return int(named[0]) if named and named[0] else None
        focus = self.display.get_input_focus().focus
        if isinstance(focus, int):  # PointerRoot or None
            return None
        with contextlib.suppress(error.BadWindow):
            while (parent := focus.query_tree().parent) and parent.id != self._root.id:
                focus = parent
        return int(focus.id)

    def activate(self, handle: int) -> None:
        """Ask the window manager, or do it, where there is none."""
        window = self._window(handle)
        if self._property(self._root, "_NET_CLIENT_LIST") is None:
            window.raise_window()
            window.set_input_focus(X.RevertToParent, X.CurrentTime)
        else:
            message = ClientMessage(
                window=window,
                client_type=self._atom["_NET_ACTIVE_WINDOW"],
                data=(32, [_FROM_A_PAGER, X.CurrentTime, 0, 0, 0]),
            )
            self._root.send_event(message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        self.display.sync()

    def _handles(self) -> list[int]:
        listed = self._property(self._root, "_NET_CLIENT_LIST")
        if listed is not None:
            return [int(handle) for handle in listed]
        return [int(child.id) for child in self._root.query_tree().children]

    def _title(self, handle: int) -> str:
        window = self._window(handle)
        name = self._property(window, "_NET_WM_NAME") or window.get_wm_name() or ""
        # python-xlib hands out UTF-8 as text and everything else, Latin-1 by the old convention, as bytes.
        return name.decode("latin-1") if isinstance(name, bytes) else str(name)

    def _property(self, window: Any, name: str) -> Any:
        found = window.get_full_property(self._atom[name], X.AnyPropertyType)
        return None if found is None else found.value

    def _window(self, handle: int) -> Any:
        return self.display.create_resource_object("window", handle)


def agree_on_keys(windows: X11Windows, hands: Any) -> None:
    """Let PyAutoGUI's table say what this person's keyboard layout really has; the layout itself is left as it is.

    PyAutoGUI takes every keyboard for a US one: it adds Shift by a fixed list of characters. A character is kept only
    where the layout has it on the level (with or without Shift) that PyAutoGUI will use; the rest cannot be typed.

    Args:
        windows: for its connection to the display.
        hands: PyAutoGUI's X11 module.
    """
    first = windows.display.display.info.min_keycode
    rows = windows.display.get_keyboard_mapping(first, windows.display.display.info.max_keycode - first + 1)
    levels: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for keycode, row in reversed(list(enumerate(rows, start=first))):
        for level in (0, 1):
            if level < len(row):
                levels[level][row[level]] = keycode
    for point in (*range(0x20, 0x7F), *range(0xA0, 0x100)):
        shifted = hands.pyautogui.isShiftCharacter(chr(point))
        hands.keyboardMapping[chr(point)] = levels[shifted].get(point)
