"""When does diagnosis help? `python benchmarks/diagnosis.py --db FILE [--small] [--parts P,...] [--json FILE]`.

The scripted policy that does not look again plays several tabletop tasks: clean, with every kind of fault at every
severity, and with benign faults (N1). Each scenario is played alone and under every condition; nothing is rendered but
the frames around a rollback. Five parts, all resumable (what is in the database is not played again):

1. *dynamic*: all conditions, net rescued with its interval, false alarms, broken clean episodes, static and dynamic
   figures by type of fault. Thresholds come from clean seeds that no scenario uses (`--calibration`, made if missing).
2. *deadline*: half of the faulted scenarios with a horizon of 1.5 times the longest clean episode, where a restart is
   too late; and `rules` with the engine's sub-goal predicates.
3. *repeating*: the same faults come back after every rollback: what going back in time cannot mend.
4. *curve*: judges of planted quality under that same horizon, net rescued against false alarms. Horizons of the common
   benchmarks are tighter still: LIBERO-Spatial's is 1.14 times its longest demonstration.
5. *counterfactual*: interventions of `rules` in the first part, played the other way.

It says at the end which promises hold, and exits with 1 if one does not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from arena.certification import machine
from arena.cli.progress import ProgressBar
from arena.diagnosis import conformal, counterfactual
from arena.diagnosis.condition_names import CONDITIONS
from arena.diagnosis.dynamic import Scenario, run_dynamic
from arena.diagnosis.dynamic_table import Table, dynamic_table
from arena.location import Location
from environments.robots.faults import KINDS, Fault
from storage.store import Store

TASKS = (
    "tabletop/pick-place-bowl-v1",
    "tabletop/object-can-basket-v1",
    "tabletop/object-milk-basket-v1",
    "tabletop/goal-bowl-on-plate-v1",
    "tabletop/spatial-bowl-between-v1",
)
CLEAN_SEEDS = 20
"""Clean episodes of each task."""
FIRST_SEED = 100
DETECTIONS = (1.0, 0.5)
FALSE_ALARMS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.75)
"""At each look, one a second. The published judges claim a fault in 6 to 76 % of the looks at a sound episode."""
CALIBRATION_EPISODES = 80
DEADLINE = 1.5
"""Of the longest clean episode."""


def faulted(tasks: Sequence[str], turns: int = 2) -> Iterator[Scenario]:
    """Every kind so often a task, so that kinds, severities and seeds are spread evenly."""
    for row, task in enumerate(tasks):
        for column, kind in enumerate(KINDS):
            for turn in range(turns):
                severity = 1 + (row + column + turn) % 3
                yield Scenario(task, FIRST_SEED + (column + 7 * turn) % 10, Fault(kind=kind, severity=severity))


def benign(tasks: Sequence[str]) -> Iterator[Scenario]:
    """Every second kind on every task, too weak to do harm (N1)."""
    for row, task in enumerate(tasks):
        for column, kind in enumerate(KINDS):
            if (row + column) % 2 == 0:
                yield Scenario(task, FIRST_SEED + column % 10, Fault(kind=kind, severity=0))


def deadlines(file: Path, tasks: Sequence[str]) -> dict[str, int]:
    """Horizons of the second and fourth part, by task."""
    learned = conformal.Calibration.load(file).tasks
    return {task: round(DEADLINE * learned[task].profile.total) for task in tasks}


def scenes(tasks: Sequence[str], clean: int) -> list[Scenario]:
    """All scenarios of the first part."""
    sound = [Scenario(task, FIRST_SEED + seed) for task in tasks for seed in range(clean)]
    return [*sound, *faulted(tasks), *benign(tasks)]


def repeating(tasks: Sequence[str]) -> list[Scenario]:
    """Faults that come back, one of each kind, spread over the tasks."""
    return [
        Scenario(tasks[number % len(tasks)], FIRST_SEED + number % 10, Fault(kind=kind, severity=2, repeat=True))
        for number, kind in enumerate(KINDS)
    ]


def curve_scenes(tasks: Sequence[str], clean: int) -> list[Scenario]:
    """A quarter of the faulted ones, and as many clean ones: half the episodes are sound."""
    harmed = list(faulted(tasks, turns=1))[:: 3 if len(tasks) == 1 else 2]
    sound = [Scenario(task, FIRST_SEED + seed) for seed in range(clean) for task in tasks]
    return [*harmed, *sound[: len(harmed)]]


def show(table: Table, title: str) -> None:
    """A table of conditions, as Markdown."""
    print(f"\n## {title}: {table.scenarios} scenarios\n")
    print("| condition | success | rescued | broken | net | 95 % | p | FPR N0 | FPR N1 | touched | broken clean "
          "| forks | added | s |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for it in table.lines:
        shares = [share(value) for value in (it.false_alarm_rate, it.false_alarm_rate_benign, it.touched)]
        cells = [
            it.condition, share(it.success), it.rescued, it.broken, f"{it.net:+d}",
            "-" if it.net_low is None else f"{it.net_low:+.0f} to {it.net_high:+.0f}",
            f"{it.p:.1g}", *shares, share(it.broken_clean),
            f"{it.interventions:.2f}", f"{it.added_steps:.0f}", f"{it.seconds:.2f}",
        ]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def share(value: float | None) -> str:
    """A share in per cent."""
    return "-" if value is None else f"{100 * value:.1f} %"


def show_types(table: Table, condition: str = "rules") -> None:
    """Static and dynamic figures of one condition by type of fault, as Markdown."""
    print(f"\n### `{condition}` by type of fault\n")
    print("| type | episodes | fail alone | rescued | broken | detected | class right | type right | onset error |")
    print("|---|---|---|---|---|---|---|---|---|")
    for it in table.types:
        if it.condition != condition:
            continue
        onset = "-" if it.onset_median is None else f"{it.onset_median:+.0f} (p90 {it.onset_p90:.0f})"
        cells = [
            it.fault_type, it.episodes, it.failed_alone, it.rescued, it.broken, f"{it.detected}/{it.harmful}",
            share(it.class_accuracy), share(it.type_accuracy), onset,
        ]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def promises(table: Table | None, curve: Table | None, forks: counterfactual.Tally | None) -> dict[str, bool]:
    """What the benchmark is there to show, as far as it was played, and whether it does."""
    kept: dict[str, bool] = {}
    if table is not None:
        rules, chance, oracle = (table.line(name) for name in ("rules", "random-trigger", "oracle-everything"))
        kept |= {
            "rules: net rescued > 0, and its interval excludes 0": (rules.net_low or 0) > 0,
            "rules: broken <= 2 % of the clean episodes": (rules.broken_clean or 0) <= 0.02,
            "rules: false alarms in <= 5 % of the clean episodes": (rules.false_alarm_rate or 0) <= 0.05,
            "rules beats the random trigger at an equal rate": rules.net > chance.net,
            "the oracle that knows everything is the ceiling": oracle.net >= max(rules.net, chance.net),
        }
    if curve is not None:
        planted = [line for line in curve.lines if line.condition.startswith("planted")]
        kept["some planted judge is worse than nothing: its interval lies below 0"] = any(
            (line.net_high or 0) < 0 for line in planted
        )
    if forks is not None:
        kept["counterfactual replays equal the record until the fork"] = forks.exact == forks.forks
    return kept


PARTS = ("dynamic", "deadline", "repeating", "curve", "counterfactual")


class Benchmark:
    """The parts, each of which shows its table as soon as it has been played."""

    def __init__(self, store: Store, place: Location, tasks: Sequence[str], clean: int, options: Any) -> None:
        self._store, self._place, self._tasks, self._clean, self._options = store, place, tasks, clean, options
        self._late = deadlines(options.calibration, tasks)

    def dynamic(self) -> Table:
        """All conditions on all scenarios."""
        table = self._played(scenes(self._tasks, self._clean), CONDITIONS, "diagnosis")
        show(table, "Dynamic")
        show_types(table)
        return table

    def deadline(self) -> Table:
        """Faulted scenarios, little time."""
        names = ["rules", "rules-subgoals", "restart", "monitors-only", "oracle-everything"]
        table = self._played(list(faulted(self._tasks, turns=1)), names, "diagnosis-deadline", horizons=self._late)
        show(table, f"Horizon of {DEADLINE:g} times the longest clean episode")
        show_types(table, "rules-subgoals")
        return table

    def repeating(self) -> Table:
        """Faults that come back."""
        table = self._played(repeating(self._tasks), ["rules", "restart", "oracle-everything"], "diagnosis-repeating")
        show(table, "Faults that come back")
        return table

    def curve(self) -> Table:
        """Judges of planted quality."""
        alarms = FALSE_ALARMS[::3] if self._options.small else FALSE_ALARMS
        names = [f"planted:{detection:g}:{alarm:g}" for detection in DETECTIONS for alarm in alarms]
        table = self._played(curve_scenes(self._tasks, self._clean), names, "diagnosis-curve", horizons=self._late)
        show(table, "Judges of planted quality (planted:detection:false alarms at each look)")
        return table

    def counterfactual(self, table: Table) -> counterfactual.Tally:
        """Interventions of `rules`, the other way."""
        limit = self._options.forks
        asked = counterfactual.of_run(self._store, table.run_id, conditions=["rules"], limit=limit)
        forks = counterfactual.tally(list(asked))
        print(f"\nCounterfactuals: {asdict(forks)}", flush=True)
        return forks

    def _played(self, scenes: Sequence[Scenario], names: Sequence[str], name: str, **more: Any) -> Table:
        options = self._options
        with ProgressBar(Console(stderr=True)) as bar:
            run_id = run_dynamic(
                self._store, self._place, scenes, names, calibration=str(options.calibration),
                workers=options.workers, name=name, observer=bar, **more,
            )  # fmt: skip
        return dynamic_table(self._store, run_id)


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", default="arena-data/diagnosis-benchmark.db", help="where everything is recorded")
    parser.add_argument("--calibration", type=Path, default=None, help="thresholds; beside the database if left out")
    parser.add_argument("--small", action="store_true", help="one task, few clean seeds, a coarse curve")
    parser.add_argument("--parts", default=",".join(PARTS), help="with commas; `counterfactual` needs `dynamic`")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--forks", type=int, default=60, help="episodes whose interventions are played the other way")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"--parts: {', '.join(unknown)}: there are {', '.join(PARTS)}")
    if "counterfactual" in options.parts and "dynamic" not in options.parts:
        parser.error("--parts: `counterfactual` looks at the interventions of `dynamic`")
    options.calibration = options.calibration or Path(options.db).with_suffix(".calibration.json")
    return options


def main() -> None:
    options = arguments()
    tasks, clean = (TASKS[:1], 6) if options.small else (TASKS, CLEAN_SEEDS)
    print(machine(), flush=True)
    if not options.calibration.exists():
        found = conformal.calibrate(tasks, episodes=CALIBRATION_EPISODES)
        found.save(options.calibration)
    place = Location.of(options.db)
    with place.open() as store:
        benchmark = Benchmark(store, place, tasks, clean, options)
        tables = {part: getattr(benchmark, part)() for part in options.parts if part != "counterfactual"}
        forks = benchmark.counterfactual(tables["dynamic"]) if "counterfactual" in options.parts else None
    kept = promises(tables.get("dynamic"), tables.get("curve"), forks)
    print()
    for promise, holds in kept.items():
        print(f"- {'holds' if holds else 'DOES NOT HOLD'}: {promise}")
    if options.json:
        report = {name: part.to_json() for name, part in tables.items()}
        report |= {"machine": machine(), "promises": kept} | ({"counterfactuals": asdict(forks)} if forks else {})
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(0 if all(kept.values()) else 1)


if __name__ == "__main__":
    main()
