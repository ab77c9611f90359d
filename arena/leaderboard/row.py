"""The rows: one per task, space, agent and condition, each with its intervals and its episodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeVar

from arena.leaderboard.cell import Cell, first_pairs, seed_differences
from arena.leaderboard.normalisation import Scale, extreme
from arena.outcomes import Outcome
from arena.statistics import (
    DIFFERENCE,
    SCORE,
    SHARE,
    Interval,
    iqm_interval,
    mean_interval,
    proportion,
    rank_bands,
)

Band = tuple[int, int]
"""Best and worst rank, from 1, that the intervals allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cell of the experiment, over its seeds."""

    task: str
    space: str
    agent: str
    instrument: str
    """Label of an agent that is an instrument and no contestant; empty otherwise."""
    condition: str
    planned: int
    """Trials (seeds) that the experiment asks for."""
    done: int
    """Of them, those whose reported round is over, and not by a failure that the next start tries again."""
    scored: int
    score: Interval | None
    """Mean score 0..100 of the rounds that the condition reports; None if nothing was scored."""
    success: Interval | None
    """Share of episodes that reached the goal, in 0..1."""
    gain: Interval | None
    """Score after retrying minus score of the first attempt, paired by seed; None without retries."""
    iqm: Interval | None = None
    """Interquartile mean of the score, 0..100."""
    normalised: Interval | None = None
    """Mean score between the random player (0) and the expert (1); None where the run has not both."""
    extreme: str = ""
    """`floor` or `ceiling`, where the mean sits at an end of its scale and differences say little."""
    rank: Band | None = None
    """Among the agents of the same task, space and condition; overlapping intervals have no order."""
    outcomes: dict[str, int]
    """How the reported episodes ended."""
    excluded: int = 0
    """Reported episodes that are no score: how they ended is in `outcomes`."""
    retries: int = 0
    """Tries beyond the first, over all rounds; only a failure of machine or provider leads to one."""
    failures: dict[str, int] = field(default_factory=dict)
    """Failures of machine and provider, over all tries and rounds, by outcome."""
    illegal: int
    unparsable: int
    calls: int
    cost_usd: Decimal | None
    """Of the episodes' own calls (player and diagnoser), not those of reflector and judge; None if any is unknown."""
    judge: str = ""
    """Whose verdicts the score is made of, for a world that tells none of its own; empty where the engine scores."""
    episodes: list[str] = field(default_factory=list)
    """Ids of the reported episodes, by seed: every cell drills down."""


def rows(found: Sequence[Cell], scales: dict[tuple[str, str], Scale]) -> list[Row]:
    """The rows of all cells, by task, space and condition (`single` first), the best first."""
    made = [_row(cell, scales.get((cell.task, cell.space))) for cell in found]
    bands = ranks([((row.task, row.space, row.condition), row.score) for row in made])
    ranked = [replace(row, rank=band) for row, band in zip(made, bands, strict=True)]
    return sorted(ranked, key=_order)


_Group = TypeVar("_Group", bound=Hashable)


def ranks(scores: Sequence[tuple[_Group, Interval | None]]) -> list[Band | None]:
    """The rank band of each score among those of its group."""
    groups: dict[_Group, list[int]] = defaultdict(list)
    for position, (group, _) in enumerate(scores):
        groups[group].append(position)
    found: list[Band | None] = [None] * len(scores)
    for members in groups.values():
        for position, band in zip(members, rank_bands([scores[i][1] for i in members]), strict=True):
            found[position] = band
    return found


def _order(row: Row) -> tuple[str, str, bool, str, float]:
    """By task and space; what others are compared with first; then the best first."""
    return (row.task, row.space, row.condition != "single", row.condition, -(row.score.estimate if row.score else -1.0))


def _row(cell: Cell, scale: Scale | None) -> Row:
    played, scores = cell.played, list(cell.scores.values())
    costs = [Decimal(episode.summary["cost_usd"]) for episode in played if episode.summary.get("cost_usd") is not None]
    unknown = any(episode.summary.get("cost_unknown") for episode in played)
    score = mean_interval(scores) if scores else None
    gains = seed_differences(first_pairs(cell)) if cell.retried else []
    retries, failures = tried_again([cell])
    return Row(
        task=cell.task,
        space=cell.space,
        agent=cell.agent,
        instrument=cell.links[0].instrument,
        condition=cell.condition,
        planned=len({link.trial for link in cell.links}),
        done=sum(not Outcome(str(episode.outcome)).rerun for episode in cell.reported),
        scored=len(cell.scored),
        score=score,
        success=_success(cell) if scores else None,
        gain=mean_interval(gains, bounds=DIFFERENCE) if gains else None,
        iqm=iqm_interval([scores], cell.chance("iqm"), bounds=SCORE) if scores else None,
        normalised=_normalised(score, scale),
        extreme=extreme(score.estimate, scale) if score else "",
        outcomes=dict(Counter(str(episode.outcome) for episode in cell.reported)),
        excluded=len(cell.reported) - len(cell.scored),
        retries=retries,
        failures=failures,
        illegal=sum(int(episode.summary.get("illegal", 0)) for episode in played),
        unparsable=sum(int(episode.summary.get("unparsable", 0)) for episode in played),
        calls=sum(int(episode.summary.get("calls", 0)) for episode in played),
        cost_usd=None if unknown else sum(costs, Decimal(0)),
        judge=cell.judge,
        episodes=[episode.id for episode in cell.reported],
    )


def _normalised(score: Interval | None, scale: Scale | None) -> Interval | None:
    """The same interval on the scale of the two reference players, whose means are taken for known."""
    if score is None or scale is None:
        return None
    return score._replace(
        estimate=scale.share(score.estimate), low=scale.share(score.low), high=scale.share(score.high)
    )


def tried_again(found: Sequence[Cell]) -> tuple[int, dict[str, int]]:
    """Tries beyond the first of some cells, and their failures by outcome; what they share counts once."""
    episodes = {episode.identity: (episode, cell) for cell in found for episode in cell.played}
    failures: Counter[str] = Counter()
    for episode, cell in episodes.values():
        failures += cell.failures.get(episode.identity, Counter())
        if Outcome(str(episode.outcome)).rerun:
            failures[str(episode.outcome)] += 1
    return sum(episode.try_no for episode, _ in episodes.values()), dict(sorted(failures.items()))  # counted from 0


def _success(cell: Cell) -> Interval:
    """Wilson's interval where every seed was played once; else that of a mean over seeds."""
    seeds = list(cell.successes.values())
    return proportion(sum(seeds), len(seeds)) if len(seeds) == len(cell.scored) else mean_interval(seeds, bounds=SHARE)
