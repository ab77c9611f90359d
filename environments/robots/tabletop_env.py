"""The tabletop tasks as environments: our scenes on robosuite's parts, under the robot environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from environments.facts import Facts
from environments.robots import expert, motion, predicates
from environments.robots.control import PandaArm
from environments.robots.facts import scene_facts
from environments.robots.rendering import Quality
from environments.robots.robot_env import CAMERAS, RobotEnv
from environments.robots.scene import BOWL
from environments.robots.tabletop import Layout, TabletopWorld
from environments.robots.teleop_env import VIEW_PX, TeleopEnv
from environments.robots.world import CONTROL_HZ, STROKE_STEPS, Arm
from environments.task import ActionSpace, Task

__all__ = ["CAMERAS", "CONTROL_HZ", "WORKSPACE_M", "BowlProgress", "TabletopEnv", "make_tabletop"]

WORKSPACE_M = ((-0.35, -0.35, 0.81), (0.25, 0.35, 1.15))
"""Where the grip site may be sent by a skill: lowest and highest x, y, z."""
NEAR_M = 0.03
"""The hand has reached the cube."""


def make_tabletop(task: Task, space: ActionSpace) -> TabletopEnv | TeleopEnv:
    """Build a tabletop task; `task.params` are the keyword arguments of `TabletopEnv`."""
    if space == ActionSpace.GUI:
        return TeleopEnv(TabletopEnv(task, ActionSpace.NATIVE, **{**task.params, "size": VIEW_PX}))
    return TabletopEnv(task, space, **task.params)


class BowlProgress:
    """Put the cube in the bowl: what has been reached.

    Score: 10 x approach + 15 grasped + 15 lifted + 20 x carried + 20 placed + 20 released, each as far
    as this episode has come so far; `approach` is the part of the initial distance from hand to cube
    that has been covered, `carried` the part of the horizontal distance from cube to bowl that the
    lifted cube has covered, both in 0..1. Success is 100.
    """

    def __init__(self, world: TabletopWorld, arm: Arm) -> None:
        self.world, self.arm = world, arm
        self.begin()

    def begin(self) -> None:
        """Forget the last episode."""
        self._reached: set[str] = set()
        self._command = 0.0
        self._approach = self._carried = 0.0
        self._first_distance = self._distance()
        self._first_gap = predicates.horizontal_gap(self.world, "cube", "bowl")

    def note(self, command: float) -> None:
        """Look at the world after a control step."""
        self._command = command
        world = self.world
        held = predicates.grasped(world, "cube")
        lifted = held and predicates.height(world, "cube") > predicates.LIFT_M
        carried = held and predicates.above(world, "cube", "bowl")
        distance = self._distance()
        holds = {
            "reach": distance < NEAR_M or held,
            "grasp": held,
            "lift": lifted,
            "carry": carried,
            "place": predicates.inside(world, "cube", "bowl"),
            "release": self.success(),
        }
        self._reached |= {milestone for milestone, now in holds.items() if now}
        covered = 1.0 - max(0.0, distance - NEAR_M) / max(1e-9, self._first_distance - NEAR_M)
        self._approach = 1.0 if holds["reach"] else max(self._approach, covered)
        if lifted:
            edge = BOWL.floor_radius_m
            gap = predicates.horizontal_gap(world, "cube", "bowl")
            part = 1.0 - max(0.0, gap - edge) / max(1e-9, self._first_gap - edge)
            self._carried = 1.0 if carried else max(self._carried, part)

    def milestones(self) -> frozenset[str]:
        """Reached so far."""
        return frozenset(self._reached)

    def score(self) -> float:
        """Progress of the episode in 0..100; the formula is in the class's docstring."""
        if self.success():
            return 100.0
        points = {"grasp": 15.0, "lift": 15.0, "place": 20.0, "release": 20.0}
        done = sum(points.get(milestone, 0.0) for milestone in self._reached)
        return done + 10.0 * self._approach + 20.0 * self._carried

    def success(self) -> bool:
        """The cube lies in the bowl, at rest, and the hand has let go of it."""
        world = self.world
        return (
            predicates.inside(world, "cube", "bowl")
            and predicates.at_rest(world, "cube")
            and not predicates.touched(world, "cube")
        )

    def stage(self) -> str:
        """What the episode is about now: reach, grasp, lift, transport, lower or release."""
        world = self.world
        gap = predicates.horizontal_gap(world, "cube", "bowl")
        if predicates.grasped(world, "cube"):
            if gap < BOWL.floor_radius_m / 2:
                return "release" if self._command == motion.OPEN else "lower"
            return "transport" if predicates.height(world, "cube") > predicates.LIFT_M else "lift"
        if gap < BOWL.floor_radius_m:
            return "release"
        return "grasp" if self._distance() < NEAR_M else "reach"

    def state(self) -> dict[str, Any]:
        """What it remembers, as JSON values."""
        measures = [self._command, self._approach, self._carried, self._first_distance, self._first_gap]
        return {"reached": sorted(self._reached), "measures": measures}

    def load(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` returned."""
        reached, measures = {str(name) for name in state["reached"]}, [float(x) for x in state["measures"]]
        self._command, self._approach, self._carried, self._first_distance, self._first_gap = measures
        self._reached = reached

    def _distance(self) -> float:
        return float(np.linalg.norm(self.arm.position - self.world.position("cube")))


class TabletopEnv(RobotEnv):
    """A task on the tabletop; observations, actions and snapshots are `RobotEnv`'s.

    This is LIBERO's observation except that the pictures are upright: LIBERO's policies were trained on
    mirrored ones, so whoever plays such a policy mirrors them (`picture[:, ::-1]`; see `libero.view`).
    """

    world: TabletopWorld
    arm: PandaArm

    def __init__(
        self, task: Task, space: ActionSpace, *, size: int = 256, quality: Quality = "fast", **layout: Any
    ) -> None:
        """Build the world; `size` is the edge of the pictures in pixels, `layout` goes to `Layout`."""
        world = TabletopWorld(Layout(**layout))
        arm = PandaArm(world)
        progress = BowlProgress(world, arm)
        super().__init__(task, space, world, arm, progress, workspace=WORKSPACE_M, size=size, quality=quality)
        for _ in range(STROKE_STEPS):  # LIBERO's settling, once for all episodes: the hand opens
            arm.step([0.0] * 6 + [motion.OPEN])
        self._start = self._pack_world()

    def aim(self) -> motion.Aim:
        """Where an expert that sees everything and keeps no memory sends the hand now."""
        return expert.aim(self.world, self.arm)

    def focus(self) -> tuple[str | None, str | None]:
        """The cube, and the bowl."""
        return "cube", "bowl"

    def called(self, name: str) -> str:
        """The cubes by their colours."""
        colour = {"cube": self.world.layout.cube, "distractor": self.world.layout.distractor}.get(name)
        return f"{colour} cube" if colour else name

    def facts(self) -> Facts:
        """Where things are in the view from the front, and what the gripper does with them."""
        return scene_facts(self)

    def _begin(self, episode: int, options: Mapping[str, Any]) -> None:
        self._unpack_world(self._start)
        self.world.place(np.random.default_rng(episode))
        self.arm.hold()
