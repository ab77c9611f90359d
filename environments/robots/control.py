"""The arm under LIBERO's control convention: OSC_POSE at 20 Hz, 25 physics substeps of 2 ms.

robosuite's own `step` costs 20-30 ms here: per 2 ms substep it evaluates the dynamics three times,
looks names up, and updates its observables and a dozen buffers. `PandaArm` computes the same torques
from the same controller settings with one evaluation per substep, which is what MuJoCo's split step
is for (a test compares the motion with robosuite's own).

Invariant: whenever `PandaArm` is not inside `step`, `mj_step1` has been called on the present state, so
poses and contacts that anyone reads are those of this very moment, never one substep old.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from environments.robots._robosuite import mujoco
from environments.robots.panda import PandaReadings
from environments.robots.tabletop import PandaWorld
from environments.robots.world import CONTROL_HZ, Vector

GRIPPER_RAMP = 0.01
"""Change of the gripper command per substep: a full stroke takes eight control steps (robosuite)."""
NULLSPACE_KP = 10.0
"""Stiffness towards the initial joint pose in the null space of the task (robosuite)."""


class PandaArm(PandaReadings):
    """Drives the Panda of a `PandaWorld` with 7-D actions.

    Its state, beyond MuJoCo's: `goal_pos` (3,), `goal_ori` (3, 3), `initial_joint` (7,) and `ramp`,
    the gripper command in [-1 open, 1 closed]. The orientation goal persists while the rotation
    part of the actions is exactly zero, which is why a snapshot must hold it.
    """

    def __init__(self, world: PandaWorld) -> None:
        robot = world.robots[0]
        controller = robot.controller
        super().__init__(world.mj_model, world.mj_data, robot)
        self._arm_ctrl, self._grip_ctrl = self._data.ctrl[:7], self._data.ctrl[7:9]
        ranges = self._model.actuator_ctrlrange[7:9]
        self._grip_mid, self._grip_half = ranges.mean(axis=1), (ranges[:, 1] - ranges[:, 0]) / 2 * (-1.0, 1.0)
        self._kp, self._kd = np.array(controller.kp, float), np.array(controller.kd, float)
        self._scale = np.array(controller.output_max, float)
        self._substeps = round(1 / CONTROL_HZ / self._model.opt.timestep)
        self._arm_jacobian: NDArray[np.float64] = self._jacobian[:, :7]
        self._arm_mass: NDArray[np.float64] = self._mass[:7, :7]
        self.initial_joint = np.array(controller.initial_joint, float)
        self.ramp = 0.0
        self.goal_pos: Vector = np.zeros(3)
        self.goal_ori: Vector = np.eye(3)
        self.hold()

    @property
    def hand_axis_angle(self) -> Vector:
        """Orientation of the hand's body as LIBERO reports it, (3,) rad."""
        return axis_angle(self._hand_quat)

    @property
    def velocity(self) -> Vector:
        """Linear velocity of the grip site, (3,) m/s."""
        self._update_jacobian()
        return np.asarray(self._arm_jacobian[:3] @ self._speeds)

    def hold(self) -> None:
        """Make the present pose the goal."""
        mujoco.mj_step1(self._model, self._data)
        self.goal_pos, self.goal_ori = self.position, self.rotation

    def read(self) -> dict[str, Vector]:
        """What the controller and the gripper remember: `goal_pos`, `goal_ori`, `initial_joint`, `ramp` (1,)."""
        return {
            "goal_pos": self.goal_pos,
            "goal_ori": self.goal_ori,
            "initial_joint": self.initial_joint,
            "ramp": np.array([self.ramp]),
        }

    def write(self, arrays: Mapping[str, Vector]) -> None:
        """Put back what `read` returned.

        Raises:
            KeyError, ValueError: for a part that is missing or has another shape; nothing has changed then.
        """
        goals = arrays["goal_pos"].reshape(3), arrays["goal_ori"].reshape(3, 3), arrays["initial_joint"].reshape(7)
        (ramp,) = arrays["ramp"].tolist()
        self.goal_pos, self.goal_ori, self.initial_joint = goals
        self.ramp = ramp

    def step(self, action: Sequence[float]) -> None:
        """One control step of 50 ms.

        Args:
            action: seven numbers in [-1, 1]: three of +-5 cm, three of +-0.5 rad (axis-angle, world
                frame), and the gripper (its sign counts; positive closes).

        Raises:
            InfrastructureError: if the simulation diverges.
        """
        self._set_goal(np.asarray(action[:6], float))
        close = math.copysign(1.0, action[6]) if action[6] else 0.0
        for _ in range(self._substeps):
            np.minimum(np.maximum(self._torques(), self._torque_low), self._torque_high, out=self._arm_ctrl)
            self.ramp = min(1.0, max(-1.0, self.ramp + GRIPPER_RAMP * close))
            self._grip_ctrl[:] = self._grip_mid + self._grip_half * self.ramp
            mujoco.mj_step2(self._model, self._data)
            mujoco.mj_step1(self._model, self._data)
        self._check_stable()

    def _set_goal(self, delta: Vector) -> None:
        scaled = np.clip(delta, -1.0, 1.0) * self._scale
        self.goal_pos = self.position + scaled[:3]
        if scaled[3:].any():
            angle = float(np.linalg.norm(scaled[3:]))
            quat, turn = np.empty(4), np.empty(9)
            mujoco.mju_axisAngle2Quat(quat, scaled[3:] / angle, angle)
            mujoco.mju_quat2Mat(turn, quat)
            self.goal_ori = turn.reshape(3, 3) @ self.rotation

    def _torques(self) -> Vector:
        """Operational-space control with decoupled position and orientation (Khatib 1987), (7,) N m."""
        self._update_jacobian()
        mujoco.mj_fullM(self._model, self._mass, self._data.qM)
        jacobian, mass, speed = self._arm_jacobian, self._arm_mass, self._speeds
        force = np.concatenate([self.goal_pos - self._site_pos, self._orientation_error()]) * self._kp
        force -= self._kd * (jacobian @ speed)
        inertia_inv = jacobian @ _solve(mass, jacobian.T)
        wrench = np.concatenate([_solve(inertia_inv[:3, :3], force[:3]), _solve(inertia_inv[3:, 3:], force[3:])])
        # Null space: N^T M y = M y - J^T L (J y), with L the inverse of `inertia_inv`.
        posture = NULLSPACE_KP * (self.initial_joint - self._joints) - 2 * math.sqrt(NULLSPACE_KP) * speed
        wrench -= _solve(inertia_inv, jacobian @ posture)
        return np.asarray(jacobian.T @ wrench + mass @ posture + self._bias)

    def _orientation_error(self) -> Vector:
        """Half the sum of the cross products of the columns: now x goal, (3,)."""
        # The antisymmetric part of goal now^T, which is that sum; np.cross costs 20 times as much.
        m = (self.goal_ori @ self._site_mat.T).tolist()
        return 0.5 * np.array((m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]))


def _solve(spd: Vector, right: Vector) -> Vector:
    """X with spd x = right; LAPACK called directly, because numpy's wrapper costs more than the solving."""
    _, x, singular = dposv(spd, right)
    return np.asarray(np.linalg.pinv(spd) @ right if singular else x)


def axis_angle(quat: Vector) -> Vector:
    """A quaternion (w, x, y, z) as an axis times an angle, (3,) rad, the angle being 2 acos(w).

    It is not folded to the antipodal quaternion: policies trained on LIBERO were fed this form, and
    folding it costs one of them 14 to 40 points of success (reported by the authors of vla-eval).
    """
    w = max(-1.0, min(1.0, float(quat[0])))
    sine = math.sqrt(1.0 - w * w)
    if sine < 1e-9:
        return np.zeros(3)
    return np.asarray(quat[1:] * (2.0 * math.acos(w) / sine))
