"""The figures on the lamplighter's road, and the small signs of what they mean to do."""

from __future__ import annotations

from collections.abc import Callable

from environments import drawing
from environments.drawing import CARD, INK, Canvas

_STEEL = (168, 176, 190)
_FLAME = (255, 214, 110)
_IRON = (96, 104, 120)


def draw_fighter(canvas: Canvas, x: int, y: int, kind: str) -> None:
    """A figure about (x, y), within 55 pixels."""
    canvas.panel((x - 44, y + 40, x + 44, y + 50), (44, 48, 68), 5)
    _FIGURES[kind](canvas, x, y)


def draw_icon(canvas: Canvas, x: int, y: int, icon: str, size: int) -> None:
    """A sword or a shield about (x, y), `size` pixels to each side."""
    if icon == "shield":
        canvas.polygon(
            [(x - size, y - size), (x + size, y - size), (x + size, y + size * 0.2), (x, y + size * 1.2),
             (x - size, y + size * 0.2)], drawing.BLUE,
        )  # fmt: skip
        return
    canvas.polygon([(x - 8, y + 5), (x + 5, y - 8), (x + 9, y - 9), (x + 8, y - 5), (x - 5, y + 8)], _IRON)
    canvas.polygon([(x - 8, y), (x - 6, y - 2), (x + 2, y + 6), (x, y + 8)], drawing.BROWN)
    canvas.polygon([(x - 10, y + 7), (x - 7, y + 4), (x - 4, y + 7), (x - 7, y + 10)], drawing.BROWN)


def _eyes(canvas: Canvas, x: float, y: float, apart: float, colour: drawing.Colour = CARD, radius: float = 4) -> None:
    for side in (-apart, apart):
        canvas.disc(x + side, y, radius, colour)
        canvas.disc(x + side, y + 1, radius / 2, INK)


def _player(canvas: Canvas, x: int, y: int) -> None:
    canvas.disc(x + 34, y - 8, 20, (92, 84, 72))
    canvas.panel((x + 32, y - 44, x + 35, y - 20), drawing.BROWN)
    canvas.disc(x + 34, y - 8, 12, drawing.GOLD)
    canvas.disc(x + 34, y - 9, 7, _FLAME)
    canvas.panel((x + 26, y - 22, x + 42, y - 17), INK, 2)
    canvas.panel((x + 26, y + 2, x + 42, y + 6), INK, 2)
    canvas.polygon([(x, y - 24), (x + 22, y + 46), (x - 26, y + 46)], drawing.TEAL)
    canvas.polygon([(x + 4, y - 14), (x + 30, y - 42), (x + 34, y - 40), (x + 12, y + 4)], drawing.TEAL)
    canvas.disc(x - 2, y - 30, 14, (232, 190, 150))
    canvas.panel((x - 18, y - 42, x + 14, y - 36), INK, 3)
    canvas.panel((x - 12, y - 56, x + 8, y - 38), INK, 3)
    _eyes(canvas, x + 1, y - 29, 5, radius=2.5)


def _rat(canvas: Canvas, x: int, y: int) -> None:
    fur = (150, 128, 110)
    canvas.polygon([(x + 30, y + 30), (x + 54, y + 8), (x + 50, y + 26), (x + 34, y + 40)], (204, 150, 140))
    canvas.panel((x - 28, y - 4, x + 38, y + 44), fur, 22)
    canvas.polygon([(x - 50, y + 16), (x - 14, y - 16), (x - 10, y + 30)], fur)
    canvas.disc(x - 14, y - 12, 11, (204, 150, 140))
    canvas.disc(x - 50, y + 15, 4, INK)
    canvas.disc(x - 28, y + 6, 4, drawing.RED)
    canvas.polygon([(x - 42, y + 20), (x - 36, y + 30), (x - 32, y + 21)], CARD)


def _moth(canvas: Canvas, x: int, y: int) -> None:
    wing, spot = (176, 168, 158), (110, 102, 112)
    for side in (-1, 1):
        canvas.polygon([(x + side * 4, y - 12), (x + side * 48, y - 38), (x + side * 42, y + 4)], wing)
        canvas.polygon([(x + side * 4, y), (x + side * 38, y + 10), (x + side * 24, y + 36)], spot)
        canvas.disc(x + side * 32, y - 18, 8, spot)
        canvas.disc(x + side * 32, y - 18, 3, _FLAME)
    canvas.panel((x - 7, y - 22, x + 7, y + 28), (84, 74, 82), 7)
    _eyes(canvas, x, y - 16, 5, _FLAME)


def _bramble(canvas: Canvas, x: int, y: int) -> None:
    for dx, dy in ((-44, -10), (-30, -38), (0, -48), (30, -38), (44, -10)):
        canvas.polygon([(x + dx, y + dy), (x - dy * 0.3, y + 10 + dx * 0.3), (x + dy * 0.3, y + 10 - dx * 0.3)],
                       (58, 108, 58))  # fmt: skip
    canvas.disc(x, y + 14, 32, (44, 86, 48))
    for dx, dy in ((-18, 28), (18, 30), (0, 36)):
        canvas.disc(x + dx, y + dy, 5, (196, 60, 80))
    _eyes(canvas, x, y + 6, 11, _FLAME, 6)


def _sentry(canvas: Canvas, x: int, y: int) -> None:
    canvas.panel((x - 28, y - 12, x + 28, y + 42), _STEEL, 6)
    canvas.panel((x - 20, y - 46, x + 20, y - 10), (198, 204, 214), 6)
    canvas.panel((x - 14, y - 34, x + 14, y - 25), INK, 3)
    for side in (-6, 6):
        canvas.disc(x + side, y - 30, 3, drawing.RED)
    canvas.panel((x - 42, y - 10, x - 30, y + 26), _IRON, 4)
    canvas.panel((x + 30, y - 10, x + 42, y + 26), _IRON, 4)
    canvas.disc(x, y + 14, 9, drawing.GOLD)


def _witch(canvas: Canvas, x: int, y: int) -> None:
    canvas.polygon([(x, y - 20), (x + 34, y + 46), (x - 34, y + 46)], (96, 78, 132))
    canvas.disc(x, y - 16, 15, (176, 206, 178))
    canvas.panel((x - 30, y - 30, x + 30, y - 23), (58, 44, 84), 3)
    canvas.polygon([(x - 17, y - 28), (x + 17, y - 28), (x + 6, y - 56)], (58, 44, 84))
    _eyes(canvas, x, y - 15, 6, CARD, 3)
    for dx in (-38, -20, 16, 36):
        canvas.disc(x + dx, y + 40, 12, (186, 190, 208))


def _thief(canvas: Canvas, x: int, y: int) -> None:
    canvas.polygon([(x, y - 48), (x + 30, y + 46), (x - 30, y + 46)], (70, 60, 60))
    canvas.disc(x, y - 16, 17, (44, 36, 40))
    _eyes(canvas, x, y - 15, 7, _FLAME, 4)
    canvas.polygon([(x - 30, y + 8), (x - 50, y - 16), (x - 46, y - 20), (x - 24, y + 2)], _STEEL)
    canvas.panel((x + 22, y + 8, x + 40, y + 32), drawing.GOLD, 4)
    canvas.panel((x + 26, y + 12, x + 36, y + 28), _FLAME, 3)


def _ox(canvas: Canvas, x: int, y: int) -> None:
    stone = (138, 140, 148)
    canvas.panel((x - 26, y - 22, x + 52, y + 34), stone, 14)
    for dx in (-18, 2, 24, 42):
        canvas.panel((x + dx - 6, y + 26, x + dx + 6, y + 46), (104, 106, 116), 2)
    canvas.panel((x - 50, y - 26, x - 8, y + 18), (162, 164, 172), 10)
    canvas.polygon([(x - 48, y - 22), (x - 56, y - 48), (x - 36, y - 26)], CARD)
    canvas.polygon([(x - 22, y - 26), (x - 4, y - 48), (x - 10, y - 20)], CARD)
    _eyes(canvas, x - 29, y - 6, 10, _FLAME)
    canvas.panel((x - 42, y + 6, x - 16, y + 15), (104, 106, 116), 4)


def _gloom(canvas: Canvas, x: int, y: int) -> None:
    for dx, dy, radius in ((-30, 20, 24), (30, 20, 24), (0, 26, 26), (-20, -14, 26), (22, -14, 26), (0, -30, 22)):
        canvas.disc(x + dx, y + dy, radius, (18, 16, 30))
    _eyes(canvas, x, y - 14, 14, (226, 90, 200), 8)
    canvas.polygon([(x - 24, y + 14), (x - 12, y + 24), (x, y + 14), (x + 12, y + 24), (x + 24, y + 14), (x, y + 36)],
                   (226, 90, 200))  # fmt: skip


def _warden(canvas: Canvas, x: int, y: int) -> None:
    canvas.polygon([(x, y - 40), (x + 44, y + 46), (x - 44, y + 46)], (60, 72, 96))
    canvas.panel((x - 22, y - 52, x + 22, y - 8), _IRON, 10)
    for dx in (-12, -4, 4, 12):
        canvas.panel((x + dx - 1, y - 40, x + dx + 2, y - 14), INK)
    for side in (-7, 7):
        canvas.disc(x + side, y - 28, 3.5, _FLAME)
    for index in range(5):
        canvas.disc(x + 38 + (index % 2) * 4, y - 20 + 12 * index, 5, _STEEL)
    canvas.disc(x + 40, y + 42, 11, _IRON)


def _furnace(canvas: Canvas, x: int, y: int) -> None:
    canvas.panel((x - 40, y - 26, x + 40, y + 46), (92, 60, 52), 10)
    canvas.panel((x + 10, y - 54, x + 28, y - 22), (70, 48, 44), 3)
    canvas.panel((x - 26, y + 4, x + 26, y + 36), INK, 8)
    for dx, height in ((-16, 18), (0, 26), (16, 18)):
        canvas.polygon([(x + dx - 9, y + 34), (x + dx + 9, y + 34), (x + dx, y + 34 - height)], (240, 130, 40))
        canvas.polygon([(x + dx - 4, y + 34), (x + dx + 4, y + 34), (x + dx, y + 34 - height / 2)], _FLAME)
    _eyes(canvas, x - 2, y - 10, 16, _FLAME, 6)


_FIGURES: dict[str, Callable[[Canvas, int, int], None]] = {
    "player": _player,
    "rat": _rat,
    "moth": _moth,
    "bramble": _bramble,
    "sentry": _sentry,
    "witch": _witch,
    "thief": _thief,
    "ox": _ox,
    "gloom": _gloom,
    "warden": _warden,
    "furnace": _furnace,
}
