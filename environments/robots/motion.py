"""From a waypoint to an action: how every scripted hand moves, natively and by skill, keeping itself vertical."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from environments.robots._robosuite import mujoco
from environments.robots.world import CLOSE, MOVE_M, OPEN, TURN_RAD, Arm, Vector

__all__ = ["ALIGNED_M", "ALIGNED_RAD", "CLOSE", "GAIN", "OPEN", "Aim", "Posed", "at", "heading", "native", "skill",
           "towards", "turn_to", "upright_error", "wrap"]  # fmt: skip

ALIGNED_M, ALIGNED_RAD = 0.010, math.radians(6)
"""Precise enough to descend on something small."""
GAIN = 2.0
"""Commanded offset per metre of error; the controller then halves the error in about two steps."""


@dataclass(frozen=True, slots=True)
class Aim:
    """Where the hand should be and what the gripper should do."""

    phase: str
    """What this is for: `approach`, `descend`, `close`, `lift`, `transport`, `lower`, `open`, `retreat`..."""
    position: Vector
    """Of the grip site, (3,) m."""
    yaw_rad: float
    """Turn still to make about the vertical."""
    gripper: float
    """-1 opens, +1 closes."""


@dataclass(frozen=True, slots=True)
class Posed(Aim):
    """An aim with the hand's whole orientation; `yaw_rad` is of no account."""

    rotation: Vector
    """Of the grip site, (3, 3)."""


def native(arm: Arm, goal: Aim) -> list[float]:
    """One 7-D action towards an aim, keeping the hand vertical unless the aim says how it leans."""
    if isinstance(goal, Posed):
        return towards(arm, goal, turn_to(arm.rotation, goal.rotation))
    return towards(arm, goal, upright_error(arm.rotation, goal.yaw_rad))


def towards(arm: Arm, goal: Aim, turn_rad: Vector) -> list[float]:
    """One 7-D action towards an aim, with a turn still to make: (3,), axis times angle in the world frame."""
    move = np.clip(GAIN * (goal.position - arm.position) / MOVE_M, -1.0, 1.0)
    turn = np.clip(GAIN * turn_rad / TURN_RAD, -1.0, 1.0)
    return [float(np.float32(value)) for value in (*move, *turn, goal.gripper)]


def skill(arm: Arm, goal: Aim) -> dict[str, Any]:
    """One semantic action towards an aim: a move, a turn or the gripper."""
    if goal.phase in ("close", "open") or (goal.gripper == OPEN and arm.ramp > -0.9):
        return {"skill": "gripper", "state": "open" if goal.gripper == OPEN else "close"}
    if abs(goal.yaw_rad) > ALIGNED_RAD / 2:
        return {"skill": "turn", "yaw_deg": round(math.degrees(goal.yaw_rad), 1)}
    step = np.clip(np.round(100 * (goal.position - arm.position), 1), -15.0, 15.0) + 0.0
    return {"skill": "move", "dx_cm": float(step[0]), "dy_cm": float(step[1]), "dz_cm": float(step[2])}


def upright_error(rotation: Vector, yaw_rad: float = 0.0) -> Vector:
    """The rotation (axis times angle, world frame) that makes the hand vertical and turns it by `yaw_rad`."""
    level = rotation[:, 0].copy()
    level[2] = 0.0
    level /= np.linalg.norm(level)
    turned = np.array([math.cos(yaw_rad) * level[0] - math.sin(yaw_rad) * level[1],
                       math.sin(yaw_rad) * level[0] + math.cos(yaw_rad) * level[1], 0.0])  # fmt: skip
    down = np.array([0.0, 0.0, -1.0])
    return turn_to(rotation, np.stack([turned, np.cross(down, turned), down], axis=1))


def turn_to(rotation: Vector, goal: Vector) -> Vector:
    """The rotation from one orientation to another, (3,): axis times angle, world frame."""
    quat, vector = np.empty(4), np.empty(3)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(goal @ rotation.T).ravel())
    mujoco.mju_quat2Vel(vector, quat, 1.0)
    return vector


def heading(rotation: Vector) -> float:
    """The hand's turn about the vertical, rad."""
    return math.atan2(rotation[1, 0], rotation[0, 0])


def wrap(angle: float) -> float:
    """The same angle within -pi..pi."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


def at(place: Sequence[float] | Vector, z: float) -> Vector:
    """A place at another height, (3,) m."""
    return np.array([place[0], place[1], z])
