"""The judge that needs no model: the engine's own record."""

from __future__ import annotations

from typing import Any

from arena.judging.judge import JudgeEvidence, Judgement, MilestoneVerdict, TruthEvidence


class EngineJudge:
    """Repeats what the engine saw, with the frame on which it first held."""

    name = "engine"
    version = 1
    """Raise it when the same truth gives other verdicts."""

    def fingerprint(self) -> dict[str, Any]:
        """Name and version."""
        return {"judge": self.name, "version": self.version}

    def judge(self, evidence: JudgeEvidence, *, repeat: int = 0) -> Judgement:
        """A verdict for every milestone of the task, none of them uncertain, and the same whatever the repeat.

        Raises:
            TypeError: for evidence without the truth.
            ValueError: for a truth that names a step or a milestone that there is none of.
        """
        if not isinstance(evidence, TruthEvidence):
            raise TypeError(f"the engine's judge reads TruthEvidence, got {type(evidence).__name__}")
        known = {milestone.id for milestone in evidence.task.milestones}
        # Step.frame is what the player saw before acting; the next frame is the first to show the result.
        shown = {-1: 0} | {step.index: step.frame + 1 for step in evidence.steps}
        frames: dict[str, int] = {}
        for truth in evidence.truths:
            if truth.milestone_id not in known or truth.step_index not in shown:
                raise ValueError(
                    f"{evidence.episode_id}: the truth names milestone {truth.milestone_id!r} at step "
                    f"{truth.step_index}; {evidence.task.id} has {len(known)} milestones and the episode "
                    f"{len(shown) - 1} steps"
                )
            frames[truth.milestone_id] = shown[truth.step_index]
        return Judgement(
            verdicts=tuple(
                MilestoneVerdict(
                    milestone_id=milestone.id,
                    verdict="reached" if milestone.id in frames else "not_reached",
                    confidence=1.0,
                    frame=frames.get(milestone.id),
                )
                for milestone in evidence.task.milestones
            )
        )
