"""A scripted policy that does not re-check what it has done, as many learned policies do not; for any scene's plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np

from environments.robots import manipulation as m
from environments.robots.motion import CLOSE, OPEN, Aim, native
from environments.robots.plans import StepPlan
from environments.robots.steps import Step
from environments.robots.world import CLOSE_STEPS, Vector

Belief = Literal["empty", "closing", "held", "opening"]

MOVE_STEPS = 60
"""A drawer or knob is believed moved after so many control steps at the latest."""


class BelievingPlayer(ABC):
    """Does the steps of a task in order, each once, on belief.

    It looks at a thing until it has closed the hand on it; from then on it believes that it holds the thing, that the
    thing goes where the hand goes, and that what it has let go is where it should be. `reset` forms the belief anew
    from what is true now, so it can take over at any moment; it looks through the policy's senses (see `faults`).

    Args:
        plan: of the task, made of what the policy perceives.
    """

    def __init__(self, plan: StepPlan) -> None:
        self._plan = plan
        self._belief: Belief = "empty"
        self._step = self._since = 0
        self._spot: Vector = np.zeros(3)
        """Where the hand is to stay while it closes or opens."""

    # --- what a scene adds -------------------------------------------------------------------------------------------

    @abstractmethod
    def _seek(self, step: Step) -> Aim:
        """With an empty hand, towards what a step is about; its phase is `close` where the hand is to close."""

    @abstractmethod
    def _take(self, step: Step) -> None:
        """Note how the thing lies in the hand, or how far the part is to go: the last look at it."""

    @abstractmethod
    def _bring(self, step: Step) -> Aim:
        """With what is believed to be in the hand, towards its place; its phase is `release` where it is let go."""

    @abstractmethod
    def _move(self, step: Step) -> Aim:
        """Pull or turn as far as it was to go when the hand closed; its phase is `release` where that is done."""

    @abstractmethod
    def _rest(self) -> Aim:
        """When everything is believed to be done."""

    def _grips(self, step: Step) -> bool:
        """Whether the hand has what a step is about."""
        return m.in_hand(self._plan.world, self._plan.arm, step.thing)

    def _still(self, phase: str, gripper: float) -> Aim:
        """On the spot."""
        return Aim(phase, self._spot, 0.0, gripper)

    # --- the policy --------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget everything; believe what is true now."""
        due = self._plan.due()
        self._step = len(self._plan.steps) if due is None else self._plan.steps.index(due)
        self._believe("empty")
        if due is not None and self._grips(due):
            self._spot = self._plan.arm.position
            self._take(due)
            self._believe("held" if self._plan.arm.ramp > m.CLOSED else "closing")

    def act(self) -> list[float]:
        """The next 7-D action."""
        return native(self._plan.arm, self._aim())

    def _aim(self) -> Aim:
        plan, arm = self._plan, self._plan.arm
        if self._step >= len(plan.steps):
            return self._rest()
        step = plan.steps[self._step]
        self._since += 1
        if self._belief == "empty":
            aim = self._seek(step)
            if aim.phase == "close":
                self._spot = aim.position
                self._believe("closing")
            return aim
        if self._belief == "closing":
            if self._since > CLOSE_STEPS:
                self._take(step)
                self._believe("held")
            return self._still("close", CLOSE)
        if self._belief == "held":
            aim = self._bring(step) if step.places else self._move(step)
            if aim.phase == "release":
                self._spot = arm.position
                self._believe("opening")
            return aim
        if self._since > CLOSE_STEPS:
            self._step += 1
            self._believe("empty")
        return self._still("release", OPEN)

    def _believe(self, belief: Belief) -> None:
        self._belief, self._since = belief, 0
