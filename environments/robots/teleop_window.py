"""The picture of the teleoperation window: two camera views, read-outs of the robot's own sensors, buttons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image

from environments.drawing import (
    CARD,
    INK,
    LINE,
    MUTED,
    PAPER,
    RED,
    SHADE,
    TEAL,
    Box,
    Canvas,
    Colour,
    font,
    wrapped,
)
from environments.env import Frame
from environments.robots.teleop_controls import (
    BY_ID,
    CONTROLS,
    HEADER,
    MAIN_VIEW,
    READ_OUTS,
    STATUS,
    WRIST_VIEW,
    Control,
)
from environments.robots.world import Vector

PRESSED: Colour = (255, 214, 102)
"""A button that the last gesture pressed."""
_AXES: tuple[Colour, Colour, Colour] = ((250, 186, 50), (64, 200, 180), (184, 150, 250))
"""Colours of forward, left and up."""
_WAYS = ("forward", "left", "up")
_KEYS = (BY_ID["forward"].key.upper(), BY_ID["left"].key.upper(), BY_ID["up"].key.upper())
_MARGIN = 7


@dataclass(frozen=True, slots=True)
class Panel:
    """Everything that the window shows but the camera pictures."""

    instruction: str
    step: int
    """Gestures made in this episode."""
    time_s: float
    position_cm: tuple[float, float, float]
    """Of the grip site along forward, left and up, from the rig's `origin`."""
    width_cm: float
    closing: bool
    """Whether the gripper was last told to close."""
    size: str
    """Step size: `fine` or `coarse`."""
    lit: frozenset[str]
    """Controls that the last gesture pressed."""
    click: tuple[int, int] | None
    """Where it clicked."""
    message: str
    bad: bool
    """Whether the message says that something did not go as it was meant."""


def draw(panel: Panel, main: Frame, wrist: Frame, axes: tuple[Vector, Vector]) -> Frame:
    """The window, (480, 640, 3) uint8.

    Args:
        panel: what to show.
        main: picture of the fixed camera, square, any size.
        wrist: picture of the camera on the hand.
        axes: for each of the two, where forward, left and up go in the picture: (3, 2) right and down, each of
            length 1 if it lies in the picture's plane and 0 if it leads straight into it.
    """
    canvas = _still(panel.instruction).copy()
    for box, picture in ((MAIN_VIEW, main), (WRIST_VIEW, wrist)):
        canvas.picture(box[0], box[1], _fit(picture, box))
    _compass(canvas, (MAIN_VIEW[0] + 6, MAIN_VIEW[3] - 6), 24, axes[0], _WAYS)
    _compass(canvas, (-(WRIST_VIEW[2] - 6), WRIST_VIEW[1] + 6), 15, axes[1], _KEYS)
    _caption(canvas, MAIN_VIEW, "main camera")
    _caption(canvas, WRIST_VIEW, "wrist camera")
    _read_outs(canvas, panel)
    chosen = {panel.size, "close" if panel.closing else "open"}
    for control in CONTROLS:
        if control.id in panel.lit or control.id in chosen:
            _button(canvas, control, pressed=control.id in panel.lit, chosen=control.id in chosen)
    _status(canvas, panel)
    if panel.click is not None:
        _pointer(canvas, *panel.click)
    return canvas.frame()


def in_picture(camera: Vector, frame: Vector) -> Vector:
    """Where the window's directions go in a camera's picture, (3, 2) right and down; see `draw`.

    Args:
        camera: (3, 3), see `Rig.camera_axes`.
        frame: (3, 3), see `teleop_motion.view_frame`.
    """
    return np.stack([frame.T @ camera[:, 0], -(frame.T @ camera[:, 1])], axis=1)


@lru_cache(maxsize=4)
def _still(instruction: str) -> Canvas:
    """What never changes during an episode."""
    canvas = Canvas(PAPER)
    canvas.panel(HEADER, INK)
    size = 16 if len(wrapped(instruction, 16, 612, bold=True)) == 1 else 14
    lines = wrapped(instruction, size, 612, bold=True)[:2]
    for row, line in enumerate(lines):
        canvas.text(14, 21 + 17 * (row - (len(lines) - 1) / 2), line, size, CARD, bold=True, anchor="lm")
    for control in CONTROLS:
        _button(canvas, control, pressed=False, chosen=False)
    return canvas


def _button(canvas: Canvas, control: Control, *, pressed: bool, chosen: bool) -> None:
    left, top, right, bottom = control.box
    face, ink = (PRESSED, INK) if pressed else (TEAL, CARD) if chosen else (CARD, INK)
    canvas.panel(control.box, TEAL if chosen else LINE, 8)
    drop = 2 if pressed else 0
    canvas.panel((left + 1, top + 1 + drop, right - 1, bottom - 3 + drop), face, 7)
    if bottom - top > 40:  # the pad: label over arrow and key
        canvas.text((left + right) / 2, top + 15 + drop, control.label, 13, ink, anchor="mm")
        canvas.text(left + 24, top + 36 + drop, control.glyph, 20, ink, bold=True, anchor="mm")
        _cap(canvas, control, right - 23, top + 36 + drop)
    else:
        canvas.text(left + 9, (top + bottom) / 2 - 1 + drop, control.label, 13, ink, anchor="lm")
        wide = 46 if len(control.key) > 1 else 20
        _cap(canvas, control, right - 6 - wide // 2, (top + bottom) // 2 - 1 + drop)


def _cap(canvas: Canvas, control: Control, x: int, y: int) -> None:
    name = control.key if len(control.key) > 1 else control.key.upper()
    half = 23 if len(name) > 1 else 10
    canvas.panel((x - half, y - 10, x + half, y + 10), LINE, 5)
    canvas.panel((x - half + 1, y - 9, x + half - 1, y + 8), SHADE, 4)
    canvas.text(x, y, name, 12, INK, bold=True, anchor="mm")


def _read_outs(canvas: Canvas, panel: Panel) -> None:
    left, top, right, _ = READ_OUTS
    canvas.panel(READ_OUTS, CARD, 8)
    canvas.text(left + 8, top + 6, "hand, cm", 12, MUTED)
    for row, (colour, name, value) in enumerate(zip(_AXES, _WAYS, panel.position_cm, strict=True)):
        y = top + 33 + 22 * row
        canvas.panel((left + 8, y - 7, left + 12, y + 7), colour, 2)
        canvas.text(left + 17, y, name, 12, INK, anchor="lm")
        canvas.text(right - 6, y, f"{value:.1f}", 12, INK, bold=True, anchor="rm")
    canvas.panel((left + 8, top + 92, right - 8, top + 93), LINE)
    canvas.text(left + 8, top + 99, "gripper", 12, MUTED)
    canvas.text(left + 8, top + 123, "close" if panel.closing else "open", 13, INK, bold=True, anchor="lm")
    canvas.text(right - 6, top + 123, f"{panel.width_cm:.1f} cm", 12, INK, bold=True, anchor="rm")
    gap = round(36 * min(1.0, max(0.0, panel.width_cm / 8)))
    middle, y = (left + right) // 2, top + 134
    canvas.panel((left + 8, y, right - 8, y + 10), SHADE, 4)
    for side in (middle - gap - 8, middle + gap):
        canvas.panel((side, y, side + 8, y + 10), INK, 2)
    canvas.panel((left + 8, top + 152, right - 8, top + 153), LINE)
    canvas.text(left + 8, top + 166, f"step {panel.step}", 12, INK, bold=True, anchor="lm")
    canvas.text(left + 8, top + 182, f"time {panel.time_s:.1f} s", 12, MUTED, anchor="lm")


def _status(canvas: Canvas, panel: Panel) -> None:
    left, top, right, bottom = STATUS
    fill, ink = (RED, CARD) if panel.bad else (SHADE, INK)
    canvas.panel(STATUS, fill, 7)
    text = panel.message
    while text and font(13, True).getlength(text) > right - left - 24:
        text = text[:-2].rstrip() + "…"
    canvas.text(left + 12, (top + bottom) / 2, text, 13, ink, bold=True, anchor="lm")


def _compass(canvas: Canvas, corner: tuple[int, int], reach: int, ways: Vector, names: tuple[str, str, str]) -> None:
    """Where forward, left and up go in a picture: named arrows on a plate that is as large as they need.

    Up has an origin of its own: in the picture of a camera that looks down at a table, forward and up are one line.

    Args:
        canvas: to draw on.
        corner: where the plate goes: its left and bottom edge, or with a negative x its right and top edge.
        reach: length of an arrow, in pixels.
        ways: (3, 2), see `draw`.
        names: what is written at the arrows.
    """
    floor, upright = ([_Pointer(ways[i], reach, names[i], _AXES[i]) for i in group] for group in ((0, 1), (2,)))
    # Left goes to the right in the picture of a camera that looks at its viewer.
    groups = [upright, floor] if ways[1][0] > 0 else [floor, upright]
    boxes = [np.array([pointer.box for pointer in group]) for group in groups]
    edges = [(box[:, 0].min(), box[:, 2].max()) for box in boxes]
    low, high = min(box[:, 1].min() for box in boxes), max(box[:, 3].max() for box in boxes)
    width = round(sum(right - left for left, right in edges)) + 3 * _MARGIN
    height = round(high - low) + 2 * _MARGIN
    left, top = (corner[0], corner[1] - height) if corner[0] >= 0 else (-corner[0] - width, corner[1])
    canvas.panel((left, top, left + width, top + height), INK, 8, 0.6)
    x, y = float(left + _MARGIN), round(top + _MARGIN - low)
    for group, (begin, end) in zip(groups, edges, strict=True):
        for pointer in group:
            pointer.draw(canvas, round(x - begin), y)
        x += end - begin + _MARGIN


class _Pointer:
    """One arrow of a compass and its name; a disc where it would lead straight into the picture or out of it."""

    def __init__(self, way: Vector, reach: int, name: str, colour: Colour) -> None:
        length = float(np.hypot(*way))
        self._colour, self._name = colour, name
        half = font(12, True).getlength(name) / 2
        # Shortened no further than can be seen: its direction is what matters.
        scale = 0.0 if length < 0.4 else reach * max(length, 0.75) / length
        self._tip = (float(way[0]) * scale, float(way[1]) * scale)
        ux, uy = (0.0, -1.0) if not scale else (float(way[0]) / length, float(way[1]) / length)
        # Beyond the tip, as far as the name is wide or high in that direction.
        away = min(half / max(1e-6, abs(ux)), 6 / max(1e-6, abs(uy))) + 4 + (0 if scale else 5)
        x, y = self._tip[0] + ux * away, self._tip[1] + uy * away
        self._label = (x, y)
        self.box = (min(x - half, -6.0), min(y - 7, -6.0), max(x + half, 6.0), max(y + 7, 6.0))
        """What it covers, from its origin: left, top, right, bottom."""

    def draw(self, canvas: Canvas, x: int, y: int) -> None:
        """Draw it with its origin at (x, y)."""
        if self._tip == (0.0, 0.0):
            canvas.disc(x, y, 6, self._colour)
        else:
            _arrow(canvas, (x, y), self._tip, self._colour)
        canvas.text(x + self._label[0], y + self._label[1], self._name, 12, CARD, bold=True, anchor="mm")


def _arrow(canvas: Canvas, start: tuple[int, int], way: tuple[float, float], colour: Colour) -> None:
    (x, y), (dx, dy) = start, way
    length = float(np.hypot(dx, dy))
    ux, uy = dx / length, dy / length
    head = min(9.0, length * 0.6)
    neck = length - head
    shaft = [(0, -2), (neck, -2), (neck, -5.5), (length, 0), (neck, 5.5), (neck, 2), (0, 2)]
    points = [(round(x + a * ux - b * uy, 1), round(y + a * uy + b * ux, 1)) for a, b in shaft]
    canvas.polygon(points, colour)


def _caption(canvas: Canvas, box: Box, text: str) -> None:
    width = int(font(12, True).getlength(text)) + 14
    canvas.panel((box[0] + 6, box[1] + 6, box[0] + 6 + width, box[1] + 26), INK, 6, 0.62)
    canvas.text(box[0] + 13, box[1] + 16, text, 12, CARD, bold=True, anchor="lm")


def _pointer(canvas: Canvas, x: int, y: int) -> None:
    """Where the last click went: a person sees the pointer, a grabbed picture does not hold it."""
    shape = ((0, 0), (0, 14), (3.4, 11), (6, 16.5), (8.6, 15.3), (6.2, 10), (10.5, 10))
    canvas.polygon([(x - 1 + 1.2 * dx, y - 2 + 1.2 * dy) for dx, dy in shape], CARD)
    canvas.polygon([(x + dx, y + dy) for dx, dy in shape], INK)


def _fit(picture: Frame, box: Box) -> Frame:
    width, height = box[2] - box[0], box[3] - box[1]
    if picture.shape[:2] == (height, width):
        return picture
    image = Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(image, dtype=np.uint8)
