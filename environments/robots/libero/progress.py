"""The judge of a LIBERO episode: the benchmark's own goal, and the steps towards it, from the engine's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from environments.robots.libero.arm import LiberoArm
from environments.robots.libero.goals import SubGoal, sub_goals
from environments.robots.libero.world import LiberoWorld
from environments.robots.world import FINGERS, Vector

REACH_M = 0.02
"""The grip site is this close to the box around the thing."""
LIFT_M = 0.03
"""A held object this far above where it stood has been lifted."""
OVER_M = 0.10
"""A lifted object this close to its place, horizontally, has been carried there."""
MOVED = 0.1
"""Part of the way that counts as movement."""
WEIGHTS = {"reach": 1, "grasp": 2, "touch": 2, "lift": 2, "move": 2, "carry": 2, "half": 2, "goal": 3}
"""What a step of a sub-goal counts, relative to the others of that sub-goal."""


class LiberoProgress:
    """Milestones, score and stage of an episode.

    Score: each sub-goal has an equal share of 100; within it the steps count by `WEIGHTS`, once
    reached. Success, as the benchmark's own check says, is 100; anything else is at most 99.
    """

    def __init__(self, world: LiberoWorld, arm: LiberoArm) -> None:
        self._world, self._arm = world, arm
        self.parts = tuple(Part(world, goal) for goal in sub_goals(world.fact))
        self._reached: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """Forget the last episode; what is now, is the start."""
        self._reached = set()
        for part in self.parts:
            part.begin()

    def note(self, command: float) -> None:
        """Look at the world after a control step."""
        hand = self._arm.position
        for part, held in zip(self.parts, self._world.goal_holds, strict=True):
            goal = part.goal
            now = part.holds(hand) | ({"goal"} if held else set())
            self._reached |= {step + goal.suffix for step in goal.steps if step in now}

    def milestones(self) -> frozenset[str]:
        """Reached so far."""
        return frozenset(self._reached)

    def score(self) -> float:
        """0..100; the formula is in the docstring of the class."""
        if self.success():
            return 100.0
        shares = []
        for part in self.parts:
            steps = part.goal.steps
            done = sum(WEIGHTS[step] for step in steps if step + part.goal.suffix in self._reached)
            shares.append(done / sum(WEIGHTS[step] for step in steps))
        return min(99.0, 100.0 * sum(shares) / len(shares))

    def success(self) -> bool:
        """Whether the benchmark's own goal check held when it looked last."""
        return self._world.success

    def open_goal(self) -> SubGoal | None:
        """The first sub-goal that does not hold, or None."""
        part = self._open()
        return None if part is None else part.goal

    def _open(self) -> Part | None:
        return next((p for p, held in zip(self.parts, self._world.goal_holds, strict=True) if not held), None)

    def stage(self) -> str:
        """What the first open sub-goal is about now: reach, grasp, lift, transport, lower; release when none is open.

        For what is pushed, slid or turned: reach, grasp once it is reached, transport once it moves at a touch.
        """
        part = self._open()
        if part is None:
            return "release"
        now = part.holds(self._arm.position)
        if "grasp" in now:
            return "lower" if "carry" in now else "transport" if "lift" in now else "lift"
        if "move" in now and "touch" in now:
            return "transport"
        return "grasp" if now & {"touch", "reach"} else "reach"

    def state(self) -> dict[str, Any]:
        """Milestones reached, and how things were at the start."""
        return {"reached": sorted(self._reached), "starts": [part.start.tolist() for part in self.parts]}

    def load(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` returned.

        Raises:
            KeyError, TypeError, ValueError: if something else is given; nothing has changed then.
        """
        reached = {str(step) for step in state["reached"]}
        starts = np.array(state["starts"], np.float64).reshape(len(self.parts), 4)
        self._reached = reached
        for part, start in zip(self.parts, starts, strict=True):
            part.start = start


class Part:
    """One sub-goal in one scene: what of it is reached now."""

    def __init__(self, world: LiberoWorld, goal: SubGoal) -> None:
        self.goal = goal
        self._world = world
        model = world.mj_model
        self._joint: int | None = None
        if goal.kind == "turn":
            self._joint = int(model.joint(next(iter(world.joints(goal.thing)))).id)
        self._body = int(model.jnt_bodyid[self._joint]) if self._joint is not None else world.body(goal.thing)
        geoms = [int(g) for g in np.flatnonzero(model.geom_bodyid == self._body) if model.geom_contype[g]]
        self._low, self._high = world.box(geoms) if geoms else (np.zeros(3), np.zeros(3))
        self._geoms = frozenset(geoms) if goal.kind == "turn" else world.contact_geoms(goal.thing)
        self.start: Vector = np.zeros(4)
        """How the thing was when the episode began: (4,), its position in m and its joint in m or rad."""

    def begin(self) -> None:
        """What is now, is the start."""
        self.start = np.array([*self._position(), self._angle()])

    def holds(self, hand: Vector) -> set[str]:
        """The steps that hold now, apart from `goal`; `hand` is the grip site, (3,) m."""
        touched = [self._touched(finger) for finger in FINGERS]
        found = {"touch"} if any(touched) else set()
        if any(touched) or self.gap(hand) < REACH_M:
            found.add("reach")
        if self.goal.kind != "place":
            part = self.progress()
            return found | {step for step, least in (("move", MOVED), ("half", 0.5)) if part > least}
        if all(touched):
            found.add("grasp")
            here = self._position()
            if here[2] - self.start[2] > LIFT_M:
                found.add("lift")
                if float(np.linalg.norm((here - self._world.position(self.goal.place or ""))[:2])) < OVER_M:
                    found.add("carry")
        return found

    def progress(self) -> float:
        """How much of the way from its start the thing has been pushed, slid or turned; 1 at its goal."""
        if self.goal.place is not None:
            place = self._world.position(self.goal.place)
            whole = float(np.linalg.norm((self.start[:3] - place)[:2]))
            return 1.0 - float(np.linalg.norm((self._position() - place)[:2])) / max(whole, 1e-6)
        way = self.target() - float(self.start[3])
        return (self._angle() - float(self.start[3])) / way if abs(way) > 1e-6 else 1.0

    def target(self) -> float:
        """The nearest joint position, in m or rad, that the benchmark calls open, closed, on or off."""
        limits = self._world.joint_limits(self.goal.thing, self.goal.predicate[0])
        return min(limits, key=lambda limit: abs(limit - float(self.start[3])))

    def gap(self, point: Vector) -> float:
        """Distance from a point to the box around the moving part, in metres."""
        data = self._world.mj_data
        local = (point - data.xpos[self._body]) @ data.xmat[self._body].reshape(3, 3)
        return float(np.linalg.norm(local - np.clip(local, self._low, self._high)))

    def _position(self) -> Vector:
        return np.array(self._world.mj_data.xpos[self._body])

    def _angle(self) -> float:
        if self._joint is None:
            return 0.0
        return float(self._world.mj_data.qpos[self._world.mj_model.jnt_qposadr[self._joint]])

    def _touched(self, finger: str) -> bool:
        return self._world.in_contact(self._geoms, self._world.contact_geoms(finger))
