"""Fetches what a judge looks at from what was recorded, and writes down verdicts, a person's among them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from agents.errors import ProviderError
from arena import judging
from arena.identity import digest
from arena.judging import InvalidReview, JudgeConfig, JudgeEvidence, TruthEvidence, VideoEvidence, human
from arena.recorder import record_calls
from environments.env import Frame
from environments.task import Task
from storage.errors import ArtifactMissing, RowExists
from storage.models import Episode, Tutorial, Verdict
from storage.store import Store
from storage.video import read_frames

log = logging.getLogger(__name__)

_TRIES = 8
"""Decisions of one person on one milestone at the same moment, in other windows."""


class EpisodeFrames:
    """Random access to the frames of a recorded episode; decodes only what is asked for."""

    def __init__(self, store: Store, episode: Episode) -> None:
        self._store = store
        self._episode = episode

    def __len__(self) -> int:
        return int(self._episode.video_info.get("n_frames", 0))

    def __call__(self, indices: Sequence[int]) -> list[Frame]:
        """Frames by index, each (H, W, 3) uint8.

        Raises:
            ArtifactMissing: if the episode has no video.
        """
        if not indices:
            return []
        if self._episode.video is None:
            raise ArtifactMissing(f"episode {self._episode.id} has no video")
        return _frames(self._store, self._episode.video, indices)


class Film:
    """Random access to the frames of a person's own tutorial video."""

    def __init__(self, store: Store, tutorial: Tutorial) -> None:
        self._store = store
        self._tutorial = tutorial

    def __len__(self) -> int:
        return int(self._tutorial.video_info.get("n_frames", 0))

    def __call__(self, indices: Sequence[int]) -> list[Frame]:
        """Frames by index, each (H, W, 3) uint8."""
        return _frames(self._store, self._tutorial.video, indices) if indices else []


def _frames(store: Store, sha256: str, indices: Sequence[int]) -> list[Frame]:
    path = store.artifacts.path(sha256)
    if path is not None:
        return read_frames(path, indices)
    with store.artifacts.open(sha256) as file:
        return read_frames(file, indices)


def judge_evidence(store: Store, task: Task, episode: Episode, config: JudgeConfig) -> JudgeEvidence:
    """What the configured judge may look at: the engine's truth, or the frames; never both."""
    steps = store.steps(episode.id)
    if config.judge == "engine":
        return TruthEvidence(task=task, episode_id=episode.id, steps=steps, truths=store.truths(episode.id))
    frames = EpisodeFrames(store, episode)
    return VideoEvidence.of(task, episode.id, steps, len(frames), frames)


def is_judged(store: Store, episode: Episode, config: JudgeConfig) -> bool:
    """Whether a judge has no word left to say on an episode: it answered as often as asked, or nothing is scored."""
    return not episode.scored or not _missing(store, episode, config, digest(judging.build(config).fingerprint()))


def judge_episode(store: Store, task: Task, episode: Episode, config: JudgeConfig) -> bool:
    """Add a judge's verdicts on a scored episode, a set for every repeat that is missing; older ones are never touched.

    Returns:
        Whether all are there. Not if the model's side failed: its calls are recorded, and the next start asks again.
    """
    if not episode.scored:
        return True
    judge = judging.build(config)
    evidence = judge_evidence(store, task, episode, config)
    for repeat in _missing(store, episode, config, digest(judge.fingerprint())):
        try:
            judgement = judge.judge(evidence, repeat=repeat)
        except ProviderError as error:
            record_calls(store, error.calls, episode.id)
            log.warning("%s was not judged: %s: %s", episode.id, type(error).__name__, error)
            return False
        record_calls(store, judgement.calls, episode.id, *judging.to_rows(judgement, episode.id, judge, repeat=repeat))
    return True


def _missing(store: Store, episode: Episode, config: JudgeConfig, fingerprint: str) -> list[int]:
    done = {verdict.repeat for verdict in store.verdicts(episode.id) if verdict.fingerprint == fingerprint}
    return [repeat for repeat in range(config.repeats) if repeat not in done]


def add_human_verdict(
    store: Store,
    task: Task,
    episode: Episode,
    milestone_id: str,
    verdict: str,
    frame: int,
    *,
    name: str,
    note: str = "",
) -> Verdict:
    """Add what a person says of a milestone; who said something before adds a verdict, and the latest counts.

    Args:
        store: Where it is written down.
        task: The episode's task.
        episode: A finished one, with its video.
        milestone_id: One of the task's.
        verdict: `reached`, `not_reached` or `uncertain` (cannot tell).
        frame: Number of the frame of the episode's video that they rely on.
        name: Who it is, 1 to 40 printable characters.
        note: Why, in at most `arena.judging.human.MAX_NOTE` characters.

    Raises:
        InvalidReview: something of it cannot be taken in; names the field.
    """
    judge, note = human.reviewer(name), human.checked_note(note)
    _check_verdict(store, task, episode, milestone_id, verdict, frame)
    fingerprint = human.fingerprint(judge)
    for _ in range(_TRIES):
        earlier = [v.repeat for v in store.verdicts(episode.id)
                   if v.fingerprint == fingerprint and v.milestone_id == milestone_id]  # fmt: skip
        repeat = max(earlier, default=-1) + 1
        row = Verdict(
            id=f"v-{digest([episode.id, milestone_id, fingerprint, repeat])}",
            episode_id=episode.id,
            milestone_id=milestone_id,
            judge=judge,
            fingerprint=fingerprint,
            repeat=repeat,
            verdict=verdict,
            frame=frame,
            note=note,
        )
        try:
            store.add(row)
        except RowExists:  # the same person decided in another window meanwhile: this decision is the later one
            continue
        return row
    raise InvalidReview(
        "name", name[:60], "is judging this milestone in several windows at once; decide in one of them"
    )


def _check_verdict(store: Store, task: Task, episode: Episode, milestone_id: str, verdict: str, frame: int) -> None:
    known = [milestone.id for milestone in task.milestones]
    if milestone_id not in known:
        told = f"{task.id} has no such milestone; it has {', '.join(known) or 'none'}"
        raise InvalidReview("milestone", milestone_id[:60], told)
    if verdict not in human.ANSWERS:
        raise InvalidReview("verdict", verdict[:40], f"must be one of {', '.join(human.ANSWERS)}")
    if episode.status != "finished":
        raise InvalidReview("episode", episode.id, "is still being played; judge it when it is over")
    n_frames = len(EpisodeFrames(store, episode))
    if episode.video is None or not n_frames or not store.artifacts.exists(episode.video):
        raise InvalidReview("episode", episode.id, "has no video to be seen; a verdict cites a frame of it")
    if not 0 <= frame < n_frames:
        raise InvalidReview("frame", frame, f"the episode's video has the frames 0 to {n_frames - 1}; cite one of them")
