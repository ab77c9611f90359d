"""Every error this package raises, as one tree.

ArenaError
├── CannotRecord        results can no longer be written: a full disk, a database that is gone
├── InexactRollback     a task does not go back exactly on this machine (also an InfrastructureError)
├── InvalidExperiment   an experiment file with problems; `problems` lists all of them
├── NotEnoughData       a run holds too little for what is asked of it
├── NotReproduced       a stored episode does not replay as it was recorded
├── UnknownRun          no such run or episode
└── WorkersDied         one worker process after another died, and no trial came to its end
"""

from __future__ import annotations

from typing import Any, NamedTuple

from environments.errors import InfrastructureError


class Problem(NamedTuple):
    """One fault of an experiment file."""

    path: str
    """Where, for example `blocks[1].tasks[0]`."""
    value: Any
    message: str
    """What is wrong and what to do."""

    def __str__(self) -> str:
        shown = repr(self.value)
        if self.value == "":
            return f"{self.path}: {self.message}"
        return f"{self.path}: {self.message} (got {shown if len(shown) <= 80 else shown[:77] + '...'})"


class ArenaError(Exception):
    """Root of this package's errors."""


class InvalidExperiment(ArenaError, ValueError):
    """An experiment file that cannot be run."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = problems
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__("\n".join([f"{source}: {count}", *(f"  {problem}" for problem in problems)]))


class NotEnoughData(ArenaError, ValueError):
    """The run has too few results, or none of the kind that is needed."""


class InexactRollback(ArenaError, InfrastructureError):
    """A task does not go back exactly on this machine: nothing that rests on it can be scored."""


class NotReproduced(ArenaError, RuntimeError):
    """Replaying the recorded actions did not give the recorded results."""


class UnknownRun(ArenaError, LookupError):
    """No run or episode of that name."""


class CannotRecord(ArenaError, OSError):
    """Results can no longer be written; nothing half written is left, and the same command goes on."""


class WorkersDied(ArenaError, RuntimeError):
    """Worker processes died one after another without finishing a trial."""
