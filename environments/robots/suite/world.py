"""A scene of the suite: a Panda, a table, and the things that a task names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from xml.etree import ElementTree as ET

import numpy as np

from environments.errors import InfrastructureError
from environments.robots import _robosuite  # must come first: it keeps OpenGL out of the imports below
from environments.robots._robosuite import mujoco

_robosuite.load()

from robosuite.models.objects import (  # noqa: E402
    BottleObject,
    BreadObject,
    CanObject,
    CerealObject,
    LemonObject,
    MilkObject,
)
from robosuite.utils.binding_utils import MjSim  # noqa: E402

from environments.robots.scene import aim_camera, compile_model  # noqa: E402
from environments.robots.suite import parts  # noqa: E402
from environments.robots.suite.spec import Thing  # noqa: E402
from environments.robots.tabletop import TABLE_Z_M, PandaWorld, free_joint  # noqa: E402
from environments.robots.world import Fact, Vector  # noqa: E402

AGENTVIEW_POS_M, AGENTVIEW_TARGET_M, AGENTVIEW_FOVY_DEG = (0.86, 0.0, 1.62), (-0.04, 0.0, 0.86), 36.0
PLACEMENT_TRIES, SPOT_TRIES = 1_000, 30
OPEN_PART, CLOSED_PART = 0.75, 0.08
"""A drawer is open, a knob on, beyond the first part of its way; closed, or off, below the second."""
ON_GAP_M = (-0.012, 0.022)
"""How far the foot of a thing that is on something may be above the surface."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a thing is made, and what it needs."""

    make: Callable[[str], Any]
    """One of robosuite's objects, or a `Part`."""
    clear_m: float
    """Radius around its centre that no other thing may reach into."""
    foot_m: float = 0.0
    """How far its origin is above its foot."""
    tall: bool = False
    """Whether it would hide from the camera what lies right behind it."""


@dataclass(frozen=True, slots=True)
class Region:
    """A box that things are put on or in: it stands on a surface of a body."""

    body: str
    at: tuple[float, float, float]
    """Middle of the surface, in the body's frame."""
    half: tuple[float, float, float]


KINDS: Mapping[str, Kind] = {
    "can": Kind(lambda name: CanObject(name=name), 0.035, 0.0403, tall=True),
    "milk_carton": Kind(lambda name: MilkObject(name=name), 0.035, 0.061, tall=True),
    "bread": Kind(lambda name: BreadObject(name=name), 0.040, 0.0233),
    "cereal_box": Kind(lambda name: CerealObject(name=name), 0.060, 0.075, tall=True),
    "lemon": Kind(lambda name: LemonObject(name=name), 0.045, 0.0199),
    "bottle": Kind(lambda name: BottleObject(name=name), 0.038, 0.0649, tall=True),
    "black_bowl": Kind(lambda name: parts.bowl(name, parts.BLACK), 0.070),
    "plate": Kind(lambda name: parts.plate(name, parts.WHITE), 0.090),
    "wooden_block": Kind(lambda name: parts.block(name, parts.LIGHT_WOOD), 0.090),
    "basket": Kind(lambda name: parts.basket(name, parts.WICKER), 0.150),
    "cabinet": Kind(lambda name: parts.cabinet(name, parts.WOOD), 0.10),
    "stove": Kind(lambda name: parts.stove(name, parts.DARK), 0.12),
    **{
        f"{colour}_cube": Kind(lambda name, rgba=rgba: parts.cube(name, rgba), 0.032)  # type: ignore[misc]
        for colour, rgba in parts.COLOURS.items()
    },
}
REGIONS: Mapping[str, tuple[tuple[str, Region], ...]] = {
    "plate": (("{name}", Region("{name}", (0.0, 0.0, 0.008), (0.055, 0.055, 0.02))),),
    "wooden_block": (("{name}", Region("{name}", (0.0, 0.0, 0.030), (0.070, 0.070, 0.02))),),
    "basket": (("{name}", Region("{name}", (0.0, 0.0, 0.008), (0.095, 0.115, 0.04))),),
    "cabinet": (
        ("cabinet_top", Region("{name}", (0.0, 0.0, 0.116), (0.080, 0.060, 0.02))),
        ("drawer_inside", Region("drawer", (0.0, 0.0, 0.024), (0.078, 0.060, 0.03))),
    ),
    "stove": (("burner", Region("{name}", (-0.010, 0.0, 0.036), (0.055, 0.055, 0.02))),),
}
HIDDEN_M = (0.22, 0.055)
"""A thing is hidden by a tall one that stands less than this far before it (+x) and to its side."""
GAP_M = 0.055
"""Between the clear circles of two things: an open hand's finger goes in."""
BESIDE_M = 0.01
"""The same between things that are meant to be close."""
ON_TOP_M = 0.03
"""A thing that is placed this close to the middle of another one stands on it."""


class Seen(Protocol):
    """What `SuiteWorld.holds_as_seen` asks of poses: the scene itself, or a policy's senses."""

    def position(self, name: str) -> Vector:
        """Where a thing is, (3,) m."""

    def rotation(self, name: str) -> Vector:
        """How it lies, (3, 3)."""

    def surface(self, name: str) -> tuple[Vector, Vector]:
        """Middle and half size of where something can be put, (3,) m each."""

    def bottom(self, name: str) -> float:
        """Height of its lowest point, m."""


class SuiteWorld(PandaWorld):
    """The things of a task on the table; `place` starts an episode.

    Names: objects and fixtures are called as in the task, their moving parts `drawer` and `knob`, the regions as in
    `REGIONS`. A fixture's region of the same name (`plate`, `basket`) is what goals speak of.
    """

    def __init__(self, things: Sequence[Thing]) -> None:
        self.things = tuple(things)
        self.objects = tuple(thing.name for thing in things if not thing.fixed)
        self._parts: dict[str, parts.Part] = {}
        self._made: dict[str, Any] = {}
        self._regions: dict[str, Region] = {}
        for thing in things:
            made = KINDS[thing.kind].make(thing.name)
            (self._parts if isinstance(made, parts.Part) else self._made)[thing.name] = made
            for name, region in REGIONS.get(thing.kind, ()):
                body = region.body.format(name=thing.name)
                self._regions[name.format(name=thing.name)] = Region(body, region.at, region.half)
        moving = [part.name for thing in self._parts.values() for part in thing.parts]
        self.fixtures = (*(thing.name for thing in things if thing.fixed), *moving)
        self.regions = tuple(self._regions)
        super().__init__()

    def _make_things(self) -> list[Any]:
        return list(self._made.values())

    def _initialize_sim(self, xml_string: str | None = None) -> None:
        root = ET.fromstring(xml_string or self.model.get_xml())
        fixed = {thing.name for thing in self.things if thing.fixed}
        for name, part in self._parts.items():
            parts.add(root, part, np.array([0.0, 0.0, TABLE_Z_M]), free=name not in fixed)
        self.sim = MjSim(compile_model(ET.tostring(root, encoding="unicode")))
        aim_camera(self.sim.model._model, AGENTVIEW_POS_M, AGENTVIEW_TARGET_M, AGENTVIEW_FOVY_DEG)
        self.sim.forward()
        self.initialize_time(self.control_freq)

    def _setup_references(self) -> None:
        super()._setup_references()
        model = self.mj_model
        roots = {name: made.root_body for name, made in self._made.items()} | {name: name for name in self._parts}
        names = (*self.objects, *self.fixtures)
        self._body = {name: int(model.body(roots.get(name, name)).id) for name in names}
        self._free = {
            name: free_joint(model, self._made[name].joints[0] if name in self._made else f"{name}_joint")
            for name in self.objects
        }
        owner = {body: name for name, body in self._body.items()}
        solids: dict[str, set[int]] = {name: set() for name in names}
        for geom in range(model.ngeom):
            body = int(model.geom_bodyid[geom])
            while body and body not in owner:
                body = int(model.body_parentid[body])
            if body and model.geom_contype[geom]:
                solids[owner[body]].add(geom)
        self._geoms = {name: frozenset(found) for name, found in solids.items()} | self._finger_geoms()
        self._joint = {
            name: int(model.body_jntadr[self._body[name]])
            for name in self.fixtures
            if model.body_jntnum[self._body[name]] and name not in self._free
        }
        self._boxes = {name: self._measure(name) for name in names}
        self._burner = int(model.geom("stove_burner_visual").id) if "stove" in self.fixtures else -1

    # --- where things are --------------------------------------------------------------------------------------------

    def position(self, name: str) -> Vector:
        """Origin of an object, fixture or part, or the middle of a region's surface, (3,) m."""
        region = self._regions.get(name)
        if region is None or name in self._body:
            return super().position(name)
        return self._on_body(region)

    def rotation(self, name: str) -> Vector:
        """Orientation of an object, fixture, part or region, (3, 3)."""
        region = self._regions.get(name)
        return super().rotation(name if region is None else region.body)

    def bounds(self, name: str) -> Vector:
        """The box around its collision shapes in its own frame, (2, 3) m; a region's own box stands on its surface."""
        if name not in self._body:
            x, y, z = self._regions[name].half
            return np.array([[-x, -y, 0.0], [x, y, 2 * z]])
        return self._boxes[name].copy()

    def surface(self, name: str) -> tuple[Vector, Vector]:
        """Where something can be put: the middle of the surface, (3,) m, and its half size, (3,) m.

        That of a region, or the top of an object.
        """
        region = self._regions.get(name)
        if region is not None:
            return self._on_body(region), np.array(region.half)
        low, high = self._boxes[name]
        half = np.array([*(high - low)[:2] / 2, 0.02])
        return self.position(name) + self.rotation(name) @ np.array([0.0, 0.0, high[2]]), half

    def joints(self, name: str) -> dict[str, tuple[float, float, float]]:
        """The joint of `drawer` or `knob`: position, lowest, highest (m or rad); nothing for other things."""
        name = self._regions[name].body if name in self._regions and name not in self._body else name
        joint = self._joint.get(name)
        if joint is None:
            return {}
        low, high = self.mj_model.jnt_range[joint].tolist()
        return {
            self.mj_model.joint(joint).name: (float(self.mj_data.qpos[self.mj_model.jnt_qposadr[joint]]), low, high)
        }

    def openness(self, part: str) -> float:
        """How far a drawer is out or a knob turned, 0 to 1."""
        ((now, low, high),) = self.joints(part).values()
        return (now - low) / (high - low)

    def bottom(self, name: str) -> float:
        """Height of the lowest point of an object's box, m."""
        corners = np.array(list(itertools.product(*self._boxes[name].T)))
        return float((corners @ self.rotation(name).T)[:, 2].min() + self.position(name)[2])

    def holds(self, fact: Fact) -> bool:
        """Whether a predicate holds now; see `holds_as_seen`.

        Raises:
            LookupError: for a predicate that there is none of.
        """
        return self.holds_as_seen(fact, self)

    def holds_as_seen(self, fact: Fact, seen: Seen) -> bool:
        """Whether a predicate holds by the poses that somebody sees.

        `in` and `on`: the object's centre is over the surface and its foot at the surface (`in`: or above it, within
        the region). `open`, `turnon`: beyond three quarters of the way; `close`, `turnoff`: within its first 8 %.

        Raises:
            LookupError: for a predicate that there is none of.
        """
        verb, thing = fact[0], fact[1]
        if verb in ("open", "turnon"):
            return self.openness(thing) > OPEN_PART
        if verb in ("close", "turnoff"):
            return self.openness(thing) < CLOSED_PART
        if verb not in ("in", "on"):
            raise LookupError(f"no predicate {verb!r}; there are in, on, open, close, turnon and turnoff")
        middle, half = seen.surface(fact[2])
        away = seen.rotation(fact[2]).T @ (seen.position(thing) - middle)
        gap = seen.bottom(thing) - float(middle[2])
        high = ON_GAP_M[1] if verb == "on" else 2 * float(half[2])
        return bool((np.abs(away[:2]) < half[:2]).all()) and ON_GAP_M[0] < gap < high

    # --- episodes ----------------------------------------------------------------------------------------------------

    def place(self, rng: np.random.Generator) -> None:
        """Put everything where `rng` says, at rest, drawers closed, and clear of each other.

        Raises:
            InfrastructureError: if there is no room, which is a fault of the task.
        """
        for _ in range(PLACEMENT_TRIES):
            spots = self._draw(rng)
            if spots is not None:
                break
        else:
            raise InfrastructureError(f"no room for {', '.join(thing.name for thing in self.things)} on the table")
        data, model = self.mj_data, self.mj_model
        for thing in self.things:
            x, y, z = spots[thing.name]
            yaw = float(rng.uniform(*thing.yaw))
            quat = [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]
            if thing.fixed:
                body = self._body[thing.name]
                model.body_pos[body], model.body_quat[body] = (x, y, z), quat
            else:
                q, v = self._free[thing.name]
                data.qpos[q : q + 7] = [x, y, z + KINDS[thing.kind].foot_m, *quat]
                data.qvel[v : v + 6] = 0.0
        mujoco.mj_step1(model, data)

    def after_step(self) -> None:
        """The burner glows while its knob is on."""
        if self._burner >= 0:
            colour = parts.HOT if self.openness("knob") > OPEN_PART else parts.COLD
            self.mj_model.geom_rgba[self._burner] = colour

    def _draw(self, rng: np.random.Generator) -> dict[str, Vector] | None:
        """One try: a spot for each thing, (3,) m, or None if one of them found no room."""
        spots: dict[str, Vector] = {}
        for thing in self.things:
            for _ in range(SPOT_TRIES):
                spot = self._draw_spot(rng, thing, spots)
                if self._has_room(thing, spot, spots):
                    spots[thing.name] = spot
                    break
            else:
                return None
        return spots

    def _draw_spot(self, rng: np.random.Generator, thing: Thing, spots: Mapping[str, Vector]) -> Vector:
        spot = np.array([rng.uniform(*thing.x), rng.uniform(*thing.y), TABLE_Z_M])
        if thing.near:
            anchor = spots[thing.near]
            if thing.towards:
                anchor = (anchor + spots[thing.towards]) / 2
            spot[:2] += anchor[:2]
        if self._on_top(thing):
            spot[2] += dict(REGIONS[self._thing(thing.near).kind])["{name}"].at[2] + 0.001
        return spot

    def _has_room(self, thing: Thing, spot: Vector, spots: Mapping[str, Vector]) -> bool:
        for name, other in spots.items():
            if name == thing.near and self._on_top(thing):
                continue
            neighbour = self._thing(name)
            close = name in (thing.near, thing.towards) or thing.fixed
            needed = self._clear(thing) + self._clear(neighbour) + (BESIDE_M if close else GAP_M)
            if np.linalg.norm((spot - other)[:2]) < needed:
                return False
            if self._hides(thing, spot, other) or self._hides(neighbour, other, spot):
                return False
        return True

    @staticmethod
    def _on_top(thing: Thing) -> bool:
        return bool(thing.near) and not thing.towards and max(map(abs, (*thing.x, *thing.y))) < ON_TOP_M

    @staticmethod
    def _clear(thing: Thing) -> float:
        return thing.clear_m or KINDS[thing.kind].clear_m

    def _thing(self, name: str) -> Thing:
        return next(thing for thing in self.things if thing.name == name)

    @staticmethod
    def _hides(thing: Thing, spot: Vector, other: Vector) -> bool:
        """Whether a thing at `spot` would stand between the camera and what is at `other`."""
        before, beside = spot[0] - other[0], abs(spot[1] - other[1])
        return KINDS[thing.kind].tall and bool(0 < before < HIDDEN_M[0] and beside < HIDDEN_M[1])

    def _on_body(self, region: Region) -> Vector:
        return np.asarray(super().position(region.body) + super().rotation(region.body) @ np.array(region.at))

    def _measure(self, name: str) -> Vector:
        """(2, 3) m: the box around a thing's collision shapes in its own frame, from their vertices."""
        model, data = self.mj_model, self.mj_data
        origin, axes = data.xpos[self._body[name]], data.xmat[self._body[name]].reshape(3, 3)
        corners = []
        for geom in self._geoms[name]:
            if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
                mesh = int(model.geom_dataid[geom])
                first = model.mesh_vertadr[mesh]
                points = model.mesh_vert[first : first + model.mesh_vertnum[mesh]].astype(float)
            else:
                centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
                points = centre + np.array(list(itertools.product((-1, 1), repeat=3))) * half
            world = data.geom_xpos[geom] + points @ data.geom_xmat[geom].reshape(3, 3).T
            corners.append((world - origin) @ axes)
        stacked = np.concatenate(corners)
        return np.stack([stacked.min(axis=0), stacked.max(axis=0)])
