"""What judges look at, what they answer, and how their answers compare with the engine's truth.

The two kinds of evidence are two types without a common part that holds the truth: a judge that
looks at frames cannot be handed scores or milestones by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agents.calls import ModelCall
from arena.identity import digest
from environments.env import Frame
from environments.task import Task
from storage.models import MilestoneTruth, Step, Verdict

VerdictName = Literal["reached", "not_reached", "uncertain", "invalid"]
"""`uncertain`: the judge abstains. `invalid`: its answer cannot be used, and counts as no answer."""

FrameLoader = Callable[[Sequence[int]], Sequence[Frame]]
"""Reads frames of the episode's video by index, in the order asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """What a judge of frames may know of a step: no reward, no score, nothing that the player said."""

    index: int
    frame: int
    """The frame that the player saw before acting."""
    action: Any
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoEvidence:
    """For judges that look: the task, the recording, and the actions."""

    task: Task
    episode_id: str
    steps: Sequence[ShownStep]
    n_frames: int
    frames: FrameLoader

    @classmethod
    def of(
        cls, task: Task, episode_id: str, steps: Iterable[Step], n_frames: int, frames: FrameLoader
    ) -> VideoEvidence:
        """From stored rows, leaving out everything that the engine alone knows."""
        shown = tuple(
            ShownStep(index=step.index, frame=step.frame, action=step.action, status=step.status) for step in steps
        )
        return cls(task=task, episode_id=episode_id, steps=shown, n_frames=n_frames, frames=frames)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthEvidence:
    """For the engine's judge alone: the milestones that the engine saw reached."""

    task: Task
    episode_id: str
    steps: Sequence[Step]
    truths: Sequence[MilestoneTruth]


JudgeEvidence = VideoEvidence | TruthEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneVerdict:
    """A judge's answer on one milestone."""

    milestone_id: str
    verdict: VerdictName
    confidence: float | None = None
    """0..1, as the judge puts it; None if it gave none."""
    frame: int | None = None
    """Index into the episode's video of the frame that it relies on."""
    note: str = ""
    """Why, in the judge's words (model text: hostile), or what made the answer invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One judge's answers on one episode: one verdict for every milestone of the task, in its order."""

    verdicts: tuple[MilestoneVerdict, ...]
    calls: tuple[ModelCall, ...] = ()
    frames: tuple[int, ...] = ()
    """Indices of the frames that were shown."""
    n_unknown: int = 0
    """Answers on milestones that the task does not have; they are left out."""

    @property
    def n_invalid(self) -> int:
        """Verdicts that cannot be used."""
        return sum(verdict.verdict == "invalid" for verdict in self.verdicts)


class Judge(Protocol):
    """Says which milestones an episode reached."""

    @property
    def name(self) -> str:
        """`engine`, or the model's name."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """Everything that determines its answers, as JSON values. Another fingerprint is another judge."""
        ...

    def judge(self, evidence: JudgeEvidence, *, repeat: int = 0) -> Judgement:
        """Answer for every milestone of the task.

        Args:
            evidence: What it looks at.
            repeat: Numbers repeated judgements, so that a cache keeps them apart.

        Raises:
            TypeError: evidence of the other kind.
            ProviderError: the model's side failed; `calls` holds what was sent. A bad answer is no
                error but `invalid` verdicts.
        """
        ...


def to_rows(judgement: Judgement, episode_id: str, judge: Judge, *, repeat: int = 0) -> list[Verdict]:
    """Rows to be added to the store.

    Their ids follow from episode, milestone, judge and repeat: the same judgement gives the same ids.

    Args:
        judgement: what the judge answered.
        episode_id: the judged episode.
        judge: who answered.
        repeat: numbers the judgements of one judge on one episode.
    """
    fingerprint = digest(judge.fingerprint())
    call_id = judgement.calls[-1].id if judgement.calls else None
    return [
        Verdict(
            id=f"v-{digest([episode_id, verdict.milestone_id, fingerprint, repeat])}",
            episode_id=episode_id,
            milestone_id=verdict.milestone_id,
            judge=judge.name,
            fingerprint=fingerprint,
            repeat=repeat,
            verdict=verdict.verdict,
            confidence=verdict.confidence,
            frame=verdict.frame,
            note=verdict.note,
            call_id=call_id,
        )
        for verdict in judgement.verdicts
    ]
