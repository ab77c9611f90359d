"""Yards of words, made anew for each seed: nine ideas, each with chance in its places, nouns and reflections.

A yard is kept only if it cannot be won without changing a sentence, says at the start exactly what it is meant to
say, and is won by the plan through its stages within the wanted number of moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from environments.games.grid import Cell
from environments.games.rules_engine import (
    COLUMNS,
    IS,
    NOUNS,
    ROWS,
    Position,
    Sentence,
    Thing,
    inside,
    is_won,
    sentences,
)
from environments.games.rules_planner import Plan, Stage, plan, win_route

ANIMATE = ("ROBOT", "SNAIL", "DUCK")
"""Who the player is at the start; the other roles are dealt among the other nouns."""


class Level(NamedTuple):
    """A yard, the stages of the intended solution, and a plan that wins."""

    idea: str
    position: Position
    stages: tuple[Stage, ...]
    plan: Plan


class Cramped(Exception):
    """No room was left for what should be placed; another try will do."""


class Yard:
    """A yard under construction. Left and right, above and below are settled at the end, by reflection."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        others = [noun for noun in NOUNS if noun not in ANIMATE]
        rng.shuffle(others)
        self.you = ANIMATE[int(rng.integers(len(ANIMATE)))]
        self.prize, self.wall, self.block, self.decoy = others[:4]
        self.things: list[tuple[str, Cell]] = []
        self.said: list[tuple[tuple[str, ...], Cell, Cell]] = []
        """Sentences, whole or in part: the words, the first cell, the way from word to word."""
        self.corners = [(0, 0), (0, ROWS - 1), (COLUMNS - 3, 0), (COLUMNS - 3, ROWS - 1)]
        rng.shuffle(self.corners)
        self.corners = [(int(x), int(y)) for x, y in self.corners]
        self.edge = COLUMNS
        """The column where the fence begins; the player's part lies to its left."""

    def free(self, cell: Cell) -> bool:
        """Whether a cell of the yard holds nothing."""
        spoken = {(x + i * dx, y + i * dy) for words, (x, y), (dx, dy) in self.said for i in range(len(words))}
        return inside(cell) and cell not in spoken and all(cell != other for _, other in self.things)

    def lock(self, sentence: Sentence) -> None:
        """A sentence in a corner, where nobody can push it."""
        for corner in self.corners:
            if all(self.free((corner[0] + i, corner[1])) for i in range(3)):
                self.said.append((sentence, corner, (1, 0)))
                return
        raise Cramped

    def fence(self, noun: str) -> None:
        """A fence from top to bottom, with or without a bend."""
        self.edge = int(self.rng.integers(6, 8))
        bend, shift = int(self.rng.integers(2, ROWS - 2)), int(self.rng.integers(0, 2))
        cells = {(self.edge if y <= bend else self.edge + shift, y) for y in range(ROWS)} | {(self.edge + shift, bend)}
        for cell in sorted(cells):
            if not self.free(cell):
                raise Cramped
            self.things.append((noun.lower(), cell))

    def ring(self, noun: str, prize: str) -> None:
        """An object shut in by eight others, against the right edge."""
        x, y = COLUMNS - 2, int(self.rng.integers(2, ROWS - 2))
        for cell in [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]:
            if not self.free(cell):
                raise Cramped
            self.things.append((prize.lower() if cell == (x, y) else noun.lower(), cell))

    def say(self, *words: str, room: int = 0) -> None:
        """A loose sentence in the player's part, across or down, with `room` free cells where it goes on."""
        length = len(words) + room
        for _ in range(40):
            dx, dy = ((1, 0), (0, 1))[int(self.rng.integers(2))]
            x = int(self.rng.integers(1, max(2, self.edge - 1 - (length - 1) * dx)))
            y = int(self.rng.integers(1, max(2, ROWS - 1 - (length - 1) * dy)))
            cells = [(x + i * dx, y + i * dy) for i in range(length)]
            if all(self.free(cell) and 0 < cell[0] < self.edge - 1 and 0 < cell[1] < ROWS - 1 for cell in cells):
                self.said.append((words, (x, y), (dx, dy)))
                return
        raise Cramped

    def drop(self, name: str, left: int = 0, right: int = COLUMNS, rim: int = 0) -> None:
        """A word or an object on a free cell of columns `left` to `right`, not nearer than `rim` to the edges."""
        cells = [(x, y) for x in range(max(left, rim), min(right, COLUMNS - rim)) for y in range(rim, ROWS - rim)]
        free = [cell for cell in cells if self.free(cell)]
        if not free:
            raise Cramped
        self.things.append((name, free[int(self.rng.integers(len(free)))]))

    def mine(self, name: str) -> None:
        """A thing in the player's part."""
        self.drop(name, right=self.edge)

    def beyond(self, name: str) -> None:
        """A thing on the other side of the fence."""
        self.drop(name, left=self.edge + 2)

    def loose(self, word: str) -> None:
        """A word block that can be pushed in all four directions, in the player's part."""
        self.drop(word, right=self.edge - 1, rim=1)

    def finished(self) -> Position:
        """The yard, reflected by chance; sentences still read left to right and downwards."""
        across, down = (bool(self.rng.integers(2)) for _ in range(2))
        things = [
            Thing(name, COLUMNS - 1 - x if across else x, ROWS - 1 - y if down else y) for name, (x, y) in self.things
        ]
        for words, (x, y), (dx, dy) in self.said:
            # A partial sentence keeps its gap at the end: the gap's cell is what lies reflected at the front.
            length = 3 * dx, 3 * dy
            left = COLUMNS - 1 - x - max(0, length[0] - 1) if across else x
            top = ROWS - 1 - y - max(0, length[1] - 1) if down else y
            things += [Thing(word, left + i * dx, top + i * dy) for i, word in enumerate(words)]
        return tuple(sorted(things))


def _break_wall(yard: Yard) -> tuple[Stage, ...]:
    """The prize is fenced off, and the sentence that shuts the fence lies loose."""
    yard.lock((yard.you, IS, "YOU"))
    yard.lock((yard.prize, IS, "WIN"))
    yard.fence(yard.wall)
    yard.beyond(yard.prize.lower())
    yard.say(yard.wall, IS, "STOP")
    yard.loose(yard.block)
    return (Stage((yard.wall, IS, "STOP")),)


def _disarm(yard: Yard) -> tuple[Stage, ...]:
    """The fence destroys who enters, as long as its sentence stands."""
    yard.lock((yard.you, IS, "YOU"))
    yard.lock((yard.prize, IS, "WIN"))
    yard.fence(yard.wall)
    yard.beyond(yard.prize.lower())
    yard.say(yard.wall, IS, "ZAP")
    yard.loose(("WIN", "PUSH", yard.block)[int(yard.rng.integers(3))])
    return (Stage((yard.wall, IS, "ZAP")),)


def _drain(yard: Yard) -> tuple[Stage, ...]:
    """The fence swallows who enters. No word but those of its sentence could be thrown in."""
    yard.lock((yard.you, IS, "YOU"))
    yard.lock((yard.prize, IS, "WIN"))
    yard.fence(yard.wall)
    yard.beyond(yard.prize.lower())
    yard.say(yard.wall, IS, "SINK")
    return (Stage((yard.wall, IS, "SINK")),)


def _make_win(yard: Yard) -> tuple[Stage, ...]:
    """Nothing is WIN; the word lies apart from the sentence that lacks it."""
    yard.lock((yard.you, IS, "YOU"))
    yard.edge = COLUMNS - 2
    yard.say(yard.prize, IS, room=1)
    yard.loose("WIN")
    yard.drop(yard.prize.lower())
    yard.lock((yard.wall, IS, "STOP"))
    for _ in range(8):
        yard.drop(yard.wall.lower())
    return (Stage((yard.prize, IS, "WIN"), "WIN"),)


def _become(yard: Yard) -> tuple[Stage, ...]:
    """The fence stands for good; become what is on its other side."""
    yard.lock((yard.prize, IS, "WIN"))
    yard.lock((yard.wall, IS, "STOP"))
    yard.fence(yard.wall)
    yard.beyond(yard.prize.lower())
    yard.beyond(yard.block.lower())
    yard.say(yard.you, IS, "YOU")
    yard.loose(yard.block)
    return (Stage((yard.block, IS, "YOU"), yard.block),)


def _make_push(yard: Yard) -> tuple[Stage, ...]:
    """A block stops up the gap in the fence until it can be pushed."""
    yard.lock((yard.you, IS, "YOU"))
    yard.lock((yard.prize, IS, "WIN"))
    yard.lock((yard.wall, IS, "STOP"))
    yard.lock((yard.block, IS, "STOP"))
    yard.fence(yard.wall)
    straight = [cell for name, cell in yard.things if name == yard.wall.lower() and 1 < cell[1] < ROWS - 2]
    gap = straight[int(yard.rng.integers(len(straight)))]
    yard.things = [(yard.block.lower() if cell == gap else name, cell) for name, cell in yard.things]
    yard.beyond(yard.prize.lower())
    yard.say(yard.block, IS, room=1)
    yard.loose("PUSH")
    return (Stage((yard.block, IS, "PUSH"), "PUSH"),)


def _other_win(yard: Yard) -> tuple[Stage, ...]:
    """What is WIN is walled in for good; make something else WIN."""
    yard.lock((yard.you, IS, "YOU"))
    yard.lock((yard.wall, IS, "STOP"))
    yard.ring(yard.wall, yard.prize)
    yard.edge = COLUMNS - 3
    yard.say(yard.prize, IS, "WIN")
    yard.loose(yard.block)
    yard.mine(yard.block.lower())
    return (Stage((yard.block, IS, "WIN"), yard.block),)


def _turn_walls(yard: Yard) -> tuple[Stage, ...]:
    """There is no prize at all, until the fence becomes one."""
    yard.lock((yard.you, IS, "YOU"))
    yard.lock((yard.prize, IS, "WIN"))
    yard.fence(yard.wall)
    yard.say(yard.wall, IS, "STOP")
    yard.loose(yard.prize)
    return (Stage((yard.wall, IS, yard.prize), yard.prize),)


def _break_then_win(yard: Yard) -> tuple[Stage, ...]:
    """Two things to do: open the fence, and make the prize behind it worth the way."""
    yard.lock((yard.you, IS, "YOU"))
    yard.fence(yard.wall)
    yard.beyond(yard.prize.lower())
    yard.say(yard.wall, IS, "STOP")
    yard.say(yard.prize, IS, room=1)
    yard.loose("WIN")
    return Stage((yard.prize, IS, "WIN"), "WIN"), Stage((yard.wall, IS, "STOP"))


IDEAS: dict[str, Callable[[Yard], tuple[Stage, ...]]] = {
    "break-wall": _break_wall,
    "disarm": _disarm,
    "drain": _drain,
    "make-win": _make_win,
    "become": _become,
    "make-push": _make_push,
    "other-win": _other_win,
    "turn-walls": _turn_walls,
    "break-then-win": _break_then_win,
}


def build(rng: np.random.Generator, idea: str, shortest: int, longest: int) -> Level:
    """A yard of one idea whose plan takes `shortest` to `longest` moves."""
    while True:  # most tries succeed; of the two-stage idea, four in ten
        level = _attempt(rng, idea)
        if level is not None and shortest <= len(level.plan) <= longest:
            return level


def _attempt(rng: np.random.Generator, idea: str) -> Level | None:
    yard = Yard(rng)
    try:
        stages = IDEAS[idea](yard)
        yard.mine(yard.you.lower())
        for _ in range(int(rng.integers(3, 7))):
            yard.drop(yard.decoy.lower())
    except Cramped:
        return None
    position = yard.finished()
    meant = {words for words, _, _ in yard.said if len(words) == 3}
    if set(sentences(position)) != meant or is_won(position) or win_route(position) is not None:
        return None
    if len({thing.cell for thing in position}) != len(position):
        return None
    moves = plan(position, stages)
    return None if moves is None else Level(idea, position, stages, moves)
