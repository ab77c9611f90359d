"""The desktop of one environment: show a picture, do a gesture, look at the screen."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from environments.actions.gui import (
    Click,
    Drag,
    Hold,
    Hotkey,
    KeyDown,
    KeyUp,
    Move,
    Press,
    Scroll,
    TypeText,
    Wait,
)
from environments.desktop.check import check
from environments.desktop.launch import Launch
from environments.desktop.process import WorkerProcess
from environments.env import Frame
from environments.errors import DisplayError
from environments.game import InputEvent

Gesture: TypeAlias = Move | Click | Drag | Scroll | TypeText | Press | Hold | KeyDown | KeyUp | Hotkey | Wait
"""A validated gesture, as `TypedActions(GuiAction).load` returns it."""


class Desktop:
    """A private X display with one window on it, for as many episodes as wanted.

    Input travels from PyAutoGUI through the X server to the window, and pictures from the window
    through the server to MSS, all in a process of its own. Time plays no part: `perform` returns
    when the window has received everything, `show` when the picture is on the screen, and the
    durations of `hold` and `wait` are game time, which passes elsewhere.

        with Desktop((640, 480), "Snake") as desktop:
            desktop.show(frame)
            events = desktop.perform(Press(verb="press", key="up"))
            seen = desktop.grab()

    An instance belongs to one thread at a time. After one error it stays dead: build another.

    Args:
        size: width and height of the screen and of the window, in pixels.
        title: title of the window.
        tap_ms: how long a tapped key or button stays down, in milliseconds of wall time. The
            window here needs none; programs that poll their input want 60.
        timeout_s: how long any one call may take, in seconds, before the display counts as hung
            (the start may take 30 s).

    Raises:
        DisplayError: if Xvfb or a library is missing, or the display fails its input test.
    """

    def __init__(self, size: tuple[int, int], title: str, *, tap_ms: int = 0, timeout_s: float = 20.0) -> None:
        self._open(size, title, tap_ms, timeout_s, None)

    def _open(self, size: tuple[int, int], title: str, tap_ms: int, timeout_s: float, launch: Launch | None) -> None:
        self.size = size
        try:
            self._worker = WorkerProcess(size, title, tap_ms, timeout_s, launch)
        except DisplayError as error:
            raise DisplayError("; ".join([str(error), *check()])) from None
        width, height = size
        self._pixels = np.frombuffer(self._worker.picture, np.uint8).reshape(height, width, 4)

    @property
    def display(self) -> str:
        """Name of the X display, such as `:99`."""
        return f":{self._worker.number}"

    @property
    def pids(self) -> tuple[int, int]:
        """Process ids of the worker and of its Xvfb."""
        return self._worker.pids

    def show(self, frame: Frame) -> None:
        """Paint a picture; it is on the screen when this returns.

        Args:
            frame: (H, W, 3) uint8, RGB, of the size of the screen.

        Raises:
            ValueError: for another shape or dtype.
            DisplayError: if the display died.
        """
        width, height = self.size
        if frame.shape != (height, width, 3) or frame.dtype != np.uint8:
            raise ValueError(f"frame: expected ({height}, {width}, 3) uint8, got {frame.shape} {frame.dtype}")
        self._pixels[:, :, :3] = frame[:, :, ::-1]
        self._worker.ask("show")

    def perform(self, gesture: Gesture) -> list[InputEvent]:
        """Do a gesture; what the window received, in order. Every key and button is released then.

        A window cannot tell a typed space from the space bar: both are "space", likewise "enter",
        "tab", "backspace", "esc" and "delete". Any other key is reported as the character that it
        makes (Shift+a is "A"), and the wheel notch by notch.

        Raises:
            ValueError: for a position outside the screen.
            DisplayError: if the display died, or a text did not arrive as it was typed.
        """
        return [InputEvent(*event) for event in self._worker.ask("perform", gesture=self._fields(gesture))]

    def _fields(self, gesture: Gesture) -> dict[str, Any]:
        fields = gesture.model_dump(mode="json")
        for axis, limit in zip(("x", "y", "to_x", "to_y"), self.size * 2, strict=True):
            if fields.get(axis, 0) >= limit:
                raise ValueError(f"{axis}: {fields[axis]} is outside the screen of {self.size[0]}x{self.size[1]}")
        return fields

    def grab(self) -> Frame:
        """What is on the screen, (H, W, 3) uint8 RGB, contiguous, without the pointer.

        Equals the picture last shown bit for bit, unless another program's window covers it.

        Raises:
            DisplayError: if the display died.
        """
        self._worker.ask("grab")
        return np.ascontiguousarray(self._pixels[:, :, 2::-1])

    def round_trip(self) -> None:
        """Ask the server for nothing: the least that any call here can cost, for measurements.

        Raises:
            DisplayError: if the display died.
        """
        self._worker.ask("echo")

    def close(self) -> None:
        """End the display and all that belongs to it. Safe to repeat; also done at interpreter exit."""
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Ran(NamedTuple):
    """How a program ran during one call."""

    ms: int
    """For how long, in milliseconds of wall time."""
    status: int | None
    """Its exit status if it has ended, as `subprocess` counts them: negative for a signal."""


class ProgramDesktop(Desktop):
    """A private display on which a program of somebody else's has the screen, stopped between the calls.

    There is no window of ours: `play` takes the place of `perform` and `show`. The display passes its input test
    before the program starts. The program is killed with the display, however either ends.

    Args:
        size: width and height of the screen, in pixels.
        title: of the window of the input test.
        launch: what to start.
        tap_ms: how long a tapped key or button stays down, in milliseconds of wall time.
        timeout_s: how long any one call may take, in seconds, beyond the time that the program is to run.

    Raises:
        DisplayError: if the display or the program does not start.
    """

    def __init__(
        self, size: tuple[int, int], title: str, launch: Launch, *, tap_ms: int = 80, timeout_s: float = 30.0
    ) -> None:
        self._open(size, title, tap_ms, timeout_s, launch)

    @property
    def program(self) -> int:
        """Process id of the program."""
        return self._worker.program

    def play(self, gesture: Gesture | None, *, least_ms: int, most_ms: int) -> Ran:
        """Let the program run for a while, with a gesture at the beginning, and stop it again.

        Args:
            gesture: what the player does; None lets time pass.
            least_ms: how long it runs at least, in milliseconds; a key of `key_down` is released then.
            most_ms: how long it may go on after that until its picture stands still.

        Raises:
            ValueError: for a position outside the screen.
            DisplayError: if the display died.
        """
        fields = None if gesture is None else self._fields(gesture)
        return Ran(*self._worker.ask("play", gesture=fields, least_ms=least_ms, most_ms=most_ms))

    def perform(self, gesture: Gesture) -> list[InputEvent]:
        """Not offered: a program does not tell what it received."""
        raise NotImplementedError("a program's display is played with `play`")

    def show(self, frame: Frame) -> None:
        """Not offered: the screen belongs to the program."""
        raise NotImplementedError("a program's display shows what the program paints")
