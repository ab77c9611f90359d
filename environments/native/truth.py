"""What a native program lets us know of its state, read while it is stopped: files, log, exact pixels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from environments.actions.spec import Action
from environments.env import Frame


class Reading(NamedTuple):
    """The truth at one moment."""

    score: float = 0.0
    """0..100."""
    reached: frozenset[str] = frozenset()
    """Ids of the milestones that hold now."""
    won: bool = False
    over: bool = False
    """Whether the episode is decided, won or lost."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the truth about one episode lies."""

    home: Path
    """The private home that the program writes to."""
    log: Path
    """What the program wrote to its standard output and error."""
    seed: int


class Truth(ABC):
    """Reads one program's state, for one episode. Stateless readers are the best kind."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    @abstractmethod
    def read(self, frame: Frame) -> Reading:
        """The truth now.

        Args:
            frame: the present screen, (480, 640, 3) uint8.
        """

    def advise(self, frame: Frame) -> Action | None:
        """A good gesture now, for the scripted expert; None where there is no expert."""
        return None


def ladder(share: float, names: tuple[str, ...]) -> frozenset[str]:
    """The milestones reached at a share of the way, of names that stand for equal parts of it, the last for all."""
    return frozenset(names[: int(share * len(names) + 1e-9)])


class Unknown(Truth):
    """Nothing but the screen tells: a judge who looks at the frames decides, and the score stays 0."""

    def read(self, frame: Frame) -> Reading:
        """Nothing."""
        return Reading()
