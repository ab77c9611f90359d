"""The table of a run: one row per task, space, agent and condition, each with its interval and its episodes."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from typing import Any

import numpy as np

import environments
from arena.judging import EngineJudge
from arena.outcomes import Outcome
from arena.statistics import Interval, mean_interval, paired_difference, proportion
from environments.errors import UnknownTask
from environments.task import VLM_JUDGED
from storage.models import Episode, RunEpisode, Verdict
from storage.store import Store

TUTORIAL = "tutorial"
"""Condition of the expert's demonstrations: part of a run, never of its table."""


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
    outcomes: dict[str, int]
    """How the reported episodes ended."""
    illegal: int
    unparsable: int
    calls: int
    cost_usd: Decimal | None
    """Of the episodes' own calls (player and diagnoser), not those of reflector and judge; None if any is unknown."""
    judge: str = ""
    """Whose verdicts the score is made of, for a world that tells none of its own; empty where the engine scores."""
    episodes: list[str] = field(default_factory=list)
    """Ids of the reported episodes, by seed: every cell drills down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """All rows of a run, by task, space and condition (`single` first), the best first."""

    run_id: str
    name: str
    status: str
    rows: list[Row]
    planned: int
    done: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; decimals become strings, so that nothing is rounded."""
        return {**_jsonable(_fields(self)), "rows": [_jsonable(_fields(row)) for row in self.rows]}


def leaderboard(store: Store, run_id: str) -> Leaderboard:
    """Compute the table of a run from its rows; the same rows give the same digits."""
    run = store.run(run_id)
    links = [link for link in store.plan(run.id) if link.condition != TUTORIAL]
    tries = store.latest_tries({link.identity for link in links})
    finished = {identity: episode for identity, episode in tries.items() if episode.status == "finished"}
    cells: dict[tuple[str, str, str, str], list[RunEpisode]] = defaultdict(list)
    for link in links:
        cells[link.task_id, link.space, link.agent, link.condition].append(link)
    rows = [_row(store, members, finished) for members in cells.values()]
    rows.sort(key=_order)
    return Leaderboard(
        run_id=run.id,
        name=run.name,
        status=run.status,
        rows=rows,
        planned=sum(row.planned for row in rows),
        done=sum(row.done for row in rows),
    )


def _order(row: Row) -> tuple[str, str, bool, str, float]:
    """By task and space; what others are compared with first; then the best first."""
    return (row.task, row.space, row.condition != "single", row.condition, -(row.score.estimate if row.score else -1.0))


def _row(store: Store, links: Sequence[RunEpisode], finished: dict[str, Episode]) -> Row:
    links = sorted(links, key=lambda link: (link.seed, link.trial, link.round))
    head = links[0]
    reported = [finished[link.identity] for link in links if link.final and link.identity in finished]
    played = [finished[link.identity] for link in links if link.identity in finished]
    scored = [episode for episode in reported if episode.scored]
    # Chance of a row depends on what the row is, not on the order in which rows are computed.
    key = f"{head.task_id}|{head.space}|{head.agent}|{head.condition}"
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    costs = [Decimal(episode.summary["cost_usd"]) for episode in played if episode.summary.get("cost_usd") is not None]
    judge = ""
    judged = VLM_JUDGED in _tags(head.task_id)
    if judged:
        judge, scored = _judged(store, scored)
    unknown = any(episode.summary.get("cost_unknown") for episode in played)
    return Row(
        task=head.task_id,
        space=head.space,
        agent=head.agent,
        instrument=head.instrument,
        condition=head.condition,
        planned=len({link.trial for link in links}),
        done=sum(not Outcome(str(episode.outcome)).rerun for episode in reported),
        scored=len(scored),
        score=mean_interval(_by_seed((e.seed, e.score or 0.0) for e in scored), rng) if scored else None,
        success=_success(scored, rng) if scored else None,
        gain=None if judged else _gain(links, finished, rng),
        outcomes=dict(Counter(str(episode.outcome) for episode in reported)),
        illegal=sum(int(episode.summary.get("illegal", 0)) for episode in played),
        unparsable=sum(int(episode.summary.get("unparsable", 0)) for episode in played),
        calls=sum(int(episode.summary.get("calls", 0)) for episode in played),
        cost_usd=None if unknown else sum(costs, Decimal(0)),
        judge=judge,
        episodes=[episode.id for episode in reported],
    )


def _tags(task_id: str) -> tuple[str, ...]:
    try:
        return environments.get(task_id).tags
    except UnknownTask:  # recorded by a version that had it
        return ()


def _judged(store: Store, episodes: Sequence[Episode]) -> tuple[str, list[Episode]]:
    """Episodes of a world that tells no score, with the share of milestones that a judge holds reached in its place.

    The judge is the latest one that has judged all of them; without one nothing is scored.
    """
    # The engine's own verdicts say of every milestone that it has not seen it.
    verdicts = {e.id: [v for v in store.verdicts(e.id) if v.judge != EngineJudge.name] for e in episodes}
    latest: dict[str, Verdict] = {}
    for verdict in sorted((v for group in verdicts.values() for v in group), key=lambda v: v.created_at):
        latest[verdict.fingerprint] = verdict
    for fingerprint, verdict in sorted(latest.items(), key=lambda item: item[1].created_at, reverse=True):
        of_judge = [[v for v in group if v.fingerprint == fingerprint] for group in verdicts.values()]
        if all(of_judge):
            return verdict.judge, [_with_score(e, votes) for e, votes in zip(episodes, of_judge, strict=True)]
    return "", []


def _with_score(episode: Episode, verdicts: Sequence[Verdict]) -> Episode:
    reached = {verdict.milestone_id for verdict in verdicts if verdict.verdict == "reached"}
    score = 100.0 * len(reached) / len({verdict.milestone_id for verdict in verdicts})
    return replace(episode, score=score, success=score == 100.0)


def _gain(links: Sequence[RunEpisode], finished: dict[str, Episode], rng: np.random.Generator) -> Interval | None:
    """Reported round minus first round, over the trials where both are scored, paired by seed."""
    if all(link.round == 0 for link in links):
        return None
    first = {link.trial: finished.get(link.identity) for link in links if link.round == 0}
    last = {link.trial: finished.get(link.identity) for link in links if link.final}
    pairs = [
        (before.seed, before.score or 0.0, after.score or 0.0)
        for trial, before in first.items()
        if before and before.scored and (after := last.get(trial)) and after.scored
    ]
    if not pairs:
        return None
    return paired_difference(_by_seed((s, b) for s, b, _ in pairs), _by_seed((s, a) for s, _, a in pairs), rng)


def _success(scored: Sequence[Episode], rng: np.random.Generator) -> Interval:
    """Wilson's interval where every seed was played once: a bootstrap of 5 wins in 5 would claim certainty."""
    seeds = _by_seed((episode.seed, float(bool(episode.success))) for episode in scored)
    return proportion(sum(seeds), len(seeds)) if len(seeds) == len(scored) else mean_interval(seeds, rng)


def _by_seed(values: Iterable[tuple[int, float]]) -> list[float]:
    """One mean per seed: repetitions on a seed are no independent units."""
    groups: dict[int, list[float]] = defaultdict(list)
    for seed, value in values:
        groups[seed].append(value)
    return [sum(group) / len(group) for _, group in sorted(groups.items())]


def _fields(item: Any) -> dict[str, Any]:
    # Not dataclasses.asdict: it would take the named tuples apart.
    return {entry.name: getattr(item, entry.name) for entry in fields(item) if entry.name != "rows"}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Interval):
        return {"estimate": value.estimate, "low": _finite(value.low), "high": _finite(value.high), "n": value.n}
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    return value


def _finite(value: float) -> float | None:
    return None if value != value else value
