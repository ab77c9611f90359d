"""The worker on a person's desktop as its parent sees it: started, asked with a time limit, ended for certain."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import IO, Any

from environments.errors import DisplayError, PersonTookOver

_WORKER = Path(__file__).with_name("worker.py")
_START_S = 30.0
_CLOSE_S = 5.0


class WorkerProcess:
    """One worker: PyAutoGUI binds itself to a desktop for the life of a process, and may end it.

    Works on pipes and a thread, which every platform has. If this process dies, the worker notices, releases every
    key that it holds, and ends.

    Raises:
        DisplayError: if this desktop cannot be used; says why.
    """

    def __init__(self) -> None:
        self._failure: str | None = None
        self._asked = 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  as long as this object
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise DisplayError("the worker has no pipes")
        self._requests = self._process.stdin
        self._answers: queue.Queue[tuple[dict[str, Any], bytes] | None] = queue.Queue()
        threading.Thread(target=_read, args=(self._process.stdout, self._answers), daemon=True).start()
        self.close = weakref.finalize(self, _end, self._process, self._requests, self._log)
        """Let go of the desktop and end the worker; safe to repeat, and called at interpreter exit."""
        self._receive(_START_S)

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def ask(self, do: str, *, timeout_s: float = 20.0, **arguments: Any) -> tuple[Any, bytes]:
        """Send one request; its answer and its picture.

        Args:
            do: what is asked for.
            timeout_s: how long the answer may take, in seconds.
            **arguments: of the request, as JSON values.

        Raises:
            PersonTookOver: the person stopped the hands; the worker lives on.
            DisplayError: the window or the worker is gone, or gave no answer in time; every later request fails too.
        """
        if self._failure is None and not self.close.alive:
            self._failure = "the desktop is closed"
        if self._failure is not None:
            raise DisplayError(self._failure)
        self._asked += 1
        with contextlib.suppress(OSError):  # `_receive` finds out why
            self._requests.write(json.dumps({"id": self._asked, "do": do, **arguments}).encode() + b"\n")
            self._requests.flush()
        return self._receive(timeout_s)

    def _receive(self, timeout_s: float) -> tuple[Any, bytes]:
        try:
            received = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise self._fail(f"the desktop did not answer within {timeout_s:g} s") from None
        if received is None:
            raise self._fail(f"the desktop's worker ended{self._last_line()}")
        message, picture = received
        if message["id"] != self._asked:  # the answer to a request whose caller was interrupted
            return self._receive(timeout_s)
        match message.get("error"):
            case None:
                return message["answer"], picture
            case "took over":
                raise PersonTookOver(
                    f"the person took over: {message['reason']}; nothing was scored, and the next episode waits until"
                    " the game is brought to the front again"
                )
            case _:
                raise self._fail(message["reason"])

    def _fail(self, reason: str) -> DisplayError:
        self._failure = f"this desktop cannot be played on: {reason}"
        self.close()
        return DisplayError(self._failure)

    def _last_line(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_CLOSE_S)
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"; its last line: {lines[-1][:300]}" if lines else ""


def _read(stream: IO[bytes], answers: queue.Queue[tuple[dict[str, Any], bytes] | None]) -> None:
    """Put every answer into the queue, and None at the end."""
    with stream:
        for line in stream:
            message = json.loads(line)
            answers.put((message, stream.read(message.get("picture", 0))))
    answers.put(None)


def _end(process: subprocess.Popen[bytes], requests: IO[bytes], log: IO[bytes]) -> None:
    with contextlib.suppress(OSError):
        requests.close()  # the worker lets go of everything and ends
    try:
        process.wait(timeout=_CLOSE_S)
    except subprocess.TimeoutExpired:
        process.terminate()  # still with a chance to let go
        try:
            process.wait(timeout=_CLOSE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    log.close()
