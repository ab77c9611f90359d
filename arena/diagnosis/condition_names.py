"""The names of the dynamic track's conditions, and what is wrong with one that somebody wrote.

A name is one of `CONDITIONS` or `ADDED`, or says more behind colons: `human:NAME`, `planted:DETECTION:FALSE_ALARM`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import TypeAdapter, ValidationError

from arena.conditions import ConditionLabel
from arena.diagnosis.dynamic_rows import SEPARATOR
from arena.diagnosis.opinions import HUMAN, is_human
from arena.errors import Problem
from arena.judging.human import InvalidReview, reviewer
from environments.task import nearest

RANDOM = "random-trigger"
PLANTED = "planted"
CONDITIONS = (
    "none", RANDOM, "restart", "monitors-only", "oracle-detection", "oracle-everything", "rules",
)  # fmt: skip
"""Of a run without a model."""
WITH_MODEL = ("vlm", "vlm-stages")
"""Conditions that ask a model."""
ADDED = ("rules-subgoals", *WITH_MODEL, HUMAN)
"""What a run has only if it is named."""
WATCHED = ("rules", "rules-subgoals", "restart", "monitors-only", *WITH_MODEL)
"""Conditions whose alarms rest on the monitors' limits."""
_RATES = ("DETECTION", "FALSE_ALARM")
_FORM = ":".join((PLANTED, *_RATES))
_LABEL: TypeAdapter[str] = TypeAdapter(ConditionLabel)


def planted_rates(name: str) -> tuple[float, float]:
    """DETECTION and FALSE_ALARM of `planted:DETECTION:FALSE_ALARM`.

    Raises:
        ValueError: with the form, and each field that does not fit it.
    """
    _, *given = name.split(":")
    if len(given) != len(_RATES):
        raise ValueError(f"the form is `{_FORM}`, two probabilities from 0 to 1, and this has {len(given)}")
    rates = dict(zip(_RATES, map(_probability, given), strict=True))
    wrong = [f"{field} is {text!r}" for (field, rate), text in zip(rates.items(), given, strict=True) if rate is None]
    if wrong:
        raise ValueError(f"the form is `{_FORM}`, two probabilities from 0 to 1, and {' and '.join(wrong)}")
    detection, false_alarm = (rate or 0.0 for rate in rates.values())
    return detection, false_alarm


def _probability(text: str) -> float | None:
    """The number, if it is one from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        return None
    # Also no NaN, and no blank that `float` overlooks and a label may not have.
    return value if 0 <= value <= 1 and text == text.strip() else None


def name_problems(names: Iterable[str], *, model: bool, at: str = "conditions") -> list[Problem]:
    """What is wrong with the names, each by itself.

    Args:
        names: of conditions.
        model: whether there is a model for those that ask one.
        at: where the names were written, for the problems.
    """
    return [Problem(at, name, told) for name in names if (told := _wrong(name, model=model))]


def run_problems(
    names: Sequence[str], faults: Iterable[str], *, model: bool, at: str = "conditions"
) -> Iterator[Problem]:
    """What keeps a run from having these conditions: their names, what they need of each other, and their labels.

    Args:
        names: of conditions.
        faults: labels of the run's faults (`Scenario.label`).
        model: whether there is a model for those that ask one.
        at: where the names were written, for the problems.
    """
    wrong = name_problems(names, model=model, at=at)
    yield from wrong
    if RANDOM in names and "rules" not in names:
        yield Problem(at, RANDOM, "intervenes as often as `rules` does: add `rules`")
    told = {problem.value for problem in wrong}
    longest = max(faults, key=len, default="")
    for name in dict.fromkeys(names):
        if name not in told and (problem := _too_long(name + SEPARATOR + longest)):
            yield Problem(at, name, problem)


def _too_long(label: str) -> str | None:
    """What is wrong with the label that episodes are kept under; the names in it are right."""
    try:
        _LABEL.validate_python(label)
    except ValidationError as error:
        most = error.errors()[0]["ctx"]["max_length"]
        return (
            f"is too long: its episodes are kept as {label!r}, of {len(label)} characters, and {most} are the most; "
            f"shorten it by {len(label) - most}, or leave out the faults with long names"
        )
    return None


def _wrong(name: str, *, model: bool) -> str | None:
    """What is wrong with one name, if anything."""
    if name in WITH_MODEL and not model:
        return f"condition {name!r} needs a model: name it with `--model`"
    known = (*CONDITIONS, *ADDED)
    if name in known:
        return None
    kind, _, rest = name.partition(":")
    if kind == PLANTED:
        return _told_by_planted(name)
    if is_human(name):
        return _told_by_person(rest)
    # Who writes `oracle` knows what they want, and nothing is as near to it as `rules`.
    begun = [one for one in known if one.startswith(f"{kind}-")]
    hint = nearest(kind, begun or [*known, PLANTED]) or f"; there are {', '.join((*known, 'human:NAME', _FORM))}"
    return f"there is no such condition{hint}"


def _told_by_planted(name: str) -> str | None:
    try:
        planted_rates(name)
    except ValueError as error:
        return str(error)
    return None


def _told_by_person(name: str) -> str | None:
    try:
        reviewer(name)
    except InvalidReview as error:
        return f"the form is `human:NAME`, and NAME {error.problem.message}"
    return None
