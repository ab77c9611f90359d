"""What all judges say of an episode's milestones, folded: one line a judge, however often it was asked.

Pure functions over rows. The same rules as in the report of `arena judge`: repeats are folded by majority, and of a
person's decisions the latest counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final

from arena.judging import EngineJudge
from arena.judging.human import is_human, without_superseded
from arena.judging.report import majority_vote
from storage.models import MilestoneTruth, Verdict

DECIDED: Final = ("reached", "not_reached")


def fold(
    known: Sequence[str], truths: Sequence[MilestoneTruth], verdicts: Sequence[Verdict], *, engine_knows: bool
) -> list[dict[str, Any]]:
    """One entry a milestone, those of the task first and in its order.

    Args:
        known: Ids of the task's milestones.
        truths: What the engine saw reached.
        verdicts: All of the episode's, oldest first.
        engine_knows: Whether what the engine did not see reached was not reached.

    Returns:
        `milestone_id`; `truth`: reached, not_reached, or None where the engine does not know; `judges` (see `_judge`),
        people last; `disputed`: whether judges contradict each other.
    """
    reached = {truth.milestone_id for truth in truths}
    said = [verdict for verdict in verdicts if verdict.judge != EngineJudge.name]
    found = []
    for milestone in dict.fromkeys([*known, *reached, *(verdict.milestone_id for verdict in said)]):
        truth = "reached" if milestone in reached else "not_reached" if engine_knows else None
        by_judge: dict[str, list[Verdict]] = {}
        for verdict in said:
            if verdict.milestone_id == milestone:
                by_judge.setdefault(verdict.fingerprint, []).append(verdict)
        judges = [_judge(group, truth) for group in by_judge.values()]
        judges.sort(key=lambda judge: (judge["human"], judge["judge"], judge["fingerprint"]))
        answers = {judge["verdict"] for judge in judges}
        found.append(
            {"milestone_id": milestone, "truth": truth, "judges": judges, "disputed": answers.issuperset(DECIDED)}
        )
    return found


def _judge(verdicts: Sequence[Verdict], truth: str | None) -> dict[str, Any]:
    """One judge's answers to one question.

    Returns:
        `judge`, `fingerprint`, `human`; `verdict`: the majority of its answers, a person's latest; `counts`: how many
        of those that count say what; `n` of them; `confidence`: mean of those that say `verdict`, or None; `frame`
        that the latest of these cites; `against_engine`; `ids` of all answers, those that count last.
    """
    verdicts = sorted(verdicts, key=lambda verdict: verdict.repeat)
    counted = without_superseded(verdicts)
    human = is_human(counted[-1])
    answers = [verdict.verdict for verdict in counted]
    folded = answers[0] if len(set(answers)) == 1 else majority_vote(answers)
    alike = [verdict for verdict in counted if verdict.verdict == folded]
    sure = [verdict.confidence for verdict in alike if verdict.confidence is not None]
    cited = [verdict.frame for verdict in alike if verdict.frame is not None]
    return {
        "judge": counted[-1].judge,
        "fingerprint": counted[-1].fingerprint,
        "human": human,
        "verdict": folded,
        "counts": dict(Counter(answers).most_common()),
        "n": len(counted),
        "confidence": fmean(sure) if sure else None,
        "frame": cited[-1] if cited else None,
        "against_engine": truth is not None and folded in DECIDED and folded != truth,
        "ids": [verdict.id for verdict in verdicts],
    }
