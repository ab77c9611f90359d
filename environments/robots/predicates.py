"""What holds in the world now, from privileged state. Tasks are made of these.

Each takes the world and names of objects and returns a bool, so that a later task can be written
as a conjunction: `inside(world, "cube", "bowl") and at_rest(world, "cube")`.
"""

from __future__ import annotations

import numpy as np

from environments.robots.manipulation import held as grasped
from environments.robots.manipulation import touched
from environments.robots.scene import BOWL
from environments.robots.tabletop import CUBE_HALF_M, TABLE_Z_M, TabletopWorld

__all__ = ["LIFT_M", "REST_SPEED_M_S", "above", "at_rest", "grasped", "height", "horizontal_gap", "inside", "touched"]

LIFT_M = 0.04
"""A cube this far above the table has been lifted."""
REST_SPEED_M_S = 0.02
"""Slower than this is at rest."""


def height(world: TabletopWorld, name: str) -> float:
    """How far the cube's centre is above its place on the table, in metres."""
    return float(world.position(name)[2]) - TABLE_Z_M - CUBE_HALF_M


def horizontal_gap(world: TabletopWorld, name: str, bowl: str) -> float:
    """Horizontal distance between the centres, in metres."""
    return float(np.linalg.norm(world.position(name)[:2] - world.position(bowl)[:2]))


def above(world: TabletopWorld, name: str, bowl: str) -> bool:
    """The object's centre is over the bowl's opening and higher than its rim."""
    rim = world.position(bowl)[2] + BOWL.height_m / 2
    return horizontal_gap(world, name, bowl) < BOWL.floor_radius_m and bool(world.position(name)[2] > rim)


def inside(world: TabletopWorld, name: str, bowl: str) -> bool:
    """The object's centre is within the bowl, below the rim, and the bowl stands upright."""
    centre = world.position(bowl)[2]
    z = world.position(name)[2]
    within = bool(centre - BOWL.height_m / 2 < z < centre + BOWL.height_m / 2)
    return within and horizontal_gap(world, name, bowl) < BOWL.floor_radius_m and world.up(bowl) > 0.9


def at_rest(world: TabletopWorld, name: str) -> bool:
    """The object hardly moves."""
    return world.speed(name) < REST_SPEED_M_S
