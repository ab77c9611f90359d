"""From coarse to fine: which frames a judge should look at a second time, within a budget."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from arena.judging.judge import MilestoneVerdict

SURE = 0.8
"""A `not_reached` below this confidence is looked at again."""


@dataclass(frozen=True, slots=True)
class Closer:
    """What is to be looked at again."""

    milestones: tuple[str, ...]
    """In the order of the verdicts; empty if nothing is open, or no frame is left between those that were shown."""
    frames: tuple[int, ...]
    """Indices, strictly increasing; those that the verdicts rely on are among them, as far as the budget goes."""


def closer(verdicts: Sequence[MilestoneVerdict], shown: Sequence[int], budget: int) -> Closer:
    """Plan the second look.

    Open are: what the judge could not tell or answered unusably, a `not_reached` that it is not sure of, and a
    `reached` whose first frame may lie before the one it cites. For the last, frames between the cited one and the
    shown one before it are wanted; for what has a frame, those around it; for the rest, any. The widest gaps are
    halved first, and open milestones take turns, so that one of them does not use up the budget.

    Args:
        verdicts: One per milestone, after the first look.
        shown: Frames of the first look, strictly increasing.
        budget: Frames of the second look at most.
    """
    gaps = {v.milestone_id: _gaps(v, shown) for v in verdicts}
    gaps = {milestone: places for milestone, places in gaps.items() if places}
    if budget < 1 or not gaps:
        return Closer((), ())
    cited = [v.frame for v in verdicts if v.milestone_id in gaps and v.frame is not None]
    chosen = sorted(set(cited))[: budget // 2]  # half at most: the second look is for what is new
    while len(chosen) < budget:
        before = len(chosen)
        for places in gaps.values():
            if len(chosen) < budget:
                _halve(places, chosen)
        if len(chosen) == before:
            break
    return Closer(tuple(gaps), tuple(chosen))


def _gaps(verdict: MilestoneVerdict, shown: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches between two shown frames, with frames inside, where the answer may lie."""
    sure = verdict.confidence is not None and verdict.confidence >= SURE
    if verdict.verdict == "not_reached" and sure:
        return []
    stretches = [(first, last) for first, last in pairwise(shown) if last - first > 1]
    if verdict.frame is None:
        return stretches
    if verdict.verdict == "reached":
        return [(first, last) for first, last in stretches if last == verdict.frame]
    return [(first, last) for first, last in stretches if verdict.frame in (first, last)] or stretches


def _halve(places: list[tuple[int, int]], chosen: list[int]) -> None:
    """Take the middle of the widest gap; a gap without inner frames is dropped."""
    while places:
        widest = max(places, key=lambda ends: (ends[1] - ends[0], -ends[0]))
        places.remove(widest)
        first, last = widest
        middle = (first + last) // 2
        places += [ends for ends in ((first, middle), (middle, last)) if ends[1] - ends[0] > 1]
        if middle not in chosen:
            bisect.insort(chosen, middle)
            return
