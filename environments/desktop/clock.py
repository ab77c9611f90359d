"""The clock of a program that is stopped between its turns: libfaketime's offset, moved by every pause.

A stopped process does not see the time that passes, and finds out when it goes on: a countdown has then run out
behind the player's back (measured: the timer of a minesweeper ran from 3 to 24 s over a stop of 20 s). So the program
is started under libfaketime, which adds an offset from a file to every clock that the program reads, and the offset
goes down by the length of each stop before the program goes on.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

LIBRARY = "libfaketimeMT.so.1"
"""The build of libfaketime for programs with threads."""
SYSTEM_PACKAGE = "libfaketime"


def find_library() -> Path | None:
    """Where libfaketime lies, or None where it is not installed. It is in no folder that the loader searches."""
    for root in (Path("/usr/lib"), Path("/usr/local/lib")):
        for path in sorted((*root.glob(f"*/faketime/{LIBRARY}"), *root.glob(f"faketime/{LIBRARY}"))):
            return path
    return None


def environment(library: Path, file: Path) -> dict[str, str]:
    """The variables under which a program reads its clock from `file`."""
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",  # the offset is read at every look at the clock: nothing of a stop may leak
        "FAKETIME_DONT_RESET": "1",  # children go on with the same clock
    }


class Clock:
    """An offset file. `stop` and `go` bracket the time that the program must not see.

    Args:
        file: where the offset is written; it is created.
        start: the date at which the program's clock begins, in seconds since 1970, or None for the real date. A date
            in the past is refused: the offset shifts the monotonic clock too, which programs expect to be positive.

    Raises:
        ValueError: for a date in the past.
    """

    def __init__(self, file: Path, start: float | None = None) -> None:
        self._offset_s = 0.0 if start is None else start - time.time()
        if self._offset_s < 0:
            raise ValueError(f"start: {start} is in the past; a program's monotonic clock would run below zero")
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._stopped_at: float | None = None
        self._write()

    def stop(self) -> None:
        """The program has stopped now."""
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()

    def go(self) -> None:
        """The program is about to go on: what passed since `stop` is taken from its clock."""
        if self._stopped_at is not None:
            self._offset_s -= time.monotonic() - self._stopped_at
            self._stopped_at = None
            self._write()

    def close(self) -> None:
        """Close the file; the clock then goes on with the last offset."""
        os.close(self._file)

    def _write(self) -> None:
        # Of one length and in one write: a program that was stopped half way through reading it sees no third value.
        os.pwrite(self._file, f"{self._offset_s:+021.6f}\n".encode(), 0)
