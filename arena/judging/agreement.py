"""How far a judge agrees with the engine, and whether it may be partial."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from storage.models import MilestoneTruth


class AnyVerdict(Protocol):
    """A `MilestoneVerdict`, or a stored `Verdict`."""

    @property
    def milestone_id(self) -> str: ...  # noqa: D102  said by the class

    @property
    def verdict(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A judge's verdicts counted against the truth; counts of several episodes add up."""

    true_positive: int = 0
    false_positive: int = 0
    true_negative: int = 0
    false_negative: int = 0
    n_uncertain: int = 0
    n_invalid: int = 0
    n_reached: int = 0
    """Milestones that were reached in truth, whatever the judge said of them."""

    @property
    def n(self) -> int:
        """All verdicts."""
        return self.n_answered + self.n_uncertain + self.n_invalid

    @property
    def n_answered(self) -> int:
        """Verdicts that say either reached or not reached."""
        return self.true_positive + self.false_positive + self.true_negative + self.false_negative

    @property
    def precision(self) -> float | None:
        """Share of the `reached` verdicts that are true; None without any."""
        claimed = self.true_positive + self.false_positive
        return self.true_positive / claimed if claimed else None

    @property
    def recall(self) -> float | None:
        """Share of the truly reached milestones that the judge found; None without any.

        Abstentions and invalid answers have not found theirs, so abstaining does not raise it.
        """
        return self.true_positive / self.n_reached if self.n_reached else None

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(**{name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__})


def agreement(truths: Iterable[MilestoneTruth], verdicts: Iterable[AnyVerdict]) -> Agreement:
    """Compare one judge's verdicts on one episode with what the engine saw.

    Args:
        truths: the milestones that were reached.
        verdicts: one per milestone of the task.

    Raises:
        ValueError: two verdicts on one milestone: those of several judges or repeats were mixed.
    """
    reached = {truth.milestone_id for truth in truths}
    counts = dict.fromkeys(Agreement.__dataclass_fields__, 0)
    seen: set[str] = set()
    for verdict in verdicts:
        if verdict.milestone_id in seen:
            raise ValueError(f"two verdicts on milestone {verdict.milestone_id!r}: pass those of one judge, one repeat")
        seen.add(verdict.milestone_id)
        true = verdict.milestone_id in reached
        counts["n_reached"] += true
        if verdict.verdict in ("reached", "not_reached"):
            said = verdict.verdict == "reached"
            counts[f"{'true' if said == true else 'false'}_{'positive' if said else 'negative'}"] += 1
        else:
            counts[f"n_{verdict.verdict}"] += 1
    return Agreement(**counts)


_VENDORS = {
    "openai": ("gpt", "chatgpt", "o1", "o3", "o4", "codex", "davinci"),
    "anthropic": ("claude",),
    "google": ("gemini", "gemma", "paligemma"),
    "meta": ("llama", "muse"),
    "alibaba": ("qwen", "qwq", "qvq"),
    "mistral": ("mistral", "mixtral", "ministral", "pixtral", "codestral", "magistral"),
    "bytedance": ("doubao", "seed"),
    "xai": ("grok",),
    "deepseek": ("deepseek",),
    "zhipu": ("glm", "cogvlm", "cogagent"),
    "moonshot": ("kimi", "moonshot"),
    "opengvlab": ("internvl", "internlm"),
}
_BY_NAME = {name: vendor for vendor, names in _VENDORS.items() for name in names}


def family(model: str) -> str:
    """The family that a model's name tells: its vendor if the name is known, else the name's leading word.

    Prefixes of a route (`openrouter/`, `azure/`, `hosted_vllm/`) say who serves a model, not whose it is; they are
    left out.
    """
    name = model.rsplit("/", 1)[-1].lower()
    word = re.match(r"[a-z]*", name)
    leading = word.group() if word else ""
    whole = re.split(r"[-_.:@ ]", name, maxsplit=1)[0]
    return _BY_NAME.get(whole) or _BY_NAME.get(leading) or leading or name


def family_warning(judge_model: str, player_model: str) -> str | None:
    """A warning if judge and player seem to be of one family, whose judges tend to favour their own; else None."""
    shared = family(judge_model)
    if not judge_model or not player_model or shared != family(player_model):
        return None
    return (
        f"judge {judge_model!r} and player {player_model!r} seem to be of one family ({shared}): a judge may favour "
        "its own kind; compare with the engine's truth, or take another judge"
    )
