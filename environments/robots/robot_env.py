"""The robot environment: LIBERO's observations, native and semantic actions, faults, exact rollback.

Nothing here depends on one task or on one build of the engine: a scene (`World`), an arm (`Arm`) and a
judge (`Progress`) are given, see `environments.robots.world`. A subclass starts an episode in `_begin`.
"""

from __future__ import annotations

import hashlib
import string
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from environments.actions.spec import Action, NativeActions, TypedActions
from environments.env import ArenaEnv, Frame, Views
from environments.errors import InvalidSnapshot
from environments.robots import motion
from environments.robots.faults import Fault, Injector
from environments.robots.faults.effects import Scene
from environments.robots.rendering import Camera, Quality
from environments.robots.skills import SkillAction, Skills
from environments.robots.snapshot import Physics, pack, unpack
from environments.robots.world import CONTROL_HZ, Arm, Progress, Vector, Workspace, World
from environments.task import ActionSpace, Task

CAMERAS = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
"""Observation key and MuJoCo camera."""


class RobotEnv(ArenaEnv):
    """A Panda in a scene.

    Observation: `agentview` and `wrist`, (size, size, 3) uint8, rendered when looked at; `state`, (8,)
    float32: position of the grip site (m, world frame), orientation of the hand as axis times angle
    (rad, not folded to the shorter way), the two finger joints (m); `instruction`, the goal in words.

    One native step is one control step of 50 ms. One semantic step is one skill; see `skills`.

    The state hash covers the world, not the plan of disturbances (see `faults`): rolling back restores
    the hash of the snapshot although a fault that has already happened will not happen again.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": CONTROL_HZ}  # type: ignore[misc]
    snapshot_version = 2
    reset_options: ClassVar[frozenset[str]] = frozenset({"fault"})
    """What `reset(options=...)` understands."""
    ends_within_action: ClassVar[bool] = False
    """Whether a skill or gesture is broken off the moment that the goal holds; else success is asked after it."""

    def __init__(
        self,
        task: Task,
        space: ActionSpace,
        world: World,
        arm: Arm,
        progress: Progress,
        *,
        workspace: Workspace,
        size: int = 256,
        quality: Quality = "fast",
    ) -> None:
        """Wrap a scene.

        Args:
            task: whose `goal` is the instruction.
            space: how to act; a GUI is put around this environment by its own class.
            world: the scene.
            arm: that moves in it.
            progress: the judge.
            workspace: lowest and highest x, y, z that a skill may send the grip site to, in metres.
            size: edge of the pictures in pixels.
            quality: of the pictures.
        """
        super().__init__(task, space)
        self.world, self.arm, self.progress = world, arm, progress
        self.workspace = workspace
        self._size, self._quality = size, quality
        self._camera: Camera | None = None
        self._physics = Physics(world.mj_model, world.mj_data)
        self._injector = Injector(Scene(world, arm, lambda: self.focus()))
        self._pending: tuple[Fault, ...] = ()
        self._episode: int | None = None
        self._steps, self._command = 0, 0.0
        self._told = [0.0] * 7
        self._overridden = False
        picture = spaces.Box(0, 255, (size, size, 3), np.uint8)
        self.observation_space = spaces.Dict(
            {
                "agentview": picture,
                "wrist": picture,
                "state": spaces.Box(-np.inf, np.inf, (8,), np.float32),
                "instruction": spaces.Text(max_length=200, charset=string.printable),
            }
        )
        self.action_space = NativeActions() if space == ActionSpace.NATIVE else TypedActions(SkillAction)
        self._skills = Skills(world, arm, workspace, lambda action: self._control(action), lambda: self._command)

    # --- what a task adds ------------------------------------------------------------------------------------------

    @abstractmethod
    def _begin(self, episode: int, options: Mapping[str, Any]) -> None:
        """Put the scene into the initial state of an episode and let it settle.

        Args:
            episode: drawn from the seed, 0 <= episode < 2**63; decides everything that varies.
            options: of `reset`, known ones only.
        """

    @abstractmethod
    def aim(self) -> motion.Aim:
        """Where an expert that sees everything and keeps no memory sends the hand now."""

    def waypoint(self) -> motion.Aim:
        """The same for somebody who lets the hand come to rest before asking again, as at a window."""
        return self.aim()

    def focus(self) -> tuple[str | None, str | None]:
        """Privileged: the object that the present sub-goal is about, and the place that it is to go to, if any.

        A fault is about these. By default the free object nearest to the hand.
        """
        here, world = self.arm.position, self.world
        near = sorted(world.objects, key=lambda name: float(np.linalg.norm(world.position(name) - here)))
        return (near[0] if near else None), None

    def called(self, name: str) -> str:
        """What the instruction calls an object or a place."""
        return name.rstrip("_0123456789").replace("_", " ")

    # --- Gymnasium -------------------------------------------------------------------------------------------------

    @property
    def main_view(self) -> str:
        """The view from the front."""
        return "agentview"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """Start an episode: the same seed gives the same scene, in any process.

        Args:
            seed: see `gymnasium.Env.reset`.
            options: `{"fault": {...}}` injects a `Fault`, or a list of them; a subclass may know more.

        Raises:
            ValueError: for an unknown option or a malformed fault.
        """
        options = options or {}
        if unknown := set(options) - self.reset_options:
            known = ", ".join(sorted(map(repr, self.reset_options)))
            raise ValueError(f"unknown reset options {sorted(unknown)}; there is {known}")
        given = options.get("fault")
        faults = self._pending if given is None else Fault.parse_all(given)
        super().reset(seed=seed)
        episode = int(self.np_random.integers(2**63))
        self._begin(episode, options)
        self._episode = episode  # afterwards: a scene may begin by going back to a stored state
        self._steps, self._command = 0, 0.0
        self.progress.begin()
        self._injector.arm(faults, self._episode)
        self._pending = ()
        self.moment += 1
        return self.observe(), {"illegal": None}

    def override(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """`step`, by somebody who has taken over: faults of what the *policy* decides leave the action alone."""
        self._overridden = True
        try:
            return self.step(action)
        finally:
            self._overridden = False

    def step(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """Play one action; the reward is the change of `score`. Ends on success."""
        before = self.score()
        illegal: str | None = None
        if isinstance(self.action_space, NativeActions):
            self._control(self.action_space.parse(action))
        else:
            illegal = self._skills.perform(self.action_space.load(action))
        self.moment += 1
        return self.observe(), self.score() - before, self.success(), False, {"illegal": illegal}

    def observe(self) -> Views:
        """The observation of now; a picture is rendered when it is first looked at."""
        values = {"state": self.proprioception(), "instruction": self.task.goal}
        return Views(values, {key: partial(self._picture, key) for key in CAMERAS}, self)

    def perceived(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        """The observation as a policy has it under a fault of perception; else the observation itself."""
        percept = self._injector.percept()
        if percept.clear:
            return observation
        state = np.array(observation["state"])
        if percept.arm_shift_m is not None:
            state[:3] += percept.arm_shift_m
        values = {**{key: observation[key] for key in observation if key not in CAMERAS}, "state": state}
        for name, other in percept.said_instead.items():
            values["instruction"] = values["instruction"].replace(self.called(name), self.called(other))

        def seen(key: str) -> Frame:
            shift = percept.camera_shift_m
            picture = observation[key] if shift is None else self._picture_from_beside(key, shift)
            return percept.altered(key, picture, self._steps)

        return Views(values, {key: partial(seen, key) for key in CAMERAS}, self)

    @property
    def senses(self) -> tuple[World, Arm]:
        """Privileged: scene and arm as a scripted policy perceives them; the truth itself where no fault is between."""
        return self._injector.senses

    def close(self) -> None:
        """Free the renderer, if one was made."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None
        super().close()

    # --- the robot -------------------------------------------------------------------------------------------------

    @property
    def command(self) -> float:
        """The gripper's last command: -1 open, 0 none, 1 close."""
        return self._command

    @property
    def control_steps(self) -> int:
        """Control steps of this episode."""
        return self._steps

    def _control(self, action: list[float]) -> None:
        """One control step of 50 ms: the faults have their say, the arm moves, progress is noted."""
        action = self._injector.decide(action, self.stage(), self._steps, policy=not self._overridden)
        self._command, self._told = float(np.sign(action[6])), [float(value) for value in action]
        self.arm.step(self._injector.apply(action))
        self._injector.passed()
        self._steps += 1
        self.world.after_step()
        self.progress.note(self._command)

    def proprioception(self) -> Any:
        """`state` of the observation, (8,) float32."""
        arm = self.arm
        return np.concatenate([arm.position, arm.hand_axis_angle, arm.fingers]).astype(np.float32)

    def _picture(self, key: str) -> Frame:
        """What a camera sees now, (size, size, 3) uint8; rendered by this call.

        Raises:
            RenderError: if there is no usable OpenGL.
        """
        if self._camera is None:
            self._camera = Camera(self.world.mj_model, self._size, self._size, self._quality)
        return self._camera.render(self.world.mj_data, CAMERAS[key])

    def _picture_from_beside(self, key: str, shift_m: Vector) -> Frame:
        """What a camera would see if it stood `shift_m`, (3,) m, from its place."""
        place = self.world.mj_data.cam_xpos[self.world.mj_model.camera(CAMERAS[key]).id]
        before = place.copy()
        place += shift_m
        try:
            return self._picture(key)
        finally:
            place[:] = before

    def camera_axes(self, key: str) -> Vector:
        """(3, 3): columns are a camera's right, up and backward in the world frame."""
        camera = self.world.mj_model.camera(CAMERAS[key]).id
        return np.array(self.world.mj_data.cam_xmat[camera]).reshape(3, 3)

    def telemetry(self) -> dict[str, Any]:
        """What a real robot would know of itself, JSON values: no object, no truth.

        `gripper_command` is what was last commanded (-1 open, 0 none, 1 close), also while a fault
        overrides it; `gripper_width_m` is measured between the pads; `eef_pos_m` (x, y, z), world
        frame; `eef_speed_m_s`; `control_step` counts 50 ms steps of the episode. `command` is the last native action
        that the robot was told to carry out, faults of planning included and faults of control not.
        """
        return {
            "gripper_command": self._command,
            "gripper_width_m": round(self.arm.width_m, 6),
            "eef_pos_m": [round(float(x), 6) for x in self.arm.position],
            "eef_speed_m_s": round(float(np.linalg.norm(self.arm.velocity)), 6),
            "control_step": self._steps,
            "command": list(self._told),
        }

    # --- the truth -------------------------------------------------------------------------------------------------

    def milestones(self) -> frozenset[str]:
        """Milestones reached so far."""
        return self.progress.milestones()

    def score(self) -> float:
        """Progress of the episode in 0..100; the formula is in the docstring of the task's `Progress`."""
        return self.progress.score()

    def success(self) -> bool:
        """Whether the goal holds now."""
        return self.progress.success()

    def stage(self) -> str:
        """What the episode is about now."""
        return self.progress.stage()

    def expert_action(self) -> Action:
        """The next native action or skill of an expert that sees everything and keeps no memory."""
        goal = self.aim()
        return motion.native(self.arm, goal) if self.space == ActionSpace.NATIVE else motion.skill(self.arm, goal)

    def inject(self, fault: Fault | dict[str, Any] | Sequence[Fault | dict[str, Any]] | None) -> None:
        """Arm faults for the running episode, or for the next one if none has begun; None disarms.

        Raises:
            ValueError: for a malformed fault.
        """
        parsed = Fault.parse_all(fault)
        if self._episode is None:
            self._pending = parsed
        else:
            self._injector.arm(parsed, self._episode)

    def fault_truth(self) -> dict[str, Any] | None:
        """Privileged: the injected fault, or None without one.

        Keys: `kind`, `fault_class`, `fault_type`, `severity`, `stage`, `onset_step` (control step of the
        episode, from 0, or None before it), `first_onset_step` (the same, but a rollback does not undo it), `active`
        (whether it acts on the next step) and `entity` (the object that it is about, from its onset on). Where several
        were injected, the first; `also` lists the others.
        """
        truths = self._injector.truths()
        if not truths:
            return None
        return {**truths[0], "also": truths[1:]} if len(truths) > 1 else truths[0]

    # --- snapshots -------------------------------------------------------------------------------------------------

    def state_hash(self) -> str:
        """SHA-256 of the world and the episode's counters; the fault is left out."""
        return hashlib.sha256(self._pack_world()).hexdigest()

    def _pack_world(self, **more: Any) -> bytes:
        header = {
            "progress": self.progress.state(),
            "world": self.world.memory(),
            "steps": self._steps,
            "command": self._command,
            "episode": self._episode,
            **more,
        }
        arrays = self._physics.read()
        for name, array in self.arm.read().items():
            arrays[f"arm.{name}"] = array
        return pack(header, arrays)

    def _unpack_world(self, state: bytes) -> dict[str, Any]:
        header, arrays = unpack(state)
        self._physics.check(arrays)
        arm_before, progress_before = self.arm.read(), self.progress.state()
        try:
            steps, command, episode = int(header["steps"]), float(header["command"]), header["episode"]
            memory = header["world"]
            self.arm.write({name[4:]: array for name, array in arrays.items() if name.startswith("arm.")})
            self.progress.load(header["progress"])
        except (KeyError, ValueError, TypeError) as error:
            self.arm.write(arm_before)
            self.progress.load(progress_before)
            raise InvalidSnapshot(f"a part of the robot state is missing or misshapen: {error}") from None
        self._physics.write(arrays)
        self.world.recall(memory)
        self._steps, self._command, self._episode = steps, command, episode
        return header

    def _get_state(self) -> bytes:
        return self._pack_world(fault=self._injector.state())

    def _set_state(self, state: bytes) -> None:
        episode = self._episode
        header = self._unpack_world(state)
        self._injector.load(header.get("fault"), same_episode=header["episode"] == episode)
