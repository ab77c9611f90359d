"""Does the instrument weigh right? `python benchmarks/calibration.py [--experiments N] [--json FILE]`.

`calibrated` players have a known skill (the probability of the expert's action at each step) and a known gain by kind
of lesson. Three things are checked with them:

    run         one experiment through the whole pipeline: file, plan, workers, reflection, store, leaderboard; every
                episode is then played again by the plain loop of the bank, which must give the same score
    coverage    simulated experiments: how often the intervals of the table hold the truth (nominal: 95 %)
    findings    how often the corrected tests find a gain where there is none, and where there is one, beside what
                `arena power` predicts

Simulated experiments draw their seeds, with replacement, from a bank of episodes that the same players really played
on the same games (no store, no video: the loop that `run` checks). So the truth is known: it is the bank's mean.
A world seed is shared by all players and conditions, as in an experiment. Everything is seeded.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from calibration_bank import (
    FIRST,
    MAX_STEPS,
    PLACEBO,
    PLAIN,
    PLAYERS,
    RETRIES,
    TASKS,
    VIDEO,
    Bank,
    build,
    play,
)
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

import agents
import environments
from arena import run
from arena.calibration import NOTE, calibration, summary
from arena.certification import machine
from arena.experiment import parse
from arena.identity import derived_seed
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.plan import lesson_kind
from arena.statistics import (
    DIFFERENCE,
    SCORE,
    Interval,
    holm,
    interquartile_mean,
    iqm_interval,
    mean_interval,
    probability_of_improvement,
    proportion,
    proportion_difference,
    seeds_needed,
    sign_flip_test,
    stratified_mean,
)
from arena.statistics.power import Pilot
from environments.env import ArenaEnv
from storage.models import Episode
from storage.store import Store

EXPERIMENT = f"""
name: calibration
tasks: [{", ".join(TASKS)}]
spaces: semantic
seeds: 10
agents:
  - random
  - scripted
  - {{name: calibrated, label: learner, p: 0.5, gain: 0.0, gains: {{{VIDEO}: 0.2}}}}
  - {{name: calibrated, label: imitator, p: 0.7, gain: 0.0}}
  - {{name: calibrated, label: beginner, p: 0.2, gain: 0.0}}
conditions: [{", ".join((FIRST, *RETRIES))}]
limits: {{max_steps: {MAX_STEPS}}}
"""

console = Console()


# -- simulated experiments ---------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """How often a kind of interval was drawn and held the truth."""

    drawn: int = 0
    covered: int = 0
    of: int = 0

    def add(self, interval: Interval, truth: float) -> None:
        self.of += 1
        self.drawn += interval.drawn
        self.covered += interval.low - 1e-9 <= truth <= interval.high + 1e-9


class Statement(NamedTuple):
    """An interval that a table would show, and what it is about."""

    what: str
    interval: Interval
    truth: float


def statements(bank: Bank, picks: Sequence[NDArray[np.int_]], rng: np.random.Generator) -> Iterator[Statement]:
    """Every interval of one experiment, whose seeds are `picks`, one array a task."""
    for player in PLAYERS:
        for condition in (FIRST, *RETRIES):
            full = [bank.reported(task, player, condition) for task in TASKS]
            wins = [bank.reported(task, player, condition, 1) for task in TASKS]
            drawn = [values[pick] for values, pick in zip(full, picks, strict=True)]
            for values, pick, sample, won in zip(full, picks, drawn, wins, strict=True):
                yield Statement("score of a task", mean_interval(list(sample)), float(values.mean()))
                hits = float(won[pick].sum())
                yield Statement("success of a task", proportion(hits, len(pick)), float(won.mean()))
            truth = float(np.mean([values.mean() for values in full]))
            yield Statement("score over tasks", stratified_mean([list(s) for s in drawn]), truth)
            if condition in (FIRST, VIDEO):  # the slowest
                pooled = iqm_interval([list(s) for s in drawn], rng, bounds=SCORE)
                yield Statement("IQM over tasks", pooled, float(interquartile_mean(np.concatenate(full))))
                yield Statement(
                    "IQM of a task",
                    iqm_interval([list(drawn[0])], rng, bounds=SCORE),
                    float(interquartile_mean(full[0])),
                )
        for condition, reference in ((PLAIN, FIRST), (VIDEO, FIRST), (VIDEO, PLAIN), (PLACEBO, PLAIN)):
            changes = bank.gains(player, condition, reference)
            found = [list(change[pick]) for change, pick in zip(changes, picks, strict=True)]
            for change, sample in zip(changes, found, strict=True):
                yield Statement("gain of a task", mean_interval(sample, bounds=DIFFERENCE), float(change.mean()))
            truth = float(np.mean([change.mean() for change in changes]))
            yield Statement("gain over tasks", stratified_mean(found, bounds=DIFFERENCE), truth)
            better = float(np.mean([((np.sign(change) + 1) / 2).mean() for change in changes]))
            yield Statement("P(improves) over tasks", probability_of_improvement(found), better)
        known = float(PLAYERS[player].get("gains", {}).get(VIDEO, 0.0))
        yield Statement("gain per step", _step_gain(bank, player, picks), known)


def _step_gain(bank: Bank, player: str, picks: Sequence[NDArray[np.int_]]) -> Interval:
    """As `arena.calibration` measures it: rate of expert actions after the lesson minus before."""
    before = after = np.zeros(2)
    for task, pick in zip(TASKS, picks, strict=True):
        cell = bank.episodes[task, player]
        retried = pick[cell[0, pick, 1] == 0]
        before = before + cell[0, pick, 2:].sum(axis=0)
        after = after + cell[1 + RETRIES.index(VIDEO), retried, 2:].sum(axis=0)
    return proportion_difference((float(before[0]), float(before[1])), (float(after[0]), float(after[1])))


@dataclass
class Findings:
    """How often tests found something."""

    null: Counter[str] = field(default_factory=Counter)
    """Tests without a true effect: how many, and how many found one (p <= 0.05, uncorrected)."""
    families: int = 0
    false_families: int = 0
    """Agents of an experiment with at least one false finding after Holm's correction."""
    true_found: int = 0
    true_found_corrected: int = 0


COMPARED = ((PLAIN, FIRST), (VIDEO, FIRST), (VIDEO, PLAIN), (VIDEO, PLACEBO), (PLACEBO, FIRST), (PLACEBO, PLAIN))
"""The comparisons of an agent, which are corrected together. Those with first attempts are never null: luck gains."""


def test(bank: Bank, picks: Sequence[NDArray[np.int_]], rng: np.random.Generator, found: Findings) -> None:
    """The comparisons of one experiment, as the leaderboard makes them.

    Conditions without an effect are draws of one process; which of them is called what is tossed anew for every seed.
    So their null hypothesis holds exactly, whatever the means of a finite bank are.
    """
    for player in PLAYERS:
        alike = (PLAIN, PLACEBO) if player == "learner" else RETRIES
        by_task = []
        for task, pick in zip(TASKS, picks, strict=True):
            scores = {condition: bank.reported(task, player, condition)[pick] for condition in (FIRST, *RETRIES)}
            tossed = rng.permuted(np.stack([scores[condition] for condition in alike]), axis=0)
            by_task.append(scores | dict(zip(alike, tossed, strict=True)))
        p = {}
        for after, before in COMPARED:
            strata = [list(scores[after] - scores[before]) for scores in by_task]
            p[after, before] = sign_flip_test(strata)
            if after in alike and before in alike:
                found.null["tests"] += 1
                found.null["false"] += p[after, before] <= 0.05
                for one in strata:
                    found.null["task tests"] += 1
                    found.null["task false"] += sign_flip_test([one]) <= 0.05
        corrected = dict(zip(p, holm(list(p.values())), strict=True))
        found.families += 1
        found.false_families += any(
            value <= 0.05 for (after, before), value in corrected.items() if after in alike and before in alike
        )
        if player == "learner":
            found.true_found += p[VIDEO, PLAIN] <= 0.05
            found.true_found_corrected += corrected[VIDEO, PLAIN] <= 0.05


def simulate(bank: Bank, seeds: int, experiments: int, seed: int) -> dict[str, Any]:
    """So many experiments of so many seeds a task: coverage by kind of interval, and what the tests found."""
    rng = np.random.default_rng([seed, seeds])
    tallies: dict[str, Tally] = defaultdict(Tally)
    rows: dict[str, dict[int, Tally]] = defaultdict(lambda: defaultdict(Tally))
    found = Findings()
    for _ in track(range(experiments), f"Experiments of {seeds} seeds", console=console):
        picks = [rng.integers(bank.size, size=seeds) for _ in TASKS]
        for row, statement in enumerate(statements(bank, picks, rng)):
            tallies[statement.what].add(statement.interval, statement.truth)
            rows[statement.what][row].add(statement.interval, statement.truth)  # every experiment has the same rows
        test(bank, picks, rng, found)
    changes = bank.gains("learner", VIDEO, PLAIN)
    gain = float(np.mean([change.mean() for change in changes]))
    predicted = Pilot(list(changes), gain).power(seeds, rng)
    share = experiments or 1
    return {
        "seeds": seeds,
        "experiments": experiments,
        "coverage": {
            what: {
                "drawn": t.drawn / t.of,
                "covered": t.covered / max(1, t.drawn),
                "intervals": t.of,
                "rows": len(rows[what]),
                "lowest": min(row.covered / max(1, row.drawn) for row in rows[what].values()),
                "highest": max(row.covered / max(1, row.drawn) for row in rows[what].values()),
            }
            for what, t in tallies.items()
        },
        "false_positives": {
            "of_a_task": found.null["task false"] / found.null["task tests"],
            "over_tasks": found.null["false"] / found.null["tests"],
            "any_after_correction": found.false_families / max(1, found.families),
            "tests": found.null["tests"],
        },
        "power": {
            "gain": gain,
            "predicted": predicted,
            "found": found.true_found / share,
            "found_after_correction": found.true_found_corrected / share,
        },
    }


def pilots(bank: Bank, seeds: int, count: int, seed: int) -> dict[str, Any]:
    """`arena power` from small pilots: does its interval hold the number of seeds that it really takes?"""
    rng = np.random.default_rng([seed, 7, seeds])
    changes = bank.gains("learner", VIDEO, PLAIN)
    gain = float(np.mean([change.mean() for change in changes]))
    whole = Pilot(list(changes), gain)
    truth = next(n for n in range(2, 400) if whole.power(n, np.random.default_rng([seed, n])) >= 0.8)
    answers = []
    for _ in track(range(count), f"Pilots of {seeds} seeds", console=console):
        picks = [rng.integers(bank.size, size=seeds) for _ in TASKS]
        pilot = [list(change[pick]) for change, pick in zip(changes, picks, strict=True)]
        answers.append(seeds_needed(pilot, gain, rng))
    covered = np.mean([answer.low <= truth <= answer.high for answer in answers])
    low, middle, high = (float(q) for q in np.quantile([answer.seeds for answer in answers], [0.1, 0.5, 0.9]))
    return {
        "pilot_seeds": seeds,
        "pilots": count,
        "gain": gain,
        "seeds_needed": truth,
        "answers": {"p10": low, "median": middle, "p90": high},
        "closed_form_median": float(np.median([answer.closed_form for answer in answers])),
        "interval_holds": float(covered),
    }


# -- the whole pipeline ------------------------------------------------------------------------------------------------


def pipeline(bank: Bank, workers: int) -> dict[str, Any]:
    """One experiment for real; its episodes played again by the fast loop; its intervals beside the bank's truth."""
    with tempfile.TemporaryDirectory() as folder:
        place = Location.of(str(Path(folder) / "arena.db"))
        with place.open() as store:
            began = time.perf_counter()
            run_id = run.run(parse(EXPERIMENT), store, place, workers=workers)
            seconds = time.perf_counter() - began
            board = leaderboard(store, run_id)
            inside = [
                row.score.covers(float(bank.reported(row.task, row.agent, row.condition).mean()))
                for row in board.rows
                if row.agent in PLAYERS and row.score is not None and row.score.drawn
            ]
            verdicts = {f"{c.agent}: {c.condition} - {c.reference}": c.verdict for c in board.comparisons if not c.task}
            played, differing = replayed(store, run_id)
            lines = summary(calibration(store, run_id))
    for line in lines:
        console.print(line, markup=False, highlight=False)
    return {
        "run_s": round(seconds, 1),
        "episodes": played,
        "episodes_that_the_fast_loop_plays_otherwise": differing,
        "intervals": len(inside),
        "intervals_that_hold_the_banks_truth": sum(inside),
        "verdicts_over_tasks": verdicts,
        "calibration": lines,
    }


def replayed(store: Store, run_id: str) -> tuple[int, int]:
    """Play every calibrated episode again without the arena; how many, and how many came to another end."""
    envs = {task: environments.make(task, "semantic") for task in TASKS}
    episodes = [e for e in store.episodes(run_id) if e.spec["agent"]["agent"] == "calibrated" and e.scored]
    try:
        differing = sum(not _same(envs[e.task_id], e) for e in track(episodes, "Playing again", console=console))
    finally:
        for env in envs.values():
            env.close()
    return len(episodes), differing


def _same(env: ArenaEnv, episode: Episode) -> bool:
    agent = agents.create("calibrated", episode.spec["agent"]["options"])
    chance = derived_seed(episode.identity, "agent")
    lesson = "what was learned" if episode.lesson_id else None
    found = play(env, agent, episode.task_id, episode.seed, chance, lesson_kind(episode.spec), lesson)
    note = episode.summary["notes"][NOTE]
    return found == (episode.score, float(bool(episode.success)), float(note["true"]), float(note["n"]))


# -- the report --------------------------------------------------------------------------------------------------------


def report(result: dict[str, Any]) -> None:
    """The figures, for reading."""
    sizes = result["simulated"]
    table = Table(
        "interval",
        *(f"n = {found['seeds']}" for found in sizes),
        title="coverage (lowest and highest row; share drawn)",
    )
    for what in sizes[0]["coverage"]:
        cells = [found["coverage"][what] for found in sizes]
        table.add_row(
            what,
            *(f"{c['covered']:.1%} ({c['lowest']:.0%}-{c['highest']:.0%}; {c['drawn']:.0%})" for c in cells),
        )
    console.print(table)
    table = Table("tests", *(f"n = {found['seeds']}" for found in sizes), title="findings at 0.05")
    for name, path in (
        ("false, one task", ("false_positives", "of_a_task")),
        ("false, over tasks", ("false_positives", "over_tasks")),
        ("an agent's any false, Holm", ("false_positives", "any_after_correction")),
        ("power predicted", ("power", "predicted")),
        ("power found", ("power", "found")),
        ("power found after Holm", ("power", "found_after_correction")),
    ):
        table.add_row(name, *(f"{found[path[0]][path[1]]:.1%}" for found in sizes))
    console.print(table)
    for found in result["pilots"]:
        console.print(json.dumps(found), markup=False, highlight=False, soft_wrap=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=1000, help="simulated experiments of each size")
    parser.add_argument("--episodes", type=int, default=1000, help="world seeds in the bank")
    parser.add_argument("--bank", type=Path, help="file (.npz) in which the bank is kept, so that it is played once")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 10, 20, 50], help="sizes of the experiments")
    parser.add_argument("--pilots", type=int, default=200, help="simulated pilots")
    parser.add_argument("--seed", type=int, default=0, help="of all chance of the simulation")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-run", action="store_true", help="leave the run through the whole pipeline out")
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args()
    began = time.perf_counter()
    if given.bank and given.bank.exists():
        bank = Bank.load(given.bank)
    else:
        bank = build(given.episodes, given.workers)
        if given.bank:
            bank.save(given.bank)
    result: dict[str, Any] = {
        "machine": f"{machine()}, {os.cpu_count()} processors",
        "bank": bank.size,
        "settings": {key: value for key, value in vars(given).items() if key not in ("json", "bank")},
        "players": PLAYERS,
        "tasks": TASKS,
        "max_steps": MAX_STEPS,
        "run": None if given.no_run else pipeline(bank, given.workers),
        "simulated": [simulate(bank, seeds, given.experiments, given.seed) for seeds in given.seeds],
        "pilots": [pilots(bank, seeds, given.pilots, given.seed) for seeds in (5, 20)],
    }
    result["seconds"] = round(time.perf_counter() - began, 1)
    report(result)
    if result["run"]:
        console.print(json.dumps(result["run"], indent=1), markup=False, highlight=False, soft_wrap=True)
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
