"""What a reflection looks at, what it returns, and what every reflector can do."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from agents.calls import ModelCall
from arena.reflection.pictures import Shown
from environments.env import Frame
from environments.task import ActionSpace, Task
from storage.models import Episode, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A failed attempt and, if there is one, an expert's tutorial of the same task on another seed.

    Raises:
        ValueError: if frames and their indices differ in number.
    """

    task: Task
    space: ActionSpace
    episode: Episode
    """The failed attempt."""
    steps: Sequence[Step]
    reached: Sequence[str] = ()
    """Ids of the milestones that the engine holds reached, in order of the task."""
    missed: Sequence[str] = ()
    failure_frames: Sequence[Frame] = ()
    failure_indices: Sequence[int] = ()
    """Of those frames, in the attempt's video."""
    tutorial_steps: Sequence[Step] = ()
    tutorial_frames: Sequence[Frame] = ()
    tutorial_indices: Sequence[int] = ()
    tutorial_episode_id: str | None = None
    pictures: Sequence[Shown] = ()
    """On the matched budget: exactly what is shown, in its order, in the place of the frames above."""
    lesson: str = ""
    """What the attempt was played with, if anything (model text: hostile)."""
    tried: Sequence[str] = ()
    """Lessons that were drawn from this same attempt, and did worse (model text: hostile)."""

    def __post_init__(self) -> None:
        for name in ("failure", "tutorial"):
            frames, indices = getattr(self, f"{name}_frames"), getattr(self, f"{name}_indices")
            if len(frames) != len(indices):
                raise ValueError(f"{name}: {len(frames)} frames for {len(indices)} indices")

    def without_tutorial(self) -> Evidence:
        """The attempt alone."""
        return replace(self, tutorial_steps=(), tutorial_frames=(), tutorial_indices=(), tutorial_episode_id=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why an attempt failed, in a model's words, and where it saw that."""

    text: str
    frame: int | None = None
    """Index into the attempt's video; always one that was shown."""
    picture: int | None = None
    """On the matched budget: number of the picture, from 1, in the order in which they were shown."""


ReflectionStatus = Literal["ok", "refused", "unusable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """A lesson, and how it came about."""

    text: str
    """The lesson (model text: hostile), or nothing if the status is not `ok`."""
    calls: tuple[ModelCall, ...] = ()
    status: ReflectionStatus = "ok"
    problem: str = ""
    """For `refused` and `unusable`: what was wrong with the answer."""
    causes: tuple[Cause, ...] = ()
    n_bad_citations: int = 0
    """Causes left out because they cite a frame that was not shown."""


class Reflector(Protocol):
    """Draws a lesson from a failed attempt."""

    @property
    def name(self) -> str:
        """`rules`, or the model's name."""
        ...

    @property
    def instrument(self) -> str:
        """A label shown with every lesson that comes from no model; empty otherwise."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """Everything that changes what it says, as JSON values; part of the retry's identity."""
        ...

    def reflect(self, evidence: Evidence) -> Reflection:
        """Draw a lesson.

        Raises:
            ProviderError: the model's side failed; `calls` holds what was sent. A bad answer is
                no error but a `Reflection` without text.
        """
        ...


class FrameLabels:
    """Says where in play a frame of the video lies."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = sorted(steps, key=lambda step: step.index)
        self._frames = [step.frame for step in self._steps]

    def step_at(self, frame: int) -> Step | None:
        """The step that was decided on this frame, or the last one before it; None if there was none."""
        place = bisect.bisect_right(self._frames, frame)
        return self._steps[place - 1] if place else None

    def label(self, frame: int) -> str:
        """For example `before step 4`, or `after step 9, the last`."""
        step = self.step_at(frame)
        if step is None:
            return "before the first step"
        if step.frame == frame:
            return f"before step {step.index}"
        return f"after step {step.index}" + (", the last" if step is self._steps[-1] else "")
