"""The picture of Crab Coast, and where on it the mouse finds cards, cells, pearls and the net."""

from __future__ import annotations

from functools import cache
from typing import get_args

from environments import drawing
from environments.drawing import Box, Canvas, Colour
from environments.env import Frame
from environments.games import lanes_sprites as sprites
from environments.games.lanes_beach import (
    COLUMNS,
    CRABS,
    DEFENDERS,
    LANES,
    UNIT,
    Beach,
    Crab,
    Kind,
    Pearl,
)
from environments.games.notes import Note

GRID: Box = (70, 90, 592, 410)
_CELL = (58, 64)
_CARDS = (88, 8, 88, 62)
"""Left, top, width and height of the first card of the tray; the next ones follow with a gap."""
_CARD_GAP = 3
_NET: Box = (548, 8, 632, 70)
NET_MIDDLE = ((_NET[0] + _NET[2]) // 2, (_NET[1] + _NET[3]) // 2)
_KINDS: tuple[Kind, ...] = get_args(Kind)

_SAND: tuple[Colour, Colour] = ((240, 222, 180), (233, 212, 166))
_WET: Colour = (206, 186, 146)
_SEA: tuple[Colour, Colour, Colour] = ((74, 150, 178), (104, 176, 198), (226, 240, 240))
_CASTLE: tuple[Colour, Colour, Colour] = ((196, 152, 92), (218, 178, 116), (152, 110, 60))
_BAR: Box = (200, 417, 500, 431)


def draw(beach: Beach, first: int, gap: int, waves: int, note: Note, *, won: bool) -> Frame:
    """The whole picture, (480, 640, 3) uint8; `first` and `gap` are the steps of the waves' beginnings."""
    canvas = _backdrop(first, gap, waves).copy()
    _draw_tray(canvas, beach)
    for lane, column in beach.pools:
        sprites.pool(canvas, *cell_middle(lane, column))
    for defender in beach.defenders:
        x, y = cell_middle(defender.lane, defender.column)
        sprites.DEFENDERS[defender.kind](canvas, x, y)
        _draw_health(canvas, x, y + 27, defender.health / DEFENDERS[defender.kind].health)
    for lane, column in beach.bursts:
        sprites.burst(canvas, *cell_middle(lane, column))
    for drop in beach.drops:
        sprites.drop(canvas, _x(drop.x), _y(drop.lane) - 6)
    for crab in sorted(beach.crabs, key=lambda one: one.lane):
        _draw_crab(canvas, crab)
    for index, pearl in enumerate(beach.pearls):
        twins = sum(one.lane == pearl.lane and one.column == pearl.column for one in beach.pearls[:index])
        x, y = pearl_middle(pearl)
        sprites.pearl(canvas, x + 5 * twins, y - 3 * twins)
    _draw_progress(canvas, beach, first, gap, waves)
    note.draw(canvas, (8, 445, 632, 477))
    detail = f"Crabs turned back: {beach.repelled}."
    if won:
        drawing.banner(canvas, "The castle stands", detail, drawing.GREEN, clear_of=GRID[3], board=GRID)
    elif beach.flags == 0:
        drawing.banner(canvas, "The castle has fallen", detail, drawing.RED, clear_of=GRID[3], board=GRID)
    return canvas.frame()


def card_at(x: int, y: int) -> Kind | None:
    """The card under a pixel."""
    for kind in _KINDS:
        left, top, right, bottom = _card(kind)
        if left <= x < right and top <= y < bottom:
            return kind
    return None


def card_middle(kind: Kind) -> tuple[int, int]:
    """Where a card is taken hold of."""
    left, top, right, bottom = _card(kind)
    return (left + right) // 2, (top + bottom) // 2


def cell_at(x: int, y: int) -> tuple[int, int] | None:
    """Lane and column (from 0) under a pixel."""
    left, top, right, bottom = GRID
    return ((y - top) // _CELL[1], (x - left) // _CELL[0]) if left <= x < right and top <= y < bottom else None


def cell_middle(lane: int, column: int) -> tuple[int, int]:
    """The middle of a cell, in pixels."""
    return GRID[0] + column * _CELL[0] + _CELL[0] // 2, GRID[1] + lane * _CELL[1] + _CELL[1] // 2


def pearl_middle(pearl: Pearl) -> tuple[int, int]:
    """Where a pearl is drawn: in the lower right of its cell, beside who stands there."""
    x, y = cell_middle(pearl.lane, pearl.column)
    return x + 14, y + 16


def on_pearl(pearl: Pearl, x: int, y: int) -> bool:
    """Whether a pixel is on a pearl."""
    middle = pearl_middle(pearl)
    return (x - middle[0]) ** 2 + (y - middle[1]) ** 2 <= 14**2


def on_net(x: int, y: int) -> bool:
    """Whether a pixel is on the net's button."""
    return _NET[0] <= x < _NET[2] and _NET[1] <= y < _NET[3]


def _card(kind: Kind) -> Box:
    left, top, width, height = _CARDS
    left += _KINDS.index(kind) * (width + _CARD_GAP)
    return left, top, left + width, top + height


def _x(x: int) -> int:
    """A position along a lane, in pixels."""
    return GRID[0] + x * _CELL[0] // UNIT


def _y(lane: int) -> int:
    return cell_middle(lane, 0)[1]


@cache
def _backdrop(first: int, gap: int, waves: int) -> Canvas:
    canvas = Canvas()
    left, top, right, bottom = GRID
    canvas.panel((0, top, 640, bottom), _SAND[1])
    for lane in range(LANES):
        for column in range(COLUMNS):
            x, y = left + column * _CELL[0], top + lane * _CELL[1]
            canvas.panel((x + 1, y + 1, x + _CELL[0] - 1, y + _CELL[1] - 1), _SAND[(lane + column) % 2], 4)
    canvas.panel((right, top, 640, bottom), _WET)
    canvas.panel((right + 14, top, 640, bottom), _SEA[1])
    for lane in range(LANES):
        for part, shift in ((0, 0), (1, 5)):
            canvas.disc(right + 16, top + lane * _CELL[1] + 16 + 32 * part, 9 + shift // 2, _SEA[1])
        canvas.panel((right + 26, top + lane * _CELL[1] + 20, right + 40, top + lane * _CELL[1] + 23), _SEA[2], 1)
        canvas.panel((right + 32, top + lane * _CELL[1] + 46, right + 46, top + lane * _CELL[1] + 49), _SEA[0], 1)
    for column in range(COLUMNS):
        canvas.text(cell_middle(0, column)[0], top - 8, str(column + 1), 12, drawing.MUTED, anchor="mm")
    _draw_castle(canvas)
    canvas.text(12, 445, "Drag a card to a cell of the beach to place it. Click the net to gather all pearls.",
                13, drawing.INK)  # fmt: skip
    canvas.text(12, 461, "Crabs come from the sea in lanes; each that reaches the castle takes a flag.", 12,
                drawing.MUTED)  # fmt: skip
    for wave in range(waves):
        x = _progress_x(first + wave * gap, first, gap, waves)
        canvas.panel((x - 1, _BAR[1] - 4, x + 1, _BAR[3] + 2), drawing.MUTED)
        canvas.text(x, _BAR[3] + 7, f"wave {wave + 1}", 12, drawing.MUTED, anchor="mm")
    return canvas


def _draw_castle(canvas: Canvas) -> None:
    _, top, left, bottom = 0, GRID[1], GRID[0], GRID[3]
    canvas.panel((0, top, left - 8, bottom), _CASTLE[0])
    for lane in range(LANES):
        y = top + lane * _CELL[1]
        canvas.panel((left - 14, y + 6, left - 2, y + 26), _CASTLE[1], 2)
        canvas.panel((left - 14, y + 38, left - 2, y + 58), _CASTLE[1], 2)
        for row in range(4):
            for brick in range(3):
                x = brick * 22 - (row % 2) * 11
                canvas.panel((max(0, x) + 1, y + row * 16 + 1, min(x + 21, left - 9), y + row * 16 + 15), _CASTLE[1], 2)
        canvas.panel((14, y + 16, 46, y + 50), _CASTLE[2], 8)
        canvas.text(30, y + 33, str(lane + 1), 20, drawing.CARD, bold=True, anchor="mm")


def _draw_tray(canvas: Canvas, beach: Beach) -> None:
    canvas.panel((8, 8, 82, 70), drawing.CARD, 8)
    canvas.text(45, 20, "Pearls", 12, drawing.MUTED, anchor="mm")
    sprites.pearl(canvas, 21, 46)
    canvas.fitted(56, 46, str(beach.purse), 22, 46)
    for kind in _KINDS:
        _draw_card(canvas, beach, kind)
    canvas.panel(_NET, drawing.TEAL if beach.pearls else drawing.LINE, 8)
    sprites.net(canvas, NET_MIDDLE[0], NET_MIDDLE[1] - 9)
    canvas.text(NET_MIDDLE[0], _NET[3] - 12, "Gather", 13, drawing.CARD, bold=True, anchor="mm")


def _draw_card(canvas: Canvas, beach: Beach, kind: Kind) -> None:
    left, top, right, bottom = _card(kind)
    model, wait = DEFENDERS[kind], beach.cooldowns[kind]
    payable = beach.purse >= model.cost
    canvas.panel((left, top, right, bottom), drawing.TEAL if payable and not wait else drawing.LINE, 8)
    canvas.panel((left + 2, top + 2, right - 2, bottom - 2), drawing.CARD, 6)
    sprites.DEFENDERS[kind](canvas, left + 23, top + 24)
    canvas.text(right - 7, top + 26, str(model.cost), 15, drawing.INK if payable else drawing.RED, bold=True,
                anchor="rm")  # fmt: skip
    canvas.text((left + right) // 2, bottom - 10, kind, 12, drawing.MUTED, anchor="mm")
    if not payable or wait:
        canvas.panel((left + 2, top + 2, right - 2, bottom - 2), drawing.PAPER, 6, 0.45)
    if wait:  # the cover sinks until the card is ready
        height = max(8, (bottom - top - 4) * wait // model.cooldown)
        canvas.panel((left + 2, bottom - 2 - height, right - 2, bottom - 2), drawing.INK, 4, 0.35)


def _draw_crab(canvas: Canvas, crab: Crab) -> None:
    x, y = _x(crab.x), _y(crab.lane)
    sprites.CRABS[crab.kind](canvas, x, y)
    _draw_health(canvas, x, y + 25, crab.health / CRABS[crab.kind].health)


def _draw_health(canvas: Canvas, x: int, y: int, share: float) -> None:
    if share < 1:
        canvas.panel((x - 16, y, x + 16, y + 5), drawing.INK, 2)
        width = max(1, round(30 * share))
        canvas.panel((x - 15, y + 1, x - 15 + width, y + 4), drawing.GREEN if share > 0.4 else drawing.RED)


def _progress_x(step: int, first: int, gap: int, waves: int) -> int:
    whole = first + waves * gap
    return _BAR[0] + (_BAR[2] - _BAR[0]) * min(step, whole) // whole


def _draw_progress(canvas: Canvas, beach: Beach, first: int, gap: int, waves: int) -> None:
    canvas.text(12, 424, "Castle", 13, drawing.MUTED, anchor="lm")
    for index in range(3):
        sprites.flag(canvas, 68 + 22 * index, 424, drawing.RED if index < beach.flags else drawing.LINE)
    canvas.text(_BAR[0] - 8, 424, "Waves", 13, drawing.MUTED, anchor="rm")
    canvas.panel(_BAR, drawing.LINE, 6)
    end = _progress_x(beach.time, first, gap, waves)
    if end > _BAR[0] + 2:
        canvas.panel((_BAR[0], _BAR[1], end, _BAR[3]), drawing.BLUE, min(6, (end - _BAR[0]) // 2))
    for wave in range(waves):
        x = _progress_x(first + wave * gap, first, gap, waves)
        canvas.panel((x - 1, _BAR[1], x + 1, _BAR[3]), drawing.CARD)
    canvas.text(
        632, 424, f"{beach.repelled}/{len(beach.schedule)} turned back", 12, drawing.INK, bold=True, anchor="rm"
    )
