"""How often the scripted expert reaches LIBERO's goals within the published step caps, from published initial states.

    python benchmarks/libero_expert.py --suite spatial --starts 5

Nothing is rendered. The benchmark's own check decides. Tasks that are tagged as having no expert are played too.
Needs the extra `libero` and its assets.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from environments import registry
from environments.robots.libero import tasks
from environments.robots.libero.env import LiberoEnv
from environments.robots.libero.expert import LiberoPlan
from environments.robots.libero.suites import Fact, facts
from environments.robots.motion import Aim
from environments.task import ActionSpace

SUITES = ("spatial", "object", "goal", "10")


def play(env: LiberoEnv, start: int, *, trace: int = 0) -> dict[str, Any]:
    """One episode from a published initial state; with `trace`, a line every so many steps."""
    began = time.perf_counter()
    env.reset(seed=start)
    plan = LiberoPlan(env.world, env.arm)
    won, steps = env.success(), 0
    while not won and steps < env.task.max_steps:
        action = plan.action()
        if trace and steps % trace == 0:
            _tell(env, plan.aim(), steps)
        *_, won, _, _ = env.step(action)
        steps += 1
    return {"start": start, "won": won, "steps": steps, "score": env.score(), "s": time.perf_counter() - began}


def _tell(env: LiberoEnv, aim: Aim, steps: int) -> None:
    arm = env.arm
    goal = env.progress.open_goal()
    thing = env.world.position(goal.thing).round(3).tolist() if goal else None
    where = f"hand {arm.position.round(3).tolist()} to {aim.position.round(3).tolist()} turn {aim.yaw_rad:.2f}"
    print(f"  {steps:3} {aim.phase:10} {where} width {arm.width_m:.3f} ramp {arm.ramp:.2f} thing {thing}")


def measured(chosen: list[Fact], starts: int, trace: int) -> Iterator[dict[str, Any]]:
    """One row a task."""
    for fact in chosen:
        env = cast("LiberoEnv", registry.get(fact.id).make(ActionSpace.NATIVE))
        try:
            episodes = [play(env, start, trace=trace) for start in range(starts)]
        finally:
            env.close()
        yield {"task": fact.id, "suite": fact.suite, "instruction": fact.instruction, "episodes": episodes}


def main() -> None:
    """Print a table in Markdown, and write everything as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=(*SUITES, "90", "all"), default="all")
    parser.add_argument("--task", type=int, action="append", help="only this task of the suite; may be repeated")
    parser.add_argument("--starts", type=int, default=5, help="published initial states per task")
    parser.add_argument("--trace", type=int, default=0, help="tell the hand's aim every so many steps")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    assert tasks  # registered by the import
    suites = SUITES if options.suite == "all" else (options.suite,)
    chosen = [f for f in facts() if f.suite in suites and (options.task is None or f.number in options.task)]
    print("| task | reached | steps | instruction |\n|---|---|---|---|", flush=True)
    rows, totals = [], defaultdict(lambda: [0, 0])
    for row in measured(chosen, options.starts, options.trace):
        rows.append(row)
        won = [episode for episode in row["episodes"] if episode["won"]]
        mean = f"{sum(episode['steps'] for episode in won) / len(won):.0f}" if won else "-"
        lost = [f"{episode['start']}:{episode['score']:.0f}" for episode in row["episodes"] if not episode["won"]]
        note = f" (lost: {', '.join(lost)})" if lost else ""
        reached = f"{len(won)}/{len(row['episodes'])}"
        print(f"| {row['task']} | {reached}{note} | {mean} | {row['instruction']} |", flush=True)
        totals[row["suite"]][0] += len(won)
        totals[row["suite"]][1] += options.starts
    for suite, (won_all, count) in totals.items():
        print(f"| **{suite}** | **{won_all}/{count} = {100 * won_all / count:.0f} %** | | |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
