"""LIBERO's things for the semantic skills: what a person calls them, and how the expert's primitives handle them."""

from __future__ import annotations

from environments.robots import manipulation
from environments.robots.hands import PlannedHands
from environments.robots.libero.expert import LiberoPlan
from environments.robots.libero.goals import TABLES, as_said, words
from environments.robots.libero.world import LiberoWorld
from environments.robots.motion import CLOSE, Aim
from environments.robots.object_skills import Verb
from environments.robots.steps import kind

SIDES = ("_front_region", "_back_region", "_left_region", "_right_region")
"""Ends of the regions of a table that lie beside something; its other ones are where things are put at a reset."""


class LiberoHands(PlannedHands):
    """Names and aims for `ObjectSkills`.

    Things are called as in the milestones; an instruction's shorter word for one ("bowl" for "black bowl") is
    understood as well, where it is no other thing's.

    Args:
        plan: the way to the goal.
        high_m: a hand that has nothing left to do rises up to here.
    """

    _plan: LiberoPlan
    _world: LiberoWorld

    def objects(self) -> dict[str, str]:
        """What can be taken, as it is called now."""
        return self._known(self._spoken(self._world.objects, _label))

    def places(self) -> dict[str, str]:
        """What things can be put in or on: objects, fixtures' regions, and places beside them.

        A basket is its inside, and a stove its plate.
        """
        world = self._world
        goals = {name for fact in world.fact.goal for name in fact[2:]}
        regions = [name for name in world.regions if name in goals or _is_place(name)]
        return self._known(self._spoken(world.objects, _label) | self._spoken(regions, words))

    def parts(self) -> dict[str, str]:
        """Drawers, doors, and stoves, which are turned on and off."""
        world = self._world
        moving = [name for name in (*world.regions, *world.fixtures) if len(world.joints(name)) == 1]
        return self._known(self._spoken(moving, words))

    def can(self, part: str, verb: Verb) -> bool:
        """Whether the benchmark knows what it is for a part to be open, closed, turned on or off."""
        return bool(self._world.joint_limits(part, verb))

    def shut(self, place: str) -> bool:
        """Whether a place is in a drawer or behind a door that is less than half open."""
        world = self._world
        part = place
        if not world.joints(place) and place.endswith("_region"):  # the inside of a microwave is its door's
            part = next((name for name in world.fixtures if place.startswith(f"{name}_")), place)
        joints = world.joints(part)
        opened, closed = world.joint_limits(part, "open"), world.joint_limits(part, "close")
        if len(joints) != 1 or not opened or not closed:
            return False
        ((now, _, _),) = joints.values()
        start, end = sum(closed) / len(closed), sum(opened) / len(opened)
        return (now - start) / (end - start) < 0.5

    def fetch(self, name: str) -> Aim:
        """Towards having an object in the hand; one that fingers close on is not left for a better grasp."""
        arm = self._plan.arm
        if manipulation.in_hand(self._world, arm, name):
            return Aim("close", arm.position, 0.0, CLOSE)
        return self._plan.insist(self._plan.fetch(name))

    def bring(self, name: str, place: str) -> Aim:
        """With an object in the hand, towards its place."""
        return self._plan.insist(self._plan.bring(name, place))

    def move_part(self, part: str, verb: Verb) -> Aim:
        """Towards a part being open, closed, turned on or off; the hand may lean."""
        return self._plan.insist(self._plan.parts.aim(verb, part))

    def withdraw(self) -> Aim | None:
        """Away from a part that a leaning hand still is at; None if it may do what it likes."""
        return self._plan.parts.withdraw()

    def _known(self, spoken: dict[str, str]) -> dict[str, str]:
        """With the instruction's own words after the whole names, where they are one thing's alone."""
        fact = self._world.fact
        meant = {*self._world.objects, *(name for predicate in fact.goal for name in predicate[1:])}
        shorter: dict[str, list[str]] = {}
        for name in spoken.values():
            said = as_said(name, fact.instruction)
            if name in meant and f" {said} " in f" {fact.instruction} ":
                shorter.setdefault(said, []).append(name)
        return spoken | {said: found[0] for said, found in shorter.items() if said not in spoken and len(found) == 1}


def _label(name: str) -> str:
    """What a person calls an object, without its number."""
    return words(kind(name))


def _is_place(region: str) -> bool:
    """Whether a region is a fixture's or lies beside something, and is not just where a thing stands at a reset."""
    table = region.startswith((*TABLES, "floor_"))
    return region.endswith(SIDES) if table else True
