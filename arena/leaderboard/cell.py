"""One cell of an experiment: the episodes of an agent under a condition on a task, and what they are worth."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import environments
from arena.judging import EngineJudge
from arena.judging.human import without_superseded
from arena.judging.report import majority_vote
from environments.errors import UnknownTask
from environments.task import VLM_JUDGED
from storage.models import Episode, RunEpisode, Verdict
from storage.store import Store

TUTORIAL = "tutorial"
"""Condition of the expert's demonstrations: part of a run, never of its table."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The plan rows of one task, space, agent and condition, with the latest finished try of each."""

    links: Sequence[RunEpisode]
    """Ordered by seed, trial and round."""
    finished: dict[str, Episode]
    """By identity; of the whole run."""
    failures: dict[str, Counter[str]]
    """Outcomes of the tries that did not count, by identity; of the whole run."""
    judge: str = ""
    """Whose verdicts the score is made of, where the engine tells none."""
    judged: bool = False
    """Whether the task's world tells no score."""
    scored: Sequence[Episode] = ()
    """The reported episodes whose score counts; of a judged world with the judge's score."""

    @property
    def task(self) -> str:
        """Id of the task."""
        return self.links[0].task_id

    @property
    def space(self) -> str:
        """The action space."""
        return self.links[0].space

    @property
    def agent(self) -> str:
        """Label of the agent."""
        return self.links[0].agent

    @property
    def condition(self) -> str:
        """Label of the condition."""
        return self.links[0].condition

    @cached_property
    def reported(self) -> list[Episode]:
        """The finished episodes that the condition reports, one a trial."""
        return [self.finished[link.identity] for link in self.links if link.final and link.identity in self.finished]

    @cached_property
    def played(self) -> list[Episode]:
        """All finished episodes of the cell, of every round."""
        return [self.finished[link.identity] for link in self.links if link.identity in self.finished]

    @cached_property
    def scores(self) -> dict[int, float]:
        """Mean score 0..100 by seed (`unit`)."""
        return by_seed((unit(episode), episode.score or 0.0) for episode in self.scored)

    @cached_property
    def successes(self) -> dict[int, float]:
        """Share of successes by seed (`unit`)."""
        return by_seed((unit(episode), float(bool(episode.success))) for episode in self.scored)

    @property
    def retried(self) -> bool:
        """Whether any trial went beyond its first attempt."""
        return any(link.round for link in self.links)

    @cached_property
    def first(self) -> dict[str, Episode]:
        """The first attempt of each trial, where it is scored and the engine tells the score."""
        return {} if self.judged else dict(self._by_trial(link for link in self.links if link.round == 0))

    @cached_property
    def last(self) -> dict[str, Episode]:
        """The reported attempt of each trial, where it is scored."""
        scored = {episode.identity: episode for episode in self.scored}
        return {link.trial: scored[link.identity] for link in self.links if link.final and link.identity in scored}

    def _by_trial(self, links: Iterable[RunEpisode]) -> Iterator[tuple[str, Episode]]:
        for link in links:
            episode = self.finished.get(link.identity)
            if episode is not None and episode.scored:
                yield link.trial, episode

    def chance(self, use: str) -> np.random.Generator:
        """Chance that depends on what is drawn for, not on the order in which rows are computed."""
        key = f"{self.task}|{self.space}|{self.agent}|{self.condition}|{use}"
        return np.random.default_rng(zlib.crc32(key.encode()))


Pair = tuple[int, Episode, Episode]
"""Seed, episode before, episode after."""


def unit(episode: Episode) -> int:
    """The seed that an episode stands for: on a held-out seed that of the lesson, as tries of one lesson share it."""
    retry = episode.spec.get("retry") or {}
    return int(retry.get("learned_on", episode.seed))


def cells(store: Store, run_id: str) -> list[Cell]:
    """All cells of a run, tutorials left out, ordered as the plan is."""
    links = [link for link in store.plan(run_id) if link.condition != TUTORIAL]
    tries = store.latest_tries({link.identity for link in links})
    finished = {identity: episode for identity, episode in tries.items() if episode.status == "finished"}
    failures = _failures(store, tries)
    groups: dict[tuple[str, str, str, str], list[RunEpisode]] = defaultdict(list)
    for link in links:
        groups[link.task_id, link.space, link.agent, link.condition].append(link)
    found = []
    for group in groups.values():
        group.sort(key=lambda link: (link.seed, link.trial, link.round))
        cell = Cell(links=group, finished=finished, failures=failures, judged=VLM_JUDGED in _tags(group[0].task_id))
        scored = [episode for episode in cell.reported if episode.scored]
        judge = ""
        if cell.judged:
            judge, scored = _judged(store, scored)
        found.append(replace(cell, judge=judge, scored=scored))
    return found


def pairs(before: Cell, after: Cell) -> list[Pair]:
    """Reported episodes of two conditions: trial by trial where they share first attempts, else seed by seed."""
    shared = before.last.keys() & after.last.keys()
    if shared:
        return _sorted((unit(after.last[trial]), before.last[trial], after.last[trial]) for trial in shared)
    firsts = {(episode.seed, episode.spec.get("repetition", 0)): episode for episode in before.last.values()}
    return _sorted(
        (unit(episode), firsts[key], episode)
        for episode in after.last.values()
        if (key := (episode.seed, episode.spec.get("repetition", 0))) in firsts
    )


def first_pairs(cell: Cell) -> list[Pair]:
    """The first attempt of each trial beside the one that is reported, where both are scored."""
    return _sorted(
        (unit(cell.last[trial]), before, cell.last[trial]) for trial, before in cell.first.items() if trial in cell.last
    )


def seed_differences(found: Sequence[Pair]) -> list[float]:
    """Score after minus score before, one mean a seed: repetitions on a seed are no independent units."""
    return list(by_seed((seed, (after.score or 0.0) - (before.score or 0.0)) for seed, before, after in found).values())


def by_seed(values: Iterable[tuple[int, float]]) -> dict[int, float]:
    """One mean per seed, by seed."""
    groups: dict[int, list[float]] = defaultdict(list)
    for seed, value in values:
        groups[seed].append(value)
    return {seed: sum(group) / len(group) for seed, group in sorted(groups.items())}


def _sorted(found: Iterable[Pair]) -> list[Pair]:
    return sorted(found, key=lambda pair: (pair[0], pair[1].id, pair[2].id))


def _failures(store: Store, tries: dict[str, Episode]) -> dict[str, Counter[str]]:
    """Outcomes of the earlier tries of what was tried more than once."""
    again = [identity for identity, episode in tries.items() if episode.try_no > 0]
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for start in range(0, len(again), 500):
        for episode in store.episodes(identity=again[start : start + 500]):
            if episode.id != tries[episode.identity].id:
                found[episode.identity][str(episode.outcome)] += 1
    return dict(found)


def _tags(task_id: str) -> tuple[str, ...]:
    try:
        return environments.get(task_id).tags
    except UnknownTask:  # recorded by a version that had it
        return ()


def _judged(store: Store, episodes: Sequence[Episode]) -> tuple[str, list[Episode]]:
    """Episodes of a world that tells no score, with the share of milestones that a judge holds reached in its place.

    The judge is the latest one that has judged all of them, each on all its milestones, which a person may not have;
    without one nothing is scored.
    """
    told = {e.id: without_superseded(store.verdicts(e.id)) for e in episodes}
    # The engine's own verdicts say of every milestone that it has not seen it.
    verdicts = {key: [v for v in group if v.judge != EngineJudge.name] for key, group in told.items()}
    latest: dict[str, Verdict] = {}
    for verdict in sorted((v for group in verdicts.values() for v in group), key=lambda v: v.created_at):
        latest[verdict.fingerprint] = verdict
    for fingerprint, verdict in sorted(latest.items(), key=lambda item: item[1].created_at, reverse=True):
        of_judge = [[v for v in group if v.fingerprint == fingerprint] for group in verdicts.values()]
        if all(_is_whole(e, votes) for e, votes in zip(episodes, of_judge, strict=True)):
            return verdict.judge, [_with_score(e, votes) for e, votes in zip(episodes, of_judge, strict=True)]
    return "", []


def _is_whole(episode: Episode, verdicts: Sequence[Verdict]) -> bool:
    return {verdict.milestone_id for verdict in verdicts} >= {
        m.id for m in environments.get(episode.task_id).milestones
    }


def _with_score(episode: Episode, verdicts: Sequence[Verdict]) -> Episode:
    """The share of milestones that the judge holds reached, by the majority of its repeats."""
    votes: dict[str, list[str]] = defaultdict(list)
    for verdict in verdicts:
        votes[verdict.milestone_id].append(verdict.verdict)
    score = 100.0 * sum(majority_vote(given) == "reached" for given in votes.values()) / len(votes)
    return replace(episode, score=score, success=score == 100.0)
