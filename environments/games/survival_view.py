"""The picture of the survival game: the cells in view, needs and goods, the known map, the menu."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from environments import drawing
from environments.drawing import BOARD, SIDEBAR, Canvas, Colour
from environments.env import Frame
from environments.games import survival_sprites as sprites
from environments.games import survival_world as world
from environments.games.survival_clock import DAY_TICKS, DUSK_TICKS
from environments.games.survival_craft import MATERIALS, RECIPES, TOOLS
from environments.games.survival_sprites import CELL

if TYPE_CHECKING:
    from environments.games.survival import Survival

COLUMNS, ROWS = 11, 9
"""Cells in view, the player in the middle."""
_VIEW_BOTTOM = BOARD[1] + ROWS * CELL
_MAP_TOP, _MAP_CELL = 58, 3
_MENU_TOP, _MENU_STEP, _MENU_RIGHT = 220, 14, 634
_UNKNOWN: Colour = (52, 56, 66)
_GLOW = 52
"""Least brightness of the night, in 256ths; around the player it is brighter."""
_DUSK_TICKS = 20
"""How long nightfall and daybreak take."""

_NEED_COLOURS: dict[str, Colour] = {
    "health": drawing.RED,
    "food": (196, 120, 30),
    "water": drawing.BLUE,
    "energy": drawing.GREEN,
}
_HELP = (
    "Hold arrows to walk, space to use what is ahead, Z to sleep. 1-8 craft.",
    "Pickaxes: wood for stone and coal, stone for iron, iron for crystal.",
)


class View:
    """Draws frames; keeps the frame around them."""

    def __init__(self) -> None:
        self._backdrop: Canvas | None = None

    def draw(self, game: Survival) -> Frame:
        """The picture of this moment, (480, 640, 3) uint8."""
        if self._backdrop is None:
            self._backdrop = _draw_backdrop()
        canvas = self._backdrop.copy()
        canvas.picture(BOARD[0], BOARD[1], _land(game))
        _draw_beings(canvas, game)
        _draw_needs(canvas, game)
        _draw_goods(canvas, game)
        _draw_map(canvas, game)
        _draw_menu(canvas, game)
        game.note.draw(canvas, (BOARD[0] + 16, _VIEW_BOTTOM - 42, BOARD[2] - 16, _VIEW_BOTTOM - 6))
        if game.won:
            drawing.banner(canvas, "The beacon burns", "A ship has seen it.", drawing.GREEN, clear_of=BOARD[3])
        elif game.over:
            drawing.banner(canvas, "Game over", "No health is left.", drawing.RED, clear_of=BOARD[3])
        return canvas.frame()


def _draw_backdrop() -> Canvas:
    canvas = Canvas()
    left, top, right, bottom = BOARD
    canvas.panel((left - 3, top - 3, right + 3, _VIEW_BOTTOM + 3), drawing.INK, 4)
    for row, text in enumerate(_HELP):
        canvas.text(left, bottom - 11 + 14 * row, text, 12, drawing.MUTED)
    x, y, right, _ = SIDEBAR
    canvas.text(x, y - 5, "Survival", 26, bold=True)
    canvas.panel((x, y + 31, right, y + 34), drawing.TEAL)
    return canvas


def _corner(game: Survival) -> tuple[int, int]:
    """The cell in the top left corner of the view."""
    return game.player[0] - COLUMNS // 2, game.player[1] - ROWS // 2


def _land(game: Survival) -> Frame:
    """The cells in view, darkened by night, (360, 440, 3) uint8."""
    left, top = _corner(game)
    pixels = np.empty((ROWS * CELL, COLUMNS * CELL, 3), np.uint8)
    for row in range(ROWS):
        for column in range(COLUMNS):
            x, y = left + column, top + row
            picture = sprites.tile_picture(world.tile(game.tiles, (x, y)), (x * 7 + y * 5 + x * y) % 4)
            pixels[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL] = picture
    darkness = _darkness(game)
    if darkness == 0:
        return pixels
    light = 256 - (256 - _LIGHT) * darkness // _DUSK_TICKS
    return (pixels.astype(np.uint32) * light[:, :, None] >> 8).astype(np.uint8)


def _darkness(game: Survival) -> int:
    """0 by day to `_DUSK_TICKS` in the dead of night."""
    time = game.clock % DAY_TICKS
    if time < DUSK_TICKS:
        return 0
    return max(0, min(_DUSK_TICKS, time - DUSK_TICKS + 1, DAY_TICKS - time))


def _night_light() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Brightness of each pixel in the dead of night, in 256ths; whole numbers, equal on every machine."""
    y, x = np.mgrid[0 : ROWS * CELL, 0 : COLUMNS * CELL]
    square = (x - COLUMNS * CELL // 2) ** 2 + (y - ROWS * CELL // 2) ** 2
    return np.asarray(np.clip(230 - square * 178 // 150**2, _GLOW, 256), dtype=np.int64)


_LIGHT = _night_light()


def _draw_beings(canvas: Canvas, game: Survival) -> None:
    left, top = _corner(game)

    def centre(x: int, y: int) -> tuple[int, int]:
        return BOARD[0] + (x - left) * CELL + CELL // 2, BOARD[1] + (y - top) * CELL + CELL // 2

    for creature in game.creatures:
        if 0 <= creature.x - left < COLUMNS and 0 <= creature.y - top < ROWS:
            draw = sprites.draw_grazer if creature.kind == "grazer" else sprites.draw_shade
            draw(canvas, *centre(creature.x, creature.y))
    x, y = centre(*game.player)
    sprites.draw_player(canvas, x, y, game.facing, asleep=game.asleep, struck=game.struck)


def _draw_needs(canvas: Canvas, game: Survival) -> None:
    """Four bars of nine marks below the view."""
    for index, (name, colour) in enumerate(_NEED_COLOURS.items()):
        value = getattr(game.needs, name)
        x, y = BOARD[0] + 112 * index, _VIEW_BOTTOM + 5
        canvas.text(x, y - 1, f"{name.capitalize()} {value}", 12, drawing.RED if value <= 2 else drawing.INK, bold=True)
        for mark in range(9):
            box = (x + 11 * mark, y + 15, x + 11 * mark + 9, y + 21)
            canvas.panel(box, colour if mark < value else drawing.LINE, 2)


def _draw_goods(canvas: Canvas, game: Survival) -> None:
    """Each material with its name, and the tools."""
    top = _VIEW_BOTTOM + 30
    canvas.panel((BOARD[0], top, BOARD[2], top + 38), drawing.CARD, 6)
    for index, name in enumerate(MATERIALS):
        x = BOARD[0] + 16 + 53 * index
        sprites.draw_good(canvas, x, top + 12, name)
        count = game.carried[name]
        tone = drawing.INK if count else drawing.MUTED
        canvas.text(x + 14, top + 12, str(count), 14, tone, bold=True, anchor="lm")
        canvas.text(x + 10, top + 30, name, 12, tone, anchor="mm")
    tools = [name for name in TOOLS if game.carried[name]]
    for index, name in enumerate(tools):
        sprites.draw_good(canvas, BOARD[0] + 342 + 27 * index, top + 19, name)


def _draw_map(canvas: Canvas, game: Survival) -> None:
    """All cells that have been in view, three pixels each, and the time of day."""
    pixels = np.array([[sprites.MAP_COLOURS[kind] for kind in row] for row in game.tiles], np.uint8)
    pixels[~np.array(game.seen)] = _UNKNOWN
    canvas.picture(SIDEBAR[0], _MAP_TOP, pixels.repeat(_MAP_CELL, 0).repeat(_MAP_CELL, 1))
    x, y = (SIDEBAR[0] + game.player[0] * _MAP_CELL + 1, _MAP_TOP + game.player[1] * _MAP_CELL + 1)
    canvas.disc(x + 0.5, y + 0.5, 4.5, drawing.CARD)
    canvas.disc(x + 0.5, y + 0.5, 3, drawing.RED)
    part, day = ("Night", drawing.BLUE) if game.night else ("Day", drawing.INK)
    canvas.text(SIDEBAR[0], 201, f"{part} {game.clock // DAY_TICKS + 1}", 15, day, bold=True)
    left, right = SIDEBAR[0] + 66, SIDEBAR[2]
    canvas.panel((left, 207, right, 215), drawing.LINE, 3)
    canvas.panel((left + (right - left) * DUSK_TICKS // DAY_TICKS, 207, right, 215), (70, 74, 110), 3)
    hand = left + (right - left) * (game.clock % DAY_TICKS) // DAY_TICKS
    canvas.disc(hand, 211, 6, drawing.CARD)
    canvas.disc(hand, 211, 5, drawing.GOLD)


_HEADINGS = {"anywhere": "Craft anywhere", "workbench": "At a workbench", "furnace": "At a furnace"}


def _draw_menu(canvas: Canvas, game: Survival) -> None:
    """The recipes under the place where they are made; dark when they can be made here and now."""
    x, y = SIDEBAR[0], _MENU_TOP
    for site, heading in _HEADINGS.items():
        here = game.near(site)
        canvas.text(x, y, heading, 12, drawing.TEAL if here else drawing.MUTED, bold=True)
        y += _MENU_STEP
        for recipe in RECIPES.values():
            if recipe.at != site:
                continue
            owned = recipe.item in TOOLS and game.carried[recipe.item] > 0
            ready = here and not owned and all(game.carried[name] >= count for name, count in recipe.cost.items())
            canvas.panel((x, y + 1, x + 14, y + 14), drawing.TEAL if ready else drawing.LINE, 4)
            tone = drawing.CARD if ready else drawing.INK
            canvas.text(x + 7, y + 8, recipe.key, 12, tone, bold=True, anchor="mm")
            canvas.text(x + 18, y, recipe.name, 12, drawing.INK if ready else drawing.MUTED)
            lines = _cost_lines(recipe.name, "in the bag" if owned else _cost(recipe.cost))
            for row, line in enumerate(lines):
                y += _MENU_STEP * (row > 0)
                canvas.text(_MENU_RIGHT, y, line, 12, drawing.MUTED, anchor="ra")
            y += _MENU_STEP


def _cost(cost: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in cost.items())


@cache
def _cost_lines(name: str, cost: str) -> tuple[str, ...]:
    """The cost beside the name, if it fits there (else an empty first line), or below it."""
    beside = drawing.font(12).getlength(f"{name}  {cost}") <= _MENU_RIGHT - SIDEBAR[0] - 18
    return (cost,) if beside else ("", *_wrapped(cost, _MENU_RIGHT - SIDEBAR[0] - 6))


def _wrapped(cost: str, width: int) -> list[str]:
    lines = [""]
    for part in cost.split(", "):
        longer = f"{lines[-1]}, {part}" if lines[-1] else part
        if drawing.font(12).getlength(longer) > width:
            lines.append(part)
        else:
            lines[-1] = longer
    return lines
