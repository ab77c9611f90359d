"""The arm of LIBERO, bit for bit as the benchmark's own `env.step` drives it, in a fraction of its time.

The benchmark evaluates the whole dynamics three times per 2 ms substep, looks everything up by name and
updates its observables each time. What decides the bits is less: positions and velocities once, the
constraint solver three times (each run moves the warm start of the next), robosuite's controller
arithmetic on arrays of the same values, shapes and memory order, and MuJoCo's second half of a step.

Three things of the benchmark that a policy notices are kept:

- The first torque after a reset comes from the pose at reset, not from the initial state that was set
  since: the controller thinks that it is up to date.
- The orientation goal is the one at reset until an action has a rotation that is not zero.
- An observation is sampled inside a control step, by a timer that `reset` and `set_init_state` have
  shifted by one tick each: it is the 24th substep's (poses from before its integration, finger joints
  from after it), which is 2 to 4 ms old at the end of the step.

Invariant: outside `step`, `mj_step1` has been called on the present state, so whoever reads poses or
contacts reads those of this very moment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from environments.errors import InfrastructureError
from environments.robots._robosuite import mujoco
from environments.robots.libero.conventions import SETTLE_ACTION, SETTLE_STEPS
from environments.robots.libero.world import LiberoWorld
from environments.robots.panda import PandaReadings
from environments.robots.world import CONTROL_HZ, Vector

SUBSTEPS = 25
GRIPPER_SPEED = 0.01
"""Change of the gripper command per substep: a full stroke takes eight control steps (robosuite's Panda gripper)."""


@dataclass(slots=True)
class Sample:
    """What the benchmark's observables held when they were last sampled."""

    state: Vector
    """(8,): position of the grip site (m), axis-angle of the hand (rad, not folded), the finger joints (m)."""
    qpos: Vector
    """(nq,): joint positions that the pictures of this sample show."""
    indicators: Vector
    """(k,): opacity of the sites that tell a state."""


class SampleTimer:
    """robosuite's observable timer at 20 Hz, tick by tick of 2 ms, with its own rounding."""

    PERIOD_S, TICK_S = 1.0 / CONTROL_HZ, 0.002

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self.sampled = False

    def reset(self) -> None:
        """As at the benchmark's `reset` and `set_init_state`: the timer is new, and two updates were forced."""
        self.elapsed_s, self.sampled = 0.0, False
        for _ in range(2):
            self.tick(force=True)

    def tick(self, *, force: bool = False) -> bool:
        """Let 2 ms pass; whether the observables are sampled now."""
        self.elapsed_s += self.TICK_S
        due = force or (not self.sampled and self.elapsed_s <= self.PERIOD_S)
        self.sampled = self.sampled or due
        if self.elapsed_s >= self.PERIOD_S:
            due = due or not self.sampled
            self.elapsed_s %= self.PERIOD_S
            self.sampled = False
        return due


class LiberoArm(PandaReadings):
    """Drives the Panda of a `LiberoWorld` with 7-D actions.

    Its state, beyond MuJoCo's: `goal_pos` (3,), `goal_ori` (3, 3), `initial_joint` (7,), the command of
    the two fingers `grip` (2,), and what was `sampled` last, with the timer that decides when.
    """

    def __init__(self, world: LiberoWorld) -> None:
        from robosuite.utils import control_utils, transform_utils

        self._opspace = control_utils.opspace_matrices
        self._orientation_error = control_utils.orientation_error
        self._nullspace = control_utils.nullspace_torques
        self._goal_orientation = control_utils.set_goal_orientation
        self._axis_angle = transform_utils.quat2axisangle
        super().__init__(world.mj_model, world.mj_data, world.robot)
        self.world = world
        ranges = self._model.actuator_ctrlrange[7:9]
        self._grip_mid, self._grip_half = 0.5 * (ranges[:, 1] + ranges[:, 0]), 0.5 * (ranges[:, 1] - ranges[:, 0])
        self.timer = SampleTimer()
        self.begin()

    # --- what others read ----------------------------------------------------------------------------------------

    @property
    def hand_axis_angle(self) -> Vector:
        """Orientation of the hand's body as LIBERO reports it, (3,) rad: axis times 2 acos(w), not folded."""
        w, x, y, z = self._hand_quat
        return np.asarray(self._axis_angle(np.array([x, y, z, w])))

    @property
    def velocity(self) -> Vector:
        """Linear velocity of the grip site, (3,) m/s."""
        self._update_jacobian()
        return np.asarray(self._jacobian[:3] @ self._data.qvel)

    @property
    def ramp(self) -> float:
        """The gripper command now, -1 open to 1 closed."""
        return float(self.grip[1])

    # --- the episode ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take over from the benchmark, after `LiberoWorld.start`: its controller's goals and what it has cached."""
        controller = self.world.robot.controller
        if controller.impedance_mode != "fixed" or controller.interpolator_pos is not None:
            raise InfrastructureError("expected robosuite's OSC_POSE with fixed impedance and no interpolation")
        self._kp, self._kd = np.array(controller.kp, float), np.array(controller.kd, float)
        self._in_low, self._in_high = np.array(controller.input_min, float), np.array(controller.input_max, float)
        out_low, out_high = np.array(controller.output_min, float), np.array(controller.output_max, float)
        self._scale = abs(out_high - out_low) / abs(self._in_high - self._in_low)
        self._out_mid, self._in_mid = (out_high + out_low) / 2.0, (self._in_high + self._in_low) / 2.0
        self.goal_pos, self.goal_ori = np.array(controller.goal_pos, float), np.array(controller.goal_ori, float)
        self.initial_joint = np.array(controller.initial_joint, float)
        self.grip: Vector = np.zeros(2)
        self._pos, self._ori = np.array(controller.ee_pos), np.array(controller.ee_ori_mat)
        self._lin, self._ang = np.array(controller.ee_pos_vel), np.array(controller.ee_ori_vel)
        self._q, self._qd = np.array(controller.joint_pos), np.array(controller.joint_vel)
        self._jac_pos, self._jac_ori = np.array(controller.J_pos), np.array(controller.J_ori)
        self._jac_full, self._inertia = np.array(controller.J_full), np.array(controller.mass_matrix)
        self.up_to_date = True
        self.timer.reset()
        self.sampled = self._sample(self._data.qpos)
        self.world.forward()

    def settle(self) -> None:
        """The published ten steps in which the objects come to rest; never after a rollback, for the hand opens."""
        for _ in range(SETTLE_STEPS):
            self.step(SETTLE_ACTION)

    def step(self, action: Sequence[float]) -> None:
        """One control step of 50 ms.

        Args:
            action: seven numbers in [-1, 1]: three of +-5 cm, three of +-0.5 rad (axis-angle, world
                frame), and the gripper (its sign counts; positive closes).

        Raises:
            InfrastructureError: if the simulation diverges.
        """
        model, data = self._model, self._data
        command = np.asarray(action, float)
        ramp = np.array([-1.0, 1.0]) * GRIPPER_SPEED * np.sign(command[6:])
        before = np.empty(model.nq)
        for substep in range(SUBSTEPS):
            mujoco.mj_fwdActuation(model, data)
            mujoco.mj_fwdAcceleration(model, data)
            mujoco.mj_fwdConstraint(model, data)
            if not self.up_to_date:
                mujoco.mj_fwdConstraint(model, data)
                self._update()
            if substep == 0:
                self._set_goal(command[:6])
            torques = self._torques()
            self.grip = np.minimum(np.maximum(self.grip + ramp, -1.0), 1.0)  # np.clip, at a third of its price
            data.ctrl[7:9] = self._grip_mid + self._grip_half * self.grip
            data.ctrl[:7] = np.minimum(np.maximum(torques, self._torque_low), self._torque_high)
            due = self.timer.tick()
            if due:
                before[:] = data.qpos
            mujoco.mj_step2(model, data)
            if due:
                self.sampled = self._sample(before)
            if substep == SUBSTEPS - 1:
                self.world.conclude()  # the benchmark judges the poses of the last substep
            mujoco.mj_step1(model, data)
        self._check_stable()

    def hold(self) -> None:
        """Make the present pose the goal."""
        self.world.forward()
        self.goal_pos, self.goal_ori = self.position, self.rotation

    def read(self) -> dict[str, Vector]:
        """What controller, gripper and observables remember beyond MuJoCo's state."""
        sample, timer = self.sampled, self.timer
        return {
            "goal_pos": self.goal_pos,
            "goal_ori": self.goal_ori,
            "initial_joint": self.initial_joint,
            "grip": self.grip,
            "timer": np.array([timer.elapsed_s, timer.sampled], np.float64),
            "sample_state": sample.state,
            "sample_qpos": sample.qpos,
            "sample_indicators": sample.indicators,
        }

    def write(self, arrays: Mapping[str, Vector]) -> None:
        """Put back what `read` returned.

        Raises:
            KeyError, ValueError: for a part that is missing or has another shape; nothing has changed then.
        """
        goal_pos, goal_ori = arrays["goal_pos"].reshape(3), arrays["goal_ori"].reshape(3, 3)
        joints, grip, timer = arrays["initial_joint"].reshape(7), arrays["grip"].reshape(2), arrays["timer"].reshape(2)
        indicators = arrays["sample_indicators"].reshape(len(self.world.indicators))
        sample = Sample(arrays["sample_state"].reshape(8), arrays["sample_qpos"].reshape(self._model.nq), indicators)
        self.goal_pos, self.goal_ori, self.initial_joint, self.grip = goal_pos, goal_ori, joints, grip
        self.timer.elapsed_s, self.timer.sampled = float(timer[0]), bool(timer[1])
        self.sampled, self.up_to_date = sample, False

    def _sample(self, pictured: Vector) -> Sample:
        state = np.concatenate([self._site_pos, self.hand_axis_angle, self.fingers])
        indicators = np.asarray(self._model.site_rgba[self.world.indicators, 3], np.float64)
        return Sample(state, np.array(pictured), indicators)

    def _update(self) -> None:
        """The controller's view of the arm. Each matrix has robosuite's memory order: a product's bits depend on it."""
        data, jacobian = self._data, self._jacobian
        self._update_jacobian()
        mujoco.mj_fullM(self._model, self._mass, data.qM)
        speeds = data.qvel
        self._pos, self._ori = self._site_pos.copy(), self._site_mat.copy()
        self._lin, self._ang = np.dot(jacobian[:3], speeds), np.dot(jacobian[3:], speeds)
        self._q, self._qd = self._joints.copy(), self._speeds.copy()
        self._jac_pos, self._jac_ori = np.asfortranarray(jacobian[:3, :7]), np.asfortranarray(jacobian[3:, :7])
        self._jac_full, self._inertia = np.asfortranarray(jacobian[:, :7]), np.asfortranarray(self._mass[:7, :7])

    def _set_goal(self, delta: Vector) -> None:
        clipped = np.clip(delta, self._in_low, self._in_high)
        scaled = (clipped - self._in_mid) * self._scale + self._out_mid
        if not all(math.isclose(value, 0.0) for value in scaled[3:]):
            self.goal_ori = self._goal_orientation(scaled[3:], self._ori)
        self.goal_pos = self._pos + scaled[:3]

    def _torques(self) -> NDArray[np.float64]:
        """Operational-space control in the order of robosuite's own arithmetic, (7,) N m."""
        kp, kd = self._kp, self._kd
        force = np.multiply(self.goal_pos - self._pos, kp[:3]) + np.multiply(-self._lin, kd[:3])
        error = self._orientation_error(self.goal_ori, self._ori)
        torque = np.multiply(error, kp[3:]) + np.multiply(-self._ang, kd[3:])
        _, linear, angular, nullspace = self._opspace(self._inertia, self._jac_full, self._jac_pos, self._jac_ori)
        wrench = np.concatenate([np.dot(linear, force), np.dot(angular, torque)])
        torques = np.dot(self._jac_full.T, wrench) + self._bias
        torques += self._nullspace(self._inertia, nullspace, self.initial_joint, self._q, self._qd)
        self.up_to_date = False
        return np.asarray(torques)
