"""A scripted policy for the suite that does not re-check what it has done, as many learned policies do not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from environments.robots import manipulation as m
from environments.robots.motion import CLOSE, OPEN, Aim, heading, native, wrap
from environments.robots.steps import Step
from environments.robots.suite.plan import Plan
from environments.robots.world import CLOSE_STEPS, Vector

if TYPE_CHECKING:
    from environments.robots.suite.env import SuiteEnv

Belief = Literal["empty", "closing", "held", "opening"]

MOVE_STEPS = 60
"""A drawer or knob is believed moved after so many control steps at the latest."""
ARRIVED_M, ARRIVED_RAD = 0.004, math.radians(4)


class BelievingPlayer:
    """Does the steps of a task in order, each once, on belief.

    It looks at a thing until it has closed the hand on it; from then on it believes that it holds the thing, that the
    thing goes where the hand goes, and that what it has let go is where it should be. `reset` forms the belief anew
    from what is true now, so it can take over at any moment; it looks through the policy's senses (see `faults`).
    """

    def __init__(self, env: SuiteEnv) -> None:
        self._env = env
        world, arm = env.senses
        self._plan = Plan(world, arm, tuple(env.suite_task.steps))  # type: ignore[arg-type]  # they pass all else on
        self._belief: Belief = "empty"
        self._step = self._since = 0
        self._spot: Vector = np.zeros(3)
        self._load: Vector = np.zeros(3)
        """From the hand to the middle of what it is believed to hold; its foot's height instead of z."""
        self._left = self._heading = 0.0

    def reset(self) -> None:
        """Forget everything; believe what is true now."""
        due = self._plan.due()
        self._step = len(self._plan.steps) if due is None else self._plan.steps.index(due)
        self._believe("empty")
        if due is not None and m.in_hand(self._plan.world, self._plan.arm, due.thing):
            self._spot = self._plan.arm.position
            self._take(due)
            self._believe("held" if self._plan.arm.ramp > m.CLOSED else "closing")

    def act(self) -> list[float]:
        """The next 7-D action."""
        return native(self._plan.arm, self._aim())

    def _aim(self) -> Aim:
        plan, arm = self._plan, self._plan.arm
        if self._step >= len(plan.steps):
            return m.leave(arm, m.travel_height(plan.world))
        step = plan.steps[self._step]
        self._since += 1
        if self._belief == "empty":
            aim = plan.fetch(step.thing) if step.places else plan.take(step)
            if aim.phase == "close":
                self._spot = aim.position
                self._believe("closing")
            return aim
        if self._belief == "closing":
            if self._since > CLOSE_STEPS:
                self._take(step)
                self._believe("held")
            return Aim("close", self._spot, 0.0, CLOSE)
        if self._belief == "held":
            aim = self._bring(step) if step.places else self._move(step)
            if aim.phase == "release":
                self._spot = arm.position
                self._believe("opening")
            return aim
        if self._since > CLOSE_STEPS:
            self._step += 1
            self._believe("empty")
        return Aim("release", self._spot, 0.0, OPEN)

    def _take(self, step: Step) -> None:
        """Note how the thing lies in the hand, or how far the part is to go: the last look at it."""
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

    def _believe(self, belief: Belief) -> None:
        self._belief, self._since = belief, 0
