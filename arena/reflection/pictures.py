"""Which pictures a reflection of the matched budget is shown: always as many, always of one size.

A condition changes what is in the pictures and nothing else. So that they can be compared, each shows exactly `frames`
of them: frames of the failed attempt, of the tutorial, half of each, the attempt's own in a wrong order or those of
another game (the placebo), or blank ones (the log alone).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageOps

from arena.reflection.config import ReflectionConfig
from arena.sampling import FrameReader, in_turns, sample_frames
from environments.env import Frame
from storage.models import MilestoneTruth, Step

Video = Literal["failure", "tutorial", "other", "blank"]
"""Where a picture comes from: the attempt, the tutorial, another game's tutorial, or nowhere."""

BLANK = 128
"""Grey level of a picture that shows nothing."""


@dataclass(frozen=True, slots=True)
class Pick:
    """One picture to be shown."""

    video: Video
    index: int
    """Frame of that video; of a blank one, the frame that it stands for."""
    place: int
    """Frame that its label names. It differs from `index` for a placebo alone, whose labels keep the order of time."""
    filled: bool = False
    """Whether it repeats the last frame, because the video has fewer than are to be shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture as it is shown: where it comes from, what its label says, and what is in it."""

    pick: Pick
    label: str
    frame: Frame
    """(H, W, 3) uint8 RGB, of the size of the attempt's frames."""


def choose(
    config: ReflectionConfig,
    *,
    n_failure: int,
    n_other: int,
    chance: int,
    failure_video: FrameReader | None = None,
    events: Sequence[int] = (),
) -> list[Pick]:
    """Choose exactly `config.frames` pictures; none for a reflector that reads no pictures.

    Args:
        config: whose reflection, with `evidence`.
        n_failure: frames in the failed attempt's video.
        n_other: frames in the tutorial's, or in the other game's.
        chance: decides the order of a shuffled placebo.
        failure_video: reads frames of the failed attempt; for `sampling: change`.
        events: frames at which something happened; for `sampling: event`.
    """
    if config.reflector != "vlm" or config.evidence in (None, "none"):
        return []

    def attempt(count: int) -> list[tuple[int, bool]]:
        found = sample_frames(n_failure, count, config.sampling, failure_video, events) if n_failure else []
        return _filled_up(found, count)

    def other(count: int) -> list[tuple[int, bool]]:
        return _filled_up(sample_frames(n_other, count, "uniform") if n_other else [], count)

    match config.evidence:
        case "tutorial":
            return _picks("tutorial" if n_other else "blank", other(config.frames))
        case "both":
            own = _picks("failure" if n_failure else "blank", attempt(config.frames - config.frames // 2))
            return own + _picks("tutorial" if n_other else "blank", other(config.frames // 2))
        case "log":
            return _picks("blank", attempt(config.frames))
        case "placebo" if config.other_game:
            places = attempt(config.frames)
            shown = _picks("other" if n_other else "blank", other(config.frames))
            return [Pick(p.video, p.index, place, p.filled) for p, (place, _) in zip(shown, places, strict=True)]
        case "placebo":
            places = attempt(config.frames)
            mixed = [places[i] for i in _wrong_order(len(places), chance)]
            video: Video = "failure" if n_failure else "blank"
            return [Pick(video, index, place, f) for (index, f), (place, _) in zip(mixed, places, strict=True)]
    return _picks("failure" if n_failure else "blank", attempt(config.frames))


def _picks(video: Video, chosen: Sequence[tuple[int, bool]]) -> list[Pick]:
    return [Pick(video, index, index, filled) for index, filled in chosen]


def _filled_up(chosen: Sequence[int], count: int) -> list[tuple[int, bool]]:
    """Exactly `count`: what a short video lacks is its last frame again."""
    last = chosen[-1] if chosen else 0
    return [*((index, False) for index in chosen), *[(last, True)] * (count - len(chosen))]


def _wrong_order(count: int, chance: int) -> list[int]:
    """An order in which no picture is at its place: a cycle through all of them (Sattolo's algorithm)."""
    rng = np.random.default_rng(chance)
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = int(rng.integers(i))
        order[i], order[j] = order[j], order[i]
    return order


def record(shown: Sequence[Shown]) -> dict[str, Any]:
    """The pictures as a lesson's row keeps them: by video, exact frame numbers in the order in which they were shown.

    `places` are the frame numbers that the labels named, where they differ; `order` names each picture's video, and
    `filled` the pictures (from 0) that repeat a last frame.
    """
    frames: dict[str, Any] = {"failure": [], "tutorial": []}
    for item in shown:
        frames.setdefault(item.pick.video, []).append(item.pick.index)
    picks = [item.pick for item in shown]
    frames["order"] = [pick.video for pick in picks]
    if any(pick.place != pick.index for pick in picks):
        frames["places"] = [pick.place for pick in picks]
    if any(pick.filled for pick in picks):
        frames["filled"] = [i for i, pick in enumerate(picks) if pick.filled]
    return frames


def blank(size: tuple[int, int]) -> Frame:
    """A picture that shows nothing.

    Args:
        size: width and height in pixels.
    """
    return np.full((size[1], size[0], 3), BLANK, np.uint8)


def fitted(frame: Frame, size: tuple[int, int]) -> Frame:
    """A frame at another size: whole, with grey beside it where the shape differs. Equal sizes are left alone.

    Args:
        frame: (H, W, 3) uint8 RGB.
        size: width and height in pixels.
    """
    height, width = frame.shape[:2]
    if (width, height) == size:
        return frame
    padded = ImageOps.pad(Image.fromarray(frame), size, Image.Resampling.LANCZOS, color=(BLANK, BLANK, BLANK))
    return np.asarray(padded)


def events_of(steps: Sequence[Step], truths: Sequence[MilestoneTruth], n_frames: int) -> list[int]:
    """Frames at which something happened, the weightiest first: the ending, milestones, changes of score, refusals.

    They are the engine's own times. A reflector is told none of them, but its pictures lie around them.

    Args:
        steps: of the attempt, in order of play.
        truths: its milestones.
        n_frames: of its video.
    """
    frame_of = {step.index: step.frame for step in steps}
    ending = [step.frame for step in steps[-3:]] or [max(0, n_frames - 2)]
    milestones = [frame_of[truth.step_index] for truth in truths if truth.step_index in frame_of]
    before = 0.0
    changes, refusals = [], []
    for step in steps:
        if step.score != before:
            changes.append(step.frame)
        if step.status != "ok":
            refusals.append(step.frame)
        before = step.score
    return in_turns([ending, milestones, changes, refusals])
