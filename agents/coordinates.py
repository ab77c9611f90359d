"""From a model's coordinates to pixels of the frame, and back: one transform, owned by the harness.

The frame has the size of the screen. The picture that is sent may be smaller. What a model's numbers mean is its
convention, a setting of the player:

=============  =========================================================================================
`pixel`        pixels of the picture as sent, from its upper left corner
`unit`         fractions of width and height, 0 to 1
`thousand`     thousandths of width and height, 0 to 1000 (UI-TARS on Doubao, Qwen3-VL, Gemini)
`smart-resize` pixels of the picture after the server has brought its sides to multiples of 28 (Qwen2-VL, Qwen2.5-VL,
               UI-TARS 1.5); source: `smart_resize` of Qwen's vision utilities, whose bounds are the defaults here
=============  =========================================================================================

A pixel is an area, a coordinate a point: pixel 3 is the points from 3 to 4, and stands for its centre on the way back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Convention = Literal["pixel", "unit", "thousand", "smart-resize"]
Size = tuple[int, int]
"""Width and height in pixels."""

FACTOR = 28
"""Qwen2-VL and Qwen2.5-VL see patches of 14 pixels, merged two by two."""
MIN_PIXELS, MAX_PIXELS = 4 * FACTOR**2, 16_384 * FACTOR**2
"""Bounds of the resized picture's area, the library's defaults."""
_MAX_RATIO = 200


class OutsidePicture(ValueError):
    """A coordinate that lies outside the picture, or is no finite number."""


def smart_resize(size: Size, factor: int = FACTOR, low: int = MIN_PIXELS, high: int = MAX_PIXELS) -> Size:
    """The size that a picture has after smart resizing: sides are multiples of `factor`, the area within bounds.

    Args:
        size: of the picture as sent, in pixels.
        factor: what both sides become multiples of.
        low: smallest area in pixels.
        high: largest area in pixels.

    Raises:
        ValueError: for a side below 1, or sides in a proportion above 200, which the servers refuse.
    """
    width, height = size
    if min(size) < 1 or max(size) / min(size) > _MAX_RATIO:
        raise ValueError(f"size: expected sides of 1 at least, in a proportion of {_MAX_RATIO} at most, got {size}")
    resized = [max(factor, round(side / factor) * factor) for side in (width, height)]
    area = resized[0] * resized[1]
    if area > high:
        shrink = math.sqrt(width * height / high)
        resized = [max(factor, math.floor(side / shrink / factor) * factor) for side in (width, height)]
    elif area < low:
        grow = math.sqrt(low / (width * height))
        resized = [math.ceil(side * grow / factor) * factor for side in (width, height)]
    return resized[0], resized[1]


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The convention of one model's numbers for one picture.

    Args:
        frame: size of the frame, in whose pixels actions are carried out.
        sent: size of the picture as sent.
        convention: what the model's numbers mean.
    """

    frame: Size
    sent: Size
    convention: Convention = "pixel"

    @property
    def extent(self) -> tuple[float, float]:
        """What the convention calls the right and the lower edge of the picture."""
        if self.convention == "unit":
            return 1.0, 1.0
        if self.convention == "thousand":
            return 1000.0, 1000.0
        return smart_resize(self.sent) if self.convention == "smart-resize" else self.sent

    @property
    def whole(self) -> bool:
        """Whether the convention's numbers are whole."""
        return self.convention != "unit"

    @property
    def inclusive(self) -> bool:
        """Whether the edge itself is a place: 1000 of 1000 is the last pixel, 640 of 640 pixels is outside."""
        return self.convention in ("unit", "thousand")

    def to_frame(self, x: float, y: float) -> tuple[int, int]:
        """The pixel of the frame that the model means.

        Raises:
            OutsidePicture: naming the axis, the value and the range.
        """
        return self._to_pixel("x", x, 0), self._to_pixel("y", y, 1)

    def to_model(self, x: int, y: int) -> tuple[float, float]:
        """What the model would call the centre of a pixel of the frame."""
        return self._from_pixel(x, 0), self._from_pixel(y, 1)

    def describe(self) -> str:
        """The convention in words, for a prompt."""
        right, lower = self.extent
        if self.convention == "unit":
            return "Coordinates are fractions of the picture's width and height, from 0 (left, top) to 1."
        if self.convention == "thousand":
            return "Coordinates are thousandths of the picture's width and height, from 0 (left, top) to 1000."
        return (
            f"Coordinates are pixels of the picture of {right:g} x {lower:g}, with the origin in its upper left corner."
        )

    def _to_pixel(self, axis: str, value: float, index: int) -> int:
        edge, pixels = self.extent[index], self.frame[index]
        inside = 0 <= value <= edge if self.inclusive else 0 <= value < edge  # NaN is in no range
        if not inside:
            last = edge if self.inclusive else edge - 1
            raise OutsidePicture(f"{axis}: {value:g} is outside the picture, which reaches from 0 to {last:g}")
        # A whole number names a pixel, and its centre is meant; fractions and thousandths are points.
        centre = 0.5 if not self.inclusive and float(value).is_integer() else 0.0
        return min(int((value + centre) * pixels / edge), pixels - 1)

    def _from_pixel(self, pixel: int, index: int) -> float:
        edge, pixels = self.extent[index], self.frame[index]
        point = (pixel + 0.5) * edge / pixels
        if self.convention == "thousand":
            return float(round(point))
        return float(int(point)) if self.whole else point
