"""What the realm is made of: terrain, technologies, things to build, units, cities, and the map of a number."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from environments.games.grid import Cell

WIDTH, HEIGHT = 12, 9
UNIT_LETTERS = "ABCDEFGHIJKLMNOP"
CITY_LETTERS = "ZYXWVU"
FULL_HEALTH = 10
APART = 3
"""The least distance between two cities, in steps of a king."""

Tech = Literal["pottery", "writing", "bronze", "masonry", "currency", "iron", "philosophy", "engineering"]
Item = Literal[
    "scout", "settler", "warrior", "swordsman", "caravan", "monument", "granary", "library", "workshop", "temple"
]
UnitKind = Literal["scout", "settler", "warrior", "swordsman", "caravan"]


class Yields(NamedTuple):
    """What a tile gives to the city that works it, each turn."""

    food: int
    production: int
    science: int


class TechRule(NamedTuple):
    """Cost in science, and what must be known before."""

    cost: int
    after: tuple[Tech, ...] = ()


class ItemRule(NamedTuple):
    """Cost in production, the technology that it takes, what it is good for in a few words."""

    cost: int
    tech: Tech | None
    use: str


class UnitRule(NamedTuple):
    """Steps a turn, tiles that it sees, strength in battle (0: it cannot fight)."""

    moves: int
    sight: int
    strength: int


TERRAIN: dict[str, Yields] = {
    "g": Yields(3, 0, 0), "p": Yields(2, 1, 0), "f": Yields(1, 2, 0), "h": Yields(0, 3, 0), "d": Yields(0, 1, 0),
    "w": Yields(2, 0, 1), "m": Yields(0, 0, 0),
}  # fmt: skip
"""Grass, plains, forest, hills, desert, water, mountain."""
RESOURCES: dict[str, Yields] = {"w": Yields(2, 0, 0), "i": Yields(0, 2, 0), "g": Yields(0, 0, 2)}
"""Wheat, iron ore, gems: on top of the terrain."""
IMPASSABLE = "wm"

TECHS: dict[Tech, TechRule] = {
    "pottery": TechRule(12),
    "writing": TechRule(18),
    "bronze": TechRule(18),
    "masonry": TechRule(26),
    "currency": TechRule(38, ("writing",)),
    "iron": TechRule(40, ("bronze",)),
    "philosophy": TechRule(56, ("writing", "pottery")),
    "engineering": TechRule(64, ("masonry", "iron")),
}
ITEMS: dict[Item, ItemRule] = {
    "scout": ItemRule(6, None, "is fast"),
    "settler": ItemRule(14, None, "new city"),
    "warrior": ItemRule(8, None, "strength 2"),
    "swordsman": ItemRule(14, "iron", "strength 5"),
    "caravan": ItemRule(12, "currency", "trades"),
    "monument": ItemRule(10, None, "culture +2"),
    "granary": ItemRule(12, "pottery", "food +2"),
    "library": ItemRule(14, "writing", "science +3"),
    "workshop": ItemRule(14, "masonry", "prod. +2"),
    "temple": ItemRule(20, "philosophy", "culture +3"),
}
UNITS: dict[UnitKind, UnitRule] = {
    "scout": UnitRule(3, 1, 0),
    "settler": UnitRule(2, 2, 0),  # sees as far as cities must be apart: a refusal to found tells nothing new
    "warrior": UnitRule(2, 1, 2),
    "swordsman": UnitRule(2, 1, 5),
    "caravan": UnitRule(2, 1, 0),
}


@dataclass(slots=True)
class Unit:
    """A unit of the player's; `goal` is the tile that it is on its way to."""

    letter: str
    kind: UnitKind
    x: int
    y: int
    moves: int
    health: int = FULL_HEALTH
    goal: Cell | None = None

    @property
    def cell(self) -> Cell:
        """Where it stands."""
        return self.x, self.y


@dataclass(slots=True)
class City:
    """A city of the player's."""

    letter: str
    x: int
    y: int
    population: int = 1
    food: int = 0
    production: int = 0
    queue: list[Item] = field(default_factory=list)
    buildings: list[Item] = field(default_factory=list)

    @property
    def cell(self) -> Cell:
        """Where it stands."""
        return self.x, self.y

    @property
    def food_to_grow(self) -> int:
        """Food that the next head takes."""
        return 6 + 3 * self.population


@dataclass(slots=True)
class Foe:
    """A camp, a band of raiders or the rival's city: where, and how much health is left."""

    x: int
    y: int
    health: int
    home: int = -1
    """Of raiders: the number of the camp that they come from, or 2 for the rival."""

    @property
    def cell(self) -> Cell:
        """Where it stands."""
        return self.x, self.y


@dataclass(frozen=True, slots=True)
class Map:
    """A land before anybody has done anything in it."""

    terrain: tuple[str, ...]
    resources: tuple[str, ...]
    """One letter a tile, a dot for none."""
    start: Cell
    rival: Cell
    camps: tuple[Cell, ...]
    viewable: int
    """Tiles that somebody who walks everywhere comes to see."""

    def passable(self, cell: Cell) -> bool:
        """Whether units can stand there."""
        return self.terrain[cell[1]][cell[0]] not in IMPASSABLE

    def yields(self, cell: Cell) -> Yields:
        """What the tile gives."""
        base = TERRAIN[self.terrain[cell[1]][cell[0]]]
        extra = RESOURCES.get(self.resources[cell[1]][cell[0]], Yields(0, 0, 0))
        return Yields(base.food + extra.food, base.production + extra.production, base.science + extra.science)


def apart(a: Cell, b: Cell) -> int:
    """Distance in steps of a king."""
    return max(abs(a[0] - b[0]), abs(a[1] - b[1]))


def within(cell: Cell, radius: int) -> Iterator[Cell]:
    """The tiles of the map at most `radius` away, the tile itself among them."""
    for y in range(max(cell[1] - radius, 0), min(cell[1] + radius + 1, HEIGHT)):
        for x in range(max(cell[0] - radius, 0), min(cell[0] + radius + 1, WIDTH)):
            yield x, y


def around(cell: Cell) -> Iterator[Cell]:
    """The up to eight neighbours, straight ones first, so that ways look natural."""
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
        x, y = cell[0] + dx, cell[1] + dy
        if 0 <= x < WIDTH and 0 <= y < HEIGHT:
            yield x, y


def reachable(land: set[Cell], start: Cell) -> set[Cell]:
    """The tiles of `land` that can be walked to."""
    found, queue = {start}, deque([start])
    while queue:
        for cell in around(queue.popleft()):
            if cell in land and cell not in found:
                found.add(cell)
                queue.append(cell)
    return found


@lru_cache(maxsize=64)
def map_of(number: int) -> Map:
    """The map of that number, always the same: what a state keeps of a map."""
    rng = np.random.default_rng(number)
    while True:
        found = _attempt(rng)
        if found is not None:
            return found


def _attempt(rng: np.random.Generator) -> Map | None:
    """One try at a map on which everything has its place; None if it has not."""
    terrain = _terrain(rng)
    land = {(x, y) for y in range(HEIGHT) for x in range(WIDTH) if terrain[y][x] not in IMPASSABLE}
    home = max((reachable(land, cell) for cell in sorted(land)), key=len)
    if len(home) < 68:
        return None
    resources = _resources(terrain, home, rng)
    west, north = rng.integers(2), rng.integers(2)
    mirrored = [(WIDTH - 1 - x if west else x, HEIGHT - 1 - y if north else y) for x, y in sorted(home)]
    tiles = [mirrored[index] for index in rng.permutation(len(mirrored))]
    tiles = [cell for cell in tiles if cell in home]
    left = range(1, 4) if west else range(WIDTH - 4, WIDTH - 1)
    bare = Map(terrain, resources, (0, 0), (0, 0), (), 0)
    starts = [cell for cell in tiles if cell[0] in left and 1 <= cell[1] < HEIGHT - 1]
    if not starts:
        return None
    start = max(starts, key=lambda cell: site_value(bare, cell))
    rivals = [cell for cell in tiles if apart(cell, start) >= 7 and len(set(around(cell)) & home) >= 5]
    # The rival must not close a pass: behind its city there would be land for its conquerors alone.
    rival = next((cell for cell in rivals if len(reachable(home - {cell}, start)) == len(home) - 1), None)
    if rival is None or site_value(bare, start) < 14:
        return None
    camps: list[Cell] = []
    for cell in tiles:
        clear = all(apart(cell, other) >= 4 for other in (start, *camps)) and apart(cell, rival) >= 3
        if clear and len(set(around(cell)) & home) >= 5:
            camps.append(cell)
    if len(camps) < 2:
        return None
    viewable = len({near for cell in home for near in within(cell, 1)})
    return Map(terrain, resources, start, rival, tuple(camps[:2]), viewable)


def site_value(land: Map, cell: Cell) -> float:
    """What a city there could live on: its own tile and the five best around it."""
    worth = sorted((_worth(land.yields(near)) for near in around(cell)), reverse=True)
    return sum(worth[:5])


def _worth(yields: Yields) -> float:
    return 1.2 * yields.food + 1.1 * yields.production + yields.science


def _noise(rng: np.random.Generator) -> list[float]:
    """Smooth noise, one value a tile, row by row."""
    coarse = rng.random((5, 6))
    ys, xs = np.linspace(0, 3.999, HEIGHT), np.linspace(0, 4.999, WIDTH)
    values = []
    for y in ys:
        for x in xs:
            i, j, v, u = int(y), int(x), y % 1, x % 1
            top = coarse[i, j] * (1 - u) + coarse[i, j + 1] * u
            low = coarse[i + 1, j] * (1 - u) + coarse[i + 1, j + 1] * u
            values.append(float(top * (1 - v) + low * v + 0.2 * rng.random()))
    return values


def _terrain(rng: np.random.Generator) -> tuple[str, ...]:
    """Heights make water, hills and mountains; moisture makes the rest. Shares are fixed, places are not."""
    count = WIDTH * HEIGHT
    tiles = [""] * count
    heights, wetness = _noise(rng), _noise(rng)
    order = sorted(range(count), key=heights.__getitem__)
    for rank, tile in enumerate(order):
        share = rank / count
        tiles[tile] = "w" if share < 0.19 else "m" if share > 0.94 else "h" if share > 0.82 else ""
    rest = sorted((tile for tile in range(count) if not tiles[tile]), key=wetness.__getitem__)
    for rank, tile in enumerate(rest):
        share = rank / len(rest)
        tiles[tile] = "d" if share < 0.07 else "p" if share < 0.40 else "g" if share < 0.76 else "f"
    return tuple("".join(tiles[y * WIDTH : (y + 1) * WIDTH]) for y in range(HEIGHT))


def _resources(terrain: tuple[str, ...], home: set[Cell], rng: np.random.Generator) -> tuple[str, ...]:
    """Four of wheat, four of iron, three of gems, each where it belongs."""
    rows = [["."] * WIDTH for _ in range(HEIGHT)]
    tiles = sorted(home)
    order = [tiles[index] for index in rng.permutation(len(tiles))]
    for letter, grounds, count in (("w", "gp", 4), ("i", "hfp", 4), ("g", "hfdg", 3)):
        fitting = [(x, y) for x, y in order if terrain[y][x] in grounds and rows[y][x] == "."]
        for x, y in fitting[:count]:
            rows[y][x] = letter
    return tuple("".join(row) for row in rows)
