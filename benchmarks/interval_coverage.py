"""Which interval covers at few seeds? `python benchmarks/interval_coverage.py [--experiments N] [--markdown FILE]`.

Candidates for the mean of a score in 0..1, on populations like those of games: successes, milestones, skew, ties at
either end. A sample without spread counts as each candidate draws it (a point, for most); `score` draws none where
equal values lie inside the scale, and is counted where it does. The last tables show the intervals over tasks, and the
interquartile means. `docs/statistics.md` holds the outcome. Everything is seeded.

    percentile     bootstrap, n of n, percentiles of the mean
    BCa            bootstrap, bias-corrected and accelerated (Efron 1987)
    studentised    bootstrap of the t statistic
    t              Student's interval
    Gaffke         bound for any bounded variable (Gaffke 2005; Learned-Miller and Thomas 2019)
    score          Wilson's with the data's own dispersion and Student's t: what `arena.statistics` uses
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from scipy import special

from arena.certification import machine
from arena.statistics import SHARE, interquartile_mean, iqm_interval, mean_interval, stratified_mean
from arena.statistics.means import SMALLEST_IQM

Floats = NDArray[np.float64]
Population = Callable[[np.random.Generator, tuple[int, ...]], Floats]
Bounds = tuple[Floats, Floats]

SIZES = (3, 5, 10, 20, 50)
RESAMPLES = 600
BIG = 1_000_000
"""Draws from which a population's true value is taken."""


def success(rate: float) -> Population:
    return lambda rng, shape: (rng.random(shape) < rate).astype(np.float64)


def mixed(at_zero: float, at_one: float, low: float, high: float) -> Population:
    """Ties at 0 and at 1 with these shares, the others uniform in between."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        kind, rest = rng.random(shape), rng.uniform(low, high, shape)
        return np.where(kind < at_zero, 0.0, np.where(kind < at_zero + at_one, 1.0, rest))

    return draw


def beta(a: float, b: float) -> Population:
    return lambda rng, shape: rng.beta(a, b, shape)


def milestones(rate: float) -> Population:
    return lambda rng, shape: rng.binomial(7, rate, shape) / 7


POPULATIONS: dict[str, Population] = {
    "success 5 %": success(0.05),
    "success 20 %": success(0.2),
    "success 50 %": success(0.5),
    "uniform": mixed(0, 0, 0, 1),
    "both ends (U)": beta(0.5, 0.5),
    "narrow": beta(50, 50),
    "skew to 0": beta(1, 6),
    "skew to 100": beta(8, 1),
    "long tail": lambda rng, shape: np.minimum(1.0, rng.lognormal(-2.5, 0.8, shape)),
    "half at 0": mixed(0.5, 0, 0, 1),
    "80 % at 0": mixed(0.8, 0, 0, 0.6),
    "60 % at 100": mixed(0, 0.6, 0, 0.6),
    "85 % at 100": mixed(0, 0.85, 0, 0.9),
    "30 % at either": mixed(0.3, 0.3, 0, 1),
    "1 of 7 milestones": milestones(1 / 7),
    "6 of 7 milestones": milestones(6 / 7),
}
TASK_SETS: dict[str, Sequence[str]] = {
    "six mixed": ("success 20 %", "uniform", "80 % at 0", "60 % at 100", "6 of 7 milestones", "long tail"),
    "six hard": ("success 5 %", "success 5 %", "80 % at 0", "1 of 7 milestones", "long tail", "skew to 0"),
    "six easy": ("85 % at 100", "success 50 %", "6 of 7 milestones", "skew to 100", "narrow", "30 % at either"),
    "two": ("uniform", "skew to 0"),
}


# -- candidates: (experiments, n) -> bounds, (experiments,) each ------------------------------------------------------


def percentile(x: Floats, rng: np.random.Generator) -> Bounds:
    means = x[:, rng.integers(x.shape[1], size=(RESAMPLES, x.shape[1]))].mean(axis=2)
    return tuple(np.quantile(means, [0.025, 0.975], axis=1))  # type: ignore[return-value]


def bca(x: Floats, rng: np.random.Generator) -> Bounds:
    n, mean = x.shape[1], x.mean(axis=1)
    means = np.sort(x[:, rng.integers(n, size=(RESAMPLES, n))].mean(axis=2), axis=1)
    below = (means < mean[:, None]).mean(axis=1) + (means == mean[:, None]).mean(axis=1) / 2
    bias = special.ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    left_out = (x.sum(axis=1)[:, None] - x) / (n - 1)
    u = left_out.mean(axis=1)[:, None] - left_out
    scale = 6 * ((u**2).sum(axis=1)) ** 1.5
    acceleration = np.divide((u**3).sum(axis=1), scale, out=np.zeros_like(mean), where=scale > 0)
    bounds = []
    for z in (-1.959964, 1.959964):
        place = special.ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
        column = np.clip((place * RESAMPLES).astype(int), 0, RESAMPLES - 1)
        bounds.append(means[np.arange(len(means)), column])
    return bounds[0], bounds[1]


def studentised(x: Floats, rng: np.random.Generator) -> Bounds:
    n, mean, spread = x.shape[1], x.mean(axis=1), x.std(axis=1, ddof=1)
    again = x[:, rng.integers(n, size=(RESAMPLES, n))]
    off = again.mean(axis=2) - mean[:, None]
    scale = again.std(axis=2, ddof=1)
    t = np.divide(off, scale, out=np.sign(off) * 1e9, where=scale > 0)
    low, high = np.quantile(t, [0.025, 0.975], axis=1)
    return np.maximum(0, mean - high * spread), np.minimum(1, mean - low * spread)


def student(x: Floats, rng: np.random.Generator) -> Bounds:
    n, mean = x.shape[1], x.mean(axis=1)
    half = special.stdtrit(n - 1, 0.975) * x.std(axis=1, ddof=1) / np.sqrt(n)
    return np.maximum(0, mean - half), np.minimum(1, mean + half)


def gaffke(x: Floats, rng: np.random.Generator) -> Bounds:
    ordered = np.sort(x, axis=1)
    spacings = rng.dirichlet(np.ones(x.shape[1] + 1), RESAMPLES).T
    ones, zeros = np.ones((len(x), 1)), np.zeros((len(x), 1))
    low = np.quantile(np.hstack([ordered, zeros]) @ spacings, 0.025, axis=1)
    high = np.quantile(np.hstack([ordered, ones]) @ spacings, 0.975, axis=1)
    return low, high


def score(x: Floats, rng: np.random.Generator) -> Bounds:
    found = [mean_interval(list(row), bounds=SHARE) for row in x]
    return np.array([value.low for value in found]), np.array([value.high for value in found])


CANDIDATES: dict[str, Callable[[Floats, np.random.Generator], Bounds]] = {
    "percentile": percentile,
    "BCa": bca,
    "studentised": studentised,
    "t": student,
    "Gaffke": gaffke,
    "score": score,
}


# -- tables ------------------------------------------------------------------------------------------------------------


def one_task(experiments: int, seed: int) -> list[str]:
    """Coverage of every candidate in % on every population, and mean widths, a table a size."""
    lines = []
    for n in SIZES:
        lines += [
            f"\n**n = {n}**\n",
            "| population | score drawn | " + " | ".join(CANDIDATES) + " |",
            "|---" * (2 + len(CANDIDATES)) + "|",
        ]
        widths: dict[str, list[float]] = {name: [] for name in CANDIDATES}
        for number, (name, draw) in enumerate(track(POPULATIONS.items(), f"n = {n}")):
            rng = np.random.default_rng([seed, n, number])
            truth = float(draw(rng, (BIG,)).mean())
            x = draw(rng, (experiments, n))
            cells = []
            for candidate, bounds in CANDIDATES.items():
                low, high = bounds(x, rng)
                drawn = ~np.isnan(low)
                cells.append(f"{100 * within(low, high, truth)[drawn].mean():.0f}")
                widths[candidate].append(float(np.nanmean(high - low)))
            lines.append(f"| {name} | {100 * drawn.mean():.0f} | {' | '.join(cells)} |")
        lines.append(
            "| mean width, points | | " + " | ".join(f"{100 * np.mean(widths[c]):.0f}" for c in CANDIDATES) + " |"
        )
    return lines


def over_tasks(experiments: int, seed: int) -> list[str]:
    """Coverage in % of the mean over tasks and of the interquartile mean, beside the percentile bootstrap's."""
    heads = ["mean: percentile", "mean: used", "IQM: percentile", "IQM: used"]
    lines = ["| tasks | n | " + " | ".join(heads) + " |", "|---" * (2 + len(heads)) + "|"]
    for number, (name, members) in enumerate(track(TASK_SETS.items(), "over tasks")):
        draws = [POPULATIONS[member] for member in members]
        for n in SIZES:
            rng = np.random.default_rng([seed, 1, number, n])
            whole = [draw(rng, (BIG // 2,)) for draw in draws]
            truth, middle = float(np.mean([w.mean() for w in whole])), float(interquartile_mean(np.concatenate(whole)))
            hits = np.zeros(4)
            for _ in range(experiments // 2):
                sample = [draw(rng, (n,)) for draw in draws]
                again = np.concatenate([x[rng.integers(n, size=(RESAMPLES, n))] for x in sample], axis=1)
                for place, (draw, value) in enumerate(
                    ((again.mean(axis=1), truth), (interquartile_mean(again), middle))
                ):
                    low, high = np.quantile(draw, [0.025, 0.975])
                    hits[2 * place] += low - 1e-9 <= value <= high + 1e-9
                rows = [list(x) for x in sample]
                hits[1] += stratified_mean(rows, bounds=SHARE).covers(truth)
                hits[3] += iqm_interval(rows, rng, bounds=SHARE).covers(middle)
            cells = [f"{100 * value:.0f}" for value in hits / (experiments // 2)]
            if n < SMALLEST_IQM:
                cells[3] = "none drawn"
            lines.append(f"| {name} | {n} | {' | '.join(cells)} |")
    return lines


def within(low: Floats, high: Floats, truth: float) -> NDArray[np.bool_]:
    return (low <= truth + 1e-9) & (high >= truth - 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--markdown", type=Path, help="write the tables there")
    given = parser.parse_args()
    lines = [f"{machine()}; {given.experiments} experiments a cell, seed {given.seed}"]
    lines += one_task(given.experiments, given.seed)
    lines += ["\n**Over tasks**\n", *over_tasks(given.experiments, given.seed)]
    print("\n".join(lines))
    if given.markdown:
        given.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
