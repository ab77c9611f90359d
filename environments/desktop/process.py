"""The worker process as its parent sees it: started, asked with a time limit, ended for certain."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import weakref
from dataclasses import asdict
from pathlib import Path
from typing import Any

from environments.desktop.launch import Launch
from environments.desktop.xvfb import describe_exit, last_line, remove_leftovers
from environments.errors import DisplayError

_WORKER = Path(__file__).with_name("worker.py")
_START_S = 30.0
_CLOSE_S = 5.0


class WorkerProcess:
    """One worker, and all that must not outlive it.

    It has a session of its own, so that Ctrl-C in a terminal reaches the arena and not the display
    under it, and one signal ends worker and server together. Nothing has a name on a disk: the
    channel is a socket pair, picture and log are anonymous memory.

    Args:
        size: width and height of the screen in pixels.
        title: title of the window.
        tap_ms: how long a tap stays down, in milliseconds.
        timeout_s: how long any answer may take, in seconds (the start: 30 s).
        launch: a program that gets the screen in place of our window, and its own time to start.

    Raises:
        DisplayError: if no working display came about; says why.
    """

    def __init__(
        self, size: tuple[int, int], title: str, tap_ms: int, timeout_s: float, launch: Launch | None = None
    ) -> None:
        self._asked = 0
        self._failure: str | None = None
        width, height = size
        self._log = os.memfd_create("arena-desktop-log")
        picture = os.memfd_create("arena-desktop-picture")
        os.ftruncate(picture, width * height * 4)
        self.picture = mmap.mmap(picture, width * height * 4)
        """The picture on its way in or out: (height, width) pixels of four bytes, blue first."""
        # Whole messages, never torn ones: an interrupt in the middle of `recv` loses nothing.
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(_START_S + (launch.start_s if launch else 0.0))
        options = {"size": size, "title": title, "tap_ms": tap_ms, "parent": os.getpid()}
        options["launch"] = asdict(launch) if launch else None
        options |= {"channel": theirs.fileno(), "picture": picture}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER), json.dumps(options)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=(theirs.fileno(), picture),
            start_new_session=True,
        )
        theirs.close()
        os.close(picture)
        self._server: list[int] = []
        scratch = launch.scratch if launch else ""
        self.close = weakref.finalize(
            self, _end, os.getpid(), self._process, self._channel, self._log, self._server, scratch
        )
        """End worker and server; safe to repeat, and called at interpreter exit."""
        self._server += self._receive()
        self._channel.settimeout(timeout_s)

    @property
    def pids(self) -> tuple[int, int]:
        """Process ids of the worker and of its Xvfb."""
        return self._process.pid, self._server[1]

    @property
    def program(self) -> int:
        """Process id of the program, 0 where there is none."""
        return self._server[2]

    @property
    def number(self) -> int:
        """Number of the display."""
        return self._server[0]

    def ask(self, do: str, **arguments: Any) -> Any:
        """Send one request and wait for its answer.

        Raises:
            DisplayError: if worker or server died, or gave no answer in time, or if this was closed.
                The worker is ended then, and every later request fails with the same reason.
        """
        if self._failure is None and not self.close.alive:
            self._failure = "the desktop is closed"
        if self._failure is not None:
            raise DisplayError(self._failure)
        self._asked += 1
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `_receive` finds out why
            self._channel.send(json.dumps({"id": self._asked, "do": do, **arguments}).encode())
        return self._receive()

    def _receive(self) -> Any:
        try:
            while True:
                message = self._next_message()
                if message is None:
                    raise self._fail(self._epitaph())
                answer = json.loads(message)
                if "error" in answer:
                    raise self._fail(answer["error"])
                if answer["id"] == self._asked:
                    return answer["answer"]
                # else: the answer to a request whose caller was interrupted
        except TimeoutError:
            limit = self._channel.gettimeout()
            _kill_session(self._process)
            raise self._fail(f"the desktop did not answer within {limit:g} s{last_line(self._log)}") from None

    def _next_message(self) -> bytes | None:
        for _ in range(2):  # a reset is told once, and before the last words of the peer
            with contextlib.suppress(ConnectionResetError):
                return self._channel.recv(1 << 20) or None
        return None

    def _epitaph(self) -> str:
        try:
            status = self._process.wait(timeout=_CLOSE_S)
        except subprocess.TimeoutExpired:
            return f"the desktop worker hung up{last_line(self._log)}"
        return f"the desktop worker {describe_exit(status)}{last_line(self._log)}"

    def _fail(self, reason: str) -> DisplayError:
        self._failure = f"private display failed: {reason}"
        self.close()
        return DisplayError(self._failure)


def _end(
    owner: int,
    process: subprocess.Popen[bytes],
    channel: socket.socket,
    log: int,
    server: list[int],
    scratch: str,
) -> None:
    """End the worker politely, then its whole session by force, and remove what a dead server or program left."""
    if os.getpid() != owner:  # a fork of the owner: the desktop is not its own to end
        return
    channel.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_CLOSE_S)
    _kill_session(process)
    process.wait()
    os.close(log)
    if server:
        number, pid, _ = server
        _wait_for_end(pid)
        remove_leftovers(number)
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    # The session outlives its leader as long as Xvfb runs, and its number is not given away.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # A program has a group of its own in this session; it may even be stopped, and notice nothing.
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                session = int((folder / "stat").read_text().rpartition(")")[2].split()[3])
                if session == process.pid:
                    os.kill(int(folder.name), signal.SIGKILL)


def _wait_for_end(pid: int) -> None:
    """Wait until a process that is not our child has ended (nobody need have collected it)."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # gone, or a kernel without pidfd
        return
    select.select([handle], [], [], 1.0)
    os.close(handle)
