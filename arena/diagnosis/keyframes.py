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


def choose(steps: Sequence[int], onset: int, now: int) -> dict[int, str]:
    """Up to four moments worth a look: before, at and after the onset, and the present.

    Args:
        steps: steps of which there are pictures, ascending.
        onset: first step whose reading is odd.
        now: last step played.

    Returns:
        Step -> what it is to the onset, ascending.
    """
    if not steps:
        return {}
    middle = (onset + now) // 2
    before = [step for step in steps if step <= onset - _BEFORE_STEPS]
    wanted = {
        max(before, default=steps[0]): "before",
        min(steps, key=lambda step: abs(step - onset)): "at the onset",
        min(steps, key=lambda step: abs(step - middle)): "after the onset",
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
    """The readings around an onset as a Markdown table: `before` of them from before it, `rows` at most."""
    at = next((i for i, reading in enumerate(readings) if reading.step >= onset), len(readings))
    return "\n".join(_lines(readings[max(0, at - before) :][:rows]))


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
