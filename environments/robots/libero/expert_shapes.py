"""What LIBERO's things look like to a hand: heights, extents, room beside them, from the collision geometry."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from environments.robots._robosuite import mujoco
from environments.robots.libero.world import LiberoWorld
from environments.robots.world import Vector

CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
FINGER_OUT_M = (0.034, 0.058)
"""Along the line of an open hand, from its middle: inner and outer face of a finger."""
FINGER_HALF_M = 0.012
"""Half of a finger's breadth."""
PALM_M = (0.104, 0.034, 0.042)
"""The housing: half of its length along the fingers' line, half of its breadth, and its height above the grip site."""
TIP_M = 0.010
"""The finger tips reach this far below the grip site."""


class Shapes:
    """Boxes around the collision geoms of everything but the robot, where they are now."""

    def __init__(self, world: LiberoWorld) -> None:
        self.world, self._model, self._data = world, world.mj_model, world.mj_data
        model = self._model
        names = [model.body(int(body)).name for body in range(model.nbody)]
        robot = {i for i, name in enumerate(names) if name.startswith(("robot0", "gripper0"))}
        self._robot = robot
        solid = [
            geom
            for geom in range(model.ngeom)
            if int(model.geom_bodyid[geom]) not in robot and (model.geom_contype[geom] or model.geom_conaffinity[geom])
        ]
        self._solid = np.array([g for g in solid if model.geom_type[g] != mujoco.mjtGeom.mjGEOM_PLANE], np.intp)
        box = model.geom_aabb[self._solid]
        self._local = box[:, None, :3] + box[:, None, 3:] * CORNERS
        """(g, 8, 3): corners of each geom's box in its own frame."""
        place = {int(g): i for i, g in enumerate(self._solid)}
        things = (*world.objects, *world.fixtures)
        self._of = {n: np.array([place[g] for g in world.collision_geoms(n) if g in place], np.intp) for n in things}

    def corners(self) -> Vector:
        """(g, 8, 3) m, world frame."""
        rotation = self._data.geom_xmat[self._solid].reshape(-1, 3, 3)
        moved = np.einsum("gij,gkj->gki", rotation, self._local) + self._data.geom_xpos[self._solid][:, None]
        return np.asarray(moved)

    def points(self, name: str) -> Vector:
        """(n, 3) m: corners of the boxes of one thing."""
        return np.asarray(self.boxes(name).reshape(-1, 3))

    def boxes(self, name: str) -> Vector:
        """(g, 8, 3) m: the boxes of one thing."""
        return np.asarray(self.corners()[self._of[name]])

    def others(self, names: Collection[str]) -> Vector:
        """(g, 8, 3) m: the boxes of everything but some things."""
        out = [self._of[name] for name in names if name in self._of]
        keep = np.ones(len(self._solid), bool)
        if out:
            keep[np.concatenate(out)] = False
        return np.asarray(self.corners()[keep])

    def extent(self, name: str, heading_rad: float) -> tuple[float, float]:
        """The least and the greatest coordinate of a thing along a horizontal line through the origin, m."""
        along = self.points(name)[:, :2] @ np.array([math.cos(heading_rad), math.sin(heading_rad)])
        return float(along.min()), float(along.max())

    def headings(self, name: str) -> list[float]:
        """Headings along the thing's own level axes."""
        rotation = self.world.rotation(name)
        return [math.atan2(rotation[1, i], rotation[0, i]) for i in range(3) if abs(rotation[2, i]) < 0.6]

    def top_between(self, start: Vector, end: Vector, apart_m: float, without: Collection[str] = ()) -> float:
        """Height of the highest thing near the way from one place to another, m; -inf with nothing there."""
        boxes = self.others(without)
        low, high = boxes.min(axis=1), boxes.max(axis=1)
        line = end[:2] - start[:2]
        count = 2 + int(np.linalg.norm(line) / 0.04)
        way = start[:2] + np.linspace(0.0, 1.0, count)[:, None] * line
        gap = np.maximum(np.maximum(low[None, :, :2] - way[:, None], way[:, None] - high[None, :, :2]), 0.0)
        near = (np.linalg.norm(gap, axis=2) < apart_m).any(axis=0)
        return float(high[near, 2].max()) if near.any() else -math.inf

    def crowding(self, point: Vector, heading_rad: float, boxes: Vector, *, passing: bool = False) -> float:
        """How deep an open hand at a grasp would be in things, m summed over fingers and palm.

        With `passing`, what ends above the hand counts as if it reached down to it: a hand that comes down passes it.
        """
        c, s = math.cos(heading_rad), math.sin(heading_rad)
        local = boxes - point
        u, v, w = local[..., 0] * c + local[..., 1] * s, local[..., 1] * c - local[..., 0] * s, local[..., 2]
        low, high = np.stack([x.min(axis=1) for x in (u, v, w)]), np.stack([x.max(axis=1) for x in (u, v, w)])
        inner, outer = FINGER_OUT_M
        hand = (
            ((-outer, -inner), (-FINGER_HALF_M, FINGER_HALF_M), (-TIP_M + 0.004, 0.2)),
            ((inner, outer), (-FINGER_HALF_M, FINGER_HALF_M), (-TIP_M + 0.004, 0.2)),
            ((-PALM_M[0], PALM_M[0]), (-PALM_M[1], PALM_M[1]), (PALM_M[2], 0.3)),
        )
        total = 0.0
        for part in hand:
            sides = np.array(part)
            deep = np.minimum(high, sides[:, 1:]) - np.maximum(low, sides[:, :1])
            if passing:
                deep[2] = high[2] - sides[2, 0]
            total += float(np.clip(deep.min(axis=0), 0.0, None).sum())
        return total

    def top_under_palm(self, hand: Vector, heading_rad: float, without: Collection[str] = ()) -> float:
        """Height of the highest thing below the housing of a hand over a place, m; -inf with nothing there."""
        c, s = math.cos(heading_rad), math.sin(heading_rad)
        local = self.others(without) - hand
        u, v = local[..., 0] * c + local[..., 1] * s, local[..., 1] * c - local[..., 0] * s
        below = np.ones(len(local), bool)
        for side, half in ((u, PALM_M[0]), (v, PALM_M[1])):
            below &= (side.min(axis=1) < half) & (side.max(axis=1) > -half)
        return float(hand[2] + local[below, :, 2].max()) if below.any() else -math.inf

    def roomiest(
        self, middle: Vector, half: Vector, radius_m: float, tall_m: float, without: Collection[str]
    ) -> Vector:
        """The point of a drawer, near its middle, where a round thing comes down past the fewest things.

        Args:
            middle: of the region, (3,) m.
            half: half of its extent along the world's axes, (3,) m.
            radius_m: the thing's, at its rim; its foot is taken to be three quarters as wide.
            tall_m: the thing's height.
            without: names of what is not in the way.
        """
        boxes = self.others(without)
        low, high = boxes.min(axis=1), boxes.max(axis=1)
        floor = float(middle[2] - half[2])
        over = high[:, 2] > floor + 0.02
        radius = np.where(high[over, 2] > floor + tall_m + 0.02, radius_m, 0.75 * radius_m)
        low, high = low[over, :2], high[over, :2]
        steps = np.linspace(-0.75, 0.75, 21)
        grid = middle[:2] + np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2) * half[:2]
        gap = np.maximum(np.maximum(low[None] - grid[:, None], grid[:, None] - high[None]), 0.0)
        deep = np.clip(radius - np.linalg.norm(gap, axis=2), 0.0, None).max(axis=1, initial=0.0)
        cost = deep + 0.02 * np.linalg.norm(grid - middle[:2], axis=1)
        return np.array([*grid[int(np.argmin(cost))], middle[2]])

    def surface(self, place: Vector, without: str) -> float:
        """Height of what is below a point, apart from one object and the robot, m; the point's own if nothing is."""
        start, found = np.array(place, float), np.array([-1], np.int32)
        groups = np.array([1, 0, 0, 0, 0, 0], np.uint8)
        hidden = self.world.body(without)
        for _ in range(8):
            down = np.array([0.0, 0.0, -1.0])
            far = mujoco.mj_ray(self._model, self._data, start, down, groups, 1, hidden, found)
            if far < 0:
                return float(place[2])
            start[2] -= far
            if int(self._model.geom_bodyid[found[0]]) not in self._robot:
                return float(start[2])
            start[2] -= 1e-3
        return float(place[2])
