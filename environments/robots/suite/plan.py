"""The way to the goal of a task of the suite: which step is due now, and where the hand goes for it."""

from __future__ import annotations

import math

import numpy as np

from environments.robots import manipulation as m
from environments.robots.motion import CLOSE, Aim, at
from environments.robots.plans import StepPlan
from environments.robots.steps import Step
from environments.robots.suite.world import CLOSED_PART, OPEN_PART, SuiteWorld
from environments.robots.world import Arm

GRASPS: dict[str, tuple[m.Way, float]] = {
    "can": ("round", 0.030),
    "milk_carton": ("box", 0.030),
    "bread": ("box", 0.030),
    "cereal_box": ("box", 0.030),
    "lemon": ("box", 0.024),
    "bottle": ("round", 0.030),
    "black_bowl": ("rim", 0.018),
}
"""By kind: how it is taken, and how far the tips go below its top, in metres. Cubes are boxes."""
DROP_M = {"basket": 0.035, "drawer_inside": 0.012}
"""Where walls keep the hand from going lower, things are let go this far above the floor."""
CARRY_M = 0.035
"""Between the lowest point of what is carried and the highest of everything else."""
SLACK = 0.06
"""Part of its way that a drawer or knob is moved beyond what the predicate asks for."""


class Plan(StepPlan):
    """The steps of a task of the suite."""

    world: SuiteWorld

    def __init__(self, world: SuiteWorld, arm: Arm, steps: tuple[Step, ...]) -> None:
        self.world, self.arm, self.steps = world, arm, steps
        self._kinds = {thing.name: thing.kind for thing in world.things}

    def aim(self) -> Aim:
        """Where the hand goes now."""
        step = self.due()
        if step is None:
            return m.leave(self.arm, m.travel_height(self.world))
        return self.aim_at(step)

    def aim_at(self, step: Step) -> Aim:
        """Where the hand goes now, for one step."""
        if not step.places:
            return self._move(step)
        inside = step.place in ("basket", "drawer_inside")
        holds = self.world.holds(("in" if inside else "on", step.thing, step.place))
        return self.put(step.thing, step.place, holds=holds)

    def grasp(self, name: str) -> m.Grasp:
        """How an object is taken."""
        way, depth = GRASPS.get(self._kinds[name], ("box", 0.030))
        return m.grasp(self.world, name, way, depth_m=depth)

    def fetch(self, name: str) -> Aim:
        """Towards having an object in the hand."""
        taken = self.grasp(name)
        return m.reach_for(self.arm, taken.point, taken.heading_rad, taken.top_m, m.travel_height(self.world))

    def bring(self, name: str, place: str) -> Aim:
        """With an object in the hand, towards its place."""
        spot = self.spot(place, name)
        middle = self.world.position(name)
        return m.bring(self.arm, middle, self.world.bottom(name), spot, self.carry_height(name))

    def spot(self, place: str, name: str = "") -> m.Spot:
        """Where on a place a thing is put: in its middle, or in a basket where nothing else lies."""
        surface, half = self.world.surface(place)
        if place == "basket":
            shift = self.world.rotation(place) @ np.array([0.0, half[1] / 2, 0.0])
            others = [self.world.position(other)[:2] for other in self.world.objects if other != name]
            spots = (surface, surface + shift, surface - shift)
            # The middle is good enough if nothing is near it.
            room = [min(0.09, *(float(np.linalg.norm(spot[:2] - other)) for other in others)) for spot in spots]
            surface = spots[int(np.argmax(room))]
        heading = None
        if place == "drawer_inside":  # the cabinet stands close: the hand's long side goes along its front
            rotation = self.world.rotation(place)
            heading = math.atan2(rotation[1, 0], rotation[0, 0])
        within = 0.004 if place.endswith("_cube") else 0.006
        return m.Spot(surface, DROP_M.get(place, m.RELEASE_M), within, heading)

    def _leave_m(self) -> float:
        return m.travel_height(self.world)

    def _above(self, name: str, place: str) -> bool:
        """Whether an object is over its place and as low as it is let go."""
        middle, half = self.world.surface(place)
        away = np.abs((self.world.position(name) - middle)[:2])
        low = self.spot(place).release_m + 0.012
        return bool((away < half[:2]).all()) and self.world.bottom(name) < middle[2] + low

    def carry_height(self, name: str) -> float:
        """Height of the load's lowest point at which it clears everything but itself."""
        others = (top for other, top in m.tops(self.world).items() if other != name)
        return max(others, default=0.8) + CARRY_M

    def handle(self, step: Step) -> m.Handle:
        """What is taken to open, close or turn, and how far it is still to go."""
        world, model, data = self.world, self.world.mj_model, self.world.mj_data
        part = step.thing
        geom = model.geom(f"{part}_handle").id
        joint = world._joint[part]
        ((now, low, high),) = world.joints(part).values()
        wanted = OPEN_PART + SLACK + 0.08 if step.verb in ("open", "turnon") else CLOSED_PART - SLACK
        left = low + wanted * (high - low) - now
        # A policy's senses may have the part elsewhere than it is; without a fault this adds nothing, to the bit.
        believed = world.position(part) - data.xpos[model.jnt_bodyid[joint]]
        centre, turn = data.geom_xpos[geom] + believed, data.geom_xmat[geom].reshape(3, 3)
        size = model.geom_size[geom]
        short_side = turn[:, int(size[1] < size[0])]
        across = m.half_turn(math.atan2(short_side[1], short_side[0]), m.HOME_RAD)  # the bar or blade
        top = float(centre[2] + model.geom_size[geom][2])
        hinge = bool(model.jnt_type[joint] == 3)
        pivot = data.xanchor[joint] + believed if hinge else None
        return m.Handle(at(centre, top - 0.016), across, top, np.array(data.xaxis[joint]), pivot, left)

    def take(self, step: Step) -> Aim:
        """Towards having a handle in the hand."""
        handle = self.handle(step)
        travel = m.travel_height(self.world)
        return m.reach_for(self.arm, handle.point, handle.heading_rad, handle.top_m, travel)

    def _move(self, step: Step) -> Aim:
        world, arm = self.world, self.arm
        handle = self.handle(step)
        near = float(np.linalg.norm(arm.position - handle.point)) < 0.03
        if near and m.in_hand(world, arm, step.thing):
            if arm.ramp < m.CLOSED:
                return Aim("close", arm.position, 0.0, CLOSE)
            return m.pull(arm, handle)
        return self.take(step)
