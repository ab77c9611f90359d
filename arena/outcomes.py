"""How an episode can end. Only the game's own endings are scores."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The ending of an episode.

    `won`, `lost` and `horizon` (the task's own step limit) are the game's endings and count as scores. All others
    say that the measurement did not take place, and why; they are reported as rates beside the score.
    """

    WON = "won"
    LOST = "lost"
    HORIZON = "horizon"
    UNPARSABLE = "unparsable"
    """Too many replies in a row that hold no readable action."""
    REFUSED = "refused"
    """The model declined to play."""
    ILLEGAL = "illegal"
    """Too many actions in a row that the rules do not allow."""
    PROVIDER_ERROR = "provider_error"
    """The model's side failed after all retries."""
    LIMIT = "limit"
    """A budget of the experiment (calls, tokens, cost, time) ran out."""
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    """Our own machine failed: display, renderer, worker."""

    @property
    def scored(self) -> bool:
        """Whether the score of such an episode counts."""
        return self in (Outcome.WON, Outcome.LOST, Outcome.HORIZON)

    @property
    def rerun(self) -> bool:
        """Whether the next start of the same command tries the episode again."""
        return self in (Outcome.PROVIDER_ERROR, Outcome.INFRASTRUCTURE_ERROR)
