"""Lets a diagnoser look at the episodes of a dataset, remembers its answers, and scores them.

Answers lie beside the dataset in `NAME.answers/`, one JSON line each, under the digest of diagnoser and dataset: an
interrupted evaluation goes on, and asks no model twice. What a provider failed to answer is asked again the next time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

import environments
from arena.diagnosis.static import StaticDiagnoser, StaticDiagnosis, StaticOpinion, recording
from arena.diagnosis.static_metrics import Pair, StaticScores, by_type, intervals, score
from arena.errors import ArenaError
from arena.faults.dataset import Dataset, Episode
from arena.faults.plan import Split
from arena.identity import digest
from environments.errors import UnknownTask


class NothingToShow(ArenaError, ValueError):
    """A diagnoser needs what a dataset does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a diagnoser said of a dataset, scored."""

    dataset: str
    split: str
    diagnoser: str
    title: str
    """Who answered, in words: see `StaticDiagnoser.title`."""
    fingerprint: str
    overall: StaticScores
    by_type: dict[str, StaticScores]
    pairs: Sequence[Pair]
    calls: int
    tokens: int | None
    """None where the provider did not say."""
    cost_usd: Decimal | None
    latency_s: float
    """Of all calls together."""

    def to_json(self) -> dict[str, Any]:
        """As JSON values, the answers included."""
        return {
            "dataset": self.dataset,
            "split": self.split,
            "diagnoser": self.diagnoser,
            "title": self.title,
            "fingerprint": self.fingerprint,
            "overall": self.overall.to_json(),
            "intervals": {
                name: None if found is None else [found.low, found.high]
                for name, found in intervals(self.overall).items()
            },
            "by_type": {name: row.to_json() for name, row in self.by_type.items()},
            "calls": self.calls,
            "tokens": self.tokens,
            "cost_usd": None if self.cost_usd is None else str(self.cost_usd),
            "latency_s": self.latency_s,
            "answers": [
                {"episode": pair.episode.id, "noticed_step": pair.noticed_step, "diagnosis": pair.body}
                for pair in self.pairs
            ],
        }


def evaluate(
    dataset: Dataset,
    diagnoser: StaticDiagnoser,
    *,
    split: Split | Literal["all"] = "heldout",
    limit: int | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Ask a diagnoser about every episode of one side.

    Args:
        dataset: built by `build`.
        diagnoser: who is asked.
        split: which side.
        limit: episodes at most, the first in order of id.
        tell: is told how many are done, and of how many.

    Raises:
        NothingToShow: there is no such episode, or a diagnoser that looks at pictures meets a dataset without any.
    """
    episodes = dataset.split(split)[:limit]
    if not episodes:
        others = ", ".join(f"{n} in {name}" for name, n in Counter(found.split for found in dataset.episodes).items())
        remedy = f"it has {others}; ask for them by --split all" if others else "it is empty"
        raise NothingToShow(f"{dataset.manifest.name} has no episodes in split {split!r}: {remedy}")
    if diagnoser.wants_pictures and not all(episode.cameras for episode in episodes):
        raise NothingToShow(f"{dataset.manifest.name} was built without clips; {diagnoser.name} looks at pictures")
    fingerprint = digest([dataset.manifest.files["episodes.jsonl"][0], diagnoser.fingerprint()])
    path = dataset.folder.with_name(dataset.folder.name + ".answers") / f"{fingerprint}.jsonl"
    answers = _known(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for done, episode in enumerate(episodes):
            if tell is not None:
                tell(done, len(episodes))
            if episode.id in answers:
                continue
            answer = _as_answer(diagnoser.diagnose(recording(dataset, episode, _meanings(episode))))
            answers[episode.id] = answer
            if answer["diagnosis"]["abstain_cause"] != "provider":
                file.write(json.dumps({"episode": episode.id, **answer}) + "\n")
                file.flush()
    return _scored(dataset, split, diagnoser, fingerprint, episodes, answers)


def _scored(
    dataset: Dataset,
    split: str,
    diagnoser: StaticDiagnoser,
    fingerprint: str,
    episodes: Sequence[Episode],
    answers: dict[str, dict[str, Any]],
) -> Evaluation:
    chosen = [answers[episode.id] for episode in episodes]
    pairs = [
        Pair(episode=episode, body=answer["diagnosis"], noticed_step=answer["noticed_step"])
        for episode, answer in zip(episodes, chosen, strict=True)
    ]
    tokens, costs = [answer["tokens"] for answer in chosen], [answer["cost_usd"] for answer in chosen]
    return Evaluation(
        dataset=dataset.manifest.name,
        split=split,
        diagnoser=diagnoser.name,
        title=diagnoser.title,
        fingerprint=fingerprint,
        overall=score(pairs),
        by_type=by_type(pairs),
        pairs=pairs,
        calls=sum(answer["calls"] for answer in chosen),
        tokens=None if None in tokens else sum(tokens),
        cost_usd=None if None in costs else sum(map(Decimal, costs), Decimal()),
        latency_s=sum(answer["latency_s"] for answer in chosen),
    )


def _as_answer(opinion: StaticOpinion) -> dict[str, Any]:
    calls = opinion.calls
    told = [(call.input_tokens or 0) + (call.output_tokens or 0) for call in calls if call.input_tokens is not None]
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    return {
        "diagnosis": opinion.diagnosis.to_json(),
        "noticed_step": opinion.noticed_step,
        "calls": len(calls),
        "tokens": sum(told) if len(told) == len(calls) else None,
        "cost_usd": str(sum(costs, Decimal())) if len(costs) == len(calls) else None,
        "latency_s": sum(call.latency_s for call in calls),
    }


def _known(path: Path) -> dict[str, dict[str, Any]]:
    """What was answered before; a line that a killed process left half written is no answer."""
    found: dict[str, dict[str, Any]] = {}
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    for line in lines:
        try:
            value = json.loads(line)
            StaticDiagnosis.model_validate(value["diagnosis"])
            found[value.pop("episode")] = value
        except (ValueError, KeyError, TypeError, ValidationError):
            continue
    return found


def _meanings(episode: Episode) -> dict[str, str]:
    """Sub-task -> what it means; the id alone where this version does not know the task."""
    try:
        known = {milestone.id: milestone.text for milestone in environments.get(episode.task).milestones}
    except UnknownTask:
        known = {}
    return {name: known.get(name, name) for name in episode.subtasks}
