"""Milestones of LIBERO's tasks, from the predicates of their goals, worded for a person; `progress` reads them.

Each predicate is a sub-goal with up to five steps: an object is reached, grasped, lifted, carried over its
place and placed; a door, drawer or knob is reached, touched, moved, moved half-way and at its goal. A task
with several sub-goals leaves the first steps out, so that it has at most eleven milestones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from environments.robots.libero.suites import Fact
from environments.task import Milestone

Kind = Literal["place", "push", "turn"]

STEPS: dict[Kind, tuple[str, ...]] = {
    "place": ("reach", "grasp", "lift", "carry", "goal"),
    "push": ("reach", "touch", "move", "half", "goal"),
    "turn": ("reach", "touch", "move", "half", "goal"),
}
LEFT_OUT: dict[int, frozenset[str]] = {
    1: frozenset(),
    2: frozenset({"reach"}),
    3: frozenset({"reach", "carry", "half"}),
}
"""Steps that a task with so many sub-goals does without."""

_NAMES = {
    "akita_black_bowl": "black bowl",
    "black_book": "book",
    "chefmate_8_frypan": "frying pan",
    "cream_cheese": "cream cheese box",
    "desk_caddy": "caddy",
    "flat_stove": "stove",
    "new_salad_dressing": "salad dressing",
    "porcelain_mug": "white mug",
    "red_coffee_mug": "red mug",
    "white_yellow_mug": "yellow and white mug",
    "wooden_two_layer_shelf": "shelf",
    "yellow_book": "book",
}
_REGIONS = {
    "contain_region": "{owner}",
    "cook_region": "{owner}",
    "heating_region": "{owner}",
    "top_side": "top of the {owner}",
    "top_region": "top drawer of the {owner}",
    "middle_region": "middle drawer of the {owner}",
    "bottom_region": "bottom drawer of the {owner}",
    "back_contain_region": "back compartment of the {owner}",
    "front_contain_region": "front compartment of the {owner}",
    "left_contain_region": "left compartment of the {owner}",
    "right_contain_region": "right compartment of the {owner}",
}
_ORDINALS = {"1": "", "2": "second ", "3": "third "}
TABLES = ("main_table_", "kitchen_table_", "living_room_table_", "study_table_")
"""With what the names of a table's own regions begin."""


def words(name: str) -> str:
    """What a person calls an object, fixture or region of the benchmark."""
    for table in TABLES:
        if name.startswith(table):  # `<table>_<thing>_<side>_region`
            thing, side = name.removeprefix(table).removesuffix("_region").rsplit("_", 1)
            relation = "in front of" if side == "front" else f"to the {side} of"
            return f"place {relation} the {words(thing)}"
    parts = name.split("_")
    number = next((i for i, part in enumerate(parts) if part in _ORDINALS), len(parts))
    stem, region = "_".join(parts[:number]), "_".join(parts[number + 1 :])
    ordinal = _ORDINALS[parts[number]] if number < len(parts) else ""
    owner = ordinal + _NAMES.get(stem, stem.replace("_", " "))
    if stem == "wine_rack":
        return owner
    if stem == "wooden_two_layer_shelf" and region.endswith("_region"):
        return f"{'upper' if region.startswith('top') else 'lower'} level of the {owner}"
    return _REGIONS[region].format(owner=owner) if region else owner


def as_said(name: str, instruction: str) -> str:
    """The longest part of a thing's name that an instruction uses ("bowl" of "black bowl"), or else the whole name."""
    whole, small = words(name).split(), {"and", "of", "the"}
    for length in range(len(whole), 0, -1):
        for start in range(len(whole) - length, -1, -1):  # the last words first: they are the noun
            part = whole[start : start + length]
            if not {part[0], part[-1]} & small and f" {' '.join(part)} " in f" {instruction} ":
                return " ".join(part)
    return " ".join(whole)


@dataclass(frozen=True, slots=True)
class SubGoal:
    """One predicate of a goal, with its milestones."""

    kind: Kind
    predicate: tuple[str, ...]
    steps: tuple[str, ...]
    suffix: str
    """Appended to a step's name to make the milestone's id."""

    @property
    def thing(self) -> str:
        """What is to be moved: an object, or the fixture or region whose joint is to be moved."""
        return self.predicate[1]

    @property
    def place(self) -> str | None:
        """Where it is to be, for objects."""
        return self.predicate[2] if len(self.predicate) == 3 else None

    def milestones(self) -> tuple[Milestone, ...]:
        """Its milestones, in order."""
        verb, thing = self.predicate[0], words(self.thing)
        place = words(self.place) if self.place else ""
        done = {
            "on": f"The {thing} is {'at' if place.startswith('place ') else 'on'} the {place}",
            "in": f"The {thing} is in the {place}",
            "open": f"The {thing} is open",
            "close": f"The {thing} is closed",
            "turnon": f"The {thing} is turned on",
            "turnoff": f"The {thing} is turned off",
        }[verb]
        texts = {
            "reach": f"The gripper is at the {thing}",
            "grasp": f"Both fingers of the gripper touch the {thing}",
            "touch": f"A finger of the gripper touches the {thing}",
            "lift": f"The {thing} is held clear of where it stood",
            "carry": f"The {thing} is held near the {place}",
            "move": f"The {thing} has been moved",
            "half": f"The {thing} has been moved half of the way",
            "goal": done,
        }
        after = {"lift": "grasp", "carry": "lift", "half": "move"}
        return tuple(
            Milestone(step + self.suffix, texts[step], (after[step] + self.suffix,) if step in after else ())
            for step in self.steps
        )


def sub_goals(fact: Fact) -> tuple[SubGoal, ...]:
    """The sub-goals of a task, in the order of its definition."""
    count = len(fact.goal)
    found = []
    for number, predicate in enumerate(fact.goal, 1):
        kind: Kind = "turn" if len(predicate) == 2 else "push" if fact.instruction.startswith("push") else "place"
        steps = tuple(step for step in STEPS[kind] if step not in LEFT_OUT[count])
        found.append(SubGoal(kind, predicate, steps, f"-{number}" if count > 1 else ""))
    return tuple(found)
