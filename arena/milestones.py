"""Proposed milestones in the store: added by an extraction, reviewed by people or by the engine's truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

from agents.errors import ProviderError
from arena.identity import digest
from arena.judging.extraction import Extraction, Extractor
from arena.recorder import record_calls
from arena.review import EpisodeFrames, Film
from environments.task import Task
from storage.models import Episode, MilestoneProposal, MilestoneReview, Tutorial
from storage.store import Store

State = Literal["proposed", "accepted", "rejected"]
ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A proposal with where it stands."""

    proposal: MilestoneProposal
    state: State
    review: MilestoneReview | None
    """The latest; None while nobody has looked at it."""


def extract(
    store: Store, task: Task, source: Episode | Tutorial, extractor: Extractor
) -> tuple[Extraction, list[MilestoneProposal]]:
    """Have a model read milestones out of a recording, and keep them as the task's next version.

    Returns:
        What the model gave, and the rows. None are added for an extraction without a usable proposal.

    Raises:
        ValueError: a recording that shows nothing.
        ProviderError: the model's side failed; its calls are recorded.
    """
    of_episode = isinstance(source, Episode)
    frames = EpisodeFrames(store, source) if isinstance(source, Episode) else Film(store, source)
    episode_id = source.id if of_episode else None
    try:
        found = extractor.extract(task, len(frames), frames)
    except ProviderError as error:
        record_calls(store, error.calls, episode_id)
        raise
    version = max((proposal.version for proposal in store.proposals(task.id)), default=0) + 1
    fingerprint = digest(extractor.fingerprint())
    rows = [
        MilestoneProposal(
            id=f"m-{digest([task.id, version, source.id, fingerprint, place])}",
            task_id=task.id,
            version=version,
            place=place,
            text=item.text,
            episode_id=episode_id,
            tutorial_id=None if of_episode else source.id,
            first_frame=item.first_frame,
            last_frame=item.last_frame,
            frames=list(item.frames),
            model=extractor.name,
            fingerprint=fingerprint,
            call_id=found.calls[-1].id if found.calls else None,
        )
        for place, item in enumerate(found.proposals)
    ]
    record_calls(store, found.calls, episode_id, *rows)
    return found, rows


def reviewed(store: Store, task_id: str) -> list[Reviewed]:
    """All proposals of a task with their latest reviews, by version and place."""
    latest = {review.proposal_id: review for review in store.reviews(task_id)}
    return [_reviewed(proposal, latest.get(proposal.id)) for proposal in store.proposals(task_id)]


def _reviewed(proposal: MilestoneProposal, review: MilestoneReview | None) -> Reviewed:
    states: dict[str, State] = {"accepted": "accepted", "rejected": "rejected"}
    return Reviewed(proposal, states.get(review.state, "proposed") if review else "proposed", review)


def review(
    store: Store, proposal: MilestoneProposal, state: State, reviewer: str, *, matches: str = "", note: str = ""
) -> MilestoneReview:
    """Add somebody's decision; earlier ones stay."""
    row = MilestoneReview(
        id=f"r-{uuid4().hex[:24]}", proposal_id=proposal.id, state=state, reviewer=reviewer, matches=matches, note=note
    )
    store.add(row)
    return row


def agree(store: Store, task: Task, version: int) -> list[tuple[MilestoneProposal, str]]:
    """Accept, in the engine's name, the proposals of a version whose stretch holds a milestone that the engine saw.

    Agreement in time and not in words: a proposal is given to the engine's milestone that was reached within its
    stretch, or else nearest to its end and within one stretch's length of it; each milestone is given once, and the
    order of both is kept. What was reviewed by a person is left alone.

    Returns:
        The proposals that were accepted, each with the engine's milestone.

    Raises:
        ValueError: the version was read out of a person's own video, of which the engine knows nothing.
    """
    rows = [item for item in reviewed(store, task.id) if item.proposal.version == version]
    sources = {item.proposal.episode_id for item in rows}
    if None in sources:
        raise ValueError(f"version {version} of {task.id} was read out of a video that no engine of ours played")
    reached = [(milestone, frame) for source in sources if source for milestone, frame in _reached(store, source)]
    given = _assigned([item.proposal for item in rows], sorted(reached, key=lambda item: item[1]))
    accepted = []
    for item in rows:
        milestone = given.get(item.proposal.id)
        if milestone is not None and item.review is None:
            review(store, item.proposal, "accepted", ENGINE, matches=milestone, note="reached in the same stretch")
            accepted.append((item.proposal, milestone))
    return accepted


def _reached(store: Store, episode_id: str) -> list[tuple[str, int]]:
    """The engine's milestones with the first frame that shows each; those that held at the start are left out."""
    frames = {step.index: step.frame + 1 for step in store.steps(episode_id)}
    return [
        (truth.milestone_id, frames[truth.step_index]) for truth in store.truths(episode_id) if truth.step_index >= 0
    ]


def _assigned(proposals: Sequence[MilestoneProposal], reached: Sequence[tuple[str, int]]) -> dict[str, str]:
    """Which proposal is which milestone: the most pairs that keep the order of both, by dynamic programming."""
    n, m = len(proposals), len(reached)
    best = [[(0, 0.0)] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            distance = _distance(proposals[i], reached[j][1])
            options = [best[i + 1][j], best[i][j + 1]]
            if distance is not None:
                pairs, near = best[i + 1][j + 1]
                options.append((pairs + 1, near - distance))
            best[i][j] = max(options)
    found, i, j = {}, 0, 0
    while i < n and j < m:
        distance = _distance(proposals[i], reached[j][1])
        if distance is not None and best[i][j] == (best[i + 1][j + 1][0] + 1, best[i + 1][j + 1][1] - distance):
            found[proposals[i].id] = reached[j][0]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _distance(proposal: MilestoneProposal, frame: int) -> float | None:
    """How far outside a proposal's stretch a frame lies, in frames; None if it is too far to be meant."""
    if proposal.first_frame <= frame <= proposal.last_frame:
        return 0.0
    outside = max(proposal.first_frame - frame, frame - proposal.last_frame)
    return float(outside) if outside <= max(1, proposal.last_frame - proposal.first_frame) else None
