"""LIBERO's tasks as environments: the published observation, native and semantic actions, exact rollback."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from environments.actions.spec import Action, TypedActions
from environments.env import Frame, Views
from environments.errors import NoExpert
from environments.robots.libero import suites
from environments.robots.libero.arm import LiberoArm, Sample
from environments.robots.libero.conventions import CONVENTIONS, INIT_STATES, ConventionName
from environments.robots.libero.expert import LiberoPlan
from environments.robots.libero.goals import as_said
from environments.robots.libero.hands import LiberoHands
from environments.robots.libero.progress import LiberoProgress
from environments.robots.libero.view import View
from environments.robots.libero.world import LiberoWorld
from environments.robots.motion import Aim
from environments.robots.object_skills import ObjectSkillAction, ObjectSkills
from environments.robots.robot_env import CAMERAS, RobotEnv
from environments.robots.world import Vector
from environments.task import NO_EXPERT, ActionSpace, Task

REACHABLE_M = ((-0.45, -0.5, -0.4), (0.35, 0.5, 0.3))
"""Where the grip site may be sent by a skill, from where a reset puts it: lowest and highest x, y, z."""

Orientation = Literal["published", "upright"]


class LiberoEnv(RobotEnv):
    """One of LIBERO's tasks, as the published harnesses run it.

    Observation: see `RobotEnv`. Pictures and state are what the benchmark's own environment returns
    after the same actions; it samples them within the step, so they are 2 to 4 ms old (see `arm`).

    The benchmark's raw pictures have their first row at the bottom. `upright` ones, the default here as
    in every robot task, have it at the top: the robot's left is right in `agentview`. `published` ones
    are the raw ones turned by 180 degrees, as policies are fed, which is upright and mirrored. The
    policy agents do that to upright ones themselves (their option `orientation: mirror`), to the same bits.

    Episode k (the seed of `reset`) begins from the published initial state k mod 50 after the ten
    settle steps. Success is the benchmark's own, and ends the episode, in the middle of a skill if need be.
    """

    snapshot_version = 1
    reset_options: ClassVar[frozenset[str]] = frozenset({"fault", "init_state"})
    ends_within_action = True
    world: LiberoWorld
    arm: LiberoArm
    progress: LiberoProgress

    def __init__(
        self,
        task: Task,
        space: ActionSpace,
        *,
        suite: str,
        number: int,
        convention: ConventionName = "openpi",
        size: int = 256,
        quality: Literal["reference", "fast"] = "reference",
        orientation: Orientation = "upright",
        assets: str | None = None,
    ) -> None:
        """Build the world, in one to two seconds.

        Args:
            task: the task.
            space: native or semantic.
            suite: `spatial`, `object`, `goal`, `10` or `90`.
            number: place of the task in its suite, from 0.
            convention: whose harness is followed, see `conventions`.
            size: edge of the pictures, in pixels; all harnesses render 256.
            quality: `reference` is the benchmark's own, `fast` has no shadows and no multisampling.
            orientation: of the pictures, see above; `published` is for a policy that takes observations as they are.
            assets: folder with the benchmark's assets; by default see `loading.assets_folder`.

        Raises:
            ValueError: for an unknown convention, quality or orientation.
            LookupError: for a task that the benchmark does not have.
            MissingBenchmark: if the benchmark or its assets are not on this machine.
        """
        for name, value, known in (
            ("convention", convention, tuple(CONVENTIONS)),
            ("quality", quality, ("reference", "fast")),
            ("orientation", orientation, ("published", "upright")),
        ):
            if value not in known:
                raise ValueError(f"{task.id}: {name} is {value!r}, expected one of {', '.join(map(repr, known))}")
        world = LiberoWorld(suites.fact(suite, number), assets=assets, convention=convention)
        arm = LiberoArm(world)
        at = arm.position
        low, high = (tuple(float(x) for x in at + np.array(corner)) for corner in REACHABLE_M)
        world.rebuild()  # so that snapshots hold differences from the model as compiled, the same in every process
        super().__init__(
            task,
            space,
            world,
            arm,
            LiberoProgress(world, arm),
            workspace=((low[0], low[1], low[2]), (high[0], high[1], high[2])),
            size=size,
            quality=quality,
        )
        self._view = View(world, size, quality, turned=orientation == "published")
        self._seed: int | None = None
        self._plan = LiberoPlan(world, arm)
        self._hands = LiberoHands(self._plan, float(at[2]))
        if space == ActionSpace.SEMANTIC:
            self.action_space = TypedActions(ObjectSkillAction)
            self._skills = ObjectSkills(
                world,
                arm,
                self.workspace,
                lambda action: self._control(action),
                lambda: self._command,
                self._hands,
                over=self.success,
            )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """Start an episode as the published harnesses do: reset, initial state, ten settle steps.

        Args:
            seed: the number of the episode; None draws one.
            options: `{"init_state": i}` takes the published initial state i instead of seed mod 50;
                `{"fault": {...}}` injects a `Fault`.

        Raises:
            ValueError: for an unknown option, an initial state that there is none of, or a malformed fault.
        """
        state = (options or {}).get("init_state")
        if state is not None and (
            isinstance(state, bool) or not isinstance(state, int) or not 0 <= state < INIT_STATES
        ):
            raise ValueError(f"init_state is {state!r}, expected a whole number from 0 to {INIT_STATES - 1}")
        self._seed = seed
        return super().reset(seed=seed, options=options)

    def observe(self) -> Views:
        """The observation of now, as the benchmark sampled it; a picture is rendered when it is first looked at."""
        sample = self.arm.sampled
        values = {"state": self.proprioception(), "instruction": self.task.goal}
        return Views(values, {key: partial(self._sampled_picture, sample, key) for key in CAMERAS}, self)

    def proprioception(self) -> Any:
        """`state` of the observation, (8,) float32, as the benchmark sampled it."""
        return self.arm.sampled.state.astype(np.float32)

    def close(self) -> None:
        """Free the renderer, if there is one."""
        self._view.close()
        super().close()

    def focus(self) -> tuple[str | None, str | None]:
        """Privileged: what the first open sub-goal is to move, and where to; for a door, drawer or knob no place."""
        goal = self.progress.open_goal()
        return (None, None) if goal is None else (goal.thing, goal.place)

    def called(self, name: str) -> str:
        """What the instruction calls an object, a fixture or a region."""
        return as_said(name, self.task.goal)

    def aim(self) -> Aim:
        """Where an expert that sees everything and keeps no memory sends the hand now; see `expert`.

        Raises:
            NoExpert: for a task that its scripted expert does not manage.
        """
        return self._expert().aim()

    def waypoint(self) -> Aim:
        """The same for somebody who lets the hand come to rest before asking again, as at a window.

        Raises:
            NoExpert: as `aim`.
        """
        return self._expert().waypoint()

    def expert_action(self) -> Action:
        """The next native action or skill of that expert.

        Raises:
            NoExpert: as `aim`.
        """
        plan = self._expert()
        return plan.action() if self.space == ActionSpace.NATIVE else self._hands.skill()

    def _expert(self) -> LiberoPlan:
        if NO_EXPERT in self.task.tags:
            raise NoExpert(f"{self.task.id} has no scripted expert")
        return self._plan

    def _begin(self, episode: int, options: Mapping[str, Any]) -> None:
        number = episode if self._seed is None else self._seed
        self.world.start(number % INIT_STATES, options.get("init_state"))
        self.arm.begin()
        self.arm.settle()

    def _picture(self, key: str) -> Frame:
        return self._sampled_picture(self.arm.sampled, key)

    def _picture_from_beside(self, key: str, shift_m: Vector) -> Frame:
        return self._view.picture(self.arm.sampled, key, shift_m)

    def _sampled_picture(self, sample: Sample, key: str) -> Frame:
        return self._view.picture(sample, key)
