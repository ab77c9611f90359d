"""The study's geometry: where things are, where one can stand, what an eye sees. No rendering, no chance.

Lengths are metres, angles degrees unless a name says otherwise. x points east, y north, z up; the origin is on the
floor, below the middle of the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from environments.games.scene_case import Case

Vector = tuple[float, float, float]

VIEW_WIDTH, VIEW_HEIGHT = 448, 384
"""The size of the rendered view, in pixels."""
HALF_X, HALF_Y, HEIGHT = 3.0, 2.6, 2.7
"""Half the room's extent east-west and north-south, and its height."""
TABLE_RADIUS, TABLE_TOP = 0.72, 0.76
EYE_HEIGHT = 1.6
SPOTS: dict[str, tuple[float, float]] = {
    key: (x, y) for key, x, y in zip("qweasd", (-1.75, 0, 1.75) * 2, (1.6,) * 3 + (-1.6,) * 3, strict=True)
}
"""Where one can stand, by the key that walks there."""
PITCHES = (-50, -24, 0, 22)
"""Directions of looking down and up, in degrees above the horizon."""
FIELDS = (62.0, 34.0, 17.0)
"""Vertical fields of view of the zoom's steps, in degrees."""
ORBITS = (8, 28, 52, 78)
"""Elevations from which a thing can be looked at closely, in degrees."""
REACH = 2.9
"""How far away a thing may be to be picked for a closer look."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that can be looked at closely."""

    id: str
    centre: Vector
    normal: Vector
    """The direction in which it shows what it has to show, a unit vector."""
    size: float
    """Height of the detail that matters."""
    distance: float
    """How far away the eye is in a close look."""
    front: Vector | None = None
    """From where it is looked at first, a horizontal direction; None: from where one stands."""


@dataclass(frozen=True, slots=True)
class Eye:
    """A camera: position, heading (counterclockwise from east), pitch, vertical field of view."""

    position: Vector
    heading: float
    pitch: float
    field: float

    @property
    def axes(self) -> tuple[Vector, Vector, Vector]:
        """Unit vectors to the right, up and forward."""
        h, p = math.radians(self.heading), math.radians(self.pitch)
        right = (math.sin(h), -math.cos(h), 0.0)
        up = (-math.cos(h) * math.sin(p), -math.sin(h) * math.sin(p), math.cos(p))
        return right, up, (math.cos(h) * math.cos(p), math.sin(h) * math.cos(p), math.sin(p))

    @property
    def focal(self) -> float:
        """Pixels per unit of tangent."""
        return VIEW_HEIGHT / 2 / math.tan(math.radians(self.field) / 2)

    def project(self, point: Vector) -> tuple[float, float, float]:
        """Pixel x and y in the view and the depth in metres; a depth below 0 is behind the eye."""
        offset = _minus(point, self.position)
        right, up, forward = (_dot(offset, axis) for axis in self.axes)
        if forward < 0.05:
            return -1.0, -1.0, -1.0
        scale = self.focal / forward
        return VIEW_WIDTH / 2 + right * scale, VIEW_HEIGHT / 2 - up * scale, forward


def wall(side: int) -> tuple[Vector, Vector, float]:
    """Of a wall (0 north, 1 east, 2 south, 3 west): inward normal, right of who faces it, distance of the middle."""
    normal = ((0.0, -1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))[side]
    return normal, (-normal[1], normal[0], 0.0), HALF_Y if side % 2 == 0 else HALF_X


def on_wall(side: int, along: float, out: float, z: float) -> Vector:
    """A point `along` to the right of the wall's middle, `out` into the room."""
    normal, right, far = wall(side)
    x, y = (right[i] * along - normal[i] * (far - out) for i in range(2))
    return x, y, z


def place(index: int) -> tuple[int, float]:
    """Wall and offset of one of the eight places for furniture, two on every wall."""
    side, half = divmod(index, 2)
    return side, (1.0 if half else -1.0) * (1.95 if side % 2 == 0 else 1.7)


def seat_direction(seat: int) -> Vector:
    """From the table's middle to a seat, a unit vector."""
    normal = wall(seat)[0]
    return -normal[0], -normal[1], 0.0


def pile_centre(case: Case) -> tuple[float, float]:
    """Where things lie on top of each other: in a corner, clear of the trails, whose mud would confuse the order."""
    return (1.55, -1.55)[case.pile % 2], (1.45, -1.45)[case.pile // 2]


def trail(case: Case, *, leaving: bool) -> list[tuple[float, float, float]]:
    """Steps between an opening and the victim's chair, in walking order: x, y, direction in radians."""
    side = case.way_out if leaving else case.way_in
    seat = case.seats.index(case.victim)
    start, end = (90.0 - 90.0 * wall_side for wall_side in (side, seat))
    turn = (end - start + 180.0) % 360.0 - 180.0
    far, near = wall(side)[2] - 0.22, 1.5 if leaving else 1.32
    points = [(start, far - 0.1 * step) for step in range(int((far - near) / 0.1) + 1)]
    arc = max(1, int(abs(turn) / 4))
    points += [(start + turn * (step + 1) / arc, near) for step in range(arc)]
    path = [(r * math.cos(math.radians(a)), r * math.sin(math.radians(a))) for a, r in points]
    if leaving:
        path.reverse()
    return _steps(path)


def things(case: Case) -> tuple[Thing, ...]:
    """Everything that can be looked at closely, in a fixed order."""
    found = []
    for seat in range(4):
        x, y, _ = seat_direction(seat)
        found.append(Thing(f"seat-{seat}", (0.47 * x, 0.47 * y, TABLE_TOP + 0.05), (0, 0, 1), 0.1, 0.5, (x, y, 0)))
    for side, kind in enumerate(case.entries):
        found.append(Thing(kind, on_wall(side, 0, 0, 1.05), wall(side)[0], 0.9, 1.7, wall(side)[0]))
    x, y, _ = trail(case, leaving=False)[1]
    found.append(Thing("tracks-in", (x, y, 0.0), (0, 0, 1), 0.28, 0.75))
    x, y, _ = trail(case, leaving=True)[-2]
    found.append(Thing("tracks-out", (x, y, 0.0), (0, 0, 1), 0.28, 0.75))
    found.append(
        Thing("hand", on_wall(case.way_in, 0.78, 0, 1.35), wall(case.way_in)[0], 0.2, 0.6, wall(case.way_in)[0])
    )
    found.append(
        Thing("scrap", on_wall(case.way_in, -0.72, 0.03, 0.85), wall(case.way_in)[0], 0.12, 0.5, wall(case.way_in)[0])
    )
    px, py = pile_centre(case)
    found.append(Thing("pile", (px, py, 0.0), (0, 0, 1), 0.4, 0.95))
    shapes = {  # out of the wall, height, size, distance, whether it lies flat
        "vials": (0.16, 1.22, 0.14, 0.75, False),
        "memo": (0.36, 0.77, 0.2, 0.6, True),
        "coats": (0.14, 1.45, 0.5, 1.35, False),
        "clock": (0.27, 0.98, 0.2, 0.55, False),
        "wall-clock": (0.04, 1.75, 0.3, 0.75, False),
        "painting": (0.03, 1.55, 0.5, 1.1, False),
    }
    for index, kind in enumerate(case.furniture):
        if kind in shapes:
            out, z, size, distance, flat = shapes[kind]
            side, along = place(index)
            normal = (0.0, 0.0, 1.0) if flat else wall(side)[0]
            found.append(Thing(kind, on_wall(side, along, out, z), normal, size, distance, wall(side)[0]))
    return tuple(found)


def standing_eye(spot: str, heading: int, pitch: int, zoom: int) -> Eye:
    """The eye of somebody who stands on a spot; heading in eighths of a turn, pitch and zoom as indices."""
    x, y = SPOTS[spot]
    return Eye((x, y, EYE_HEIGHT), 45.0 * heading, PITCHES[pitch], FIELDS[zoom])


def close_eye(thing: Thing, spot: str, orbit: int, elevation: int, zoom: int) -> Eye:
    """The eye of somebody who bends over a thing, `orbit` eighths of a turn from where it is met, inside the room."""
    x, y, z = thing.centre
    dx, dy = thing.front[:2] if thing.front else (SPOTS[spot][0] - x, SPOTS[spot][1] - y)
    base = math.atan2(dy, dx)
    azimuth, height = base + math.radians(45 * orbit), math.radians(ORBITS[elevation])
    reach = thing.distance * math.cos(height)
    position = (
        _clamp(x + reach * math.cos(azimuth), HALF_X - 0.15),
        _clamp(y + reach * math.sin(azimuth), HALF_Y - 0.15),
        min(max(z + thing.distance * math.sin(height), 0.1), HEIGHT - 0.15),
    )
    to_x, to_y, to_z = _minus(thing.centre, position)
    pitch = math.degrees(math.atan2(to_z, math.hypot(to_x, to_y)))
    return Eye(position, math.degrees(math.atan2(to_y, to_x)), pitch, FIELDS[zoom] * 0.9)


def in_view(eye: Eye, thing: Thing, margin: int = 12) -> tuple[int, int] | None:
    """The pixel of a thing in the view, or None if it is outside, or hidden by the table."""
    x, y, depth = eye.project(thing.centre)
    inside = margin <= x < VIEW_WIDTH - margin and margin <= y < VIEW_HEIGHT - margin
    if depth < 0 or not inside or _behind_table(eye.position, thing.centre):
        return None
    return round(x), round(y)


def readable(eye: Eye, thing: Thing, facing: float = 0.5) -> bool:
    """Whether a thing is wholly in view, 60 pixels or larger, and turned to the eye (cosine of `facing` or more)."""
    offset = _minus(eye.position, thing.centre)
    away = math.sqrt(_dot(offset, offset))
    pixels = thing.size * eye.focal / away
    if pixels < 60.0 or _dot(offset, thing.normal) / away < facing:
        return False
    return in_view(eye, thing, min(round(pixels / 2), 150)) is not None  # whole, not cut by the edge


def reachable(eye: Eye, thing: Thing) -> tuple[int, int] | None:
    """The pixel of a thing that can be picked from here, or None."""
    offset = _minus(thing.centre, eye.position)
    return in_view(eye, thing) if _dot(offset, offset) <= REACH * REACH else None


def lifted(eye: Eye, thing: Thing, pixel: tuple[int, int]) -> tuple[int, int]:
    """A pixel above a thing that is seen at `pixel`, so that a mark there hides little of it."""
    height = thing.size * eye.focal / max(eye.project(thing.centre)[2], 0.3)
    return pixel[0], pixel[1] - min(round(height / 2) + 8, 70)


def _behind_table(eye: Vector, point: Vector) -> bool:
    """Whether the sight passes through the table's top on its way down."""
    if point[2] >= TABLE_TOP or eye[2] <= TABLE_TOP:
        return False
    share = (eye[2] - TABLE_TOP) / (eye[2] - point[2])
    x, y = (eye[i] + share * (point[i] - eye[i]) for i in range(2))
    return math.hypot(x, y) < TABLE_RADIUS


def _steps(path: list[tuple[float, float]]) -> list[tuple[float, float, float]]:
    """Left and right feet in turn, 0.36 m apart along a path of points."""
    steps: list[tuple[float, float, float]] = []
    walked, due = 0.0, 0.1
    for (ax, ay), (bx, by) in pairwise(path):
        length = math.hypot(bx - ax, by - ay)
        direction = math.atan2(by - ay, bx - ax)
        while walked + length >= due:
            share, side = (due - walked) / length, 0.1 if len(steps) % 2 else -0.1
            x, y = ax + share * (bx - ax), ay + share * (by - ay)
            steps.append((x - side * math.sin(direction), y + side * math.cos(direction), direction))
            due += 0.36
        walked += length
    return steps


def _minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _clamp(value: float, limit: float) -> float:
    return max(-limit, min(limit, value))
