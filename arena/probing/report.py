"""What a probing shows: accuracy by kind and form beside chance, and the bias in the order of time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from arena.probing.question import KINDS, Question, Spot
from arena.statistics import Interval, proportion
from storage.models import ProbeAnswer

ALL = "all"
"""Form of the rows that sum up a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormReport:
    """How a model did on the questions of one form, or of one kind."""

    kind: str
    form: str
    n: int
    """Questions that it was asked and that the model's side did not fail on."""
    n_answered: int
    n_correct: int
    n_invalid: int
    """Answers that name nothing that was offered; neither right nor wrong."""
    n_refused: int
    accuracy: Interval | None
    """Share of the answers that is right, with Wilson's interval; None without an answer."""
    chance: float | None
    """What guessing would give on the answered questions, on average."""
    bias: Interval | None = None
    """Of two answers about the order of time, the share that says "as shown"; the truth is that in one half."""
    median_error_px: float | None = None
    """Of answers that are places: the median distance from the truth, in pixels of the frame."""

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should not miss."""
        told = []
        if self.bias is not None and not self.bias.covers(0.5):
            towards = "as shown" if self.bias.estimate > 0.5 else "against what is shown"
            told.append(f"biased: says {towards} in {self.bias.estimate:.0%}")
        if self.accuracy is not None and self.chance is not None and self.accuracy.low <= self.chance:
            told.append("not better than chance" if self.accuracy.high >= self.chance else "worse than chance")
        return tuple(told)


def report(asked: Sequence[tuple[Question, ProbeAnswer]]) -> list[FormReport]:
    """One row for each form, after each kind one for all of it where it has several forms."""
    rows: list[FormReport] = []
    for kind in KINDS:
        of_kind = [pair for pair in asked if pair[0].kind == kind]
        forms = list(dict.fromkeys(question.form for question, _ in of_kind))
        rows += [_row(kind, form, [pair for pair in of_kind if pair[0].form == form]) for form in forms]
        if len(forms) > 1:
            rows.append(_row(kind, ALL, of_kind))
    return rows


def to_json(row: FormReport) -> dict[str, Any]:
    """Plain JSON values."""
    return {**asdict(row), "flags": list(row.flags)}


def _row(kind: str, form: str, asked: Sequence[tuple[Question, ProbeAnswer]]) -> FormReport:
    answered = [(question, answer) for question, answer in asked if answer.status == "ok"]
    correct = sum(bool(answer.correct) for _, answer in answered)
    errors = list(_errors(answered))
    return FormReport(
        kind=kind,
        form=form,
        n=len(asked),
        n_answered=len(answered),
        n_correct=correct,
        n_invalid=sum(answer.status == "invalid" for _, answer in asked),
        n_refused=sum(answer.status == "refused" for _, answer in asked),
        accuracy=proportion(correct, len(answered)) if answered else None,
        chance=sum(question.chance for question, _ in answered) / len(answered) if answered else None,
        bias=None if form == ALL else _bias(answered),
        median_error_px=median(errors) if errors and form != ALL else None,
    )


def _bias(answered: Iterable[tuple[Question, ProbeAnswer]]) -> Interval | None:
    """Whether the answers lean one way, apart from whether they are right.

    The mean of its share where that answer is the truth and where it is not: invalid answers cannot tip it.
    """
    leant: dict[bool, list[bool]] = {True: [], False: []}
    for question, answer in answered:
        if question.leaning:
            leant[question.truth == question.leaning].append(answer.answer == question.leaning)
    if not all(leant.values()):
        return None
    n = sum(map(len, leant.values()))
    return proportion(n * sum(sum(said) / len(said) for said in leant.values()) / 2, n)


def _errors(answered: Iterable[tuple[Question, ProbeAnswer]]) -> Iterable[float]:
    for question, answer in answered:
        if isinstance(question.truth, Spot) and isinstance(answer.answer, dict):
            yield math.hypot(answer.answer["x"] - question.truth.x, answer.answer["y"] - question.truth.y)
