"""Which moments a model is shown, and how: step indices drawn in, readings as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image as Picture
from PIL import ImageDraw

from arena.diagnosis.signals import Reading
from environments.drawing import font
from environments.env import Frame

_BAND = 20
"""Height in pixels of the band above a picture that holds its label."""
_BEFORE_STEPS = 4
"""The picture called "before" is at least this much older than the onset."""


def choose(steps: Sequence[int], onset: int, now: int, event: str = "the onset") -> dict[int, str]:
    """Up to four moments worth a look: before, at and after the onset, and the present.

    Args:
        steps: steps of which there are pictures, ascending.
        onset: first step whose reading is odd.
        now: last step played.
        event: what began at the onset, in words.

    Returns:
        Step -> what it is to the onset, ascending.
    """
    if not steps:
        return {}
    middle = (onset + now) // 2
    before = [step for step in steps if step <= onset - _BEFORE_STEPS]
    wanted = {
        max(before, default=steps[0]): "before",
        min(steps, key=lambda step: abs(step - onset)): f"at {event}",
        min(steps, key=lambda step: abs(step - middle)): f"after {event}",
        max(steps): "now",
    }
    return dict(sorted(wanted.items()))


def labelled(frame: Frame, label: str) -> Frame:
    """The picture with its label in a band above it, so that nothing of it is covered.

    Args:
        frame: (H, W, 3) uint8.
        label: one short line.

    Returns:
        (H + 20, W, 3) uint8.
    """
    height, width, _ = frame.shape
    canvas = Picture.new("RGB", (width, height + _BAND), (20, 22, 28))
    canvas.paste(Picture.fromarray(np.ascontiguousarray(frame)), (0, _BAND))
    ImageDraw.Draw(canvas).text((4, 2), label, fill=(255, 255, 255), font=font(13, bold=True))
    return np.asarray(canvas, dtype=np.uint8)


def table(readings: Sequence[Reading], onset: int, *, before: int = 10, rows: int = 24) -> str:
    """The readings from an onset until now as a Markdown table, and `before` of them from before it.

    Where they are more than `rows`, what came after the onset is thinned out evenly; the last one is always there.
    """
    at = next((i for i, reading in enumerate(readings) if reading.step >= onset), len(readings))
    first = max(0, at - before)
    left = rows - (at - first)
    after: Sequence[int] = range(at, len(readings))
    if len(after) > left > 1:
        after = [after[(len(after) - 1) * place // (left - 1)] for place in range(left)]
    return "\n".join(_lines([readings[i] for i in (*range(first, at), *after)]))


def _lines(readings: Sequence[Reading]) -> Iterator[str]:
    yield "| step | gripper | width mm | x m | y m | z m | speed m/s |"
    yield "|---|---|---|---|---|---|---|"
    words = {True: "close", False: "open", None: "hold"}
    for it in readings:
        x, y, z = it.eef_pos_m
        hand = f"{x:.3f} | {y:.3f} | {z:.3f} | {it.speed_m_s:.2f}"
        yield f"| {it.step} | {words[it.closing]} | {1000 * it.width_m:.1f} | {hand} |"


def ranges(steps: Sequence[int]) -> str:
    """Ascending integers in words: `0-41, 60, 62-65`; `none` for none."""
    runs: list[list[int]] = []
    for step in steps:
        if runs and step == runs[-1][1] + 1:
            runs[-1][1] = step
        else:
            runs.append([step, step])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "none"
