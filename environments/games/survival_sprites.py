"""Pictures of the survival game's tiles, goods and creatures, 40 pixels a cell."""

from __future__ import annotations

from functools import lru_cache

from environments import drawing
from environments.drawing import Canvas, Colour
from environments.env import Frame
from environments.games import survival_world as world
from environments.games.grid import STEPS, Direction

CELL = 40

MAP_COLOURS: dict[str, Colour] = {
    world.WATER: (86, 148, 196),
    world.SAND: (228, 211, 160),
    world.GRASS: (142, 182, 104),
    world.FLOOR: (160, 148, 132),
    world.STONE: (128, 128, 132),
    world.COAL: (52, 52, 58),
    world.IRON: (198, 120, 70),
    world.CRYSTAL: (120, 70, 200),
    **dict.fromkeys(world.TREES, (48, 108, 62)),
    world.BUSH: (196, 52, 70),
    world.BARE_BUSH: (110, 150, 84),
    world.WORKBENCH: (120, 74, 38),
    world.FURNACE: (240, 110, 30),
    world.PALISADE: (150, 104, 58),
    world.BEACON: (255, 214, 90),
}
"""One colour for each kind of tile: the ground of its picture, its point on the map."""

_ROCK = (world.STONE, world.COAL, world.IRON, world.CRYSTAL)
_LEAF: Colour = (48, 108, 62)


@lru_cache(maxsize=128)
def tile_picture(kind: str, variant: int) -> Frame:
    """The picture of a tile, (40, 40, 3) uint8; `variant` in 0..3 scatters its details. Do not write on it."""
    canvas = Canvas(_ground(kind))
    if kind in _ROCK:
        _rock(canvas, kind, variant)
    elif kind == world.WATER:
        for row in range(2):
            x, y = (5 + 13 * variant + 17 * row) % 26, 10 + 18 * row
            canvas.panel((x, y, x + 13, y + 2), (140, 188, 222), 1)
    elif kind == world.SAND:
        for dot in range(4):
            canvas.disc((7 + 11 * dot + 5 * variant) % 38, (9 + 17 * dot + 7 * variant) % 38, 1, (204, 184, 128))
    elif kind == world.FLOOR:
        for dot in range(3):
            canvas.disc((9 + 13 * dot + 6 * variant) % 37, (8 + 15 * dot + 5 * variant) % 37, 1.5, (138, 126, 110))
    else:
        _grass(canvas, variant)
        _on_grass(canvas, kind)
    return canvas.frame()[:CELL, :CELL].copy()


def _ground(kind: str) -> Colour:
    return MAP_COLOURS[kind] if kind in (world.WATER, world.SAND, world.FLOOR, *_ROCK[:1]) else (
        MAP_COLOURS[world.STONE] if kind in _ROCK else MAP_COLOURS[world.GRASS]
    )  # fmt: skip


def _grass(canvas: Canvas, variant: int) -> None:
    for blade in range(2 if variant % 2 else 1):
        x, y = (8 + 19 * blade + 9 * variant) % 34, (12 + 15 * blade + 7 * variant) % 32
        canvas.polygon([(x, y + 5), (x + 1.5, y), (x + 3, y + 5), (x + 5, y + 1), (x + 5, y + 6)], (116, 158, 82))


def _rock(canvas: Canvas, kind: str, variant: int) -> None:
    canvas.panel((1, 1, 39, 37), (146, 146, 150), 6)
    canvas.panel((3, 5, 38, 37), (128, 128, 132), 5)
    x, y = 8 + 4 * variant, 12 + 3 * (variant % 3)
    canvas.panel((x, y, x + 10, y + 2), (106, 106, 112), 1)
    canvas.panel((x + 6, y + 11, x + 14, y + 13), (106, 106, 112), 1)
    if kind == world.STONE:
        return
    if kind == world.CRYSTAL:
        canvas.polygon([(20, 4), (27, 18), (20, 34), (13, 18)], (120, 70, 200))
        canvas.polygon([(20, 4), (23, 18), (20, 34), (17, 18)], (190, 158, 244))
        canvas.polygon([(31, 16), (35, 25), (31, 34), (27, 25)], (120, 70, 200))
        canvas.polygon([(9, 16), (13, 25), (9, 34), (5, 25)], (120, 70, 200))
        return
    for x, y, radius in ((12, 13, 5.5), (27, 17, 6.5), (16, 28, 6), (30, 31, 4)):
        canvas.disc(x, y, radius, MAP_COLOURS[kind])
        canvas.disc(x - 1.5, y - 1.5, radius / 3, (96, 96, 104) if kind == world.COAL else (242, 188, 140))


def _on_grass(canvas: Canvas, kind: str) -> None:
    if kind in world.TREES:
        canvas.panel((17, 24, 23, 38), drawing.BROWN, 2)
        radius = 15 - 4 * world.TREES.index(kind)  # a tree from which wood was taken is smaller
        canvas.disc(20, 27 - radius, radius, _LEAF)
        canvas.disc(17, 24 - radius, radius / 2, (74, 138, 84))
    elif kind in (world.BUSH, world.BARE_BUSH):
        canvas.disc(14, 24, 10, (82, 134, 62))
        canvas.disc(26, 24, 10, (82, 134, 62))
        canvas.disc(20, 18, 10, (96, 148, 72))
        if kind == world.BUSH:
            for x, y in ((13, 22), (21, 15), (27, 22), (20, 27)):
                canvas.disc(x, y, 3.5, drawing.RED)
    elif kind == world.WORKBENCH:
        canvas.panel((4, 12, 36, 20), (156, 104, 58), 2)
        canvas.panel((7, 20, 12, 35), drawing.BROWN, 1)
        canvas.panel((28, 20, 33, 35), drawing.BROWN, 1)
        canvas.panel((10, 7, 22, 11), (150, 154, 164), 1)
        canvas.panel((21, 5, 27, 13), drawing.BROWN, 1)
    elif kind == world.FURNACE:
        canvas.panel((5, 6, 35, 37), (92, 92, 98), 5)
        canvas.panel((11, 19, 29, 35), drawing.INK, 4)
        canvas.polygon([(14, 34), (16, 25), (20, 29), (23, 21), (26, 34)], (240, 110, 30))
        canvas.polygon([(18, 34), (20, 30), (22, 34)], (255, 214, 90))
    elif kind == world.PALISADE:
        for x in (3, 15, 27):
            canvas.polygon([(x, 10), (x + 5, 3), (x + 10, 10), (x + 10, 38), (x, 38)], (150, 104, 58))
        canvas.panel((0, 18, 40, 22), drawing.BROWN)
    elif kind == world.BEACON:
        canvas.disc(20, 18, 18, (250, 224, 140))
        canvas.panel((12, 24, 28, 38), (92, 92, 98), 2)
        canvas.polygon([(10, 24), (14, 8), (19, 15), (22, 2), (30, 24)], (240, 110, 30))
        canvas.polygon([(15, 24), (20, 11), (25, 24)], (255, 240, 170))


def draw_player(canvas: Canvas, x: int, y: int, facing: Direction, *, asleep: bool, struck: bool) -> None:
    """The castaway, centred at (x, y), looking where they are facing."""
    if struck:
        canvas.disc(x, y, 19, drawing.RED)
    dx, dy = STEPS[facing]
    # The pointer tells which cell is ahead.
    tip, base_x, base_y = (x + 21 * dx, y + 21 * dy), x + 14 * dx, y + 14 * dy
    canvas.polygon([tip, (base_x - 7 * dy, base_y + 7 * dx), (base_x + 7 * dy, base_y - 7 * dx)], drawing.CARD)
    canvas.disc(x, y, 15, drawing.CARD)
    canvas.disc(x, y, 13, drawing.BLUE)
    canvas.disc(x, y - 2, 9, (236, 196, 160))
    if asleep:
        canvas.panel((x - 6, y - 2, x - 1, y), drawing.INK)
        canvas.panel((x + 2, y - 2, x + 7, y), drawing.INK)
        canvas.text(x + 14, y - 12, "z z", 13, drawing.CARD, bold=True, anchor="mm")
        return
    for side in (-1, 1):
        canvas.disc(x + 4 * side + 2 * dx, y - 2 + 2 * dy, 2, drawing.INK)


def draw_grazer(canvas: Canvas, x: int, y: int) -> None:
    """A woolly animal."""
    canvas.panel((x - 9, y + 6, x - 5, y + 14), drawing.INK, 1)
    canvas.panel((x + 4, y + 6, x + 8, y + 14), drawing.INK, 1)
    for dx, dy, radius in ((-6, 0, 9), (5, 0, 9), (0, -4, 9)):
        canvas.disc(x + dx, y + dy, radius, (248, 244, 236))
    canvas.disc(x + 12, y - 3, 6, (92, 78, 70))
    canvas.disc(x + 14, y - 4, 1.5, drawing.CARD)


def draw_shade(canvas: Canvas, x: int, y: int) -> None:
    """A dark shape with glowing eyes."""
    canvas.disc(x, y - 3, 15, (70, 54, 96))
    canvas.disc(x, y - 3, 13, (30, 20, 44))
    canvas.polygon([(x - 13, y - 3), (x + 13, y - 3), (x + 13, y + 16), (x + 6, y + 9), (x, y + 16), (x - 6, y + 9), (x - 13, y + 16)], (30, 20, 44))  # fmt: skip  # noqa: E501
    canvas.disc(x - 5, y - 4, 3.5, (255, 150, 40))
    canvas.disc(x + 5, y - 4, 3.5, (255, 150, 40))


def draw_good(canvas: Canvas, x: int, y: int, name: str) -> None:
    """The 24-pixel picture of a material or a tool, centred at (x, y)."""
    match name:
        case "wood":
            canvas.panel((x - 10, y - 5, x + 10, y + 5), (150, 104, 58), 4)
            canvas.disc(x + 8, y, 4.5, (214, 176, 124))
        case "stone":
            canvas.panel((x - 9, y - 7, x + 9, y + 8), (128, 128, 132), 5)
            canvas.panel((x - 5, y - 3, x + 2, y - 1), (166, 166, 170), 1)
        case "coal" | "iron":
            for dx, dy in ((-4, 2), (4, 3), (0, -4)):
                canvas.disc(x + dx, y + dy, 5.5, MAP_COLOURS[world.COAL if name == "coal" else world.IRON])
        case "ember":
            canvas.disc(x, y, 9, (250, 190, 90))
            canvas.disc(x, y, 6, (226, 84, 24))
        case "crystal":
            canvas.polygon([(x, y - 11), (x + 7, y), (x, y + 11), (x - 7, y)], (120, 70, 200))
            canvas.polygon([(x, y - 11), (x + 3, y), (x, y + 11), (x - 3, y)], (190, 158, 244))
        case "stone_sword":
            canvas.polygon([(x + 9, y - 10), (x + 9, y - 5), (x - 3, y + 6), (x - 6, y + 3)], (128, 128, 132))
            canvas.polygon([(x - 8, y), (x - 6, y - 1), (x + 1, y + 7), (x - 1, y + 9)], drawing.INK)
            canvas.polygon([(x - 6, y + 4), (x - 3, y + 6), (x - 8, y + 11), (x - 10, y + 8)], drawing.BROWN)
        case _:
            head = {"wood_pickaxe": (150, 104, 58), "stone_pickaxe": (128, 128, 132)}.get(name, (198, 120, 70))
            canvas.polygon([(x - 8, y + 9), (x - 10, y + 7), (x + 4, y - 6), (x + 6, y - 4)], drawing.BROWN)
            canvas.polygon([(x - 6, y - 9), (x + 3, y - 10), (x + 10, y - 3), (x + 9, y + 6), (x + 5, y - 2), (x + 1, y - 6)], head)  # fmt: skip  # noqa: E501
