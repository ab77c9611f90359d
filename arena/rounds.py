"""The rounds of one condition: which attempt the next reflection starts from, and which lesson was the best.

Playing a trial and seeing whether it is done both walk along here, so that they cannot disagree: what the next attempt
is follows from the recorded scores alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from arena.conditions import Condition
from arena.plan import Attempt, Demonstration, retry
from storage.models import Episode


@dataclass(slots=True)
class Rounds:
    """The attempts of a trial under one condition, so far.

    A success ends them, and so does an ending that is no score. On the matched budget a retry that does worse than the
    best attempt is not built on: the next reflection looks at the best attempt again, at the lesson that attempt was
    played with, and at the lessons that did worse since. A tie goes to the later attempt. The older form of
    `reflect-and-retry` always looks at the last attempt.
    """

    condition: Condition
    demonstration: Demonstration | None
    attempts: list[Attempt]
    """In order of play; the first has no lesson."""
    episodes: list[Episode] = field(default_factory=list)
    """How they ended; one fewer than `attempts` while the last is still to be played."""
    best: int = 0
    """Place of the attempt that the next reflection looks at."""

    @classmethod
    def begin(
        cls, first: Attempt, condition: Condition, demonstration: Demonstration | None, episode: Episode
    ) -> Rounds:
        """The first attempt, played."""
        return cls(condition, demonstration, [first], [episode])

    @property
    def over(self) -> bool:
        """Whether no further round is to be played."""
        last = self.episodes[-1]
        return bool(last.success) or not last.scored or len(self.episodes) > self.condition.rounds

    @property
    def tried(self) -> range:
        """Places of the retries since the best attempt: they did worse."""
        return range(self.best + 1, len(self.episodes))

    def following(self) -> Attempt:
        """The next attempt; its lesson is not known to it yet."""
        return retry(
            self.attempts[self.best],
            self.condition,
            self.demonstration,
            number=len(self.attempts),
            tried=[self.attempts[place] for place in self.tried],
        )

    def played(self, attempt: Attempt, episode: Episode) -> None:
        """Take note of how the following attempt ended."""
        self.attempts.append(attempt)
        self.episodes.append(episode)
        keeps_best = self.condition.reflection.evidence is not None
        if not keeps_best or _score(episode) >= _score(self.episodes[self.best]):
            self.best = len(self.episodes) - 1

    def learned(self) -> Attempt | None:
        """The retry with the best lesson, which is tried on held-out seeds; None if there was no retry."""
        places = range(1, len(self.episodes))
        return self.attempts[max(places, key=lambda place: (_score(self.episodes[place]), place))] if places else None


def _score(episode: Episode) -> float:
    """The score of an attempt; below all others where it ended without one."""
    return float(episode.score or 0.0) if episode.scored else -1.0
