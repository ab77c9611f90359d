"""A planner for yards of words: stage by stage, each solved exactly by A* over few movable things.

A yard comes with the stages of its intended solution (sentences to unmake and to make). Within a stage only the
words concerned may move, so its search space is small; all plans are checked by the real laws before they count.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise, permutations
from typing import NamedTuple

from environments.games.grid import STEPS, Cell, Direction
from environments.games.rules_engine import Laws, Position, Sentence, Thing, inside, readings, sentences, step, yours

Plan = tuple[Direction, ...]
Movers = tuple[Cell, ...]
_SHUT = ("STOP", "PUSH", "ZAP", "SINK")


class Stage(NamedTuple):
    """One change that the intended solution makes: a sentence comes into force, or goes out of it."""

    sentence: Sentence
    word: str = ""
    """The word that is pushed into place to make the sentence; empty where the sentence is to be unmade."""

    def done(self, position: Position) -> bool:
        """Whether the sentence is in force, or out of it."""
        return (self.sentence in sentences(position)) == bool(self.word)


@lru_cache(maxsize=2048)
def plan(position: Position, stages: tuple[Stage, ...]) -> Plan | None:
    """The moves from here to the win, through the stages that are still to do; None where none is found.

    Every stage is as short as can be, and they come in the best order; with more than one the sum may still be a
    little longer than need be (11 moves instead of 9, in one yard that was searched exhaustively).
    """
    left = [stage for stage in stages if not stage.done(position)]
    plans = [found for order in permutations(left) if (found := _in_order(position, order)) is not None]
    return min(plans, key=len, default=None)


def _in_order(position: Position, stages: tuple[Stage, ...]) -> Plan | None:
    moves: Plan = ()
    for stage in stages:
        if stage.done(position):  # one stage may settle another by the way
            continue
        short = win_route(position)
        if short is not None:
            return moves + short
        found = _perform(position, stage)
        if found is None:
            return None
        moves += found[0]
        position = found[1]
    last = win_route(position)
    return None if last is None else moves + last


@lru_cache(maxsize=2048)
def win_route(position: Position) -> Plan | None:
    """The shortest way to something that is WIN without pushing a word; objects that are PUSH may be pushed."""
    laws = Laws(position)
    goals = {thing.cell for thing in position if laws.has(thing, "WIN")}
    loose = tuple(thing for thing in position if not thing.is_word and laws.has(thing, "PUSH"))
    if not goals or len(loose) > 3:
        return None

    def distance(you: Cell, _movers: Movers) -> int:
        return min(abs(you[0] - x) + abs(you[1] - y) for x, y in goals)

    return _search(position, loose, lambda you, _movers: you in goals, distance)


def _perform(position: Position, stage: Stage) -> tuple[Plan, Position] | None:
    """The shortest of the ways to do one stage, and where it leads by the real laws."""
    best: Plan | None = None
    for route in _makings(position, stage) if stage.word else _unmakings(position, stage):
        if route is not None and (best is None or len(route) < len(best)):
            best = route
    if best is None:
        return None
    for move in best:
        after = step(position, move)
        if after is None:
            return None
        position = after
    return (best, position) if stage.done(position) and len(yours(position)) == 1 else None


def _unmakings(position: Position, stage: Stage) -> Iterator[Plan | None]:
    """Push any word of the sentence out of line."""
    words = {thing.cell: thing for thing in position if thing.is_word}
    for sentence, cells in readings(position):
        if sentence == stage.sentence:
            way = cells[1][0] - cells[0][0], cells[1][1] - cells[0][1]

            def broken(_you: Cell, movers: Movers, way: Cell = way) -> bool:
                return any((b[0] - a[0], b[1] - a[1]) != way for a, b in pairwise(movers))

            yield _search(position, tuple(words[cell] for cell in cells), broken, lambda _you, _movers: 0)


def _makings(position: Position, stage: Stage) -> Iterator[Plan | None]:
    """Push a word of the right name to the place that the other two words of the sentence leave for it."""
    words = {thing.cell: thing for thing in position if thing.is_word}
    place = stage.sentence.index(stage.word)
    for goal in _places(words, stage.sentence, place):
        occupant = (words[goal],) if goal in words else ()
        for mover in words.values():
            if mover.name != stage.word or mover.cell == goal:
                continue

            def distance(you: Cell, movers: Movers, goal: Cell = goal) -> int:
                (x, y), near = movers[0], abs(you[0] - movers[0][0]) + abs(you[1] - movers[0][1])
                return abs(x - goal[0]) + abs(y - goal[1]) + near - 1

            def placed(_you: Cell, movers: Movers, goal: Cell = goal) -> bool:
                return movers[0] == goal

            yield _search(position, (mover, *occupant), placed, distance)


def _places(words: dict[Cell, Thing], sentence: Sentence, place: int) -> Iterator[Cell]:
    """Cells where one word more would make the sentence."""
    for x, y in words:
        for dx, dy in ((1, 0), (0, 1)):
            others = [index for index in range(3) if index != place]
            # (x, y) is the first of the two words that are there already.
            start = x - others[0] * dx, y - others[0] * dy
            cells = [(start[0] + index * dx, start[1] + index * dy) for index in range(3)]
            there = all(cells[index] in words and words[cells[index]].name == sentence[index] for index in others)
            if there and inside(cells[place]):
                yield cells[place]


def _search(
    position: Position,
    loose: tuple[Thing, ...],
    found: Callable[[Cell, Movers], bool],
    distance: Callable[[Cell, Movers], int],
) -> Plan | None:
    """A* over the cells of YOU and of what may be pushed; everything else stands still, and ZAP and SINK are shut.

    `distance` never overestimates the moves that remain.
    """
    you = yours(position)
    if len(you) != 1:
        return None
    laws = Laws(position)
    rest = set(position) - set(loose) - set(you)
    shut = {
        thing.cell for thing in rest if any(laws.has(thing, quality) for quality in ("STOP", "PUSH", "ZAP", "SINK"))
    }
    start = you[0].cell, tuple(thing.cell for thing in loose)
    queue: list[tuple[int, int, Plan, tuple[Cell, Movers]]] = [(distance(*start), 0, (), start)]
    seen = {start}
    count = 0
    while queue:
        _, _, moves, (cell, movers) = heapq.heappop(queue)
        if found(cell, movers):
            return moves
        for direction, way in STEPS.items():
            after = _moved(cell, movers, way, shut)
            if after is not None and after not in seen:
                seen.add(after)
                count += 1  # settles ties by age, so that equal queues never compare further
                heapq.heappush(queue, (len(moves) + 1 + distance(*after), count, (*moves, direction), after))
    return None


def _moved(cell: Cell, movers: Movers, way: Cell, shut: set[Cell]) -> tuple[Cell, Movers] | None:
    target = cell[0] + way[0], cell[1] + way[1]
    end = target
    while end in movers:
        end = end[0] + way[0], end[1] + way[1]
    if end in shut or target in shut or not inside(end):
        return None
    if end == target:
        return target, movers
    line = {target}
    step_cell = target
    while (step_cell := (step_cell[0] + way[0], step_cell[1] + way[1])) != end:
        line.add(step_cell)
    return target, tuple((x + way[0], y + way[1]) if (x, y) in line else (x, y) for x, y in movers)
