"""How a hand takes things, puts them down, slides drawers and turns knobs: aims for any scene and any arm.

Everything here is stateless: an aim follows from where things are now, so that whoever plays these aims recovers from a
drop, a push, another player's moves, or a rollback. It knows the protocols of `environments.robots.world` and
nothing of one scene; what a thing is comes in as a `Grasp`, a `Spot` or a `Handle`.

The hand points down throughout, and its fingers close along the line of its heading.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from environments.robots.motion import CLOSE, OPEN, Aim, at, heading, wrap
from environments.robots.world import FINGERS, Arm, Vector, World

TURNED_RAD = math.radians(8)
"""Precise enough for a load that is turned on its way."""
HOME_RAD = math.pi / 2
"""The heading that a Panda starts with in robosuite: its fingers close along y."""
REACH_M = 0.030
"""How far the tips may go below the top of a thing without the palm touching it."""
OPEN_WIDTH_M = 0.070
"""The widest thing that is taken; the fingers open 8 cm."""
CLEARANCE_M = 0.05
"""Between the lowest point of hand or load and the highest thing, when travelling."""
RELEASE_M = 0.008
"""A thing is let go this far above where it will stand."""
ALIGNED_M, ALIGNED_RAD = 0.006, math.radians(4)
"""Precise enough to go down."""
CAREFUL_M, CAREFUL_STEP_M = 0.03, 0.014
"""So close above a thing the hand goes down by no more than this per aim, so that it arrives where it is meant to."""
STEADY_M_S = 0.08
"""Sideways speed below which a hand goes down."""
CLOSED, OPENED = 0.9, -0.55
"""A gripper command that has come through this far has closed on what there is, or is open enough to leave it."""
CLOSING = -0.3
"""A command beyond this was given to close, unless a thing is where it is to be let go."""


@dataclass(frozen=True, slots=True)
class Grasp:
    """Where and how a thing is taken from above."""

    point: Vector
    """Of the grip site, (3,) m."""
    heading_rad: float
    """The hand's."""
    top_m: float
    """Height of the thing's highest point."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a thing is to be put."""

    surface: Vector
    """Middle of the surface, (3,) m."""
    release_m: float = RELEASE_M
    """How far above the surface the thing's foot is when the hand opens."""
    within_m: float = 0.006
    """How close to the middle it is brought before it is lowered."""
    heading_rad: float | None = None
    """How the hand is to be turned over it, where the way it holds the thing would bring its palm against a wall."""


@dataclass(frozen=True, slots=True)
class Handle:
    """What moves a drawer, a door or a knob."""

    point: Vector
    """Where the grip site takes it, (3,) m."""
    heading_rad: float
    top_m: float
    axis: Vector
    """Direction of sliding, or the axis of turning, (3,)."""
    pivot: Vector | None
    """A point on the axis of turning, (3,) m; None for what slides."""
    left: float
    """How far it is still to go, metres or radians, with sign."""


Way = Literal["box", "round", "rim"]


def grasp(world: World, name: str, way: Way, *, depth_m: float = 0.030, home_rad: float = HOME_RAD) -> Grasp:
    """How to take an object that stands upright.

    Args:
        world: the scene.
        name: of the object.
        way: `box` between two faces that are near enough, `round` between any two sides, `rim` by its rim, at the
            left or the right, whichever has more room.
        depth_m: how far the tips go below the top.
        home_rad: the heading that the wrist likes best.
    """
    origin, rotation = world.position(name), world.rotation(name)
    low, high = world.bounds(name)
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    spread = corners @ rotation.T + origin
    bottom, top = float(spread[:, 2].min()), float(spread[:, 2].max())
    height = top - bottom
    z = max(bottom + min(0.016, height / 2), top - min(depth_m, REACH_M))
    middle = rotation @ ((low + high) / 2) + origin
    if way == "rim":
        return _by_the_rim(world, name, at(middle, top - depth_m), yaw, (high - low)[0] / 2, top, home_rad)
    if way == "round":
        return Grasp(at(middle, z), home_rad, top)
    widths = (float(size) for size in (high - low)[:2])  # it stands upright: along its own x and y
    options = [yaw + turn for width, turn in zip(widths, (0.0, math.pi / 2), strict=True) if width < OPEN_WIDTH_M]
    turned = [half_turn(option, home_rad) for option in options or [yaw]]
    return Grasp(at(middle, z), min(turned, key=lambda angle: abs(wrap(angle - home_rad))), top)


def half_turn(angle: float, home: float) -> float:
    """The heading that is the same for the fingers as `angle` and nearest to `home`: half a turn is no difference."""
    return home + (angle - home + math.pi / 2) % math.pi - math.pi / 2


RIM_PANELS = 12
RIM_WALL_M = 0.005
"""How far the middle of the rim is inside the widest radius."""


def _by_the_rim(
    world: World, name: str, middle: Vector, yaw: float, radius: float, top: float, home_rad: float
) -> Grasp:
    step = 2 * math.pi / RIM_PANELS
    best: tuple[float, float] | None = None
    others = [world.position(other)[:2] for other in world.objects if other != name]
    for side in (home_rad, home_rad + math.pi):
        angle = yaw + step * round((side - yaw) / step)
        reach = middle[:2] + (radius + 0.03) * np.array([math.cos(angle), math.sin(angle)])
        # Room counts up to a hand's breadth; beyond it both sides are the same, and the first is taken.
        room = min([0.12, *(float(np.linalg.norm(reach - other)) for other in others)])
        if best is None or room > best[0] + 1e-3:
            best = (room, angle)
    angle = best[1] if best else 0.0
    out = radius - RIM_WALL_M
    point = middle + out * np.array([math.cos(angle), math.sin(angle), 0.0])
    return Grasp(point, half_turn(angle, home_rad), top)


def held(world: World, name: str) -> bool:
    """Both fingers touch the thing."""
    return all(world.touching(finger, name) for finger in FINGERS)


def in_hand(world: World, arm: Arm, name: str) -> bool:
    """The thing is between fingers that close or have closed; a rattling contact of one of them does not end it."""
    return held(world, name) or (arm.ramp > CLOSING and arm.width_m > 0.003 and touched(world, name))


def touched(world: World, name: str) -> bool:
    """A finger touches the thing."""
    return any(world.touching(finger, name) for finger in FINGERS)


def travel_height(world: World) -> float:
    """Height at which the tips of an empty hand clear everything, m."""
    return max(tops(world).values()) + CLEARANCE_M


def tops(world: World) -> dict[str, float]:
    """Height of the highest point of each object and fixture that stands upright, m."""
    names = (*world.objects, *world.fixtures)
    return {name: float(world.position(name)[2] + world.bounds(name)[1][2]) for name in names}


def reach_for(arm: Arm, point: Vector, heading_rad: float, top_m: float, travel_m: float) -> Aim:
    """Come from above, open and turned; go down; close.

    Args:
        arm: the arm.
        point: of the grip site when it closes, (3,) m.
        heading_rad: of the hand then.
        top_m: height of the thing's highest point: above it a hand may go sideways.
        travel_m: height at which the hand clears everything.
    """
    here = arm.position
    turn = wrap(heading_rad - heading(arm.rotation))
    away = float(np.linalg.norm(here[:2] - point[:2]))
    low = here[2] < top_m + 0.015
    if arm.ramp > OPENED and here[2] < travel_m - 0.03 and away > 0.02:
        return Aim("open", here, 0.0, OPEN)  # let go where it is, not on the way up
    aligned = away < (0.02 if low else ALIGNED_M) and abs(turn) < (3 if low else 1) * ALIGNED_RAD
    if not aligned:
        if here[2] < travel_m - 0.02 and away > 0.03:
            return Aim("approach", at(here, travel_m), 0.0, OPEN)
        return Aim("approach", at(point, max(float(here[2]), top_m + 0.05) if away < 0.03 else travel_m), turn, OPEN)
    if here[2] - point[2] < 0.006 and arm.velocity[2] > -0.05:
        return Aim("close", point, turn if abs(turn) < ALIGNED_RAD else 0.0, CLOSE)
    if arm.width_m < 0.072 and low is False and here[2] - point[2] > 0.02 and arm.ramp > -0.95:
        return Aim("approach", at(point, float(here[2])), turn, OPEN)  # wait for the hand to open
    near = here[2] < top_m + CAREFUL_M
    if near and not low and float(np.linalg.norm(arm.velocity[:2])) > STEADY_M_S:
        return Aim("approach", at(point, float(here[2])), turn, OPEN)
    depth = max(float(point[2]), float(here[2]) - CAREFUL_STEP_M) if near else max(float(point[2]), top_m + 0.015)
    return Aim("descend", at(point, depth), turn, OPEN)


def bring(arm: Arm, load: Vector, foot_m: float, spot: Spot, travel_m: float) -> Aim:
    """Up, across, down, open: with what is in the hand.

    Args:
        arm: the arm.
        load: middle of the thing that is held, (3,) m.
        foot_m: height of its lowest point.
        spot: where it goes.
        travel_m: height that its lowest point must have on the way.
    """
    here = arm.position
    offset = here[:2] - load[:2]
    goal = spot.surface[:2] + offset
    hang = float(here[2]) - foot_m
    away = float(np.linalg.norm(here[:2] - goal))
    turn = 0.0
    if spot.heading_rad is not None:
        turn = wrap(half_turn(spot.heading_rad, HOME_RAD) - heading(arm.rotation))
    high = foot_m > spot.surface[2] + 0.05
    if away > 0.02 or (high and (away > spot.within_m or abs(turn) > TURNED_RAD)):
        if foot_m < travel_m - 0.02 and away > 0.03:
            # Straight up at first; across as soon as it is clear, while it still rises.
            return Aim("lift", at(here, travel_m + hang), 0.0, CLOSE)
        return Aim("transport", at(goal, max(travel_m + hang, float(here[2]) if away < 0.03 else 0.0)), turn, CLOSE)
    down = float(spot.surface[2]) + spot.release_m + hang
    moving = float(np.linalg.norm(arm.velocity)) > STEADY_M_S
    if foot_m > spot.surface[2] + spot.release_m + 0.006 or away > spot.within_m or moving:
        slow = foot_m < spot.surface[2] + spot.release_m + CAREFUL_M
        return Aim("lower", at(goal, max(down, float(here[2]) - CAREFUL_STEP_M) if slow else down), 0.0, CLOSE)
    return Aim("release", at(goal, down), 0.0, OPEN)


def leave(arm: Arm, travel_m: float) -> Aim:
    """Open on the spot, then straight up."""
    if arm.ramp > OPENED:
        return Aim("release", arm.position, 0.0, OPEN)
    return Aim("retreat", at(arm.position, travel_m), 0.0, OPEN)


def pull(arm: Arm, handle: Handle) -> Aim:
    """Slide or turn what is held, a bounded bit per step, towards where it is to be."""
    if handle.pivot is None:
        step = float(np.clip(handle.left, -0.06, 0.06))
        goal = arm.position + handle.axis * step
        sideways = handle.point - arm.position
        goal += sideways - handle.axis * float(sideways @ handle.axis)  # stay on the line of the handle
        return Aim("pull", goal, wrap(handle.heading_rad - heading(arm.rotation)), CLOSE)
    angle = float(np.clip(handle.left, -0.25, 0.25)) * (1.0 if handle.axis[2] > 0 else -1.0)
    return Aim("turn", turned_about(handle.point, handle.pivot, angle), angle, CLOSE)


def turned_about(point: Vector, pivot: Vector, angle: float) -> Vector:
    """A point turned about a vertical axis, (3,)."""
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = point - pivot
    return np.asarray(pivot + np.array([c * x - s * y, s * x + c * y, z]))
