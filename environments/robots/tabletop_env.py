"""The tabletop tasks as environments: LIBERO's observations, native and semantic actions, exact rollback."""

from __future__ import annotations

import hashlib
import string
from functools import partial
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from environments.actions.spec import Action, NativeActions, TypedActions
from environments.env import ArenaEnv, Frame, Views
from environments.errors import InvalidSnapshot
from environments.robots import expert, predicates
from environments.robots.control import Arm
from environments.robots.faults import Fault, Injector
from environments.robots.rendering import Camera, Quality
from environments.robots.scene import BOWL
from environments.robots.skills import Gripper, Move, SkillAction, Turn
from environments.robots.snapshot import Physics, pack, unpack
from environments.robots.tabletop import CONTROL_HZ, Layout, TabletopWorld, Vector
from environments.task import ActionSpace, Task

WORKSPACE_M = ((-0.35, -0.35, 0.81), (0.25, 0.35, 1.15))
"""Where the grip site may be sent by a skill: lowest and highest x, y, z."""
SKILL_STEPS = 30
"""A skill ends after this many control steps at the latest."""
STROKE_STEPS = 12
"""Control steps of a full stroke of the gripper: 8 of command, and 4 for the fingers to follow."""
ARRIVED_M, ARRIVED_RAD = 0.003, 0.03
NEAR_M = 0.03
"""The hand has reached the cube."""

CAMERAS = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
"""Observation key and MuJoCo camera."""


def make_tabletop(task: Task, space: ActionSpace) -> TabletopEnv:
    """Build a tabletop task; `task.params` are the keyword arguments of `TabletopEnv`."""
    if space == ActionSpace.GUI:
        from environments.robots.teleop_env import TeleopEnv

        return TeleopEnv(task, **task.params)
    return TabletopEnv(task, space, **task.params)


class TabletopEnv(ArenaEnv):
    """Put the cube in the bowl.

    Observation: `agentview` and `wrist`, (256, 256, 3) uint8, rendered when looked at; `state`, (8,)
    float32: position of the grip site (m, world frame), orientation of the hand as axis times angle
    (rad, not folded to the shorter way), the two finger joints (m); `instruction`, the goal in words.
    This is LIBERO's observation except that the pictures are upright: LIBERO's policies were trained
    on pictures turned by 180 degrees, so whoever plays such a policy turns them (`picture[::-1, ::-1]`).

    One native step is one control step of 50 ms. One semantic step is one skill, at most 1.5 s.

    Score: 10 x approach + 15 grasped + 15 lifted + 20 x carried + 20 placed + 20 released, each as far
    as this episode has come so far; `approach` is the part of the initial distance from hand to cube
    that has been covered, `carried` the part of the horizontal distance from cube to bowl that the
    lifted cube has covered, both in 0..1. Success is 100.

    The state hash covers the world, not the plan of disturbances (see `faults`): rolling back restores
    the hash of the snapshot although a fault that has already happened will not happen again.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": CONTROL_HZ}  # type: ignore[misc]

    def __init__(
        self, task: Task, space: ActionSpace, *, size: int = 256, quality: Quality = "fast", **layout: Any
    ) -> None:
        """Build the world; `size` is the edge of the pictures in pixels, `layout` goes to `Layout`."""
        super().__init__(task, space)
        self.world = TabletopWorld(Layout(**layout))
        self.arm = Arm(self.world)
        self._size, self._quality = size, quality
        self._camera: Camera | None = None
        self._physics = Physics(self.world.mj_model, self.world.mj_data)
        self._injector = Injector()
        self._pending: Fault | None = None
        self._episode: int | None = None
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
        self._begin()
        for _ in range(STROKE_STEPS):  # LIBERO's settling, once for all episodes: the hand opens
            self.arm.step([0.0] * 6 + [expert.OPEN])
        self._start = self._pack_world()

    @property
    def main_view(self) -> str:
        """The view from the front."""
        return "agentview"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """Start an episode: the same seed gives the same scene, in any process.

        Args:
            seed: see `gymnasium.Env.reset`.
            options: `{"fault": {...}}` injects a `Fault`.

        Raises:
            ValueError: for an unknown option or a malformed fault.
        """
        unknown = set(options or {}) - {"fault"}
        if unknown:
            raise ValueError(f"unknown reset options {sorted(unknown)}; the only one is 'fault'")
        given = (options or {}).get("fault")
        fault = self._pending if given is None else Fault.parse(given)
        super().reset(seed=seed)
        self._unpack_world(self._start)
        self._episode = int(self.np_random.integers(2**63))
        self.world.place(np.random.default_rng(self._episode))
        self.arm.hold()
        self._begin()
        self._injector.arm(fault, self._episode)
        self._pending = None
        self.moment += 1
        return self.observe(), {"illegal": None}

    def step(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """Play one action; the reward is the change of `score`. Ends on success."""
        before = self.score()
        illegal: str | None = None
        if isinstance(self.action_space, NativeActions):
            self._control(self.action_space.parse(action))
        else:
            illegal = self._perform(self.action_space.load(action))
        self.moment += 1
        return self.observe(), self.score() - before, self.success(), False, {"illegal": illegal}

    def observe(self) -> Views:
        """The observation of now; a picture is rendered when it is first looked at."""
        state = np.concatenate([self.arm.position, self.arm.hand_axis_angle, self.arm.fingers]).astype(np.float32)
        values = {"state": state, "instruction": self.task.goal}
        return Views(values, {key: partial(self._picture, key) for key in CAMERAS}, self)

    def milestones(self) -> frozenset[str]:
        """Milestones reached so far."""
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
                return "release" if self._command == expert.OPEN else "lower"
            return "transport" if predicates.height(world, "cube") > predicates.LIFT_M else "lift"
        if gap < BOWL.floor_radius_m:
            return "release"
        return "grasp" if self._distance() < NEAR_M else "reach"

    def expert_action(self) -> Action:
        """The next native action or skill of an expert that sees everything and keeps no memory."""
        goal = expert.aim(self.world, self.arm)
        return expert.native(self.arm, goal) if self.space == ActionSpace.NATIVE else expert.skill(self.arm, goal)

    def telemetry(self) -> dict[str, Any]:
        """What a real robot would know of itself, JSON values: no object, no truth.

        `gripper_command` is what was last commanded (-1 open, 0 none, 1 close), also while a fault
        overrides it; `gripper_width_m` is measured between the pads; `eef_pos_m` (x, y, z), world
        frame; `eef_speed_m_s`; `control_step` counts 50 ms steps of the episode.
        """
        return {
            "gripper_command": self._command,
            "gripper_width_m": round(self.arm.width_m, 6),
            "eef_pos_m": [round(float(x), 6) for x in self.arm.position],
            "eef_speed_m_s": round(float(np.linalg.norm(self.arm.velocity)), 6),
            "control_step": self._steps,
        }

    def inject(self, fault: Fault | dict[str, Any] | None) -> None:
        """Arm a fault for the running episode, or for the next one if none has begun; None disarms.

        Raises:
            ValueError: for a malformed fault.
        """
        parsed = None if fault is None else Fault.parse(fault)
        if self._episode is None:
            self._pending = parsed
        else:
            self._injector.arm(parsed, self._episode)

    def fault_truth(self) -> dict[str, Any] | None:
        """Privileged: the injected fault, or None without one.

        Keys: `kind`, `fault_class`, `fault_type`, `severity`, `stage`, `onset_step` (control step of the
        episode, from 0, or None before it) and `active` (whether it acts on the next step).
        """
        return self._injector.truth()

    def state_hash(self) -> str:
        """SHA-256 of the world's state, without the plan of disturbances."""
        return hashlib.sha256(self._pack_world()).hexdigest()

    def close(self) -> None:
        """Free the renderer, if there is one."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    def _begin(self) -> None:
        """Set the episode's own counters to their start."""
        self._steps = 0
        self._command = 0.0
        self._reached: set[str] = set()
        self._approach = self._carried = 0.0
        self._first_distance = self._distance()
        self._first_gap = predicates.horizontal_gap(self.world, "cube", "bowl")

    def _control(self, action: list[float]) -> None:
        """One control step: the fault has its say, the arm moves, progress is noted."""
        self._command = float(np.sign(action[6]))
        self.arm.step(self._injector.apply(action, self.stage(), self._steps))
        self._steps += 1
        self._note_progress()

    def _perform(self, skill: Move | Turn | Gripper) -> str | None:
        """Run one skill to its end; the reason, if it is refused."""
        command = self._command or expert.OPEN
        if isinstance(skill, Gripper):
            goal = self.arm.position
            for _ in range(STROKE_STEPS):
                closing = expert.CLOSE if skill.state == "close" else expert.OPEN
                self._control(expert.native(self.arm, expert.Aim("close", goal, 0.0, closing)))
            return None
        if isinstance(skill, Move):
            goal = self.arm.position + np.array([skill.dx_cm, skill.dy_cm, skill.dz_cm]) / 100
            refusal = _outside(goal)
            if refusal:
                return refusal
            yaw = 0.0
        else:
            goal, yaw = self.arm.position, np.radians(skill.yaw_deg)
        start = expert.heading(self.arm.rotation)
        for _ in range(SKILL_STEPS):
            turned = expert.wrap(expert.heading(self.arm.rotation) - start)
            rest = expert.Aim("approach", goal, float(yaw - turned), command)
            self._control(expert.native(self.arm, rest))
            left = float(np.linalg.norm(goal - self.arm.position))
            still = abs(yaw - expert.wrap(expert.heading(self.arm.rotation) - start))
            if left < ARRIVED_M and still < ARRIVED_RAD and np.linalg.norm(self.arm.velocity) < 0.05:
                break
        return None

    def _note_progress(self) -> None:
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

    def _distance(self) -> float:
        return float(np.linalg.norm(self.arm.position - self.world.position("cube")))

    def _picture(self, key: str) -> Frame:
        if self._camera is None:
            self._camera = Camera(self.world.mj_model, self._size, self._size, self._quality)
        return self._camera.render(self.world.mj_data, CAMERAS[key])

    def _pack_world(self, **more: Any) -> bytes:
        header = {"reached": sorted(self._reached), "steps": self._steps, "episode": self._episode, **more}
        counters = [self.arm.ramp, self._command, self._approach, self._carried, self._first_distance, self._first_gap]
        arrays = self._physics.read()
        arrays["goal_pos"], arrays["goal_ori"] = self.arm.goal_pos, self.arm.goal_ori
        arrays["initial_joint"], arrays["counters"] = self.arm.initial_joint, np.array(counters)
        return pack(header, arrays)

    def _unpack_world(self, state: bytes) -> dict[str, Any]:
        header, arrays = unpack(state)
        try:
            goals = arrays["goal_pos"].reshape(3), arrays["goal_ori"].reshape(3, 3), arrays["initial_joint"].reshape(7)
            counters = arrays["counters"].reshape(6).tolist()
            reached, steps, episode = set(header["reached"]), int(header["steps"]), header["episode"]
        except (KeyError, ValueError, TypeError) as error:
            raise InvalidSnapshot(f"a part of the robot state is missing or misshapen: {error}") from None
        self._physics.write(arrays)
        self.arm.goal_pos, self.arm.goal_ori, self.arm.initial_joint = goals
        self.arm.ramp, self._command, self._approach, self._carried, self._first_distance, self._first_gap = counters
        self._reached, self._steps, self._episode = reached, steps, episode
        return header

    def _get_state(self) -> bytes:
        return self._pack_world(fault=self._injector.state())

    def _set_state(self, state: bytes) -> None:
        episode = self._episode
        header = self._unpack_world(state)
        self._injector.load(header.get("fault"), same_episode=header["episode"] == episode)


def _outside(goal: Vector) -> str | None:
    """Why the hand may not be sent there, or None."""
    for axis, value, low, high in zip("xyz", goal, *WORKSPACE_M, strict=True):
        if not low <= value <= high:
            limits = f"{100 * low:.0f} to {100 * high:.0f}"
            return f"out of workspace: {axis} would be {100 * value:.1f} cm, allowed is {limits}"
    return None
