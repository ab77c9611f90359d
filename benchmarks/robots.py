"""How fast robot policies are evaluated here, beside the plain loop of public harnesses: one run, one machine.

    python benchmarks/robots.py --json robots.json                      # the tabletop
    python benchmarks/robots.py --libero ~/.cache/libero/assets         # and the real LIBERO

Every loop plays the same episodes: the scripted expert's path is recorded once per task and seed, and a policy serves
it in chunks of 10, of which `replan` are executed, without taking any time itself. The loops take turns episode by
episode, beginning with another one each time, so that their ratios hold on a machine that does other things too. At
the end of each episode the SHA-256 of MuJoCo's integration state must be the same in all of them.

Loops, which are the rows of the table:

- `floor`: physics and controller alone; no picture, no observation, no judge, no record.
- `plain loop`: both cameras at 256 x 256 and the whole observation in every step, both pictures scaled for the policy.
  On LIBERO the benchmark's own environment in a process of its own (`libero_plain.py`). On the tabletop, which no
  other harness has, our environment and physics in that loop, drawn with shadows, reflections and multisampling as
  robosuite's own renderer draws (`reference`).
- `plain loop, fast`: on the tabletop, the same with the pictures that the arena draws there.
- `arena, not recorded`: the arena's own loop (`arena.play.Play`), agent and environment, with a recorder that drops
  all.
- `arena, video of every step`: as a run records by default; a picture of `agentview` is drawn in every step.
- `arena, video as seen`: the experiment file says `video: as-seen`: the record is complete but for pictures that nobody
  looked at. With `replan` 1, 5 and 10.
- `arena, as seen, fast`: on LIBERO, with `quality: fast`: no shadows, reflections, multisampling.

Columns: `replan`, steps of a chunk that are executed; `pictures`, drawn per control step, those of the reset included;
`ms/step`, wall time of whole episodes (reset, settling and record included) over their control steps; `steps/s` and
`episodes/s` from the same; `x plain`, how many times as fast as the plain loop, with the lowest and highest of single
episodes; `cpu`, processor time of all threads per control step in ms, and `x plain, cpu`, the ratio of those, which is
the one to trust on a busy machine; `x same pictures`, that ratio to the plain loop that draws pictures of the same
quality; `limit`, what `x plain, cpu` would be if everything but the floor and this loop's own pictures took no time;
`of floor`, the part of the floor's speed that is reached; `identical`, episodes that ended in the floor's state.

A second table has the shares of the parts: physics (MuJoCo), controller, the task's judge, observation (state, turning
and scaling of pictures), rendering, policy (agent without rendering), recording, reset, and the rest of the loop.
They come from episodes of their own, one a task, except for the benchmark's own loop, which always tells them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from libero_plain import Stopwatch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from robot_loops import FLOOR, LOOPS, PLAIN, PLAIN_QUALITY, Counted, Loop, Played, Subject, count_pictures

from arena.certification import machine
from arena.location import Location
from environments.robots import rendering
from environments.robots._robosuite import mujoco

TABLETOP = (
    "tabletop/spatial-bowl-between-v1",
    "tabletop/object-can-basket-v1",
    "tabletop/goal-open-drawer-v1",
    "tabletop/long-stack-cubes-v1",
)
LIBERO = ("libero/spatial/0-v1", "libero/object/0-v1", "libero/goal/0-v1", "libero/10/0-v1")


def turns(subject: Subject, seeds: int) -> Iterator[tuple[Loop, int]]:
    """Every loop on every seed, beginning with another loop each time."""
    loops = subject.loops
    for seed in range(seeds):
        first = seed % len(loops)
        for loop in (*loops[first:], *loops[:first]):
            yield loop, seed


def row(loop: Loop, of: Mapping[str, list[Played]], share: Mapping[str, float]) -> dict[str, Any]:
    """What the table says of one loop, from the episodes of all loops, which are in the same order."""
    episodes, floor, harness = of[key(loop)], of[FLOOR.name], of[PLAIN]
    seconds, steps, processor = _sum(episodes, "seconds"), _sum(episodes, "steps"), _sum(episodes, "processor_s")
    ratios = [one.seconds / other.seconds for one, other in zip(harness, episodes, strict=True)]
    by_processor = [one.processor_s / other.processor_s for one, other in zip(harness, episodes, strict=True)]
    same = harness if loop.quality == PLAIN_QUALITY[floor[0].task.split("/")[0]] else of.get("plain loop, fast")
    least = _sum(floor, "processor_s") + share.get("rendering", 0.0) * processor
    return {
        "loop": loop.name,
        "replan": None if loop is FLOOR else loop.replan,
        "pictures_per_step": _sum(episodes, "drawn") / steps,
        "ms_per_step": 1000 * seconds / steps,
        "steps_per_s": steps / seconds,
        "episodes_per_s": len(episodes) / seconds,
        "times_plain": _sum(harness, "seconds") / seconds,
        "times_plain_lowest": min(ratios),
        "times_plain_highest": max(ratios),
        "processor_ms_per_step": 1000 * processor / steps,
        "times_plain_processor": _sum(harness, "processor_s") / processor,
        "times_plain_processor_lowest": min(by_processor),
        "times_plain_processor_highest": max(by_processor),
        "times_same_pictures": _sum(same, "processor_s") / processor if same and loop is not FLOOR else None,
        "limit": _sum(harness, "processor_s") / least if share else None,
        "of_floor": _sum(floor, "seconds") / seconds,
        "identical": sum(p.state == other.state for p, other in zip(episodes, floor, strict=True)),
        "won": sum(p.won for p in episodes),
        "episodes": len(episodes),
        "steps": steps,
        "seconds": seconds,
    }


def _sum(episodes: list[Played], name: str) -> float:
    return float(sum(getattr(played, name) for played in episodes))


def key(loop: Loop) -> str:
    """What tells a loop from the others."""
    return loop.name if loop.replan == 5 else f"{loop.name}, replan {loop.replan}"


def measure(family: str, task_ids: tuple[str, ...], seeds: int, place: Location, bar: Progress) -> dict[str, Any]:
    """All loops on all tasks of a family."""
    loops = LOOPS[family]
    played: dict[str, list[Played]] = {key(loop): [] for loop in loops}
    shares: dict[str, dict[str, float]] = {}
    told = bar.add_task(family, total=len(task_ids) * (len(loops) * seeds + 5))
    with ExitStack() as stack:
        store = stack.enter_context(place.open())
        for task_id in task_ids:
            subject = Subject(task_id, store, Path(place.database).parent)
            stack.callback(subject.close)
            for loop in loops:
                if loop is not FLOOR and not (family == "libero" and loop.name == PLAIN):
                    subject.env(loop.quality)
            for loop, seed in turns(subject, seeds):
                bar.update(told, advance=1, description=f"{task_id} seed {seed}: {key(loop)}")
                played[key(loop)].append(subject.play(loop, seed))
            for loop in loops:
                if loop.replan == 5 and loop is not FLOOR:
                    parts = played[key(loop)][-1].parts or subject.play(loop, 0, Stopwatch()).parts
                    total = shares.setdefault(key(loop), {})
                    for part, value in parts.items():
                        total[part] = total.get(part, 0.0) + value
                    bar.update(told, advance=1)
            subject.close()
    for episodes in played.values():
        episodes.sort(key=lambda p: (p.task, p.seed))
    shares = {name: {part: s / sum(parts.values()) for part, s in parts.items()} for name, parts in shares.items()}
    return {
        "tasks": task_ids,
        "seeds": list(range(seeds)),
        "rows": [row(loop, played, shares.get(key(loop), {})) for loop in loops],
        "shares": shares,
        "episodes": {name: [dataclasses.asdict(p) for p in episodes] for name, episodes in played.items()},
    }


def named_machine() -> dict[str, Any]:
    """What was measured on."""
    return {
        "machine": f"{machine()}, MuJoCo {mujoco.__version__}",
        "processors": len(os.sched_getaffinity(0)),
        "opengl": f"{rendering.backend()[0]}: {Counted.renderer}",
        "load": os.getloadavg()[0],
    }


TIMES = ("times_plain", "times_plain_processor")
PARTS = ("physics", "controller", "judge", "observation", "rendering", "policy", "recording", "reset", "loop")


def show(console: Console, family: str, found: Mapping[str, Any]) -> None:
    """Two tables, in a form that a page in Markdown can hold too."""
    table = Table(title=f"{family}: {len(found['tasks'])} tasks, {len(found['seeds'])} seeds each")
    columns = ("loop", "replan", "pictures", "ms/step", "steps/s", "episodes/s", "x plain", "cpu", "x plain, cpu",
               "x same pictures", "limit", "of floor", "identical")  # fmt: skip
    for name in columns:
        table.add_column(name, justify="left" if name == "loop" else "right")
    for r in found["rows"]:
        spread, by_processor = (f" ({r[name + '_lowest']:.1f}-{r[name + '_highest']:.1f})" for name in TIMES)
        table.add_row(
            r["loop"], str(r["replan"] or ""), f"{r['pictures_per_step']:.2f}", f"{r['ms_per_step']:.1f}",
            f"{r['steps_per_s']:.1f}", f"{r['episodes_per_s']:.3f}", f"{r['times_plain']:.1f}{spread}",
            f"{r['processor_ms_per_step']:.1f}", f"{r['times_plain_processor']:.1f}{by_processor}",
            _number(r["times_same_pictures"]), _number(r["limit"]),
            f"{100 * r['of_floor']:.0f} %", f"{r['identical']} of {r['episodes']}",
        )  # fmt: skip
    console.print(table)
    parts = Table(title="Shares of the wall time, per cent")
    for name in ("loop", *PARTS):
        parts.add_column(name, justify="left" if not parts.columns else "right")
    for name, share in found["shares"].items():
        parts.add_row(name, *(f"{100 * share.get(part, 0.0):.1f}" for part in PARTS))
    console.print(parts)
    same = sum(r["identical"] for r in found["rows"])
    console.print(f"final states: identical {same} of {sum(r['episodes'] for r in found['rows'])}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def main() -> int:
    """Measure, print, write; 1 if an episode ended elsewhere than the floor's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libero", metavar="FOLDER", help="the benchmark's assets: measure on the real LIBERO too")
    parser.add_argument("--task", action="append", help="only these tasks; may be repeated")
    parser.add_argument("--seeds", type=int, default=2, help="episodes per task and loop (default 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything, every episode included")
    options = parser.parse_args()
    if options.libero:
        os.environ["ARENA_LIBERO_ASSETS"] = str(Path(options.libero).expanduser())
    chosen = tuple(options.task or (*TABLETOP, *(LIBERO if options.libero else ())))
    console, report = Console(width=200 if not sys.stdout.isatty() else None), {"families": {}}
    count_pictures()
    with tempfile.TemporaryDirectory() as folder, Progress(console=Console(stderr=True), transient=True) as bar:
        for family in LOOPS:
            tasks = tuple(task for task in chosen if task.startswith(f"{family}/"))
            if tasks:
                place = Location.of(str(Path(folder, f"{family}.db")))
                report["families"][family] = measure(family, tasks, options.seeds, place, bar)
                report |= named_machine()
    console.print(
        f"{report['machine']}; {report['processors']} processors; {report['opengl']}; load {report['load']:.1f}"
    )
    for family, found in report["families"].items():
        show(console, family, found)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return int(any(r["identical"] < r["episodes"] for f in report["families"].values() for r in f["rows"]))


if __name__ == "__main__":
    sys.exit(main())
