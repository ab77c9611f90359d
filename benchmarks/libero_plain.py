"""The loop of public LIBERO harnesses, as a program of its own that `benchmarks/robots.py` asks for episodes.

It follows openpi's `examples/libero/main.py` and OpenVLA's `experiments/robot/libero`: the benchmark's own
`OffScreenRenderEnv` at 256 x 256, seeded once; per episode `reset`, `set_init_state`, ten settle steps; in every step
both cameras are drawn and the whole observation is built, then both pictures are turned by 180 degrees and scaled to
224, whether or not the policy is asked. No video is written and nothing is logged, which harnesses do besides.

Reads JSON lines: first `bddl`, `assets`, `seed`, `size`; then per episode `init_state`, `settle` (actions), `actions`
and `replan`. Answers with a line each: seconds, steps, whether the goal was reached, the SHA-256 of MuJoCo's
integration state at the end, pictures drawn, and seconds by part. The environment is robosuite's and the benchmark's;
of ours it uses the scaling of pictures alone, so that both loops scale alike.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from agents.policies.sight import resized_with_pad

POLICY_PX = 224
CHUNK = 10
Parts = defaultdict[str, float]


class Stopwatch:
    """Seconds by part: each call's time belongs to the innermost part that runs."""

    def __init__(self) -> None:
        self.parts: Parts = defaultdict(float)
        self._open: list[list[float]] = []
        self._undo: list[Callable[[], None]] = []

    def wrap(self, owner: Any, names: str, part: str) -> None:
        """Count calls of `owner`'s functions (names with spaces between) to a part until `release`."""
        for name in names.split():
            own = name in vars(owner)
            call = getattr(owner, name)
            setattr(owner, name, self.timed(call, part))
            self._undo.append(
                (lambda name=name, call=call: setattr(owner, name, call))
                if own
                else (lambda name=name: delattr(owner, name))
            )

    def timed(self, call: Callable[..., Any], part: str) -> Callable[..., Any]:
        """A function that counts its own time to a part."""
        clock, running, parts = time.perf_counter, self._open, self.parts

        def counted(*args: Any, **kwargs: Any) -> Any:
            inner = [0.0]
            running.append(inner)
            start = clock()
            try:
                return call(*args, **kwargs)
            finally:
                took = clock() - start
                running.pop()
                parts[part] += took - inner[0]
                if running:
                    running[-1][0] += took

        return counted

    def release(self) -> None:
        """Put the functions back."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()


PHYSICS = "mj_step1 mj_step2 mj_fwdActuation mj_fwdAcceleration mj_fwdConstraint mj_forward"
"""MuJoCo's functions that advance or evaluate the dynamics."""


def integration_state(model: Any, data: Any) -> str:
    """SHA-256 of everything that MuJoCo's next step depends on."""
    import mujoco

    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, data, state, spec)
    return hashlib.sha256(state.tobytes()).hexdigest()


def chunk_at(actions: list[list[float]], step: int) -> list[list[float]]:
    """The policy's answer at a step: its next ten actions; the last one is repeated at the end."""
    rows = actions[step : step + CHUNK]
    return rows + [actions[-1]] * (CHUNK - len(rows))


def built(job: dict[str, Any], config: str) -> Any:
    """The benchmark's environment, without a download or a question on standard input (`config`: an empty folder)."""
    import importlib.util

    root = Path((importlib.util.find_spec("libero").submodule_search_locations or [""])[0], "libero")  # type: ignore[union-attr]
    Path(config, "config.yaml").write_text(f"bddl_files: {root / 'bddl_files'}\n")
    os.environ["LIBERO_CONFIG_PATH"] = config
    import libero.libero as package  # type: ignore[import-not-found]

    package._assets_path_cache = job["assets"]
    from libero.libero.envs import OffScreenRenderEnv  # type: ignore[import-not-found]

    env = OffScreenRenderEnv(bddl_file_name=job["bddl"], camera_heights=job["size"], camera_widths=job["size"])
    env.seed(job["seed"])
    return env


def prepared(observation: dict[str, Any]) -> list[Any]:
    """Both pictures as the policy takes them, and the state's parts."""
    pictures = [
        resized_with_pad(np.ascontiguousarray(observation[key][::-1, ::-1]), POLICY_PX, POLICY_PX)
        for key in ("agentview_image", "robot0_eye_in_hand_image")
    ]
    names = ("robot0_eef_pos", "robot0_eef_quat", "robot0_gripper_qpos")
    return [*pictures, np.concatenate([observation[name] for name in names])]


def play(env: Any, job: dict[str, Any]) -> dict[str, Any]:
    """One episode of the plain loop."""
    import mujoco

    watch, drawn = Stopwatch(), [0]
    prepare = watch.timed(prepared, "observation")
    started, processor = time.perf_counter(), time.process_time()
    watch.timed(env.reset, "reset")()
    # A hard reset builds the robot anew, so that its functions are wrapped afterwards.
    inner = env.env
    render = inner.sim.render

    def counted(*args: Any, **kwargs: Any) -> Any:
        drawn[0] += 1
        return render(*args, **kwargs)

    inner.sim.render = watch.timed(counted, "rendering")
    watch.wrap(mujoco, PHYSICS, "physics")
    watch.wrap(inner, "_pre_action", "controller")
    watch.wrap(inner, "_get_observations _update_observables", "observation")
    watch.wrap(inner, "_check_success reward _post_process", "judge")
    try:
        observation = watch.timed(env.set_init_state, "reset")(np.array(job["init_state"]))
        for action in job["settle"]:
            observation, *_ = env.step(action)
        settled = time.perf_counter()
        queue: deque[list[float]] = deque()
        steps, done = 0, False
        while steps < len(job["actions"]) and not done:
            prepare(observation)
            if not queue:
                queue.extend(chunk_at(job["actions"], steps)[: job["replan"]])
            observation, _, done, _ = env.step(queue.popleft())
            steps += 1
        ended = time.perf_counter()
    finally:
        watch.release()
        inner.sim.render = render
    return {
        "seconds": ended - started,
        "processor_s": time.process_time() - processor,
        "reset_s": settled - started,
        "steps": steps,
        "won": bool(done),
        "state": integration_state(inner.sim.model._model, inner.sim.data._data),
        "drawn": drawn[0],
        "parts": dict(watch.parts),
    }


def main() -> None:
    """Serve episodes until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print is no answer
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as config:
        env = built(json.loads(sys.stdin.readline()), config)
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            print(json.dumps(play(env, json.loads(line))), file=answers, flush=True)
    os._exit(0)  # robosuite's contexts complain when the interpreter takes them down


if __name__ == "__main__":
    main()
