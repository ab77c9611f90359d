"""How the expert of the levels walks: it tries out in its head what each combination of keys would lead to.

The engine's rules of motion are few: keys add to the speed, friction takes 3/32 of it in every tic, walls take the
part of it that goes into them. Over the cells of a level that is cheap to follow for a few hundred combinations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from environments.games.doom_map import Floats, Ints, Point
from environments.games.levels_ground import CELL, STEP, Bools, Ground

_THRUST, _SIDE_THRUST, _FRICTION = 1.5625, 1.25, 0.90625
"""Map units per tic that a running man's keys add to his speed, and what friction leaves of it."""
_TICS = (3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 28, 33, 38, 44, 52, 60)
_LOOK_AHEAD = 3
"""The direction to face is that of the cell 2 ** 3 steps ahead."""
_DECISION = 15.0
"""What one more decision is worth, in tics: the number of decisions is limited too."""


def _candidates() -> tuple[Ints, Ints, Ints, Ints]:
    """Tics, turn, forward and sideways of every combination that is tried."""
    ways = [(turn, forward, 0) for turn in (-1, 0, 1) for forward in (0, 1)]
    ways += [(0, forward, side) for forward in (0, 1) for side in (-1, 1)] + [(0, -1, 0)]
    rows = [(tics, *way) for way in ways if any(way) for tics in _TICS]
    table = np.array(rows, dtype=np.int64).T
    return table[0], table[1], table[2], table[3]


_TICS_OF, _TURN, _FORWARD, _SIDE = _candidates()


@dataclass(frozen=True, eq=False)
class Body:
    """Where the player is, how fast, and where he looks."""

    place: Point
    speed: Point
    angle: float
    """Degrees, counter-clockwise from the east."""
    cell: int


@dataclass(frozen=True, eq=False)
class Field:
    """The way to a goal from every cell."""

    left: Ints
    """(n,) steps to the goal, -1 where there is no way."""
    after: Ints
    """(n,) the next cell on the way; at a goal, and where a teleport is the next step, the cell itself."""
    ahead: Ints
    """(n,) the cell some steps ahead."""


def field(over: Ground, goals: Iterable[int], edges: Bools) -> Field:
    """The way to the nearest of some cells along the edges."""
    return _field(over, tuple(sorted(set(goals))), np.packbits(edges).tobytes())


@lru_cache(maxsize=8)
def _field(over: Ground, goals: tuple[int, ...], packed: bytes) -> Field:
    """The same for a goal that is kept for several steps, while nothing moves."""
    edges = np.unpackbits(np.frombuffer(packed, np.uint8), count=over.near.size).astype(bool).reshape(over.near.shape)
    left = over.distances(goals, edges)
    far = np.where(left < 0, 1 << 30, left)
    options = np.where(edges, far[over.near], 1 << 30)
    best = np.argmin(options, axis=1)
    everywhere = np.arange(len(left))
    after = np.where(options[everywhere, best] < far, over.near[everywhere, best], everywhere)
    ahead = after
    for _ in range(_LOOK_AHEAD):
        ahead = ahead[ahead]
    return Field(left, after, ahead)


def stride(over: Ground, body: Body, way: Field, under: Floats, above: Floats) -> dict[str, Any] | None:
    """The fields of the action that gets the player on best, for the time and the decision it takes; None for none."""
    count = len(_TICS_OF)
    place = np.tile(np.array(body.place), (count, 1))
    speed = np.tile(np.array(body.speed), (count, 1))
    angle = np.full(count, math.radians(body.angle))
    cell, bumps = np.full(count, body.cell), np.zeros(count)
    for tic in range(max(_TICS_OF)):
        going = np.nonzero(tic < _TICS_OF)[0]
        angle[going] += np.radians(_TURN[going] * (1.0 if tic < 6 else 4.0))
        facing = np.stack([np.cos(angle[going]), np.sin(angle[going])], axis=1)
        aside = np.stack([facing[:, 1], -facing[:, 0]], axis=1)
        pace = speed[going] + _FORWARD[going, None] * _THRUST * facing + _SIDE[going, None] * _SIDE_THRUST * aside
        place[going], cell[going], pace, bumped = _moved(over, place[going], pace, cell[going], under, above)
        bumps[going] += bumped
        speed[going] = pace * _FRICTION
    gone = _still_to_go(over, way, place, speed, angle, cell) + 0.5 * np.minimum(bumps, 12)
    here = np.array([body.place]), np.array([body.speed]), np.radians([body.angle]), np.array([body.cell])
    gain = _still_to_go(over, way, *here) - gone
    best = int(np.argmax(gain / (_TICS_OF + _DECISION)))
    if gain[best] < 0.5:
        return None
    return {
        "move": ("stay", "forward", "back")[int(_FORWARD[best])],
        "turn": ("none", "left", "right")[int(_TURN[best])],
        "step": ("none", "right", "left")[int(_SIDE[best])],
        "ms": int(_TICS_OF[best]) * 29,
    }


def _moved(
    over: Ground, place: Floats, pace: Floats, cell: Ints, under: Floats, above: Floats
) -> tuple[Floats, Ints, Floats, Bools]:
    """Places, cells and speeds one tic later, and which of them have met a wall."""
    after, ok = _enter(over, place + pace, cell, under, above)
    bumped = ~ok
    if bumped.any():
        pace = pace.copy()
        for axis in (1, 0):  # along the wall, in one direction or the other
            slid = pace * np.where(np.arange(2) == axis, 0.0, 1.0)
            there, free = _enter(over, place + slid, cell, under, above)
            use = ~ok & free
            after[use], pace[use], ok = there[use], slid[use], ok | free
        pace[~ok] = 0.0
        after[~ok] = cell[~ok]
    return place + pace, after, pace, bumped


def _enter(over: Ground, there: Floats, cell: Ints, under: Floats, above: Floats) -> tuple[Ints, Bools]:
    """The cells at some places, and whether a man can step there from the cells where he is."""
    spot = ((there - np.array(over.origin)) // CELL).astype(np.int64)
    spot = np.clip(spot, 0, np.array(over.index.shape) - 1)
    new = over.roomy[spot[:, 0], spot[:, 1]]
    known = np.maximum(new, 0)
    off = np.abs(over.centres[known] - over.centres[cell]).max(axis=1)
    half = ((over.centres[known] + over.centres[cell]) / 2 - np.array(over.origin)) // CELL
    half = np.clip(half.astype(np.int64), 0, np.array(over.index.shape) - 1)
    # two cells at once, at full speed, only with one in between: walls are thinner than that
    close = (off <= 1.5 * CELL) | ((off <= 2.5 * CELL) & (over.index[half[:, 0], half[:, 1]] >= 0))
    low = under[known]
    fits = (low - under[cell] <= STEP) & (above[known] - np.maximum(low, under[cell]) >= 56)
    ok: Bools = (new >= 0) & close & (fits | (new == cell))
    return new, ok


def _still_to_go(over: Ground, way: Field, place: Floats, speed: Floats, angle: Floats, cell: Ints) -> Floats:
    """Tics that are still needed to the goal: for the way, and for the turn that it begins with."""
    left = way.left[cell]
    ahead = way.ahead[cell]
    off = over.centres[ahead] - place
    distance = np.hypot(off[:, 0], off[:, 1])
    towards = np.arctan2(off[:, 1], off[:, 0])
    turn = np.abs((towards - angle + math.pi) % (2 * math.pi) - math.pi) * 180 / math.pi
    turn_tics = np.where(turn < 6, turn, 6 + (turn - 6) / 4)
    carried = (speed[:, 0] * np.cos(towards) + speed[:, 1] * np.sin(towards)) * 0.4
    rest = (np.maximum(way.left[ahead], 0) * CELL + distance) / 15.0
    cost: Floats = rest + np.where(distance > 24, 0.8 * turn_tics, 0.0) - carried
    return np.where(left >= 0, cost, 1e6)
