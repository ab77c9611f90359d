"""The milestones of a task of the suite, worded so that a person can check them on the frames."""

from __future__ import annotations

from environments.robots.steps import Step
from environments.robots.suite.spec import SuiteTask, label
from environments.task import Milestone

PLACE_IDS = ("reach", "grasp", "lift", "carry", "place", "release")
MOVE_IDS = ("reach", "grasp", "move", "half", "done")
LEFT_OUT: dict[int, frozenset[str]] = {
    1: frozenset(),
    2: frozenset({"reach"}),
    3: frozenset({"reach", "carry", "move"}),
}
"""By the number of steps of a task, the milestones that each step does without: a task has twelve at most."""


def ids(step: Step, count: int) -> tuple[str, ...]:
    """The milestones of a step, in order, in a task of `count` steps; without a suffix."""
    return tuple(name for name in (PLACE_IDS if step.places else MOVE_IDS) if name not in LEFT_OUT[count])


def suffix(number: int, count: int) -> str:
    """What follows the name of a milestone of step `number`, from 0."""
    return "" if count == 1 else f"-{number + 1}"


def milestones(task: SuiteTask) -> tuple[Milestone, ...]:
    """All of them; each of a step follows the one before it."""
    found = []
    for number, step in enumerate(task.steps):
        texts = _texts(step, task.asked if number == 0 else "")
        before: tuple[str, ...] = ()
        for name in ids(step, len(task.steps)):
            full = name + suffix(number, len(task.steps))
            found.append(Milestone(full, texts[name], after=before))
            before = (full,)
    return tuple(found)


def _texts(step: Step, asked: str) -> dict[str, str]:
    thing = asked or label(step.thing)
    if step.places:
        place, relation = label(step.place), "inside" if step.verb == "in" else "on"
        return {
            "reach": f"The gripper is at the {thing}",
            "grasp": f"Both fingers of the gripper touch the {thing}",
            "lift": f"The {thing} is held clear of where it stood",
            "carry": f"The {thing} is held above the {place}",
            "place": f"The {thing} is {relation} the {place}",
            "release": f"The {thing} lies still {relation} the {place} and the gripper has let go",
        }
    part = "handle of the drawer" if step.thing == "drawer" else thing
    end = {
        "open": "The drawer is open",
        "close": "The drawer is closed",
        "turnon": "The knob is turned and the burner of the stove glows red",
        "turnoff": "The knob is turned back and the burner of the stove is dark",
    }[step.verb]
    moved = "moved" if step.thing == "drawer" else "turned"
    return {
        "reach": f"The gripper is at the {part}",
        "grasp": f"Both fingers of the gripper touch the {part}",
        "move": f"The {thing} has {moved} visibly",
        "half": f"The {thing} has {moved} half of the way",
        "done": end,
    }
