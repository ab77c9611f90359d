"""PyAutoGUI on the desktop that a person sits at: every part of a gesture asks first whether it may go on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from environments.desktop.pointer import import_pyautogui, path

_SLICE_S = 0.02
"""How long the hands may be blind for the person's brake, in seconds; and a frame's time between parts of a gesture."""
_NOTCH = 120 if sys.platform == "win32" else 1
"""What one click of the wheel is to PyAutoGUI; Windows counts in 120ths (WHEEL_DELTA)."""

_CORNERED = "the pointer was moved into a corner of the screen"


class TookOver(RuntimeError):
    """The person has stopped the hands."""


class Hands:
    """Carries out gestures whose points are pixels of the screen; releases what it pressed itself, and nothing else.

    Args:
        guard: raises `TookOver` if the hands must not act: asked before every press and every 20 ms of waiting.
    """

    def __init__(self, guard: Callable[[], None]) -> None:
        self._gui = import_pyautogui(failsafe=True)
        self._guard = guard
        self._keys: list[str] = []
        self._buttons: list[str] = []

    @property
    def platform(self) -> Any:
        """PyAutoGUI's module for this platform."""
        return self._gui.platformModule

    def cornered(self) -> bool:
        """Whether the pointer is in a corner of the screen, where the person has put it to stop everything."""
        return tuple(self._gui.position()) in self._gui.FAILSAFE_POINTS

    def lacking(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys and characters that this keyboard does not have; PyAutoGUI drops them without a word."""
        return sorted({key for key in keys if not self._gui.isValidKey(key) or not self._has_key(key)})

    def do(self, gesture: dict[str, Any], tap_s: float) -> None:
        """Do one gesture; what `key_down` pressed stays down until `let_go`.

        Args:
            gesture: JSON of `environments.actions.gui`, in pixels of the screen and with the title's own keys.
            tap_s: how long a tapped key or button stays down, in seconds.

        Raises:
            TookOver: if the person pulled the brake on the way.
        """
        try:
            self._do(gesture, tap_s)
        except self._gui.FailSafeException:  # PyAutoGUI looks by itself too, before and after it moves
            raise TookOver(_CORNERED) from None

    def _do(self, gesture: dict[str, Any], tap_s: float) -> None:
        match gesture:
            case {"verb": "move", "x": x, "y": y}:
                self._move(x, y)
            case {"verb": "click", "x": x, "y": y, "button": button, "count": count}:
                self._move(x, y)
                for _ in range(count):
                    self._button_down(button)
                    self.pause(tap_s)
                    self._button_up(button)
                    self.pause(_SLICE_S)
            case {"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y, "button": button}:
                self._move(x, y)
                self._button_down(button)
                for point in path((x, y), (to_x, to_y)):
                    self._move(*point)
                self.pause(tap_s)
                self._button_up(button)
            case {"verb": "scroll", "x": x, "y": y, "clicks": clicks}:
                self._move(x, y)
                self._gui.scroll(clicks * _NOTCH)
            case {"verb": "type", "text": text}:
                for character in text:
                    self._chord([character], tap_s)
            case {"verb": "press", "key": key}:
                self._chord([key], tap_s)
            case {"verb": "hold", "key": key, "ms": ms}:
                self._chord([key], max(tap_s, ms / 1000))
            case {"verb": "hotkey", "keys": keys, "ms": ms}:
                self._chord(keys, max(tap_s, ms / 1000))
            case {"verb": "key_down", "key": key}:
                self._key_down(key)
                self.pause(tap_s)
            case {"verb": "key_up", "key": key}:
                self._key_up(key)
            case {"verb": "wait", "ms": ms}:
                self.pause(ms / 1000)
            case _:
                raise ValueError(f"not a gesture: {gesture!r}")

    def pause(self, seconds: float) -> None:
        """Let time pass with an eye on the brake.

        Raises:
            TookOver: if the person pulls it.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(_SLICE_S, left))
            self._check()

    def let_go(self) -> None:
        """Release what these hands hold down, even with the brake pulled."""
        self._gui.FAILSAFE = False  # releasing is what the brake is for
        try:
            while self._keys:
                self._gui.keyUp(self._keys.pop())
            while self._buttons:
                self._gui.mouseUp(button=self._buttons.pop())
        finally:
            self._gui.FAILSAFE = True

    def _check(self) -> None:
        if self.cornered():
            raise TookOver(_CORNERED)
        self._guard()

    def _has_key(self, key: str) -> bool:
        code = self.platform.keyboardMapping.get(key.lower() if sys.platform == "darwin" else key)
        # X11 says 0 for a key that the layout lacks, Windows -1. On a Mac 0 is the key A.
        return code is not None and code != -1 and (code != 0 or sys.platform == "darwin")

    def _move(self, x: int, y: int) -> None:
        self._check()
        self._gui.moveTo(*self._off_the_corner(x, y))
        self.pause(_SLICE_S)

    def _off_the_corner(self, x: int, y: int) -> tuple[int, int]:
        """One pixel beside a corner of the screen: a click there must not look like the person's brake."""
        if (x, y) not in self._gui.FAILSAFE_POINTS:
            return x, y
        return (x + 1 if x == 0 else x - 1), y

    def _chord(self, keys: list[str], seconds: float) -> None:
        for key in keys:
            self._key_down(key)
        self.pause(seconds)
        for key in reversed(keys):
            self._key_up(key)
        self.pause(_SLICE_S)

    def _key_down(self, key: str) -> None:
        self._check()
        self._keys.append(key)  # before it is down: whatever happens, it is released
        self._gui.keyDown(key)

    def _key_up(self, key: str) -> None:
        if key in self._keys:  # else it is none of these hands' business: the person may hold it
            self._gui.keyUp(key)
            self._keys.remove(key)  # only now: PyAutoGUI may have refused, with the brake pulled

    def _button_down(self, button: str) -> None:
        self._check()
        self._buttons.append(button)
        self._gui.mouseDown(button=button)

    def _button_up(self, button: str) -> None:
        self._gui.mouseUp(button=button)
        self._buttons.remove(button)
