"""What we draw on recorded frames: shapes of known place, and a frame around a cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw

from environments.env import Frame

Figure = Literal["circle", "square", "triangle", "cross"]
FIGURES: tuple[Figure, ...] = ("circle", "square", "triangle", "cross")
COLOURS = {"red": (225, 30, 30), "blue": (30, 70, 230), "yellow": (250, 210, 0), "purple": (150, 40, 190)}
_MARK = (255, 0, 255)
_RIMS = ((0, (0, 0, 0)), (2, (255, 255, 255)), (4, None))
"""A black and a white rim tell a shape of ours from what the game draws; None is the shape's own colour."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape that we draw; `radius` reaches from its middle to its rim, in pixels."""

    figure: Figure
    colour: str
    x: int
    y: int
    radius: int

    @property
    def name(self) -> str:
        """As in a sentence."""
        return f"the {self.colour} {self.figure}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A frame around a part of the picture: left, top, right, bottom in pixels, right and bottom exclusive."""

    box: tuple[int, int, int, int]


def drawn(frame: Frame, overlay: Iterable[Shape | Mark]) -> Frame:
    """A copy of a frame, (H, W, 3) uint8, with shapes and marks drawn on it."""
    picture = Image.fromarray(np.ascontiguousarray(frame))
    pen = ImageDraw.Draw(picture)
    for item in overlay:
        if isinstance(item, Mark):
            left, top, right, bottom = item.box
            pen.rectangle((left - 2, top - 2, right + 1, bottom + 1), outline=_MARK, width=4)
        else:
            for inset, colour in _RIMS:
                _fill(pen, item, item.radius - inset, colour or COLOURS[item.colour])
    return np.array(picture, dtype=np.uint8)


def _fill(pen: ImageDraw.ImageDraw, shape: Shape, radius: int, colour: tuple[int, int, int]) -> None:
    x, y = shape.x, shape.y
    if shape.figure == "circle":
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), colour)
    elif shape.figure == "square":
        side = round(0.85 * radius)
        pen.rectangle((x - side, y - side, x + side, y + side), colour)
    elif shape.figure == "triangle":
        pen.polygon([(x, y - radius), (x - radius, y + radius), (x + radius, y + radius)], colour)
    else:
        arm = max(2, shape.radius // 3) - (shape.radius - radius) // 2
        pen.rectangle((x - radius, y - arm, x + radius, y + arm), colour)
        pen.rectangle((x - arm, y - radius, x + arm, y + radius), colour)
