"""Judging: which milestones an episode reached, by the engine's truth or by a model that looks at frames.

judge = build(JudgeConfig())
judgement = judge.judge(TruthEvidence(task=task, episode_id=episode.id, steps=steps, truths=truths))
rows = to_rows(judgement, episode.id, judge)
"""

from arena.judging.agreement import Agreement, agreement, family, family_warning
from arena.judging.config import JudgeConfig
from arena.judging.engine import EngineJudge
from arena.judging.factory import build
from arena.judging.human import InvalidReview
from arena.judging.judge import (
    Judge,
    JudgeEvidence,
    Judgement,
    MilestoneVerdict,
    ShownStep,
    TruthEvidence,
    VideoEvidence,
    to_rows,
)
from arena.judging.vlm import VlmJudge

__all__ = [
    "Agreement",
    "EngineJudge",
    "InvalidReview",
    "Judge",
    "JudgeConfig",
    "JudgeEvidence",
    "Judgement",
    "MilestoneVerdict",
    "ShownStep",
    "TruthEvidence",
    "VideoEvidence",
    "VlmJudge",
    "agreement",
    "build",
    "family",
    "family_warning",
    "to_rows",
]
