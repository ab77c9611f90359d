"""The model diagnoser that is measured: where its provider fails, the episode is no result."""

from __future__ import annotations

from typing import Any

from agents.errors import ProviderError
from arena.diagnosis.diagnoser import Case, Opinion
from arena.diagnosis.vlm import VlmDiagnoser


class DiagnoserUnavailable(ProviderError):
    """The model that diagnoses gave no answer: neither its opinion nor the policy's failure."""


class InsistentVlm(VlmDiagnoser):
    """`VlmDiagnoser`, which does not go on without an answer.

    On a robot at work a model that cannot be reached is no reason to stop. In a comparison it is: an episode in which
    nobody was asked says nothing of who was to be asked, and is to be played again.
    """

    def fingerprint(self) -> dict[str, Any]:
        """As its parent's; an episode that went on without an answer is another episode."""
        return {**super().fingerprint(), "unanswered": "stop"}

    def diagnose(self, case: Case) -> Opinion:
        """Ask.

        Raises:
            DiagnoserUnavailable: if the provider failed after all retries; it holds the calls.
        """
        opinion = super().diagnose(case)
        said = opinion.diagnosis
        if said.abstain_cause == "provider":
            raise DiagnoserUnavailable(f"the diagnoser's model {self.name!r}: {said.abstain_reason}", opinion.calls)
        return opinion
