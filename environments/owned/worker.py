"""The process that has its hands on a person's desktop: it finds the window, does gestures, and looks.

`WorkerProcess` runs it by its path. Requests are lines of JSON on standard input, answers are lines of JSON on standard
output, a picture follows its line as bytes. It ends when standard input does, and lets go of everything before.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import types
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from environments.owned.letterbox import Region

_POINTS = (("x", "y"), ("to_x", "to_y"))
_TAKEN = "another process has its hands on this desktop; play one at a time (arena run --workers 1)"


class Desk:
    """The window that is played, with the hands and the eyes on it.

    Raises:
        DesktopLost: if this desktop cannot be used.
    """

    def __init__(self) -> None:
        import mss

        from environments.owned.hands import Hands
        from environments.owned.window import connect

        self._windows = connect()
        self._hands = Hands(self._guard)
        self._eyes = mss.MSS()
        self._handle: int | None = None
        if sys.platform not in ("win32", "darwin"):
            from environments.owned import windows_x11

            if isinstance(self._windows, windows_x11.X11Windows):
                windows_x11.agree_on_keys(self._windows, self._hands.platform)

    def answer(self, request: dict[str, Any]) -> tuple[Any, bytes]:
        """Carry out one request; its answer as JSON, and a picture.

        Raises:
            TookOver: if the person stopped the hands.
            DesktopLost: if the window is gone.
        """
        match request["do"]:
            case "list":
                return [[window.title, *window.region] for window in self._windows.open()], b""
            case "look for":
                return self._look_for(request["titles"]), b""
            case "activate" if self._handle is not None:
                self._windows.activate(self._handle)
                return None, b""
            case "gesture":
                return self._gesture(request), b""
            case "grab":
                return None, self._grab()
            case other:
                raise ValueError(f"unknown request {other!r}")

    def let_go(self) -> None:
        """Release every key and button that the hands hold."""
        self._hands.let_go()

    def _look_for(self, titles: list[str]) -> dict[str, Any]:
        from environments.owned.window import NoWindow, find

        try:
            window = find(self._windows.open(), titles)
        except NoWindow as error:
            self._handle = None
            return {"problem": str(error), "active": False}
        self._handle = window.handle
        return {
            "title": window.title,
            "region": window.region,
            "problem": self._off_screen(window.region),
            "active": self._windows.active() == window.handle,
            "cornered": self._hands.cornered(),
        }

    def _gesture(self, request: dict[str, Any]) -> str | None:
        """Do a gesture and let the title answer it; the reason if it cannot be done."""
        gesture, region = dict(request["gesture"]), self._region()
        reason = self._place(gesture, region)
        keys = [*gesture.get("text", ""), *gesture.get("keys", ()), *([gesture["key"]] if "key" in gesture else [])]
        if lacking := self._hands.lacking(keys):
            reason = f"this keyboard has no key for {', '.join(map(repr, lacking))}"
        try:
            self._guard()
            if reason is None:
                self._hands.do(gesture, request["tap_s"])
            self._hands.pause(request["settle_s"])
        finally:
            self._hands.let_go()
        return reason

    def _place(self, gesture: dict[str, Any], region: Region) -> str | None:
        """Turn the points of a gesture from frame to screen; the reason if one is not on the picture."""
        from environments.owned.letterbox import Letterbox

        box = Letterbox.of(region.width, region.height)
        for x, y in _POINTS:
            if x in gesture:
                point = box.to_region(gesture[x], gesture[y])
                if point is None:
                    return "the point lies in the black bar beside the picture of the game"
                gesture[x], gesture[y] = region.left + point[0], region.top + point[1]
        return None

    def _grab(self) -> bytes:
        """The picture of the window in the frame, RGB."""
        from PIL import Image

        from environments.owned.letterbox import FRAME_SIZE, Letterbox

        region = self._region()
        shot = self._eyes.grab(region._asdict())
        picture = Image.frombytes("RGB", shot.size, bytes(shot.bgra), "raw", "BGRX")
        box = Letterbox.of(region.width, region.height)
        if picture.size != box.shown:
            picture = picture.resize(box.shown, Image.Resampling.LANCZOS)
        frame = Image.new("RGB", FRAME_SIZE)
        frame.paste(picture, (box.left, box.top))
        return frame.tobytes()

    def _region(self) -> Region:
        from environments.owned.window import DesktopLost

        region = None if self._handle is None else self._windows.region(self._handle)
        if region is None:
            raise DesktopLost("the window of the game is gone or minimised")
        if problem := self._off_screen(region):
            raise DesktopLost(problem)
        return region

    def _off_screen(self, region: Region) -> str:
        screen = self._eyes.monitors[0]  # all monitors together
        right, bottom = screen["left"] + screen["width"], screen["top"] + screen["height"]
        if (
            region.left < screen["left"]
            or region.top < screen["top"]
            or region.left + region.width > right
            or region.top + region.height > bottom
        ):
            return f"a part of the window lies outside the screen ({_words(region)}); move it inside"
        return ""

    def _guard(self) -> None:
        from environments.owned.hands import TookOver

        if self._windows.active() != self._handle:
            raise TookOver("the window of the game is no longer in front")


def _words(region: Region) -> str:
    return f"{region.width}x{region.height} at {region.left}, {region.top}"


def main() -> int:
    """Serve one desktop until the parent has had enough; returns the exit status."""
    _enter_package()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal reaches the arena, which then ends this
    signal.signal(signal.SIGTERM, _leave)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer

    from environments.owned.lock import hold_desktop
    from environments.owned.window import DesktopLost

    held = hold_desktop()
    if held is None:
        _send(answers, 0, {"error": "lost", "reason": _TAKEN})
        return 1
    try:
        desk = Desk()
    except (DesktopLost, ImportError) as error:
        _send(answers, 0, {"error": "lost", "reason": str(error)})
        return 1
    return _serve(desk, requests, answers)


def _serve(desk: Desk, requests: IO[bytes], answers: IO[bytes]) -> int:
    from mss.exception import ScreenShotError

    from environments.owned.hands import TookOver
    from environments.owned.window import DesktopLost

    _send(answers, 0, {"answer": "ready"})
    try:
        for line in requests:
            request = json.loads(line)
            try:
                answer, picture = desk.answer(request)
            except TookOver as error:
                _send(answers, request["id"], {"error": "took over", "reason": str(error)})
            except (DesktopLost, ScreenShotError, OSError) as error:
                _send(answers, request["id"], {"error": "lost", "reason": str(error) or type(error).__name__})
                return 1
            else:
                _send(answers, request["id"], {"answer": answer, "picture": len(picture)}, picture)
    except BrokenPipeError:  # the parent is gone
        return 0
    finally:
        desk.let_go()
    return 0


def _send(answers: IO[bytes], request: int, message: dict[str, Any], picture: bytes = b"") -> None:
    answers.write(json.dumps({"id": request, **message}).encode() + b"\n" + picture)
    answers.flush()


def _leave(*_: object) -> None:
    raise SystemExit(0)  # through the `finally` that lets go of the keys


def _enter_package() -> None:
    """Make `environments.owned` importable without running the packages' own `__init__`, which brings Gymnasium."""
    root = Path(__file__).resolve().parents[1]
    for name, folder in (
        ("environments", root),
        ("environments.desktop", root / "desktop"),
        ("environments.owned", root / "owned"),
    ):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package


if __name__ == "__main__":
    sys.exit(main())
