"""The physics of Slingshot: blocks, imps and one stone, on pymunk, from rest to rest.

Chipmunk keeps contacts from one step to the next (warm starting) and collision hints in its tree, and
neither can be saved. So no space outlives a throw: each throw builds one from plain numbers, in the order
of the list, and plays it to rest. The same scene and the same throw then give the same bits, also in
another process.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pymunk

from environments.drawing import Box

Kind = Literal["wood", "stone", "imp"]

GRAVITY = 420.0
"""Pixels per second squared, downwards."""
SPEED = 640.0
"""Of a stone thrown with the full pull, in pixels per second."""
STONE_RADIUS = 10
IMP_RADIUS = 13
"""From the middle of an imp to each of its eight flat sides."""
GROUND = 430
"""Top of the ground, in pixels from the top of the frame."""
HEALTH: dict[Kind, float] = {"imp": 280.0, "wood": 330.0, "stone": math.inf}
"""Knocks that a body bears, as summed changes of speed in pixels per second."""
_HARMLESS: dict[Kind, float] = {"imp": 55.0, "wood": 90.0, "stone": math.inf}
"""Knocks up to this do no harm: what rests on the ground is pressed a little in every step."""

_DT = 1 / 90
_LONGEST = 8 * 90
_QUIET_STEPS = 18
_QUIET_SPEED = 9.0
_STONE_LIFE = 3 * 90
"""Steps after its first contact, after which a stone that still rolls is taken away."""
_DENSITY: dict[Kind, float] = {"wood": 1.0, "stone": 2.2, "imp": 1.2}
_STONE_DENSITY = 3.6
_FRICTION = 0.75
_FIELD = (-25.0, 665.0)
_TRACE_EVERY = 4
_LOOK_OUT_EVERY = 6
"""How often it is looked for what has left the picture, in steps."""
_BODY, _IMP, _STONE = 1, 2, 3

_REACH = IMP_RADIUS / math.cos(math.pi / 8)
_EIGHT = [(_REACH * math.cos(math.pi / 8 * k), _REACH * math.sin(math.pi / 8 * k)) for k in range(1, 16, 2)]
"""An imp as the physics knows it: flat sides, since a disc would roll off its roof."""


@dataclass(slots=True)
class Piece:
    """A block or an imp: centre and size in pixels, angle in radians, and the knocks that it has taken."""

    kind: Kind
    x: float
    y: float
    width: int
    height: int
    angle: float = 0.0
    harm: float = 0.0

    def row(self) -> list[Any]:
        """As a JSON array; `Piece(*row)` gives it back."""
        return [self.kind, self.x, self.y, self.width, self.height, self.angle, self.harm]

    def corners(self) -> list[tuple[float, float]]:
        """The four corners of its box, in pixels of the frame."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        half = ((-1, -1), (1, -1), (1, 1), (-1, 1))
        sides = [(i * self.width / 2, j * self.height / 2) for i, j in half]
        return [(self.x + cos * a - sin * b, self.y + sin * a + cos * b) for a, b in sides]


@dataclass(slots=True)
class Flight:
    """What one throw did: the path up to the first contact, and where that was."""

    trace: list[list[int]] = field(default_factory=list)
    impact: list[int] | None = None
    struck: bool = False
    """Whether the stone touched a block or an imp."""


def launch_speed(back: float, down: float, longest: float) -> tuple[float, float]:
    """The velocity, in pixels per second, of a stone pulled `back` and `down` pixels from the pouch."""
    length = math.hypot(back, down)
    scale = SPEED * min(length, longest) / longest / length
    return back * scale, -down * scale


def throw(
    pieces: Sequence[Piece], terrain: Sequence[Box], start: tuple[int, int], velocity: tuple[float, float]
) -> tuple[list[Piece], Flight]:
    """Let a stone fly from `start`, until all is at rest: the pieces that are left, and the flight.

    The pieces given are not changed.
    """
    run = _Run(pieces, terrain)
    run.add_stone(start, velocity)
    left, flight = run.play(), run.flight
    del run
    _free_space()
    return left, flight


def settle(pieces: Sequence[Piece], terrain: Sequence[Box]) -> list[Piece]:
    """Let the pieces come to rest without a throw."""
    rested = _Run(pieces, terrain).play()
    _free_space()
    return rested


def _free_space() -> None:
    """Give the memory of a finished run back.

    Bodies, shapes and a space's handlers hold handles to themselves, so only the collector frees them, and it counts
    Python objects: the contacts' 0.4 MB of C memory a throw, measured, are nothing to it. They are young, so the
    young generations are enough (under a millisecond).
    """
    gc.collect(1)


class _Run:
    """One space, for one throw."""

    def __init__(self, pieces: Sequence[Piece], terrain: Sequence[Box]) -> None:
        self.flight = Flight()
        self._space = space = pymunk.Space()
        space.gravity = (0.0, GRAVITY)
        space.iterations = 12
        for left, top, right, bottom in terrain:
            corners = ((left, top), (right, top), (right, bottom), (left, bottom))
            ground = pymunk.Poly(space.static_body, corners)
            ground.friction, ground.elasticity = 0.9, 0.05
            space.add(ground)
        self._pieces: dict[pymunk.Body, Piece] = {}
        """In the order of the list, which is the order of everything that is done to them."""
        self._knocks: dict[pymunk.Body, float] = {}
        """Of this step, by what touched a body."""
        self._velocities: dict[pymunk.Body, tuple[float, float]] = {}
        """After the last step."""
        for piece in pieces:
            self._add(replace(piece))
        self._slight = min(_HARMLESS.values()) * min((body.mass for body in self._pieces), default=0.0)
        """No body is harmed by an impulse up to this."""
        self._stone: pymunk.Body | None = None
        self._touched_at: int | None = None
        self._step = 0
        space.on_collision(_IMP, None, post_solve=self._knock)
        space.on_collision(_BODY, _STONE, post_solve=self._knock)
        space.on_collision(_STONE, None, begin=self._touch)

    def _add(self, piece: Piece) -> None:
        body = pymunk.Body()
        body.position, body.angle = (piece.x, piece.y), piece.angle
        if piece.kind == "imp":
            shape = pymunk.Poly(body, _EIGHT)
        else:
            shape = pymunk.Poly.create_box(body, (piece.width, piece.height))
        shape.density, shape.friction, shape.elasticity = _DENSITY[piece.kind], _FRICTION, 0.05
        shape.collision_type = _IMP if piece.kind == "imp" else _BODY
        self._space.add(body, shape)
        self._pieces[body] = piece

    def add_stone(self, start: tuple[int, int], velocity: tuple[float, float]) -> None:
        """The stone leaves the pouch."""
        self._stone = body = pymunk.Body()
        body.position, body.velocity = start, velocity
        shape = pymunk.Circle(body, STONE_RADIUS)
        shape.density, shape.friction, shape.elasticity = _STONE_DENSITY, 0.6, 0.15
        shape.collision_type = _STONE
        self._space.add(body, shape)

    def play(self) -> list[Piece]:
        """To rest, or for eight seconds; what moves then stops."""
        quiet = 0
        while self._step < _LONGEST and quiet < _QUIET_STEPS:
            self._space.step(_DT)
            self._step += 1
            if self._stone is not None and self._touched_at is None:
                self._knocks.clear()  # all else is still at rest: a third of the time of a search saved
                self._follow_stone()
                continue
            fastest = self._harm()
            quiet = quiet + 1 if self._stone is None and fastest < _QUIET_SPEED else 0
            self._follow_stone()
        for body, piece in self._pieces.items():
            # Thousandths of a pixel: short in a snapshot, and the same numbers on its way back.
            piece.x, piece.y, piece.angle = round(body.position.x, 3), round(body.position.y, 3), round(body.angle, 5)
            piece.harm = round(piece.harm, 1)
        return list(self._pieces.values())

    def _knock(self, arbiter: pymunk.Arbiter, _space: pymunk.Space, _data: Any) -> None:
        impulse = abs(arbiter.total_impulse)
        if impulse <= self._slight:  # most contacts, of what rests: to ask for their bodies is half the cost of a step
            return
        body = arbiter.bodies[0]
        self._knocks[body] = max(self._knocks.get(body, 0.0), impulse / body.mass)

    def _touch(self, arbiter: pymunk.Arbiter, _space: pymunk.Space, _data: Any) -> None:
        self.flight.struck |= arbiter.bodies[1] in self._pieces
        if self._touched_at is None:
            self._touched_at = self._step
            where = arbiter.contact_point_set.points[0].point_a
            self.flight.impact = [round(where.x), round(where.y)]

    def _harm(self) -> float:
        """Take the knocks of this step, and take away what broke or left; the highest speed of the others."""
        fastest = 0.0
        gone = []
        rests_count, look_out = self._stone is None, self._step % _LOOK_OUT_EVERY == 0
        for body, piece in self._pieces.items():
            knock = self._knocks.get(body, 0.0)
            x, y = body.velocity if rests_count or piece.kind == "wood" else (0.0, 0.0)
            if piece.kind == "wood":  # whatever struck it: the jolt counts
                old_x, old_y = self._velocities.get(body, (0.0, 0.0))
                knock = max(knock, math.hypot(x - old_x, y - old_y))
                self._velocities[body] = x, y
            if knock > _HARMLESS[piece.kind]:
                piece.harm += knock
            if piece.harm >= HEALTH[piece.kind] or (look_out and not _FIELD[0] < body.position.x < _FIELD[1]):
                gone.append(body)
            elif rests_count:
                fastest = max(fastest, math.hypot(x, y), abs(body.angular_velocity) * 12)
        self._knocks.clear()
        for body in gone:
            del self._pieces[body]
            self._space.remove(body, *body.shapes)
        return fastest

    def _follow_stone(self) -> None:
        if self._stone is None:
            return
        x, y = self._stone.position
        if self._touched_at is None:
            if self._step % _TRACE_EVERY == 0:
                self.flight.trace.append([round(x), round(y)])
            done = False
        else:
            age = self._step - self._touched_at
            done = age > _STONE_LIFE or (age > 30 and abs(self._stone.velocity) < 25)
        if done or not _FIELD[0] < x < _FIELD[1]:
            self._space.remove(self._stone, *self._stone.shapes)
            self._stone = None
