"""Who else lives on the island: grazers, which are food, and shades, which come at night."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from environments.games import survival_world as world
from environments.games.grid import STEPS, Cell, neighbour

if TYPE_CHECKING:
    from environments.games.survival import Survival

SHADE_DAMAGE, SLEEPER_DAMAGE = 1, 3
_PAUSE_TICKS = 5
"""Between two blows of a shade."""
_TRIES = 8
"""How often a shade looks for ground to rise from: on a narrow shore as in a meadow, nights are dangerous."""
_HUNTING_CELLS, _FORGETTING_CELLS = 9, 14


@dataclass(slots=True)
class Creature:
    """One of them."""

    kind: Literal["grazer", "shade"]
    x: int
    y: int
    health: int
    pause: int = 0
    """Ticks until a shade can strike again."""

    @property
    def cell(self) -> Cell:
        """Where it stands."""
        return self.x, self.y


def herd(tiles: world.Tiles, player: Cell, count: int, rng: np.random.Generator) -> list[Creature]:
    """Grazers on the meadows, none of them next to the player."""
    meadow = [
        (x, y)
        for y, row in enumerate(tiles)
        for x, kind in enumerate(row)
        if kind == world.GRASS and abs(x - player[0]) + abs(y - player[1]) > 3
    ]
    chosen = rng.permutation(len(meadow))[:count]
    return [Creature("grazer", *meadow[int(index)], health=2) for index in chosen]


def move_all(game: Survival) -> None:
    """One tick of all creatures; shades appear in the dark and are gone at daybreak."""
    if not game.night:
        game.creatures = [creature for creature in game.creatures if creature.kind != "shade"]
    elif game.rng.random() < 0.08:
        _appear(game)
    for creature in game.creatures:
        if creature.kind == "grazer":
            _graze(game, creature)
        else:
            _hunt(game, creature)
    # A shade that has lost the player is gone; another may find them.
    game.creatures = [
        c for c in game.creatures if c.kind == "grazer" or _apart(c.cell, game.player) <= _FORGETTING_CELLS
    ]


def _appear(game: Survival) -> None:
    if sum(creature.kind == "shade" for creature in game.creatures) >= game.shades:
        return
    for _ in range(_TRIES):
        x = game.player[0] + int(game.rng.integers(-6, 7))
        y = game.player[1] + int(game.rng.integers(-6, 7))
        if _apart((x, y), game.player) >= 5 and game.free((x, y)):
            game.creatures.append(Creature("shade", x, y, health=4))
            return


def _graze(game: Survival, creature: Creature) -> None:
    if game.rng.random() >= 0.12:
        return
    after = neighbour(creature.cell, list(STEPS)[int(game.rng.integers(4))])
    if game.free(after) and world.tile(game.tiles, after) == world.GRASS:
        creature.x, creature.y = after


def _hunt(game: Survival, creature: Creature) -> None:
    """Towards the player along the longer axis if that is free, else the other; a blow when beside them."""
    creature.pause = max(0, creature.pause - 1)
    dx, dy = game.player[0] - creature.x, game.player[1] - creature.y
    if abs(dx) + abs(dy) == 1:
        if creature.pause == 0:
            game.hurt(SLEEPER_DAMAGE if game.asleep else SHADE_DAMAGE)
            creature.pause = _PAUSE_TICKS
        return
    if game.rng.random() >= 0.6 or abs(dx) + abs(dy) > _HUNTING_CELLS:
        return
    across = (creature.x + (dx > 0) - (dx < 0), creature.y)
    along = (creature.x, creature.y + (dy > 0) - (dy < 0))
    for after in (across, along) if abs(dx) >= abs(dy) else (along, across):
        if game.free(after):
            creature.x, creature.y = after
            creature.pause = max(creature.pause, 2)  # nobody is struck in the moment of arrival
            return


def _apart(a: Cell, b: Cell) -> int:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
