"""What a real robot would know of itself at a step: the one place that knows the telemetry's keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from arena.supervision import Moment

_SENSORS = frozenset({"gripper_width_m", "eef_pos_m", "eef_speed_m_s"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Proprioception just after a step, beside what the policy had commanded in it."""

    step: int
    """Step index, in order of play."""
    closing: bool | None
    """Whether the *policy* commanded the gripper to close (False: to open, None: neither).

    Not what the actuator received: a fault between the two is just what is to be found.
    """
    push: float
    """Length of the commanded translation, in units of the action (1 is 5 cm a step)."""
    width_m: float
    """Measured gap between the finger pads."""
    eef_pos_m: tuple[float, float, float]
    """Measured position of the end effector, world frame."""
    speed_m_s: float
    """Measured speed of the end effector."""
    turn: float = 0.0
    """Length of the commanded rotation, in units of the action (1 is 0.5 rad a step)."""
    command: tuple[float, ...] = ()
    """What the policy commanded, seven numbers, by the robot's own record; empty where there is none."""
    disagreement: float | None = None
    """How far a policy's new chunk is from what its last one foresaw for the same steps; None where no chunk came."""
    subgoal: str | None = None
    """What the engine's sub-goal predicates say; None for a supervisor that did not ask for them."""


def read(moment: Moment) -> Reading | None:
    """The reading of a moment, or None where there is none: no native action, or no such sensors.

    Semantic skills last many control steps, so that a step of theirs has no single gripper command.
    """
    action, sensors = moment.action, moment.telemetry
    if not _is_numbers(action, 7) or not sensors.keys() >= _SENSORS:
        return None
    # A policy that stops, repeats itself or swaps its steps is at odds with the action that it seemed to choose: what
    # counts is what the robot was told.
    command = tuple(float(value) for value in sensors.get("command") or action)
    position = sensors["eef_pos_m"]
    disagreement = moment.notes.get("disagreement")
    return Reading(
        step=moment.index,
        closing=None if command[6] == 0 else command[6] > 0,
        push=math.hypot(*command[:3]),
        turn=math.hypot(*command[3:6]),
        command=command,
        width_m=float(sensors["gripper_width_m"]),
        eef_pos_m=(float(position[0]), float(position[1]), float(position[2])),
        speed_m_s=float(sensors["eef_speed_m_s"]),
        disagreement=None if disagreement is None else float(disagreement),
        subgoal=moment.subgoal,
    )


def _is_numbers(value: Any, length: int) -> bool:
    return isinstance(value, list | tuple) and len(value) == length
