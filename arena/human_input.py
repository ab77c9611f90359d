"""From a person's keys and pointer to the gestures of the GUI space: the queue between a window and an episode."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, Final

from environments.actions import Action, TypedActions
from environments.actions.gui import GuiAction, Press

SLICE_MS: Final = 100
"""A key that stays down is played in steps of this length, in milliseconds of game time."""
QUEUE: Final = 32
"""Gestures that may wait; whoever hammers the keyboard faster than the game takes steps loses the rest."""
_KEYS_AT_ONCE: Final = 4
_LOST_S: Final = 3.0
"""Without a word from the window for so long, what it said to be down counts as up: a tab may die on a key."""
_POINTER: Final = frozenset({"move", "click", "drag", "scroll"})


class Inputs:
    """What a person has done and the game has not yet answered. Written by one thread, read by another."""

    def __init__(self) -> None:
        self.held = False
        """Whether keys that stay down are played as such. A game that polls its keyboard wants that; in one that
        answers to each key stroke, a stroke is one gesture however long it takes."""
        self._space = TypedActions(GuiAction)
        self._changed = threading.Condition()
        self._gestures: deque[dict[str, Any]] = deque()
        self._down: list[str] = []
        self._tapped: list[str] = []
        self._heard_at = time.monotonic()
        self.last_input = time.monotonic()
        """When the person last did something, on the monotonic clock (seconds)."""

    def gesture(self, action: Any) -> bool:
        """Queue a gesture; whether there was room for it.

        Raises:
            InvalidAction: if it is none of the GUI space.
        """
        parsed = self._space.parse(action)
        with self._changed:
            self._note_input()
            if len(self._gestures) >= QUEUE:
                return False
            self._gestures.append(parsed)
            self._changed.notify_all()
            return True

    def key_down(self, key: str) -> None:
        """A key goes down and stays there; where keys are not held, one stroke.

        Raises:
            InvalidAction: if the GUI space has no such key.
        """
        if not self.held:
            self.gesture({"verb": "press", "key": key})
            return
        self._space.parse({"verb": "key_down", "key": key})
        with self._changed:
            self._note_input()
            if key not in self._down:
                self._down.append(key)
            if key not in self._tapped:
                self._tapped.append(key)
            self._changed.notify_all()

    def key_up(self, key: str) -> None:
        """A key is released; a stroke that was shorter than a step is still played."""
        with self._changed:
            self._note_input()
            if key in self._down:
                self._down.remove(key)

    def heard(self) -> None:
        """The window is still there."""
        self._heard_at = time.monotonic()

    def wake(self) -> None:
        """End a `wait` early."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout_s: float) -> bool:
        """Wait for something to do, at most so long; whether there is something."""
        with self._changed:
            return self._changed.wait_for(self._any, max(0.0, timeout_s)) if not self._any() else True

    @property
    def urgent(self) -> bool:
        """Whether the next gesture is the pointer's, which is not to wait for the game's tick."""
        with self._changed:
            return bool(self._gestures) and self._gestures[0]["verb"] in _POINTER

    def take(self) -> Action:
        """The next gesture: the oldest in the queue, else the keys that are down for one slice, else nothing done."""
        with self._changed:
            if self._gestures:
                return self._gestures.popleft()
            keys = list(dict.fromkeys([*self._tapped, *self._down]))[-_KEYS_AT_ONCE:]
            self._tapped.clear()
        match keys:
            case []:
                return {"verb": "wait", "ms": 0}
            case [key]:
                return {"verb": "hold", "key": key, "ms": SLICE_MS}
            case _:
                return {"verb": "hotkey", "keys": keys, "ms": SLICE_MS}

    def _any(self) -> bool:
        if self._down and time.monotonic() - self._heard_at > _LOST_S:
            self._down.clear()
        return bool(self._gestures or self._tapped or self._down)

    def _note_input(self) -> None:
        self.last_input = self._heard_at = time.monotonic()


def keys() -> list[str]:
    """Names of the keys that the GUI space knows."""
    names: list[str] = Press.model_json_schema()["properties"]["key"]["enum"]
    return names
