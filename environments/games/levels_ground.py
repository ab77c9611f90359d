"""Where one can walk in a level: a grid over its floors, and ways over it with doors, lifts and keys.

A cell is a square of `CELL` map units. Two neighbours are joined if a man can step from one floor to the other.
Floors and ceilings move, so the question is asked with a range: a lift's floor is anywhere between its stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from environments.games.doom_map import Floats, Ints, Level, Line, Point

CELL = 16
_RADIUS, _HEIGHT, _STEP = 16.0, 56.0, 24.0
"""Of a man: half his width, the room he needs to stand, the highest step he takes."""
Bools = NDArray[np.bool_]

MANUAL_DOORS = {
    1: "", 31: "", 117: "", 118: "", 26: "blue", 32: "blue", 27: "yellow", 34: "yellow", 28: "red", 33: "red",
}  # fmt: skip
"""Doors that open when they are used, and the key that they ask for."""
LOCKED_SWITCHES = {99: "blue", 133: "blue", 134: "red", 135: "red", 136: "yellow", 137: "yellow"}
_DOOR_SWITCHES = {29, 61, 63, 103, 111, 112, 114, 115, *LOCKED_SWITCHES}
_DOOR_TRIPS = {2, 4, 86, 90, 105, 106, 108, 109}
LIFT_SWITCHES = {21, 62, 122, 123}
LIFT_TRIPS = {10, 88, 120, 121}
_FLOOR_SWITCHES = {7, 14, 15, 18, 20, 23, 45, 55, 60, 64, 65, 66, 67, 68, 69, 70, 71, 101, 102, 127, 131, 132, 140}
_FLOOR_TRIPS = {5, 8, 19, 22, 30, 36, 37, 38, 53, 56, 58, 59, 82, 83, 84, 87, 91, 92, 93, 94, 95, 96, 98, 100, 119}
_FLOOR_TRIPS |= {128, 129, 130}
TELEPORTS = {39, 97}
EXIT_SWITCHES, EXIT_TRIPS = {11, 51}, {52, 124}
SWITCHES = _DOOR_SWITCHES | _FLOOR_SWITCHES
TRIPS = _DOOR_TRIPS | _FLOOR_TRIPS
KEYS = {5: "blue", 40: "blue", 6: "yellow", 39: "yellow", 13: "red", 38: "red"}
"""Things that are keys."""
_TELEPORT_GOAL = 14
_SOLID_THINGS = {
    2035, 25, 26, 27, 28, 29, 30, 31, 32, 33, 35, 36, 37, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55,
    56, 57, 70, 73, 74, 75, 76, 77, 78, 85, 86, 2028,
}  # fmt: skip
_AROUND = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)]


@dataclass(frozen=True, eq=False)
class Heights:
    """What floors and ceilings may be when somebody comes by; one number for each sector."""

    lowest: Floats
    highest: Floats
    ceiling: Floats


@dataclass(frozen=True, eq=False)
class Ground:
    """The cells of a level, numbered, with their neighbours."""

    level: Level
    centres: Floats
    """(n, 2)."""
    sector: Ints
    """(n,) the sector of each cell."""
    near: Ints
    """(n, 8) the neighbours, -1 for none."""
    via: Ints
    """(n, 8) the sector half-way to each neighbour: doors may be thinner than a cell."""
    tight: Bools
    """(n,) cells at the foot of a ledge, where a man only gets by dropping from it."""
    jumps: list[tuple[int, int]]
    """Teleports: from a cell on the line to the cell where one appears."""
    index: Ints
    """(columns, rows) number of the cell at a place of the grid, -1 for none."""
    origin: Point
    start: int
    doors: dict[int, str]
    """Sectors that are doors opened by hand, with the key they need."""
    lifts: frozenset[int]
    moving: frozenset[int]
    """Sectors whose floor or ceiling something moves, from afar or by hand."""

    def cell_at(self, x: float, y: float) -> int:
        """The cell at a point, or the nearest one close by; -1 if there is none."""
        column, row = int((x - self.origin[0]) // CELL), int((y - self.origin[1]) // CELL)
        best, best_distance = -1, 1e9
        for dx in range(-2, 3):
            for dy in range(-2, 3):
                if 0 <= column + dx < self.index.shape[0] and 0 <= row + dy < self.index.shape[1]:
                    cell = int(self.index[column + dx, row + dy])
                    if cell >= 0:
                        distance = float(np.hypot(self.centres[cell, 0] - x, self.centres[cell, 1] - y))
                        if distance < best_distance:
                            best, best_distance = cell, distance
        return best

    def open_edges(self, heights: Heights) -> Bools:
        """(n, 8) whether one can step from a cell to each neighbour."""
        here, there = self.sector[:, None], np.where(self.near >= 0, self.sector[self.near], self.sector[:, None])
        fits = heights.ceiling - heights.lowest >= _HEIGHT

        def step(a: Ints, b: Ints) -> Bools:
            rises = heights.lowest[b] <= heights.highest[a] + _STEP
            low = np.minimum(heights.ceiling[a], heights.ceiling[b])
            room = low - np.maximum(heights.lowest[a], heights.lowest[b]) >= _HEIGHT
            joined: Bools = (a == b) | (rises & room & fits[a] & fits[b])
            return joined

        tight = np.where(self.near >= 0, self.tight[self.near], False)
        drops = heights.highest[here] - heights.lowest[there] > _STEP
        stands = ~tight | self.tight[:, None] | drops
        edges: Bools = (self.near >= 0) & stands & step(here, self.via) & step(self.via, there)
        return edges

    def distances(self, goals: Iterable[int], edges: Bools) -> Ints:
        """(n,) steps from each cell to the nearest goal, -1 where there is no way."""
        # Backwards: a drop leads down only, so from the goals one walks against the edges.
        return self._spread(goals, edges, backwards=True)

    def reachable(self, start: int, edges: Bools) -> Ints:
        """(n,) steps from a cell to each other one, -1 where there is no way."""
        return self._spread([start], edges, backwards=False)

    def _spread(self, sources: Iterable[int], edges: Bools, *, backwards: bool) -> Ints:
        steps = np.full(len(self.centres), -1, dtype=np.int64)
        jumps: dict[int, list[int]] = {}
        for begin, end in self.jumps:
            jumps.setdefault(end if backwards else begin, []).append(begin if backwards else end)
        frontier = np.array(sorted(set(sources)), dtype=np.int64)
        steps[frontier] = 0
        count = 0
        while len(frontier):
            count += 1
            neighbours = self.near[frontier]
            if backwards:
                # the edge from the neighbour to here is the neighbour's opposite one
                back = np.arange(7, -1, -1)
                passable = (neighbours >= 0) & edges[neighbours, back[None, :]]
            else:
                passable = edges[frontier]
            found = neighbours[passable]
            extra = [cell for source in frontier.tolist() if source in jumps for cell in jumps[source]]
            found = np.unique(np.concatenate([found, np.array(extra, dtype=np.int64)]))
            frontier = found[steps[found] < 0]
            steps[frontier] = count
        return steps

    def now(self, floors: Floats, ceilings: Floats, keys: Iterable[str]) -> Heights:
        """Heights as they are, but doors that one can open by hand are open and lifts anywhere between their stops."""
        around_low, _, around_top = _surroundings(self.level)
        lowest, highest, ceiling = floors.copy(), floors.copy(), ceilings.copy()
        for sector in self.lifts:
            lowest[sector] = min(lowest[sector], around_low[sector])
            highest[sector] = max(self.level.floors[sector], highest[sector])
        owned = {"", *keys}
        for sector, key in self.doors.items():
            if key in owned:
                ceiling[sector] = max(ceiling[sector], around_top[sector])
        return Heights(lowest, highest, ceiling)

    def ever(self) -> Heights:
        """What heights can be at all, whatever must be done for it."""
        around_low, around_high, around_top = _surroundings(self.level)
        lowest, highest = self.level.floors.copy(), self.level.floors.copy()
        ceiling = self.level.ceilings.copy()
        for sector in self.moving:
            lowest[sector] = min(lowest[sector], around_low[sector])
            highest[sector] = max(highest[sector], around_high[sector])
            ceiling[sector] = max(ceiling[sector], around_top[sector])
        return Heights(lowest, highest, ceiling)

    def cells_along(self, line: Line, reach: float) -> list[int]:
        """Cells in front of a line, within `reach` of its middle: where one stands to use or to cross it."""
        (ax, ay), (bx, by) = self.level.ends(line)
        middle = np.array([(ax + bx) / 2, (ay + by) / 2])
        length = max(float(np.hypot(bx - ax, by - ay)), 1.0)
        normal = np.array([by - ay, ax - bx]) / length  # to the right, where a line is used from
        offset = self.centres - middle
        across, along = offset @ normal, np.abs(offset @ np.array([bx - ax, by - ay]) / length)
        return [int(c) for c in np.nonzero((across > 0) & (across <= reach) & (along <= length / 2))[0]]


@lru_cache(maxsize=16)
def ground(level: Level) -> Ground:
    """The cells of a level."""
    low = level.vertices.min(axis=0) - CELL
    columns, rows = ((level.vertices.max(axis=0) - low) // CELL + 2).astype(int)
    xs = low[0] + CELL * (np.arange(columns) + 0.5)
    ys = low[1] + CELL * (np.arange(rows) + 0.5)
    free = np.ones((columns, rows), dtype=bool)
    for line in level.lines:
        if line.solid:
            columns_near, rows_near, near = _near(xs, ys, *level.ends(line), _RADIUS)
            free[columns_near, rows_near] &= ~near
    for thing in level.things:
        if thing.kind in _SOLID_THINGS and thing.in_easy_game:
            place = (float(thing.x), float(thing.y))
            columns_near, rows_near, near = _near(xs, ys, place, place, _RADIUS + 14)
            free[columns_near, rows_near] &= ~near
    places = np.argwhere(free)
    centres = np.stack([xs[places[:, 0]], ys[places[:, 1]]], axis=1)
    index = np.full((columns, rows), -1, dtype=np.int64)
    index[places[:, 0], places[:, 1]] = np.arange(len(places))
    sector = level.sectors_at(centres)
    neighbours = np.full((len(places), 8), -1, dtype=np.int64)
    for direction, (dx, dy) in enumerate(_AROUND):
        x, y = places[:, 0] + dx, places[:, 1] + dy
        inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
        neighbours[inside, direction] = index[x[inside], y[inside]]
    via = np.empty_like(neighbours)
    for direction, (dx, dy) in enumerate(_AROUND[:4]):
        via[:, direction] = level.sectors_at(centres + np.array([dx, dy]) * CELL / 2)
        via[:, 7 - direction] = level.sectors_at(centres - np.array([dx, dy]) * CELL / 2)
    doors = {line.left: MANUAL_DOORS[line.special] for line in level.lines if line.special in MANUAL_DOORS}
    lifts = _tagged(level, LIFT_SWITCHES | LIFT_TRIPS)
    moving = lifts | _tagged(level, SWITCHES | TRIPS | {46}) | frozenset(doors)
    floor = np.full((columns, rows), np.inf)
    floor[places[:, 0], places[:, 1]] = level.floors[sector]
    tight = _at_ledges(level, xs, ys, floor, moving)[places[:, 0], places[:, 1]]
    raw = Ground(
        level=level, centres=centres, sector=sector, near=neighbours, via=via, tight=tight, jumps=[], index=index,
        origin=(float(low[0]), float(low[1])), start=-1, doors=doors, lifts=lifts,
        moving=moving,
    )  # fmt: skip
    start = next(thing for thing in level.things if thing.kind == 1)
    return _pruned(replace(raw, start=raw.cell_at(start.x, start.y), jumps=_teleports(raw)))


def _pruned(whole: Ground) -> Ground:
    """Without the cells that nobody ever gets to: two thirds, most of them outside the walls."""
    kept = np.nonzero(whole.reachable(whole.start, whole.open_edges(whole.ever())) >= 0)[0]
    number = np.full(len(whole.centres) + 1, -1, dtype=np.int64)  # the last one, for -1, stays -1
    number[kept] = np.arange(len(kept))
    jumps = [(int(number[a]), int(number[b])) for a, b in whole.jumps if number[a] >= 0 and number[b] >= 0]
    return replace(
        whole, centres=whole.centres[kept], sector=whole.sector[kept], near=number[whole.near[kept]],
        via=whole.via[kept], tight=whole.tight[kept], jumps=jumps, index=number[whole.index],
        start=int(number[whole.start]),
    )  # fmt: skip


def _teleports(raw: Ground) -> list[tuple[int, int]]:
    level = raw.level
    goals = [thing for thing in level.things if thing.kind == _TELEPORT_GOAL]
    sectors = level.sectors_at(np.array([(goal.x, goal.y) for goal in goals]).reshape(-1, 2))
    jumps = []
    for line in level.lines:
        if line.special not in TELEPORTS:
            continue
        for goal, sector in zip(goals, sectors, strict=True):
            if level.tags[sector] == line.tag:
                end = raw.cell_at(goal.x, goal.y)
                jumps += [(cell, end) for cell in raw.cells_along(line, CELL * 1.5) if end >= 0]
    return jumps


def _tagged(level: Level, specials: set[int]) -> frozenset[int]:
    tags = {line.tag for line in level.lines if line.special in specials and line.tag}
    return frozenset(int(sector) for sector in np.nonzero(np.isin(level.tags, list(tags)))[0])


@lru_cache(maxsize=16)
def _surroundings(level: Level) -> tuple[Floats, Floats, Floats]:
    """For each sector the lowest and highest floor and the highest ceiling of its neighbours."""
    low, high = level.floors.copy(), level.floors.copy()
    top = level.ceilings.copy()
    for line in level.lines:
        if line.left >= 0:
            for one, other in ((line.left, line.right), (line.right, line.left)):
                low[one] = min(low[one], level.floors[other])
                high[one] = max(high[one], level.floors[other])
                top[one] = max(top[one], level.ceilings[other])
    return low, high, top


def _at_ledges(level: Level, xs: Floats, ys: Floats, floor: Floats, moving: frozenset[int]) -> Bools:
    """Cells, on the grid, too near to a step that is too high for a man, on the side from which it is too high."""
    tight = np.zeros(floor.shape, dtype=bool)
    for line in level.lines:
        if line.solid or {line.left, line.right} & moving:
            continue
        sides = [line.left, line.right]
        high, low = level.floors[sides].max(), level.floors[sides].min()
        room = level.ceilings[sides].min() - high
        if room < _HEIGHT or high - low > _STEP:
            columns, rows, near = _near(xs, ys, *level.ends(line), _RADIUS)
            below = near if room < _HEIGHT else near & (floor[columns, rows] < high - _STEP)
            tight[columns, rows] |= below
    return tight


def _near(xs: Floats, ys: Floats, a: Point, b: Point, radius: float) -> tuple[slice, slice, Bools]:
    """The part of the grid about the line from a to b, and which of its cells are nearer than `radius`."""
    left, right = np.searchsorted(xs, [min(a[0], b[0]) - radius, max(a[0], b[0]) + radius])
    bottom, top = np.searchsorted(ys, [min(a[1], b[1]) - radius, max(a[1], b[1]) + radius])
    x, y = xs[left:right, None], ys[None, bottom:top]
    dx, dy = b[0] - a[0], b[1] - a[1]
    along = np.clip(((x - a[0]) * dx + (y - a[1]) * dy) / max(dx * dx + dy * dy, 1.0), 0.0, 1.0)
    distance = np.hypot(x - a[0] - along * dx, y - a[1] - along * dy)
    near: Bools = distance < radius
    return slice(left, right), slice(bottom, top), near


REGION = 128
"""The side of the squares that exploration is counted in, in map units."""
_LEAST_CELLS = 10
"""A region with less ground than this is a splinter behind some edge, and does not count."""


@lru_cache(maxsize=16)
def regions(over: Ground) -> Floats:
    """(n, 2) one point for each square of the level in which there is ground to be reached: the most central cell."""
    squares: dict[tuple[int, int], list[int]] = {}
    for cell, (x, y) in enumerate(over.centres.tolist()):
        squares.setdefault((int(x // REGION), int(y // REGION)), []).append(cell)
    points = []
    for square in sorted(squares):
        cells = over.centres[squares[square]]
        if len(cells) >= _LEAST_CELLS:
            points.append(cells[np.argmin(np.abs(cells - cells.mean(axis=0)).sum(axis=1))])
    return np.array(points)
