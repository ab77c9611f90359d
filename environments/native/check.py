"""What is missing for which task, and whether a stopped program's clock stands still on this machine."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from environments.desktop import ProgramDesktop
from environments.game import FRAME_SIZE
from environments.native.env import program_of
from environments.native.program import Program
from environments.registry import match

PROBE = Program(
    executable=sys.executable,
    packages=(),
    arguments=("-P", str(Path(__file__).with_name("probe.py"))),
    window="arena probe",
    least_ms=150,
    most_ms=150,
)
"""The measuring program under libfaketime, as the games run."""
BARE_PROBE = PROBE.model_copy(update={"pause": "stop"})
"""The same without libfaketime: what the clocks would do."""


def check() -> Mapping[str, list[str]]:
    """For each native task what keeps it from starting, each with its cure; cheap, starts nothing."""
    return {task.id: program_of(task).missing() for task in match("desktop/*")}


class ClockReport(NamedTuple):
    """How far a program's clocks moved while it was stopped, in milliseconds."""

    stopped_ms: float
    """How long it was stopped."""
    monotonic_ms: float
    """How far its monotonic clock moved meanwhile: about 0 under libfaketime, about `stopped_ms` without."""
    wall_ms: float
    """How far its date moved meanwhile."""

    @property
    def jumps(self) -> bool:
        """Whether a game would notice the stop: either clock moved by more than a tenth of it and a tick."""
        return max(self.monotonic_ms, self.wall_ms) > 0.1 * self.stopped_ms + 100


def measure_clock(program: Program = PROBE, stop_s: float = 2.0) -> ClockReport:
    """Stop the probe for a while and compare what its own clock shows before and after.

    Raises:
        DisplayError: if display or probe does not start.
        FileNotFoundError: if libfaketime is missing and the program is to run under it.
    """
    with tempfile.TemporaryDirectory(prefix="arena-native-") as folder:
        scratch = Path(folder, "episode")
        scratch.mkdir()
        launch = program.launch(scratch, seed=0)
        with ProgramDesktop(FRAME_SIZE, "clock", launch) as desktop:
            desktop.play(None, least_ms=300, most_ms=300)
            before = _times(Path(launch.log))
            began = time.monotonic()
            time.sleep(stop_s)
            stopped_ms = (time.monotonic() - began) * 1000
            desktop.play(None, least_ms=300, most_ms=300)
            after = _times(Path(launch.log))[len(before) :]
    # The last look before the stop and the first after it. In between lie a tick and the stop.
    monotonic_ms, wall_ms = ((late - early) * 1000 for early, late in zip(before[-1], after[0], strict=True))
    return ClockReport(stopped_ms, monotonic_ms, wall_ms)


def _times(log: Path) -> list[tuple[float, float]]:
    rows = [line.split() for line in log.read_text().splitlines() if line.startswith("time ")]
    return [(float(row[1]), float(row[2])) for row in rows if len(row) == 3]
