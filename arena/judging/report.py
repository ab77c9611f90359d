"""How good the judges of a run are: against the engine's truth, against each other, and against themselves."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arena.judging.agreement import Agreement, agreement, family_warning
from arena.judging.engine import EngineJudge
from arena.judging.human import is_human, without_superseded
from arena.judging.trust import Embedder, auroc, trust
from arena.statistics import Interval, calibration_error, proportion
from environments.task import VLM_JUDGED, Task
from storage.models import Episode, MilestoneTruth, Verdict

RESAMPLES = 1_000
MIN_FOR_TRUST = 3
"""Repeated answers below which their concentration says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An episode with all that was said and is known about it."""

    task: Task
    episode: Episode
    truths: Sequence[MilestoneTruth]
    verdicts: Sequence[Verdict]

    @property
    def known(self) -> bool:
        """Whether the engine knows the truth about its milestones."""
        return VLM_JUDGED not in self.task.tags


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """One judge (one fingerprint) over many episodes."""

    judge: str
    fingerprint: str
    episodes: int
    repeats: int
    """Largest number of answers to one question."""
    counts: Agreement
    """Of all its answers, each repeat on its own, on episodes whose truth the engine knows."""
    precision: Interval | None
    """Share of its `reached` that are true."""
    recall: Interval | None
    """Share of what was reached that it found."""
    accuracy: Interval | None
    """Share of its answers, abstentions and invalid ones left out, that are right."""
    brier: float | None
    """Mean squared difference of confidence and being right, 0 (best) to 1; None if it gave no confidence."""
    calibration_error: float | None
    """Expected calibration error over ten bins of confidence (Guo et al., ICML 2017)."""
    flip_rate: Interval | None
    """Share of milestones, asked twice or more, on which its answers are not all alike."""
    trust_auroc: float | None
    """How well a low concentration of its answers finds the milestones where its majority is wrong; 0.5 is chance."""
    entropy_auroc: float | None
    """The same for the entropy of its votes."""
    n_trust: int
    """Milestones behind these two."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgesReport:
    """All judges of a set of episodes."""

    judges: list[JudgeReport]
    alpha: Interval | None
    """Krippendorff's alpha between the judges, nominal, with a bootstrap interval over episodes; None for one judge."""
    majority: Agreement | None
    """The majority of the judges against the engine; a tie is `uncertain`. None for one judge."""
    n_episodes: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def report(judged: Sequence[Judged], embed: Embedder | None = None) -> JudgesReport:
    """Weigh the judges of some episodes; the engine's own verdicts are the measure and no judge.

    A judge is weighed by what it has judged: a person's verdicts are on some episodes and milestones, and of several
    on one milestone the latest is the one that counts.

    Args:
        judged: The episodes.
        embed: For `trust_auroc`; see `arena.judging.trust.trust`.
    """
    by_judge: dict[str, dict[str, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    for item in judged:
        for verdict in without_superseded(item.verdicts):
            if verdict.judge != EngineJudge.name:
                by_judge[verdict.fingerprint][item.episode.id].append(verdict)
    episodes = {item.episode.id: item for item in judged}
    votes = {fingerprint: _majorities(answers) for fingerprint, answers in by_judge.items()}
    several = len(by_judge) > 1
    return JudgesReport(
        judges=[_judge(fingerprint, answers, episodes, embed) for fingerprint, answers in sorted(by_judge.items())],
        alpha=_alpha(list(votes.values()), list(episodes)) if several else None,
        majority=_majority(list(votes.values()), judged) if several else None,
        n_episodes=len(episodes),
    )


def _judge(
    fingerprint: str,
    answers: Mapping[str, Sequence[Verdict]],
    episodes: Mapping[str, Judged],
    embed: Embedder | None,
) -> JudgeReport:
    known = {episode_id: given for episode_id, given in answers.items() if episodes[episode_id].known}
    counts = Agreement()
    sure: list[tuple[float, bool]] = []
    for episode_id, given in known.items():
        truths = episodes[episode_id].truths
        reached = {truth.milestone_id for truth in truths}
        for repeat in sorted({verdict.repeat for verdict in given}):
            counts += agreement(truths, [verdict for verdict in given if verdict.repeat == repeat])
        sure += [
            (verdict.confidence, (verdict.verdict == "reached") == (verdict.milestone_id in reached))
            for verdict in given
            if verdict.confidence is not None and verdict.verdict in ("reached", "not_reached")
        ]
    flips = [len({v.verdict for v in group}) > 1 for group in _questions(answers).values() if len(group) > 1]
    trusts = _trusts(known, episodes, embed)
    wrong = [is_wrong for _, _, is_wrong in trusts]
    first = next(iter(answers.values()))[0]
    repeats = max(len(group) for group in _questions(answers).values())

    def share(part: int, whole: int) -> Interval | None:
        # Repeats of one question are no independent questions: they count as one, in parts.
        return proportion(part / repeats, whole / repeats) if whole else None

    return JudgeReport(
        judge=first.judge,
        fingerprint=fingerprint,
        episodes=len(answers),
        repeats=repeats,
        counts=counts,
        precision=share(counts.true_positive, counts.true_positive + counts.false_positive),
        recall=share(counts.true_positive, counts.n_reached),
        accuracy=share(counts.true_positive + counts.true_negative, counts.n_answered),
        brier=float(np.mean([(confidence - right) ** 2 for confidence, right in sure])) if sure else None,
        calibration_error=calibration_error(sure),
        flip_rate=proportion(sum(flips), len(flips)) if flips else None,
        trust_auroc=auroc([-concentration for concentration, _, _ in trusts], wrong),
        entropy_auroc=auroc([entropy for _, entropy, _ in trusts], wrong),
        n_trust=len(trusts),
        warnings=() if is_human(first) else _warnings(first.judge, [episodes[key].episode for key in answers]),
    )


def _questions(answers: Mapping[str, Sequence[Verdict]]) -> dict[tuple[str, str], list[Verdict]]:
    """All answers to one question: a milestone of an episode."""
    found: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for episode_id, given in answers.items():
        for verdict in sorted(given, key=lambda verdict: verdict.repeat):
            found[episode_id, verdict.milestone_id].append(verdict)
    return found


def _majorities(answers: Mapping[str, Sequence[Verdict]]) -> dict[tuple[str, str], str]:
    return {place: majority_vote(verdict.verdict for verdict in group) for place, group in _questions(answers).items()}


def majority_vote(votes: Iterable[str]) -> str:
    """The most frequent of `reached` and `not_reached`; `uncertain` for a tie or without either."""
    counts = Counter(vote for vote in votes if vote in ("reached", "not_reached")).most_common()
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return "uncertain"
    return str(counts[0][0])


def _trusts(
    answers: Mapping[str, Sequence[Verdict]], episodes: Mapping[str, Judged], embed: Embedder | None
) -> list[tuple[float, float, bool]]:
    """Concentration, entropy, and whether the majority is wrong, for every question that was asked often enough."""
    found = []
    for (episode_id, milestone_id), group in _questions(answers).items():
        voted = majority_vote(verdict.verdict for verdict in group)
        if len(group) < MIN_FOR_TRUST or voted == "uncertain":
            continue
        measured = trust([verdict.verdict for verdict in group], [verdict.note for verdict in group], embed)
        reached = any(truth.milestone_id == milestone_id for truth in episodes[episode_id].truths)
        found.append((measured.resultant, measured.entropy, (voted == "reached") != reached))
    return found


def _alpha(votes: Sequence[Mapping[tuple[str, str], str]], episodes: Sequence[str]) -> Interval | None:
    """Krippendorff's alpha over the questions that two judges or more answered; None where all answers are alike."""
    import evalica  # brings pandas, which takes a second to import
    import pandas as pd

    codes = {"reached": 1.0, "not_reached": 0.0}
    columns: dict[str, list[list[float]]] = {}
    for episode_id, milestone_id in sorted({place for judge in votes for place in judge}):
        column = [codes.get(judge.get((episode_id, milestone_id), ""), np.nan) for judge in votes]
        columns.setdefault(episode_id, []).append(column)

    def alpha(chosen: Sequence[str]) -> float | None:
        data = np.array([column for episode_id in chosen for column in columns[episode_id]]).T
        if data.size == 0 or len(np.unique(data[~np.isnan(data)])) < 2:
            return None
        if (np.isfinite(data).sum(axis=0) < 2).all():
            return None
        return float(evalica.alpha(pd.DataFrame(data), distance="nominal").alpha)

    places = [episode_id for episode_id in episodes if episode_id in columns]
    whole = alpha(places)
    if whole is None:
        return None
    rng = np.random.default_rng(zlib.crc32("|".join(sorted(places)).encode()))
    drawn = [alpha([places[i] for i in rng.integers(len(places), size=len(places))]) for _ in range(RESAMPLES)]
    known = [value for value in drawn if value is not None]
    low, high = np.quantile(known, [0.025, 0.975]) if len(places) > 1 and known else (np.nan, np.nan)
    return Interval(whole, float(low), float(high), len(places))


def _majority(votes: Sequence[Mapping[tuple[str, str], str]], judged: Sequence[Judged]) -> Agreement:
    total = Agreement()
    for item in judged:
        if not item.known:
            continue
        places = sorted({place for judge in votes for place in judge if place[0] == item.episode.id})
        verdicts = [
            Verdict(
                id="",
                episode_id=item.episode.id,
                milestone_id=place[1],
                judge="majority",
                fingerprint="",
                verdict=majority_vote(judge[place] for judge in votes if place in judge),
            )
            for place in places
        ]
        total += agreement(item.truths, verdicts) if verdicts else Agreement()
    return total


def _warnings(judge: str, episodes: Sequence[Episode]) -> tuple[str, ...]:
    models = {str(episode.spec.get("agent", {}).get("model") or "") for episode in episodes}
    told = {warning for model in models if (warning := family_warning(judge, model))}
    return tuple(sorted(told))
