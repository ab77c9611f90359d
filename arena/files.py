"""Files that are whole or not there."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def put(path: Path, data: bytes) -> None:
    """Write a file, and the folders above it: a name that exists is whole, whatever ends the process.

    Processes and threads may put the same name at the same time; the last one stays. What is cut off leaves a file that
    ends in `.part`.

    Raises:
        OSError: if it cannot be written; what was there before is still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
