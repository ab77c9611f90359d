"""What each condition's reflections were really given: pictures and tokens, counted in the stored calls."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.models import Call, Episode, Lesson
from storage.store import Store

MAX_PICTURES = 1
"""Pictures by which two conditions may differ."""
MAX_SHARE = 0.05
"""Share by which their tokens may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """One condition's reflections by one model, over the trials on which all compared conditions reflected."""

    condition: str
    model: str
    matched: bool
    """Whether the condition is on the matched budget; the older form of `reflect-and-retry` is not."""
    reflections: int
    fewest_pictures: int
    most_pictures: int
    """In one reflection, all its calls together."""
    text: float
    """Mean characters of text in a reflection's requests."""
    input_tokens: float | None
    """Mean, as the provider counted; None where it did not."""
    output_tokens: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """All conditions of a run, and by how much those on the matched budget differ."""

    run_id: str
    rows: list[Spent]
    trials: int
    """First attempts on which every matched condition reflected: only these are compared."""
    pictures_apart: int
    """Most pictures of any reflection less the fewest of any, over the matched conditions."""
    tokens_apart: float | None
    """The largest mean over the smallest, less one, among conditions of one model; None without two to compare."""
    text_apart: float | None
    """The same for characters of text, over all matched conditions: no tokenizer has a say in it."""

    @property
    def equal(self) -> bool:
        """Whether the budgets are equal to within one picture and 5 % of the tokens, and of the text."""
        shares = [share for share in (self.tokens_apart, self.text_apart) if share is not None]
        return self.pictures_apart <= MAX_PICTURES and all(share <= MAX_SHARE for share in shares)


@dataclass(slots=True)
class _Reflection:
    """One reflection as its calls tell it."""

    model: str
    pictures: int
    text: int
    input_tokens: int | None
    output_tokens: int | None


def budgets(store: Store, run_id: str) -> Budgets:
    """Count what a run's first-round reflections were given.

    First rounds alone: they look at the same attempt in every condition. Later ones look at what each condition has
    led to.

    Raises:
        UnknownRow: there is no such run.
    """
    run = store.run(run_id)
    matched = _matched(run.experiment)
    found: dict[str, dict[str, _Reflection]] = defaultdict(dict)
    links = [link for link in store.plan(run.id) if link.round == 1]
    episodes = store.latest_tries([link.identity for link in links])

    @functools.lru_cache(maxsize=1)  # the lessons of one attempt follow one another
    def calls_of(episode_id: str) -> list[Call]:
        return store.calls(episode_id)

    for link in sorted(links, key=lambda link: link.trial):
        episode = episodes.get(link.identity)
        if episode is None or episode.lesson_id is None or _is_transfer(episode):
            continue
        lesson = store.lesson(episode.lesson_id)
        told = _told(lesson, calls_of) if lesson else None
        if told is not None:
            found[link.condition][link.trial] = told
    # A condition without any model call (`rules`) has no budget to compare.
    compared = [name for name in found if matched.get(name)]
    shared = set.intersection(*(set(found[name]) for name in compared)) if compared else set()
    rows = [
        row
        for name, trials in sorted(found.items())
        for row in _rows(name, trials, matched.get(name, False), shared if matched.get(name) else set(trials))
    ]
    inside = [row for row in rows if row.matched and row.reflections]
    most = max((row.most_pictures for row in inside), default=0)
    return Budgets(
        run_id=run.id,
        rows=rows,
        trials=len(shared),
        pictures_apart=most - min((row.fewest_pictures for row in inside), default=0),
        tokens_apart=_tokens_apart(inside),
        text_apart=_apart([row.text for row in inside]),
    )


def _rows(condition: str, trials: Mapping[str, _Reflection], matched: bool, shared: set[str]) -> Iterator[Spent]:
    by_model: dict[str, list[_Reflection]] = defaultdict(list)
    for trial, reflection in sorted(trials.items()):
        if trial in shared:
            by_model[reflection.model].append(reflection)
    for model, group in sorted(by_model.items()):
        yield Spent(
            condition=condition,
            model=model,
            matched=matched,
            reflections=len(group),
            fewest_pictures=min(item.pictures for item in group),
            most_pictures=max(item.pictures for item in group),
            text=_mean([item.text for item in group]) or 0.0,
            input_tokens=_mean([item.input_tokens for item in group]),
            output_tokens=_mean([item.output_tokens for item in group]),
        )


def _mean(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _apart(values: Sequence[float]) -> float | None:
    return max(values) / min(values) - 1 if len(values) > 1 and min(values) > 0 else None


def _tokens_apart(rows: Sequence[Spent]) -> float | None:
    by_model: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.input_tokens is not None:
            by_model[row.model].append(row.input_tokens)
    shares = [share for values in by_model.values() if (share := _apart(values)) is not None]
    return max(shares, default=None)


def _told(lesson: Lesson, calls_of: Callable[[str], list[Call]]) -> _Reflection | None:
    """What a lesson's calls were given; None for a lesson that no model wrote."""
    wanted = set(lesson.call_ids) or {lesson.call_id}
    calls = [call for call in calls_of(lesson.episode_id) if call.id in wanted] if wanted != {None} else []
    if not calls:
        return None
    counted = [_counted(call) for call in calls]
    given, said = [call.input_tokens for call in calls], [call.output_tokens for call in calls]
    return _Reflection(
        model=calls[-1].model,
        pictures=sum(pictures for pictures, _ in counted),
        text=sum(text for _, text in counted),
        input_tokens=None if None in given else sum(value or 0 for value in given),
        output_tokens=None if None in said else sum(value or 0 for value in said),
    )


def _counted(call: Call) -> tuple[int, int]:
    """Pictures and characters of text in a recorded request."""
    pictures = text = 0
    for message in call.request.get("messages", []):
        content = message.get("content")
        for part in content if isinstance(content, list) else [{"text": content}]:
            pictures += ("artifact" in part) + ("half_of" in part) + len(part.get("frames", ()))
            text += len(part["text"]) if isinstance(part.get("text"), str) else 0
    return pictures, text


def _matched(experiment: Mapping[str, Any]) -> dict[str, bool]:
    """By label, whether a condition of the experiment is on the matched budget."""
    return {
        condition["label"]: condition.get("reflection", {}).get("evidence") is not None
        for block in experiment.get("blocks", [])
        for condition in block.get("conditions", [])
    }


def _is_transfer(episode: Episode) -> bool:
    return "learned_on" in (episode.spec.get("retry") or {})
