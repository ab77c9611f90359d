"""What the tabletop costs and how well its scripted players do, on this machine.

    python benchmarks/tabletop.py            # timings
    python benchmarks/tabletop.py --play     # success and scores over seeds as well (a minute or two)

Times are medians in milliseconds unless a unit is given: wall, and CPU of this thread, which is the
one to compare on a busy machine (software rendering uses further threads, which it leaves out).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import environments
from environments.robots import rendering
from environments.robots._robosuite import mujoco
from environments.robots.expert import BelievingExpert

TASK = "tabletop/pick-place-bowl-v1"


def median_ms(act: Callable[[], Any], repeats: int) -> str:
    """Median wall and thread-CPU time of one call in milliseconds, after one call to warm up."""
    act()
    wall, cpu = [], []
    for _ in range(repeats):
        start = time.perf_counter(), time.thread_time()
        act()
        wall.append(time.perf_counter() - start[0])
        cpu.append(time.thread_time() - start[1])
    return f"{1000 * statistics.median(wall):8.3f} ({1000 * statistics.median(cpu):7.3f} cpu)"


def timings() -> None:
    """Building, resetting, stepping, snapshots, pictures."""
    start = time.perf_counter()
    env: Any = environments.make(TASK, "native")
    print(f"first build                      {1000 * (time.perf_counter() - start):8.0f}")
    print(f"next build (model cached)        {median_ms(lambda: environments.make(TASK, 'native'), 5)}")
    print(f"reset                            {median_ms(lambda: env.reset(seed=1), 30)}")

    def physics() -> None:
        for _ in range(25):
            mujoco.mj_step2(env.world.mj_model, env.world.mj_data)
            mujoco.mj_step1(env.world.mj_model, env.world.mj_data)

    env.reset(seed=1)
    still = [0.0] * 7
    floor = median_ms(physics, 60)
    env.reset(seed=1)
    arm = median_ms(lambda: env.arm.step(still), 60)
    step = median_ms(lambda: env.step(still), 60)
    both = median_ms(lambda: env.step(env.expert_action()), 60)
    print(f"control step: physics alone      {floor}")
    print(f"  with the controller            {arm}")
    print(f"  env.step, nobody looks         {step}")
    print(f"  with the expert                {both}")
    snap = env.snapshot()
    print(f"snapshot                         {median_ms(env.snapshot, 300)}, {len(snap)} bytes")
    print(f"restore                          {median_ms(lambda: env.restore(snap), 300)}")
    name, reason = rendering.backend()
    print(f"rendering on {name} ({reason})")
    for quality in ("fast", "high"):
        for size in (128, 224, 256, 384):
            model, data = env.world.mj_model, env.world.mj_data
            camera = rendering.Camera(model, size, size, quality)
            front = median_ms(partial(camera.render, data, "agentview"), 15)
            wrist = median_ms(partial(camera.render, data, "robot0_eye_in_hand"), 15)
            print(f"  {quality} {size:3d} x {size:3d}: agentview {front}  wrist {wrist}")
            camera.close()
    env.close()


def episode(env: Any, act: Callable[[], Any], limit: int = 200) -> tuple[bool, int]:
    """Play to the end; success and length."""
    for step in range(limit):
        *_, done, _, _ = env.step(act())
        if done:
            return True, step + 1
    return False, limit


def play() -> None:
    """The experts over seeds, mixtures with chance, and the fault with and without rollback."""
    env: Any = environments.make(TASK, "native")
    results = []
    for seed in range(40):
        env.reset(seed=seed)
        results.append(episode(env, env.expert_action, 150))
    lengths = [length for _, length in results]
    wins = sum(won for won, _ in results)
    print(f"expert: {wins}/40 within 150 steps, mean {np.mean(lengths):.0f}, longest {max(lengths)}")
    for share in (0.0, 0.6, 0.75, 0.9, 1.0):
        scores, wins = [], 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            env.reset(seed=seed)
            env.action_space.seed(seed)
            mixed = lambda rng=rng, share=share: (  # noqa: E731
                env.expert_action() if rng.random() < share else env.action_space.sample()
            )
            wins += episode(env, mixed)[0]
            scores.append(env.score())
        print(
            f"expert with probability {share:4.2f}, else random: mean score {np.mean(scores):5.1f}, success {wins}/10"
        )
    policy, tally = BelievingExpert(env), {"clean": 0, "fault": 0, "rolled back": 0, "expert that looks": 0}
    for seed in range(40):
        env.reset(seed=seed)
        policy.reset()
        tally["clean"] += episode(env, policy.act)[0]
        env.reset(seed=seed, options={"fault": {}})
        tally["expert that looks"] += episode(env, env.expert_action)[0]
        env.reset(seed=seed, options={"fault": {}})
        policy.reset()
        snapshots: list[bytes] = []

        def watched(snapshots: list[bytes] = snapshots) -> list[float]:
            snapshots.append(env.snapshot())
            return policy.act()

        tally["fault"] += episode(env, watched)[0]
        onset = env.fault_truth()["onset_step"]
        if onset is not None:
            env.restore(snapshots[onset - 2])
            policy.reset()
            tally["rolled back"] += episode(env, policy.act)[0]
    print("believing expert, successes of 40: " + ", ".join(f"{name} {wins}" for name, wins in tally.items()))
    skilled: Any = environments.make(TASK, "semantic")
    results = []
    for seed in range(20):
        skilled.reset(seed=seed)
        results.append(episode(skilled, skilled.expert_action, 40))
    print(
        f"expert with skills: {sum(won for won, _ in results)}/20, mean {np.mean([n for _, n in results]):.1f} skills"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--play", action="store_true", help="also play: success and scores over seeds")
    arguments = parser.parse_args()
    timings()
    if arguments.play:
        play()
