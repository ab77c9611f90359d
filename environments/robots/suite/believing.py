"""The suite's scripted policy that does not re-check what it has done."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from environments.robots import manipulation as m
from environments.robots.believing import MOVE_STEPS, BelievingPlayer
from environments.robots.motion import OPEN, Aim, heading, wrap
from environments.robots.steps import Step
from environments.robots.suite.plan import Plan
from environments.robots.world import Vector

if TYPE_CHECKING:
    from environments.robots.suite.env import SuiteEnv

ARRIVED_M, ARRIVED_RAD = 0.004, math.radians(4)


class SuiteBelievingPlayer(BelievingPlayer):
    """For a task of the suite."""

    _plan: Plan

    def __init__(self, env: SuiteEnv) -> None:
        world, arm = env.senses
        super().__init__(Plan(world, arm, tuple(env.suite_task.steps)))  # type: ignore[arg-type]  # they pass all else on
        self._load: Vector = np.zeros(3)
        """From the hand to the middle of what it is believed to hold; its foot's height instead of z."""
        self._left = self._heading = 0.0

    def _seek(self, step: Step) -> Aim:
        return self._plan.fetch(step.thing) if step.places else self._plan.take(step)

    def _take(self, step: Step) -> None:
        plan, arm = self._plan, self._plan.arm
        self._heading = heading(arm.rotation)
        if step.places:
            self._load = plan.world.position(step.thing) - arm.position
            self._load[2] = plan.world.bottom(step.thing) - arm.position[2]
        else:
            self._left = plan.handle(step).left

    def _bring(self, step: Step) -> Aim:
        plan, arm = self._plan, self._plan.arm
        load = arm.position + self._load
        spot = plan.spot(step.place, step.thing)
        return m.bring(arm, load, float(load[2]), spot, plan.carry_height(step.thing))

    def _move(self, step: Step) -> Aim:
        """Pull or turn as far as it was to go when the hand closed, measured at the hand."""
        arm, handle = self._plan.arm, self._plan.handle(step)
        if handle.pivot is None:
            left = self._left - float((arm.position - self._spot) @ handle.axis)
            done = abs(left) < ARRIVED_M
        else:
            left = self._left - wrap(heading(arm.rotation) - self._heading)
            done = abs(left) < ARRIVED_RAD
        if done or self._since > MOVE_STEPS:
            return Aim("release", arm.position, 0.0, OPEN)
        point = handle.point if handle.pivot is not None else self._spot
        believed = m.Handle(point, handle.heading_rad, handle.top_m, handle.axis, handle.pivot, left)
        return m.pull(arm, believed)

    def _rest(self) -> Aim:
        return m.leave(self._plan.arm, m.travel_height(self._plan.world))
