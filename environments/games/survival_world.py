"""The island of the survival game: its tiles, what they yield, and how an island is made.

Cells are (x, y) from the top left corner. A tile is one character; the island is a list of rows of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from environments.games.grid import STEPS, Cell, distances, neighbour

SIZE = 46

WATER, SAND, GRASS, FLOOR, STONE = "~", "s", ".", ":", "#"
COAL, IRON, CRYSTAL = "c", "o", "*"
TREES = "Tti"
"""A tree that holds three, two, one wood."""
BUSH, BARE_BUSH = "B", "b"
WORKBENCH, FURNACE, PALISADE, BEACON = "W", "F", "P", "!"

GROUND = frozenset((SAND, GRASS, FLOOR))
"""What can be walked on and built on."""
YIELDS = {
    **dict.fromkeys(TREES, "wood"),
    STONE: "stone",
    COAL: "coal",
    IRON: "iron",
    CRYSTAL: "crystal",
    PALISADE: "wood",
}
PICKAXE_FOR = {STONE: 1, COAL: 1, IRON: 2, CRYSTAL: 3}
"""The least tier of pickaxe: wood, stone, iron."""

_WATER_SHARE, _SAND_SHARE, _ROCK_SHARE = 0.24, 0.29, 0.72
_LEAST = {COAL: 8, IRON: 8, CRYSTAL: 4, BUSH: 10, "T": 60}
_REACHABLE = {COAL: 4, IRON: 4, CRYSTAL: 2, BUSH: 4, "T": 25, WATER: 6}
"""How many of each can be reached from the start without a boat; for wood and water without a pickaxe as well."""

Tiles = list[list[str]]


def inside(cell: Cell) -> bool:
    """Whether the cell is on the map."""
    return 0 <= cell[0] < SIZE and 0 <= cell[1] < SIZE


def beside(cell: Cell) -> Iterator[Cell]:
    """The cells above, below, left and right that are on the map."""
    for direction in STEPS:
        after = neighbour(cell, direction)
        if inside(after):
            yield after


def tile(tiles: Tiles, cell: Cell) -> str:
    """What lies there; water beyond the rim."""
    return tiles[cell[1]][cell[0]] if inside(cell) else WATER


def after_use(kind: str) -> str:
    """What is left of a tile of which something was taken."""
    if kind in TREES:
        return TREES[TREES.index(kind) + 1] if kind != TREES[-1] else GRASS
    return GRASS if kind == PALISADE else FLOOR


def make_island(rng: np.random.Generator) -> tuple[Tiles, Cell]:
    """An island on which the game can be won, and a cell of grass to start on."""
    while True:
        tiles = _raise_land(rng)
        middle = SIZE // 2
        meadow = [
            (x, y)
            for y in range(middle - 12, middle + 12)
            for x in range(middle - 12, middle + 12)
            if tiles[y][x] == GRASS and all(tile(tiles, cell) == GRASS for cell in beside((x, y)))
        ]
        if not meadow:
            continue
        start = meadow[int(rng.integers(len(meadow)))]
        if _can_be_won(tiles, start):
            return tiles, start


def _raise_land(rng: np.random.Generator) -> Tiles:
    """Sea at the rim, then sand, meadows with woods, and rock with veins and caves where it is high."""
    axis = np.abs(np.arange(SIZE) * 2 - SIZE + 1)
    rim = np.maximum(axis[:, None], axis[None, :]) / SIZE  # 0 in the middle, 1 at the rim
    height = _noise(rng, 8) + 0.5 * _noise(rng, 4) - 1.1 * np.maximum(0.0, rim - 0.6) / 0.4
    height = np.where(rim > 0.95, -9.0, height)
    # Levels by rank: every island has the same share of sea, meadow and rock.
    levels = np.argsort(np.argsort(height.ravel(), kind="stable"), kind="stable").reshape(SIZE, SIZE) / SIZE**2
    woods, caves, veins = _noise(rng, 5), _noise(rng, 4), rng.random((SIZE, SIZE))
    tiles = [[_tile_for(*cell) for cell in zip(*row, strict=True)] for row in
             zip(levels.tolist(), woods.tolist(), caves.tolist(), veins.tolist(), strict=True)]  # fmt: skip
    deep = [
        (x, y)
        for y in range(1, SIZE - 1)
        for x in range(1, SIZE - 1)
        if tiles[y][x] == STONE and all(tiles[y + dy][x + dx] in "#co" for dy in (-1, 0, 1) for dx in (-1, 0, 1))
    ]
    for index in rng.permutation(len(deep))[: _LEAST[CRYSTAL] + 2]:
        x, y = deep[int(index)]
        tiles[y][x] = CRYSTAL
    return tiles


def _tile_for(level: float, woods: float, caves: float, vein: float) -> str:
    if level < _WATER_SHARE:
        return WATER
    if level < _SAND_SHARE:
        return SAND
    if level < _ROCK_SHARE:
        if woods > 0.55:
            return TREES[0] if vein < 0.6 else GRASS
        return BUSH if vein < 0.04 else TREES[0] if vein > 0.97 else GRASS
    if caves > 0.72:
        return FLOOR
    return COAL if vein < 0.06 else IRON if vein > 0.94 and level > _ROCK_SHARE + 0.05 else STONE


def _noise(rng: np.random.Generator, spacing: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Smooth noise in 0..1, (SIZE, SIZE): random values every `spacing` cells, straight lines between."""
    count = SIZE // spacing + 2
    coarse = rng.random((count, count))
    at = np.arange(SIZE) / spacing
    low = at.astype(np.int64)
    part = at - low
    rows = coarse[low] * (1 - part)[:, None] + coarse[low + 1] * part[:, None]
    return np.asarray(rows[:, low] * (1 - part)[None, :] + rows[:, low + 1] * part[None, :])


def _can_be_won(tiles: Tiles, start: Cell) -> bool:
    """Whether there is enough of everything in reach, first on foot, then with a pickaxe."""
    flat = [kind for row in tiles for kind in row]
    if any(flat.count(kind) < least for kind, least in _LEAST.items()):
        return False

    def walk(cell: Cell) -> Iterator[Cell]:
        return (after for after in beside(cell) if tile(tiles, after) in GROUND)

    def dig(cell: Cell) -> Iterator[Cell]:
        return (after for after in beside(cell) if tile(tiles, after) != WATER)

    on_foot, dug = distances(start, walk), distances(start, dig)
    for kind, least in _REACHABLE.items():
        known = on_foot if kind in (WATER, "T", BUSH) else dug
        cells = ((x, y) for y, row in enumerate(tiles) for x, here in enumerate(row) if here == kind)
        if sum(any(near in known for near in beside(cell)) for cell in cells) < least:
            return False
    return any(tile(tiles, near) == STONE for cell in on_foot for near in beside(cell))
