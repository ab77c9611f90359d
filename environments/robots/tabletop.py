"""The tabletop: a Panda behind a table, a cube to pick, one distractor and a bowl, on robosuite.

Everything is built from robosuite's own parts. Placement is seeded by a generator that the caller
owns; nothing here reads or seeds numpy's global one.

Frames and units: metres and radians in robosuite's world frame. The robot stands at negative x and
looks along +x; +y is its left; +z is up; the table top is at z = 0.8 m.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from environments.robots import _robosuite  # must come first: it keeps OpenGL out of the imports below

_robosuite.load()

from robosuite.controllers import load_controller_config  # noqa: E402
from robosuite.environments.manipulation.single_arm_env import SingleArmEnv  # noqa: E402
from robosuite.models.arenas import TableArena  # noqa: E402
from robosuite.models.tasks import ManipulationTask  # noqa: E402
from robosuite.utils.binding_utils import MjSim  # noqa: E402

from environments.robots.scene import BOWL, bowl_object, compile_model, cube_object  # noqa: E402
from environments.robots.world import CONTROL_HZ, FINGERS, Fact  # noqa: E402
from environments.robots.world import Vector as Vector  # noqa: E402

TABLE_Z_M = 0.8
"""Height of the table top."""
CUBE_HALF_M = 0.02
"""Half the edge of a cube."""

COLOURS: dict[str, tuple[float, float, float, float]] = {
    "red": (0.80, 0.10, 0.08, 1.0),
    "blue": (0.10, 0.28, 0.75, 1.0),
    "green": (0.12, 0.52, 0.20, 1.0),
    "yellow": (0.90, 0.70, 0.10, 1.0),
}
"""What a colour word in an instruction looks like."""


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle on the table, in metres, that objects are placed in."""

    x: tuple[float, float] = (-0.14, 0.10)
    y: tuple[float, float] = (-0.20, 0.20)


@dataclass(frozen=True, slots=True)
class Layout:
    """What lies on the table and where it may lie."""

    cube: str = "red"
    """Colour of the cube to pick."""
    distractor: str = "blue"
    """Colour of the other cube."""
    region: Region = Region()
    max_yaw_rad: float = math.pi / 5
    """A cube is turned by up to this much, either way."""
    cube_gap_m: float = 0.10
    """Least distance between the centres of the cubes: an open hand (20 cm wide over all) fits in."""
    bowl_gap_m: float = 0.16
    """Least distance between a cube's centre and the bowl's: the hand never touches the bowl to grasp."""


OBJECTS = ("cube", "distractor", "bowl")
"""Names of the free objects."""


class PandaWorld(SingleArmEnv):
    """A Panda behind a table: the model, robosuite's robot and its controller; `PandaArm` steps it.

    robosuite's own `reset`, `step`, observables and cameras are not used: the model is built once
    and every episode starts from a stored state. A subclass says what stands on the table
    (`_make_things`) and fills `_body`, `_free` and `_geoms`, by name.
    """

    _body: dict[str, int]
    _free: dict[str, tuple[int, int]]
    """Per object, where its free joint's positions and velocities start."""
    _geoms: dict[str, frozenset[int]]

    def __init__(self) -> None:
        super().__init__(
            robots="Panda",
            controller_configs=load_controller_config(default_controller="OSC_POSE"),
            initialization_noise=None,  # robosuite draws it from numpy's global generator
            use_camera_obs=False,
            has_renderer=False,
            has_offscreen_renderer=False,
            control_freq=CONTROL_HZ,
            hard_reset=False,
            ignore_done=True,
        )

    def _make_things(self) -> list[Any]:
        """Robosuite's objects for the table."""
        raise NotImplementedError

    def _load_model(self) -> None:
        super()._load_model()
        robot = self.robots[0].robot_model
        robot.set_base_xpos(robot.base_xpos_offset["table"](0.8))
        arena = TableArena(table_full_size=(0.8, 0.8, 0.05), table_offset=(0, 0, TABLE_Z_M))
        arena.set_origin([0, 0, 0])
        self.model = ManipulationTask(mujoco_arena=arena, mujoco_robots=[robot], mujoco_objects=self._make_things())

    def _initialize_sim(self, xml_string: str | None = None) -> None:
        self.sim = MjSim(compile_model(xml_string or self.model.get_xml()))
        self.sim.forward()
        self.initialize_time(self.control_freq)

    def _setup_observables(self) -> Any:
        return OrderedDict()  # proprioception is read from MuJoCo directly, once per control step

    def _finger_geoms(self) -> dict[str, frozenset[int]]:
        model, gripper = self.sim.model, self.robots[0].gripper.important_geoms
        return {side: frozenset(int(model.geom_name2id(geom)) for geom in gripper[side]) for side in FINGERS}

    def position(self, name: str) -> Vector:
        """Origin of an object, (3,) m."""
        return np.array(self.mj_data.xpos[self._body[name]])

    def rotation(self, name: str) -> Vector:
        """Orientation of an object, (3, 3)."""
        return np.array(self.mj_data.xmat[self._body[name]]).reshape(3, 3)

    def yaw(self, name: str) -> float:
        """Rotation of an object about the vertical, rad."""
        matrix = self.mj_data.xmat[self._body[name]]
        return math.atan2(matrix[3], matrix[0])

    def up(self, name: str) -> float:
        """Cosine of an object's tilt: 1 upright, 0 on its side."""
        return float(self.mj_data.xmat[self._body[name]][8])

    def velocity(self, name: str) -> Vector:
        """Linear and angular velocity of an object, (6,) m/s and rad/s."""
        start = self._free[name][1]
        return np.array(self.mj_data.qvel[start : start + 6])

    def speed(self, name: str) -> float:
        """Linear speed of an object in m/s."""
        start = self._free[name][1]
        return float(np.linalg.norm(self.mj_data.qvel[start : start + 3]))

    def touching(self, first: str, second: str) -> bool:
        """Whether two things, or one and `left_finger` or `right_finger`, are in contact now."""
        a, b = self._geoms[first], self._geoms[second]
        pairs = self.mj_data.contact.geom[: self.mj_data.ncon].tolist()
        return any((i in a and j in b) or (j in a and i in b) for i, j in pairs)

    def after_step(self) -> None:
        """Nothing to note: everything is read from MuJoCo."""

    def memory(self) -> dict[str, Any]:
        """Nothing is remembered beyond MuJoCo's state."""
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Nothing to put back."""

    def reward(self, action: Any = None) -> float:
        """Unused: the task's score lives in the environment."""
        return 0.0

    @property
    def mj_model(self) -> Any:
        """The compiled `mujoco.MjModel`."""
        return self.sim.model._model

    @property
    def mj_data(self) -> Any:
        """Its `mujoco.MjData`."""
        return self.sim.data._data


class TabletopWorld(PandaWorld):
    """A cube, another one and a bowl; `place` starts an episode."""

    objects = OBJECTS
    fixtures: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        super().__init__()

    def _make_things(self) -> list[Any]:
        self.cube = cube_object("cube", CUBE_HALF_M, COLOURS[self.layout.cube])
        self.distractor = cube_object("distractor", CUBE_HALF_M, COLOURS[self.layout.distractor])
        self.bowl = bowl_object("bowl", (0.88, 0.86, 0.80, 1.0))
        return [self.cube, self.distractor, self.bowl]

    def _setup_references(self) -> None:
        super()._setup_references()
        model = self.sim.model
        self._body = {name: int(model.body_name2id(getattr(self, name).root_body)) for name in OBJECTS}
        self._free = {name: free_joint(self.mj_model, getattr(self, name).joints[0]) for name in OBJECTS}
        self._geoms = self._finger_geoms()
        for name in OBJECTS:
            geoms = getattr(self, name).contact_geoms
            self._geoms[name] = frozenset(int(model.geom_name2id(geom)) for geom in geoms)

    def bounds(self, name: str) -> Vector:
        """The box around an object in its own frame, (2, 3) m."""
        half = np.full(3, CUBE_HALF_M)
        if name == "bowl":
            half = np.array([BOWL.rim_radius_m, BOWL.rim_radius_m, BOWL.height_m / 2])
        return np.stack([-half, half])

    def joints(self, name: str) -> dict[str, tuple[float, float, float]]:
        """Nothing here slides or turns."""
        return {}

    def holds(self, fact: Fact) -> bool:
        """Whether ("in", "cube", "bowl") holds.

        Raises:
            LookupError: for another predicate.
        """
        from environments.robots import predicates

        if fact != ("in", "cube", "bowl"):
            raise LookupError(f"this scene judges ('in', 'cube', 'bowl'), not {fact}")
        return predicates.inside(self, "cube", "bowl")

    def place(self, rng: np.random.Generator) -> None:
        """Put the objects where `rng` says, at rest and clear of each other."""
        layout = self.layout
        while True:  # about one draw in three is accepted
            spots = {name: rng.uniform(*np.transpose([layout.region.x, layout.region.y])) for name in OBJECTS}
            cubes = float(np.linalg.norm(spots["cube"] - spots["distractor"]))
            bowls = min(float(np.linalg.norm(spots[name] - spots["bowl"])) for name in ("cube", "distractor"))
            if cubes >= layout.cube_gap_m and bowls >= layout.bowl_gap_m:
                break
        for name in OBJECTS:
            yaw = rng.uniform(-layout.max_yaw_rad, layout.max_yaw_rad)
            half = BOWL.height_m / 2 if name == "bowl" else CUBE_HALF_M
            q, v = self._free[name]
            self.mj_data.qpos[q : q + 7] = [*spots[name], TABLE_Z_M + half, math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)]
            self.mj_data.qvel[v : v + 6] = 0.0


def free_joint(model: Any, name: str) -> tuple[int, int]:
    """Where a free joint's seven positions and six velocities start."""
    joint = model.joint(name).id
    return int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
