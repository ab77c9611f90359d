"""How well the expert plays each tabletop task, natively and by skills, and what a snapshot costs.

    python benchmarks/tabletop_suite.py                        # 20 seeds, both spaces
    python benchmarks/tabletop_suite.py --only "tabletop/goal-*" --seeds 5 --space native

Steps are those of the space: 50 ms control steps, or skills. Snapshots are timed along the first native
episode of a task, after each step, so also in mid-grasp; the median is given, and the largest size.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import environments
from environments.task import Task

SKILLS = 15
"""Skills after which an episode counts as failed; the longest task needs four when all goes well."""


def play(task: Task, space: str, seeds: int) -> tuple[int, list[int], list[str], list[float], int]:
    """Play a task over seeds.

    Returns:
        Successes; lengths of the episodes that succeeded; what went wrong in the others; the times of the snapshots
        in microseconds, and the size of the largest in bytes.
    """
    env: Any = environments.make(task.id, space)
    limit = task.max_steps if space == "native" else SKILLS
    lengths, failures, times, largest = [], [], [], 0
    for seed in range(seeds):
        env.reset(seed=seed)
        said: str | None = None
        for step in range(limit):
            *_, done, _, info = env.step(env.expert_action())
            said = info["illegal"] or said
            if seed == 0 and space == "native":
                start = time.perf_counter()
                snapshot = env.snapshot()
                times.append(1e6 * (time.perf_counter() - start))
                largest = max(largest, len(snapshot))
            if done:
                lengths.append(step + 1)
                break
        else:
            failures.append(f"seed {seed}: {env.score():.0f} points, {env.stage()}" + (f", {said!r}" if said else ""))
    env.close()
    return len(lengths), lengths, failures, times, largest


def main() -> int:
    """Print one row per task and space; the exit status says whether each reached 95 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="tabletop/*", help="which tasks (a glob)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--space", choices=["native", "semantic", "both"], default="both")
    options = parser.parse_args()
    spaces = ["native", "semantic"] if options.space == "both" else [options.space]
    good = True
    print(f"{'task':44s} {'space':9s} {'success':>8s} {'steps':>11s}  snapshot")
    for task in environments.match(options.only):
        for space in spaces:
            wins, lengths, failures, times, largest = play(task, space, options.seeds)
            span = f"{statistics.median(lengths):.0f} (..{max(lengths)})" if lengths else "-"
            cost = f"{statistics.median(times):4.0f} us {largest:5d} B" if times else ""
            print(f"{task.id:44s} {space:9s} {wins:4d}/{options.seeds:<3d} {span:>11s}  {cost}", flush=True)
            for failure in failures:
                print(f"    {failure}")
            good = good and wins >= 0.95 * options.seeds
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
