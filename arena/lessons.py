"""Lessons in the store: what a reflection is shown, asking for it once, and finding it again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from agents.errors import ProviderError
from arena import reflection
from arena.identity import derived_seed, digest
from arena.plan import Attempt, lessons_of
from arena.recorder import record_calls
from arena.reflection import Evidence, Reflection, ReflectionConfig, choose_frames, pictures
from arena.reflection.pictures import Pick, Shown
from arena.reflection.reflector import FrameLabels
from arena.review import EpisodeFrames, Film
from arena.rounds import Rounds
from environments.env import Frame
from environments.task import ActionSpace, Task
from storage.models import Episode, Lesson, Step, Tutorial
from storage.store import Store

log = logging.getLogger(__name__)

_USUAL_SIZE = (640, 480)
"""Of blank pictures where the attempt left no video to take the size from."""


class Frames(Protocol):
    """Random access to a video."""

    def __len__(self) -> int:
        """How many frames it has."""
        ...

    def __call__(self, indices: Sequence[int]) -> list[Frame]:
        """Frames by index, in the order asked for, each (H, W, 3) uint8."""
        ...


@dataclass(frozen=True, slots=True)
class Beside:
    """What is looked at beside the attempt: an episode (the expert's, a person's, another game's), or a video."""

    episode: Episode | None = None
    film: Tutorial | None = None

    @property
    def id(self) -> str | None:
        """Its id."""
        return self.episode.id if self.episode else self.film.id if self.film else None

    def frames(self, store: Store) -> Frames | None:
        """Its video; None without one."""
        if self.episode is not None:
            return EpisodeFrames(store, self.episode)
        return Film(store, self.film) if self.film is not None else None

    def steps(self, store: Store) -> Sequence[Step]:
        """Its log; none for a mere video."""
        return store.steps(self.episode.id) if self.episode is not None else ()


def lesson_of(store: Store, rounds: Rounds, beside: Beside) -> Lesson | None:
    """The lesson of the next round: made once, then found. None if the model's side failed."""
    attempt, episode = rounds.attempts[rounds.best], rounds.episodes[rounds.best]
    config = lessons_of(attempt, rounds.condition)
    tried = [rounds.episodes[place] for place in rounds.tried]
    named = [episode.id, digest(reflection.fingerprint(config)), beside.id]
    if config.evidence is not None:
        named += [config.kind, *(other.id for other in tried)]
    lesson_id = f"l-{digest(named)}"
    known = _known(store, episode, lesson_id)
    if known is not None:
        return known
    with store.episode_lock(attempt.identity):  # another run may reflect on the same episode
        return _known(store, episode, lesson_id) or _make(store, attempt, episode, tried, beside, config, lesson_id)


def _known(store: Store, episode: Episode, lesson_id: str) -> Lesson | None:
    return next((lesson for lesson in store.lessons(episode.id) if lesson.id == lesson_id), None)


def _make(
    store: Store,
    attempt: Attempt,
    episode: Episode,
    tried: Sequence[Episode],
    beside: Beside,
    config: ReflectionConfig,
    lesson_id: str,
) -> Lesson | None:
    """Reflect, and write down what came of it with the calls, in one transaction."""
    evidence = (
        _evidence(store, attempt.task, episode, beside, config)
        if config.evidence is None
        else _matched(store, attempt.task, episode, tried, beside, config)
    )
    reflector = reflection.build(config)
    try:
        result = reflector.reflect(evidence)
    except ProviderError as error:
        record_calls(store, error.calls, episode.id)
        log.warning("%s: no lesson: %s: %s", episode.id, type(error).__name__, error)
        return None
    lesson = _row(lesson_id, episode, beside, config, evidence, result)
    lesson.reflector, lesson.fingerprint = reflector.name, digest(reflector.fingerprint())
    record_calls(store, result.calls, episode.id, lesson)
    if result.status != "ok":
        log.warning("%s: retried without a lesson, the answer was %s: %s", episode.id, result.status, result.problem)
    return lesson


def _row(
    lesson_id: str,
    episode: Episode,
    beside: Beside,
    config: ReflectionConfig,
    evidence: Evidence,
    result: Reflection,
) -> Lesson:
    shown = {"failure": list(evidence.failure_indices), "tutorial": list(evidence.tutorial_indices)}
    return Lesson(
        id=lesson_id,
        episode_id=episode.id,
        tutorial_id=beside.episode.id if beside.episode else None,
        film_id=beside.film.id if beside.film else None,
        reflector="",
        fingerprint="",
        text=result.text,
        frames=pictures.record(evidence.pictures) if evidence.pictures else shown,
        call_id=result.calls[-1].id if result.calls else None,
        kind=config.kind,
        status=result.status,
        problem=result.problem,
        causes=[asdict(cause) for cause in result.causes],
        call_ids=[call.id for call in result.calls],
    )


def _evidence(store: Store, task: Task, episode: Episode, beside: Beside, config: ReflectionConfig) -> Evidence:
    """For the older form of `reflect-and-retry`: as many frames of both videos as there are, and both logs."""
    failure, expert = EpisodeFrames(store, episode), beside.frames(store)
    of_failure, of_tutorial = choose_frames(config, len(failure), len(expert) if expert else 0, failure)
    reached = {truth.milestone_id for truth in store.truths(episode.id)}
    return Evidence(
        task=task,
        space=ActionSpace(episode.space),
        episode=episode,
        steps=store.steps(episode.id),
        reached=[milestone.id for milestone in task.milestones if milestone.id in reached],
        missed=[milestone.id for milestone in task.milestones if milestone.id not in reached],
        failure_frames=failure(of_failure),
        failure_indices=of_failure,
        tutorial_steps=beside.steps(store),
        tutorial_frames=expert(of_tutorial) if expert else (),
        tutorial_indices=of_tutorial,
        tutorial_episode_id=beside.episode.id if beside.episode else None,
    )


def _matched(
    store: Store, task: Task, episode: Episode, tried: Sequence[Episode], beside: Beside, config: ReflectionConfig
) -> Evidence:
    """On the matched budget: exactly `config.frames` pictures, and the attempt's own log alone."""
    own, other = EpisodeFrames(store, episode), beside.frames(store)
    steps, truths = store.steps(episode.id), store.truths(episode.id)
    picks = pictures.choose(
        config,
        n_failure=len(own),
        n_other=len(other) if other else 0,
        chance=derived_seed(episode.id, "placebo"),
        failure_video=own,
        events=pictures.events_of(steps, truths, len(own)) if config.sampling == "event" else (),
    )
    reached = {truth.milestone_id for truth in truths}
    before = store.lesson(episode.lesson_id) if episode.lesson_id else None
    lessons = [store.lesson(attempt.lesson_id) for attempt in tried if attempt.lesson_id]
    return Evidence(
        task=task,
        space=ActionSpace(episode.space),
        episode=episode,
        steps=steps,
        reached=[milestone.id for milestone in task.milestones if milestone.id in reached],
        missed=[milestone.id for milestone in task.milestones if milestone.id not in reached],
        tutorial_steps=beside.steps(store),
        tutorial_episode_id=beside.episode.id if beside.episode else None,
        pictures=_shown(store, picks, own, other, FrameLabels(steps), beside),
        lesson=before.text if before else "",
        tried=[lesson.text for lesson in lessons if lesson and lesson.text],
    )


def _shown(
    store: Store, picks: Sequence[Pick], own: Frames, other: Frames | None, labels: FrameLabels, beside: Beside
) -> list[Shown]:
    """The picked pictures, all of the size of the attempt's, each with its label."""
    if not picks:
        return []
    size = _size(own)
    wanted = {
        "failure": [pick.index for pick in picks if pick.video == "failure"],
        "other": [pick.index for pick in picks if pick.video in ("tutorial", "other")],
    }
    drawn = {
        "failure": iter(own(wanted["failure"])),
        "other": iter(other(wanted["other"]) if other is not None else ()),
    }
    of_tutorial = FrameLabels(beside.steps(store)) if beside.episode else None
    shown = []
    for pick in picks:
        if pick.video == "blank":
            frame = pictures.blank(size)
        else:
            frame = pictures.fitted(next(drawn["failure" if pick.video == "failure" else "other"]), size)
        if pick.video == "tutorial":
            seen = of_tutorial.label(pick.place) if of_tutorial else f"in its order of time, number {pick.place}"
            label = f"tutorial frame {pick.place}, {seen}"
        else:
            label = f"attempt frame {pick.place}, {labels.label(pick.place)}"
        shown.append(Shown(pick, label, frame))
    return shown


def _size(own: Frames) -> tuple[int, int]:
    """Width and height of the attempt's frames, in pixels."""
    if not len(own):
        return _USUAL_SIZE
    height, width = own([0])[0].shape[:2]
    return width, height
