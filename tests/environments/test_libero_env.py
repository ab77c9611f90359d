"""LIBERO's tasks keep the environment contract: exact rollback, published episodes, lazy pictures, clear refusals."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import environments
from environments.errors import InvalidSnapshot, NoExpert
from environments.robots.libero import loading
from environments.robots.libero.tasks import variant
from environments.task import NO_EXPERT

pytestmark = pytest.mark.shared

STOVE = "libero/goal/7-v1"
DRAWER = "libero/10/3-v1"

ELSEWHERE = """
import json, sys
import environments
job = json.load(sys.stdin)
env = environments.make(job["task"], "native")
found = []
for blob, actions in job["snapshots"]:
    env.restore(bytes.fromhex(blob))
    for action in actions:
        env.step(action)
    found.append([env.state_hash(), env.score()])
assert "OpenGL" not in sys.modules, "physics alone must not load OpenGL"
print(json.dumps(found))
"""


@pytest.fixture(scope="module", autouse=True)
def benchmark() -> None:
    if not os.environ.get(loading.ASSETS):
        pytest.skip(f"{loading.ASSETS} names no folder with the assets of the LIBERO benchmark")
    if loading.problems():
        pytest.skip("; ".join(loading.problems()))


@pytest.fixture(scope="module")
def drawer() -> Iterator[Any]:
    made = environments.make(DRAWER, "native")
    yield made
    made.close()


@pytest.fixture(scope="module")
def stove() -> Iterator[Any]:
    made = environments.make(STOVE, "native")
    yield made
    made.close()


def reach(env: Any, thing: str) -> list[float]:
    """An action towards a thing, with the hand closing once it is there."""
    from environments.robots import motion

    target = env.world.position(thing)
    far = float(np.linalg.norm((env.arm.position - target)[:2])) > 0.03
    close = not far and env.arm.position[2] - target[2] < 0.03
    goal = target + np.array([0, 0, 0.12 if far else 0.0])
    return motion.native(env.arm, motion.Aim("reach", goal, 0.0, 1.0 if close else -1.0))


def test_snapshots_are_exact_here_after_resets_and_in_another_process(drawer: Any) -> None:
    """Twelve points of an episode that grasps the bowl's rim; replayed after a soft and after a hard reset."""
    drawer.reset(seed=4)
    snapshots, actions, hashes, scores = [], [], [], []
    for _ in range(60):
        snapshots.append(drawer.snapshot())
        actions.append(reach(drawer, "akita_black_bowl_1"))
        drawer.step(actions[-1])
        hashes.append(drawer.state_hash())
        scores.append(drawer.score())
    assert max(map(len, snapshots)) <= 8_000
    points, ahead = range(0, 55, 5), 5
    assert len(points) >= 10

    def replay(env: Any, at: int) -> None:
        env.restore(snapshots[at])
        assert env.snapshot() == snapshots[at]
        for step in range(at, at + ahead):
            env.step(actions[step])
            assert env.state_hash() == hashes[step], (at, step)

    for at in points:
        replay(drawer, at)
    drawer.reset(seed=9)
    replay(drawer, points[-1])
    fresh = environments.make(DRAWER, "native")  # no reset before it: the hardest one
    replay(fresh, points[5])
    fresh.close()
    job = {"task": DRAWER, "snapshots": [(snapshots[at].hex(), actions[at : at + ahead]) for at in points]}
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=json.dumps(job), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = [[hashes[at + ahead - 1], scores[at + ahead - 1]] for at in points]
    assert json.loads(done.stdout.splitlines()[-1]) == expected


def test_an_episode_begins_from_its_published_state_whatever_came_before(drawer: Any) -> None:
    drawer.reset(seed=7)
    first = drawer.snapshot()
    drawer.step([0.5, -0.5, -1, 0.2, 0, 0.4, 1])
    drawer.reset(seed=31)
    assert drawer.snapshot() != first
    drawer.reset(seed=7)
    assert drawer.snapshot() == first
    seventh = drawer.world.mj_data.qpos.copy()
    drawer.reset(seed=57)  # 50 states: the same world, another episode
    assert np.array_equal(drawer.world.mj_data.qpos, seventh)
    drawer.reset(seed=7, options={"init_state": 8})
    assert not np.array_equal(drawer.world.mj_data.qpos, seventh)


def test_resets_restore_fixtures_and_leave_the_global_generator_alone(drawer: Any) -> None:
    drawer.reset(seed=0)
    cabinet = drawer.world.position("white_cabinet_1")
    drawer.world.mj_model.body_pos[drawer.world.body("white_cabinet_1")] += 0.3
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    drawer.reset(seed=0)
    drawer.step([0.1] * 7)
    assert np.array_equal(np.random.get_state()[1], before)
    assert np.array_equal(drawer.world.position("white_cabinet_1"), cabinet)
    drawer.reset(seed=1)
    assert not np.array_equal(drawer.world.position("white_cabinet_1"), cabinet), "each episode draws its own"


def test_the_goal_is_the_benchmarks_and_a_rollback_undoes_it(stove: Any) -> None:
    """The knob is turned by hand: the predicate holds, the burner glows, and going back takes both away."""
    stove.reset(seed=0)
    off = stove.snapshot()
    joint = stove.world.mj_model.joint(next(iter(stove.world.joints("flat_stove_1"))))
    burner = int(stove.world.indicators[0])
    assert stove.world.mj_model.site_rgba[burner, 3] <= 0
    stove.world.mj_data.qpos[joint.qposadr[0]] = 1.0
    stove.world.forward()
    *_, terminated, _, _ = stove.step([0.0] * 6 + [-1.0])
    assert terminated and stove.success() and stove.score() == 100
    assert stove.world.problem._check_success()
    assert "goal" in stove.milestones()
    assert stove.world.mj_model.site_rgba[burner, 3] > 0
    on = stove.snapshot()
    stove.restore(off)
    assert not stove.success() and stove.world.mj_model.site_rgba[burner, 3] <= 0
    assert not stove.world.problem.get_object("flat_stove_1").object_properties["vis_site_names"]["burner"][1]
    stove.restore(on)
    assert stove.success() and stove.world.mj_model.site_rgba[burner, 3] > 0


@pytest.mark.gl
def test_pictures_are_lazy_follow_a_rollback_and_are_mirrored_on_demand(stove: Any) -> None:
    from environments.robots import rendering

    rendering.backend()
    stove.reset(seed=2)
    snap = stove.snapshot()
    first = stove.restore(snap)
    assert not first.rendered("agentview")
    picture = first["agentview"].copy()
    assert picture.shape == (256, 256, 3)
    stove.step([1.0, 0, 0, 0, 0, 0, 1.0])
    assert not np.array_equal(stove.render(), picture)
    assert np.array_equal(stove.restore(snap)["agentview"], picture)
    published: Any = variant(STOVE, orientation="published").make("native")
    published.reset(seed=2)
    assert np.array_equal(published.render(), picture[:, ::-1])
    published.close()


def test_skills_move_the_hand_and_refuse_to_leave_the_workspace() -> None:
    env: Any = environments.make(STOVE, "semantic")
    env.reset(seed=0)
    start = env.arm.position
    *_, info = env.step({"skill": "move", "dx_cm": 5, "dy_cm": -4, "dz_cm": -3})
    assert info["illegal"] is None
    assert np.allclose(env.arm.position - start, [0.05, -0.04, -0.03], atol=0.006)
    for _ in range(4):
        *_, info = env.step({"skill": "move", "dz_cm": 15})
    assert "out of workspace: z" in info["illegal"]
    env.close()


def test_privileged_geometry_is_that_of_the_scene(drawer: Any) -> None:
    drawer.reset(seed=0)
    world = drawer.world
    assert {"akita_black_bowl_1", "wine_bottle_1"} == set(world.objects)
    assert {"white_cabinet_1", "wine_rack_1"} <= set(world.fixtures)
    low, high = world.bounds("akita_black_bowl_1")
    assert ((high - low) > 0.03).all() and ((high - low) < 0.25).all()
    (position, lowest, highest), *_ = world.joints("white_cabinet_1_bottom_region").values()
    assert lowest <= position <= highest and position < -0.1, "it is open at the start"
    assert not world.touching("left_finger", "akita_black_bowl_1")
    with pytest.raises(LookupError, match="has no 'teapot'"):
        world.position("teapot")


def test_what_cannot_be_done_is_said(drawer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    untaught = dataclasses.replace(drawer.task, tags=(*drawer.task.tags, NO_EXPERT))
    with monkeypatch.context() as patch, pytest.raises(NoExpert):
        patch.setattr(drawer, "task", untaught)
        drawer.expert_action()
    with pytest.raises(ValueError, match="init_state is 50, expected a whole number from 0 to 49"):
        drawer.reset(options={"init_state": 50})
    with pytest.raises(ValueError, match="convention is 'mine', expected one of 'openpi', 'openvla', 'lerobot'"):
        from environments.robots.libero.env import LiberoEnv

        LiberoEnv(drawer.task, drawer.space, suite="10", number=3, convention="mine")  # type: ignore[arg-type]
    drawer.reset(seed=0)
    with pytest.raises(InvalidSnapshot):
        drawer.restore(drawer.snapshot()[:-8])


def test_faults_reach_the_arm(drawer: Any) -> None:
    drawer.reset(seed=0, options={"fault": {"stage": "reach", "after_steps": 2}})
    for _ in range(4):
        drawer.step([0.0] * 6 + [1.0])
    assert drawer.fault_truth()["onset_step"] == 1
    assert drawer.telemetry()["gripper_command"] == 1.0


@pytest.mark.gl
def test_a_shifted_camera_and_a_wrong_noun_reach_the_policy_alone(stove: Any) -> None:
    """What a policy is shown under a fault differs; what is recorded does not."""
    stove.reset(seed=1)
    straight = stove.render()
    beside = stove._picture_from_beside("agentview", np.array([0.0, 0.03, 0.0]))
    assert not np.array_equal(straight, beside)
    assert np.array_equal(straight, stove.render()), "the camera is back"
    assert stove.focus() == ("flat_stove_1", None), "a knob goes nowhere"
    assert stove.called("flat_stove_1") == "stove"
