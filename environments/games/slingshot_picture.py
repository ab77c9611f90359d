"""The picture of Slingshot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from environments import drawing
from environments.drawing import Box, Canvas, Colour, Point
from environments.env import Frame
from environments.games.slingshot_world import GROUND, HEALTH, STONE_RADIUS, Flight, Piece

POUCH = (112, 318)
"""Where the stone lies in the pouch, and where it leaves it: pixels of the frame."""
FULL_PULL = 90
"""Pixels; the dotted ring."""

_SKY: tuple[Colour, Colour] = ((205, 226, 236), (240, 241, 230))
_FIELD: Box = (6, 52, 634, 430)
"""Between the figures and the help."""
_HILL: Colour = (198, 214, 196)
_EARTH: Colour = (150, 116, 82)
_DARK_EARTH: Colour = (128, 97, 67)
_GRASS: Colour = (104, 150, 84)
_WOOD: tuple[Colour, Colour, Colour] = ((124, 84, 44), (201, 152, 92), (178, 129, 72))
_ROCK: tuple[Colour, Colour, Colour] = ((78, 84, 94), (158, 164, 172), (138, 144, 153))
_IMP: Colour = (126, 74, 156)
_DARK_IMP: Colour = (84, 44, 110)
_RUBBER: Colour = (92, 52, 40)


def draw(
    pieces: Sequence[Piece],
    terrain: Sequence[Box],
    *,
    stones: tuple[int, int],
    imps: tuple[int, int],
    flight: Flight,
    pull: tuple[int, int] | None,
    refused: str,
) -> Frame:
    """The whole picture, (480, 640, 3) uint8.

    Args:
        pieces: what stands.
        terrain: what it stands on.
        stones: those left, and those at the start.
        imps: likewise.
        flight: of the last stone.
        pull: of the last stone, back and down.
        refused: why the last pull threw nothing, if it did not.
    """
    canvas = _backdrop(tuple(terrain)).copy()
    for piece in pieces:
        if piece.kind == "imp":
            _draw_imp(canvas, piece)
        else:
            _draw_block(canvas, piece)
    _draw_flight(canvas, flight, pull)
    won, lost = imps[0] == 0, stones[0] == 0
    _draw_sling(canvas, loaded=stones[0] > 0 and not won)
    _draw_figures(canvas, stones, imps, pull, refused)
    used = stones[1] - stones[0]
    if won:
        _ending(canvas, "All imps are out", f"Stones thrown: {used}.", drawing.GREEN)
    elif lost:
        _ending(canvas, "No stones left", f"Imps still in: {imps[0]}.", drawing.RED)
    return canvas.frame()


@lru_cache(maxsize=4)
def _backdrop(terrain: tuple[Box, ...]) -> Canvas:
    canvas = Canvas(_SKY[0])
    for band in range(24):
        share = band / 23
        colour = tuple(round(a + (b - a) * share) for a, b in zip(*_SKY, strict=True))
        canvas.panel((0, 40 + band * 17, 640, 40 + band * 17 + 17), (colour[0], colour[1], colour[2]))
    canvas.disc(180, 520, 210, _HILL)
    canvas.disc(520, 640, 320, _HILL)
    for left, top, right, bottom in terrain[1:]:
        canvas.panel((left, top, right, bottom), _DARK_EARTH)
        canvas.panel((left + 3, top, right - 3, bottom), _EARTH)
        canvas.panel((left, top, right, top + 7), _GRASS)
    canvas.panel((0, GROUND, 640, 480), _EARTH)
    canvas.panel((0, GROUND, 640, GROUND + 8), _GRASS)
    canvas.text(320, 450, "Drag the stone in the pouch back and let go: it flies the other way.", 14, drawing.CARD,
                bold=True, anchor="mm")  # fmt: skip
    canvas.text(320, 468, "A longer pull throws faster, up to the dotted ring.", 13, (244, 232, 214), anchor="mm")
    canvas.panel((0, 0, 640, 46), drawing.PAPER)
    canvas.panel((0, 46, 640, 48), drawing.LINE)
    canvas.text(16, 23, "Slingshot", 24, bold=True, anchor="lm")
    for step in range(30):  # only the side to which one pulls
        angle = math.pi * (0.5 + 0.75 * step / 29)
        canvas.disc(POUCH[0] + FULL_PULL * math.cos(angle), POUCH[1] + FULL_PULL * math.sin(angle), 1.5, drawing.MUTED)
    return canvas


def _draw_figures(
    canvas: Canvas, stones: tuple[int, int], imps: tuple[int, int], pull: tuple[int, int] | None, refused: str
) -> None:
    for x, label, (left, whole), fill in ((166, "Stones", stones, _ROCK[0]), (312, "Imps", imps, _IMP)):
        canvas.text(x, 23, label, 13, drawing.MUTED, anchor="lm")
        x += 4 + round(drawing.font(13).getlength(label))
        for index in range(whole):
            canvas.disc(x + 12 + 17 * index, 23, 7, fill if index < left else drawing.LINE)
            if index >= left:  # a ring: one that is gone
                canvas.disc(x + 12 + 17 * index, 23, 5, drawing.PAPER)
    words = f"Last pull: {pull[0]} back, {abs(pull[1])} {'down' if pull[1] >= 0 else 'up'}" if pull else "No pull yet"
    canvas.text(628, 23, refused or words, 13, drawing.RED if refused else drawing.INK, anchor="rm")


def _ending(canvas: Canvas, headline: str, detail: str, fill: Colour) -> None:
    """The end, in the sky: what came of the fort stays in sight."""
    drawing.banner(canvas, headline, detail, fill, clear_of=GROUND, board=_FIELD)


def _draw_flight(canvas: Canvas, flight: Flight, pull: tuple[int, int] | None) -> None:
    for x, y in flight.trace:
        if 0 <= x < 640 and 54 <= y < 480:
            canvas.disc(x, y, 2.5, drawing.CARD)
            canvas.disc(x, y, 1.5, drawing.BLUE)
    if flight.impact and 0 <= flight.impact[0] < 640 and flight.impact[1] >= 54:
        x, y = flight.impact
        canvas.polygon(list(_star(x, y, 11, 5)), drawing.CARD)
        canvas.polygon(list(_star(x, y, 8, 3)), drawing.BLUE)
    if pull:
        scale = min(1.0, FULL_PULL / math.hypot(*pull))
        let_go = POUCH[0] - pull[0] * scale, POUCH[1] + pull[1] * scale
        canvas.disc(*let_go, STONE_RADIUS, drawing.CARD)
        canvas.disc(*let_go, STONE_RADIUS - 2, (176, 196, 222))


def _star(x: float, y: float, outer: float, inner: float) -> Iterator[Point]:
    for step in range(12):
        radius, angle = (outer, inner)[step % 2], math.pi / 6 * step
        yield x + radius * math.cos(angle), y + radius * math.sin(angle)


def _draw_sling(canvas: Canvas, *, loaded: bool) -> None:
    x, y = POUCH
    far, near = (x + 15, y - 8), (x - 13, y - 8)
    stem = (x + 1, y + 44)
    _stroke(canvas, stem, (x + 1, GROUND + 2), 7, _WOOD[0])
    _stroke(canvas, stem, far, 5, _WOOD[0])
    _stroke(canvas, far, (x, y + 3), 2.5, _RUBBER)
    if loaded:
        canvas.disc(x, y, STONE_RADIUS, _ROCK[0])
        canvas.disc(x - 1, y - 1, STONE_RADIUS - 2.5, (112, 118, 128))
        canvas.disc(x - 3, y - 4, 2.5, _ROCK[1])
    _stroke(canvas, stem, near, 5, _WOOD[2])
    _stroke(canvas, near, (x, y + 5), 2.5, _RUBBER)


def _stroke(canvas: Canvas, start: Point, end: Point, half: float, fill: Colour) -> None:
    """A thick line with round ends."""
    (ax, ay), (bx, by) = start, end
    length = math.hypot(bx - ax, by - ay)
    nx, ny = -(by - ay) / length * half, (bx - ax) / length * half
    canvas.polygon([(ax + nx, ay + ny), (bx + nx, by + ny), (bx - nx, by - ny), (ax - nx, ay - ny)], fill)
    canvas.disc(*start, half, fill)
    canvas.disc(*end, half, fill)


def _draw_block(canvas: Canvas, piece: Piece) -> None:
    edge, face, grain = _WOOD if piece.kind == "wood" else _ROCK
    canvas.polygon(piece.corners(), edge)
    inner = Piece(piece.kind, piece.x, piece.y, piece.width - 4, piece.height - 4, piece.angle)
    canvas.polygon(inner.corners(), face)
    cos, sin = math.cos(piece.angle), math.sin(piece.angle)

    def at(along: float, across: float) -> Point:
        return piece.x + cos * along - sin * across, piece.y + sin * along + cos * across

    wide = piece.width >= piece.height
    long, short = (inner.width, inner.height) if wide else (inner.height, inner.width)

    def on(along: float, across: float) -> Point:
        return at(along, across) if wide else at(across, along)

    if piece.kind == "wood":
        for place in (-0.17, 0.2) if short < 20 else (-0.25, 0.0, 0.25):
            middle = short * place
            canvas.polygon([on(i * long * 0.42, middle + j) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))], grain)
    else:
        for place in (-0.28, 0.1, 0.32):
            canvas.disc(*on(long * place, short * (0.2 if place > 0 else -0.15)), 2.5, grain)
    if piece.harm > HEALTH[piece.kind] / 2:
        way = [on(long * i, short * j) for i, j in ((-0.1, -0.5), (0.04, -0.15), (-0.06, 0.1), (0.08, 0.5))]
        for start, end in pairwise(way):
            _stroke(canvas, start, end, 1.0, drawing.INK)


def _draw_imp(canvas: Canvas, piece: Piece) -> None:
    cos, sin = math.cos(piece.angle), math.sin(piece.angle)

    def at(right: float, down: float) -> Point:
        return piece.x + cos * right - sin * down, piece.y + sin * right + cos * down

    for side in (-1, 1):
        canvas.polygon([at(side * 11, -5), at(side * 10, -17), at(side * 3, -10)], _DARK_IMP)
        canvas.disc(*at(side * 6, 11), 3.5, _DARK_IMP)
    canvas.disc(piece.x, piece.y, 13, _DARK_IMP)
    canvas.disc(piece.x, piece.y, 11.5, _IMP)
    for side in (-1, 1):
        canvas.disc(*at(side * 4.5, -2), 3.5, drawing.CARD)
        canvas.disc(*at(side * 4.5 - 1, -1.5), 1.5, drawing.INK)
    canvas.polygon([at(-5, 5), at(5, 5), at(3, 8), at(-3, 8)], drawing.INK)
    if piece.harm > 0:  # a plaster: the next knock may be the last
        canvas.polygon([at(-1, -12), at(10, -7), at(9, -4), at(-2, -9)], (246, 214, 168))
