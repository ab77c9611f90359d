"""A reflector that needs no model: it reads the attempt's own log beside the expert's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from arena.identity import derived_seed
from arena.outcomes import Outcome
from arena.reflection.reflector import Evidence, Reflection
from arena.text import bounded, clean
from storage.models import Step

_SHOWN_ACTIONS = 6
_ENDINGS = {
    Outcome.WON: "was won",
    Outcome.LOST: "was lost",
    Outcome.HORIZON: "ran out of steps",
}


class RulesReflector:
    """States facts of the log: how it ended, what was missed, what was refused, what the expert did instead.

    It reads the engine's own milestones and score, which no contestant sees: an instrument, so
    that reflect-and-retry runs and is tested without a key. It invents nothing, and says that the
    expert played another seed.
    """

    name = "rules"
    instrument = "rules: no model"
    version = 1
    """Raise it when the same evidence gives another text."""

    def __init__(
        self, *, max_words: int = 200, tutorial: bool | str = True, evidence: str | None = None, placebo: str = ""
    ) -> None:
        """See `ReflectionConfig` for what the values mean; without `evidence` it is of the older form."""
        self._max_words = max_words
        self._tutorial = tutorial
        self._evidence = evidence
        self._placebo = placebo if evidence == "placebo" else ""

    def fingerprint(self) -> dict[str, Any]:
        """Name, version, length and what is looked at."""
        found = {
            "reflector": self.name,
            "version": self.version,
            "max_words": self._max_words,
            "tutorial": self._tutorial,
        }
        return found if self._evidence is None else {**found, "evidence": self._evidence, "placebo": self._placebo}

    def reflect(self, evidence: Evidence) -> Reflection:
        """Write the facts down, the most useful first, up to the permitted length."""
        evidence = self._looked_at(evidence)
        sentences = [*_ending(evidence), *_milestones(evidence), *_refusals(evidence.steps), *_standstill(evidence)]
        sentences += [*_expert(evidence), *_tried(evidence)]
        return Reflection(text=bounded(" ".join(sentences), self._max_words))

    def _looked_at(self, evidence: Evidence) -> Evidence:
        """The part of the evidence that the condition grants; for a placebo, steps that teach nothing."""
        if self._placebo == "other-game":
            other = sorted(evidence.tutorial_steps, key=lambda step: step.index)
            evidence = replace(evidence, steps=other, reached=(), missed=())
        elif self._placebo == "shuffled":
            rng = np.random.default_rng(derived_seed(evidence.episode.id, "placebo"))
            mixed = [evidence.steps[i] for i in rng.permutation(len(evidence.steps))]
            evidence = replace(evidence, steps=mixed, reached=(), missed=())
        return evidence if self._tutorial and not self._placebo else evidence.without_tutorial()


def _ending(evidence: Evidence) -> Iterator[str]:
    episode = evidence.episode
    ending = _ENDINGS.get(Outcome(episode.outcome)) if episode.outcome else None
    how = ending or f"ended without a score ({clean(str(episode.outcome), 40)})"
    score = f", with a score of {episode.score:.0f} out of 100" if episode.score is not None else ""
    yield f"The attempt {how} after {_count(len(evidence.steps), 'step')}{score}."


def _milestones(evidence: Evidence) -> Iterator[str]:
    known = {milestone.id: milestone for milestone in evidence.task.milestones}
    missed = [known[name] for name in evidence.missed if name in known]
    if not missed:
        return
    done = set(evidence.reached)
    following = next((milestone for milestone in missed if done.issuperset(milestone.after)), missed[0])
    yield f"Milestones reached: {len(done)} of {len(known)}. The next one to reach: {following.text.rstrip('.')}."
    others = [milestone.text.rstrip(".") for milestone in missed if milestone is not following]
    if others:
        yield f"Also missed: {'; '.join(others)}."


def _refusals(steps: Sequence[Step]) -> Iterator[str]:
    for status, what in (
        ("illegal", "The rules refused"),
        ("unparsable", "No action could be read in"),
        ("refused", "The player declined"),
    ):
        reasons = Counter(clean(step.reason, 120) for step in steps if step.status == status)
        if not reasons:
            continue
        reason, times = reasons.most_common(1)[0]
        why = f'; the most frequent reason, given {_count(times, "time")}: "{reason}"' if reason else ""
        yield f"{what} {reasons.total()} of {_count(len(steps), 'action')}{why}."


def _standstill(evidence: Evidence) -> Iterator[str]:
    steps = evidence.steps
    if not steps:
        return
    still = 0
    for step in reversed(steps[:-1]):
        if step.score != steps[-1].score:
            break
        still += 1
    if still >= 5:
        yield f"The last {still} steps did not change the score."
    yield f"The last actions were {_listed(steps[-_SHOWN_ACTIONS:])}."


def _expert(evidence: Evidence) -> Iterator[str]:
    expert, own = evidence.tutorial_steps, evidence.steps
    if not expert:
        return
    final = expert[-1].score
    yield f"The expert, on another seed, took {_count(len(expert), 'step')} to a score of {final:.0f}."
    best = max((step.score for step in own), default=0.0)
    start = next((place for place, step in enumerate(expert) if step.score > best), None)
    if start is not None:
        shown = expert[max(0, start - _SHOWN_ACTIONS + 1) : start + 1]
        yield f"Where the expert passed the attempt's best score of {best:.0f}, its actions were {_listed(shown)}."
    pairs = zip(own, expert, strict=False)
    differing = next(((mine, theirs) for mine, theirs in pairs if mine.action != theirs.action), None)
    if differing is not None:
        mine, theirs = differing
        yield (
            f"The first action that differs is at step {mine.index}: {_action(mine.action)} against the expert's "
            f"{_action(theirs.action)}; the seeds differ, so this alone is no mistake."
        )
    yield f"The expert's actions: {_mixture(expert)}. The attempt's: {_mixture(own)}."


def _tried(evidence: Evidence) -> Iterator[str]:
    if evidence.tried:
        yield f"Advice that was drawn from this attempt did worse {_count(len(evidence.tried), 'time')}."


def _mixture(steps: Sequence[Step]) -> str:
    """Shares of the most frequent actions; most common first, ties in order of play."""
    if not steps:
        return "none"
    common = Counter(_action(step.action) for step in steps).most_common(4)
    return ", ".join(f"{action} {100 * times / len(steps):.0f}%" for action, times in common)


def _listed(steps: Sequence[Step]) -> str:
    """Actions in order, equal neighbours together: `up, right (3 times)`."""
    runs = [(action, len(list(run))) for action, run in groupby(_action(step.action) for step in steps)]
    return ", ".join(action if times == 1 else f"{action} ({times} times)" for action, times in runs)


def _action(action: Any) -> str:
    """An action in few words: the values of an object, the direction and gripper of seven numbers."""
    if action is None:
        return "none"
    if isinstance(action, dict):
        return clean(" ".join(_value(value) for value in action.values()), 60) or "{}"
    if isinstance(action, list) and len(action) == 7 and all(isinstance(value, int | float) for value in action):
        axis = max(range(3), key=lambda i: abs(action[i]))
        move = f"{'+' if action[axis] >= 0 else '-'}{'xyz'[axis]}" if abs(action[axis]) >= 0.05 else "hold"
        return f"{move} with gripper {'closing' if action[6] > 0 else 'opening'}"
    return clean(_value(action), 60)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
