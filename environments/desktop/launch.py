"""What a private display is to start in place of a window of ours; a plain value, without libraries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Launch:
    """What is to be started. All of it is JSON: it travels to the worker as an argument."""

    argv: list[str]
    environment: dict[str, str]
    """The whole environment but for the display: nothing is inherited from the arena's own, whose keys are secrets."""
    scratch: str
    """A folder that belongs to this episode alone; it is deleted with the program."""
    home: str
    """The working directory."""
    log: str
    """The file that takes what the program writes."""
    window: str
    """A regular expression for the title or class of the main window; "" takes the first window."""
    fill: bool
    """Whether the main window is made as large as the screen."""
    start_s: float
    """How long the window may take to appear, in seconds."""
    clock: str
    """The offset file of the program's clock, or "" for a program that is stopped without one."""
    date: float | None
    """Where its clock begins, in seconds since 1970."""


class ProgramLost(RuntimeError):
    """The program did not start, or showed no window."""
