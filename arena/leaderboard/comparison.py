"""What a condition gains: against its own first attempts, and against the conditions that tell learning from luck.

A retry gains even if nothing was learned, since only failures are tried again. So a condition is also compared with
`plain-retry` (the same tries without a lesson) and `placebo` (a lesson from the wrong pictures), on the same seeds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from arena.conditions import HELD_OUT
from arena.leaderboard.cell import Cell, Pair, first_pairs, pairs, seed_differences
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
    """By Holm, among the agent's comparisons over tasks, or among its single-task ones."""

    @property
    def verdict(self) -> str:
        """`better` or `worse` where the corrected p is at most 0.05, else empty."""
        if self.p_corrected > ALPHA:
            return ""
        return "better" if self.difference.estimate > 0 else "worse"


def comparisons(found: Sequence[Cell]) -> list[Comparison]:
    """All comparisons of a run: those over tasks first, then task by task; p corrected among each agent's own."""
    single: list[Comparison] = []
    groups: dict[tuple[str, str, str, str], list[tuple[Cell, list[Pair]]]] = defaultdict(list)
    for cell, reference, pairing in _pairings(found):
        single.append(_comparison(cell, reference, [pairing], cell.task))
        groups[cell.space, cell.agent, cell.condition, reference].append((cell, pairing))
    over = [
        _comparison(members[0][0], key[3], [pairing for _, pairing in members], "") for key, members in groups.items()
    ]
    return [*_corrected(over), *_corrected(single)]


def differences(found: Sequence[Cell]) -> dict[tuple[str, str, str, str], dict[str, list[float]]]:
    """Paired differences by seed and by task, of every space, agent, condition and reference: `arena power`'s pilot."""
    result: dict[tuple[str, str, str, str], dict[str, list[float]]] = defaultdict(dict)
    for cell, reference, pairing in _pairings(found):
        result[cell.space, cell.agent, cell.condition, reference][cell.task] = seed_differences(pairing)
    return dict(result)


def _pairings(found: Sequence[Cell]) -> Iterator[tuple[Cell, str, list[Pair]]]:
    """Every cell of a condition that retries, with each reference that it has pairs with."""
    cells = {(cell.task, cell.space, cell.agent, cell.condition): cell for cell in found}
    # By condition, not by cell: where all first attempts were won nothing was retried, and that is a gain of zero.
    retrying = {cell.condition for cell in found if cell.retried}
    for cell in found:
        if cell.condition not in retrying:
            continue
        for reference in (FIRST, *REFERENCES):
            other = cells.get((cell.task, cell.space, cell.agent, reference))
            pairing = first_pairs(cell) if reference == FIRST else _reference_pairs(cell, other)
            if pairing:
                yield cell, reference, pairing


def _reference_pairs(cell: Cell, other: Cell | None) -> list[Pair]:
    """Pairs with a reference; none with itself, and of two references the later alone is compared with the earlier."""
    if other is None or other.condition == cell.condition:
        return []
    if other.condition.endswith(HELD_OUT) != cell.condition.endswith(HELD_OUT):
        return []
    if cell.condition in REFERENCES and REFERENCES.index(cell.condition) < REFERENCES.index(other.condition):
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
    """The comparisons in order, each agent's a family of its own: what is asked is whether *this* agent learns."""
    families: dict[str, list[Comparison]] = defaultdict(list)
    for made in found:
        families[made.agent].append(made)
    corrected = [
        replace(made, p_corrected=p)
        for family in families.values()
        for made, p in zip(family, holm([made.p for made in family]), strict=True)
    ]
    places = (FIRST, *REFERENCES)
    return sorted(corrected, key=lambda c: (c.task, c.space, c.agent, c.condition, places.index(c.reference)))
