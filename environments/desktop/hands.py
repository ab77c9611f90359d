"""PyAutoGUI as a pair of hands: one validated gesture in, what the window felt out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from Xlib import X
from Xlib.display import Display
from Xlib.ext import xtest

from environments.desktop.keyboard import KEY_OF_CHARACTER, Keyboard
from environments.desktop.pointer import import_pyautogui, path
from environments.desktop.window import Event

if TYPE_CHECKING:
    from environments.desktop.window import Window

_FRAME_S = 0.02
"""Between the parts of a gesture in another program's window, in seconds: a frame at 50 Hz."""
_READING_S = 0.1
"""How long a program is given to read typed keys before they may change their meaning, in seconds."""


class GestureLost(RuntimeError):
    """The window did not receive what the hands did."""


class Hands:
    """Carries out gestures, given as the JSON of `environments.actions.gui`.

    Args:
        window: who receives the events.
        display: a connection to the server, shared with the window.
        tap_s: how long a tap stays down, in seconds. Our own window is driven by events and needs
            none; a program that polls the keyboard at 30 Hz misses taps under 30 ms.

    Once a program of somebody else's has the screen, `reach_for_a_program` says so: nobody tells
    then what arrived, and the durations in gestures are times on the wall.
    """

    def __init__(self, window: Window, display: Display, tap_s: float) -> None:
        self._window: Window | None = window
        self._display = display
        self._tap_s = tap_s
        self._gui = import_pyautogui(failsafe=False)  # a click into a corner is a click, not an alarm
        self._keyboard = Keyboard(display, self._gui.platformModule)

    def reach_for_a_program(self) -> None:
        """From now on the gestures go to another program's window, which echoes nothing."""
        self._window = None

    def do(self, gesture: dict[str, Any]) -> None:
        """Do one gesture in a program's window; what `key_down` pressed stays down until `let_go`."""
        if gesture["verb"] == "type":
            for piece in self._keyboard.pieces(gesture["text"]):
                self._keyboard.prepare(piece)
                for character in piece:
                    self._tap(character)
                time.sleep(_READING_S)  # before the next piece takes the keys over
            return
        self._do(gesture)

    def perform(self, gesture: dict[str, Any]) -> list[Event]:
        """Do one gesture in our own window and let go of everything.

        Raises:
            GestureLost: if a text did not arrive as it was typed.
        """
        window = self._own_window()
        window.drain()
        if gesture["verb"] == "type":
            return self._type(gesture["text"], window)
        self._do(gesture)
        self.let_go()
        return window.drain()

    def _do(self, gesture: dict[str, Any]) -> None:
        gui = self._gui
        match gesture:
            case {"verb": "move", "x": x, "y": y}:
                gui.moveTo(x, y)
            case {"verb": "click", "x": x, "y": y, "button": button, "count": count}:
                gui.moveTo(x, y)
                for _ in range(count):
                    self._let_it_follow()
                    gui.mouseDown(button=button)
                    self._linger()
                    gui.mouseUp(button=button)
            case {"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y, "button": button}:
                gui.moveTo(x, y)
                self._let_it_follow()
                gui.mouseDown(button=button)
                for point in path((x, y), (to_x, to_y)):
                    self._let_it_follow()
                    gui.moveTo(*point)
                self._linger()
                gui.mouseUp(button=button)
            case {"verb": "scroll", "x": x, "y": y, "clicks": clicks}:
                gui.moveTo(x, y)
                gui.scroll(clicks, x, y)
            case {"verb": "hold", "key": key, "ms": ms} if self._window is None:
                self._tap(key, ms / 1000)
            case {"verb": "press" | "hold", "key": key}:
                self._tap(key)
            case {"verb": "key_down", "key": key}:
                gui.keyDown(key)
            case {"verb": "key_up", "key": key}:
                gui.keyUp(key)
            case {"verb": "hotkey", "keys": keys, "ms": ms}:
                for key in keys:
                    gui.keyDown(key)
                self._linger(ms / 1000 if self._window is None else 0.0)
                for key in reversed(keys):
                    gui.keyUp(key)
            case {"verb": "wait"}:
                pass
            case _:
                raise ValueError(f"not a gesture: {gesture!r}")

    def _type(self, text: str, window: Window) -> list[Event]:
        events: list[Event] = []
        for piece in self._keyboard.pieces(text):
            self._keyboard.prepare(piece)
            for character in piece:
                self._tap(character)
            # Before the next piece takes the keys over: a window reads a key by the present mapping.
            events += window.drain()
        expected = [KEY_OF_CHARACTER.get(character, character) for character in text]
        received = [key for kind, key, *_ in events if kind == "key_down" and key != "shift"]
        if received != expected:
            raise GestureLost(f"typed {expected!r:.300}, but the window received {received!r:.300}")
        return events

    def _tap(self, key: str, least_s: float = 0.0) -> None:
        self._gui.keyDown(key)
        self._linger(least_s)
        self._gui.keyUp(key)
        self._let_it_follow()

    def _linger(self, least_s: float = 0.0) -> None:
        if pause_s := max(self._tap_s, least_s):
            time.sleep(pause_s)

    def _let_it_follow(self) -> None:
        """Give a program that polls a frame's time to notice where the pointer is, or that a key is up."""
        if self._window is None:
            time.sleep(_FRAME_S)

    def _own_window(self) -> Window:
        if self._window is None:
            raise RuntimeError("a program has the screen: its gestures are done with `do`")
        return self._window

    def let_go(self) -> None:
        """Release what the server holds to be down, whoever pressed it, in order of keycode."""
        keymap = self._display.query_keymap()
        for code in range(256):
            if keymap[code // 8] >> code % 8 & 1:
                xtest.fake_input(self._display, X.KeyRelease, code)
        buttons = self._display.screen().root.query_pointer().mask
        for button, mask in ((1, X.Button1Mask), (2, X.Button2Mask), (3, X.Button3Mask)):
            if buttons & mask:
                xtest.fake_input(self._display, X.ButtonRelease, button)
