"""What a model is shown of a recording: both cameras side by side under the step, and the readings drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from arena.diagnosis import keyframes
from arena.diagnosis.signals import Reading
from environments.drawing import font
from environments.env import Frame

PLOT_SIZE = (768, 560)
"""Width and height of the plot in pixels."""
_LEFT, _RIGHT, _TOP, _GAP = 64, 14, 24, 26
_INK, _GRID, _SHADE = (20, 22, 28), (205, 208, 214), (226, 234, 246)
_COLOURS = ((31, 119, 180), (214, 96, 20), (44, 130, 60))

Curve = tuple[str, Sequence[float]]


def spread(moments: Sequence[int], count: int) -> list[int]:
    """At most `count` moments, evenly spread, the first and the last among them."""
    if len(moments) <= count:
        return list(moments)
    if count == 1:
        return [moments[-1]]
    places = np.linspace(0, len(moments) - 1, count).round().astype(int)
    return [moments[place] for place in places]


def side_by_side(views: Sequence[tuple[str, Frame]], moment: int) -> Frame:
    """One moment: a picture a camera, next to each other, with the step in a band above.

    Args:
        views: camera and picture, (H, W, 3) uint8, all of one height.
        moment: the step before which it is.

    Returns:
        (H + 20, sum of W, 3) uint8.
    """
    cameras = " | ".join(camera for camera, _ in views)
    return keyframes.labelled(np.hstack([picture for _, picture in views]), f"step {moment}   {cameras}")


def plot(readings: Sequence[Reading]) -> Frame:
    """The robot's readings over the steps, as four panels below each other; where the hand is told to close is shaded.

    Args:
        readings: of a whole episode, in order.

    Returns:
        (560, 768, 3) uint8.
    """
    width, height = PLOT_SIZE
    canvas = Image.new("RGB", PLOT_SIZE, (255, 255, 255))
    draw = ImageDraw.Draw(canvas)
    steps = [reading.step for reading in readings]
    panels: list[tuple[str, list[Curve]]] = [
        ("hand, m", [(name, [r.eef_pos_m[i] for r in readings]) for i, name in enumerate("xyz")]),
        ("speed, m/s", [("speed", [r.speed_m_s for r in readings])]),
        ("fingers, mm", [("gap", [1000 * r.width_m for r in readings])]),
        ("command", [("motion", [r.push for r in readings]), ("turning", [r.turn for r in readings])]),
    ]
    each = (height - _TOP - _GAP) // len(panels)
    for i, (title, curves) in enumerate(panels):
        box = (_LEFT, _TOP + i * each, width - _RIGHT, _TOP + (i + 1) * each - _GAP)
        _panel(draw, box, title, steps, curves, [r.closing is True for r in readings])
    draw.text((_LEFT, height - 20), "step (shaded: the gripper is told to close)", fill=_INK, font=font(12))
    return np.asarray(canvas, dtype=np.uint8)


def _panel(
    draw: ImageDraw.ImageDraw,
    box: tuple[int, int, int, int],
    title: str,
    steps: Sequence[int],
    curves: Sequence[Curve],
    shaded: Sequence[bool],
) -> None:
    left, top, right, bottom = box
    first, last = (steps[0], max(steps[-1], steps[0] + 1)) if steps else (0, 1)
    values = [value for _, curve in curves for value in curve]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    high = high if high - low > 1e-9 else low + 1.0

    def x(step: float) -> float:
        return left + (step - first) / (last - first) * (right - left)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - top)

    for step, on in zip(steps, shaded, strict=True):
        if on:
            draw.rectangle((x(step), top, min(x(step + 1), right), bottom), fill=_SHADE)
    draw.rectangle(box, outline=_GRID)
    for tick in np.linspace(first, last, 6).round().astype(int):
        draw.line((x(tick), top, x(tick), bottom), fill=_GRID)
        draw.text((x(tick), bottom + 2), str(tick), fill=_INK, font=font(10), anchor="ma")
    for value in (low, high):
        draw.text((left - 4, y(value)), f"{value:.3g}", fill=_INK, font=font(10), anchor="rm")
    offset = left
    for (name, curve), colour in zip(curves, _COLOURS, strict=False):
        points = [(x(step), y(value)) for step, value in zip(steps, curve, strict=True)]
        for one, other in pairwise(points):
            draw.line((*one, *other), fill=colour, width=2)
        told = f"{title}: {name}" if offset == left else name
        draw.text((offset, top - 14), told, fill=colour, font=font(11))
        offset += int(font(11).getlength(told)) + 16
