"""How the expert moves parts of LIBERO's fixtures: drawers by their bar, a knob by its blade, doors by a push.

A hand that points straight down does not reach a drawer's bar: its housing would be inside the cabinet. So it
comes leaning, from the front; such aims are `Posed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from environments.robots import manipulation as m
from environments.robots._robosuite import mujoco
from environments.robots.libero.expert_shapes import Shapes
from environments.robots.libero.world import LiberoWorld
from environments.robots.motion import CLOSE, OPEN, Aim, Posed, at, turn_to, wrap
from environments.robots.world import FINGERS, Arm, Vector

PULL_LEAN_RAD, PUSH_LEAN_RAD = math.radians(75), math.radians(45)
"""From the vertical: of a hand that takes a bar between its fingers, and of a fist that pushes."""
STANDOFF_M = 0.09
"""How far before its place a leaning hand lines up."""
ON_LINE_M, TURNED_RAD = 0.010, 0.12
"""Precise enough to go on."""
BEYOND = 0.3
"""Part of the range between a state's limits by which a part is moved past what is asked for."""
NEAR_BASE_M, FROM_BASE_RAD = 0.40, math.radians(30)
"""So close to the arm's base the elbow is at its limit under a vertical hand: it leans, with its palm away from it."""
DOWN = np.array([0.0, 0.0, -1.0])


def lean(rotation: Vector) -> float:
    """How far a hand is from pointing straight down, rad."""
    return math.acos(float(np.clip(-rotation[2, 2], -1.0, 1.0)))


def leaning(towards: Vector, lean_rad: float, across: Vector, now: Vector) -> Vector:
    """The orientation of a hand that leans towards a level direction; its fingers' line is in the plane of `across`.

    Of the two that are alike for the fingers, the one nearer to `now`.
    """
    approach = math.sin(lean_rad) * towards + math.cos(lean_rad) * DOWN
    line = across - approach * float(across @ approach)
    line /= np.linalg.norm(line)
    if float(line @ now[:, 0]) < 0:
        line = -line
    return np.stack([line, np.cross(approach, line), approach], axis=1)


class Parts:
    """Aims that open, close and turn."""

    def __init__(
        self, world: LiberoWorld, arm: Arm, shapes: Shapes, off: Callable[[str], Vector] = lambda name: np.zeros(3)
    ) -> None:
        """Aims in a scene; `off` tells how far somebody believes a part from where it is, (3,) m."""
        self._world, self._arm, self._shapes, self._off = world, arm, shapes, off

    def aim(self, verb: str, name: str, *, left: float | None = None) -> Aim:
        """Towards a part being `open`, `close`d, turned on or off (`turnon`, `turnoff`).

        Args:
            verb: what is to be done.
            name: of the part.
            left: how far it is still to go, m or rad, in the belief of somebody who is sure to hold it; None: look.
        """
        number, slides = self._joint(name)
        sure = left is not None
        if left is None:
            left = self.left(verb, name)
        if slides:
            return self._drawer(name, number, left, opening=verb == "open", sure=sure)
        if verb in ("turnon", "turnoff"):
            return self._knob(name, number, left, sure=sure)
        return self._door(name, number, left)

    def left(self, verb: str, name: str) -> float:
        """How far a part is still to go, m or rad, with sign."""
        world = self._world
        ((now, low, high),) = world.joints(name).values()
        limits = world.joint_limits(name, verb)
        inner, outer = sorted(limits, key=lambda limit: abs(limit - now))
        left = float(np.clip(inner + BEYOND * (outer - inner), low, high)) - now
        if verb in ("close", "turnoff"):
            left = float(np.clip(outer, low, high) + 0.01 * np.sign(left or 1.0) - now)
        return left

    def moved(self, name: str, start: Vector, start_rad: float) -> float:
        """How far a hand that holds a part has moved it since it was at `start`, (3,) m, with that heading: m, rad."""
        number, slides = self._joint(name)
        axis = np.array(self._world.mj_data.xaxis[number])
        if slides:
            return float((self._arm.position - start) @ axis)
        turned = wrap(math.atan2(self._arm.rotation[1, 0], self._arm.rotation[0, 0]) - start_rad)
        return turned * (1.0 if axis[2] > 0 else -1.0)

    def _joint(self, name: str) -> tuple[int, bool]:
        """The joint of a part: its number, and whether it slides."""
        model = self._world.mj_model
        (joint,) = self._world.joints(name)
        number = int(model.joint(joint).id)
        return number, int(model.jnt_type[number]) == int(mujoco.mjtJoint.mjJNT_SLIDE)

    def withdraw(self) -> Aim | None:
        """Away from a part that a leaning hand still is at; None if it may do what it likes."""
        arm, world = self._arm, self._world
        rotation = arm.rotation
        if lean(rotation) < 0.35:
            return None
        if arm.ramp > m.OPENED and any(world.touching(finger, name) for finger in FINGERS for name in world.fixtures):
            return Posed("release", arm.position, 0.0, OPEN, rotation)
        boxes = self._shapes.corners()
        gap = np.linalg.norm(
            np.maximum(np.maximum(boxes.min(axis=1) - arm.position, arm.position - boxes.max(axis=1)), 0.0), axis=1
        )
        if float(gap.min()) < 0.045:
            back = arm.position - 0.08 * rotation[:, 2] + np.array([0.0, 0.0, 0.02])
            return Posed("retreat", back, 0.0, OPEN, rotation)
        return None

    def _geoms(self, joint: int) -> list[int]:
        model = self._world.mj_model
        body = int(model.jnt_bodyid[joint])
        return [g for g in range(model.ngeom) if int(model.geom_bodyid[g]) == body and model.geom_group[g] == 0]

    def _drawer(self, name: str, joint: int, left: float, *, opening: bool, sure: bool) -> Aim:
        """A bar between the fingers to open; a fist against it to close."""
        arm, data, model = self._arm, self._world.mj_data, self._world.mj_model
        out = -np.array(data.xaxis[joint])  # LIBERO's drawers open towards negative joint positions
        front = [float(out @ data.geom_xpos[g]) for g in self._geoms(joint)]
        bar = self._geoms(joint)[int(np.argmax(front))]
        point = data.geom_xpos[bar] + self._off(name)
        here = arm.position
        if opening:
            pose = leaning(-out, PULL_LEAN_RAD, out + 2.0 * DOWN, arm.rotation)
            grip = OPEN
        else:
            pose = leaning(-out, PUSH_LEAN_RAD, np.cross(out, DOWN), arm.rotation)
            point = point + out * (float(np.min(model.geom_size[bar])) + 0.012)
            grip = CLOSE
        approach = pose[:, 2]
        turned = float(np.linalg.norm(turn_to(arm.rotation, pose))) < TURNED_RAD
        offset = here - point
        along = float(offset @ approach)
        aside = float(np.linalg.norm(offset - along * approach))
        if opening:
            held = sure or self._pinched(bar)
            if held or (arm.ramp > m.CLOSING and arm.width_m > 0.008 and np.linalg.norm(offset) < 0.02):
                if arm.ramp < m.CLOSED:
                    return Posed("close", here, 0.0, CLOSE, pose)
                line = offset - out * float(offset @ out)
                return Posed("pull", here - line + out * float(np.clip(abs(left), 0.02, 0.08)), 0.0, CLOSE, pose)
        elif turned and aside < 0.03 and along > -0.03 and arm.ramp > m.CLOSED:
            return Posed("push", here - (offset - out * float(offset @ out)) - out * 0.05, 0.0, CLOSE, pose)
        if not turned or aside > ON_LINE_M:
            start = point - STANDOFF_M * approach
            if along > -0.05 and aside > 0.02:
                # Beside or behind its line: back and up first, or it would sweep things off.
                start = here + 0.10 * (out + np.array([0.0, 0.0, 0.5]))
            return Posed("approach", start, 0.0, grip, pose)
        if opening and along > -0.008:
            return Posed("close", point, 0.0, CLOSE, pose)
        return Posed("descend", point - min(max(-along - 0.03, 0.0), 0.06) * approach, 0.0, grip, pose)

    def _pinched(self, geom: int) -> bool:
        world = self._world
        return all(world.in_contact(frozenset({geom}), world.contact_geoms(finger)) for finger in FINGERS)

    def _knob(self, name: str, joint: int, left: float, *, sure: bool) -> Aim:
        arm, world, data, model = self._arm, self._world, self._world.mj_data, self._world.mj_model
        geoms = self._geoms(joint)
        tops = [
            float(data.geom_xpos[g][2] + np.abs(data.geom_xmat[g].reshape(3, 3)[2]) @ model.geom_size[g]) for g in geoms
        ]
        blade, top = geoms[int(np.argmax(tops))], max(tops)
        rotation, size = data.geom_xmat[blade].reshape(3, 3), model.geom_size[blade]
        level = [i for i in range(3) if abs(rotation[2, i]) < 0.6]
        narrow = min(level, key=lambda i: float(size[i]))
        heading = m.half_turn(math.atan2(rotation[1, narrow], rotation[0, narrow]), m.HOME_RAD)
        off = self._off(name)
        pivot = data.xanchor[joint] + off
        point = at(data.geom_xpos[blade], top - 0.018) + off
        handle = m.Handle(point, heading, top, np.array(data.xaxis[joint]), pivot, left)
        near = float(np.linalg.norm(arm.position - point)) < 0.03
        held = sure or (near and m.in_hand(world, arm, name))
        base = at(world.mj_data.body("robot0_base").xpos - point, 0.0)
        if float(np.linalg.norm(base)) < NEAR_BASE_M:
            return self._knob_by_the_base(handle, base / np.linalg.norm(base), held=held)
        if held:
            if arm.ramp < m.CLOSED:
                return Aim("close", arm.position, 0.0, CLOSE)
            return m.pull(arm, handle)
        travel = max(top + 0.06, self._shapes.top_between(arm.position, point, 0.075) + 0.03)
        return m.reach_for(arm, point, heading, top, travel)

    def _knob_by_the_base(self, handle: m.Handle, towards: Vector, *, held: bool) -> Aim:
        """A knob so close to the arm's base that the hand must lean towards it."""
        arm, point, heading, angle = self._arm, handle.point, handle.heading_rad, 0.0
        assert handle.pivot is not None  # for the type checker: a knob turns
        if held and arm.ramp >= m.CLOSED:
            angle = m.pull(arm, handle).yaw_rad
            heading = math.atan2(arm.rotation[1, 0], arm.rotation[0, 0]) + angle  # on from where the hand is
        across = np.array([math.cos(heading), math.sin(heading), 0.0])
        pose = leaning(towards, FROM_BASE_RAD, across, arm.rotation)
        if held:
            if not angle:
                return Posed("close", arm.position, 0.0, CLOSE, pose)
            return Posed("turn", m.turned_about(point, handle.pivot, angle), angle, CLOSE, pose)
        approach, offset = pose[:, 2], arm.position - point
        along = float(offset @ approach)
        aside = float(np.linalg.norm(offset - along * approach))
        turned = float(np.linalg.norm(turn_to(arm.rotation, pose))) < TURNED_RAD
        if not turned or aside > ON_LINE_M:
            return Posed("approach", point - STANDOFF_M * approach, 0.0, OPEN, pose)
        closing = arm.ramp > -0.95  # the closing fingers move the hand a little: that does not begin it anew
        if along > (-0.020 if closing else -0.012):
            return Posed("close", arm.position if closing else point, 0.0, CLOSE, pose)
        return Posed("descend", point - min(max(-along - 0.03, 0.0), 0.06) * approach, 0.0, OPEN, pose)

    def _door(self, name: str, joint: int, left: float) -> Aim:
        """A fist against the free end of a door, from outside, along its arc."""
        arm, data, model = self._arm, self._world.mj_data, self._world.mj_model
        geoms = self._geoms(joint)
        panel = max(geoms, key=lambda g: float(np.prod(np.sort(model.geom_aabb[g, 3:])[1:])))
        rotation, size = data.geom_xmat[panel].reshape(3, 3), model.geom_aabb[panel, 3:]
        off = self._off(name)
        pivot = data.xanchor[joint] + off
        centre = data.geom_xpos[panel] + off
        arm_line = at(centre - pivot, 0.0)
        arm_line /= np.linalg.norm(arm_line)
        sense = float(np.sign(left)) * (1.0 if data.xaxis[joint][2] > 0 else -1.0)
        ahead = sense * np.array([-arm_line[1], arm_line[0], 0.0])  # which way the free end is to go
        thick = float(np.min(size))
        top = float(centre[2] + np.abs(rotation[2]) @ size)
        reach = float(np.max(np.abs(rotation.T @ arm_line) * size))
        grip = centre + arm_line * (reach - 0.05)
        behind = at(grip - ahead * (thick + 0.03), top - 0.022)
        heading = m.half_turn(math.atan2(arm_line[1], arm_line[0]), m.HOME_RAD)
        turn = (heading - math.atan2(arm.rotation[1, 0], arm.rotation[0, 0]) + math.pi / 2) % math.pi - math.pi / 2
        here = arm.position
        ahead_m = float((here - grip) @ ahead)
        beside = abs(float((here - grip) @ arm_line))
        if here[2] < top + 0.01 and ahead_m < 0.0 and beside < 0.06:
            if here[2] > top - 0.012:
                return Aim("lower", at(here, top - 0.03), turn, CLOSE)
            return Aim(
                "push", at(here - arm_line * float((here - grip) @ arm_line) + ahead * 0.06, top - 0.022), turn, CLOSE
            )
        away = float(np.linalg.norm((here - behind)[:2]))
        if away < 0.015 and abs(turn) < 0.15:
            return Aim("lower", behind, turn, CLOSE)
        travel = max(self._shapes.top_between(here, behind, 0.075) + 0.04, top + 0.05)
        if here[2] < travel - 0.03 and away > 0.03:
            return Aim("lift", at(here, travel), turn, CLOSE)
        return Aim("approach", at(behind, travel), turn, CLOSE)
