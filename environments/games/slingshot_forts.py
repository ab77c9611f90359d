"""Forts for Slingshot: houses of blocks on mounds of earth, another one for each seed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from environments.drawing import Box
from environments.games.slingshot_world import GROUND, IMP_RADIUS, Kind, Piece, settle

LEFT, RIGHT = 335, 618
"""Where forts stand, in pixels from the left."""
_UNDERGROUND = 480
_POST = 14
"""Thickness of posts and planks."""
_WALL, _BANK = (135, 200), (25, 90)
"""Least and most height of what stands between sling and fort: a wall that must be thrown over, or a low bank."""

Slot = tuple[float, float]
"""A place for an imp: its middle, and the surface under it."""
House = tuple[list[Piece], list[Slot]]


def build(rng: np.random.Generator, imps: int) -> tuple[list[Piece], list[Box]]:
    """A fort at rest with that many imps, and the terrain it stands on.

    Forts that do not stand still, or hurt their own imps, are drawn again.
    """
    while True:
        pieces, slots, terrain = _draw_up(rng)
        if len(slots) < imps:
            continue
        for index in sorted(rng.choice(len(slots), size=imps, replace=False)):
            x, surface = slots[index]
            pieces.append(Piece("imp", x, surface - IMP_RADIUS, 2 * IMP_RADIUS, 2 * IMP_RADIUS))
        rested = settle(pieces, terrain)
        if len(rested) == len(pieces) and all(_stayed(a, b) for a, b in zip(pieces, rested, strict=True)):
            return rested, terrain


def _stayed(before: Piece, after: Piece) -> bool:
    return after.harm == 0 and math.hypot(after.x - before.x, after.y - before.y) < 4 and abs(after.angle) < 0.06


def _draw_up(rng: np.random.Generator) -> tuple[list[Piece], list[Slot], list[Box]]:
    terrain: list[Box] = [(-200, GROUND, 840, _UNDERGROUND)]
    # A wall before most forts, higher than the pouch: else one flat and hard throw, repeated, does for any fort.
    middle, height = int(rng.integers(215, 275)), int(rng.integers(*(_WALL if rng.random() < 0.8 else _BANK)))
    terrain.append((middle - 16, GROUND - height, middle + 16, GROUND))
    pieces: list[Piece] = []
    slots: list[Slot] = []
    left = LEFT + int(rng.integers(0, 20))
    while True:
        width, make = _HOUSES[int(rng.integers(len(_HOUSES)))]
        if left + width > RIGHT:
            return pieces, slots, terrain
        rise = int(rng.choice([0, 0, 24, 44, 64]))
        if rise:
            terrain.append((left - 5, GROUND - rise, left + width + 5, GROUND))
        blocks, places = make(left + width // 2, GROUND - rise, rng)
        pieces += blocks
        slots += places
        left += width + int(rng.integers(16, 34))


def _material(rng: np.random.Generator, stone: float) -> Kind:
    return "stone" if rng.random() < stone else "wood"


def _hut(x: int, floor: int, rng: np.random.Generator) -> House:
    """Two posts and a roof; room for one imp inside and one on the roof."""
    height = int(rng.integers(40, 58))
    posts = _material(rng, 0.2)
    pieces = [Piece(posts, x + dx, floor - height / 2, _POST, height) for dx in (-32, 32)]
    pieces.append(Piece("wood", x, floor - height - _POST / 2, 84, _POST))  # who sits below it can be got at
    return pieces, [(x, floor), (x, floor - height - _POST)]


def _tower(x: int, floor: int, rng: np.random.Generator) -> House:
    """Two huts, one on the other."""
    pieces, slots = _hut(x, floor, rng)
    upper, above = _hut(x, floor - pieces[0].height - _POST, rng)
    return pieces + upper, [slots[0], *above]


def _pillar(x: int, floor: int, rng: np.random.Generator) -> House:
    """Two or three square blocks, one on the other; an imp sits on top."""
    count = int(rng.integers(2, 4))
    kind = _material(rng, 0.4)
    pieces = [Piece(kind, x, floor - 17 - 34 * level, 34, 34) for level in range(count)]
    return pieces, [(x, floor - 34 * count)]


def _heap(x: int, floor: int, rng: np.random.Generator) -> House:
    """Two blocks side by side under a third; an imp on top."""
    kinds = [_material(rng, 0.3) for _ in range(3)]
    pieces = [Piece(kind, x + dx, floor - 16, 38, 32) for kind, dx in zip(kinds, (-20, 20), strict=False)]
    pieces.append(Piece(kinds[2], x, floor - 48, 38, 32))
    return pieces, [(x, floor - 64)]


def _bunker(x: int, floor: int, rng: np.random.Generator) -> House:
    """A hut with a thick front; what is inside is hit from above or not at all."""
    pieces: list[Piece] = [Piece("stone", x - 30, floor - 22, 26, 44), Piece("wood", x + 32, floor - 22, _POST, 44)]
    pieces.append(Piece("wood", x - 1, floor - 44 - _POST / 2, 84, _POST))
    return pieces, [(x + 4, floor), (x, floor - 44 - _POST)]


_HOUSES: tuple[tuple[int, Callable[[int, int, np.random.Generator], House]], ...] = (
    (84, _hut),
    (84, _tower),
    (40, _pillar),
    (80, _heap),
    (88, _bunker),
)
