"""The level of the NetHack quest: six rooms, corridors, a locked vault, written in NetHack's own level language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

Spot = tuple[int, int]
"""Column and row of the map, counted from its top left corner."""

COLUMNS, ROWS = 3, 2
_CELL = (25, 8)
WIDTH, HEIGHT = COLUMNS * _CELL[0], ROWS * _CELL[1] + 1
_WALKABLE = ".#+"
_GUARDS = ("giant ant", "iguana", "rock piercer", "kobold zombie", "giant bat")
"""None of them picks up the amulet (a homunculus does)."""
_PROWLERS = ("jackal", "sewer rat", "newt", "gecko")
_CLUTTER = (("!", "booze"), ("%", "apple"), ("?", "blank paper"), ("*", "worthless piece of red glass"), (")", "dart"))


@dataclass(frozen=True, slots=True)
class Room:
    """The floor of a room: columns left..right, rows top..bottom, all inclusive."""

    left: int
    top: int
    right: int
    bottom: int

    def __contains__(self, spot: object) -> bool:
        return (
            isinstance(spot, tuple)
            and self.left <= spot[0] <= self.right
            and self.top <= spot[1] <= self.bottom
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Level:
    """A generated level and the truth about it."""

    rows: tuple[str, ...]
    rooms: tuple[Room, ...]
    lit: tuple[bool, ...]
    doors: tuple[tuple[Spot, str], ...]
    """Each with its state: open, closed, nodoor or locked; the vault's is locked and the last."""
    start: Spot
    key: Spot
    amulet: Spot
    stairs: Spot
    monsters: tuple[tuple[str, Spot], ...]
    clutter: tuple[tuple[str, str, Spot], ...]
    """Things of no use: class, name, place."""

    @property
    def vault_door(self) -> Spot:
        """The locked door."""
        return self.doors[-1][0]

    def room_of(self, spot: Spot) -> int | None:
        """The index of the room in which a spot lies."""
        return next((index for index, room in enumerate(self.rooms) if spot in room), None)

    def exits(self, spot: Spot) -> Iterator[Spot]:
        """Where one can step from a spot once all doors are open: diagonally too, but not through doors."""
        x, y = spot
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            after = x + dx, y + dy
            if self.walkable(after) and not (dx and dy and "+" in (self._at(spot), self._at(after))):
                yield after

    def walkable(self, spot: Spot) -> bool:
        """Whether there is floor, a corridor or a door."""
        return self._at(spot) in _WALKABLE

    def source(self) -> str:
        """The level in NetHack's level language."""
        lines = ["MAZE:\"mylevel\",' '", "FLAGS:noteleport,hardfloor", "INIT_MAP:solidfill,' '", "GEOMETRY:left,top"]
        lines += ["MAP", *(row.replace("+", ".") for row in self.rows), "ENDMAP"]
        for room, lit in zip(self.rooms, self.lit, strict=True):
            region = f"({room.left},{room.top},{room.right},{room.bottom})"
            lines.append(f'REGION:{region},{"lit" if lit else "unlit"},"ordinary"')
        lines += [f"DOOR:{state},{_text(spot)}" for spot, state in self.doors]
        lines.append(f"OBJECT:('(',\"skeleton key\"),{_text(self.key)},uncursed")
        lines.append(f'OBJECT:(\'"\',"amulet of reflection"),{_text(self.amulet)},uncursed')
        lines += [f"OBJECT:('{kind}',\"{name}\"),{_text(spot)}" for kind, name, spot in self.clutter]
        lines += [f'MONSTER:"{name}",{_text(spot)},hostile' for name, spot in self.monsters]
        lines.append(f"STAIR:{_text(self.stairs)},down")
        x, y = self.start
        lines.append(f"BRANCH:({x},{y},{x},{y}),(0,0,0,0)")
        return "\n".join(lines) + "\n"

    def _at(self, spot: Spot) -> str:
        x, y = spot
        return self.rows[y][x] if 0 <= x < WIDTH and 0 <= y < HEIGHT else " "


def generate(seed: int) -> Level:
    """The level of a seed.

    The rooms stand on a grid and are joined to a tree, with one loop more. The vault is the leaf of the tree that
    is farthest from the start; key and stairs lie in two more rooms, drawn at random.
    """
    rng = np.random.default_rng(seed)
    rooms = tuple(_room(column, row, rng) for row in range(ROWS) for column in range(COLUMNS))
    start = int(rng.integers(len(rooms)))
    joins, far = _tree(start, rng)
    leaves = [room for room in range(len(rooms)) if room != start and sum(room in join for join in joins) == 1]
    vault = max(leaves, key=lambda room: (far[room], room))
    spare = [join for join in _neighbours() if join not in joins and vault not in join]
    if spare:
        joins.append(spare[int(rng.integers(len(spare)))])
    others = [room for room in range(len(rooms)) if room not in (start, vault)]
    key, stairs, *rest = (others[int(i)] for i in rng.permutation(len(others)))

    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for room in rooms:
        _wall(grid, room)
    joins.sort(key=lambda join: vault in join)  # the vault's door comes last
    doors: list[tuple[Spot, str]] = []
    for join in joins:
        for index, spot in zip(
            join, _dig(grid, rooms[join[0]], rooms[join[1]], join[1] == join[0] + 1, rng), strict=True
        ):
            doors.append((spot, "locked" if index == vault else _DOORS[int(rng.integers(len(_DOORS)))]))
    doors.sort(key=lambda door: door[1] == "locked")

    taken: set[Spot] = set()
    spots = {room: _spot(rooms[room], taken, rng) for room in (start, key, vault, stairs)}
    monsters = [(_GUARDS[int(rng.integers(len(_GUARDS)))], _spot(rooms[vault], taken, rng))]
    monsters += [(_PROWLERS[int(rng.integers(len(_PROWLERS)))], _spot(rooms[room], taken, rng)) for room in rest]
    clutter = []
    for room in rng.choice(len(rooms), size=3, replace=False):
        kind, name = _CLUTTER[int(rng.integers(len(_CLUTTER)))]
        clutter.append((kind, name, _spot(rooms[int(room)], taken, rng)))
    return Level(
        rows=tuple("".join(row) for row in grid),
        rooms=rooms,
        lit=tuple(bool(lit) for lit in rng.random(len(rooms)) < 0.7),
        doors=tuple(doors),
        start=spots[start],
        key=spots[key],
        amulet=spots[vault],
        stairs=spots[stairs],
        monsters=tuple(monsters),
        clutter=tuple(clutter),
    )


_DOORS = ("open", "closed", "closed", "nodoor")


def _text(spot: Spot) -> str:
    return f"({spot[0]},{spot[1]})"


def _room(column: int, row: int, rng: np.random.Generator) -> Room:
    """A room inside its cell of the grid, with space for walls and corridors about it."""
    width, height = int(rng.integers(5, 14)), int(rng.integers(2, 5))
    left = column * _CELL[0] + int(rng.integers(3, _CELL[0] - width - 2))
    top = row * _CELL[1] + int(rng.integers(1, _CELL[1] - height - 1))
    return Room(left, top, left + width - 1, top + height - 1)


def _neighbours() -> list[tuple[int, int]]:
    """Pairs of rooms side by side, then one above the other."""
    count = COLUMNS * ROWS
    across = [(room, room + 1) for room in range(count) if (room + 1) % COLUMNS]
    return across + [(room, room + COLUMNS) for room in range(count - COLUMNS)]


def _tree(start: int, rng: np.random.Generator) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """A random spanning tree of the rooms, and each room's distance from the start in it."""
    far = {start: 0}
    joins: list[tuple[int, int]] = []
    while len(far) < COLUMNS * ROWS:
        rim = [pair for pair in _neighbours() if (pair[0] in far) != (pair[1] in far)]
        pair = rim[int(rng.integers(len(rim)))]
        old, new = pair if pair[0] in far else pair[::-1]
        far[new] = far[old] + 1
        joins.append(pair)
    return joins, far


def _wall(grid: list[list[str]], room: Room) -> None:
    for y in range(room.top - 1, room.bottom + 2):
        for x in range(room.left - 1, room.right + 2):
            inside = (x, y) in room
            grid[y][x] = "." if inside else "-" if y in (room.top - 1, room.bottom + 1) else "|"


def _dig(grid: list[list[str]], a: Room, b: Room, across: bool, rng: np.random.Generator) -> tuple[Spot, Spot]:
    """A corridor with one bend between two rooms, `b` to the right of `a` or else below; its two doors."""
    if across:
        first = a.right + 1, int(rng.integers(a.top, a.bottom + 1))
        last = b.left - 1, int(rng.integers(b.top, b.bottom + 1))
        bend = int(rng.integers(first[0] + 1, last[0]))
        low, high = sorted((first[1], last[1]))
        path = [(x, first[1]) for x in range(first[0] + 1, bend)] + [(bend, y) for y in range(low, high + 1)]
        path += [(x, last[1]) for x in range(bend + 1, last[0])]
    else:
        first = int(rng.integers(a.left, a.right + 1)), a.bottom + 1
        last = int(rng.integers(b.left, b.right + 1)), b.top - 1
        bend = int(rng.integers(first[1] + 1, last[1]))
        low, high = sorted((first[0], last[0]))
        path = [(first[0], y) for y in range(first[1] + 1, bend)] + [(x, bend) for x in range(low, high + 1)]
        path += [(last[0], y) for y in range(bend + 1, last[1])]
    for x, y in path:
        if grid[y][x] == " ":
            grid[y][x] = "#"
    for x, y in (first, last):
        grid[y][x] = "+"
    return first, last


def _spot(room: Room, taken: set[Spot], rng: np.random.Generator) -> Spot:
    """A free place on a room's floor."""
    while True:
        spot = int(rng.integers(room.left, room.right + 1)), int(rng.integers(room.top, room.bottom + 1))
        if spot not in taken:
            taken.add(spot)
            return spot
