"""Checks the real LIBERO, task by task: `python benchmarks/libero_tasks.py [--only GLOB] [--json F] [--markdown F]`.

Needs the benchmark's code and assets, see docs/libero.md. For every task (by default the 40 of the four suites that
policies are compared on):

    load          seconds to build the scene
    clean starts  of the 50 published initial states, each set and every fifth settled: those in which nothing is wrong
                  (the simulation holds, and the goal is not reached before anybody has acted)
    own steps     of a played episode, those after which the whole state of the simulation is that of the benchmark's
                  own environment, bit for bit; it runs in a process of its own and never sees our code
    own frames    the same for its pictures, of both cameras, every tenth step
    rollbacks     points of the episode that were restored in four ways (at once; after a reset to another initial
                  state; in an environment that was built anew; in another process) and played on for five steps:
                  the state after each and the pictures of both cameras at the end are those of the first time
    snapshot      bytes, and microseconds to take and to restore it
    step          milliseconds of a core in a control step that nobody looks at: ours, physics alone (25 substeps and
                  nothing else), and the benchmark's own environment without pictures (of two tasks in each suite)

A task that falls short is named at the end, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import environments
from environments.robots.libero import loading, suites
from environments.robots.libero.conventions import INIT_STATES, SETTLE_ACTION, SETTLE_STEPS

REFERENCE = Path(__file__).parents[1] / "tests" / "environments" / "libero_reference.py"
SUITES = ("spatial", "object", "goal", "10")
SIZE = 64
"""Edge of the compared pictures, in pixels."""
STEPS, AHEAD = 60, 5
"""Steps of the played episode, and steps played on after a rollback."""
LOOK_EVERY = 10
"""Every so many steps the pictures are compared with the benchmark's own."""
POINTS = tuple(range(0, STEPS - AHEAD + 1, AHEAD))
"""Where it is rolled back to: twelve points."""
EPISODE, OTHER = 0, 17
"""The episode that is played, and the one that lies between it and a restore."""


@dataclasses.dataclass
class Row:
    """What was found for one task."""

    task: str
    load_s: float
    clean_starts: int
    own_steps: int
    own_steps_of: int
    own_frames: int
    own_frames_of: int
    rollbacks: int
    rollbacks_of: int
    bytes: int
    snapshot_us: float
    restore_us: float
    step_ms: float
    physics_ms: float
    own_ms: float | None
    """Measured for some tasks only."""
    grasped: bool
    """Whether a finger held something at one of the points."""
    problems: list[str]


def make(task_id: str) -> Any:
    from environments.robots.libero.tasks import variant

    return variant(task_id, size=SIZE, quality="fast").make("native")


def actions_for(env: Any) -> list[list[float]]:
    """Reach for the first thing of the goal, close the hand on it, lift, then tumble by chance, as float32 numbers."""
    from environments.robots import motion

    env.reset(seed=EPISODE)
    rng, chosen = np.random.default_rng(EPISODE), []
    thing = env.progress.parts[0].goal.thing
    for step in range(STEPS):
        target = env.world.position(thing)
        if step < 45:
            above = 0.12 if step < 16 or step >= 36 else 0.0
            aim = motion.Aim("reach", target + np.array([0, 0, above]), 0.0, 1.0 if step >= 28 else -1.0)
            action = motion.native(env.arm, aim)
        else:
            action = [float(np.float32(x)) for x in rng.uniform(-1, 1, 7)]
            if step % 5 == 0:
                action[3:6] = [0.0, 0.0, 0.0]  # the orientation goal then stays
        chosen.append(action)
        env.step(action)
    return chosen


def moment(env: Any, *, look: bool) -> list[str]:
    """What must be equal: the state's hash and, if somebody looks, those of both pictures."""
    views = env.observe()
    seen = [hashlib.sha256(views[key].tobytes()).hexdigest() for key in ("agentview", "wrist")] if look else []
    return [env.state_hash(), hashlib.sha256(views["state"].tobytes()).hexdigest(), *seen]


def played_on(env: Any, snapshot: bytes, actions: list[list[float]]) -> list[list[str]]:
    """Restore, play on, look at the end."""
    env.restore(snapshot)
    found = [moment(env, look=False)]
    for number, action in enumerate(actions, 1):
        env.step(action)
        found.append(moment(env, look=number == len(actions)))
    return found


def median(act: Callable[[], Any], repeats: int) -> float:
    """Seconds of this thread's processor in one call; other programs have no part in it."""
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        act()
        times.append(time.thread_time() - start)
    return statistics.median(times)


def clean_starts(env: Any) -> tuple[int, list[str]]:
    """How many of the initial states are sound, and what is wrong with the others."""
    problems = []
    for k in range(INIT_STATES):
        env.world.start(k)
        before = env.success()
        env.arm.begin()
        if k % 5 == 0:
            env.arm.settle()
        if before or env.success():
            problems.append(
                f"in initial state {k} the goal holds {'from the start' if before else 'once it has settled'}"
            )
        elif not np.isfinite(env.world.mj_data.qpos).all():
            problems.append(f"initial state {k} does not hold")
    return INIT_STATES - len(problems), problems


def reference(job: dict[str, Any]) -> Any:
    """Let the benchmark's own environment play; its states and pictures."""
    from environments.robots import rendering

    name, _ = rendering.backend()
    done = subprocess.run(
        [sys.executable, str(REFERENCE)], input=json.dumps(job), text=True, capture_output=True,
        env={**os.environ, "MUJOCO_GL": name}, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"the benchmark's own environment failed: {done.stderr[-2000:]}")
    with np.load(job["out"]) as found:
        return {key: found[key] for key in found.files}


def compared(env: Any, fact: suites.Fact, actions: list[list[float]], folder: Path) -> tuple[int, int, int, int, float]:
    """Steps and frames that equal the benchmark's own, of how many; milliseconds of its step without pictures."""
    from environments.robots._robosuite import mujoco
    from environments.robots.libero.view import View

    world, arm = env.world, env.arm
    steps = [list(SETTLE_ACTION)] * SETTLE_STEPS + actions
    job = {
        "suite": f"libero_{fact.suite}", "name": fact.name, "size": SIZE, "seed": world.convention.seed,
        "out": str(folder / "own.npz"), "plain": fact.number % 5 == 0,
        "episodes": [{"init_state": world.init_states[EPISODE].tolist(), "resets": 1, "actions": steps}],
    }  # fmt: skip
    own = reference(job)
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(world.mj_model, spec))
    view = View(world, SIZE, "reference", turned=True)
    same = frames = looked = 0
    world.start(EPISODE)
    arm.begin()
    for number, action in enumerate([None, *steps]):
        if action is not None:
            arm.step(action)
        mujoco.mj_getState(world.mj_model, world.mj_data, state, spec)
        same += int(np.array_equal(state, own["0.states"][number]) and world.success == own["0.goals"][number])
        if number % LOOK_EVERY == 0:
            for key, camera in (("agentview", "agentview"), ("wrist", "robot0_eye_in_hand")):
                picture = own[f"0.{camera}_image"][number][::-1, ::-1]
                frames += int(np.array_equal(view.picture(arm.sampled, key), picture))
                looked += 1
    view.close()
    return same, len(steps) + 1, frames, looked, 1000 * float(own.get("plain_s", np.nan))


def check(task_id: str, partner: Partner) -> Row:
    """Everything about one task."""
    from environments.robots._robosuite import mujoco

    fact = next(fact for fact in suites.facts() if fact.id == task_id)
    start = time.perf_counter()
    env = make(task_id)
    load_s = time.perf_counter() - start
    clean, problems = clean_starts(env)
    actions = actions_for(env)

    env.reset(seed=EPISODE)
    snapshots, truth, held = [], [moment(env, look=True)], False
    for number, action in enumerate(actions, 1):
        snapshots.append(env.snapshot())
        held = held or any(name.startswith("grasp") for name in env.milestones())
        env.step(action)
        truth.append(moment(env, look=number % AHEAD == 0))
    expected = {at: [*(each[:2] for each in truth[at : at + AHEAD]), truth[at + AHEAD]] for at in POINTS}

    def attempt(how: str, play: Callable[[int], Any]) -> int:
        wrong = [at for at in POINTS if play(at) != expected[at]]
        if wrong:
            problems.append(f"rollback {how} differs at steps {wrong}")
        return len(POINTS) - len(wrong)

    def ahead(at: int) -> list[list[float]]:
        return actions[at : at + AHEAD]

    def after_reset(at: int) -> Any:
        env.reset(seed=OTHER)
        return played_on(env, snapshots[at], ahead(at))

    good = attempt("at once", lambda at: played_on(env, snapshots[at], ahead(at)))
    good += attempt("after a reset", after_reset)
    anew = make(task_id)
    good += attempt("in an environment built anew", lambda at: played_on(anew, snapshots[at], ahead(at)))
    anew.close()
    job = {str(at): [snapshots[at].hex(), ahead(at)] for at in POINTS}
    elsewhere = partner.ask({"task": task_id, "snapshots": job})
    good += attempt("in another process", lambda at: elsewhere[str(at)])
    with tempfile.TemporaryDirectory() as folder:
        same, same_of, frames, frames_of, own_ms = compared(env, fact, actions, Path(folder))
    if same < same_of or frames < frames_of:
        problems.append(f"{same_of - same} states and {frames_of - frames} frames differ from the benchmark's own")

    env.restore(snapshots[POINTS[-1]])
    sizes = [len(snapshot) for snapshot in snapshots]
    snapshot_us = 1e6 * median(env.snapshot, 300)
    restore_us = 1e6 * median(lambda: env.restore(snapshots[-1]), 100)
    env.reset(seed=EPISODE)
    queue = iter(actions)
    step_ms = 1000 * median(lambda: env.step(next(queue)), STEPS)

    def physics() -> None:
        for _ in range(25):
            mujoco.mj_step2(env.world.mj_model, env.world.mj_data)
            mujoco.mj_step1(env.world.mj_model, env.world.mj_data)

    env.reset(seed=EPISODE)
    physics_ms = 1000 * median(physics, STEPS)
    env.close()
    if max(sizes) > 8000:
        problems.append(f"a snapshot of {max(sizes)} bytes")
    return Row(
        task_id, load_s, clean, same, same_of, frames, frames_of, good, 4 * len(POINTS), max(sizes), snapshot_us,
        restore_us, step_ms, physics_ms, None if np.isnan(own_ms) else own_ms, held, problems,
    )  # fmt: skip


class Partner:
    """Another process, which restores and plays on what it is told."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--partner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, job: dict[str, Any]) -> dict[str, list[list[str]]]:
        """What it finds for each snapshot."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        reply = self._process.stdout.readline()
        if not reply:
            raise SystemExit("the other process died")
        found: dict[str, list[list[str]]] = json.loads(reply)
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def serve() -> None:
    """Be that process."""
    for request in sys.stdin:
        job = json.loads(request)
        env = make(job["task"])
        found = {
            at: played_on(env, bytes.fromhex(snapshot), actions) for at, (snapshot, actions) in job["snapshots"].items()
        }
        env.close()
        print(json.dumps(found), flush=True)


HEADER = (
    "| task | load s | clean starts | own steps | own frames | rollbacks | bytes | snapshot, restore µs | step ms | "
    "physics ms | own step ms |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def line(row: Row) -> str:
    """A row of the table."""
    cells = [
        row.task, f"{row.load_s:.1f}", f"{row.clean_starts}/{INIT_STATES}", f"{row.own_steps}/{row.own_steps_of}",
        f"{row.own_frames}/{row.own_frames_of}", f"{row.rollbacks}/{row.rollbacks_of}", str(row.bytes),
        f"{row.snapshot_us:.0f}, {row.restore_us:.0f}", f"{row.step_ms:.1f}", f"{row.physics_ms:.1f}",
        "" if row.own_ms is None else f"{row.own_ms:.1f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def summary(rows: list[Row]) -> str:
    """The table's last line: sums, largest, medians."""
    if not rows:
        return ""
    certified = sum(row.rollbacks == row.rollbacks_of for row in rows)
    clean = sum(row.clean_starts for row in rows)
    own = sum(row.own_steps == row.own_steps_of and row.own_frames == row.own_frames_of for row in rows)

    def middle(name: str) -> float:
        return statistics.median([value for row in rows if (value := getattr(row, name)) is not None] or [0.0])

    return (
        f"| {len(rows)} tasks | {middle('load_s'):.1f} | {clean}/{INIT_STATES * len(rows)} | "
        f"{own}/{len(rows)} tasks | {own}/{len(rows)} tasks | {certified}/{len(rows)} tasks | "
        f"{max(r.bytes for r in rows)} | {middle('snapshot_us'):.0f}, {middle('restore_us'):.0f} | "
        f"{middle('step_ms'):.1f} | {middle('physics_ms'):.1f} | {middle('own_ms'):.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="libero/*", help="glob of task ids, among the four suites")
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    parser.add_argument("--partner", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.partner:
        serve()
        return
    if problems := loading.problems():
        raise SystemExit("\n".join(problems))
    tasks = [task.id for suite in SUITES for task in environments.match(f"libero/{suite}/*")]
    rows, failures = [], []
    print(HEADER, flush=True)
    partner = Partner()
    for task in fnmatch.filter(tasks, arguments.only):
        rows.append(check(task, partner))
        failures += [f"{task}: {problem}" for problem in rows[-1].problems]
        print(line(rows[-1]), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps([dataclasses.asdict(row) for row in rows], indent=1) + "\n")
    partner.close()
    print(summary(rows))
    held = sum(row.grasped for row in rows)
    print(f"\nIn {held} of {len(rows)} episodes both fingers held something at one of the points.")
    if arguments.markdown:
        table = "\n".join([HEADER, *map(line, rows), summary(rows)])
        arguments.markdown.write_text(table + "\n")
    if failures:
        raise SystemExit("\n".join(failures))


if __name__ == "__main__":
    main()
