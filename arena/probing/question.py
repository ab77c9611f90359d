"""What a probe asks: a question about frames of a recording, whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from arena.identity import digest
from arena.probing.pictures import Mark, Shape, drawn
from environments.env import Frame

if TYPE_CHECKING:
    from arena.probing.recording import Recording

Kind = Literal["perception", "chronology", "planning"]
KINDS: tuple[Kind, ...] = ("perception", "chronology", "planning")


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a picture, in pixels of the frame."""

    x: int
    y: int
    radius: int
    """An answer so far away is still right."""

    def holds(self, x: int, y: int) -> bool:
        """Whether a pixel is near enough."""
        return math.hypot(x - self.x, y - self.y) <= self.radius


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question: multiple choice, or a place in the only picture where there are no options."""

    kind: Kind
    form: str
    """`which-first`, `quadrant`, ..."""
    task_id: str
    episode_id: str
    frames: tuple[int, ...]
    """Of the episode's video, in the order in which they are shown."""
    size: tuple[int, int]
    """Width and height of the frames in pixels."""
    text: str
    about: str = ""
    """What has to be known to answer: the goal, the rules."""
    options: tuple[str, ...] = ()
    """In the order in which they are offered, no two alike."""
    truth: str | Spot
    """One of the options, or where."""
    overlay: tuple[Shape | Mark, ...] = ()
    """What we draw on every picture."""
    leaning: str = ""
    """The option towards which a bias is measured; the truth in exactly half of a set. Empty for none."""

    def __post_init__(self) -> None:
        fitting = self.truth in self.options if isinstance(self.truth, str) else not self.options
        if not fitting or len(set(self.options)) < len(self.options):
            raise ValueError(f"{self.form}: the truth {self.truth!r} must be one of different options {self.options}")

    @property
    def id(self) -> str:
        """Hash of everything that is asked: the same question, the same id."""
        return digest(asdict(self))

    @property
    def chance(self) -> float:
        """How often somebody is right who does not look: for a place, one who points anywhere with equal chance."""
        if not isinstance(self.truth, Spot):
            return 1 / len(self.options)
        width, height = self.size
        x, y = np.meshgrid(np.arange(width) - self.truth.x, np.arange(height) - self.truth.y)
        return float(np.mean(x**2 + y**2 <= self.truth.radius**2))

    def pictures(self, frames: Callable[[Sequence[int]], Sequence[Frame]]) -> list[Frame]:
        """What is shown, (H, W, 3) uint8 each.

        Args:
            frames: Reads frames of the episode by index.
        """
        return [drawn(frame, self.overlay) for frame in frames(self.frames)]


Draft = Callable[[int], Question]
"""A question that is not arranged yet: made for a slot, a number below the form's `ways`, that says which of its
possible answers is to be right, or at which place the right one is to stand."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to ask."""

    kind: Kind
    name: str
    ways: int
    """Slots; each is used equally often."""
    drafts: Callable[[Sequence[Recording], np.random.Generator], Iterator[Draft]]
    paired: bool = False
    """Whether the slots are to be used exactly equally often, at the price of one question less."""


def placed(truth: str, others: Sequence[str], slot: int) -> tuple[str, ...]:
    """Options with the right one at the place that a slot says."""
    options = list(others)
    options.insert(slot % (len(options) + 1), truth)
    return tuple(options)


def shuffled(items: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """The items in random order."""
    return [items[int(i)] for i in rng.permutation(len(items))]
