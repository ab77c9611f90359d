"""What an engine knows to be in its picture, for questions about it: the truth, and never part of an observation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thing:
    """Something of which there is one in the picture, and where it is."""

    name: str
    """As in a sentence: `the key`."""
    x: int
    y: int
    """Pixel of the main view's picture; the middle of the thing."""
    radius: int
    """In pixels: a place so far from the middle still lies on the thing."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a board, and what is to be seen in it."""

    box: tuple[int, int, int, int]
    """Left, top, right, bottom in pixels of the main view's picture; right and bottom are exclusive."""
    holds: str
    """One of `Facts.contents`."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Anything else that can be asked: a question with its answers, of which one holds."""

    question: str
    options: tuple[str, ...]
    answer: str
    """One of the options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What can be told from the picture of this moment, if one looks well.

    Only what a person could see there too: a mine that is hidden is no fact, and what lies between two answers is left
    out.
    """

    things: tuple[Thing, ...] = ()
    cells: tuple[Cell, ...] = ()
    contents: tuple[str, ...] = ()
    """Everything that a cell of this game may hold, whether it does now or not."""
    statements: tuple[Statement, ...] = ()
