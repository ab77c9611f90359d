"""What the semantic skills need of a scene's plan: names as a person says them, aims, the next skill to its goal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from environments.robots.manipulation import held
from environments.robots.motion import OPEN, Aim
from environments.robots.object_skills import Verb
from environments.robots.plans import StepPlan

_IN_ROW = {2: ("left", "right"), 3: ("left", "middle", "right")}
RISE_CM = 2.0
"""A hand that has nothing left to do rises by this per skill."""


class PlannedHands(ABC):
    """Names and aims for `ObjectSkills` from a scene's plan; fulfils `Manipulator`.

    Args:
        plan: the way to the goal.
        high_m: a hand that has nothing left to do rises up to here.
    """

    def __init__(self, plan: StepPlan, high_m: float) -> None:
        self._plan, self._world, self._high_m = plan, plan.world, high_m

    @abstractmethod
    def objects(self) -> dict[str, str]:
        """What can be taken: as a person calls it now, to its name in the world."""

    @abstractmethod
    def places(self) -> dict[str, str]:
        """What things can be put in or on, likewise."""

    @abstractmethod
    def parts(self) -> dict[str, str]:
        """What can be opened, closed or turned, likewise."""

    @abstractmethod
    def can(self, part: str, verb: Verb) -> bool:
        """Whether a part is of the kind that is opened and closed, or turned on and off."""

    @abstractmethod
    def shut(self, place: str) -> bool:
        """Whether a place is in a drawer or behind a door that is less than half open."""

    @abstractmethod
    def move_part(self, part: str, verb: Verb) -> Aim:
        """Towards a part being open, closed, turned on or off."""

    def fetch(self, name: str) -> Aim:
        """Towards having an object in the hand."""
        return self._plan.fetch(name)

    def bring(self, name: str, place: str) -> Aim:
        """With an object in the hand, towards its place."""
        return self._plan.bring(name, place)

    def withdraw(self) -> Aim | None:
        """Away from what the hand still is at, before it may do something else; None if it may."""
        return None

    def skill(self) -> dict[str, Any]:
        """The next skill towards the goal, of an expert that sees everything and keeps no memory."""
        step, arm = self._plan.due(), self._plan.arm
        if step is None:
            if arm.ramp > OPEN + 0.1:
                return {"skill": "gripper", "state": "open"}
            rise = RISE_CM if arm.position[2] < self._high_m else 0.0
            return {"skill": "move", "dx_cm": 0.0, "dy_cm": 0.0, "dz_cm": rise}
        if not step.places:
            skill = {"turnon": "turn_on", "turnoff": "turn_off"}.get(step.verb, step.verb)
            return {"skill": skill, "fixture": called(step.thing, self.parts())}
        said = called(step.thing, self.objects())
        if not held(self._world, step.thing):
            return {"skill": "pick", "object": said}
        target = called(step.place, self.places())
        return {"skill": "place", "object": said, "relation": step.verb, "target": target}

    def _spoken(self, names: Iterable[str], label: Callable[[str], str]) -> dict[str, str]:
        """Names by what a person calls them: of several of a kind one is the left one, as `agentview` shows them."""
        alike: dict[str, list[str]] = defaultdict(list)
        for name in names:
            alike[label(name)].append(name)
        spoken = {}
        for said, several in alike.items():
            if len(several) == 1:
                spoken[said] = several[0]
                continue
            in_row = sorted(several, key=lambda name: float(self._world.position(name)[1]))
            sides = _IN_ROW.get(len(in_row)) or tuple(f"{i}." for i in range(1, len(in_row) + 1))
            spoken.update({f"{side} {said}": name for side, name in zip(sides, in_row, strict=True)})
        return spoken


def called(name: str, among: Mapping[str, str]) -> str:
    """What a person calls a thing now.

    Raises:
        LookupError: for a thing that nobody has a word for.
    """
    for said, known in among.items():
        if known == name:
            return said
    raise LookupError(f"{name!r} has no name among {', '.join(map(repr, among.values())) or 'none'}")
