"""A program of somebody else's on the private display: started, shown, stopped between its turns, ended for certain.

The worker process imports this; it knows nothing of tasks. What is to be started comes as a `Launch`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from Xlib import X, Xatom
from Xlib.display import Display
from Xlib.error import XError
from Xlib.xobject.drawable import Window as XWindow

from environments.desktop.clock import Clock
from environments.desktop.hands import Hands
from environments.desktop.launch import Launch, ProgramLost

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_S = 0.05
"""Between two looks at the screen or at the windows, in seconds."""
_STILL_LOOKS = 4
"""So many equal pictures in a row count as a standing picture: 0.2 s, longer than the pause between two frames."""
_END_S = 5.0
_KILLS = 3
"""Rounds of killing: a process may start another while the first round is under way."""
_LEAST_SIDE = 50
"""Toolkits keep invisible helper windows of a few pixels."""


class ProgramHost:
    """Runs one program in the worker. It is stopped (SIGSTOP) whenever no call is in progress.

    Args:
        launch: what to start.
        display: the worker's connection to the server.
        size: width and height of the screen, in pixels.
        hands: they do the gestures.
        look: returns the bytes of the present picture.
    """

    def __init__(
        self, launch: Launch, display: Display, size: tuple[int, int], hands: Hands, look: Callable[[], bytes]
    ) -> None:
        self._launch = launch
        self._hands = hands
        self._look = look
        self._clock: Clock | None = None
        self._screen = Screen(display, size, launch.window, launch.fill)
        self._others = {os.getpid(), *_descendants(os.getpid())}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the program, wait for its main window, and stop it.

        Raises:
            ProgramLost: if it cannot be started, or shows no window in time.
        """
        launch = self._launch
        if launch.clock:
            self._clock = Clock(Path(launch.clock), launch.date)
        # What daemonises itself comes back to this process, which then still finds it.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        with Path(launch.log).open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    launch.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=launch.home,
                    env=launch.environment | {name: os.environ[name] for name in ("DISPLAY", "XAUTHORITY")},
                    # A group of its own in the worker's session: stopped apart from it, and ended with it.
                    process_group=0,
                    preexec_fn=_die_with_parent,
                )
            except OSError as error:
                raise ProgramLost(f"{launch.argv[0]} could not be started: {error}") from None
        self._await_window()
        self.pause()

    @property
    def pid(self) -> int:
        """Process id of the program, and of its group."""
        return self._running().pid

    def status(self) -> int | None:
        """The exit status, or None while the program lives."""
        return self._running().poll()

    def play(self, gesture: dict[str, Any] | None, least_ms: int, most_ms: int) -> list[int | None]:
        """Let the program run on for a while, with a gesture at the beginning; then stop it again.

        It runs until the gesture is done and `least_ms` have passed, and from there until the picture stands still,
        to `most_ms` at most. What `key_down` pressed is down until `least_ms`.

        Returns:
            How long it ran, in milliseconds, and its exit status if it has ended.
        """
        started = self.resume()
        try:
            self._screen.attend()
            if gesture is not None:
                self._hands.do(gesture)
            self._run_until(started + least_ms / 1000)
            self._hands.let_go()
            self._await_stillness(started + most_ms / 1000)
        finally:
            ended = self.pause()
        return [round((ended - started) * 1000), self.status()]

    def resume(self) -> float:
        """Go on; returns the moment, on this process's monotonic clock."""
        if self._clock:
            self._clock.go()
        self._signal(signal.SIGCONT)
        return time.monotonic()

    def pause(self) -> float:
        """Stop, and wait until it has stopped; returns the moment."""
        self._signal(signal.SIGSTOP)
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if self._clock:
            self._clock.stop()
        return time.monotonic()

    def end(self) -> None:
        """Kill the program and all that it started, and delete its folder; safe to repeat."""
        for _ in range(_KILLS):
            theirs = set(_descendants(os.getpid())) - self._others
            for pid in theirs:
                _kill(pid)
            if not theirs:
                break
        if self._process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_END_S)
        shutil.rmtree(self._launch.scratch, ignore_errors=True)

    def _await_window(self) -> None:
        deadline = time.monotonic() + self._launch.start_s
        while not self._screen.attend():
            status = self.status()
            if status is not None:
                raise ProgramLost(f"{self._launch.argv[0]} ended with status {status} at its start{self._last_words()}")
            if time.monotonic() > deadline:
                wanted = f" that matches {self._launch.window!r}" if self._launch.window else ""
                seen = ", ".join(self._screen.names()) or "none"
                raise ProgramLost(
                    f"{self._launch.argv[0]} showed no window{wanted} within {self._launch.start_s:g} s"
                    f" (windows: {seen}){self._last_words()}"
                )
            time.sleep(_LOOK_S)

    def _run_until(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > 0 and self.status() is None:
            time.sleep(min(left, _LOOK_S))

    def _await_stillness(self, deadline: float) -> None:
        last, equal = b"", 0
        while equal < _STILL_LOOKS and time.monotonic() < deadline and self.status() is None:
            self._screen.attend()  # a dialog that opens wants the keyboard
            now = self._look()
            last, equal = now, equal + 1 if now == last else 0
            time.sleep(max(0.0, min(_LOOK_S, deadline - time.monotonic())))

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("start() comes first")
        return self._process

    def _last_words(self) -> str:
        lines = Path(self._launch.log).read_text(errors="replace").strip().splitlines()
        return f"; its last line: {lines[-1][:300]}" if lines else ""


class Screen:
    """What a window manager would do, and no more: one main window in place, the newest window with the keyboard."""

    def __init__(self, display: Display, size: tuple[int, int], main: str, fill: bool) -> None:
        self._display = display
        self._size = size
        self._pattern = re.compile(main)
        self._fill = fill
        self._placed: set[int] = set()
        self._main: int | None = None
        display.set_error_handler(lambda error, request: None)  # a window may be gone before it is asked to move

    def attend(self) -> bool:
        """Place windows that are new and focus the topmost; whether the main window is there."""
        while self._display.pending_events():  # notices that nobody reads would pile up
            self._display.next_event()
        windows = self._windows()
        if self._main not in {window.id for window in windows}:
            self._main = next((window.id for window in windows if self._is_main(window)), None)
        if self._main is None:
            return False
        for window in windows:
            if window.id not in self._placed:
                self._place(window)
        with contextlib.suppress(XError):
            focused = self._display.get_input_focus().focus
            if getattr(focused, "id", None) != windows[-1].id:
                windows[-1].set_input_focus(X.RevertToParent, X.CurrentTime)
        self._display.sync()
        return True

    def names(self) -> list[str]:
        """The names of the windows, for an error message."""
        return [repr(" ".join(_names(window))) for window in self._windows()]

    def _windows(self) -> list[XWindow]:
        """Visible windows that a window manager would manage, the topmost last."""
        found = []
        for window in self._display.screen().root.query_tree().children:
            with contextlib.suppress(XError):
                attributes, shape = window.get_attributes(), window.get_geometry()
                if (
                    attributes.map_state == X.IsViewable
                    and not attributes.override_redirect
                    and min(shape.width, shape.height) >= _LEAST_SIDE
                ):
                    found.append(window)
        return found

    def _is_main(self, window: XWindow) -> bool:
        return any(self._pattern.search(name) for name in [*_names(window), ""])

    def _place(self, window: XWindow) -> None:
        width, height = self._size
        with contextlib.suppress(XError):
            if window.id == self._main and self._fill:
                window.configure(x=0, y=0, width=width, height=height)
            else:
                shape = window.get_geometry()
                window.configure(x=max(0, (width - shape.width) // 2), y=max(0, (height - shape.height) // 2))
            self._placed.add(window.id)


def _names(window: XWindow) -> list[str]:
    """Title and class of a window."""
    with contextlib.suppress(XError):
        title = window.get_full_property(window.display.get_atom("_NET_WM_NAME"), X.AnyPropertyType)
        title = title or window.get_full_property(Xatom.WM_NAME, X.AnyPropertyType)
        text = title.value if title else ""
        return [text.decode(errors="replace") if isinstance(text, bytes) else text, *(window.get_wm_class() or ())]
    return []


def _descendants(root: int) -> list[int]:
    """All processes below `root`, from /proc, whatever their group: its children, and orphans that came to it."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid and child not in found]
    return found[1:]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _die_with_parent() -> None:
    # A stopped program would not notice that its display is gone; SIGKILL reaches it all the same.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
