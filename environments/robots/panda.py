"""What any Panda in a robosuite model tells of itself; what drives it is the arm's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from environments.errors import InfrastructureError
from environments.robots._robosuite import mujoco
from environments.robots.world import Vector


class PandaReadings:
    """Views of MuJoCo's arrays for one Panda: looking them up anew each time costs as much as the controller.

    Outside a control step `mj_step1` has been called on the present state, so poses are those of this very moment.
    """

    def __init__(self, model: Any, data: Any, robot: Any) -> None:
        """Find the robot's joints, actuators and sites.

        Args:
            model: a `mujoco.MjModel`.
            data: its `mujoco.MjData`.
            robot: robosuite's, whose joints come first in the model.

        Raises:
            InfrastructureError: if they do not.
        """
        if [int(i) for i in robot._ref_joint_vel_indexes] != list(range(7)):
            raise InfrastructureError("expected the Panda's joints to be the model's first seven degrees of freedom")
        if [*robot._ref_joint_actuator_indexes, *robot._ref_joint_gripper_actuator_indexes] != list(range(9)):
            raise InfrastructureError("expected seven joint actuators and then two finger actuators")
        self._model, self._data = model, data
        self._site = int(robot.eef_site_id)
        self._site_pos, self._site_mat = data.site_xpos[self._site], data.site_xmat[self._site].reshape(3, 3)
        self._hand_quat = data.xquat[int(model.body(robot.robot_model.eef_name).id)]
        self._joints, self._speeds, self._bias = data.qpos[:7], data.qvel[:7], data.qfrc_bias[:7]
        self._finger_qpos = np.array([int(i) for i in robot._ref_gripper_joint_pos_indexes])
        self._torque_low, self._torque_high = (np.array(limit) for limit in robot.torque_limits)
        self._jacobian = np.zeros((6, model.nv))
        self._mass = np.zeros((model.nv, model.nv))
        kinds = mujoco.mjtWarning
        self._bad = [int(kind) for kind in (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)]

    @property
    def position(self) -> Vector:
        """Of the grip site between the finger tips, (3,) m, world frame."""
        return np.array(self._site_pos)

    @property
    def rotation(self) -> Vector:
        """Of the grip site, (3, 3), world frame."""
        return np.array(self._site_mat)

    @property
    def fingers(self) -> Vector:
        """The two finger joints, (2,) m, of opposite sign."""
        return np.asarray(self._data.qpos[self._finger_qpos])

    @property
    def width_m(self) -> float:
        """The gap between the finger pads in metres, 0 to 0.08."""
        left, right = self.fingers
        return float(left - right)

    def _update_jacobian(self) -> None:
        mujoco.mj_jacSite(self._model, self._data, self._jacobian[:3], self._jacobian[3:], self._site)

    def _check_stable(self) -> None:
        """Refuse to go on from a state that is none.

        Raises:
            InfrastructureError: if the simulation has diverged.
        """
        if any(self._data.warning[kind].number for kind in self._bad):
            raise InfrastructureError(f"MuJoCo's state diverged at t = {self._data.time:.3f} s")
