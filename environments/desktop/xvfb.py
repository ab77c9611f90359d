"""A private X server: started, guarded by a cookie, and ended without leftovers."""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_FAMILY_LOCAL = 256
_FAMILY_WILD = 65535
_START_S = 20.0
_STOP_S = 1.5
_BORN_S = 0.05
"""A server that is just starting has made its socket and does not listen yet, for some microseconds."""


class ServerError(RuntimeError):
    """The X server could not be started, or died."""


class Xvfb:
    """One Xvfb of its own, on a display number of its own choice.

    The authority file lives in memory (`memfd`), so no cookie is ever on a disk and nothing is left
    to delete, however the processes end. Other programs on this display need `environment`.

    Only the thread that outlives all others may start one: the kernel ends the server together
    with the thread that started it (`PR_SET_PDEATHSIG`).

    Args:
        size: width and height of the only screen, in pixels; its depth is 24.

    Raises:
        ServerError: if Xvfb is missing, dies at once, or names no display within 20 s.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        program = shutil.which("Xvfb")
        if program is None:
            raise ServerError("Xvfb is not installed; install it with: apt-get install xvfb")
        self._cookie = os.urandom(16)
        self._authority = _private_memory("arena-xauthority")
        self._log = _private_memory("arena-xvfb-log")
        # The wild entry is what the server needs; python-xlib wants one with host and number,
        # which are known only once the server has chosen its number (`wait`).
        os.write(self._authority, _authority_entry(_FAMILY_WILD, b"", b"", self._cookie))
        self._ready, ready = os.pipe()
        width, height = size
        self._process = subprocess.Popen(
            [
                program,
                *("-displayfd", str(ready)),
                *("-screen", "0", f"{width}x{height}x24"),
                *("-auth", f"/proc/self/fd/{self._authority}"),
                *("-nolisten", "tcp"),
                "-noreset",  # keep the server's state when the last client leaves
                "-r",  # no auto-repeat: a key that is held down must not depend on the wall clock
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=(ready, self._authority),
            preexec_fn=_die_with_parent,
        )
        os.close(ready)
        self.pid = self._process.pid
        self.number = -1
        """Display number, -1 until `wait` has returned."""

    def wait(self) -> None:
        """Wait until the server takes connections (the start itself needs no waiting).

        Raises:
            ServerError: if it dies instead, or takes longer than 20 s.
        """
        answer = b""
        deadline = time.monotonic() + _START_S
        while not answer.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._ready], [], [], left)[0]:
                raise ServerError(f"Xvfb named no display within {_START_S:.0f} s{self._last_line()}")
            part = os.read(self._ready, 16)
            if not part:
                raise ServerError(f"Xvfb did not start{self._last_line()}")
            answer += part
        os.close(self._ready)
        self.number = int(answer)
        os.write(
            self._authority,
            _authority_entry(_FAMILY_LOCAL, socket.gethostname().encode(), str(self.number).encode(), self._cookie),
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a child of this process finds the display and may enter."""
        return {"DISPLAY": f":{self.number}", "XAUTHORITY": f"/proc/{os.getpid()}/fd/{self._authority}"}

    def obituary(self) -> str | None:
        """How the server died and the last line it wrote, or None while it lives."""
        try:
            status = self._process.wait(timeout=0.5)  # its socket closes a moment before it is gone
        except subprocess.TimeoutExpired:
            return None
        where = f" (display :{self.number})" if self.number >= 0 else ""
        return f"Xvfb{where} {describe_exit(status)}{self._last_line()}"

    def kill(self) -> None:
        """End the server at once, so that it has no time to remove any socket; `stop` is for what works."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End the server and remove its socket; safe to repeat."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        remove_leftovers(self.number)

    def _last_line(self) -> str:
        return last_line(self._log, but="_XSERVTrans")  # what it says of display numbers that are taken


def last_line(log: int, but: str = "\0") -> str:
    """The last non-empty line of an open log that does not begin with `but`, as a clause for an error message."""
    text = os.pread(log, 4096, max(0, os.fstat(log).st_size - 4096)).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(but)]
    return f"; its last line: {lines[-1][:300]}" if lines else ""


def describe_exit(status: int) -> str:
    """An exit status of `subprocess` in words."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def remove_leftovers(number: int) -> None:
    """Remove the socket of a display whose server was killed, unless another server listens there now.

    There is no lock file: with `-displayfd` the server settles its number by the socket alone.
    """
    path = Path(f"/tmp/.X11-unix/X{number}")
    if _refuses(path):
        time.sleep(_BORN_S)
        if _refuses(path):
            path.unlink(missing_ok=True)


def _refuses(path: Path) -> bool:
    """Whether nobody listens on a socket; a busy server counts as listening."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
        except (FileNotFoundError, BlockingIOError):
            return False
    return False


def _private_memory(name: str) -> int:
    descriptor = os.memfd_create(name)
    os.fchmod(descriptor, 0o600)  # a memfd begins as 0777
    return descriptor


def _authority_entry(family: int, address: bytes, number: bytes, cookie: bytes) -> bytes:
    """One entry of an Xauthority file: big-endian, every field preceded by its 16-bit length."""
    fields = (address, number, b"MIT-MAGIC-COOKIE-1", cookie)
    return struct.pack(">H", family) + b"".join(struct.pack(">H", len(field)) + field for field in fields)


def _die_with_parent() -> None:
    # SIGTERM, not SIGKILL: the server then removes its socket itself.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
