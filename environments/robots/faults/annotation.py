"""What came of a fault: when it showed, from when on nothing helped, how far things were off, what would have helped.

All of it is measured against the clean twin: the same task, seed and policy without the fault. The engine is
deterministic, so the two are equal bit for bit until the onset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from environments.robots import motion
from environments.robots.faults.fault import Fault
from environments.robots.robot_env import RobotEnv
from environments.robots.world import Vector

SUSTAINED = 5
"""Control steps for which a stage must differ from the clean twin's before the fault has shown: a step early or late is
nothing."""


class Policy(Protocol):
    """Drives the environment that it was made for, natively."""

    def reset(self) -> None:
        """Form its beliefs anew from what it perceives now."""

    def act(self) -> list[float]:
        """The next action, seven numbers."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """The truth about one faulted episode; steps are control steps from 0."""

    succeeds_clean: bool
    succeeds: bool
    """With the fault."""
    onset_step: int | None
    """Where it began; None if its stage never came."""
    manifest_step: int | None
    """First step of a stage that is not the clean twin's, and stays so; None if it never shows."""
    no_return_step: int | None
    """The last step from whose beginning the policy, looking afresh and without the fault, still succeeds in time."""
    entity: str | None
    """What is off most when the fault shows: an object's name, or `hand`."""
    dxyz_m: tuple[float, float, float] | None
    """There and then: where it is minus where the clean twin has it, world frame."""
    drot_rad: tuple[float, float, float] | None
    """The same for its orientation, axis times angle."""
    repair: str | None
    """The least that helps: `none`, `regrasp` (look afresh when it shows), `retry` (go back to before the onset) or
    `reset`; None if nothing does."""

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Course:
    """One episode as it went; the i-th of each list is from just before control step i."""

    success: bool
    stages: list[str]
    poses: list[dict[str, tuple[Vector, Vector]]]
    """Of every object and the `hand`: position (3,) in metres and rotation (3, 3), world frame."""
    snapshots: list[bytes]
    """Empty unless they were to be kept; one more than there are steps, the last of how it ended."""
    truth: dict[str, Any] | None
    """What the engine says of the fault at the end (`fault_truth`)."""


def annotate(env: RobotEnv, policy: Policy, seed: int, fault: Fault, horizon: int) -> Annotation:
    """Play the clean twin and the faulted episode, and search for the point of no return.

    Args:
        env: behind its native space.
        policy: drives `env`.
        seed: of the episode.
        fault: one.
        horizon: control steps of an episode at most.
    """
    clean = play(env, policy, seed, None, horizon)
    course = play(env, policy, seed, fault, horizon, keep=True)
    return compare(env, policy, clean, course, horizon)


def compare(env: RobotEnv, policy: Policy, clean: Course, course: Course, horizon: int) -> Annotation:
    """What came of a fault: `annotate`, for two episodes that have been played already.

    Args:
        env: in which both were played; the faulted one last.
        policy: drives `env`.
        clean: the twin without the fault.
        course: with the fault, its snapshots kept.
        horizon: control steps of an episode at most.
    """
    truth = course.truth or {}
    onset = truth.get("onset_step")
    manifest = None if onset is None else _manifest(clean.stages, course.stages, onset)
    entity, dxyz, drot = _deviation(clean, course, manifest, truth.get("entity"))

    def saved(step: int) -> bool:
        return _succeeds_from(env, policy, course.snapshots[step], horizon - step)

    no_return = None
    if onset is not None and not course.success:
        no_return = _last(saved, onset, len(course.stages) - 1)
    return Annotation(
        succeeds_clean=clean.success,
        succeeds=course.success,
        onset_step=onset,
        manifest_step=manifest,
        no_return_step=no_return,
        entity=entity,
        dxyz_m=dxyz,
        drot_rad=drot,
        repair=_repair(course, clean, onset, manifest, saved),
    )


def play(
    env: RobotEnv,
    policy: Policy,
    seed: int,
    fault: Fault | None,
    horizon: int,
    *,
    keep: bool = False,
    watch: Callable[[list[float]], None] | None = None,
) -> Course:
    """Play one episode.

    Args:
        env: behind its native space.
        policy: drives `env`.
        seed: of the episode.
        fault: injected, or None.
        horizon: control steps at most.
        keep: whether to keep a snapshot of every step, which `compare` needs of the faulted episode.
        watch: called after every step with the action that the policy chose.
    """
    env.reset(seed=seed, options={"fault": fault} if fault else None)
    policy.reset()
    course = Course(False, [], [], [], None)
    for _ in range(horizon):
        course.stages.append(env.stage())
        course.poses.append(_poses(env))
        if keep:
            course.snapshots.append(env.snapshot())
        action = policy.act()
        course.success = bool(env.step(action)[2])
        if watch is not None:
            watch(action)
        if course.success:
            break
    if keep:
        course.snapshots.append(env.snapshot())
    course.truth = env.fault_truth()
    return course


def _succeeds_from(env: RobotEnv, policy: Policy, snapshot: bytes, steps: int) -> bool:
    """Whether the policy, looking afresh and without any fault, succeeds in so many steps."""
    env.restore(snapshot)
    env.inject(None)
    policy.reset()
    return any(env.step(policy.act())[2] for _ in range(steps))


def _poses(env: RobotEnv) -> dict[str, tuple[Vector, Vector]]:
    poses = {name: (env.world.position(name), np.array(env.world.rotation(name))) for name in env.world.objects}
    return {**poses, "hand": (env.arm.position, np.array(env.arm.rotation))}


def _manifest(clean: list[str], course: list[str], onset: int) -> int | None:
    ended = len(clean)
    differs = [step >= ended or stage != clean[step] for step, stage in enumerate(course)]
    for step in range(onset, len(course)):
        if all(differs[step : step + SUSTAINED]):
            return step
    return None


def _deviation(
    clean: Course, course: Course, step: int | None, about: str | None
) -> tuple[str | None, tuple[float, float, float] | None, tuple[float, float, float] | None]:
    """Of the hand, or of the object that the fault is about: whichever is further off."""
    if step is None:
        return None, None, None
    twin = clean.poses[min(step, len(clean.poses) - 1)]
    names = [name for name in (about, "hand") if name in twin]
    off = {name: course.poses[step][name][0] - twin[name][0] for name in names}
    entity = max(names, key=lambda name: float(np.linalg.norm(off[name])))
    return entity, _three(off[entity]), _three(motion.turn_to(twin[entity][1], course.poses[step][entity][1]))


def _three(vector: Vector) -> tuple[float, float, float]:
    x, y, z = (round(float(value), 6) for value in vector)
    return x, y, z


def _last(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """The last step that holds, if the first ones do and the later ones do not; None if not even `low` does."""
    if not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _repair(
    course: Course, clean: Course, onset: int | None, manifest: int | None, saved: Callable[[int], bool]
) -> str | None:
    if course.success:
        return "none"
    if manifest is not None and manifest < len(course.stages) and saved(manifest):
        return "regrasp"
    if onset is not None and saved(max(0, onset - 1)):
        return "retry"
    return "reset" if clean.success else None
