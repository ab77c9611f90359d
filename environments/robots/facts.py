"""What is to be seen of a scene in the view from the front: where its things are, and what the gripper does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from environments.facts import Facts, Statement, Thing
from environments.robots import manipulation
from environments.robots._robosuite import mujoco
from environments.robots.world import Vector

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv

OPEN_M, CLOSED_M = 0.07, 0.045
"""The gripper is open from here on, and no longer open up to here; in between nobody asks."""
ABOVE_M, BESIDE_M = 0.02, 0.06
"""The gripper is above a thing from which it is no further than this sideways, and not above one that is further than
this."""
_LEAST_RADIUS = 5
_CAMERA = "agentview"


def scene_facts(env: RobotEnv) -> Facts:
    """Facts of a scene whose main view is the camera `agentview`, upright and not mirrored.

    Objects that are called alike are told in statements, where either makes the answer true, and not as things.
    """
    names = {name: f"the {env.called(name)}" for name in env.world.objects}
    count = Counter(f"the {env.called(name)}" for name in (*env.world.objects, *env.world.fixtures))
    alone = {name: called for name, called in names.items() if count[called] == 1}
    return Facts(things=tuple(_things(env, alone)), statements=tuple(_statements(env, names)))


def _statements(env: RobotEnv, names: Mapping[str, str]) -> Iterator[Statement]:
    world, arm = env.world, env.arm
    width = arm.width_m
    if not CLOSED_M < width < OPEN_M:
        yield Statement("Is the gripper wide open?", ("yes", "no"), "yes" if width >= OPEN_M else "no")
    called = tuple(dict.fromkeys(names.values()))
    holding = [name for name in names if manipulation.held(world, name)]
    if len(holding) < 2:
        held = names[holding[0]] if holding else "nothing"
        yield Statement("What does the gripper hold?", (*called, "nothing"), held)
    hand = arm.position
    aside = {name: float(np.linalg.norm(world.position(name)[:2] - hand[:2])) for name in names}
    below = [name for name in names if aside[name] <= ABOVE_M and world.position(name)[2] < hand[2]]
    others = [gap for name, gap in aside.items() if name not in below]
    if len(below) < 2 and min(others, default=math.inf) >= BESIDE_M:
        above = names[below[0]] if below else "none of them"
        yield Statement("Which of these is the gripper right above, or at?", (*called, "none of them"), above)


def _things(env: RobotEnv, names: Mapping[str, str]) -> Iterator[Thing]:
    """The things whose middle nothing hides from the camera."""
    height, width, _ = env.observation_space[env.main_view].shape or (0, 0, 3)
    model, data = env.world.mj_model, env.world.mj_data
    camera = model.camera(_CAMERA).id
    eye, axes = np.array(data.cam_xpos[camera]), env.camera_axes(env.main_view)
    focal = height / 2 / math.tan(math.radians(float(model.cam_fovy[camera])) / 2)
    for name, called in names.items():
        box = env.world.bounds(name)  # about the origin of the thing, which may lie at its foot
        origin = env.world.position(name)
        middle = origin + env.world.rotation(name) @ box.mean(axis=0)
        right, up, backward = axes.T @ (middle - eye)
        if backward >= 0:  # behind the camera
            continue
        x, y = width / 2 - focal * right / backward, height / 2 + focal * up / backward
        # The middle one of its three half sides: what is tall has its width, and what is flat its breadth.
        half = float(np.median(box[1] - box[0])) / 2
        if 0 <= x < width and 0 <= y < height and _sees(env, eye, middle, origin):
            yield Thing(called, int(x), int(y), max(_LEAST_RADIUS, round(-focal * half / backward)))


def _sees(env: RobotEnv, eye: Vector, middle: Vector, origin: Vector) -> bool:
    """Whether the first surface on the way from the camera to a free thing's middle is the thing's own."""
    model, data = env.world.mj_model, env.world.mj_data
    way = middle - eye
    distance = float(np.linalg.norm(way))
    shapes = np.array([0, 1, 1, 1, 1, 1], np.uint8)  # the pictures leave out group 0, the collision shapes
    geom = np.full(1, -1, np.int32)
    hit = float(mujoco.mj_ray(model, data, eye, way / distance, shapes, 1, -1, geom))
    if hit < 0 or hit >= distance:
        return True
    whole = model.body_rootid[model.geom_bodyid[int(geom[0])]]
    return bool(np.allclose(data.xpos[whole], origin, atol=1e-6))
