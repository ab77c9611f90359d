"""The window in which a game is shown, and which gets the keyboard and the mouse."""

from __future__ import annotations

from typing import Any

from Xlib import X
from Xlib.display import Display

from environments.desktop.keyboard import Decoder

_MAX_REQUEST = 65_535 * 4 - 64
"""Bytes that fit into one X request, less its header."""
_BUTTONS = {1: "left", 2: "middle", 3: "right"}
_WHEEL = {4: 1, 5: -1}

Event = list[Any]
"""kind, key, button, x, y, clicks: the fields of `InputEvent` in order."""


class Window:
    """A plain X client that fills the screen; there is no window manager and it needs none."""

    def __init__(self, display: Display, size: tuple[int, int], title: str) -> None:
        self._display = display
        self._width, self._height = size
        screen = display.screen()
        self._depth = screen.root_depth
        self._window = screen.root.create_window(
            *(0, 0, self._width, self._height, 0, self._depth, X.InputOutput, X.CopyFromParent),
            override_redirect=True,
            background_pixel=screen.black_pixel,
            event_mask=X.KeyPressMask
            | X.KeyReleaseMask
            | X.ButtonPressMask
            | X.ButtonReleaseMask
            | X.PointerMotionMask
            | X.StructureNotifyMask,
        )
        self._window.set_wm_name(title.encode("latin-1", errors="replace"))
        self._window.change_property(
            display.intern_atom("_NET_WM_NAME"), display.intern_atom("UTF8_STRING"), 8, title.encode()
        )
        self._context = self._window.create_gc()
        self._decoder = Decoder(display)
        self._window.map()
        while display.next_event().type != X.MapNotify:  # a window that is not mapped cannot have the focus
            pass
        self._window.set_input_focus(X.RevertToNone, X.CurrentTime)
        display.sync()

    def close(self) -> None:
        """Leave the screen to others."""
        self._window.destroy()
        self._display.sync()

    def paint(self, pixels: memoryview) -> None:
        """Put a whole picture on the screen, (height, width) pixels of four bytes, blue first."""
        stride = self._width * 4
        rows = max(1, _MAX_REQUEST // stride)
        for top in range(0, self._height, rows):
            count = min(rows, self._height - top)
            strip = bytes(pixels[top * stride : (top + count) * stride])
            self._window.put_image(self._context, 0, top, self._width, count, X.ZPixmap, self._depth, 0, strip)
            self._display.flush()  # python-xlib copies all that is unsent at every turn
        self._display.sync()

    def drain(self) -> list[Event]:
        """Everything received up to now.

        The server handles a faked event before it answers the client that sent it, and it answers
        requests in order; so after one more round trip of our own all of it has arrived here.
        """
        self._display.sync()
        events: list[Event] = []
        while self._display.pending_events():
            event = self._translate(self._display.next_event())
            # PyAutoGUI moves the pointer to where it is already before each press and release.
            if event and not (event[0] == "motion" and _last_motion(events) == event):
                events.append(event)
        return events

    def _translate(self, event: Any) -> Event | None:
        match event.type:
            case X.KeyPress:
                # No position: where the pointer was left is history, and equal gestures give equal events.
                return ["key_down", self._decoder.press(event.detail, event.state), "", 0, 0, 0]
            case X.KeyRelease:
                return ["key_up", self._decoder.release(event.detail, event.state), "", 0, 0, 0]
            case X.MotionNotify:
                return ["motion", "", "", event.event_x, event.event_y, 0]
            case X.ButtonPress if event.detail in _WHEEL:
                return ["scroll", "", "", event.event_x, event.event_y, _WHEEL[event.detail]]
            case (X.ButtonPress | X.ButtonRelease) as kind if event.detail in _BUTTONS:
                name = "button_down" if kind == X.ButtonPress else "button_up"
                return [name, "", _BUTTONS[event.detail], event.event_x, event.event_y, 0]
            case X.MappingNotify:
                self._decoder.refresh(event)
        return None


def _last_motion(events: list[Event]) -> Event | None:
    return next((event for event in reversed(events) if event[0] == "motion"), None)
