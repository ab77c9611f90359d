"""Over tasks: one row per space, agent and condition, every task weighing alike."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arena.leaderboard.cell import Cell
from arena.leaderboard.normalisation import Scale
from arena.leaderboard.row import Band, ranks
from arena.statistics import SCORE, SHARE, Duel, Interval, Strengths, bradley_terry, iqm_interval, stratified_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """An agent under a condition, over the tasks that it has scores on."""

    space: str
    agent: str
    instrument: str
    condition: str
    tasks: int
    of_tasks: int
    """Tasks that the run has in this space: an agent that played fewer is not ranked among those that played all."""
    n: int
    """Seeds, over all tasks."""
    score: Interval
    """Mean over tasks of the mean score, 0..100."""
    success: Interval
    """Mean over tasks of the share of successes, 0..1."""
    normalised: Interval | None
    """Mean over tasks of the score between random player (0) and expert (1); None unless every task has both."""
    iqm: Interval
    """Interquartile mean over tasks and seeds; of the normalised scores where there are such, else of the scores."""
    iqm_normalised: bool
    rank: Band | None = None
    """Among the agents of the same space, condition and tasks; overlapping intervals have no order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadToHead:
    """Who does better on the same task and seed, as strengths of one scale."""

    space: str
    condition: str
    strengths: Strengths


def aggregates(found: Sequence[Cell], scales: dict[tuple[str, str], Scale]) -> list[Aggregate]:
    """The rows over tasks, by space and condition (`single` first), the best first."""
    groups: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    places: dict[str, set[str]] = defaultdict(set)
    for cell in found:
        places[cell.space].add(cell.task)
        if cell.scores:
            groups[cell.space, cell.agent, cell.condition].append(cell)
    made = [(_aggregate(members, scales, len(places[key[0]])), members) for key, members in groups.items()]
    bands = ranks(
        [((row.space, row.condition, frozenset(cell.task for cell in members)), row.score) for row, members in made]
    )
    ranked = [replace(row, rank=band) for (row, _), band in zip(made, bands, strict=True)]
    return sorted(ranked, key=lambda r: (r.space, r.condition != "single", r.condition, -r.score.estimate, r.agent))


def head_to_heads(found: Sequence[Cell]) -> list[HeadToHead]:
    """Bradley-Terry strengths of the agents of each space and condition, where there are two or more."""
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in found:
        if cell.scores:
            groups[cell.space, cell.condition].append(cell)
    result = []
    for (space, condition), members in sorted(groups.items(), key=lambda item: (item[0][1] != "single", item[0])):
        if len({cell.agent for cell in members}) > 1:
            strengths = bradley_terry(_duels(members), _chance(f"{space}|{condition}|strengths"))
            result.append(HeadToHead(space=space, condition=condition, strengths=strengths))
    return result


def _aggregate(members: Sequence[Cell], scales: dict[tuple[str, str], Scale], of_tasks: int) -> Aggregate:
    head = members[0]
    scores = [list(cell.scores.values()) for cell in members]
    known = [scales.get((cell.task, cell.space)) for cell in members]
    chosen = [scale for scale in known if scale is not None]
    chance = _chance(f"{head.space}|{head.agent}|{head.condition}|iqm")
    normalised, shares = None, None
    if len(chosen) == len(members):
        shares = [[scale.share(s) for s in values] for scale, values in zip(chosen, scores, strict=True)]
        normalised = _normalised(scores, chosen)
    return Aggregate(
        space=head.space,
        agent=head.agent,
        instrument=head.links[0].instrument,
        condition=head.condition,
        tasks=len(members),
        of_tasks=of_tasks,
        n=sum(map(len, scores)),
        score=stratified_mean(scores),
        success=stratified_mean([list(cell.successes.values()) for cell in members], bounds=SHARE),
        normalised=normalised,
        iqm=iqm_interval(shares or scores, chance, bounds=None if shares else SCORE),
        iqm_normalised=shares is not None,
    )


def _normalised(scores: Sequence[Sequence[float]], scales: Sequence[Scale]) -> Interval:
    """The mean normalised score is a weighted sum of mean scores, moved: the reference means are taken for known."""
    weights = [1 / (scale.ceiling - scale.floor) / len(scales) for scale in scales]
    moved = sum(scale.floor * weight for scale, weight in zip(scales, weights, strict=True))
    found = stratified_mean(scores, weights=weights)
    return found._replace(estimate=found.estimate - moved, low=found.low - moved, high=found.high - moved)


def _duels(members: Sequence[Cell]) -> list[Duel]:
    """Every two agents on every task and seed that both have a score on."""
    by_task: dict[str, list[Cell]] = defaultdict(list)
    for cell in members:
        by_task[cell.task].append(cell)
    found = []
    for task, players in sorted(by_task.items()):
        players.sort(key=lambda cell: cell.agent)
        for i, first in enumerate(players):
            for second in players[i + 1 :]:
                for seed in first.scores.keys() & second.scores.keys():
                    a, b = first.scores[seed], second.scores[seed]
                    result = 0.5 if a == b else float(a > b)
                    found.append(Duel(first.agent, second.agent, result, f"{task} {seed}"))
    return found


def _chance(use: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(use.encode()))
