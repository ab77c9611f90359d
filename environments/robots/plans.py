"""The way to a goal for a hand that sees everything and keeps no memory: which step is due, how a thing is put."""

from __future__ import annotations

from abc import ABC, abstractmethod

from environments.robots import manipulation as m
from environments.robots.motion import CLOSE, Aim
from environments.robots.steps import Step
from environments.robots.world import Arm, World


class StepPlan(ABC):
    """Steps in order, each left alone while it holds and done again when it is undone."""

    world: World
    arm: Arm
    steps: tuple[Step, ...]

    @abstractmethod
    def fetch(self, name: str) -> Aim:
        """Towards having an object in the hand."""

    @abstractmethod
    def bring(self, name: str, place: str) -> Aim:
        """With an object in the hand, towards its place."""

    @abstractmethod
    def _above(self, name: str, place: str) -> bool:
        """Whether an object is over its place and as low as it is let go."""

    @abstractmethod
    def _leave_m(self) -> float:
        """How high a hand rises that has let go, m."""

    def due(self) -> Step | None:
        """The first step that is still to be done, or None if all are."""
        for i, step in enumerate(self.steps):
            # What need not last is needed only while a later step is still to come.
            if not self.settled(step) and (step.lasting or not self.settled(self.steps[i + 1])):
                return step
        return None

    def settled(self, step: Step) -> bool:
        """Whether a step is done: its predicate holds, and an object has been let go of."""
        return self.world.holds(step.fact) and not (step.places and m.touched(self.world, step.thing))

    def put(self, name: str, place: str, *, holds: bool) -> Aim:
        """Towards an object being at its place and let go of; `holds`: whether it is there now."""
        world, arm = self.world, self.arm
        if arm.ramp < m.CLOSED and m.touched(world, name) and (holds or self._above(name, place)):
            return m.leave(arm, self._leave_m())
        if m.in_hand(world, arm, name):
            if arm.ramp < m.CLOSED:
                return Aim("close", arm.position, 0.0, CLOSE)  # contact comes before force
            return self.bring(name, place)
        if holds:
            return m.leave(arm, self._leave_m())
        return self.fetch(name)
