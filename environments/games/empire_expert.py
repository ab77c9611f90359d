"""A steady ruler for the empire: one order at a time, from the state alone."""

from __future__ import annotations

from typing import Any

from environments.games.empire_rules import (
    APART,
    FULL_HEALTH,
    HEIGHT,
    ITEMS,
    TECHS,
    UNITS,
    WIDTH,
    City,
    Item,
    Tech,
    Unit,
    apart,
    site_value,
    within,
)
from environments.games.empire_world import QUEUE, TRADES, World
from environments.games.grid import Cell

ORDER: tuple[Tech, ...] = (
    "bronze", "writing", "iron", "currency", "pottery", "masonry", "philosophy", "engineering",
)  # fmt: skip
_DARING = 5.0
"""The least value of a site, its dangers taken off, for which a settler leaves a city."""
_SIEGE = 2
"""Swordsmen that go against the camps."""


def advise(world: World, cities: int, tiles: int) -> dict[str, Any]:
    """The next order for a realm that wants `cities` cities and to see `tiles` tiles."""
    if world.research is None:
        tech = next((tech for tech in ORDER if tech not in world.known), None)
        if tech:
            return {"do": "research", "tech": tech}
    for unit in world.units:
        if unit.moves > 0:
            order = _order_of(world, unit, tiles)
            if order:
                return order
    for city in world.cities:
        item = None if city.queue else _next_item(world, city, cities)
        if item:
            return {"do": "build", "city": city.letter, "item": item}
    return {"do": "end_turn"}


def _order_of(world: World, unit: Unit, tiles: int) -> dict[str, Any] | None:
    if unit.kind == "settler":
        return _settle(world, unit)
    if unit.goal is not None:
        return None
    if unit.kind == "caravan":
        return None if world.conquered else _go(world, unit, world.rival.cell)
    if unit.kind == "swordsman":
        return _campaign(world, unit)
    if unit.kind == "warrior":
        return _guard(world, unit, tiles)
    return _explore(world, unit, tiles)


def _go(world: World, unit: Unit, goal: Cell) -> dict[str, Any] | None:
    """The order to move, if the rules will take it and it changes something."""
    if unit.cell == goal or unit.goal == goal or not world.way(unit.cell, goal):
        return None
    if world.unit_at(goal) or (world.is_seen(goal) and not world.land.passable(goal)):
        return None
    if unit.kind == "caravan" and world.at_war and goal == world.rival.cell:
        return None
    return {"do": "move", "unit": unit.letter, "column": goal[0] + 1, "row": goal[1] + 1}


def _settle(world: World, unit: Unit) -> dict[str, Any] | None:
    """To the best free site, near before far, and not where another settler is going."""
    taken = [city.cell for city in world.cities] + [world.rival.cell]
    taken += [other.goal or other.cell for other in world.units if other.kind == "settler" and other is not unit]
    best, best_value = None, -1e9
    for y in range(HEIGHT):
        for x in range(WIDTH):
            cell = (x, y)
            if not world.is_seen(cell) or not world.land.passable(cell) or any(apart(cell, o) < APART for o in taken):
                continue
            way = [cell] if cell == unit.cell else world.way(unit.cell, cell)
            if not way or world.foe_at(cell) or (world.unit_at(cell) not in (None, unit)):
                continue
            risk = sum(3.0 for camp in world.camps if camp.health > 0 and apart(camp.cell, cell) <= 2)
            risk += sum(8.0 for band in world.raiders if any(apart(band.cell, step) <= 2 for step in way))
            value = site_value(world.land, cell) - 1.3 * len(way) - risk
            if value > best_value:
                best, best_value = cell, value
    if best is None:
        return None
    if best_value < _DARING and world.city_at(unit.cell):
        return None  # walls are safer while raiders are about
    if best == unit.cell:
        return {"do": "found", "unit": unit.letter}
    return _go(world, unit, best)


def _explore(world: World, unit: Unit, tiles: int) -> dict[str, Any] | None:
    """To the tile whose view brings most for its distance."""
    if sum(map(sum, world.seen)) >= tiles:
        return None
    best, best_value = None, 0.0
    sight = UNITS[unit.kind].sight
    bound = [other.goal for other in world.units if other.goal and other is not unit]
    for y in range(HEIGHT):
        for x in range(WIDTH):
            cell = (x, y)
            if not world.land.passable(cell) or world.unit_at(cell) or world.foe_at(cell):
                continue
            news = sum(not world.is_seen(near) for near in within(cell, sight))
            if not news or any(apart(cell, goal) <= 2 for goal in bound):
                continue
            way = world.way(unit.cell, cell)
            value = news / (2 + len(way)) if way else 0.0
            if value > best_value:
                best, best_value = cell, value
    return _go(world, unit, best) if best else None


def _campaign(world: World, unit: Unit) -> dict[str, Any] | None:
    """Against raiders close by, then camp after camp; back into shape first when hurt."""
    if unit.health <= 4:
        return None
    near = [band.cell for band in world.raiders if apart(band.cell, unit.cell) <= 2]
    camps = [camp.cell for camp in world.camps if camp.health > 0]
    for goals in (near, camps):
        for goal in sorted(goals, key=lambda cell: (apart(cell, unit.cell), cell)):
            order = _go(world, unit, goal)
            if order:
                return order
    return None


def _guard(world: World, unit: Unit, tiles: int) -> dict[str, Any] | None:
    """Meet raiders that come near the cities; look around while the land is young."""
    if unit.health >= 6:
        bands = [band.cell for band in world.raiders if apart(band.cell, unit.cell) <= 2]
        for goal in bands:
            if goal in world.in_sight():
                return _go(world, unit, goal)
    if unit.health == FULL_HEALTH and world.turn <= 8:
        return _explore(world, unit, tiles)
    homes = [city.cell for city in world.cities if world.unit_at(city.cell) is None]
    at_home = world.city_at(unit.cell) is not None
    goals = sorted(homes, key=lambda cell: (apart(cell, unit.cell), cell))
    return _go(world, unit, goals[0]) if goals and not at_home else None


def _next_item(world: World, city: City, cities: int) -> Item | None:
    """What this city builds next: settlers, what the ambitions lack, then what pays off."""
    queued = [item for other in world.cities for item in other.queue]
    have = [unit.kind for unit in world.units]
    first = city is world.cities[0]
    missing = cities - len(world.cities) - have.count("settler") - queued.count("settler")
    trading = 0 if world.conquered or world.at_war else TRADES - world.trades
    camps = sum(camp.health > 0 for camp in world.camps)
    swords = have.count("swordsman") + queued.count("swordsman")
    late = world.turn > 30
    wishes: list[tuple[Item, bool]] = [
        ("settler", missing > 0 and first and not late),
        ("monument", True),
        ("caravan", trading > have.count("caravan") + queued.count("caravan")),
        ("swordsman", camps > 0 and swords < _SIEGE),
        ("granary", not late),
        ("library", not late or len(world.known) < len(TECHS) - 1),
        ("temple", world.turn < 38),
        ("workshop", not late),
        ("scout", have.count("scout") + queued.count("scout") == 0 and world.turn < 25),
        ("swordsman", camps > 0 and swords < _SIEGE + 1),
    ]
    for item, wanted in wishes:
        rule = ITEMS[item]
        known = rule.tech is None or rule.tech in world.known
        if wanted and known and item not in city.buildings and item not in city.queue and len(city.queue) < QUEUE:
            return item
    return None
