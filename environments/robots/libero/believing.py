"""LIBERO's scripted policy that does not re-check what it has done, and the scene as such a policy believes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from environments.robots import manipulation as m
from environments.robots.believing import MOVE_STEPS, BelievingPlayer
from environments.robots.libero.expert import STALLED_M_S, LiberoPlan
from environments.robots.libero.expert_parts import Parts, lean
from environments.robots.libero.expert_shapes import Shapes
from environments.robots.motion import OPEN, Aim, Posed, heading
from environments.robots.steps import Step
from environments.robots.world import FINGERS, Arm, Vector

if TYPE_CHECKING:
    from environments.robots.libero.env import LiberoEnv

ARRIVED = 0.01
"""Metres or radians by which a part may be short of where it was to go; that is past what the benchmark asks for."""
STALLED_STEPS = 8
"""A load that has been lowered and goes no further for so long lies on something: it is let go."""
LEANING_RAD = 0.35
"""A hand that leans further than this keeps its orientation while it closes or opens."""
RISE_M = 0.10
"""How far the hand rises when everything is believed to be done."""


class _Load(NamedTuple):
    """What the hand is believed to hold, in the frame of the grip site."""

    name: str
    offset: Vector
    rotation: Vector


class BelievedWorld:
    """A scene as a policy perceives it, in which what it has taken goes where its hand goes; else the scene's own."""

    def __init__(self, world: Any, arm: Arm) -> None:
        self._world, self._arm = world, arm
        self._load: _Load | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def take(self, name: str | None) -> None:
        """Believe from now on that the hand holds a thing as it is now, or nothing."""
        if name is None:
            self._load = None
            return
        turned = self._arm.rotation.T
        offset = turned @ (self._world.position(name) - self._arm.position)
        self._load = _Load(name, offset, turned @ self._world.rotation(name))

    def position(self, name: str) -> Vector:
        """Where the policy believes a thing to be, (3,) m."""
        load = self._load
        if load is not None and load.name == name:
            return np.asarray(self._arm.position + self._arm.rotation @ load.offset)
        return np.array(self._world.position(name))

    def rotation(self, name: str) -> Vector:
        """How the policy believes it to lie, (3, 3)."""
        load = self._load
        if load is not None and load.name == name:
            return np.asarray(self._arm.rotation @ load.rotation)
        return np.array(self._world.rotation(name))

    def touching(self, first: str, second: str) -> bool:
        """Contact as the policy believes it: fingers touch what they hold."""
        pair = {first, second}
        if self._load is not None and self._load.name in pair and pair & set(FINGERS):
            return True
        return bool(self._world.touching(first, second))


class BelievedShapes(Shapes):
    """The boxes around things, where a policy believes the things to be."""

    def __init__(self, believed: BelievedWorld, true: Any) -> None:
        super().__init__(believed)  # type: ignore[arg-type]  # it passes all else on
        self._true = true

    def corners(self) -> Vector:
        """(g, 8, 3) m, world frame."""
        found = super().corners()
        for name, geoms in self._of.items():
            there, lies = self.world.position(name), self.world.rotation(name)
            here, is_ = self._true.position(name), self._true.rotation(name)
            if not (np.array_equal(there, here) and np.array_equal(lies, is_)):
                found[geoms] = (found[geoms] - here) @ is_ @ lies.T + there
        return found


class BelievedPlan(LiberoPlan):
    """The way to the goal through a policy's senses; which step is due is the player's belief too, once it has one."""

    def __init__(self, env: LiberoEnv) -> None:
        seen, arm = env.senses
        self.believed = BelievedWorld(seen, arm)
        true = env.world
        shapes = BelievedShapes(self.believed, true)
        parts = Parts(
            self.believed,  # type: ignore[arg-type]  # it passes all else on
            arm,
            shapes,
            off=lambda name: self.believed.position(name) - true.position(name),
        )
        super().__init__(self.believed, arm, shapes, parts)  # type: ignore[arg-type]  # as above
        self.at: Step | None = None

    def due(self) -> Step | None:
        """The step that the player is at, or the one that is due as far as it can see."""
        return self.at or super().due()


class LiberoBelievingPlayer(BelievingPlayer):
    """For a LIBERO task that the scripted expert manages.

    A drawer or knob is moved as far as it was to go when the hand closed on it, measured at the hand. What is pushed it
    watches, until it is where it should be or has been pushed for `MOVE_STEPS`.
    """

    _plan: BelievedPlan

    def __init__(self, env: LiberoEnv) -> None:
        super().__init__(BelievedPlan(env))
        self._thing = ""
        self._left = self._heading = 0.0
        self._pushed = self._stalled = 0

    def reset(self) -> None:
        """Forget everything; believe what is true now."""
        self._plan.at = None
        self._plan.believed.take(None)
        self._pushed = 0
        super().reset()

    def _aim(self) -> Aim:
        plan = self._plan
        pushes = self._pushed and self._step < len(plan.steps)
        if pushes and (self._pushed > MOVE_STEPS or plan.world.holds(plan.steps[self._step].fact)):
            self._step, self._pushed = self._step + 1, 0
        plan.at = plan.steps[self._step] if self._step < len(plan.steps) else None
        return super()._aim()

    def _seek(self, step: Step) -> Aim:
        plan = self._plan
        plan.believed.take(None)
        if step.places:
            return plan.parts.withdraw() or plan.insist(plan.fetch(self._meant(step)))
        aim = plan.insist(plan.parts.aim(step.verb, step.thing))
        self._pushed += aim.phase == "push"
        return aim

    def _take(self, step: Step) -> None:
        plan, arm = self._plan, self._plan.arm
        self._stalled = 0
        self._heading = heading(arm.rotation)
        if step.places:
            self._thing = self._meant(step)
            plan.believed.take(self._thing)
        else:
            self._left = plan.parts.left(step.verb, step.thing)

    def _bring(self, step: Step) -> Aim:
        plan, arm = self._plan, self._plan.arm
        aim = plan.insist(plan.bring(self._thing, step.place))
        still = aim.phase == "lower" and float(np.linalg.norm(arm.velocity)) < STALLED_M_S
        self._stalled = self._stalled + 1 if still else 0
        if self._stalled > STALLED_STEPS:
            return Aim("release", arm.position, 0.0, OPEN)
        return aim

    def _move(self, step: Step) -> Aim:
        plan = self._plan
        left = self._left - plan.parts.moved(step.thing, self._spot, self._heading)
        if left * self._left <= 0 or abs(left) < ARRIVED or self._since > MOVE_STEPS:
            return self._still("release", OPEN)
        return plan.parts.aim(step.verb, step.thing, left=left)

    def _grips(self, step: Step) -> bool:
        """A hand at a part takes it anew: what it holds there cannot be told from what it leans on."""
        return step.places and super()._grips(step)

    def _still(self, phase: str, gripper: float) -> Aim:
        rotation = self._plan.arm.rotation
        if lean(rotation) > LEANING_RAD:
            return Posed(phase, self._spot, 0.0, gripper, rotation)
        return super()._still(phase, gripper)

    def _rest(self) -> Aim:
        plan = self._plan
        plan.believed.take(None)
        return plan.parts.withdraw() or m.leave(plan.arm, float(self._spot[2]) + RISE_M)

    def _meant(self, step: Step) -> str:
        """What the policy takes for the thing of a step."""
        return str(self._plan.world.taken_for(step.thing))  # type: ignore[attr-defined]  # of the senses
