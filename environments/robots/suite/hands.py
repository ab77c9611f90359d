"""The suite's primitives as the semantic skills ask for them, and what a person calls the things of a scene."""

from __future__ import annotations

from environments.robots.hands import PlannedHands
from environments.robots.motion import Aim
from environments.robots.object_skills import Verb
from environments.robots.steps import Step
from environments.robots.suite.plan import Plan
from environments.robots.suite.spec import label

HIGH_M = 1.1
"""A hand that has nothing left to do rises up to here."""


class SuiteHands(PlannedHands):
    """Names and aims for `ObjectSkills`."""

    _plan: Plan

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, HIGH_M)

    def objects(self) -> dict[str, str]:
        """What can be taken, as it is called now."""
        return self._spoken(self._world.objects, label)

    def places(self) -> dict[str, str]:
        """What things can be put in or on: regions, and every object."""
        names = dict.fromkeys((*self._world.regions, *self._world.objects))
        return self._spoken(names, label)

    def parts(self) -> dict[str, str]:
        """Drawers and knobs; a stove's knob answers to the stove's name."""
        moving = [name for name in self._world.fixtures if self._world.joints(name)]
        spoken = self._spoken(moving, label)
        more = {"stove": "knob", "cabinet": "drawer"}
        return spoken | {said: part for said, part in more.items() if part in moving}

    def can(self, part: str, verb: Verb) -> bool:
        """Whether a part moves at all: here a knob that is opened is a knob that is turned on."""
        return bool(self._world.joints(part))

    def shut(self, place: str) -> bool:
        """Whether a place is in a drawer that is less than half open."""
        return any(now < low + 0.5 * (high - low) for now, low, high in self._world.joints(place).values())

    def move_part(self, part: str, verb: Verb) -> Aim:
        """Towards a part being open, closed, turned on or off."""
        return self._plan.aim_at(Step((verb, part)))
