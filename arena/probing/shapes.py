"""Questions about shapes that we draw on recorded frames: sight alone, on the game's own pictures.

Shapes of known place measure what a model sees of a picture, apart from what it knows of the game; on the very frames
that players saw, clutter and scale are those of play. Questions that are made together with their answers from drawn
primitives follow work on procedurally generated visual tasks (ICML 2026).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from arena.probing.pictures import COLOURS, FIGURES, Shape
from arena.probing.question import Draft, Form, Question, Spot, placed, shuffled
from arena.probing.recording import Recording

QUADRANTS = ("upper left", "upper right", "lower left", "lower right")
_DRAWN = "Shapes with a black and white rim have been drawn on the picture; the rest of it does not matter."
_PER_EPISODE = 12
_RADIUS = 0.05
"""Of a shape, as a part of the picture's shorter side."""
_CLEAR = 0.08
"""Least distance from a border between two answers, as a part of the picture's side."""


def quadrant(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """In which quarter of the picture one of three shapes lies; the slot is the quarter."""
    return (partial(_ask_quadrant, recording, int(rng.integers(2**62))) for recording in _turns(recordings))


def _ask_quadrant(recording: Recording, seed: int, slot: int) -> Question:
    rng = np.random.default_rng(seed)
    column, row = slot % 2, slot // 2
    inside = tuple(_within(0.5 * at + _CLEAR / 2, 0.5 * at + 0.5 - _CLEAR / 2) for at in (column, row))
    shapes = _shapes(recording.size, 3, rng, (inside[0], inside[1]))
    return Question(
        **_base(recording, "quadrant", rng),
        text=f"{_DRAWN} In which quarter of the picture is {shapes[0].name}?",
        options=QUADRANTS,
        truth=QUADRANTS[slot],
        overlay=_covered(shapes, rng),
    )


def further_left(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """Which of two shapes is further to the left; the slot is the place of the right answer."""
    return (partial(_ask_left, recording, int(rng.integers(2**62))) for recording in _turns(recordings))


def _ask_left(recording: Recording, seed: int, slot: int) -> Question:
    rng = np.random.default_rng(seed)
    gap = _CLEAR * recording.size[0]
    while True:  # about four in five draws are far enough apart
        shapes = _shapes(recording.size, 2, rng)
        if abs(shapes[0].x - shapes[1].x) >= gap:
            break
    left, right = sorted(shapes, key=lambda shape: shape.x)
    return Question(
        **_base(recording, "further-left", rng),
        text=f"{_DRAWN} Which of the two is further to the left?",
        options=placed(left.name, [right.name], slot),
        truth=left.name,
        overlay=_covered(shapes, rng),
    )


def position(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """Where one of two shapes is, in pixels; right within its own radius."""
    return (partial(_ask_position, recording, int(rng.integers(2**62))) for recording in _turns(recordings))


def _ask_position(recording: Recording, seed: int, slot: int) -> Question:
    rng = np.random.default_rng(seed)
    shapes = _shapes(recording.size, 2, rng)
    return Question(
        **_base(recording, "position", rng),
        text=f"{_DRAWN} Where is the middle of {shapes[0].name}?",
        truth=Spot(shapes[0].x, shapes[0].y, shapes[0].radius),
        overlay=_covered(shapes, rng),
    )


def _turns(recordings: Sequence[Recording]) -> Iterator[Recording]:
    for _ in range(_PER_EPISODE):
        yield from (recording for recording in recordings if recording.n_frames)


def _base(recording: Recording, form: str, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "kind": "perception",
        "form": form,
        "task_id": recording.task.id,
        "episode_id": recording.episode.id,
        "frames": (int(rng.integers(recording.n_frames)),),
        "size": recording.size,
    }


Range = tuple[float, float]


def _within(low: float, high: float) -> Range:
    """Where a middle may be, as a part of the side, so that the shape does not stick out."""
    return max(low, 1.2 * _RADIUS), min(high, 1 - 1.2 * _RADIUS)


def _shapes(
    size: tuple[int, int], count: int, rng: np.random.Generator, first: tuple[Range, Range] | None = None
) -> list[Shape]:
    """Shapes that differ in figure and colour and do not touch; the first one lies within ranges of x and y."""
    radius = max(8, round(_RADIUS * min(size)))
    anywhere = (_within(0, 1), _within(0, 1))
    figures, colours = shuffled(FIGURES, rng), shuffled(list(COLOURS), rng)
    shapes: list[Shape] = []
    while len(shapes) < count:
        ranges = first if first and not shapes else anywhere
        x, y = (round(side * rng.uniform(*span)) for side, span in zip(size, ranges, strict=True))
        if all((x - other.x) ** 2 + (y - other.y) ** 2 > (3 * radius) ** 2 for other in shapes):
            number = len(shapes)
            shapes.append(Shape(figures[number], colours[number], x, y, radius))
    return shapes


def _covered(shapes: Sequence[Shape], rng: np.random.Generator) -> tuple[Shape, ...]:
    """In an order of drawing that does not tell which is asked about."""
    return tuple(shuffled(shapes, rng))


FORMS = (
    Form("perception", "quadrant", 4, quadrant),
    Form("perception", "further-left", 2, further_left),
    Form("perception", "position", 1, position),
)
