"""A person as a judge: the name that the verdicts bear, what is taken from one, and which of several decisions counts.

A person judges the milestones that they choose. Who decides again adds a verdict with the next `repeat`: these are no
repeated answers to one question, as a model's are, but a correction, and the latest counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, get_args

from pydantic import ValidationError

from agents.human import HumanOptions
from arena.errors import ArenaError, Problem
from arena.identity import digest
from storage.models import Verdict

HumanAnswer = Literal["reached", "not_reached", "uncertain"]
"""What a person may say; `uncertain` is "cannot tell"."""
ANSWERS: Final[tuple[HumanAnswer, ...]] = get_args(HumanAnswer)
MAX_NOTE: Final = 1_000
"""Characters of a person's note."""
_PREFIX: Final = "human:"


class InvalidReview(ArenaError, ValueError):
    """What a person decided cannot be taken in; `problem` says which field, and what to do."""

    def __init__(self, field: str, value: Any, message: str) -> None:
        self.problem = Problem(field, value, message)
        super().__init__(str(self.problem))


def reviewer(name: str) -> str:
    """What the tables call a person who judges: `human:<name>`, as one who plays.

    Raises:
        InvalidReview: for a name that is not 1 to 40 printable characters without spaces around them.
    """
    try:
        return _PREFIX + HumanOptions(name=name).name
    except ValidationError:
        told = "must be 1 to 40 printable characters without spaces around them; it is shown beside what you decide"
        raise InvalidReview("name", name[:60], told) from None


def checked_note(note: str) -> str:
    """A note, without the space around it.

    Raises:
        InvalidReview: for one that is too long.
    """
    note = note.strip()
    if len(note) > MAX_NOTE:
        told = f"has {len(note)} characters; shorten it to {MAX_NOTE}"
        raise InvalidReview("note", f"{note[:40]}...", told)
    return note


def fingerprint(judge: str) -> str:
    """The fingerprint of a person's verdicts, from `human:<name>`: one person is one judge."""
    return digest({"judge": judge, "version": 1})


def is_human(verdict: Verdict) -> bool:
    """Whether a person gave the verdict. A model may be called `human:...`; its fingerprint is another."""
    return verdict.judge.startswith(_PREFIX) and verdict.fingerprint == fingerprint(verdict.judge)


def without_superseded(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts that count, in their order: of a person's on one milestone the latest, of everybody else's all."""
    verdicts = list(verdicts)
    latest: dict[tuple[str, str, str], int] = {}
    for verdict in filter(is_human, verdicts):
        question = _question(verdict)
        latest[question] = max(latest.get(question, -1), verdict.repeat)
    return [v for v in verdicts if latest.get(_question(v), v.repeat) == v.repeat]


def _question(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.episode_id, verdict.milestone_id, verdict.fingerprint
