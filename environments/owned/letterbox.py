"""The one transform between the frame that a player sees and the region of the screen that it shows."""

from __future__ import annotations

from typing import NamedTuple

FRAME_SIZE = (640, 480)
"""Width and height of the frame in pixels: that of `environments.game`, and the bounds of `GuiAction`."""

Point = tuple[int, int]


class Region(NamedTuple):
    """The client area of a window, in the screen's own units (pixels; points on macOS)."""

    left: int
    top: int
    width: int
    height: int


class Letterbox(NamedTuple):
    """How a picture of any size lies in the frame: as large as fits, in its own proportions, in the middle.

    `to_region` takes the middle of a frame pixel, `to_frame` the middle of a region pixel. The round trip gives the
    same pixel back that began on the coarser of the two sides.
    """

    region: Point
    """Width and height of the picture."""
    left: int
    top: int
    """Frame pixels of the bars left of and above the picture."""
    shown: Point
    """Width and height of the picture in the frame."""

    @classmethod
    def of(cls, width: int, height: int) -> Letterbox:
        """The letterbox of a region.

        Raises:
            ValueError: for a region without area.
        """
        if width < 1 or height < 1:
            raise ValueError(f"a region of {width}x{height} has no area")
        frame_width, frame_height = FRAME_SIZE
        if width * frame_height >= height * frame_width:  # wider than the frame: bars above and below
            shown = (frame_width, max(1, round(height * frame_width / width)))
        else:
            shown = (max(1, round(width * frame_height / height)), frame_height)
        return cls((width, height), (frame_width - shown[0]) // 2, (frame_height - shown[1]) // 2, shown)

    def to_region(self, x: int, y: int) -> Point | None:
        """The pixel of the region, from its own corner, under a pixel of the frame; None in the bars."""
        inner_x, inner_y = x - self.left, y - self.top
        if not (0 <= inner_x < self.shown[0] and 0 <= inner_y < self.shown[1]):
            return None
        return _scaled(inner_x, self.region[0], self.shown[0]), _scaled(inner_y, self.region[1], self.shown[1])

    def to_frame(self, x: int, y: int) -> Point:
        """The pixel of the frame in which a pixel of the region is seen."""
        return (
            self.left + _scaled(x, self.shown[0], self.region[0]),
            self.top + _scaled(y, self.shown[1], self.region[1]),
        )


def _scaled(value: int, to: int, of: int) -> int:
    # The middle of the pixel, in whole numbers: no rounding of a float decides where a click lands.
    return (2 * value + 1) * to // (2 * of)
