"""PyAutoGUI as a pair of hands: one validated gesture in, what the window felt out."""

from __future__ import annotations

import sys
import time
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.ext import xtest

from environments.desktop.keyboard import KEY_OF_CHARACTER, Keyboard
from environments.desktop.window import Event, Window

_DRAG_STEP = 16
"""Pixels between the points of a drag; a jump would be no drag to a program that follows the pointer."""


class GestureLost(RuntimeError):
    """The window did not receive what the hands did."""


def import_pyautogui() -> Any:
    """Import PyAutoGUI, which connects to `DISPLAY` for the life of this process, with its brakes off.

    Its optional parts are kept out: MouseInfo exits the process where tkinter is missing, and the
    others (screenshots by Pillow and OpenCV, message boxes) cost a tenth of a second and are unused.
    """
    for unused in ("mouseinfo", "pyscreeze", "pymsgbox", "pytweening"):
        sys.modules[unused] = None  # type: ignore[assignment]  # Python's own way to forbid an import
    import pyautogui

    pyautogui.FAILSAFE = False  # a click into a corner is a click, not an alarm
    pyautogui.PAUSE = 0
    return pyautogui


class Hands:
    """Carries out gestures, given as the JSON of `environments.actions.gui`.

    Args:
        window: who receives the events.
        display: a connection to the server, shared with the window.
        tap_s: how long a tap stays down, in seconds. Our own window is driven by events and needs
            none; a program that polls the keyboard at 30 Hz misses taps under 30 ms.
    """

    def __init__(self, window: Window, display: Display, tap_s: float) -> None:
        self._window = window
        self._display = display
        self._tap_s = tap_s
        self._gui = import_pyautogui()
        self._keyboard = Keyboard(display, self._gui.platformModule)

    def perform(self, gesture: dict[str, Any]) -> list[Event]:
        """Do one gesture and let go of everything.

        Raises:
            GestureLost: if a text did not arrive as it was typed.
        """
        self._window.drain()
        if gesture["verb"] == "type":
            return self._type(gesture["text"])
        self._do(gesture)
        self._let_go()
        return self._window.drain()

    def _do(self, gesture: dict[str, Any]) -> None:
        gui = self._gui
        match gesture:
            case {"verb": "move", "x": x, "y": y}:
                gui.moveTo(x, y)
            case {"verb": "click", "x": x, "y": y, "button": button, "count": count}:
                gui.moveTo(x, y)
                for _ in range(count):
                    gui.mouseDown(button=button)
                    self._linger()
                    gui.mouseUp(button=button)
            case {"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y, "button": button}:
                gui.moveTo(x, y)
                gui.mouseDown(button=button)
                for point in path((x, y), (to_x, to_y)):
                    gui.moveTo(*point)
                self._linger()
                gui.mouseUp(button=button)
            case {"verb": "scroll", "x": x, "y": y, "clicks": clicks}:
                gui.moveTo(x, y)
                gui.scroll(clicks, x, y)
            case {"verb": "press" | "hold", "key": key}:
                self._tap(key)
            case {"verb": "key_down", "key": key}:
                gui.keyDown(key)
            case {"verb": "key_up", "key": key}:
                gui.keyUp(key)
            case {"verb": "hotkey", "keys": keys}:
                for key in keys:
                    gui.keyDown(key)
                self._linger()
                for key in reversed(keys):
                    gui.keyUp(key)
            case {"verb": "wait"}:
                pass
            case _:
                raise ValueError(f"not a gesture: {gesture!r}")

    def _type(self, text: str) -> list[Event]:
        events: list[Event] = []
        for piece in self._keyboard.pieces(text):
            self._keyboard.prepare(piece)
            for character in piece:
                self._tap(character)
            # Before the next piece takes the keys over: a window reads a key by the present mapping.
            events += self._window.drain()
        expected = [KEY_OF_CHARACTER.get(character, character) for character in text]
        received = [key for kind, key, *_ in events if kind == "key_down" and key != "shift"]
        if received != expected:
            raise GestureLost(f"typed {expected!r:.300}, but the window received {received!r:.300}")
        return events

    def _tap(self, key: str) -> None:
        self._gui.keyDown(key)
        self._linger()
        self._gui.keyUp(key)

    def _linger(self) -> None:
        if self._tap_s:
            time.sleep(self._tap_s)

    def _let_go(self) -> None:
        """Release what the server holds to be down, whoever pressed it, in order of keycode."""
        keymap = self._display.query_keymap()
        for code in range(256):
            if keymap[code // 8] >> code % 8 & 1:
                xtest.fake_input(self._display, X.KeyRelease, code)
        buttons = self._display.screen().root.query_pointer().mask
        for button, mask in ((1, X.Button1Mask), (2, X.Button2Mask), (3, X.Button3Mask)):
            if buttons & mask:
                xtest.fake_input(self._display, X.ButtonRelease, button)


def path(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """Points on the straight line from just after `start` to `end`, at most 16 pixels apart."""
    (x, y), (to_x, to_y) = start, end
    steps = max(1, -(-max(abs(to_x - x), abs(to_y - y)) // _DRAG_STEP))
    return [(x + (to_x - x) * i // steps, y + (to_y - y) * i // steps) for i in range(1, steps + 1)]
