"""A level of a Doom file: its lines, sectors and things, which sector a point lies in, and who sees what.

Only what experts and scores need of the classic format; coordinates are map units, angles degrees.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Point = tuple[float, float]

_IMPASSABLE = 0x0001
_NOT_SINGLE = 0x0010
_EASY = 0x0001
_LEAF = 0x8000


class Thing(NamedTuple):
    """Where something stands at the start."""

    x: int
    y: int
    angle: int
    kind: int
    """The number of its type, the editor's."""
    flags: int

    @property
    def in_easy_game(self) -> bool:
        """Whether a single player meets it at the two lowest skills."""
        return bool(self.flags & _EASY) and not self.flags & _NOT_SINGLE


class Line(NamedTuple):
    """A wall, or the border of two sectors."""

    start: int
    end: int
    flags: int
    special: int
    tag: int
    right: int
    """The sector on its right; a line is used from there."""
    left: int
    """The sector on its left, or -1 where there is none."""

    @property
    def solid(self) -> bool:
        """Whether nobody walks through it, whatever the heights."""
        return self.left < 0 or bool(self.flags & _IMPASSABLE)


@dataclass(frozen=True, eq=False)
class Level:
    """One map of the file, as it is before anybody has moved anything."""

    name: str
    vertices: Floats
    """(n, 2)."""
    lines: list[Line]
    floors: Floats
    """Heights, one for each sector."""
    ceilings: Floats
    specials: Ints
    """What is particular about each sector."""
    tags: Ints
    things: list[Thing]
    _nodes: Ints
    _leaf_sectors: Ints

    def sectors_at(self, points: Floats) -> Ints:
        """The sector of each point, (n, 2) to (n,); for points outside the level some sector or other."""
        found = np.zeros(len(points), dtype=np.int64)
        pending = [(len(self._nodes) - 1, np.arange(len(points)))]
        while pending:
            node, members = pending.pop()
            if not len(members):
                continue
            if node & _LEAF:
                found[members] = self._leaf_sectors[node & ~_LEAF]
                continue
            x, y, dx, dy, right, left = self._nodes[node]
            on_left = (points[members, 1] - y) * dx > (points[members, 0] - x) * dy
            pending += [(int(left), members[on_left]), (int(right), members[~on_left])]
        return found

    def ends(self, line: Line) -> tuple[Point, Point]:
        """Both ends of a line."""
        (ax, ay), (bx, by) = self.vertices[line.start], self.vertices[line.end]
        return (float(ax), float(ay)), (float(bx), float(by))

    def sees(self, eye: Point, target: Point, heights: tuple[Floats, Floats], eye_z: float, target_z: float) -> bool:
        """Whether nothing but air is on the line between two points, with floors and ceilings as they are now."""
        index, way = self._borders_crossed(eye, target)
        right, left = self._sides[index, 0], self._sides[index, 1]
        if np.any(left < 0):
            return False
        floors, ceilings = heights
        z = eye_z + way * (target_z - eye_z)
        above = z > np.maximum(floors[right], floors[left])
        return bool(np.all(above & (z < np.minimum(ceilings[right], ceilings[left]))))

    def open_between(self, a: Point, b: Point) -> bool:
        """Whether no outer wall is between two points, whatever the heights."""
        return bool(np.all(self._sides[self._borders_crossed(a, b)[0], 1] >= 0))

    def sectors_between(self, a: Point, b: Point) -> list[int]:
        """The sectors that the way from a to b enters or leaves."""
        return [int(sector) for sector in np.unique(self._sides[self._borders_crossed(a, b)[0]]) if sector >= 0]

    @property
    def _sides(self) -> Ints:
        return _line_tables(self)[1]

    def _borders_crossed(self, a: Point, b: Point) -> tuple[Ints, Floats]:
        """Indices of the lines between different sectors that the way from a to b crosses, and where (0 to 1)."""
        ends, _ = _line_tables(self)
        p, d = np.array(a), np.array(b) - np.array(a)
        start, along = ends[:, 0], ends[:, 1] - ends[:, 0]
        denominator = d[0] * along[:, 1] - d[1] * along[:, 0]
        safe = np.where(denominator == 0, 1.0, denominator)
        offset = start - p
        t = (offset[:, 0] * along[:, 1] - offset[:, 1] * along[:, 0]) / safe
        u = (offset[:, 0] * d[1] - offset[:, 1] * d[0]) / safe
        crossed = (denominator != 0) & (t > 0) & (t < 1) & (u >= 0) & (u <= 1)
        index = np.nonzero(crossed)[0]
        return index, t[index]


@lru_cache(maxsize=16)
def read_level(wad: str, name: str) -> Level:
    """Read a map from a file in the classic format.

    Raises:
        ValueError: if the file is not of that kind, or has no such map.
    """
    data = Path(wad).read_bytes()
    if data[:4] not in (b"IWAD", b"PWAD"):
        raise ValueError(f"{Path(wad).name}: expected a file that begins with IWAD or PWAD, got {data[:4]!r}")
    count, directory = struct.unpack_from("<ii", data, 4)
    entries = [struct.unpack_from("<ii8s", data, directory + 16 * index) for index in range(count)]
    names = [label.rstrip(b"\0").decode("ascii", "replace") for _, _, label in entries]
    if name not in names:
        raise ValueError(f"{Path(wad).name}: there is no map {name!r}")
    first = names.index(name) + 1
    lumps = {names[i]: data[entries[i][0] : entries[i][0] + entries[i][1]] for i in range(first, first + 10)}

    sides = [row[5] for row in struct.iter_unpack("<hh8s8s8sH", lumps["SIDEDEFS"])]
    lines = [
        Line(a, b, flags, special, tag, sides[right], sides[left] if left != 0xFFFF else -1)
        for a, b, flags, special, tag, right, left in struct.iter_unpack("<7H", lumps["LINEDEFS"])
    ]
    sectors = list(struct.iter_unpack("<hh8s8sHHH", lumps["SECTORS"]))
    nodes = [(*row[:4], *row[12:]) for row in struct.iter_unpack("<12h2H", lumps["NODES"])]
    segs = list(struct.iter_unpack("<6H", lumps["SEGS"]))
    leaves = [segs[begin] for _, begin in struct.iter_unpack("<HH", lumps["SSECTORS"])]
    leaf_sectors = [lines[seg[3]].left if seg[4] else lines[seg[3]].right for seg in leaves]
    return Level(
        name=name,
        vertices=np.array(list(struct.iter_unpack("<hh", lumps["VERTEXES"])), dtype=np.float64),
        lines=lines,
        floors=np.array([row[0] for row in sectors], dtype=np.float64),
        ceilings=np.array([row[1] for row in sectors], dtype=np.float64),
        specials=np.array([row[5] for row in sectors], dtype=np.int64),
        tags=np.array([row[6] for row in sectors], dtype=np.int64),
        things=[Thing(*row) for row in struct.iter_unpack("<hhHHH", lumps["THINGS"])],
        _nodes=np.array(nodes, dtype=np.int64),
        _leaf_sectors=np.array(leaf_sectors, dtype=np.int64),
    )


@lru_cache(maxsize=16)
def _line_tables(level: Level) -> tuple[Floats, Ints]:
    """Ends (n, 2, 2) and sectors (n, 2) of the lines that can hide something: between different sectors."""
    borders = [line for line in level.lines if line.left != line.right]
    ends = np.array([level.vertices[[line.start, line.end]] for line in borders])
    return ends, np.array([(line.right, line.left) for line in borders], dtype=np.int64)
