"""The suite's primitives as the semantic skills ask for them, and what a person calls the things of a scene."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from environments.robots.manipulation import held
from environments.robots.motion import OPEN, Aim
from environments.robots.object_skills import Verb
from environments.robots.steps import Step
from environments.robots.suite.plan import Plan
from environments.robots.suite.spec import label

HIGH_M = 1.1
"""A hand that has nothing left to do rises up to here."""


class SuiteHands:
    """Names and aims for `ObjectSkills`; fulfils `Manipulator`."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._world = plan, plan.world

    def objects(self) -> dict[str, str]:
        """What can be taken, as it is called now: of two of a kind one is the left one, as `agentview` shows them."""
        return self._spoken(self._world.objects)

    def places(self) -> dict[str, str]:
        """What things can be put in or on: regions, and every object."""
        names = dict.fromkeys((*self._world.regions, *self._world.objects))
        return self._spoken(names)

    def parts(self) -> dict[str, str]:
        """Drawers and knobs; a stove's knob answers to the stove's name."""
        moving = [name for name in self._world.fixtures if self._world.joints(name)]
        spoken = self._spoken(moving)
        more = {"stove": "knob", "cabinet": "drawer"}
        return spoken | {said: part for said, part in more.items() if part in moving}

    def fetch(self, name: str) -> Aim:
        """Towards having an object in the hand."""
        return self._plan.fetch(name)

    def bring(self, name: str, place: str) -> Aim:
        """With an object in the hand, towards its place."""
        return self._plan.bring(name, place)

    def move_part(self, part: str, verb: Verb) -> Aim:
        """Towards a part being open, closed, turned on or off."""
        return self._plan.aim_at(Step((verb, part)))

    def skill(self) -> dict[str, Any]:
        """The next skill towards the goal, of an expert that sees everything and keeps no memory."""
        step, arm = self._plan.due(), self._plan.arm
        if step is None:
            if arm.ramp > OPEN + 0.1:
                return {"skill": "gripper", "state": "open"}
            return {"skill": "move", "dx_cm": 0.0, "dy_cm": 0.0, "dz_cm": 2.0 if arm.position[2] < HIGH_M else 0.0}
        if not step.places:
            skill = {"turnon": "turn_on", "turnoff": "turn_off"}.get(step.verb, step.verb)
            return {"skill": skill, "fixture": _called(step.thing, self.parts())}
        said = _called(step.thing, self.objects())
        if not held(self._world, step.thing):
            return {"skill": "pick", "object": said}
        target = _called(step.place, self.places())
        return {"skill": "place", "object": said, "relation": step.verb, "target": target}

    def _spoken(self, names: Iterable[str]) -> dict[str, str]:
        alike: dict[str, list[str]] = defaultdict(list)
        for name in names:
            alike[label(name)].append(name)
        spoken = {}
        for said, several in alike.items():
            if len(several) == 1:
                spoken[said] = several[0]
                continue
            in_row = sorted(several, key=lambda name: float(self._world.position(name)[1]))
            sides = ("left", "right") if len(in_row) == 2 else tuple(f"{i}." for i in range(1, len(in_row) + 1))
            spoken.update({f"{side} {said}": name for side, name in zip(sides, in_row, strict=True)})
        return spoken


def _called(name: str, among: Mapping[str, str]) -> str:
    """What a person calls a thing now."""
    return next(said for said, known in among.items() if known == name)
