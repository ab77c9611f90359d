"""Sokoban without a picture: rooms, pushes, how many of them are left from anywhere, and levels made from that.

A room has at most `SIDE` x `SIDE` cells, and a set of cells is a bit mask: cell (x, y) is bit `SIDE` * y + x. The
outermost cells are walls, so that a step never leaves the mask. What matters about the player between pushes is the
part of the floor that can be walked to; it is called by its lowest cell.

The number of pushes left is known exactly: all positions that can be solved are found backwards from the solved ones,
by pulling (a few thousand with three or four boxes). A position that is not among them is dead.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from environments.games.grid import OPPOSITE, STEPS, Direction

SIDE = 10
OFFSETS: dict[Direction, int] = {direction: dx + SIDE * dy for direction, (dx, dy) in STEPS.items()}
_MOST_POSITIONS = 4_000
"""Rooms with more ways to place the boxes than this are not used: their search takes longer than about 100 ms."""
_FLOOR = (26, 34)
_TRIALS = 12
"""Starts that are compared in a room."""


@dataclass(frozen=True, slots=True)
class Room:
    """Floor and targets, as masks; everything else is wall."""

    floor: int
    targets: int


@dataclass(frozen=True, slots=True)
class Position:
    """The boxes as a mask, the player as the number of a cell."""

    boxes: int
    player: int


@dataclass(frozen=True, slots=True)
class Level:
    """A room and where things stand in it at the start."""

    room: Room
    start: Position

    def rows(self) -> list[str]:
        """The level in letters, as is usual: # wall, . target, $ box, * box on a target, @ player, + player on one."""
        letters = []
        for cell in range(SIDE * SIDE):
            box, target = self.start.boxes >> cell & 1, self.room.targets >> cell & 1
            if not self.room.floor >> cell & 1:
                letters.append("#")
            elif cell == self.start.player:
                letters.append("+" if target else "@")
            else:
                letters.append(" .$*"[2 * box + target])
        return ["".join(letters[SIDE * y : SIDE * (y + 1)]) for y in range(SIDE)]

    @staticmethod
    def parse(rows: list[str]) -> Level:
        """The inverse of `rows`; rows may be shorter than `SIDE`, and fewer.

        Raises:
            ValueError: for an unknown letter, an open edge, another number of players than one, or of boxes than
                targets.
        """
        floor = targets = boxes = 0
        players = []
        for y, row in enumerate(rows):
            for x, letter in enumerate(row):
                bit = 1 << (SIDE * y + x)
                if letter not in "# .$*@+":
                    raise ValueError(f"rows[{y}]: unknown letter {letter!r}; known are # . $ * @ + and space")
                if letter != "#" and not (0 < x < min(SIDE, len(row)) - 1 and 0 < y < min(SIDE, len(rows)) - 1):
                    raise ValueError(f"rows[{y}]: the edge must be wall, found {letter!r} at position {x}")
                floor |= bit * (letter != "#")
                targets |= bit * (letter in ".*+")
                boxes |= bit * (letter in "$*")
                players += [SIDE * y + x] * (letter in "@+")
        if len(players) != 1 or boxes.bit_count() != targets.bit_count():
            raise ValueError(
                f"rows: expected one player and as many boxes as targets, got {len(players)} players,"
                f" {boxes.bit_count()} boxes and {targets.bit_count()} targets"
            )
        return Level(Room(floor, targets), Position(boxes, players[0]))


def step(room: Room, position: Position, direction: Direction) -> Position | None:
    """Walk or push by one cell; None if a wall, or what is behind the box, does not let it happen."""
    ahead = position.player + OFFSETS[direction]
    if not room.floor >> ahead & 1:
        return None
    if not position.boxes >> ahead & 1:
        return Position(position.boxes, ahead)
    behind = ahead + OFFSETS[direction]
    if not (room.floor & ~position.boxes) >> behind & 1:
        return None
    return Position(position.boxes ^ (1 << ahead | 1 << behind), ahead)


class Solver:
    """Everything about solving in one room: pushes left from any position, and shortest plans."""

    def __init__(self, room: Room) -> None:
        """Find all positions that can be solved."""
        self.room = room
        self.left: dict[tuple[int, int], int] = {}
        """(boxes, lowest bit of the player's part of the floor) to the least number of pushes."""
        self._plans: dict[Position, tuple[int, int, Direction]] = {}
        """Positions to the moves left, the cell to push from and the direction, within the plans of fewest pushes."""
        self._search()

    def pushes_left(self, position: Position) -> int | None:
        """The least number of pushes that solve the position; None if it is dead."""
        return self.left.get((position.boxes, self._part(position.boxes, 1 << position.player)[0]))

    def plan(self, position: Position) -> list[Direction] | None:
        """Moves that solve the position: of the plans with the fewest pushes, one with the fewest moves."""
        if self.pushes_left(position) is None:
            return None
        moves: list[Direction] = []
        while position.boxes != self.room.targets:
            self._moves_left(position)
            _, cell, direction = self._plans[position]
            moves += [*self._walk(position, cell), direction]
            offset = OFFSETS[direction]
            boxes = position.boxes ^ (1 << cell + offset | 1 << cell + 2 * offset)
            position = Position(boxes, cell + offset)
        return moves

    def _search(self) -> None:
        queue: deque[tuple[int, int]] = deque()
        rest = self.room.floor & ~self.room.targets
        while rest:
            low, part = self._part(self.room.targets, rest & -rest)
            rest &= ~part
            self.left[self.room.targets, low] = 0
            queue.append((self.room.targets, part))
        while queue:
            boxes, part = queue.popleft()
            pushes = self.left[boxes, part & -part] + 1
            free = self.room.floor & ~boxes
            for offset in OFFSETS.values():
                # Boxes whose next cell the player can stand on, with room to step back from it.
                stand = part & _shifted(free, -offset)
                pulled = boxes & _shifted(stand, -offset)
                while pulled:
                    box = pulled & -pulled
                    pulled ^= box
                    near = _shifted(box, offset)
                    after = boxes ^ box ^ near
                    low, reached = self._part(after, _shifted(near, offset))
                    if (after, low) not in self.left:
                        self.left[after, low] = pushes
                        queue.append((after, reached))

    def _part(self, boxes: int, start: int) -> tuple[int, int]:
        """The part of the floor that can be walked to from a bit: its lowest bit, and all of it."""
        free = self.room.floor & ~boxes
        part, before = start, 0
        while part != before:
            before = part
            part = (part | part << 1 | part >> 1 | part << SIDE | part >> SIDE) & free
        return part & -part, part

    def _moves_left(self, position: Position) -> int:
        if position.boxes == self.room.targets:
            return 0
        known = self._plans.get(position)
        if known is None:
            pushes = self.pushes_left(position)
            walks = self._distances(position)
            options: list[tuple[int, int, Direction]] = []
            for direction, offset in OFFSETS.items():
                for cell, walk in walks.items():
                    if not position.boxes >> cell + offset & 1:
                        continue
                    after = step(self.room, Position(position.boxes, cell), direction)
                    left = None if after is None else self.pushes_left(after)
                    if after is not None and pushes is not None and left == pushes - 1:
                        options.append((walk + 1 + self._moves_left(after), cell, direction))
            known = self._plans[position] = min(options)
        return known[0]

    def _distances(self, position: Position) -> dict[int, int]:
        free = self.room.floor & ~position.boxes
        found = {position.player: 0}
        queue = deque([position.player])
        while queue:
            cell = queue.popleft()
            for offset in OFFSETS.values():
                if free >> cell + offset & 1 and cell + offset not in found:
                    found[cell + offset] = found[cell] + 1
                    queue.append(cell + offset)
        return found

    def _walk(self, position: Position, cell: int) -> list[Direction]:
        far = self._distances(position)
        way: list[Direction] = []
        while cell != position.player:
            back = next(d for d, offset in OFFSETS.items() if far.get(cell + offset, 999) == far[cell] - 1)
            way.append(OPPOSITE[back])
            cell += OFFSETS[back]
        return way[::-1]


@lru_cache(maxsize=8)
def solver(room: Room) -> Solver:
    """The solver of a room, kept for the episode: the table is found once (in about 100 ms)."""
    return Solver(room)


def draw_level(rng: np.random.Generator, shortest: int, longest: int) -> Level:
    """A level of three or four boxes, all off their targets, whose plan takes `shortest` to `longest` moves.

    A room is carved and gets targets; of the starts from which it can be solved, the one is taken (among a few drawn)
    whose plan goes back and forth most between boxes.
    """
    while True:
        room = _carve(rng, boxes=3 + int(rng.integers(2)))
        if room is None or _placements(room) > _MOST_POSITIONS:
            continue
        level = _best_start(rng, solver(room), shortest, longest)
        if level:
            return level


def box_changes(level: Level, moves: list[Direction]) -> int:
    """How often a plan leaves one box for another."""
    position, last, changes = level.start, -1, 0
    for direction in moves:
        after = step(level.room, position, direction)
        if after is None:
            raise ValueError(f"moves: {direction!r} is not possible in this level")
        if after.boxes != position.boxes:
            changes += after.player != last
            last = after.player + OFFSETS[direction]  # where the pushed box stands now
        position = after
    return changes - 1


def _best_start(rng: np.random.Generator, search: Solver, shortest: int, longest: int) -> Level | None:
    room = search.room
    far = [key for key, pushes in search.left.items() if 3 * pushes >= shortest and not key[0] & room.targets]
    best: tuple[int, Level] | None = None
    for index in rng.permutation(len(far))[:_TRIALS]:
        boxes, low = far[int(index)]
        part = _bits(search._part(boxes, low)[1])
        level = Level(room, Position(boxes, part[int(rng.integers(len(part)))]))
        moves = search.plan(level.start) or []
        if shortest <= len(moves) <= longest:
            changes = box_changes(level, moves)
            if best is None or changes > best[0]:
                best = changes, level
    # One box after the other is no puzzle: the plan must come back to at least one of them.
    return best[1] if best and best[0] >= room.targets.bit_count() else None


def _carve(rng: np.random.Generator, boxes: int) -> Room | None:
    """A room by a walk that clears now a cell, now a block, with targets; None if it came out too narrow."""
    wanted = int(rng.integers(_FLOOR[0], _FLOOR[1] + 1))
    x, y, floor = 4, 4, 0
    while floor.bit_count() < wanted:
        block = 2 if rng.random() < 0.3 else 1
        for dx in range(block):
            for dy in range(block):
                floor |= 1 << min(x + dx, SIDE - 2) + SIDE * min(y + dy, SIDE - 2)
        dx, dy = list(STEPS.values())[int(rng.integers(4))]
        x, y = min(max(x + dx, 1), SIDE - 2), min(max(y + dy, 1), SIDE - 2)
    floor = _without_dead_ends(floor)
    if floor.bit_count() < _FLOOR[0] - 4:
        return None
    cells = _bits(floor)
    first = cells[int(rng.integers(len(cells)))]
    # Half of the rooms have their targets together, the others scattered.
    near = sorted(cells, key=lambda cell: abs(cell % SIDE - first % SIDE) + abs(cell // SIDE - first // SIDE))
    pool = near[: boxes + 2] if rng.random() < 0.5 else cells
    chosen = rng.permutation(len(pool))[:boxes]
    return Room(floor, sum(1 << pool[int(index)] for index in chosen))


def _placements(room: Room) -> int:
    """Ways to place the boxes on cells from which a box alone can be brought to a target.

    A good forecast of the number of solvable positions, to nearly always 30 of 100 (tried on 57 rooms).
    """
    alive, before = room.targets, 0
    while alive != before:
        before = alive
        for offset in OFFSETS.values():
            near = _shifted(room.floor, -offset)  # cells whose neighbour is floor, then also the one after it
            alive |= _shifted(alive & near & _shifted(near, -offset), offset)
    return comb(alive.bit_count(), room.targets.bit_count())


def _without_dead_ends(floor: int) -> int:
    """The floor without cells that have one neighbour: nothing can be done in them."""
    while True:
        ends = [cell for cell in _bits(floor) if sum(floor >> cell + offset & 1 for offset in OFFSETS.values()) < 2]
        if not ends:
            return floor
        floor &= ~sum(1 << cell for cell in ends)


def _shifted(mask: int, offset: int) -> int:
    return mask << offset if offset > 0 else mask >> -offset


def _bits(mask: int) -> list[int]:
    cells = []
    while mask:
        low = mask & -mask
        cells.append(low.bit_length() - 1)
        mask ^= low
    return cells
