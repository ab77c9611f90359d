"""How the expert plays a level: it knows the map and sees through walls, and acts with the player's own buttons."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from environments.games.doom import DoomAction, turn_by
from environments.games.doom_map import Floats, Ints, Line, Point
from environments.games.levels_ground import (
    EXIT_SWITCHES,
    EXIT_TRIPS,
    LIFT_SWITCHES,
    LIFT_TRIPS,
    LOCKED_SWITCHES,
    MANUAL_DOORS,
    STEP,
    SWITCHES,
    TELEPORTS,
    TRIPS,
    Bools,
    Heights,
    regions,
)
from environments.games.levels_walk import Body, Field, field, stride

if TYPE_CHECKING:
    from environments.games.levels import Levels

_FAR, _NEAR = 600.0, 200.0
"""How far away enemies are shot at while more must be beaten, and later; map units."""
_MISSES = 120
"""Of `seen["misses"]`: after about so much fire without a hit, enemies are let alone for a while."""
_EYE, _CHEST = 41.0, 30.0
"""Heights above the floor: the player's eye, the middle of an enemy."""
_WEAK = 50
"""Health below which it looks for a medicine chest."""
_MEDICINE = {"Medikit", "Stimpack", "Soulsphere", "Berserk"}
_BORED = 35 * 12
"""Tics without anything new, after which the next nearest goal is tried, and so on."""
_HURRY = 35 * 60
"""Tics beyond the way to the exit that are kept for it."""
_BODY = 56.0
"""The room that a man needs between floor and ceiling."""


@dataclass(frozen=True, eq=False)
class _Scene:
    """What the expert knows of the moment."""

    body: Body
    z: float
    floors: Floats
    ceilings: Floats
    hopeful: Bools
    """Steps that are possible with the doors opened and the lifts called."""
    possible: Bools
    """Steps that are possible now."""
    steps: Ints
    """Along hopeful steps, from here to each cell."""
    bored: int
    """How many goals have been tried in vain."""


def choose(game: Levels) -> dict[str, Any]:
    """The action for the moment at which the game's engine stands."""
    scene = _scene(game)
    if game.seen["still"] >= 5:
        return _shake(game)
    enemy = _fight(game, scene)
    if enemy:
        return enemy
    goals, line = _goal(game, scene)
    if not goals:
        return _shake(game)
    if line and scene.body.cell in goals:
        return _work(game, line)
    return _walk(game, scene, goals)


def _scene(game: Levels) -> _Scene:
    engine, over = game.engine, game.ground
    x, y, z, dx, dy, angle = (
        engine.variable(name)
        for name in ("POSITION_X", "POSITION_Y", "POSITION_Z", "VELOCITY_X", "VELOCITY_Y", "ANGLE")
    )
    heights = np.array(engine.heights(), dtype=np.float64).reshape(-1, 2)
    floors, ceilings = heights[:, 0], heights[:, 1]
    hopeful = over.open_edges(over.now(floors, ceilings, game.seen["keys"]))
    possible = over.open_edges(Heights(floors, floors, ceilings))
    body = Body((x, y), (dx, dy), angle, max(over.cell_at(x, y), 0))
    safe = hopeful & ~over.harmful[over.near]
    steps = over.reachable(body.cell, safe)
    bored = max(game.tics - game.seen["news"], 0) // _BORED
    if bored % 2 or _nothing_left(game, steps):  # through the slime, if there is nothing else to do
        safe, steps = hopeful, over.reachable(body.cell, hopeful)
    return _Scene(body, z, floors, ceilings, safe, possible, steps, bored)


def _nothing_left(game: Levels, steps: Ints) -> bool:
    """Whether neither a key that is wanted nor the exit is on dry ground."""
    over = game.ground
    if not game.seen["keys"]:
        return not any(steps[over.cell_at(x, y)] >= 0 for _, x, y in game.key_things)
    exits = [line for line in game.level.lines if line.special in EXIT_SWITCHES | EXIT_TRIPS]
    return not any(steps[cell] >= 0 for line in exits for cell in over.cells_along(line, 44))


def _fight(game: Levels, scene: _Scene) -> dict[str, Any] | None:
    """Turn to an enemy in sight, and shoot."""
    seen = game.seen
    if seen["misses"] >= _MISSES or seen["weapon"] < 2 or seen["ammo"] <= 0:
        return None
    reach = _FAR if seen["kills"] < game.enemies else _NEAR
    best: tuple[float, float] | None = None
    for thing in game.engine.objects():
        if thing.category != "Monster":
            continue
        place = (thing.position_x, thing.position_y)
        distance, angle = game.aim(place)
        if distance > reach or (best and distance + 2 * abs(angle) >= best[0] + 2 * abs(best[1])):
            continue
        heights = (scene.floors, scene.ceilings)
        if game.level.sees(scene.body.place, place, heights, scene.z + _EYE, thing.position_z + _CHEST):
            best = distance, angle
    if best is None:
        return None
    distance, angle = best
    if abs(angle) <= max(2.0, math.degrees(math.atan2(14, distance))):
        return _action(hands="fire", ms=700 if distance < 300 else 450)
    return _action(**turn_by(angle), hands="fire" if abs(angle) < 15 else "none")


def _goal(game: Levels, scene: _Scene) -> tuple[list[int], Line | None]:
    """The cells to go to, and the line to work there if there is one."""
    over, seen = game.ground, game.seen
    medicine = _medicine(game, scene)
    if medicine:
        return medicine, None
    exits = _lines(game, scene, EXIT_SWITCHES | EXIT_TRIPS)
    left = 35 * game.seconds - game.tics
    way_out = min((int(scene.steps[cell]) for cell in exits[0][0]), default=0) if exits else 0
    hurry = left < _HURRY + 1.5 * way_out
    if exits and (hurry or (seen["keys"] and seen["door"] and game.explored >= game.share)):
        return exits[0]
    wanted = [colour for colour, _, _ in game.key_things if colour not in seen["keys"]]
    if not seen["keys"] or not exits:
        keys = [over.cell_at(x, y) for colour, x, y in game.key_things if colour in wanted]
        found = _nearest(keys, scene)
        if found is not None:
            return [found], None
    shut = [found for found in _lines(game, scene, SWITCHES | TRIPS) if _unused(game, scene, found[1])]
    missing = not exits or not seen["keys"]
    if missing and shut and (hurry or game.explored >= game.share or scene.bored % 2):
        return shut[scene.bored // 2 % len(shut)]
    known = set(seen["explored"])
    places = [over.cell_at(*point) for number, point in enumerate(regions(over)) if number not in known]
    found = _nearest(places, scene)
    if found is not None:
        return [found], None
    if shut:
        return shut[scene.bored % len(shut)]
    return exits[0] if exits else ([], None)


def _nearest(cells: list[int], scene: _Scene) -> int | None:
    """The nearest of some cells that can be got at; the next nearest where that was tried in vain."""
    near = sorted((int(scene.steps[cell]), cell) for cell in set(cells) if cell >= 0 and scene.steps[cell] >= 0)
    return near[scene.bored % len(near)][1] if near else None


def _medicine(game: Levels, scene: _Scene) -> list[int]:
    """Where the nearest medicine lies, for someone who needs it and has it near."""
    if game.seen["health"] >= _WEAK:
        return []
    over = game.ground
    chests = [thing for thing in game.engine.objects() if thing.name in _MEDICINE]
    cells = [over.cell_at(chest.position_x, chest.position_y) for chest in chests]
    near = sorted((int(scene.steps[cell]), cell) for cell in cells if cell >= 0 and 0 < scene.steps[cell] < 80)
    return [near[0][1]] if near and not scene.bored else []


def _lines(game: Levels, scene: _Scene, specials: set[int]) -> list[tuple[list[int], Line]]:
    """Lines of some kinds that can be got at, the nearest first, with the cells in front of them."""
    found = []
    for line in game.level.lines:
        if line.special in specials and LOCKED_SWITCHES.get(line.special, "") in {"", *game.seen["keys"]}:
            cells = [cell for cell in game.ground.cells_along(line, 44) if scene.steps[cell] >= 0]
            if cells:
                found.append((cells, line))
    return sorted(found, key=lambda item: min(int(scene.steps[cell]) for cell in item[0]))


def _unused(game: Levels, scene: _Scene, line: Line) -> bool:
    """Whether what a line moves is still as it was in the beginning."""
    level = game.level
    moved = (scene.floors != level.floors) | (scene.ceilings != level.ceilings)
    mine = level.tags == line.tag
    return bool(line.tag and mine.any() and not moved[mine].any())


def _work(game: Levels, line: Line) -> dict[str, Any]:
    """Use a switch, or step over a line."""
    here = (game.engine.variable("POSITION_X"), game.engine.variable("POSITION_Y"))
    trip = line.special not in MANUAL_DOORS and line.special in TRIPS | EXIT_TRIPS | LIFT_TRIPS | TELEPORTS
    distance, angle = game.aim(_spot(game, line, here))
    if abs(angle) > 12 and distance > 1:
        return _action(**turn_by(angle))
    return _action(move="forward", hands="none" if trip else "use", ms=350 if trip else 150)


def _spot(game: Levels, line: Line, here: Point) -> Point:
    """The point of a line that is nearest to a place, but not its very end."""
    (ax, ay), (bx, by) = game.level.ends(line)
    dx, dy = bx - ax, by - ay
    length = math.hypot(dx, dy)
    edge = min(0.5, 12.0 / max(length, 1.0))
    along = ((here[0] - ax) * dx + (here[1] - ay) * dy) / max(length * length, 1.0)
    along = min(max(along, edge), 1.0 - edge)
    return ax + along * dx, ay + along * dy


def _walk(game: Levels, scene: _Scene, goals: list[int]) -> dict[str, Any]:
    """Along the shortest way; open what is shut on it."""
    over, body = game.ground, scene.body
    way = field(over, goals, scene.hopeful)
    if _rides(game, scene, way):
        return _action(ms=600)
    cell = body.cell
    for _ in range(4):
        after = int(way.after[cell])
        if after == cell:
            break
        if not _joined(game, scene.possible, cell, after) and math.dist(body.place, over.centres[cell]) < 48:
            return _open(game, scene, cell, after, way)
        cell = after
    if way.left[body.cell] > 0 and way.after[body.cell] == body.cell:
        return _teleport(game, body)
    return _stride(game, scene, way)


def _stride(game: Levels, scene: _Scene, way: Field) -> dict[str, Any]:
    over = game.ground
    found = stride(over, scene.body, way, over.under(scene.floors), over.above(scene.ceilings))
    return _action(**found) if found else _shake(game)


def _rides(game: Levels, scene: _Scene, way: Field) -> bool:
    """Whether the player stands on a lift that is down, and must go up with it."""
    over, cell = game.ground, scene.body.cell
    sector = int(over.sector[cell])
    if sector not in over.lifts or game.level.floors[sector] - scene.floors[sector] <= 4 or scene.bored % 2:
        return False
    for _ in range(14):
        after = int(way.after[cell])
        if not _joined(game, scene.possible, cell, after):
            return after != cell
        cell = after
    return False


def _teleport(game: Levels, body: Body) -> dict[str, Any]:
    """Over the line of the teleport at whose foot the player stands."""
    lines = [line for line in game.level.lines if line.special in TELEPORTS]
    lines = [line for line in lines if body.cell in game.ground.cells_along(line, 24)]
    return _work(game, lines[0]) if lines else _shake(game)


def _joined(game: Levels, edges: Bools, a: int, b: int) -> bool:
    return bool(np.any((game.ground.near[a] == b) & edges[a]))


def _touched(game: Levels, cell: int) -> set[int]:
    over = game.ground
    end = over.touched_from[cell + 1] if cell + 1 < len(over.touched_from) else len(over.touched)
    return set(over.touched[over.touched_from[cell] : end].tolist())


def _open(game: Levels, scene: _Scene, cell: int, after: int, way: Field) -> dict[str, Any]:
    """Stand before something shut and get it open."""
    over, level = game.ground, game.level
    here, there = _touched(game, cell), _touched(game, after)
    shut = [s for s in here | there if s in over.doors and scene.ceilings[s] - scene.floors[s] < _BODY + STEP]
    if shut:
        return _open_door(game, scene, shut[0])
    low = [s for s in (there | here) & over.lifts if level.floors[s] - scene.floors[s] > 4]
    if low and int(over.sector[scene.body.cell]) not in low:
        board = np.nonzero(np.isin(over.sector, low))[0].tolist()
        near = over.reachable(scene.body.cell, scene.possible)
        if any(near[place] > 0 for place in board):
            return _approach(game, scene, board)  # it is down: get on
    if low:
        return _action(ms=700 if int(over.sector[scene.body.cell]) in low else 350)  # it moves by itself
    tags = {int(level.tags[s]) for s in (there | here) & over.lifts}
    now = replace(scene, steps=over.reachable(scene.body.cell, scene.possible))
    calls = [found for found in _lines(game, now, LIFT_SWITCHES | LIFT_TRIPS) if found[1].tag in tags]
    if calls:
        cells, line = calls[scene.bored // 3 % len(calls)]
        return _work(game, line) if scene.body.cell in cells else _approach(game, scene, cells)
    return _shake(game)


def _open_door(game: Levels, scene: _Scene, door: int) -> dict[str, Any]:
    """Face a door, use it, and wait while it rises."""
    over = game.ground
    gap = scene.ceilings[door] - scene.floors[door]
    if gap > 4 and scene.ceilings[door] != game.level.ceilings[door]:
        return _action(ms=int((_BODY + 8 - gap) / 2 * 29) if gap < _BODY else 150)
    lines = [line for line in game.level.lines if line.left == door and line.special in MANUAL_DOORS]
    fronts = [(over.cells_along(line, 48), line) for line in lines]
    for cells, line in fronts:
        if scene.body.cell in cells:
            return _work(game, line)
    return _approach(game, scene, [cell for cells, _ in fronts for cell in cells])


def _approach(game: Levels, scene: _Scene, cells: list[int]) -> dict[str, Any]:
    """Walk to the nearest of some cells, if that can be done as things are now."""
    over = game.ground
    near = field(over, cells, scene.possible)
    if near.left[scene.body.cell] <= 0:
        return _shake(game)
    return _stride(game, scene, near)


def _shake(game: Levels) -> dict[str, Any]:
    """Get out of a corner: another way at every step."""
    ways = (
        {"move": "back", "ms": 300},
        {"step": "left", "move": "forward", "ms": 400},
        {"hands": "use", "move": "forward", "ms": 150},
        {"step": "right", "move": "forward", "ms": 400},
        {"turn": "left", "move": "back", "ms": 500},
    )
    return _action(**ways[len(game.runs) % len(ways)])


def _action(**fields: Any) -> dict[str, Any]:
    return DoomAction.model_validate({"ms": 300, **fields}).model_dump(mode="json")
