"""How the teleoperation window moves the arm: straight lines and turns through the native action, nothing else.

What is sent to the arm is what any policy sends: seven numbers in [-1, 1] for each control step of 50 ms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from environments.env import Frame
from environments.robots.motion import GAIN
from environments.robots.world import CONTROL_HZ, MOVE_M, STROKE_STEPS, TURN_RAD, Vector, Workspace

STEP_MS = 1000 // CONTROL_HZ
"""One control step."""
SETTLE_STEPS = 14
"""Control steps that the arm is given to arrive once its goal stands still."""
ARRIVED_M, ARRIVED_RAD, STILL_M_S = 0.002, 0.02, 0.03
FOLLOW_M = 0.006
"""A hand that is farther from where it was sent has been blocked or pushed: the next stroke begins where it is."""


class Rig(Protocol):
    """The part of a robot environment that a teleoperator has: sensors, cameras, one control step."""

    main_camera: str
    """Observation key of the fixed camera."""
    wrist_camera: str
    workspace: Workspace
    """The arm is not sent outside."""
    origin: tuple[float, float, float]
    """Where the read-outs of the hand's position count from, in metres of the world frame: calibration, not truth."""

    def control(self, action: list[float]) -> None:
        """One control step with a native action.

        Raises:
            EpisodeOver: if the episode has ended with it, and the gesture with the episode.
        """

    def picture(self, key: str) -> Frame:
        """What a camera sees now, (H, W, 3) uint8, upright; rendered by this call."""

    def camera_axes(self, key: str) -> Vector:
        """(3, 3): columns are the camera's right, up and backward in the world frame."""

    @property
    def position(self) -> Vector:
        """Of the grip site, (3,) m, world frame."""

    @property
    def rotation(self) -> Vector:
        """Of the grip site, (3, 3), world frame; its third column points out of the hand."""

    @property
    def width_m(self) -> float:
        """Between the finger pads."""

    @property
    def gripper_command(self) -> float:
        """Last commanded: -1 open, 0 none, 1 close."""

    @property
    def control_steps(self) -> int:
        """Control steps of this episode."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of a motion."""

    base: Vector
    """Where it began, (3,) m."""
    left_m: float
    """How far from its goal the hand ended."""
    left_rad: float


class Driver:
    """Carries out motions on a rig, one after the other, each within the declared number of control steps.

    Strokes add up exactly: each begins where the last one was to end, unless the hand is far from there (it was
    blocked, or something pushed it).
    """

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.setpoint: Vector | None = None
        """Where the hand is to be, (3,) m; None until it has been sent somewhere. Part of the window's state."""

    def base(self) -> Vector:
        """Where the next motion begins."""
        here = self._rig.position
        if self.setpoint is None or float(np.linalg.norm(self.setpoint - here)) > FOLLOW_M:
            return here
        return self.setpoint

    def go(self, shift: Vector, turn: Vector, ms: int) -> Moved:
        """Move by `shift` (3,) m and turn by `turn` (3,) rad (axis times angle), both in the world frame.

        Args:
            shift: how far the hand goes, in a straight line.
            turn: how far it turns meanwhile.
            ms: how long the goal is on its way; the arm then gets up to `SETTLE_STEPS` to arrive.
        """
        rig, base, start = self._rig, self.base(), self._rig.rotation
        turning = bool(turn.any())
        steps = max(1, ms // STEP_MS)
        left_m = left_rad = 0.0
        for step in range(1, steps + SETTLE_STEPS + 1):
            part = min(1.0, step / steps)
            goal = base + part * shift
            before = rig.position
            # Exactly zero where nothing turns: the controller then keeps the orientation that it was last given.
            rest = rotation_between(rig.rotation, rotate(start, part * turn)) if turning else np.zeros(3)
            self._send(goal - before, rest)
            if step < steps:
                continue
            left_m = float(np.linalg.norm(goal - rig.position))
            left_rad = float(np.linalg.norm(rotation_between(rig.rotation, rotate(start, turn)))) if turning else 0.0
            speed = float(np.linalg.norm(rig.position - before)) * 1000 / STEP_MS
            if left_m < ARRIVED_M and left_rad < ARRIVED_RAD and speed < STILL_M_S:
                break
        self.setpoint = base + shift
        return Moved(base, left_m, left_rad)

    def hold(self, steps: int) -> None:
        """Stay where the hand is to be for a number of control steps."""
        goal = self.base()
        for _ in range(steps):
            self._send(goal - self._rig.position, np.zeros(3))

    def halt(self, steps: int) -> None:
        """Stay where the hand is now."""
        self.setpoint = None
        self.setpoint = self.base()
        self.hold(steps)

    def grip(self, command: float) -> None:
        """Open (-1) or close (+1) the gripper completely, on the spot."""
        goal = self.base()
        for _ in range(STROKE_STEPS):
            self._send(goal - self._rig.position, np.zeros(3), command)

    def _send(self, offset: Vector, turn: Vector, command: float = 0.0) -> None:
        move = np.clip(GAIN * offset / MOVE_M, -1.0, 1.0)
        rotation = np.clip(turn / TURN_RAD, -1.0, 1.0)
        grip = command or self._rig.gripper_command or -1.0  # an arm that was told nothing holds its hand open
        self._rig.control([float(np.float32(value)) for value in (*move, *rotation, grip)])


def rotate(rotation: Vector, turn: Vector) -> Vector:
    """A rotation (3, 3) turned by axis times angle (3,), both in the world frame (Rodrigues' formula)."""
    angle = float(np.linalg.norm(turn))
    if angle == 0.0:
        return rotation
    x, y, z = turn / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray((np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross) @ rotation)


def rotation_between(now: Vector, goal: Vector) -> Vector:
    """Axis times angle (3,), in the world frame, that turns `now` (3, 3) into `goal` the shorter way."""
    m = goal @ now.T
    axis = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / 2
    sine, cosine = float(np.linalg.norm(axis)), (float(np.trace(m)) - 1) / 2
    if sine < 1e-9:  # no turn, or half a turn, about which the antisymmetric part is silent
        if cosine > 0:
            return np.zeros(3)
        column = (m + np.eye(3))[:, int(np.argmax(np.diag(m)))]
        return np.asarray(math.pi * column / np.linalg.norm(column))
    return np.asarray(axis / sine * math.atan2(sine, cosine))


def levelling_turn(rotation: Vector) -> Vector:
    """The shortest turn, axis times angle (3,), after which the hand points straight down."""
    out = rotation[:, 2]
    axis = np.cross(out, [0.0, 0.0, -1.0])
    sine, cosine = float(np.linalg.norm(axis)), -float(out[2])
    if sine < 1e-9:
        return np.zeros(3) if cosine > 0 else math.pi * rotation[:, 0]
    return np.asarray(axis / sine * math.atan2(sine, cosine))


def view_frame(camera: Vector) -> Vector:
    """The window's forward, left and up as columns in the world frame, (3, 3).

    Forward is the horizontal axis of the world that leads most nearly into the picture; a camera that looks straight
    down has it at the top of the picture.

    Args:
        camera: (3, 3), see `Rig.camera_axes`.
    """
    into = camera[:, 1] - camera[:, 2]
    forward = np.zeros(3)
    axis = int(np.argmax(np.abs(into[:2])))
    forward[axis] = math.copysign(1.0, into[axis])
    up = np.array([0.0, 0.0, 1.0])
    return np.stack([forward, np.cross(up, forward), up], axis=1)
