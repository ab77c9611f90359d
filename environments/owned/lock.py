"""One desktop, one pair of hands: a lock that the kernel releases when its holder dies."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import IO


def hold_desktop() -> IO[bytes] | None:
    """Take the lock of this user's desktop; the open file keeps it. None if another process has it."""
    name = "arena-hands"
    if sys.platform not in ("win32", "darwin"):  # there the temporary folder is the user's own, and the desktop is one
        name += f"-{os.getuid()}-" + re.sub(r"\W", "-", os.environ.get("DISPLAY", ""))
    path = Path(tempfile.gettempdir()) / f"{name}.lock"
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
