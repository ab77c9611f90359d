"""Things for the table that robosuite does not have, as MuJoCo XML: bowl, plate, basket, block, cabinet, stove.

Each solid is written twice, as robosuite does it: a collision shape in group 0, which alone counts for mass and
inertia, and a picture of it in group 1. Units: metres and radians; a thing's origin is at the middle of its foot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from environments.robots.world import Vector

Rgba = tuple[float, float, float, float]

BLACK: Rgba = (0.13, 0.13, 0.15, 1.0)
WHITE: Rgba = (0.93, 0.92, 0.88, 1.0)
WOOD: Rgba = (0.55, 0.36, 0.20, 1.0)
LIGHT_WOOD: Rgba = (0.72, 0.52, 0.32, 1.0)
WICKER: Rgba = (0.80, 0.62, 0.34, 1.0)
STEEL: Rgba = (0.62, 0.64, 0.67, 1.0)
DARK: Rgba = (0.20, 0.21, 0.23, 1.0)
COLD: Rgba = (0.28, 0.28, 0.30, 1.0)
HOT: Rgba = (0.92, 0.22, 0.08, 1.0)


@dataclass(frozen=True, slots=True)
class Solid:
    """A primitive shape."""

    kind: str
    """`box` or `cylinder`."""
    size: tuple[float, ...]
    """Half edges of a box; radius and half height of a cylinder."""
    at: tuple[float, float, float]
    rgba: Rgba
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    name: str = ""
    """A suffix of the name, where somebody must find it."""
    friction: float = 1.0
    hollow: bool = False
    """Seen, and not felt."""


@dataclass(frozen=True, slots=True)
class Joint:
    """One way to slide or turn, with enough dry friction to stay where it is left."""

    name: str
    kind: str
    """`slide` or `hinge`."""
    axis: tuple[float, float, float]
    limits: tuple[float, float]
    friction: float
    damping: float


@dataclass(frozen=True, slots=True)
class Part:
    """A body: solids, and parts that move on it."""

    name: str
    solids: Sequence[Solid]
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    joint: Joint | None = None
    density: float = 400.0
    parts: Sequence[Part] = field(default_factory=tuple)

    def bounds(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Lowest and highest corner of its own upright solids (leaning ones count as if they stood)."""
        half = [
            solid.size if solid.kind == "box" else (solid.size[0], solid.size[0], solid.size[1])
            for solid in self.solids
        ]
        low = [min(s.at[i] - h[i] for s, h in zip(self.solids, half, strict=True)) for i in range(3)]
        high = [max(s.at[i] + h[i] for s, h in zip(self.solids, half, strict=True)) for i in range(3)]
        return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def cube(name: str, rgba: Rgba) -> Part:
    """A grippy cube of 4 cm."""
    return Part(name, [Solid("box", (0.02, 0.02, 0.02), (0.0, 0.0, 0.02), rgba, friction=1.2)])


BOWL_RIM_M, BOWL_FOOT_M, BOWL_HEIGHT_M, BOWL_WALL_M = 0.062, 0.050, 0.050, 0.006
BOWL_PANELS = 12
FOOT_GAP_M = 0.003
"""Walls and rims begin this far above the table: every shape that touches it costs contacts in each substep."""


def bowl(name: str, rgba: Rgba) -> Part:
    """A small steep bowl that a gripper can take by its rim; twelve flat panels, one of them facing +x."""
    wall, foot, rim, height = BOWL_WALL_M / 2, BOWL_FOOT_M, BOWL_RIM_M, BOWL_HEIGHT_M
    lean = math.atan2(rim - foot, height)
    radius, slant = (foot + rim) / 2, math.hypot(rim - foot, height) / 2
    width = rim * math.tan(math.pi / BOWL_PANELS)
    solids = [Solid("cylinder", (foot, wall), (0.0, 0.0, wall), rgba)]
    for i in range(BOWL_PANELS):
        angle = 2 * math.pi * i / BOWL_PANELS
        yaw, pitch = (math.cos(angle / 2), math.sin(angle / 2)), (math.cos(lean / 2), math.sin(lean / 2))
        turn = (yaw[0] * pitch[0], -yaw[1] * pitch[1], yaw[0] * pitch[1], yaw[1] * pitch[0])
        at = (radius * math.cos(angle), radius * math.sin(angle), height / 2 + FOOT_GAP_M)
        solids.append(Solid("box", (wall, width, slant), at, rgba, turn, friction=1.2))
    return Part(name, solids, density=350.0)  # 60 g: its weight does not turn it in the fingers


def plate(name: str, rgba: Rgba) -> Part:
    """A flat plate, heavy enough to stay where it is when something is put on it."""
    solids = [Solid("cylinder", (0.080, 0.004), (0.0, 0.0, 0.004), rgba)]
    for i in range(16):
        angle = 2 * math.pi * i / 16
        turn = (math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2))
        at = (0.082 * math.cos(angle), 0.082 * math.sin(angle), 0.009)
        solids.append(Solid("box", (0.005, 0.0168, 0.005), at, rgba, turn))
    return Part(name, solids, density=2500.0)


def block(name: str, rgba: Rgba) -> Part:
    """A low wooden block to stand things on."""
    return Part(name, [Solid("box", (0.075, 0.075, 0.015), (0.0, 0.0, 0.015), rgba)], density=1500.0)


def basket(name: str, rgba: Rgba) -> Part:
    """An open basket, 24 by 20 cm inside, 7 cm high."""
    x, y, wall, height = 0.100, 0.120, 0.005, 0.035
    sides = [Solid("box", (wall, y + 2 * wall, height), (sign * (x + wall), 0.0, height), rgba) for sign in (-1, 1)] + [
        Solid("box", (x, wall, height), (0.0, sign * (y + wall), height), rgba) for sign in (-1, 1)
    ]
    floor = tuple(value * 0.8 for value in rgba[:3])
    return Part(name, [Solid("box", (x, y, 0.004), (0.0, 0.0, 0.004), (*floor, 1.0)), *sides])  # type: ignore[arg-type]


DRAWER_TRAVEL_M = 0.13


def cabinet(name: str, rgba: Rgba) -> Part:
    """A low cabinet with one drawer that slides along +y; its handle is a stem: fingers close behind its cap."""
    x, y, wall = 0.095, 0.075, 0.006
    shell = [
        Solid("box", (x, y, wall), (0.0, 0.0, wall), rgba),
        Solid("box", (x, y, wall), (0.0, 0.0, 0.110), rgba),
        Solid("box", (wall, y, 0.046), (x - wall, 0.0, 0.058), rgba),
        Solid("box", (wall, y, 0.046), (wall - x, 0.0, 0.058), rgba),
        Solid("box", (x - 2 * wall, wall, 0.046), (0.0, wall - y, 0.058), rgba),
    ]
    inner, depth = x - 2 * wall - 0.003, 0.066
    lighter = LIGHT_WOOD
    drawer = [
        Solid("box", (inner, depth, 0.004), (0.0, 0.0, 0.020), lighter),
        Solid("box", (0.004, depth, 0.028), (inner - 0.004, 0.0, 0.050), lighter),
        Solid("box", (0.004, depth, 0.028), (0.004 - inner, 0.0, 0.050), lighter),
        Solid("box", (inner, 0.004, 0.028), (0.0, 0.004 - depth, 0.050), lighter),
        Solid("box", (inner + 0.003, 0.006, 0.044), (0.0, depth + 0.006, 0.058), lighter),
        Solid("box", (0.007, 0.021, 0.014), (0.0, depth + 0.033, 0.092), STEEL, name="handle", friction=1.2),
        Solid("box", (0.024, 0.005, 0.014), (0.0, depth + 0.059, 0.092), STEEL),
    ]
    slide = Joint("drawer_slide", "slide", (0.0, 1.0, 0.0), (0.0, DRAWER_TRAVEL_M), 1.0, 8.0)
    return Part(name, shell, parts=[Part("drawer", drawer, joint=slide)])


KNOB_TURN_RAD = 1.57


def stove(name: str, rgba: Rgba) -> Part:
    """A flat stove with one burner, and a knob before it (+x) that turns counter-clockwise."""
    base = [
        Solid("box", (0.125, 0.085, 0.014), (0.030, 0.0, 0.014), rgba),
        Solid("cylinder", (0.072, 0.004), (-0.010, 0.0, 0.032), COLD, name="burner"),
    ]
    knob = [
        Solid("cylinder", (0.022, 0.005), (0.0, 0.0, 0.005), STEEL),
        Solid("box", (0.026, 0.008, 0.014), (0.0, 0.0, 0.024), WHITE, name="handle", friction=1.2),
        Solid("box", (0.010, 0.0082, 0.0142), (0.017, 0.0, 0.024), HOT, hollow=True),
    ]
    hinge = Joint("knob_hinge", "hinge", (0.0, 0.0, 1.0), (0.0, KNOB_TURN_RAD), 0.02, 0.02)
    return Part(name, base, parts=[Part("knob", knob, at=(0.118, 0.0, 0.028), joint=hinge)])


def add(root: ET.Element, part: Part, at: Vector, *, free: bool) -> None:
    """Write a part, standing at `at` (3,) m, into the XML of a whole scene."""
    world = root.find("worldbody")
    if world is None:
        raise ValueError("the scene's XML has no worldbody")
    body = _body(part, tuple(float(value) for value in at))
    if free:
        body.insert(0, ET.Element("freejoint", {"name": f"{part.name}_joint"}))
    world.append(body)
    contact = root.find("contact")
    if contact is None:
        contact = ET.SubElement(root, "contact")
    for child in part.parts:  # a drawer touches its cabinet everywhere, and slides on its joint alone
        contact.append(ET.Element("exclude", {"body1": part.name, "body2": child.name}))


def _body(part: Part, at: tuple[float, ...]) -> ET.Element:
    body = ET.Element("body", {"name": part.name, "pos": _text(at)})
    if part.joint is not None:
        joint = part.joint
        body.append(
            ET.Element(
                "joint",
                {"name": joint.name, "type": joint.kind, "axis": _text(joint.axis), "limited": "true",
                 "range": _text(joint.limits), "frictionloss": str(joint.friction), "damping": str(joint.damping),
                 "armature": "0.001"},
            )
        )  # fmt: skip
    for i, solid in enumerate(part.solids):
        name = f"{part.name}_{solid.name or i}"
        shape = {"type": solid.kind, "size": _text(solid.size), "pos": _text(solid.at), "quat": _text(solid.quat)}
        solidity = {"group": "0", "density": str(part.density), "friction": f"{solid.friction} 0.01 0.0005",
                    "condim": "4", "solref": "0.01 1", "rgba": "0 0 0 0"}  # fmt: skip
        picture = {"group": "1", "contype": "0", "conaffinity": "0", "mass": "0", "rgba": _text(solid.rgba)}
        if not solid.hollow:
            body.append(ET.Element("geom", {"name": name, **shape, **solidity}))
        body.append(ET.Element("geom", {"name": f"{name}_visual", **shape, **picture}))
    for child in part.parts:
        body.append(_body(child, child.at))
    return body


def _text(values: Sequence[float]) -> str:
    return " ".join(f"{value:.6g}" for value in values)


COLOURS: Mapping[str, Rgba] = {
    "red": (0.80, 0.10, 0.08, 1.0),
    "blue": (0.10, 0.28, 0.75, 1.0),
    "green": (0.12, 0.52, 0.20, 1.0),
    "yellow": (0.90, 0.70, 0.10, 1.0),
}
