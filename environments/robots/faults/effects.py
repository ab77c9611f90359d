"""What each fault does: to what the policy decides, to what reaches the motors, to the world, and to what is perceived.

An effect keeps what it must remember in `Running.memory`, as JSON values: they travel in snapshots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from environments.robots._robosuite import mujoco
from environments.robots.faults.fault import Fault
from environments.robots.faults.senses import Percept
from environments.robots.motion import GAIN
from environments.robots.world import MOVE_M, OPEN, TURN_RAD, Arm, Vector, World

HISTORY = 10
"""Actions that a looping policy repeats."""
_PIXEL_NOISE = 1500.0
"""Brightness steps of picture noise for a metre of noise in the poses: 30 steps for 2 cm."""


@dataclass(slots=True)
class Scene:
    """Whatever a fault may lay hands on."""

    world: World
    arm: Arm
    focus: Callable[[], tuple[str | None, str | None]]
    """The object that the present sub-goal is about, and the place that it should go to."""


@dataclass(slots=True)
class Running:
    """A fault in an episode: how far its wait, or its course, has come."""

    fault: Fault
    seed: int
    """Of the episode."""
    threshold: int
    """Control steps in a row that its stage has to last."""
    count: int = 0
    left: int = 0
    """Control steps for which it still acts."""
    onset: int | None = None
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        """Whether it acts on the next step."""
        return self.left > 0

    def rng(self, *more: int) -> np.random.Generator:
        """Chance of its own: of episode, fault and whatever else is named."""
        return np.random.default_rng([self.seed, self.fault.seed, *more])


# -- onset: what is decided once, and what is done to the world -------------------------------------------------------


def begin(run: Running, scene: Scene) -> None:
    """Draw directions, note whom it is about, and move what is moved."""
    (thing, place), kind = scene.focus(), run.fault.kind
    size = _UNSEEN_M[run.fault.severity] if kind == "stale-view" else run.fault.size
    angle = run.rng(1).uniform(0.0, 2 * np.pi)
    offset = np.array([np.cos(angle), np.sin(angle), 0.0]) * size
    run.memory.update(thing=thing, place=place, offset=offset.tolist())
    if kind in ("wrong-object", "wrong-target"):
        run.memory["other"] = _nearest_other(scene.world, thing, place)
    elif kind == "stale-view":
        seen = dict.fromkeys((*scene.world.objects, *([thing] if thing else [])))  # a drawer is no object
        run.memory["poses"] = {name: _pose(scene.world, name) for name in seen}
    elif kind == "collision":
        run.memory["body"] = _struck(scene.world, thing)
    if kind in ("object-moved", "stale-view") and thing is not None:
        displace(scene.world, thing, offset)


_UNSEEN_M = (0.003, 0.04, 0.06, 0.08)
"""By severity, how far the object moves when the view goes stale: a stale view of what stays put does no harm."""


def end(run: Running, scene: Scene) -> None:
    """Take back what would otherwise stay."""
    if run.fault.kind == "collision":
        scene.world.mj_data.xfrc_applied[run.memory["body"]] = 0.0


# -- every step --------------------------------------------------------------------------------------------------------


def decided(run: Running, action: list[float], history: list[list[float]]) -> list[float]:
    """What the policy decides under a fault of planning.

    Args:
        run: the fault, active.
        action: what it would have decided.
        history: its last decisions, oldest first.
    """
    match run.fault.kind:
        case "premature-stop":
            return [0.0] * 6 + [action[6]]
        case "loop":
            looped = run.memory.setdefault("loop", [list(past) for past in history] or [action])
            at = run.memory["at"] = (run.memory.get("at", -1) + 1) % len(looped)
            return list(looped[at])
        case "swapped-steps":
            return [*action[:6], OPEN]
        case _:
            return action


def carried_out(run: Running, action: list[float], scene: Scene) -> list[float]:
    """What reaches the motors under a fault of control, or under one that is felt as such."""
    match run.fault.kind:
        case "translation-bias":
            # A policy that asks for GAIN times its error, as the scripted ones do, ends this far beside its goal.
            return _added(action, 0, GAIN * np.array(run.memory["offset"]) / MOVE_M)
        case "rotation-bias":
            side = 1.0 if run.memory["offset"][0] >= 0 else -1.0
            return _added(action, 3, np.array([0.0, 0.0, side * GAIN * run.fault.size / TURN_RAD]))
        case "grasp-miss" | "gripper-opens-mid-carry" | "false-grasp":
            return [*action[:6], OPEN]
        case "gripper-timing":
            return [*action[:6], float(_delayed(run, action[6], OPEN))]
        case "stuck":
            return [0.0] * 6 + [action[6]]
        case "delay":
            return list(_delayed(run, action, [0.0] * 6 + [action[6]]))
        case "collision":
            scene.world.mj_data.xfrc_applied[run.memory["body"]][:3] = run.memory["offset"]
            return action
        case _:
            return action


def perceived(run: Running, percept: Percept, step: int) -> None:
    """Add what a fault of perception, or of planning that amounts to it, puts between world and policy."""
    thing, place, offset = run.memory["thing"], run.memory["place"], np.array(run.memory["offset"])
    match run.fault.kind:
        case "wrong-object" if thing is not None and run.memory["other"] is not None:
            percept.instead[thing] = percept.said_instead[thing] = run.memory["other"]
        case "pose-bias" if thing is not None:
            percept.shift_m[thing] = percept.shift_m.get(thing, 0.0) + offset
            percept.camera_shift_m = -offset
        case "stale-view":
            percept.frozen.update(run.memory["poses"])
            percept.blocked = True
        case "noisy-view" if thing is not None:
            grain = run.rng(2, step).normal(0.0, run.fault.size, 3) * (1.0, 1.0, 0.0)
            percept.shift_m[thing] = percept.shift_m.get(thing, 0.0) + grain
            percept.noise = max(percept.noise, _PIXEL_NOISE * run.fault.size)
        case "proprio-bias":
            percept.arm_shift_m = offset
        case "false-grasp" if thing is not None:
            percept.held.add(thing)
        case "wrong-target" if place is not None:
            percept.shift_m[place] = percept.shift_m.get(place, 0.0) + offset
            if run.memory["other"] is not None and run.fault.severity > 0:
                percept.said_instead[place] = run.memory["other"]
        case "skipped-step" if thing is not None:
            percept.at_hand.add(thing)
        case _:
            pass


# -- helpers -----------------------------------------------------------------------------------------------------------


def displace(world: World, name: str, offset: Vector) -> None:
    """Move a free object by `offset`, (3,) m, at once; what it holds or is held by stays where it is.

    A drawer, door or knob is moved along its joint instead, by as many metres or radians, away from the nearer end.
    """
    if name in world.objects:
        _, at = _free_joint(world, name)
        world.mj_data.qpos[at : at + 3] += offset
    else:
        joint, now, low, high = _part(world, name)
        size = float(np.linalg.norm(offset)) * (1.0 if now - low < high - now else -1.0)
        world.mj_data.qpos[world.mj_model.jnt_qposadr[joint]] = np.clip(now + size, low, high)
    mujoco.mj_step1(world.mj_model, world.mj_data)


def _free_joint(world: World, name: str) -> tuple[int, int]:
    """A free object's joint, and where its position stands in `qpos`."""
    model, data = world.mj_model, world.mj_data
    for joint in range(model.njnt):
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            at = int(model.jnt_qposadr[joint])
            # A free body's frame is its joint's position, to the bit: so the scene need not tell its joints.
            if (data.qpos[at : at + 3] == world.position(name)).all():
                return joint, at
    raise ValueError(f"{name} is no free object of this scene: {', '.join(world.objects)}")


def _part(world: World, name: str) -> tuple[int, float, float, float]:
    """The joint of a drawer, door or knob: its number, position, lowest and highest, m or rad."""
    (joint, (now, low, high)), *_ = world.joints(name).items()
    return int(world.mj_model.joint(joint).id), now, low, high


def _nearest_other(world: World, thing: str | None, place: str | None) -> str | None:
    """The object beside `thing` and `place` that is nearest to `thing`."""
    others = [name for name in world.objects if name not in (thing, place)]
    if thing is None or not others:
        return None
    here = world.position(thing)
    return min(others, key=lambda name: (float(np.linalg.norm(world.position(name) - here)), name))


def _pose(world: World, name: str) -> list[list[float]]:
    return [world.position(name).tolist(), *np.asarray(world.rotation(name)).tolist()]


def _added(action: list[float], at: int, bias: Vector) -> list[float]:
    changed = np.array(action, float)
    changed[at : at + 3] = np.clip(changed[at : at + 3] + bias, -1.0, 1.0)
    return [float(value) for value in changed]


def _delayed(run: Running, value: Any, before: Any) -> Any:
    """What was given `size` steps ago, or `before` until then."""
    queue: list[Any] = run.memory.setdefault("queue", [])
    queue.append(value)
    return queue.pop(0) if len(queue) > round(run.fault.size) else before


def _struck(world: World, thing: str | None) -> int:
    """The body that is struck: the object or moving part, or the hand where the fault is about none."""
    if thing is None:
        return int(world.mj_model.body("robot0_right_hand").id)
    joint = _free_joint(world, thing)[0] if thing in world.objects else _part(world, thing)[0]
    return int(world.mj_model.jnt_bodyid[joint])
