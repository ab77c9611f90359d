"""How far an episode of the suite has come: milestones, score and stage, from the world's own state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from environments.robots import manipulation as m
from environments.robots.motion import OPEN
from environments.robots.steps import Step
from environments.robots.suite import milestones as words
from environments.robots.suite.plan import Plan
from environments.robots.suite.world import CLOSED_PART, OPEN_PART, SuiteWorld
from environments.robots.world import Arm, Vector

NEAR_M = 0.035
"""The hand has reached a thing: so close is the grip site to where it would be taken."""
LIFT_M = 0.03
"""A thing this far above where it stood has been lifted."""
REST_M_S = 0.02
"""Slower than this lies still."""
VISIBLE = 0.12
"""Part of its way after which a drawer or knob has visibly moved."""
POINTS_PLACE = {"approach": 10.0, "grasp": 15.0, "lift": 15.0, "carried": 20.0, "place": 20.0, "release": 20.0}
POINTS_MOVE = {"approach": 10.0, "grasp": 20.0, "moved": 70.0}


class StepsProgress:
    """Steps in order, scored alike.

    Score: the mean over the steps. An object that is to be put somewhere has 10 x approach + 15 grasped + 15 lifted
    + 20 x carried + 20 in its place + 20 released there; a drawer or knob has 10 x approach + 20 taken + 70 x moved.
    Each counts as far as this episode has come so far: `approach` is the part of the hand's first distance to the
    thing that was covered, `carried` the part of the thing's first horizontal distance to its place that it was
    carried, `moved` the part of the way of the joint. Success is 100; without it the score is 99 at most.

    Success: all predicates of the goal hold, and each object that it speaks of lies still, let go of.
    """

    def __init__(self, world: SuiteWorld, arm: Arm, steps: tuple[Step, ...]) -> None:
        self.world, self.arm, self.steps = world, arm, steps
        self.plan = Plan(world, arm, steps)
        self.begin()

    def begin(self) -> None:
        """Forget the last episode; take the present state for the start."""
        self._reached: set[str] = set()
        self._command = 0.0
        self._best: list[dict[str, float]] = [{} for _ in self.steps]
        self._first = [self._measure(step) for step in self.steps]

    def note(self, command: float) -> None:
        """Look at the world after a control step."""
        self._command = command
        for number, step in enumerate(self.steps):
            holds = self._placing(number, step) if step.places else self._moving(number, step)
            suffix = words.suffix(number, len(self.steps))
            before = True
            for name in words.ids(step, len(self.steps)):
                if name + suffix in self._reached:
                    continue
                before = before and holds[name]
                if not before:
                    break  # a milestone follows those before it
                self._reached.add(name + suffix)

    def milestones(self) -> frozenset[str]:
        """Reached so far."""
        return frozenset(self._reached)

    def score(self) -> float:
        """0..100; the formula is in the class's docstring."""
        if self.success():
            return 100.0
        total = 0.0
        for step, best in zip(self.steps, self._best, strict=True):
            points = POINTS_PLACE if step.places else POINTS_MOVE
            total += sum(weight * best.get(name, 0.0) for name, weight in points.items())
        return min(99.0, total / len(self.steps))

    def success(self) -> bool:
        """Whether the goal holds now, and nothing that it speaks of is held or moves."""
        return all(self._done(step) for step in self.steps if step.lasting)

    def stage(self) -> str:
        """reach, grasp, lift, transport, lower, release, open, close, turn, push, or done."""
        step = self.plan.due()
        if step is None:
            return "done"
        world, arm = self.world, self.arm
        if not step.places:
            if not m.held(world, step.thing):
                point = self.plan.handle(step).point
                return "grasp" if float(np.linalg.norm(arm.position - point)) < NEAR_M else "reach"
            return "turn" if step.thing == "knob" else step.verb
        middle, half = world.surface(step.place)
        gap = float(np.linalg.norm((world.position(step.thing) - middle)[:2]))
        if m.held(world, step.thing):
            if gap < float(half[:2].min()) / 2:
                return "release" if self._command == OPEN else "lower"
            risen = world.bottom(step.thing) - self._first[self.steps.index(step)]["foot"]
            return "transport" if risen > LIFT_M else "lift"
        if m.touched(world, step.thing) and world.holds(step.fact):
            return "release"
        point = self.plan.grasp(step.thing).point
        return "grasp" if float(np.linalg.norm(arm.position - point)) < NEAR_M else "reach"

    def state(self) -> dict[str, Any]:
        """What it remembers, as JSON values."""
        return {
            "reached": sorted(self._reached),
            "command": self._command,
            "best": [dict(best) for best in self._best],
            "first": [dict(first) for first in self._first],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` returned.

        Raises:
            KeyError, TypeError, ValueError: if something else is given; nothing has changed then.
        """
        reached, command = {str(name) for name in state["reached"]}, float(state["command"])
        best, first = ([{str(k): float(v) for k, v in row.items()} for row in state[key]] for key in ("best", "first"))
        if len(best) != len(self.steps) or len(first) != len(self.steps):
            raise ValueError(f"progress of {len(best)} steps, this task has {len(self.steps)}")
        self._reached, self._command, self._best, self._first = reached, command, best, first

    def _done(self, step: Step) -> bool:
        world = self.world
        if not step.places:
            return world.holds(step.fact)
        still = world.speed(step.thing) < REST_M_S
        return still and world.holds(step.fact) and not m.touched(world, step.thing)

    def _placing(self, number: int, step: Step) -> dict[str, bool]:
        world, first, thing = self.world, self._first[number], step.thing
        grasped = m.held(world, thing)
        distance = self._distance(step)
        middle, half = world.surface(step.place)
        gap = float(np.linalg.norm((world.position(thing) - middle)[:2]))
        lifted = grasped and world.bottom(thing) - first["foot"] > LIFT_M
        carried = grasped and gap < float(half[:2].min()) and world.bottom(thing) > middle[2]
        there = world.holds(step.fact)
        holds = {
            "reach": distance < NEAR_M or grasped,
            "grasp": grasped,
            "lift": lifted,
            "carry": carried,
            "place": there,
            "release": self._done(step),
        }
        covered = 1.0 - max(0.0, distance - NEAR_M) / max(1e-9, first["distance"] - NEAR_M)
        part = 1.0 - max(0.0, gap - float(half[:2].min())) / max(1e-9, first["gap"]) if lifted else 0.0
        self._raise(number, approach=1.0 if holds["reach"] else covered, grasp=grasped, lift=lifted,
                    carried=1.0 if carried else part, place=there, release=holds["release"])  # fmt: skip
        return holds

    def _moving(self, number: int, step: Step) -> dict[str, bool]:
        world, first = self.world, self._first[number]
        grasped = m.held(world, step.thing)
        distance = self._distance(step)
        now = world.openness(step.thing)
        opening = step.verb in ("open", "turnon")
        # A drawer that is to be closed again has first been opened: its way is the whole one.
        part = now / OPEN_PART if opening else (1.0 - now) / (1.0 - CLOSED_PART)
        start = first["moved"]
        if not opening and start >= 1.0:
            opened = any("half" + words.suffix(i, len(self.steps)) in self._reached for i in range(number))
            part = part if opened else 0.0
            start = 0.0
        moved = float(np.clip((part - start) / max(1e-9, 1.0 - start), 0.0, 1.0))
        after = all(self._settled_before(number))
        moved = moved if after else 0.0
        reached = distance < NEAR_M or grasped
        covered = 1.0 - max(0.0, distance - NEAR_M) / max(1e-9, first["distance"] - NEAR_M)
        self._raise(number, approach=1.0 if reached else covered, grasp=grasped, moved=moved)
        return {
            "reach": reached and after,
            "grasp": grasped and after,
            "move": moved > VISIBLE,
            "half": moved > 0.5,
            "done": after and world.holds(step.fact),
        }

    def _settled_before(self, number: int) -> list[bool]:
        """Whether the steps before a closing one are done: what is closed at first is not yet to be closed."""
        step = self.steps[number]
        if step.verb not in ("close", "turnoff"):
            return [True]
        return [self.plan.settled(other) for other in self.steps[:number] if other.lasting]

    def _raise(self, number: int, **parts: float) -> None:
        best = self._best[number]
        for name, value in parts.items():
            best[name] = max(best.get(name, 0.0), min(1.0, float(value)))

    def _distance(self, step: Step) -> float:
        """From the hand to where the step's thing would be taken, m."""
        return float(np.linalg.norm(self.arm.position - self._taken(step)))

    def _taken(self, step: Step) -> Vector:
        return self.plan.grasp(step.thing).point if step.places else self.plan.handle(step).point

    def _measure(self, step: Step) -> dict[str, float]:
        if not step.places:
            now = self.world.openness(step.thing)
            part = now / OPEN_PART if step.verb in ("open", "turnon") else (1.0 - now) / (1.0 - CLOSED_PART)
            return {"distance": self._distance(step), "moved": part}
        middle, _ = self.world.surface(step.place)
        gap = float(np.linalg.norm((self.world.position(step.thing) - middle)[:2]))
        return {"distance": self._distance(step), "gap": gap, "foot": self.world.bottom(step.thing)}
