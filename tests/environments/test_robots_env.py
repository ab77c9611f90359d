"""The tabletop keeps the environment contract: determinism, exact snapshots, lazy pictures, errors."""

import gc
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import environments
from environments.errors import InvalidAction, InvalidSnapshot, RenderError, UnsupportedSpace

pytest.importorskip(
    "environments.robots._robosuite", reason="robosuite is not installed (pip install 'rewind-arena[robots]')"
)

from environments.robots import control, rendering, scene, snapshot
from environments.robots._robosuite import mujoco
from environments.robots.tabletop import Layout, TabletopWorld

TASK = "tabletop/pick-place-bowl-v1"

ELSEWHERE = """
import json, sys
import environments
job = json.load(sys.stdin)
env = environments.make(job["task"], "native")
hashes = []
if job.get("snapshots"):
    for blob, actions in job["snapshots"]:
        env.restore(bytes.fromhex(blob))
        for action in actions:
            env.step(action)
        hashes.append([env.state_hash(), env.fault_truth(), env.score()])
else:
    env.reset(seed=job["seed"])
    for action in job["actions"]:
        env.step(action)
        hashes.append(env.state_hash())
assert "OpenGL" not in sys.modules, "physics alone must not load OpenGL"
print(json.dumps(hashes))
"""


def present(truth):
    """The truth of the present timeline alone: no snapshot has a fault's first onset in all that was played."""
    return {name: value for name, value in truth.items() if name != "first_onset_step"}


def elsewhere(job):
    """Run a job in a fresh interpreter and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], input=json.dumps({"task": TASK, **job}), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def env():
    made = environments.make(TASK, "native")
    yield made
    made.close()


@pytest.fixture
def gl():
    """Skips where nothing can be rendered, saying what to install."""
    try:
        return rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))


@pytest.mark.gl
@pytest.mark.parametrize("space", ["native", "semantic"])
def test_gymnasiums_checker_accepts_both_spaces(space, gl):
    made = environments.make(TASK, space)
    made.lazy = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The proprioceptive state has no bounds, which the checker only remarks on.
        warnings.filterwarnings("ignore", message=".*(infinity|precision).*")
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(made)
    made.close()


@pytest.mark.gl
def test_pictures_are_upright_and_rendered_only_when_looked_at(gl):
    made = environments.make(TASK, "native")
    observation, _ = made.reset(seed=0)
    made.step([0.0] * 7)
    assert made._camera is None
    observation = made.observe()
    picture = observation["agentview"]
    assert made._camera is not None and not observation.rendered("wrist")
    assert picture.shape == (256, 256, 3) and picture.dtype == np.uint8
    # Upright: the table fills the bottom of the picture, the grey room is at its top.
    bottom, top = picture[-1].mean(axis=0), picture[0, :40].mean(axis=0)
    assert bottom[0] - bottom[2] > 40 and abs(top[0] - top[2]) < 20
    red = (picture[..., 0] > 120) & (picture[..., 1] < 60) & (picture[..., 2] < 60)
    assert 60 < red.sum() < 2_000
    made.close()


@pytest.mark.gl
def test_pictures_do_not_depend_on_what_was_looked_at_before(env, gl):
    env.reset(seed=3)
    snap = env.snapshot()
    first = env.restore(snap)["agentview"].copy()
    env.step([1.0, 0, 0, 0, 0, 0, 1.0])
    env.render()
    assert np.array_equal(env.restore(snap)["agentview"], first)


@pytest.mark.gl
def test_worlds_draw_side_by_side_and_a_forgotten_one_does_no_harm(env, gl):
    """MuJoCo frees graphics buffers by number in the current context: a classic way to blank another world."""
    env.reset(seed=1)
    alone = env.render()
    other = environments.make(TASK, "native")
    other.reset(seed=2)
    assert not np.array_equal(other.render(), alone)
    assert np.array_equal(env.render(), alone)
    del other
    gc.collect()
    assert np.array_equal(env.render(), alone)
    late = rendering.Camera(env.world.mj_model, 256, 256)
    assert np.array_equal(late.render(env.world.mj_data, "agentview"), alone)
    late.close()
    late.close()
    assert np.array_equal(env.render(), alone)


def test_a_back_end_that_cannot_be_loaded_is_an_infrastructure_error(env, monkeypatch):
    monkeypatch.setattr(rendering, "backend", lambda: ("nowhere", "a test"))
    with pytest.raises(RenderError, match="nowhere cannot be loaded"):
        rendering.Camera(env.world.mj_model, 64, 64)


def test_rendering_without_opengl_says_what_to_install(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "off")
    with pytest.raises(RenderError, match="MUJOCO_GL=off"):
        rendering.backend.__wrapped__()
    monkeypatch.delenv("MUJOCO_GL")
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(rendering.ctypes.util, "find_library", lambda name: None)
    with pytest.raises(RenderError, match=r"libEGL is not installed.*libOSMesa.*no display.*apt-get install"):
        rendering.backend.__wrapped__()


def test_observation_follows_liberos_convention(env):
    observation, info = env.reset(seed=1)
    state = observation["state"]
    assert info == {"illegal": None} and observation["instruction"] == "put the red cube in the bowl"
    assert state.shape == (8,) and state.dtype == np.float32
    assert np.allclose(state[:3], env.arm.position)
    assert 3.0 < np.linalg.norm(state[3:6]) < 3.3  # the hand points down: half a turn
    assert state[6] == pytest.approx(0.04, abs=2e-3) and state[7] == pytest.approx(-0.04, abs=2e-3)


def test_axis_angle_is_not_folded_to_the_shorter_way():
    quat = np.array([-0.1, np.sqrt(0.99), 0.0, 0.0])
    assert np.linalg.norm(control.axis_angle(quat)) > np.pi


def test_same_seed_and_actions_give_the_same_states_in_a_fresh_process(env):
    env.reset(seed=5)
    env.action_space.seed(5)
    actions = [[float(x) for x in env.action_space.sample()] for _ in range(15)]
    here = [env.step(action) and env.state_hash() for action in actions]
    assert elsewhere({"seed": 5, "actions": actions}) == here


def test_reset_forgets_the_previous_episode(env):
    env.reset(seed=7)
    fresh = env.snapshot()
    for _ in range(10):
        env.step([0.5, -0.5, -1, 0.2, 0, 0.4, 1])
    env.reset(seed=7)
    assert env.snapshot() == fresh
    env.reset(seed=8)
    assert env.snapshot() != fresh


def test_placement_leaves_the_global_generator_alone(env):
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    env.reset(seed=11)
    env.step(env.expert_action())
    assert np.array_equal(np.random.get_state()[1], before)


def test_snapshots_are_exact_here_and_in_another_process(env):
    """Twelve points of one episode, among them mid-grasp, mid-carry, and before, in and after a fault."""
    env.reset(seed=4, options={"fault": {"repeat": True, "after_steps": 4}})
    snapshots, actions, hashes, truths = [], [], [], []
    for _ in range(66):
        snapshots.append(env.snapshot())
        actions.append(env.expert_action())
        env.step(actions[-1])
        hashes.append(env.state_hash())
        truths.append(present(env.fault_truth()))
    onset = truths[-1]["onset_step"]
    assert onset is not None
    points = sorted({0, 7, 15, 20, 23, 26, 30, onset - 2, onset, onset + 1, onset + 3, onset + 8})
    assert len(points) >= 10
    ahead = 6
    for at in points:
        env.restore(snapshots[at])
        assert env.snapshot() == snapshots[at]
        for step in range(at, at + ahead):
            env.step(actions[step])
            assert env.state_hash() == hashes[step], (at, step)
        assert present(env.fault_truth()) == truths[at + ahead - 1]
    job = {"snapshots": [(snapshots[at].hex(), actions[at : at + ahead]) for at in points]}
    for at, (digest, truth, _) in zip(points, elsewhere(job), strict=True):
        assert (digest, present(truth)) == (hashes[at + ahead - 1], truths[at + ahead - 1])
    assert max(map(len, snapshots)) < 8_000


def test_snapshot_holds_model_fields_that_were_written(env):
    env.reset(seed=2)
    plain = env.snapshot()
    model = env.world.mj_model
    cube = model.geom("cube_g0").id
    built = model.geom_friction[cube].copy()
    model.geom_friction[cube] = (0.05, 0.005, 0.0001)
    slippery = env.snapshot()
    env.restore(plain)
    assert np.array_equal(model.geom_friction[cube], built)
    env.restore(slippery)
    assert model.geom_friction[cube][0] == pytest.approx(0.05)
    env.reset(seed=2)
    assert env.snapshot() == plain


@pytest.mark.parametrize("damage", [b"", b"junk", "cut", "other task", "header", "missing"])
def test_foreign_or_damaged_snapshots_are_refused_and_change_nothing(env, damage):
    env.reset(seed=2)
    good, before = env.snapshot(), env.state_hash()
    label = good.split(b"\n", 1)[0] + b"\n"
    bad = {
        "cut": good[:-8],
        "other task": good.replace(b"bowl-v1", b"bowl-v9"),
        "header": label + b"RBT1\x04\x00\x00\x00nope",
        "missing": label + snapshot.pack({}, {"physics": np.zeros(3)}),
    }.get(damage, damage)
    with pytest.raises(InvalidSnapshot):
        env.restore(bad)
    assert env.state_hash() == before


def test_snapshot_format_round_trips():
    values = {"a": [1, None, "x"]}
    arrays = {"m": np.arange(6, dtype=float).reshape(2, 3), "n": np.array([np.pi, -0.0])}
    head, back = snapshot.unpack(snapshot.pack(values, arrays))
    assert head == values and back["m"].shape == (2, 3)
    assert all(back[name].tobytes() == arrays[name].tobytes() for name in arrays)


def test_malformed_actions_are_refused_before_anything_moves(env):
    env.reset(seed=2)
    before = env.state_hash()
    for action in ([0.0] * 6, [0.0] * 6 + [float("nan")], [1.5] + [0.0] * 6, "up"):
        with pytest.raises(InvalidAction):
            env.step(action)
    assert env.state_hash() == before


def test_a_space_that_is_none_is_refused():
    with pytest.raises(UnsupportedSpace, match="native, semantic, gui"):
        environments.make(TASK, "voice")


def test_thinning_the_meshes_leaves_the_physics_alone():
    world = TabletopWorld(Layout())
    full, thin = mujoco.MjModel.from_xml_string(world.model.get_xml()), world.mj_model
    for field in ("body_mass", "body_inertia", "body_ipos", "geom_contype", "geom_friction", "dof_damping", "qpos0"):
        assert np.array_equal(getattr(full, field), getattr(thin, field)), field
    solid = full.geom_group == 0
    assert np.array_equal(full.geom_pos[solid], thin.geom_pos[solid])
    assert np.array_equal(full.geom_size[solid], thin.geom_size[solid])
    assert thin.nmeshface < full.nmeshface / 2


def test_thin_out_merges_a_cell_and_drops_collapsed_faces():
    vertices = np.array([[0, 0, 0], [0.001, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    faces = np.array([[0, 1, 2], [0, 2, 3], [1, 2, 3]], np.int32)
    merged, kept = scene.thin_out(vertices, faces, 0.01)
    assert merged.shape == (3, 3) and kept.shape == (1, 3)


def test_the_arm_moves_as_under_robosuites_own_step():
    """Same controller settings, same actions: joints agree to a micrometre after one second."""
    world = TabletopWorld(Layout())
    world.place(np.random.default_rng(0))
    arm = control.PandaArm(world)
    physics = snapshot.Physics(world.mj_model, world.mj_data)
    start = physics.read()
    robosuite_controller = world.robots[0].controller
    robosuite_controller.update(force=True)
    robosuite_controller.reset_goal()
    world.robots[0].gripper.current_action = np.zeros(1)
    rng = np.random.default_rng(1)
    actions = [np.clip(rng.normal(0, 0.5, 7), -1, 1) for _ in range(20)]
    for action in actions:
        world.step(action)
    theirs = world.mj_data.qpos[:9].copy()
    physics.write(start)
    arm.hold()
    for action in actions:
        arm.step(action)
    assert np.abs(theirs - start["physics"][1:10]).max() > 0.1
    assert np.abs(world.mj_data.qpos[:9] - theirs).max() < 1e-6
