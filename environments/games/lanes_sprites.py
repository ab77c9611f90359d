"""The figures of Crab Coast, each about 44 pixels wide around its middle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from environments import drawing
from environments.drawing import Canvas, Colour, Point
from environments.games.lanes_beach import CrabKind, Kind

Sprite = Callable[[Canvas, int, int], None]

_ORANGE: tuple[Colour, Colour] = ((164, 62, 30), (226, 104, 58))
_SHELL: tuple[Colour, Colour, Colour] = ((92, 76, 66), (166, 146, 124), (204, 188, 164))
_HOP: tuple[Colour, Colour] = ((120, 96, 14), (226, 190, 52))
_KING: tuple[Colour, Colour] = ((92, 16, 30), (170, 34, 50))
_OYSTER: tuple[Colour, Colour, Colour] = ((88, 96, 116), (150, 160, 182), (224, 226, 236))
_SQUID: tuple[Colour, Colour] = ((46, 60, 138), (94, 112, 206))
_ROCK: tuple[Colour, Colour, Colour] = ((84, 88, 94), (142, 146, 152), (172, 176, 180))
_JELLY: tuple[Colour, Colour] = ((150, 60, 130), (216, 132, 196))
_GAP: Colour = (236, 217, 173)
"""Sand."""
_WATER: tuple[Colour, Colour] = ((38, 120, 166), (132, 200, 226))


def pearl(canvas: Canvas, x: int, y: int) -> None:
    """A pearl."""
    canvas.disc(x, y, 9, (128, 120, 150))
    canvas.disc(x, y, 7.5, (250, 246, 252))
    canvas.disc(x + 2, y + 2, 4, (226, 216, 236))
    canvas.disc(x - 3, y - 3, 2, drawing.CARD)


def drop(canvas: Canvas, x: int, y: int) -> None:
    """Ink on its way."""
    canvas.polygon([(x - 12, y), (x, y - 5), (x, y + 5)], _SQUID[0])
    canvas.disc(x, y, 5, _SQUID[0])


def net(canvas: Canvas, x: int, y: int) -> None:
    """A hand net."""
    canvas.polygon([(x + 4, y + 6), (x + 7, y + 3), (x + 22, y + 15), (x + 20, y + 18)], drawing.CARD)
    canvas.disc(x - 4, y - 2, 14, drawing.CARD)
    canvas.disc(x - 4, y - 2, 11.5, drawing.DEEP_TEAL)
    for shift in (-6, 0, 6):
        half = round(math.sqrt(11**2 - shift**2))
        canvas.panel((x - 4 + shift, y - 2 - half, x - 3 + shift, y - 2 + half), drawing.CARD)
        canvas.panel((x - 4 - half, y - 2 + shift, x - 4 + half, y - 1 + shift), drawing.CARD)


def flag(canvas: Canvas, x: int, y: int, fill: Colour) -> None:
    """A flag of the castle."""
    canvas.panel((x - 6, y - 9, x - 4, y + 10), drawing.MUTED)
    canvas.polygon([(x - 4, y - 9), (x + 9, y - 4), (x - 4, y + 1)], fill)


def pool(canvas: Canvas, x: int, y: int) -> None:
    """A pool, over most of its cell."""
    canvas.panel((x - 26, y - 24, x + 26, y + 26), (196, 172, 126), 22)
    canvas.panel((x - 23, y - 21, x + 23, y + 23), _WATER[0], 20)
    canvas.panel((x - 20, y - 15, x + 22, y + 22), (66, 148, 190), 18)
    for dx, dy in ((-10, -4), (4, 6), (-6, 13)):
        canvas.panel((x + dx, y + dy, x + dx + 12, y + dy + 2), _WATER[1], 1)


def burst(canvas: Canvas, x: int, y: int) -> None:
    """The jet of a geyser, over its nine cells."""
    for ray in range(12):
        angle = math.pi / 6 * ray
        for reach in (24, 46, 68):
            canvas.disc(x + reach * math.cos(angle), y + reach * math.sin(angle), 10 - reach // 12, _WATER[1])
    canvas.disc(x, y, 22, _WATER[1])
    canvas.disc(x, y, 13, drawing.CARD)


def _around(x: float, y: float, outline: Sequence[Point], scale: float = 1.0, side: int = 1) -> list[Point]:
    """The outline, given from its middle, about (x, y); `side` -1 mirrors it."""
    return [(x + side * scale * dx, y + scale * dy) for dx, dy in outline]


def _eyes(canvas: Canvas, x: float, y: float, apart: float, size: float = 3.5, look: float = -1.0) -> None:
    for side in (-1, 1):
        canvas.disc(x + side * apart, y, size, drawing.CARD)
        canvas.disc(x + side * apart + look, y + 0.5, size * 0.5, drawing.INK)


def _oyster(canvas: Canvas, x: int, y: int) -> None:
    upper = [(-18, 2), (-20, -8), (-10, -19), (6, -20), (18, -11), (19, 2)]
    canvas.polygon(_around(x, y, upper), _OYSTER[0])
    canvas.polygon(_around(x, y, upper, 0.82), _OYSTER[1])
    canvas.panel((x - 18, y - 2, x + 19, y + 18), _OYSTER[0], 9)
    canvas.panel((x - 15, y + 1, x + 16, y + 14), _OYSTER[2], 6)
    canvas.disc(x, y + 5, 6.5, (128, 120, 150))
    canvas.disc(x, y + 5, 5.5, drawing.CARD)
    for shift in (-8, 0, 8):
        canvas.panel((x + shift - 1, y - 14, x + shift + 1, y - 4), _OYSTER[0], 1)


def _squid(canvas: Canvas, x: int, y: int) -> None:
    canvas.polygon([(x - 6, y - 24), (x - 17, y - 6), (x + 5, y - 6)], _SQUID[0])
    canvas.panel((x - 16, y - 16, x + 8, y + 10), _SQUID[0], 10)
    canvas.panel((x - 13, y - 13, x + 5, y + 7), _SQUID[1], 8)
    for shift in (-14, -7, 0):
        canvas.panel((x + shift, y + 6, x + shift + 5, y + 22), _SQUID[0], 2)
    canvas.panel((x + 4, y - 4, x + 20, y + 6), _SQUID[0], 3)  # the snout that it shoots from
    canvas.disc(x + 19, y + 1, 6, _SQUID[0])
    canvas.disc(x + 20, y + 1, 3, drawing.INK)
    canvas.disc(x - 4, y - 4, 5, drawing.CARD)
    canvas.disc(x - 2, y - 4, 2.5, drawing.INK)


def _rock(canvas: Canvas, x: int, y: int) -> None:
    outline = [(-20, 18), (-22, 0), (-14, -17), (2, -22), (16, -15), (22, 2), (19, 18)]
    canvas.polygon(_around(x, y, outline), _ROCK[0])
    canvas.polygon(_around(x, y, outline, 0.86), _ROCK[1])
    canvas.polygon([(x - 12, y - 10), (x, y - 17), (x + 4, y - 4), (x - 9, y + 2)], _ROCK[2])
    canvas.polygon([(x + 6, y + 4), (x + 15, y - 2), (x + 15, y + 10)], _ROCK[2])


def _jelly(canvas: Canvas, x: int, y: int) -> None:
    canvas.disc(x, y - 4, 18, _JELLY[0])
    canvas.disc(x, y - 4, 15.5, _JELLY[1])
    canvas.panel((x - 18, y - 1, x + 18, y + 4), _JELLY[0], 2)
    for shift in (-14, -6, 2, 10):
        canvas.panel((x + shift, y + 2, x + shift + 4, y + 22), _JELLY[0], 2)
        canvas.disc(x + shift + 2, y + 21, 3, _JELLY[1])
    _eyes(canvas, x, y - 6, 6, look=1)


def _geyser(canvas: Canvas, x: int, y: int) -> None:
    for dx, dy, size in ((0, -16, 6), (-8, -10, 5), (8, -10, 5), (0, -4, 7)):
        canvas.disc(x + dx, y + dy, size, _WATER[0])
        canvas.disc(x + dx, y + dy, size - 2, _WATER[1])
    canvas.polygon([(x - 20, y + 19), (x - 8, y), (x + 8, y), (x + 20, y + 19)], _SHELL[0])
    canvas.polygon([(x - 15, y + 16), (x - 6, y + 3), (x + 6, y + 3), (x + 15, y + 16)], _SHELL[1])
    canvas.panel((x - 7, y - 1, x + 7, y + 4), _WATER[0], 2)


def _legs_and_claws(canvas: Canvas, x: int, y: int, dark: Colour, light: Colour, wide: int) -> None:
    for side in (-1, 1):
        for dy in (4, 9, 14):
            leg = [(wide - 6, dy - 4), (wide + 7, dy + 2), (wide + 5, dy + 5), (wide - 7, dy)]
            canvas.polygon(_around(x, y, leg, side=side), dark)
        claw = x + side * (wide + 3)
        canvas.disc(claw, y - 10, 7, dark)
        canvas.disc(claw, y - 10, 4.5, light)
        canvas.polygon(_around(claw, y, [(0, -9), (-3, -19), (4, -19)]), dark)  # the gap between its fingers
        canvas.polygon(_around(claw, y, [(0, -11), (-1.5, -19), (2.5, -19)]), _GAP)


def _body(canvas: Canvas, x: int, y: int, dark: Colour, light: Colour, wide: int, high: int) -> None:
    canvas.panel((x - wide, y - high, x + wide, y + high), dark, high - 1)
    canvas.panel((x - wide + 2, y - high + 2, x + wide - 2, y + high - 2), light, high - 3)


def _crab(canvas: Canvas, x: int, y: int) -> None:
    _legs_and_claws(canvas, x, y, *_ORANGE, 15)
    _body(canvas, x, y + 3, *_ORANGE, 16, 11)
    _eyes(canvas, x, y - 8, 5)


def _hermit(canvas: Canvas, x: int, y: int) -> None:
    _legs_and_claws(canvas, x, y + 2, *_ORANGE, 13)
    canvas.disc(x + 3, y - 4, 19, _SHELL[0])
    canvas.disc(x + 3, y - 4, 16.5, _SHELL[1])
    canvas.disc(x + 5, y - 5, 11, _SHELL[0])
    canvas.disc(x + 5, y - 5, 9, _SHELL[2])
    canvas.disc(x + 6, y - 6, 4, _SHELL[0])
    _body(canvas, x - 8, y + 9, *_ORANGE, 11, 8)
    _eyes(canvas, x - 8, y + 4, 4)


def _hopper(canvas: Canvas, x: int, y: int) -> None:
    for side in (-1, 1):
        canvas.polygon(_around(x, y, [(6, -2), (20, -14), (22, -11), (9, 4)], side=side), _HOP[0])
        canvas.polygon(_around(x, y, [(19, -14), (22, -12), (19, 16), (15, 16)], side=side), _HOP[0])
    _body(canvas, x, y, *_HOP, 13, 9)
    _eyes(canvas, x, y - 8, 5)


def _king(canvas: Canvas, x: int, y: int) -> None:
    _legs_and_claws(canvas, x, y + 2, *_KING, 20)
    _body(canvas, x, y + 4, *_KING, 22, 16)
    crown = [(-12, -12), (-14, -27), (-6, -20), (0, -29), (6, -20), (14, -27), (12, -12)]
    canvas.polygon(_around(x, y, crown), drawing.GOLD)
    _eyes(canvas, x, y - 5, 8, 4.5)
    canvas.panel((x - 8, y + 9, x + 8, y + 12), _KING[0], 1)


DEFENDERS: dict[Kind, Sprite] = {
    "oyster": _oyster, "squid": _squid, "rock": _rock, "jelly": _jelly, "geyser": _geyser,
}  # fmt: skip
CRABS: dict[CrabKind, Sprite] = {"crab": _crab, "hermit": _hermit, "hopper": _hopper, "king": _king}
