"""What a condition gains: against its own first attempts, and against the conditions that tell learning from luck.

A retry gains even if nothing was learned, since only failures are tried again. So a condition is also compared with
`plain-retry` (the same tries without a lesson) and `placebo` (a lesson from the wrong pictures), on the same seeds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from arena.conditions import HELD_OUT
from arena.leaderboard.cells import Cell, Pair, first_pairs, pairs, seed_differences
from arena.statistics import (
    DIFFERENCE,
    Interval,
    McNemar,
    holm,
    mcnemar,
    probability_of_improvement,
    sign_flip_test,
    standardised_effect,
    stratified_mean,
)

FIRST: Final = "first attempt"
"""What every condition that retries is compared with: itself before."""
REFERENCES: Final = ("plain-retry", "placebo", "placebo" + HELD_OUT)
"""Labels of the conditions that others are compared with, where a run has them; held-out with held-out alone."""
ALPHA: Final = 0.05
CORRECTION: Final = "Holm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A condition against a reference, on the seeds that both have a score on."""

    task: str
    """Empty for all tasks of the space together, every task weighing alike."""
    space: str
    agent: str
    condition: str
    reference: str
    tasks: int
    pairs: int
    """Seeds, over the tasks."""
    difference: Interval
    """Mean score of the condition minus that of the reference, in points."""
    improvement: Interval
    """How likely a seed improves, half of the equal ones counted in: 0.5 is no effect."""
    effect: float | None
    """Standardised: mean over standard deviation of the differences (Hedges' correction); None without spread."""
    success: McNemar
    """Successes lost and gained, and McNemar's exact p, uncorrected."""
    p: float
    """Of the sign-flip test, uncorrected."""
    p_corrected: float = 1.0
    """By Holm, among all comparisons of the run over tasks, or among all single-task ones."""

    @property
    def verdict(self) -> str:
        """`better` or `worse` where the corrected p is at most 0.05, else empty."""
        if self.p_corrected > ALPHA:
            return ""
        return "better" if self.difference.estimate > 0 else "worse"


def comparisons(found: Sequence[Cell]) -> list[Comparison]:
    """All comparisons of a run: those over tasks first, then task by task; p corrected within each of the two."""
    cells = {(cell.task, cell.space, cell.agent, cell.condition): cell for cell in found}
    single: list[tuple[Comparison, list[Pair]]] = []
    for cell in found:
        for reference in (FIRST, *REFERENCES):
            other = cells.get((cell.task, cell.space, cell.agent, reference))
            pairing = _pairing(cell, reference, other)
            if pairing:
                single.append((_comparison(cell, reference, [pairing], cell.task), pairing))
    groups: dict[tuple[str, str, str, str], list[list[Pair]]] = defaultdict(list)
    heads: dict[tuple[str, str, str, str], Comparison] = {}
    for made, pairing in single:
        key = (made.space, made.agent, made.condition, made.reference)
        groups[key].append(pairing)
        heads[key] = made
    of_cell = {(cell.space, cell.agent, cell.condition): cell for cell in found}
    over = [
        heads[key] if len(group) == 1 else _comparison(of_cell[key[:3]], key[3], group, "")
        for key, group in groups.items()
    ]
    over = [replace(made, task="") for made in over]
    return [*_corrected(over), *_corrected([made for made, _ in single])]


def differences(found: Sequence[Cell]) -> dict[tuple[str, str, str, str], dict[str, list[float]]]:
    """Paired differences by seed and by task, of every space, agent, condition and reference: `arena power`'s pilot."""
    cells = {(cell.task, cell.space, cell.agent, cell.condition): cell for cell in found}
    result: dict[tuple[str, str, str, str], dict[str, list[float]]] = defaultdict(dict)
    for cell in found:
        for reference in (FIRST, *REFERENCES):
            other = cells.get((cell.task, cell.space, cell.agent, reference))
            pairing = _pairing(cell, reference, other)
            if pairing:
                result[cell.space, cell.agent, cell.condition, reference][cell.task] = seed_differences(pairing)
    return dict(result)


def _pairing(cell: Cell, reference: str, other: Cell | None) -> list[Pair]:
    """What is compared: only conditions that retry, with their first attempts and with the references that retry."""
    if not cell.retried:
        return []
    if reference == FIRST:
        return first_pairs(cell)
    if other is None or other.condition == cell.condition:
        return []
    if other.condition.endswith(HELD_OUT) != cell.condition.endswith(HELD_OUT):
        return []
    # Each pair of references once: the placebo against the plain retry.
    if cell.condition in REFERENCES and REFERENCES.index(cell.condition) < REFERENCES.index(reference):
        return []
    return pairs(other, cell)


def _comparison(cell: Cell, reference: str, pairings: Sequence[list[Pair]], task: str) -> Comparison:
    by_task = [seed_differences(pairing) for pairing in pairings]
    every = [pair for pairing in pairings for pair in pairing]
    return Comparison(
        task=task,
        space=cell.space,
        agent=cell.agent,
        condition=cell.condition,
        reference=reference,
        tasks=len(pairings),
        pairs=sum(map(len, by_task)),
        difference=stratified_mean(by_task, bounds=DIFFERENCE),
        improvement=probability_of_improvement(by_task),
        effect=standardised_effect(by_task),
        success=mcnemar([bool(b.success) for _, b, _ in every], [bool(a.success) for _, _, a in every]),
        p=sign_flip_test(by_task),
    )


def _corrected(found: Sequence[Comparison]) -> list[Comparison]:
    ordered = sorted(found, key=lambda c: (c.task, c.space, c.agent, c.condition, _place(c.reference)))
    p = holm([made.p for made in ordered])
    return [replace(made, p_corrected=value) for made, value in zip(ordered, p, strict=True)]


def _place(reference: str) -> int:
    return (FIRST, *REFERENCES).index(reference)
