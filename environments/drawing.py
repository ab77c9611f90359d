"""Drawing for games: an anti-aliased canvas of 640x480, one font, one restrained palette.

Everything is a pure function of its arguments: the font is bundled and laid out without system
libraries, edges are smoothed by an integer average of a fourfold oversampled mask. The same calls
give the same pixels on every machine with the same Pillow.
"""

from __future__ import annotations

import importlib.resources
import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from environments.env import Frame
from environments.game import FRAME_SIZE

Colour = tuple[int, int, int]
Box = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels; right and bottom are exclusive."""
Point = tuple[float, float]

PAPER: Colour = (244, 242, 236)
CARD: Colour = (255, 255, 255)
SHADE: Colour = (233, 229, 219)
LINE: Colour = (208, 203, 191)
INK: Colour = (29, 33, 43)
MUTED: Colour = (96, 102, 115)
TEAL: Colour = (15, 118, 110)
DEEP_TEAL: Colour = (8, 74, 70)
BLUE: Colour = (29, 88, 214)
RED: Colour = (205, 43, 38)
GREEN: Colour = (45, 134, 64)
GOLD: Colour = (222, 152, 13)
BROWN: Colour = (120, 74, 38)

BOARD: Box = (20, 20, 460, 460)
"""Where a board game puts its square board, 440 pixels wide."""
SIDEBAR: Box = (480, 20, 620, 460)
"""Where it puts its name, its figures and its keys."""

Anchor = Literal["la", "ma", "ra", "lm", "mm", "rm", "ls", "ms", "rs"]

_OVERSAMPLING = 4


@lru_cache(maxsize=64)
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The bundled DejaVu Sans at `size` pixels."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    data = importlib.resources.files("environments.fonts").joinpath(name).read_bytes()
    # BASIC: the other layout engine depends on a system library, and so would the pixels.
    return ImageFont.truetype(io.BytesIO(data), size, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=4)
def terminal_cells(width: int, height: int, size: int) -> Frame:
    """The printable ASCII characters in cells of a terminal, (95, height, width) uint8, 255 where there is ink.

    From the bundled DejaVu Sans Mono at `size` pixels; the first one is the space. Shared: do not write on it.
    """
    data = importlib.resources.files("environments.fonts").joinpath("DejaVuSansMono.ttf").read_bytes()
    mono = ImageFont.truetype(io.BytesIO(data), size, layout_engine=ImageFont.Layout.BASIC)
    cells = np.zeros((95, height, width), np.uint8)
    for index in range(95):
        cell = Image.new("L", (width, height), 0)
        ImageDraw.Draw(cell).text((width / 2, height * 0.78), chr(32 + index), fill=255, font=mono, anchor="ms")
        cells[index] = np.asarray(cell)
    cells.setflags(write=False)
    return cells


def check_cells(size: int) -> None:
    """Refuse a square grid that cannot be drawn with whole pixels and cells of 40 or more, as sprites need.

    Raises:
        ValueError: naming the sizes that can.
    """
    side = BOARD[2] - BOARD[0]
    fitting = [cells for cells in range(8, 12) if side % cells == 0]
    if size not in fitting:
        raise ValueError(f"size: expected one of {fitting} cells on a board of {side} pixels, got {size}")


class Canvas:
    """A picture of `FRAME_SIZE` pixels to draw on; the origin is the top left corner."""

    def __init__(self, background: Colour = PAPER) -> None:
        self._image = Image.new("RGB", FRAME_SIZE, background)

    def copy(self) -> Canvas:
        """A canvas of its own with the same picture: draw what never changes once, copy it per frame."""
        twin = Canvas.__new__(Canvas)
        twin._image = self._image.copy()
        return twin

    def frame(self) -> Frame:
        """The picture as a new array, (480, 640, 3) uint8."""
        return np.array(self._image, dtype=np.uint8)

    def panel(self, box: Box, fill: Colour, radius: int = 0, opacity: float = 1.0) -> None:
        """Fill a rectangle with rounded corners; `opacity` is in 0..1."""
        left, top, right, bottom = box
        mask = _rounded(right - left, bottom - top, radius, round(255 * opacity))
        self._image.paste(fill, (left, top), mask)

    def disc(self, x: float, y: float, radius: float, fill: Colour) -> None:
        """Fill a circle about the centre (x, y)."""
        left, top = int(x - radius), int(y - radius)
        mask = _disc(round(x - left, 2), round(y - top, 2), radius)
        self._image.paste(fill, (left, top), mask)

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        """Fill a polygon."""
        left, top = int(min(x for x, _ in points)), int(min(y for _, y in points))
        mask = _polygon(tuple((x - left, y - top) for x, y in points))
        self._image.paste(fill, (left, top), mask)

    def picture(self, x: int, y: int, pixels: Frame) -> None:
        """Put a picture, (height, width, 3) uint8, with its top left corner at (x, y)."""
        self._image.paste(Image.fromarray(pixels), (x, y))

    def sprite(self, x: int, y: int, image: Image.Image) -> None:
        """Put an RGBA picture with its top left corner at (x, y), blended by its own alpha; it may stick out."""
        self._image.paste(image, (x, y), image)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        fill: Colour = INK,
        *,
        bold: bool = False,
        anchor: Anchor = "la",
    ) -> None:
        """Write one line; `anchor` is Pillow's: horizontally l/m/r, vertically a(scender)/m/s (baseline)."""
        mask, dx, dy = _line(text, size, bold, anchor)
        self._image.paste(fill, (round(x) + dx, round(y) + dy), mask)

    def fitted(self, x: float, y: float, text: str, size: int, width: int, fill: Colour = INK) -> None:
        """Write one bold line centred at (x, y), smaller than `size` if it would be wider than `width`."""
        while size > 8 and font(size, True).getlength(text) > width:
            size -= 1
        self.text(x, y, text, size, fill, bold=True, anchor="mm")


def wrapped(text: str, size: int, width: int, *, bold: bool = False) -> list[str]:
    """The words of a text in lines of at most `width` pixels; a longer word has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font(size, bold).getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def board_layout(title: str, keys: Sequence[str]) -> Canvas:
    """The picture that board games share: paper, the board's place, the name, help about the keys.

    `keys` are the lines below the drawing of the four arrow keys, at most three of 16 characters.
    """
    canvas = Canvas()
    canvas.panel(BOARD, CARD)
    left, top, right, bottom = SIDEBAR
    canvas.text(left, top - 3, title, 30, bold=True)
    canvas.panel((left, top + 42, right, top + 45), TEAL)
    middle, row = (left + right) // 2, bottom - 40 - 16 * len(keys)
    for dx, dy, angle in ((0, -1, "up"), (-1, 0, "left"), (0, 0, "down"), (1, 0, "right")):
        _arrow_key(canvas, middle + 38 * dx, row + 38 * dy, angle)
    for index, line in enumerate(keys):
        canvas.text(middle, bottom - 16 * (len(keys) - index), line, 13, MUTED, anchor="ma")
    return canvas


def figure(canvas: Canvas, row: int, label: str, value: str, fill: Colour = INK) -> None:
    """One card of the sidebar: a small label over a large value; rows count from 0, at most four."""
    left, top, right, _ = SIDEBAR
    y = top + 60 + 70 * row
    canvas.panel((left, y, right, y + 60), CARD, 8)
    canvas.text(left + 12, y + 8, label, 13, MUTED)
    canvas.text(left + 12, y + 24, value, 24, fill, bold=True)


def banner(canvas: Canvas, headline: str, detail: str, fill: Colour, *, clear_of: int, board: Box = BOARD) -> None:
    """The end of the game, across the board: what happened and why.

    `clear_of` is the y of what the last frame must show; the banner takes the other half.
    """
    left, top, right, bottom = board
    canvas.panel((left - 6, top - 6, right + 6, bottom + 6), PAPER, 6, 0.3)
    middle_x = (left + right) // 2
    middle_y = top + (bottom - top) * (3 if clear_of < (top + bottom) // 2 else 1) // 4
    canvas.panel((left + 28, middle_y - 54, right - 28, middle_y + 54), CARD, 16)
    canvas.panel((left + 30, middle_y - 52, right - 30, middle_y + 52), fill, 14)
    canvas.fitted(middle_x, middle_y - 15, headline, 36, right - left - 90, CARD)
    canvas.text(middle_x, middle_y + 28, detail, 17, CARD, anchor="mm")


_KEY_ARROWS: dict[str, tuple[Point, Point, Point]] = {
    "up": ((-7, 5), (7, 5), (0, -7)),
    "down": ((-7, -5), (7, -5), (0, 7)),
    "left": ((5, -7), (5, 7), (-7, 0)),
    "right": ((-5, -7), (-5, 7), (7, 0)),
}


def _arrow_key(canvas: Canvas, x: int, y: int, direction: str) -> None:
    canvas.panel((x - 17, y - 17, x + 17, y + 17), LINE, 7)
    canvas.panel((x - 16, y - 16, x + 16, y + 14), CARD, 6)
    canvas.polygon([(x + dx, y - 1 + dy) for dx, dy in _KEY_ARROWS[direction]], INK)


@lru_cache(maxsize=1024)
def _line(text: str, size: int, bold: bool, anchor: Anchor) -> tuple[Image.Image, int, int]:
    """The line as a mask, and where its corner lies from the anchor: a quarter of a frame's time saved."""
    left, top, right, bottom = (int(edge) for edge in font(size, bold).getbbox(text, anchor=anchor))
    mask = Image.new("L", (right - left + 1, bottom - top + 1), 0)
    ImageDraw.Draw(mask).text((-left, -top), text, fill=255, font=font(size, bold), anchor=anchor)
    return mask, left, top


@lru_cache(maxsize=512)
def _rounded(width: int, height: int, radius: int, level: int) -> Image.Image:
    k = _OVERSAMPLING
    mask = Image.new("L", (width * k, height * k), 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width * k - 1, height * k - 1), radius * k, level)
    return mask.reduce(k)


@lru_cache(maxsize=512)
def _disc(x: float, y: float, radius: float) -> Image.Image:
    k = _OVERSAMPLING
    width, height = int(x + radius) + 2, int(y + radius) + 2
    mask = Image.new("L", (width * k, height * k), 0)
    box = ((x - radius) * k, (y - radius) * k, (x + radius) * k, (y + radius) * k)
    ImageDraw.Draw(mask).ellipse(box, 255)
    return mask.reduce(k)


@lru_cache(maxsize=512)
def _polygon(points: tuple[Point, ...]) -> Image.Image:
    k = _OVERSAMPLING
    width, height = int(max(x for x, _ in points)) + 2, int(max(y for _, y in points)) + 2
    mask = Image.new("L", (width * k, height * k), 0)
    ImageDraw.Draw(mask).polygon([(x * k, y * k) for x, y in points], 255)
    return mask.reduce(k)
