"""The benchmark's own environment as a program of its own, for comparison: none of our code is imported.

Reads a job from standard input: `suite`, `name`, `size`, `seed`, `out`, and `episodes`, each with `init_state`,
`resets` (how often the environment is reset before it) and `actions`. Writes an npz with, per episode, the whole
integration state after every step, observations, frames, and what `step` said of the goal. With `plain` it also
plays the first episode in an environment without renderer, and notes the median seconds of a core in a step.
"""

import importlib.util
import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ["MUJOCO_GL"] = os.environ.get("MUJOCO_GL") or "egl"
job = json.load(sys.stdin)
root = Path(importlib.util.find_spec("libero").submodule_search_locations[0], "libero")
config = tempfile.TemporaryDirectory()
Path(config.name, "config.yaml").write_text(f"bddl_files: {root / 'bddl_files'}\n")
os.environ["LIBERO_CONFIG_PATH"] = config.name

import libero.libero as package  # noqa: E402
import mujoco  # noqa: E402
import numpy as np  # noqa: E402

package._assets_path_cache = os.environ["ARENA_LIBERO_ASSETS"]

from libero.libero.envs import OffScreenRenderEnv  # noqa: E402

SPEC = mujoco.mjtState.mjSTATE_INTEGRATION
KEYS = ("agentview_image", "robot0_eye_in_hand_image", "robot0_eef_pos", "robot0_eef_quat", "robot0_gripper_qpos")

env = OffScreenRenderEnv(
    bddl_file_name=str(root / "bddl_files" / job["suite"] / f"{job['name']}.bddl"),
    camera_heights=job["size"],
    camera_widths=job["size"],
)
env.seed(job["seed"])


def state():
    model, data = env.sim.model._model, env.sim.data._data
    out = np.empty(mujoco.mj_stateSize(model, SPEC))
    mujoco.mj_getState(model, data, out, SPEC)
    return out


found = {}
for number, episode in enumerate(job["episodes"]):
    for _ in range(episode["resets"]):
        env.reset()
    seen = [env.set_init_state(np.array(episode["init_state"]))]
    states, goals = [state()], [bool(env.check_success())]
    for action in episode["actions"]:
        observation, _, done, _ = env.step(action)
        seen.append(observation)
        states.append(state())
        goals.append(bool(done))
    found[f"{number}.states"], found[f"{number}.goals"] = np.array(states), np.array(goals)
    found[f"{number}.body_pos"] = env.sim.model.body_pos.copy()
    for key in KEYS:
        found[f"{number}.{key}"] = np.array([observation[key] for observation in seen])
if job.get("plain"):
    from libero.libero.envs import env_wrapper

    bare = env_wrapper.ControlEnv(
        bddl_file_name=str(root / "bddl_files" / job["suite"] / f"{job['name']}.bddl"),
        use_camera_obs=False,
        has_offscreen_renderer=False,
    )
    bare.reset()
    bare.set_init_state(np.array(job["episodes"][0]["init_state"]))
    times = []
    for action in job["episodes"][0]["actions"]:
        start = time.thread_time()
        bare.step(action)
        times.append(time.thread_time() - start)
    found["plain_s"] = np.median(times)
np.savez(job["out"], **found)
os._exit(0)  # robosuite's contexts complain when the interpreter takes them down
