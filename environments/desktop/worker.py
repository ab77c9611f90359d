"""The process that owns one display: server, window, hands and eyes.

`WorkerProcess` runs it by its path, with one JSON argument. It answers requests on a socket, and
ends when that closes, when its parent is gone, or with the first error.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import socket
import sys
import threading
import time
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from environments.desktop.hands import Hands
    from environments.desktop.program import ProgramHost
    from environments.desktop.xvfb import Xvfb

_GRACE_S = 2.0
_XLIB_TRIPS = (TypeError, AssertionError)
"""What python-xlib raises beside its own errors when the server is gone in the middle of a sentence."""


class Desk:
    """What lies on the desk: the window, the hands, the eyes, and the picture shared with the parent.

    Args:
        size: width and height in pixels.
        title: of the window.
        tap_ms: how long a tap stays down.
        pixels: memory of the picture, (height, width) pixels of four bytes, blue first.
    """

    def __init__(self, size: tuple[int, int], title: str, tap_ms: int, pixels: memoryview) -> None:
        import mss
        from Xlib.display import Display

        from environments.desktop.hands import Hands
        from environments.desktop.window import Window

        self._width, self._height = size
        self._pixels = pixels
        self._display = Display()
        self._window = Window(self._display, size, title)
        self._host: ProgramHost | None = None
        self._hands: Hands = Hands(self._window, self._display, tap_ms / 1000)
        self._eyes = mss.MSS()

    def give_to_program(self, launch: dict[str, Any], ends: list[Callable[[], None]]) -> int:
        """Put a program in the place of our window; its process id. How to end it is put into `ends`.

        Raises:
            ProgramLost: if it does not start.
        """
        from environments.desktop.launch import Launch
        from environments.desktop.program import ProgramHost

        self._window.close()
        self._hands.reach_for_a_program()
        size = (self._width, self._height)
        self._host = ProgramHost(Launch(**launch), self._display, size, self._hands, self._look)
        ends.insert(0, self._host.end)  # before it starts: a start may fail half way
        self._host.start()
        return self._host.pid

    def answer(self, request: dict[str, Any]) -> list[Any]:
        """Carry out one request; only gestures have an answer: what the window received, or how the program ran."""
        match request["do"]:
            case "play" if self._host:
                return self._host.play(request["gesture"], request["least_ms"], request["most_ms"])
            case "perform":
                return self._hands.perform(request["gesture"])
            case "show":
                self._window.paint(self._pixels)
            case "grab":
                # This round trip notices a dead server, about which MSS may not say a word.
                self._display.sync()
                self._pixels[:] = self._look()
            case "echo":
                self._display.sync()
            case other:
                raise ValueError(f"unknown request {other!r}")
        return []

    def _look(self) -> bytes:
        area = {"left": 0, "top": 0, "width": self._width, "height": self._height}
        return bytes(self._eyes.grab(area).raw)

    def input_test(self) -> None:
        """Press, type, click and scroll once: whoever gets a desktop gets one that works.

        Raises:
            GestureLost: if the window did not receive just that.
        """
        from environments.desktop.hands import GestureLost

        x, y = self._width // 2, self._height // 2
        for gesture, expected in (
            ({"verb": "press", "key": "a"}, ["key_down a", "key_up a"]),
            ({"verb": "type", "text": "\u20ac"}, ["key_down \u20ac", "key_up \u20ac"]),
            (
                {"verb": "click", "x": x, "y": y, "button": "left", "count": 1},
                ["motion ", "button_down left", "button_up left"],
            ),
            ({"verb": "scroll", "x": x, "y": y, "clicks": 1}, ["motion ", "scroll "]),
        ):
            received = [f"{kind} {key or button}" for kind, key, button, *_ in self._hands.perform(gesture)]
            if received != expected:
                raise GestureLost(f"input test: {gesture} gave {received}, not {expected}")


def main(argument: str) -> int:
    """Serve one display until the parent has had enough; returns the exit status."""
    options = json.loads(argument)
    _enter_package()
    from environments.desktop.xvfb import ServerError, Xvfb

    channel = socket.socket(fileno=options["channel"])
    try:
        servers = [Xvfb(tuple(options["size"]))]
    except ServerError as error:
        channel.send(json.dumps({"error": str(error)}).encode())
        return 1
    ends: list[Callable[[], None]] = [servers[0].stop]
    """How to end what was started, the latest first."""
    threading.Thread(target=_end_with_parent, args=(options["parent"], ends), daemon=True).start()
    try:
        return _serve(channel, servers, options, ends)
    finally:
        for end in ends:
            end()


def _open(servers: list[Xvfb], options: dict[str, Any], pixels: memoryview, ends: list[Callable[[], None]]) -> Desk:
    """The desk on the server, or on a second one, put behind the first in `servers`, if that cannot be reached.

    A server that ends, anybody's, may take away the socket of one that begins under the number it has just given up.
    It does so once; hence one more try.
    """
    from Xlib.error import ConnectionClosedError, DisplayError

    from environments.desktop.xvfb import ServerError, Xvfb

    def reach(server: Xvfb) -> Desk:
        server.wait()
        os.environ.update(server.environment)
        return Desk(size, options["title"], options["tap_ms"], pixels)

    size: tuple[int, int] = (options["size"][0], options["size"][1])
    with contextlib.suppress(OSError, ServerError, ConnectionClosedError, DisplayError, *_XLIB_TRIPS):
        return reach(servers[0])
    servers[0].kill()  # an ordinary end might take away the socket of the second
    servers.append(Xvfb(size))
    ends.insert(0, servers[1].stop)
    return reach(servers[1])


def _serve(channel: socket.socket, servers: list[Xvfb], options: dict[str, Any], ends: list[Callable[[], None]]) -> int:
    # These imports take about as long as the server needs to start, which it does meanwhile.
    from mss.exception import ScreenShotError
    from Xlib.error import ConnectionClosedError, DisplayError

    from environments.desktop.hands import GestureLost
    from environments.desktop.launch import ProgramLost
    from environments.desktop.xvfb import ServerError

    xlib_errors = (ConnectionClosedError, DisplayError, *_XLIB_TRIPS)
    request: dict[str, Any] = {"id": 0}
    try:
        width, height = options["size"]
        pixels = memoryview(mmap.mmap(options["picture"], width * height * 4))
        desk = _open(servers, options, pixels, ends)
        desk.input_test()
        program = 0
        if options["launch"] is not None:
            program = desk.give_to_program(options["launch"], ends)
        server = servers[-1]
        channel.send(json.dumps({"id": 0, "answer": [server.number, server.pid, program]}).encode())
        while message := channel.recv(1 << 20):
            request = json.loads(message)
            channel.send(json.dumps({"id": request["id"], "answer": desk.answer(request)}).encode())
    except (OSError, ScreenShotError, ServerError, GestureLost, ProgramLost, *xlib_errors) as error:
        reason = servers[-1].obituary()
        if reason is None:
            if isinstance(error, _XLIB_TRIPS):
                raise
            reason = str(error) if isinstance(error, ProgramLost) else f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):  # the parent may have closed meanwhile, which is no failure of ours
            channel.send(json.dumps({"id": request["id"], "error": reason}).encode())
        return 1
    return 0


def _end_with_parent(parent: int, ends: list[Callable[[], None]]) -> None:
    """Wait for the end of the parent, then end this process and all that it started, even if they hang.

    The closing channel says the same, but only to a worker that is listening, and not while some
    forked sibling still holds the other end open. PR_SET_PDEATHSIG would not do: it fires when the
    *thread* that started us ends.
    """
    try:
        handle = os.pidfd_open(parent)
        if os.getppid() == parent:  # else it was gone before we looked, and the number may be anyone's
            select.select([handle], [], [])
    except OSError:  # a kernel or a sandbox without pidfd
        while os.getppid() == parent:
            time.sleep(0.2)
    for end in ends:
        end()
    time.sleep(_GRACE_S)  # the main thread notices by itself, unless it hangs
    os._exit(1)


def _enter_package() -> None:
    """Make `environments.desktop` importable without running the packages' own `__init__`.

    Those bring Gymnasium and pydantic: a quarter of a second at every start, for nothing here.
    """
    here = Path(__file__).resolve().parent
    for name, folder in (("environments", here.parent), ("environments.desktop", here)):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
