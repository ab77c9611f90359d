"""A player of the survival game who knows the whole island: dangers first, then needs, then the beacon."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from environments.games import survival_world as world
from environments.games.grid import STEPS, Cell, Direction, neighbour
from environments.games.survival_craft import RECIPES

if TYPE_CHECKING:
    from environments.games.survival import Survival

Json = dict[str, Any]
TICK_MS, LONGEST_MS = 250, 2000

_ORDER = ("workbench", "wood_pickaxe", "stone_pickaxe", "stone_sword", "furnace", "iron_pickaxe", "beacon")
_FIRST_WOOD = 10
"""Wood for the bench, the first pickaxes, the sword and a tool more, fetched before the bench is built."""
_PALISADE_WOOD = 3
_BRAVE = 4
"""Health with which it is worth going for a shade."""


def plan(game: Survival) -> Json:
    """The next action, as JSON."""
    return _defend(game) or _rest(game) or _provide(game) or _progress(game) or {"do": "wait", "ms": LONGEST_MS}


def _defend(game: Survival) -> Json | None:
    """Strike a shade that is beside the player; go for one in sight while embers are wanted."""
    shades = [creature for creature in game.creatures if creature.kind == "shade"]
    close = [direction for direction in STEPS if any(c.cell == neighbour(game.player, direction) for c in shades)]
    if close:
        direction = game.facing if game.facing in close else close[0]
        return _use(game, direction, 2)
    wanted = game.carried["ember"] < RECIPES["beacon"].cost["ember"] and game.needs.health >= _BRAVE
    return _chase(game) if shades and wanted and game.carried["stone_sword"] else None


def _rest(game: Survival) -> Json | None:
    """Sleep where nothing can come near; let wounds heal there."""
    sheltered = not any(game.free(cell) for cell in world.beside(game.player))
    tired = game.needs.energy <= 2 or (game.needs.energy <= 6 and sheltered and game.night)
    weak = game.needs.health <= 3 and game.night
    fed = min(game.needs.food, game.needs.water) > 1
    if not (tired or (weak and fed) or (game.asleep and game.needs.energy < 8)):
        return None
    can_close = game.carried["wood"] >= _PALISADE_WOOD
    if not sheltered and can_close:
        return {"do": "craft", "item": "palisade"}
    if game.needs.energy < 9 and (sheltered or not game.night):
        return {"do": "sleep", "ms": LONGEST_MS}
    return {"do": "wait", "ms": LONGEST_MS} if sheltered else None


def _provide(game: Survival) -> Json | None:
    """Drink and eat before it is urgent, and while it is on the way."""
    needs = game.needs
    on_water = world.tile(game.tiles, game.ahead) == world.WATER
    if needs.water <= 3 or (on_water and needs.water <= 6):
        return _fetch(game, lambda cell: world.tile(game.tiles, cell) == world.WATER, uses=9 - needs.water)
    if needs.food <= 3:
        grazers = {creature.cell for creature in game.creatures if creature.kind == "grazer"}
        return _fetch(game, lambda cell: world.tile(game.tiles, cell) == world.BUSH or cell in grazers, uses=1)
    return None


def _progress(game: Survival) -> Json | None:
    """Make the next thing, or go for what it takes."""
    item = next((item for item in _ORDER if not _has(game, item)), None)
    if item is None:
        return None
    if item == "workbench" and game.carried["wood"] < _FIRST_WOOD:
        return _gather(game, "wood", _FIRST_WOOD)
    if item == "workbench":
        # Beside the rock, where most of what it serves for is.
        by_rock = any(world.tile(game.tiles, cell) in world.PICKAXE_FOR for cell in world.beside(game.player))
        near_rock = None if by_rock else _fetch(game, lambda cell: world.tile(game.tiles, cell) == world.STONE, uses=1)
        if near_rock is not None and near_rock["do"] == "move":
            return near_rock
    recipe = RECIPES[item]
    for material, count in recipe.cost.items():
        if material == "ember" or game.carried[material] >= count:
            continue
        return _gather(game, material, count)
    if game.carried["ember"] < recipe.cost.get("ember", 0):
        return _hunt(game)
    if not game.near(recipe.at):
        site = {"workbench": world.WORKBENCH, "furnace": world.FURNACE}[recipe.at]
        return _fetch(game, lambda cell: world.tile(game.tiles, cell) == site, uses=0)
    if recipe.placed and not any(game.free(cell) for cell in world.beside(game.player)):
        return _make_room(game)
    return {"do": "craft", "item": item}


def _has(game: Survival, item: str) -> bool:
    if item in game.carried:
        return game.carried[item] > 0
    return item in game.done


def _hunt(game: Survival) -> Json:
    """Shades come by themselves at night: be rested, with wood for a shelter, where the beacon can be made."""
    if not game.night and game.needs.energy < 7:
        return {"do": "sleep", "ms": LONGEST_MS}
    if game.carried["wood"] < RECIPES["beacon"].cost["wood"] + _PALISADE_WOOD:
        wood = _gather(game, "wood", 99)
        if wood is not None:
            return wood
    back = None if game.near("furnace") else _fetch(game, lambda c: world.tile(game.tiles, c) == world.FURNACE, uses=0)
    return back or {"do": "wait", "ms": 4 * TICK_MS if game.night else LONGEST_MS}


def _chase(game: Survival) -> Json | None:
    shades = {creature.cell for creature in game.creatures if creature.kind == "shade"}
    chase = _fetch(game, lambda cell: cell in shades, uses=1)
    return {**chase, "ms": TICK_MS} if chase and chase["do"] == "move" else chase


def _gather(game: Survival, material: str, count: int) -> Json | None:
    """Go for the nearest of it and take it."""
    missing = count - game.carried[material]

    def gives(cell: Cell) -> bool:
        kind = world.tile(game.tiles, cell)
        usable = game.pickaxe >= world.PICKAXE_FOR.get(kind, 0)
        return world.YIELDS.get(kind) == material and usable

    return _fetch(game, gives, uses=min(missing, 3 if material == "wood" else 1))


def _make_room(game: Survival) -> Json | None:
    for direction in STEPS:
        kind = world.tile(game.tiles, neighbour(game.player, direction))
        if kind in world.YIELDS and game.pickaxe >= world.PICKAXE_FOR.get(kind, 0):
            return _use(game, direction, 3 if kind in world.TREES else 1)
    return None


def _fetch(game: Survival, wanted: Callable[[Cell], bool], uses: int) -> Json | None:
    """One action of the cheapest way to a wanted cell, through whatever the pickaxe opens; use it at the end."""
    way = _way(game, wanted)
    if not way:
        return None
    first = way[0]
    direction = next(d for d in STEPS if neighbour(game.player, d) == first)
    if len(way) == 1:
        return _use(game, direction, max(1, uses)) if uses else None
    if not game.free(first):
        return _use(game, direction, _uses_to_open(world.tile(game.tiles, first)))
    run = 0
    cell = game.player
    for after in way[:-1]:
        if after != neighbour(cell, direction) or not game.free(after):
            break
        run, cell = run + 1, after
    return {"do": "move", "direction": direction, "ms": min(LONGEST_MS, run * TICK_MS)}


def _use(game: Survival, direction: Direction, times: int) -> Json:
    """Turn to it if need be, then use it."""
    if game.facing != direction:
        return {"do": "move", "direction": direction, "ms": TICK_MS}
    return {"do": "use", "ms": min(LONGEST_MS, times * TICK_MS)}


def _uses_to_open(kind: str) -> int:
    return len(world.TREES) - world.TREES.index(kind) if kind in world.TREES else 1


def _way(game: Survival, wanted: Callable[[Cell], bool]) -> list[Cell] | None:
    """The cells from the player's next one to the wanted one, by the time that walking and opening takes."""
    start = game.player
    best: dict[Cell, int] = {start: 0}
    came: dict[Cell, Cell] = {}
    queue: list[tuple[int, Cell]] = [(0, start)]
    while queue:
        cost, cell = heapq.heappop(queue)
        if cost > best[cell]:
            continue
        if cell != start and wanted(cell):
            way = [cell]
            while came[way[-1]] != start:
                way.append(came[way[-1]])
            return way[::-1]
        if cell != start and not _passable(game, cell):
            continue
        for after in world.beside(cell):
            price = cost + _price(game, after)
            if (wanted(after) or _passable(game, after)) and price < best.get(after, 1 << 30):
                best[after], came[after] = price, cell
                heapq.heappush(queue, (price, after))
    return None


def _passable(game: Survival, cell: Cell) -> bool:
    kind = world.tile(game.tiles, cell)
    return kind in world.GROUND or (kind in world.YIELDS and game.pickaxe >= world.PICKAXE_FOR.get(kind, 0))


def _price(game: Survival, cell: Cell) -> int:
    kind = world.tile(game.tiles, cell)
    if kind in world.GROUND:
        return 1 if game.creature_at(cell) is None else 5
    return 2 + _uses_to_open(kind)
