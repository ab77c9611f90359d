"""Against the benchmark's own environment in another process: states, observations and pictures, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from environments.errors import RenderError
from environments.robots.libero import loading
from environments.robots.libero.conventions import SETTLE_ACTION, SETTLE_STEPS
from environments.robots.libero.suites import fact

pytestmark = [pytest.mark.shared, pytest.mark.gl]

TASKS = ["spatial/4", "10/2", "goal/7"]
"""A bowl in a drawer; a stove and a pot; a stove that is turned on, with its lamp."""
SIZE = 64


@pytest.fixture(autouse=True)
def benchmark() -> None:
    if not os.environ.get(loading.ASSETS):
        pytest.skip(f"{loading.ASSETS} names no folder with the assets of the LIBERO benchmark")
    if loading.problems():
        pytest.skip("; ".join(loading.problems()))


def make(task_id: str, **params: Any) -> Any:
    from environments.robots.libero.tasks import variant

    return variant(task_id, **params).make("native")


def played(env: Any, seed: int) -> list[list[float]]:
    """Forty steps that reach for the first thing of the goal and close the hand, then thirty by chance."""
    from environments.robots import motion

    env.reset(seed=seed)
    rng, actions = np.random.default_rng(seed), []
    target = env.world.position(env.progress.parts[0].goal.thing)
    above = np.array([0, 0, 0.1])
    for step in range(70):
        if step < 40:
            aim = motion.Aim("reach", target + above * (step < 18), 0.0, 1.0 if step >= 28 else -1.0)
            action = motion.native(env.arm, aim)
        else:
            action = [float(np.float32(x)) for x in rng.uniform(-1, 1, 7)]
            if step % 5 == 0:
                action[3:6] = [0.0, 0.0, 0.0]  # the orientation goal then stays
        actions.append(action)
        env.step(action)
    return actions


@pytest.mark.parametrize("name", TASKS)
def test_states_observations_and_pictures_are_the_benchmarks_own(name: str, tmp_path: Path) -> None:
    """Two episodes, the third and the first, so that neither order nor a soft reset matters; 80 steps each."""
    from environments.robots import rendering
    from environments.robots._robosuite import mujoco
    from environments.robots.libero.view import View

    try:
        backend, _ = rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))
    suite, number = name.split("/")
    known = fact(suite, int(number))
    env = make(f"libero/{name}-v1", size=SIZE)
    actions = {seed: played(env, seed) for seed in (2, 0)}
    settle = [list(SETTLE_ACTION)] * SETTLE_STEPS
    states = env.world.init_states
    job = {
        "suite": f"libero_{suite}", "name": known.name, "size": SIZE, "seed": 7, "out": str(tmp_path / "out.npz"),
        "episodes": [
            {"init_state": states[0].tolist(), "resets": 1, "actions": settle + actions[0]},
            {"init_state": states[2].tolist(), "resets": 2, "actions": settle + actions[2]},
        ],
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("libero_reference.py"))],
        input=json.dumps(job), capture_output=True, text=True, env={**os.environ, "MUJOCO_GL": backend}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reference = np.load(tmp_path / "out.npz")
    world, arm = env.world, env.arm
    view = View(world, SIZE, "reference", turned=True)
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(world.mj_model, spec))
    for episode, seed in ((1, 2), (0, 0)):  # the other order than the benchmark played them in
        world.start(seed)
        arm.begin()
        assert np.array_equal(world.mj_model.body_pos, reference[f"{episode}.body_pos"]), "fixtures stand elsewhere"
        for step, action in enumerate([None, *settle, *actions[seed]]):
            if action is not None:
                arm.step(action)
            mujoco.mj_getState(world.mj_model, world.mj_data, state, spec)
            assert np.array_equal(state, reference[f"{episode}.states"][step]), (episode, step)
            assert world.success == reference[f"{episode}.goals"][step]
            sample = arm.sampled.state
            assert np.array_equal(sample[:3], reference[f"{episode}.robot0_eef_pos"][step])
            quat = reference[f"{episode}.robot0_eef_quat"][step].copy()
            assert np.array_equal(sample[3:6], arm._axis_angle(quat))
            assert np.array_equal(sample[6:], reference[f"{episode}.robot0_gripper_qpos"][step])
            if step in (0, 1, 10, 11, 40, 60, 80):
                for key, camera in (("agentview", "agentview"), ("wrist", "robot0_eye_in_hand")):
                    raw = reference[f"{episode}.{camera}_image"][step]
                    assert np.array_equal(view.picture(arm.sampled, key), raw[::-1, ::-1]), (episode, step, key)
    view.close()
    env.close()
