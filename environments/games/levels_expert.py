"""How the expert plays a level: it knows the map and sees through walls, and acts with the player's own buttons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from environments.games.doom import DoomAction, turn_by
from environments.games.doom_map import Floats, Ints, Line, Point
from environments.games.levels_ground import (
    CELL,
    EXIT_SWITCHES,
    EXIT_TRIPS,
    LIFT_SWITCHES,
    LIFT_TRIPS,
    LOCKED_SWITCHES,
    SWITCHES,
    TRIPS,
    Bools,
    Heights,
    regions,
)

if TYPE_CHECKING:
    from environments.games.levels import Levels

_SHOT, _ARM = 300.0, 70.0
"""How far it shoots, and how far it reaches with its fist or a hand, in map units."""
_EYE, _CHEST = 41.0, 30.0
"""Heights above the floor: the player's eye, the middle of an enemy."""
_LEAVE_AFTER = 150
"""Steps after which it leaves, explored or not."""
_SLIDE = 9.67
"""Tics' worth of way that a man still slides when he stops running: friction takes 3/32 of his speed in each."""
_PER_TIC = 15.0
"""Map units that a running man covers in a tic."""


@dataclass(frozen=True, eq=False)
class _Scene:
    """What the expert knows of the moment."""

    here: Point
    rest: Point
    """Where the player comes to rest who lets go of everything: a man slides ten times as far as he runs in a tic."""
    z: float
    cell: int
    floors: Floats
    ceilings: Floats
    hopeful: Bools
    """Steps that are possible with the doors opened and the lifts called."""
    possible: Bools
    """Steps that are possible now."""
    steps: Ints
    """Along hopeful steps, from here to each cell."""


def choose(game: Levels) -> dict[str, Any]:
    """The action for the moment at which the game's engine stands."""
    scene = _scene(game)
    if game.seen["still"] >= 6:
        return _shake(game)
    enemy = _fight(game, scene)
    if enemy:
        return enemy
    goals, line = _goal(game, scene)
    if not goals:
        return _shake(game)
    if line and scene.cell in goals:
        return _work(game, scene, line)
    return _walk(game, scene, goals)


def _scene(game: Levels) -> _Scene:
    engine, over = game.engine, game.ground
    x, y, z = (engine.variable(f"POSITION_{axis}") for axis in "XYZ")
    heights = np.array(engine.heights(), dtype=np.float64).reshape(-1, 2)
    floors, ceilings = heights[:, 0], heights[:, 1]
    hopeful = over.open_edges(over.now(floors, ceilings, game.seen["keys"]))
    possible = over.open_edges(Heights(floors, floors, ceilings))
    cell = over.cell_at(x, y)
    rest = (x + _SLIDE * engine.variable("VELOCITY_X"), y + _SLIDE * engine.variable("VELOCITY_Y"))
    return _Scene((x, y), rest, z, cell, floors, ceilings, hopeful, possible, over.reachable(max(cell, 0), hopeful))


def _fight(game: Levels, scene: _Scene) -> dict[str, Any] | None:
    """Turn to the nearest enemy in sight, and shoot."""
    if game.seen["peace"]:
        return None
    armed = game.seen["weapon"] > 1 and game.seen["ammo"] > 0
    best: tuple[float, float] | None = None
    for thing in game.engine.objects():
        if thing.category != "Monster":
            continue
        distance, angle = game.aim((thing.position_x, thing.position_y), scene.rest)
        if distance > (_SHOT if armed else _ARM) or (best and distance + abs(angle) >= best[0] + abs(best[1])):
            continue
        place = (thing.position_x, thing.position_y)
        heights = (scene.floors, scene.ceilings)
        if game.level.sees(scene.here, place, heights, scene.z + _EYE, thing.position_z + _CHEST):
            best = distance, angle
    if best is None:
        return None
    distance, angle = best
    if abs(angle) <= max(1.6, math.degrees(math.atan2(14, distance))):
        return _action(hands="fire", ms=500)
    return _action(**turn_by(angle), hands="fire" if armed and abs(angle) < 20 else "none")


def _goal(game: Levels, scene: _Scene) -> tuple[list[int], Line | None]:
    """The cells to go to, and the line to work there if there is one."""
    over, seen = game.ground, game.seen
    keys = [over.cell_at(x, y) for colour, x, y in game.key_things if colour not in seen["keys"]]
    keys = _within_reach(keys, scene)
    if keys:
        return [min(keys, key=lambda cell: int(scene.steps[cell]))], None
    tired = len(game.runs) >= _LEAVE_AFTER
    missing = len(seen["keys"]) < len(game.colours)
    if game.explored < game.share and not tired:
        found = set(seen["explored"])
        places = [over.cell_at(*point) for number, point in enumerate(regions(over)) if number not in found]
        places = _within_reach(places, scene)
        if places:
            return [min(places, key=lambda cell: int(scene.steps[cell]))], None
    exits = _lines(game, scene, EXIT_SWITCHES | EXIT_TRIPS)
    if exits and (not missing or tired):
        return exits[0]
    shut = [found for found in _lines(game, scene, SWITCHES | TRIPS) if _unused(game, scene, found[1])]
    if shut:
        return shut[0]
    return exits[0] if exits else ([], None)


def _within_reach(cells: Sequence[int], scene: _Scene) -> list[int]:
    return [cell for cell in cells if cell >= 0 and scene.steps[cell] >= 0]


def _lines(game: Levels, scene: _Scene, specials: set[int]) -> list[tuple[list[int], Line]]:
    """Lines of some kinds that can be got at, the nearest first, with the cells in front of them."""
    found = []
    for line in game.level.lines:
        if line.special in specials and LOCKED_SWITCHES.get(line.special, "") in {"", *game.seen["keys"]}:
            cells = _within_reach(game.ground.cells_along(line, 44), scene)
            if cells:
                found.append((cells, line))
    return sorted(found, key=lambda item: min(int(scene.steps[cell]) for cell in item[0]))


def _unused(game: Levels, scene: _Scene, line: Line) -> bool:
    """Whether what a line moves is still as it was in the beginning."""
    level = game.level
    moved = (scene.floors != level.floors) | (scene.ceilings != level.ceilings)
    mine = level.tags == line.tag
    return bool(line.tag and mine.any() and not moved[mine].any())


def _work(game: Levels, scene: _Scene, line: Line) -> dict[str, Any]:
    """Use a switch, or step over a line."""
    _, angle = game.aim(_spot(game, line, scene.here))
    if abs(angle) > 12:
        return _action(**turn_by(angle))
    trip = line.special in TRIPS | EXIT_TRIPS | LIFT_TRIPS
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
    """Along the shortest way, as far as it is straight and open; open what is shut."""
    over = game.ground
    resting = over.cell_at(*scene.rest)
    slides = resting >= 0 and scene.steps[resting] >= 0 and _straight(game, scene, resting, scene.here)
    begin, first = (scene.rest, resting) if slides else (scene.here, scene.cell)
    path = _path(game, scene, goals, first)
    clear = 0
    while clear + 1 < len(path) and _joined(game, scene.possible, path[clear], path[clear + 1]):
        clear += 1
    blocked = clear + 1 < len(path)
    if blocked and math.dist(begin, over.centres[path[clear]]) < 44:
        return _open(game, scene, path, clear)
    far = _farthest(game, scene, path[: clear + 1], begin)
    return _go_to(game, _centre(game, path[far]), begin)


def _farthest(game: Levels, scene: _Scene, path: list[int], begin: Point) -> int:
    """The last place of a path, within sight of its beginning, that one can walk straight to."""
    low, high = min(2, len(path) - 1), min(len(path) - 1, 70)
    for index in range(high, low, -4 if high > 24 else -1):
        if _straight(game, scene, path[index], begin):
            return index
    return low


def _centre(game: Levels, cell: int) -> Point:
    x, y = game.ground.centres[cell]
    return float(x), float(y)


def _go_to(game: Levels, point: Point, begin: Point | None = None) -> dict[str, Any]:
    distance, angle = game.aim(point, begin)
    if abs(angle) > max(5.0, math.degrees(math.atan2(10, max(distance, 1.0)))):
        return _action(**turn_by(angle), move="forward" if abs(angle) < 12 and distance > 150 else "stay")
    return _action(move="forward", ms=int(min(max(distance / _PER_TIC * 29, 150), 1300)))


def _path(game: Levels, scene: _Scene, goals: list[int], first: int) -> list[int]:
    """Cells from the first to the nearest goal."""
    over = game.ground
    left = over.distances(goals, scene.hopeful)
    path = [first]
    jumps = dict(over.jumps)
    while left[path[-1]] > 0:
        here = path[-1]
        options = over.near[here][scene.hopeful[here]].tolist()
        options += [jumps[here]] if here in jumps else []
        path.append(min(options, key=lambda cell: int(left[cell]) if left[cell] >= 0 else 1 << 30))
    return path


def _joined(game: Levels, edges: Bools, a: int, b: int) -> bool:
    return bool(np.any((game.ground.near[a] == b) & edges[a]))


def _straight(game: Levels, scene: _Scene, goal: int, begin: Point) -> bool:
    """Whether a man, who is broader than a line, gets to a cell by walking straight at it."""
    over = game.ground
    here, there = np.array(begin), over.centres[goal]
    length = float(np.hypot(*(there - here)))
    count = int(length // (CELL / 2)) + 1
    aside = np.array([here[1] - there[1], there[0] - here[0]]) / max(length, 1.0)
    for offset in (-7.0, 0.0, 7.0):
        points = here + aside * offset + (there - here) * np.linspace(0, 1, count + 1)[1:, None]
        places = ((points - np.array(over.origin)) // CELL).astype(int)
        if np.any(places < 0) or np.any(places >= over.index.shape):
            return False
        cells = over.index[places[:, 0], places[:, 1]]
        if np.any(cells < 0) or np.any(over.tight[cells[2:]]):
            return False
        sectors = over.sector[cells]
        floors, ceilings = scene.floors[sectors], scene.ceilings[sectors]
        if np.any(np.diff(floors) > 24) or np.any(np.diff(floors) < -40) or np.any(ceilings - floors < 56):
            return False
    return True


def _open(game: Levels, scene: _Scene, path: list[int], clear: int) -> dict[str, Any]:
    """Stand before something shut and get it open."""
    over, level = game.ground, game.level
    own, other = int(over.sector[path[clear]]), int(over.sector[path[clear + 1]])
    between = int(over.via[path[clear]][over.near[path[clear]] == path[clear + 1]][0])
    beyond = _centre(game, path[min(clear + 3, len(path) - 1)])
    door = next((sector for sector in (between, other, own) if sector in over.doors), None)
    if door is not None and scene.ceilings[door] - scene.floors[door] < 56:
        if scene.ceilings[door] - scene.floors[door] > 4:
            return _action(ms=300)  # on its way up, or down again
        _, angle = game.aim(beyond)
        return _action(**turn_by(angle)) if abs(angle) > 25 else _action(move="forward", hands="use", ms=120)
    if own in over.lifts:
        return _action(ms=800)  # it comes up, or goes down, by itself
    if other in over.lifts:
        if level.floors[other] - scene.floors[other] > 4:
            return _action(ms=300)
        tag = int(level.tags[other])
        calls = [found for found in _lines(game, scene, LIFT_SWITCHES | LIFT_TRIPS) if found[1].tag == tag]
        if calls:
            cells, line = calls[0]
            if scene.cell in cells:
                return _work(game, scene, line)
            return _go_to(game, _centre(game, min(cells, key=lambda cell: int(scene.steps[cell]))))
    return _go_to(game, beyond)


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
