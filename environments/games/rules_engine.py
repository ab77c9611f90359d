"""The laws of a yard of words: sentences, moves, and what follows from them. Pure functions of a position."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from environments.games.grid import STEPS, Cell, Direction

COLUMNS, ROWS = 12, 8
NOUNS = ("ROBOT", "SNAIL", "DUCK", "GEM", "LAMP", "CRATE", "BUSH", "POND", "BURR")
PROPERTIES = ("YOU", "WIN", "STOP", "PUSH", "ZAP", "SINK")
IS = "IS"

Sentence = tuple[str, str, str]
"""A noun, IS, and a property or another noun."""


class Thing(NamedTuple):
    """A word block (its name in capitals) or an object (its noun in small letters), and its cell."""

    name: str
    x: int
    y: int

    @property
    def cell(self) -> Cell:
        """Where it lies."""
        return self.x, self.y

    @property
    def is_word(self) -> bool:
        """Whether it is a word block."""
        return self.name.isupper()


Position = tuple[Thing, ...]
"""Everything in the yard. Word blocks never share a cell; objects may."""


def inside(cell: Cell) -> bool:
    """Whether a cell belongs to the yard."""
    return 0 <= cell[0] < COLUMNS and 0 <= cell[1] < ROWS


@lru_cache(maxsize=4096)
def _read(words: tuple[Thing, ...]) -> tuple[tuple[Sentence, tuple[Cell, Cell, Cell]], ...]:
    at = {word.cell: word.name for word in words}
    found = []
    for x, y in sorted(at, key=lambda cell: (cell[1], cell[0])):
        for dx, dy in ((1, 0), (0, 1)):
            cells = (x, y), (x + dx, y + dy), (x + 2 * dx, y + 2 * dy)
            first, middle, last = (at.get(cell, "") for cell in cells)
            if first in NOUNS and middle == IS and last and last != IS:
                found.append(((first, middle, last), cells))
    return tuple(found)


def readings(position: Position) -> tuple[tuple[Sentence, tuple[Cell, Cell, Cell]], ...]:
    """The sentences in force and the cells of their words: left to right and downwards, in reading order."""
    return _read(tuple(thing for thing in position if thing.is_word))


def sentences(position: Position) -> tuple[Sentence, ...]:
    """The sentences in force, each once, in alphabetical order."""
    return tuple(sorted({sentence for sentence, _ in readings(position)}))


class Laws:
    """What the sentences in force make of each noun."""

    def __init__(self, position: Position) -> None:
        self.properties: dict[str, set[str]] = {}
        self.becomes: dict[str, str] = {}
        same = set()
        for (noun, _, last), _ in readings(position):
            if last in PROPERTIES:
                self.properties.setdefault(noun.lower(), set()).add(last)
            elif last == noun:
                same.add(noun.lower())
            else:  # of several, the first in reading order
                self.becomes.setdefault(noun.lower(), last.lower())
        for noun in same:  # a noun that is itself stays what it is
            self.becomes.pop(noun, None)

    def has(self, thing: Thing, quality: str) -> bool:
        """Whether a thing has a property; word blocks are PUSH and nothing else."""
        return quality == "PUSH" if thing.is_word else quality in self.properties.get(thing.name, ())


def step(position: Position, direction: Direction) -> Position | None:
    """Everything that is YOU moves one cell, and the consequences; None where nothing can move."""
    laws = Laws(position)
    dx, dy = STEPS[direction]
    things = list(position)
    movers = [index for index, thing in enumerate(things) if laws.has(thing, "YOU")]
    # Those in front first, so that a row of them moves as one.
    movers.sort(key=lambda index: -(dx * things[index].x + dy * things[index].y))
    moved: set[int] = set()
    for index in movers:
        if index in moved:
            continue
        x, y = things[index].cell
        pushed = _pushed(things, laws, (x + dx, y + dy), (dx, dy))
        if pushed is None:
            continue
        for other in {index, *pushed} - moved:
            thing = things[other]
            things[other] = Thing(thing.name, thing.x + dx, thing.y + dy)
            moved.add(other)
    return _consequences(tuple(things)) if moved else None


def _pushed(things: list[Thing], laws: Laws, cell: Cell, way: Cell) -> list[int] | None:
    """What must move on when something enters `cell`; None where the cell stays shut."""
    pushed: list[int] = []
    while True:
        if not inside(cell):
            return None
        here = [index for index, thing in enumerate(things) if thing.cell == cell]
        loose = [index for index in here if laws.has(things[index], "PUSH")]
        if any(laws.has(things[index], "STOP") for index in here if index not in loose):
            return None
        if not loose:
            return pushed
        pushed += loose
        cell = cell[0] + way[0], cell[1] + way[1]


def _consequences(position: Position) -> Position:
    """After a move: nouns become others, SINK swallows, ZAP destroys."""
    laws = Laws(position)
    if laws.becomes:
        position = tuple(
            thing if thing.is_word else Thing(laws.becomes.get(thing.name, thing.name), thing.x, thing.y)
            for thing in position
        )
    return _without(position, set(_swallowed(position, laws)) | set(_zapped(position, laws)))


def _without(position: Position, gone: set[int]) -> Position:
    return tuple(thing for index, thing in enumerate(position) if index not in gone) if gone else position


def _swallowed(position: Position, laws: Laws) -> Iterator[int]:
    """Each SINK takes one other thing in its cell with it."""
    taken: set[int] = set()
    for index, thing in enumerate(position):
        if index in taken or not laws.has(thing, "SINK"):
            continue
        for other, guest in enumerate(position):
            if other != index and other not in taken and guest.cell == thing.cell:
                taken |= {index, other}
                yield from (index, other)
                break


def _zapped(position: Position, laws: Laws) -> Iterator[int]:
    deadly = {thing.cell for thing in position if laws.has(thing, "ZAP")}
    return (index for index, thing in enumerate(position) if thing.cell in deadly and laws.has(thing, "YOU"))


def yours(position: Position) -> list[Thing]:
    """Everything that is YOU."""
    laws = Laws(position)
    return [thing for thing in position if laws.has(thing, "YOU")]


def is_won(position: Position) -> bool:
    """Whether something that is YOU shares a cell with something that is WIN, or is both itself."""
    laws = Laws(position)
    goals = {thing.cell for thing in position if laws.has(thing, "WIN")}
    return any(thing.cell in goals for thing in position if laws.has(thing, "YOU"))
