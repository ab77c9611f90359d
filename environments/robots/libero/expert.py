"""The scripted expert for LIBERO: from a task's goal to the next aim of the hand, from privileged state alone.

It keeps no memory: which sub-goal is due and what the hand does for it follow from where things are now, so
it recovers from a drop, a push, another player's moves, or a rollback. How a hand takes, brings and leaves
things is `environments.robots.manipulation`'s; here is what LIBERO's things and places ask for.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from environments.robots import manipulation as m
from environments.robots.libero.expert_parts import Parts
from environments.robots.libero.expert_shapes import PALM_M, Shapes
from environments.robots.libero.suites import Fact
from environments.robots.libero.world import LiberoWorld
from environments.robots.motion import Aim, Posed, at, heading, native
from environments.robots.plans import StepPlan
from environments.robots.steps import Step, kind
from environments.robots.world import Arm, Vector

RIM_DEPTH_M = {
    "akita_black_bowl": 0.022,
    "plate": 0.012,
    "white_bowl": 0.022,
    "glazed_rim_porcelain_ramekin": 0.02,
    "porcelain_mug": 0.03,
    "red_coffee_mug": 0.03,
    "white_yellow_mug": 0.03,
}
"""What is taken by its rim, and how far below it; everything else is taken across its narrower side."""
RIM_WALL_M = 0.004
"""The middle of a rim is this far inside the widest radius."""
RIM_LEAST_M, CLASPED_M = 0.002, 0.008
"""Fingers closed on a rim are farther apart than this, and the grip site is no farther from it than that."""
LIFTED_M = 0.006
"""A thing whose foot is higher than this above what is below it does not stand."""
RIM_SIDES = 16
SLANTS = tuple((slant, shift) for slant in (0.0, 0.35, -0.35, 0.65, -0.65) for shift in (0.0, 0.22, -0.22))
"""Ways to take a thing among others: turned from its own axis, rad, and beside its middle, as a part of its length."""
CROWDED = 0.12
"""A grasp that costs less than this needs no other."""
FINGER_M = 0.022
"""Breadth of a finger: across a slanting thing it needs that much more room."""
DEPTH_M = 0.030
"""How far the grip site goes below the top of what is taken across."""
FLOOR_M = 0.014
"""The grip site stays this far above what a thing stands on."""
STRETCHED_M = 0.745
"""Farther from the arm's base than this, level, a hand that points down is at the end of its reach."""
CARRY_M = 0.025
"""Between the lowest point of what is carried and the highest thing below its way."""
CLEAR_M = 0.035
"""The same for an empty hand's grip site."""
BESIDE_M = 0.075
"""What is so close to the hand's way counts as below it."""
WALLED_M = 0.036
"""Between walls, the grip site goes no more than this below their top when it lets go."""
FLAT_M, ABOVE_FLAT_M = 0.01, 0.05
"""Half of the height of a region that is a mark on a surface, and how far above it its surface is looked for."""
RELEASE_M = 0.012
"""How far above its place a thing is let go."""
STALLED_M_S, INSIST = 0.012, 3.0
"""A hand slower than this that is not where it is meant to be, is sent so many times as far."""
STALLED_SIDEWAYS_M_S = 0.03
"""The same for a hand that is nearly over its place, whatever it does up or down."""
ROOM_M = 0.02
"""Between things that share a place."""


def steps(fact: Fact) -> tuple[Step, ...]:
    """A goal's facts in the order in which they can be reached: open and turn on, then put, then close."""
    parts = [goal for goal in fact.goal if len(goal) == 2]
    first = [Step(goal) for goal in parts if goal[0] != "close"]
    put = [Step(goal) for goal in fact.goal if len(goal) == 3]
    last = [Step(goal) for goal in parts if goal[0] == "close"]
    return (*first, *put, *last)


class LiberoPlan(StepPlan):
    """The way to the goal of one task."""

    world: LiberoWorld

    def __init__(self, world: LiberoWorld, arm: Arm, shapes: Shapes | None = None, parts: Parts | None = None) -> None:
        """Plan for a scene; `shapes` and `parts` are its own unless somebody believes them elsewhere."""
        self.world, self.arm = world, arm
        self.shapes = shapes or Shapes(world)
        self.parts = parts or Parts(world, arm, self.shapes)
        self.steps = tuple(self._with_opening(steps(world.fact)))

    def _with_opening(self, given: tuple[Step, ...]) -> Iterator[Step]:
        """Before something is put into a drawer, the drawer is opened, as long as the thing is not in it."""
        for step in given:
            if step.fact[0] == "in" and self.world.joints(step.fact[2]) and "close" not in [s.fact[0] for s in given]:
                yield Step(("open", step.fact[2]), lasting=False)
            yield step

    def aim(self) -> Aim:
        """Where the hand goes now."""
        return self.insist(self.waypoint())

    def insist(self, goal: Aim) -> Aim:
        """An aim, or one farther away in its direction for a hand that stands still before it is there."""
        here, velocity = self.arm.position, self.arm.velocity
        if float(np.linalg.norm(velocity)) < STALLED_M_S and goal.phase in ("lower", "descend", "approach"):
            # A load, or a wrist near its limit, leaves the controller a standing error: ask for more.
            further = here + INSIST * (goal.position - here)
            return dataclasses.replace(goal, position=further, yaw_rad=1.5 * goal.yaw_rad)
        left = float(np.linalg.norm((goal.position - here)[:2]))
        still = float(np.linalg.norm(velocity[:2])) < STALLED_SIDEWAYS_M_S
        if still and left < 0.03 and goal.phase in ("approach", "transport") and not isinstance(goal, Posed):
            further = here + INSIST * (goal.position - here)
            return dataclasses.replace(goal, position=at(further, float(goal.position[2])))
        return goal

    def waypoint(self) -> Aim:
        """Where the hand goes now, if it gets there: for who asks only when it stands still."""
        step = self.due()
        if step is None:
            return m.leave(self.arm, float(self.arm.position[2]) + 0.05)
        if not step.places:
            return self.parts.aim(step.verb, step.thing)
        # A load that has been knocked against something tilts the hand: that is no hand leaning at a drawer.
        away = None if self._clasped(step.thing) else self.parts.withdraw()
        return away or self.put(step.thing, step.place, holds=self.world.holds(step.fact))

    def action(self) -> list[float]:
        """The next native action."""
        return native(self.arm, self.aim())

    # --- putting something somewhere ---------------------------------------------------------------------------------

    def put(self, name: str, place: str, *, holds: bool) -> Aim:
        """Towards an object being at its place and let go of; `holds`: whether it is there now."""
        arm = self.arm
        if arm.ramp >= m.CLOSED and self._clasped(name):
            if holds and float(np.linalg.norm(arm.velocity)) < STALLED_M_S:
                return m.leave(arm, self._leave_m())  # it is there and goes no further
            return self.bring(name, place)
        return super().put(name, place, holds=holds)

    def _clasped(self, name: str) -> bool:
        """Whether closed fingers have an object between them: a thin rim rattles, and for a step neither touches it."""
        if m.in_hand(self.world, self.arm, name):
            return True
        foot = self._foot(name)
        below = self.shapes.surface(at(self.world.position(name), foot + LIFTED_M), name)
        if foot < below + LIFTED_M:
            return False  # it stands: the fingers may be on their way still
        boxes, here = self.shapes.boxes(name), self.arm.position
        gap = np.maximum(np.maximum(boxes.min(axis=1) - here, here - boxes.max(axis=1)), 0.0)
        return self.arm.width_m > RIM_LEAST_M and float(np.linalg.norm(gap, axis=1).min()) < CLASPED_M

    def _leave_m(self) -> float:
        return float(self.arm.position[2]) + 0.08

    def fetch(self, name: str) -> Aim:
        """Towards having an object in the hand."""
        taken, here = self.grasp(name), self.arm.position
        below = self.shapes.top_between(here, taken.point, BESIDE_M, (name,))
        housing = self.shapes.top_between(here, taken.point, PALM_M[0], (name,)) - PALM_M[2]
        travel = max(taken.top_m + 0.06, below + CLEAR_M, housing + 0.02)
        return m.reach_for(self.arm, taken.point, taken.heading_rad, taken.top_m, travel)

    def bring(self, name: str, place: str) -> Aim:
        """With an object in the hand, towards its place."""
        spot = self.spot(place, name)
        foot = self._foot(name)
        load = self.world.position(name)
        points = self.shapes.points(name)
        radius = float(np.linalg.norm(points[:, :2] - load[:2], axis=1).max())
        below = self.shapes.top_between(load, spot.surface, min(radius, 0.08), (name,))
        travel = max(below + CARRY_M, float(spot.surface[2]) + 0.04)
        goal = m.bring(self.arm, load, foot, spot, travel)
        if goal.phase == "transport":  # near its place it need not stay as high as it has come
            highest = travel + float(self.arm.position[2]) - foot
            return dataclasses.replace(goal, position=at(goal.position, min(float(goal.position[2]), highest)))
        return goal

    def spot(self, place: str, name: str) -> m.Spot:
        """Where on a place a thing is put."""
        world = self.world
        middle = world.position(place)
        if place in world.objects or place in world.fixtures:
            top = float(self.shapes.points(place)[:, 2].max())
        else:
            half = world.half_size(place)
            # A flat region may lie within what it is on: look for its surface from above.
            top = float(middle[2] + (half[2] if half[2] > FLAT_M else ABOVE_FLAT_M))
            middle = self._shared(place, name)
        surface = at(middle, self.shapes.surface(at(middle, top + 0.01), name))
        if world.joints(place) and m.in_hand(world, self.arm, name):
            palm = middle + at(self.arm.position - world.position(name), 0.0)
            walls = self.shapes.top_under_palm(palm, heading(self.arm.rotation), (name,))
        else:
            walls = self.shapes.top_between(middle, middle, 0.11, (name,))
        hang = float(self.arm.position[2]) - self._foot(name)
        release = max(RELEASE_M, walls - WALLED_M - hang - float(surface[2]))
        return m.Spot(surface, release, 0.010)

    def _shared(self, place: str, name: str) -> Vector:
        """Where on a region a thing goes: beside what else is put there, and under nothing that overhangs a drawer."""
        world = self.world
        middle, half = np.array(world.position(place)), world.half_size(place)
        there = [step.thing for step in self.steps if step.places and step.place == place]
        if len(there) > 1 and half[2] <= FLAT_M:
            low, high = self.shapes.extent(name, 0.0)
            apart = min(2 * (float(half[0]) - ROOM_M), high - low + 2 * ROOM_M)
            middle[0] += apart * (there.index(name) - (len(there) - 1) / 2)
        elif world.joints(place):
            points = self.shapes.points(name)
            radius = float(np.ptp(points[:, :2], axis=0).min()) / 2
            room = np.abs(world.rotation(place)) @ half
            return self.shapes.roomiest(middle, room, radius, float(np.ptp(points[:, 2])), (name,))
        return middle

    def _foot(self, name: str) -> float:
        return float(self.shapes.points(name)[:, 2].min())

    def _above(self, name: str, place: str) -> bool:
        """Whether an object is over its place and as low as it is let go."""
        spot = self.spot(place, name)
        away = float(np.linalg.norm((self.world.position(name) - spot.surface)[:2]))
        return away < 0.025 and self._foot(name) < spot.surface[2] + spot.release_m + 0.015

    # --- grasps ------------------------------------------------------------------------------------------------------

    def grasp(self, name: str) -> m.Grasp:
        """How an object is taken from above."""
        points = self.shapes.points(name)
        bottom, top = float(points[:, 2].min()), float(points[:, 2].max())
        depth = RIM_DEPTH_M.get(kind(name))
        if depth is not None:
            return self._rim(name, top, depth)
        z = max(bottom + min(FLOOR_M, (top - bottom) / 2), top - DEPTH_M)
        boxes = self.shapes.others((name,))
        best: tuple[float, m.Grasp] | None = None
        for slant, shift in SLANTS:
            if best is not None and slant and best[0] < CROWDED:
                break  # straight is good enough
            for along in self.shapes.headings(name):
                low, high = self.shapes.extent(name, along)
                back, fore = self.shapes.extent(name, along + math.pi / 2)
                u, v = (low + high) / 2, (back + fore) / 2 + shift * (fore - back)
                c, s = math.cos(along), math.sin(along)
                point = np.array([u * c - v * s, u * s + v * c, z])
                turned = m.half_turn(along + slant, m.HOME_RAD)
                wide = (high - low) / math.cos(slant) + FINGER_M * math.tan(abs(slant)) - m.OPEN_WIDTH_M
                cost = 100 * max(0.0, wide) + 10 * self.shapes.crowding(point, turned, boxes)
                cost += 0.05 * (abs(turned - m.HOME_RAD) + abs(slant) + abs(shift))
                if best is None or cost < best[0]:
                    best = (cost, m.Grasp(point, turned, top))
        if best is None:  # it lies on an edge: any heading is as good as another
            return m.Grasp(at(points.mean(axis=0), z), m.HOME_RAD, top)
        return best[1]

    def _rim(self, name: str, top: float, depth: float) -> m.Grasp:
        points = self.shapes.points(name)
        middle = self.world.position(name)
        boxes = self.shapes.others((name,))
        radius = self._rim_radius(name, points)
        base = self.world.mj_data.body("robot0_base").xpos[:2]
        due = self.due()
        put = due is not None and due.places
        place = self.spot(due.place, name).surface if due is not None and put else middle
        found: list[tuple[float, float, float, m.Grasp]] = []
        for i in range(RIM_SIDES):
            angle = m.HOME_RAD + 2 * math.pi * i / RIM_SIDES
            out = np.array([math.cos(angle), math.sin(angle)])
            point = np.array([*(middle[:2] + radius * out), top - depth])
            turned = m.half_turn(angle, m.HOME_RAD)
            crowded = self.shapes.crowding(point, turned, boxes)
            if put:  # room for the hand where it lets go, too: a plate may stand by a cabinet
                there = np.array([*(place[:2] + radius * out), place[2] + top - depth - float(points[:, 2].min())])
                crowded += self.shapes.crowding(there, turned, boxes, passing=True)
            cost = 10 * crowded + 0.02 * abs(turned - m.HOME_RAD)
            cost += 0.05 * float(np.linalg.norm(point[:2] - self.arm.position[:2]))
            ends = (point[:2], place[:2] + radius * out) if put else (point[:2],)
            far = sum(max(0.0, float(np.linalg.norm(end - base)) - STRETCHED_M) for end in ends)
            found.append((cost, crowded, far, m.Grasp(point, turned, top)))
        # A side at which the arm can reach it, and bring it, is preferred, but not for a place among other things.
        room = min(found, key=lambda side: side[0])[1] + 1e-3
        return min((side for side in found if side[1] <= room), key=lambda side: side[0] + 4 * side[2])[3]

    def _rim_radius(self, name: str, points: Vector) -> float:
        rotation = self.world.rotation(name)
        local = (points - self.world.position(name)) @ rotation
        return float(np.abs(local[:, :2]).max()) - RIM_WALL_M
