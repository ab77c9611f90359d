"""How the things in a yard of words look: word blocks, and one small drawing for each noun."""

from __future__ import annotations

from collections.abc import Callable

from environments import drawing
from environments.drawing import CARD, INK, Canvas, Colour
from environments.games.rules_engine import NOUNS, PROPERTIES

CELL = 50
"""Side of a cell in pixels; sprites are drawn about a cell's centre and stay within it."""

_LIT: dict[str, Colour] = {"noun": drawing.TEAL, "property": (176, 58, 112), "is": INK}
_DIM: dict[str, Colour] = {"noun": (222, 236, 233), "property": (244, 224, 233), "is": (226, 227, 230)}


def draw_word(canvas: Canvas, x: int, y: int, word: str, *, lit: bool) -> None:
    """A word block about (x, y): a solid colour where its sentence is in force, an outline where it is not."""
    kind = "noun" if word in NOUNS else "property" if word in PROPERTIES else "is"
    canvas.panel((x - 24, y - 24, x + 24, y + 24), _LIT[kind], 8)
    if not lit:
        canvas.panel((x - 22, y - 22, x + 22, y + 22), _DIM[kind], 6)
    canvas.fitted(x, y, word, 15, 46, CARD if lit else _LIT[kind])


def draw_object(canvas: Canvas, x: int, y: int, noun: str) -> None:
    """The drawing of a noun (in small letters) about (x, y)."""
    _SPRITES[noun](canvas, x, y)


def _eyes(canvas: Canvas, x: float, y: float, apart: float) -> None:
    for side in (-apart, apart):
        canvas.disc(x + side, y, 3.5, CARD)
        canvas.disc(x + side + 0.5, y + 0.5, 1.5, INK)


def _robot(canvas: Canvas, x: int, y: int) -> None:
    canvas.panel((x - 1, y - 23, x + 1, y - 15), INK)
    canvas.disc(x, y - 21, 3, drawing.RED)
    canvas.panel((x - 15, y - 16, x + 15, y + 5), drawing.BLUE, 6)
    canvas.panel((x - 11, y - 12, x + 11, y + 1), (20, 40, 96), 4)
    _eyes(canvas, x, y - 6, 5)
    canvas.panel((x - 10, y + 6, x + 10, y + 18), (112, 152, 232), 4)
    canvas.panel((x - 17, y + 7, x - 12, y + 16), drawing.BLUE, 2)
    canvas.panel((x + 12, y + 7, x + 17, y + 16), drawing.BLUE, 2)
    canvas.panel((x - 8, y + 18, x - 2, y + 22), INK, 1)
    canvas.panel((x + 2, y + 18, x + 8, y + 22), INK, 1)


def _snail(canvas: Canvas, x: int, y: int) -> None:
    body = (214, 170, 96)
    canvas.panel((x - 20, y + 9, x + 20, y + 18), body, 4)
    canvas.panel((x + 11, y - 8, x + 19, y + 16), body, 4)
    for dx in (11, 18):
        canvas.panel((x + dx, y - 16, x + dx + 2, y - 4), body)
        canvas.disc(x + dx + 1, y - 17, 2.5, INK)
    canvas.disc(x - 4, y, 15, drawing.BROWN)
    canvas.disc(x - 4, y, 11, (176, 120, 70))
    canvas.disc(x - 3, y + 1, 7, drawing.BROWN)
    canvas.disc(x - 2, y + 1, 3, (176, 120, 70))


def _duck(canvas: Canvas, x: int, y: int) -> None:
    yellow = (246, 200, 50)
    canvas.polygon([(x - 21, y - 2), (x - 8, y + 2), (x - 10, y + 14)], yellow)
    canvas.panel((x - 15, y - 1, x + 13, y + 17), yellow, 9)
    canvas.disc(x + 8, y - 8, 10, yellow)
    canvas.polygon([(x + 16, y - 10), (x + 24, y - 5), (x + 16, y - 3)], (228, 112, 24))
    canvas.disc(x + 10, y - 11, 2, INK)
    canvas.panel((x - 8, y + 4, x + 5, y + 12), (222, 168, 24), 4)
    canvas.panel((x - 4, y + 17, x - 1, y + 22), (228, 112, 24))
    canvas.panel((x + 3, y + 17, x + 6, y + 22), (228, 112, 24))


def _gem(canvas: Canvas, x: int, y: int) -> None:
    canvas.polygon([(x - 12, y - 14), (x + 12, y - 14), (x + 20, y - 3), (x, y + 19), (x - 20, y - 3)], (126, 62, 190))
    canvas.polygon([(x - 12, y - 14), (x + 12, y - 14), (x + 8, y - 3), (x - 8, y - 3)], (206, 170, 240))
    canvas.polygon([(x - 8, y - 3), (x + 8, y - 3), (x, y + 19)], (164, 104, 222))


def _lamp(canvas: Canvas, x: int, y: int) -> None:
    canvas.disc(x, y - 5, 18, (253, 240, 196))
    canvas.disc(x, y - 6, 12, drawing.GOLD)
    canvas.disc(x - 3, y - 9, 4, (255, 236, 176))
    canvas.panel((x - 5, y + 5, x + 5, y + 14), (130, 136, 148), 2)
    canvas.panel((x - 12, y + 14, x + 12, y + 19), INK, 2)


def _crate(canvas: Canvas, x: int, y: int) -> None:
    canvas.panel((x - 21, y - 21, x + 21, y + 21), drawing.BROWN, 4)
    canvas.panel((x - 17, y - 17, x + 17, y + 17), (206, 154, 96), 1)
    canvas.polygon([(x - 17, y + 11), (x + 11, y - 17), (x + 17, y - 17), (x + 17, y - 11), (x - 11, y + 17),
                    (x - 17, y + 17)], drawing.BROWN)  # fmt: skip


def _bush(canvas: Canvas, x: int, y: int) -> None:
    canvas.panel((x - 24, y - 24, x + 24, y + 24), (40, 98, 50), 8)
    for dx, dy in ((-12, -11), (4, -14), (14, -3), (-4, 2), (-14, 10), (9, 13)):
        canvas.disc(x + dx, y + dy, 7, (66, 138, 72))
        canvas.disc(x + dx - 2, y + dy - 2, 3, (112, 176, 104))


def _pond(canvas: Canvas, x: int, y: int) -> None:
    canvas.panel((x - 24, y - 24, x + 24, y + 24), (112, 182, 222), 8)
    for dx, dy, length in ((-16, -12, 16), (2, -2, 15), (-13, 9, 18)):
        canvas.panel((x + dx, y + dy, x + dx + length, y + dy + 3), (232, 246, 252), 1)


def _burr(canvas: Canvas, x: int, y: int) -> None:
    for dx, dy in ((0, -23), (16, -16), (23, 0), (16, 16), (0, 23), (-16, 16), (-23, 0), (-16, -16)):
        across = (-dy * 0.25, dx * 0.25)
        canvas.polygon([(x + dx, y + dy), (x + across[0], y + across[1]), (x - across[0], y - across[1])], INK)
    canvas.disc(x, y, 12, (150, 32, 44))
    canvas.disc(x - 3, y - 3, 4, (226, 100, 96))


_SPRITES: dict[str, Callable[[Canvas, int, int], None]] = {
    "robot": _robot,
    "snail": _snail,
    "duck": _duck,
    "gem": _gem,
    "lamp": _lamp,
    "crate": _crate,
    "bush": _bush,
    "pond": _pond,
    "burr": _burr,
}
