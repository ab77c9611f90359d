"""Where one can walk in a level: a grid over its floors, and ways over it with doors, lifts and keys.

A cell is a place, `CELL` map units from the next, at which a man may stand: his box, 32 units wide and square to
the axes as the engine's is, cuts no wall. He stands on the highest floor that his box touches, under the lowest
ceiling. Two neighbours are joined if he can step from one floor to the other. Floors and ceilings move, so the
question is asked with a range: a lift's floor is anywhere between its stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from environments.games.doom_map import Floats, Ints, Level, Line, Point

CELL = 16
_RADIUS, _HEIGHT, STEP = 16.0, 56.0, 24.0
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
_HARMFUL = (4, 5, 7, 11, 16)
"""Kinds of sectors whose floor hurts."""
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
    """(n,) the sector under the middle of each cell."""
    near: Ints
    """(n, 8) the neighbours, -1 for none."""
    touched: Ints
    """(m,) the sectors that a man touches at the cells: those of the first cell, of the second, and so on."""
    touched_from: Ints
    """(n,) where in `touched` those of each cell begin."""
    harmful: Bools
    """(n,) where the floor hurts."""
    jumps: list[tuple[int, int]]
    """Teleports: from a cell on the line to the cell where one appears."""
    index: Ints
    """(columns, rows) number of the cell at a place of the grid, -1 for none."""
    roomy: Ints
    """The same, with the cell next to each place that has none of its own: between cells there is a little room."""
    origin: Point
    start: int
    doors: dict[int, str]
    """Sectors that are doors opened by hand, with the key they need."""
    lifts: frozenset[int]
    gates: frozenset[int]
    """All sectors that are doors, those opened from afar too."""
    moving: frozenset[int]
    """Sectors whose floor or ceiling something moves, from afar or by hand."""

    def cell_at(self, x: float, y: float) -> int:
        """The cell at a point, or the nearest one close by; -1 if there is none."""
        column, row = int((x - self.origin[0]) // CELL), int((y - self.origin[1]) // CELL)
        if 0 <= column < self.index.shape[0] and 0 <= row < self.index.shape[1] and self.roomy[column, row] >= 0:
            return int(self.roomy[column, row])
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

    def under(self, floors: Floats) -> Floats:
        """(n,) the floor that a man stands on at each cell, for the floors of the sectors."""
        stands: Floats = np.maximum.reduceat(floors[self.touched], self.touched_from)
        return stands

    def above(self, ceilings: Floats) -> Floats:
        """(n,) the ceiling above him."""
        ceiling: Floats = np.minimum.reduceat(ceilings[self.touched], self.touched_from)
        return ceiling

    def open_edges(self, heights: Heights) -> Bools:
        """(n, 8) whether one can step from a cell to each neighbour."""
        lowest, highest = self.under(heights.lowest), self.under(heights.highest)
        ceiling = self.above(heights.ceiling)
        fits = ceiling - lowest >= _HEIGHT
        rises = lowest[self.near] <= highest[:, None] + STEP
        room = ceiling[self.near] - lowest[:, None] >= _HEIGHT
        edges: Bools = (self.near >= 0) & rises & room & fits[:, None] & fits[self.near]
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
        first = np.empty(len(self.centres), dtype=np.int64)
        jumps: dict[int, list[int]] = {}
        for begin, end in self.jumps:
            jumps.setdefault(end if backwards else begin, []).append(begin if backwards else end)
        edge = np.zeros(len(self.centres), dtype=bool)
        edge[list(jumps)] = True
        if backwards:  # the edge from a neighbour to here is the neighbour's opposite one
            edges = (self.near >= 0) & edges[self.near, np.arange(7, -1, -1)[None, :]]
        frontier = np.array(sorted(set(sources)), dtype=np.int64)
        steps[frontier] = 0
        count = 0
        while len(frontier):
            count += 1
            found = self.near[frontier][edges[frontier]]
            if edge[frontier].any():
                extra = [cell for source in frontier[edge[frontier]].tolist() for cell in jumps[source]]
                found = np.concatenate([found, np.array(extra, dtype=np.int64)])
            found = found[steps[found] < 0]
            steps[found] = count
            order = np.arange(len(found))
            first[found] = order  # each cell once: faster than sorting
            frontier = found[first[found] == order]
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

    def cells_along(self, line: Line, reach: float) -> tuple[int, ...]:
        """Cells in front of a line, within `reach` of it: where one stands to use or to cross it."""
        return _cells_along(self, line, reach)

    def _cells_along(self, line: Line, reach: float) -> tuple[int, ...]:
        (ax, ay), (bx, by) = self.level.ends(line)
        middle = np.array([(ax + bx) / 2, (ay + by) / 2])
        length = max(float(np.hypot(bx - ax, by - ay)), 1.0)
        normal = np.array([by - ay, ax - bx]) / length  # to the right, where a line is used from
        offset = self.centres - middle
        across, along = offset @ normal, np.abs(offset @ np.array([bx - ax, by - ay]) / length)
        return tuple(np.nonzero((across > 0) & (across <= reach) & (along <= length / 2))[0].tolist())


@lru_cache(maxsize=4096)
def _cells_along(over: Ground, line: Line, reach: float) -> tuple[int, ...]:
    return over._cells_along(line, reach)


@lru_cache(maxsize=16)
def ground(level: Level) -> Ground:
    """The cells of a level."""
    low = level.vertices.min(axis=0) - CELL
    columns, rows = ((level.vertices.max(axis=0) - low) // CELL + 2).astype(int)
    xs = low[0] + CELL * (np.arange(columns) + 0.5)
    ys = low[1] + CELL * (np.arange(rows) + 0.5)
    places = np.argwhere(_free(level, xs, ys))
    centres = np.stack([xs[places[:, 0]], ys[places[:, 1]]], axis=1)
    index = np.full((columns, rows), -1, dtype=np.int64)
    index[places[:, 0], places[:, 1]] = np.arange(len(places))
    sector = level.sectors_at(centres)
    neighbours = np.full((len(places), 8), -1, dtype=np.int64)
    for direction, (dx, dy) in enumerate(_AROUND):
        x, y = places[:, 0] + dx, places[:, 1] + dy
        inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
        neighbours[inside, direction] = index[x[inside], y[inside]]
    touched, touched_from = _touched(level, xs, ys, index, sector)
    by_hand = [line for line in level.lines if line.special in MANUAL_DOORS]
    shut = level.ceilings - level.floors <= 8  # what stands ajar is a fitting, opened from one side at most
    doors = {line.left: MANUAL_DOORS[line.special] for line in by_hand if shut[line.left]}
    lifts = _tagged(level, LIFT_SWITCHES | LIFT_TRIPS)
    raw = Ground(
        level=level, centres=centres, sector=sector, near=neighbours, touched=touched, touched_from=touched_from,
        harmful=np.isin(level.specials[sector], _HARMFUL), jumps=[], index=index, roomy=index,
        origin=(float(low[0]), float(low[1])), start=-1, doors=doors, lifts=lifts,
        gates=frozenset(doors) | _tagged(level, _DOOR_SWITCHES | _DOOR_TRIPS | {46}),
        moving=lifts | _tagged(level, SWITCHES | TRIPS | {46}) | frozenset(doors),
    )  # fmt: skip
    start = next(thing for thing in level.things if thing.kind == 1)
    return _pruned(replace(raw, start=raw.cell_at(start.x, start.y), jumps=_teleports(raw)))


def _free(level: Level, xs: Floats, ys: Floats) -> Bools:
    """The places of the grid at which a man's box cuts no wall and no pillar."""
    free = np.ones((len(xs), len(ys)), dtype=bool)
    for line in level.lines:
        if line.solid:
            columns, rows, cut = _cut(xs, ys, *level.ends(line), _RADIUS)
            free[columns, rows] &= ~cut
    for thing in level.things:
        if thing.kind in _SOLID_THINGS and thing.in_easy_game:
            place = (float(thing.x), float(thing.y))
            columns, rows, cut = _cut(xs, ys, place, place, _RADIUS + 14)
            free[columns, rows] &= ~cut
    return free


def _touched(level: Level, xs: Floats, ys: Floats, index: Ints, sector: Ints) -> tuple[Ints, Ints]:
    """Which sectors a man touches at each cell, and where in the list those of each cell begin."""
    cells, sectors = [np.arange(len(sector))], [sector]
    for line in level.lines:
        if line.left >= 0 and line.left != line.right:
            columns, rows, cut = _cut(xs, ys, *level.ends(line), _RADIUS)
            here = index[columns, rows][cut]
            here = here[here >= 0]
            cells += [here, here]
            sectors += [np.full(len(here), line.left), np.full(len(here), line.right)]
    count = len(level.floors)
    pairs = np.unique(np.concatenate(cells) * count + np.concatenate(sectors))
    return pairs % count, np.searchsorted(pairs, np.arange(len(sector)) * count)


def _pruned(whole: Ground) -> Ground:
    """Without the cells that nobody ever gets to: two thirds, most of them outside the walls."""
    reached = whole.reachable(whole.start, whole.open_edges(whole.ever())) >= 0
    kept = np.nonzero(reached)[0]
    number = np.full(len(whole.centres) + 1, -1, dtype=np.int64)  # the last one, for -1, stays -1
    number[kept] = np.arange(len(kept))
    jumps = [(int(number[a]), int(number[b])) for a, b in whole.jumps if number[a] >= 0 and number[b] >= 0]
    counts = np.diff(np.append(whole.touched_from, len(whole.touched)))
    touched = whole.touched[np.repeat(reached, counts)]
    return replace(
        whole, centres=whole.centres[kept], sector=whole.sector[kept], near=number[whole.near[kept]],
        touched=touched, touched_from=np.concatenate([[0], np.cumsum(counts[kept])[:-1]]).astype(np.int64),
        harmful=whole.harmful[kept], jumps=jumps, index=number[whole.index],
        roomy=_roomy(number[whole.index]), start=int(number[whole.start]),
    )  # fmt: skip


def _roomy(index: Ints) -> Ints:
    """The cells' numbers, and those of neighbours where there is none."""
    roomy = index.copy()
    for axis, shift in ((0, 1), (0, -1), (1, 1), (1, -1)):
        beside = np.roll(index, shift, axis=axis)
        roomy = np.where(roomy < 0, beside, roomy)
    return roomy


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


def _cut(xs: Floats, ys: Floats, a: Point, b: Point, radius: float) -> tuple[slice, slice, Bools]:
    """The part of the grid about the line from a to b, and at which of its places a box of that radius cuts it."""
    left, right = np.searchsorted(xs, [min(a[0], b[0]) - radius, max(a[0], b[0]) + radius])
    bottom, top = np.searchsorted(ys, [min(a[1], b[1]) - radius, max(a[1], b[1]) + radius])
    x, y = xs[left:right, None], ys[None, bottom:top]
    dx, dy = b[0] - a[0], b[1] - a[1]
    inside = (np.abs(2 * x - a[0] - b[0]) < 2 * radius + abs(dx)) & (np.abs(2 * y - a[1] - b[1]) < 2 * radius + abs(dy))
    cut: Bools = inside & (np.abs((x - a[0]) * dy - (y - a[1]) * dx) <= radius * (abs(dx) + abs(dy)) - 1e-6)
    return slice(left, right), slice(bottom, top), cut if dx or dy else inside


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
