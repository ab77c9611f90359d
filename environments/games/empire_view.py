"""The picture of the empire, and where its tiles, chips and technologies lie."""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

from environments import drawing
from environments.drawing import Box, Canvas, Colour
from environments.env import Frame
from environments.games.empire_realm import CAMP_HEALTH, RAIDER_HEALTH, RIVAL_HEALTH
from environments.games.empire_rules import (
    FULL_HEALTH,
    HEIGHT,
    ITEMS,
    RESOURCES,
    TECHS,
    WIDTH,
    City,
    Tech,
    Unit,
    map_of,
)
from environments.games.empire_world import MOST_PEOPLE, World
from environments.games.grid import Cell

SIDE = 36
MAP: Box = (20, 50, 20 + WIDTH * SIDE, 50 + HEIGHT * SIDE)
_LEFT, _RIGHT = 458, 636

_ROW: tuple[tuple[str, ...], ...] = (
    ("found", "settler", "scout", "warrior", "swordsman", "caravan"),
    ("monument", "granary", "library", "workshop", "temple", "end_turn"),
)
CHIPS: dict[str, Box] = {
    name: (8 + 104 * column, 403 + 39 * row, 8 + 104 * column + 100, 403 + 39 * row + 37)
    for row, names in enumerate(_ROW)
    for column, name in enumerate(names)
}
"""The flag that founds cities, all that can be built, and the button that ends the turn."""
TECH_CHIPS: dict[Tech, Box] = {
    tech: (_LEFT + 90 * (i % 2), 147 + 30 * (i // 2), _LEFT + 90 * (i % 2) + 88, 147 + 30 * (i // 2) + 29)
    for i, tech in enumerate(get_args(Tech))
}

GROUND: dict[str, Colour] = {
    "g": (150, 190, 104), "p": (208, 198, 124), "f": (126, 172, 96), "h": (182, 164, 110), "d": (232, 216, 164),
    "w": (112, 164, 204), "m": (158, 152, 146),
}  # fmt: skip
FOG: Colour = (62, 68, 82)
UNIT_COLOURS: dict[str, Colour] = {
    "settler": (178, 98, 30), "scout": (24, 106, 132), "warrior": (64, 70, 150), "swordsman": (36, 40, 92),
    "caravan": (126, 62, 132),
}  # fmt: skip
VIOLET: Colour = (120, 50, 120)
_TERRAIN_LEGEND = (
    ("g", "Grass 3F"),
    ("p", "Plains 2F 1P"),
    ("f", "Forest 1F 2P"),
    ("h", "Hills 3P"),
    ("d", "Desert 1P"),
)
_EXTRA_LEGEND = (("w", "Wheat +2F"), ("i", "Iron ore +2P"), ("g", "Gems +2S"))


def centre(box: Box) -> tuple[int, int]:
    """The pixel in the middle of a box."""
    return (box[0] + box[2]) // 2, (box[1] + box[3]) // 2


def tile_centre(cell: Cell) -> tuple[int, int]:
    """The pixel in the middle of a tile."""
    return MAP[0] + cell[0] * SIDE + SIDE // 2, MAP[1] + cell[1] * SIDE + SIDE // 2


def tile_at(x: int, y: int) -> Cell | None:
    """The tile at a pixel, if it lies on the map."""
    if MAP[0] <= x < MAP[2] and MAP[1] <= y < MAP[3]:
        return (x - MAP[0]) // SIDE, (y - MAP[1]) // SIDE
    return None


def chip_at(x: int, y: int) -> str:
    """The chip or technology at a pixel, or nothing."""
    boxes: list[tuple[str, Box]] = [*CHIPS.items(), *TECH_CHIPS.items()]
    return next((name for name, box in boxes if box[0] <= x < box[2] and box[1] <= y < box[3]), "")


def draw(
    world: World, years: int, ambitions: list[tuple[str, float, str]], refused: str, outcome: str, score: float
) -> Frame:
    """The whole picture, (480, 640, 3) uint8.

    Args:
        world: what is to be seen.
        years: the last turn.
        ambitions: name, share in 0..1 and figures of each.
        refused: why the last order was refused, or nothing; it takes the place of the news.
        outcome: `won`, `late` (out of years), `homeless` or nothing.
        score: told at the end.
    """
    canvas = _land(world.number).copy()
    canvas.text(_LEFT - 6, 14, f"Year {min(world.turn, years)} of {years}", 14, drawing.MUTED, bold=True, anchor="rm")
    if refused:
        canvas.text(20, 23, f"Refused: {refused}.", 12, drawing.RED)
    else:
        canvas.text(20, 23, news_line(world.news), 12, drawing.DEEP_TEAL if world.news else drawing.MUTED)
    _fog(canvas, world)
    _foes(canvas, world)
    for city in world.cities:
        _city(canvas, city, world.unit_at(city.cell) is not None)
    for unit in world.units:
        _unit(canvas, world, unit)
    _ambitions(canvas, ambitions)
    _technologies(canvas, world)
    _cities(canvas, world)
    _chips(canvas, world)
    if outcome:
        _ending(canvas, outcome, score)
    return canvas.frame()


def news_line(news: list[str]) -> str:
    """As much of the news as fits above the map, the latest first to stay: what foes do comes last."""
    for first in range(len(news)):
        line = "  ".join(news[first:])
        if drawing.font(12).getlength(line) <= MAP[2] - MAP[0]:
            return line
    return "A quiet year."


@lru_cache(maxsize=16)
def _land(number: int) -> Canvas:
    """The whole land without fog, and all else that never changes."""
    canvas = Canvas()
    canvas.text(20, 0, "Five Ambitions", 18, bold=True)
    canvas.text(186, 0, "Drag units to tiles,", 12, drawing.MUTED)
    canvas.text(186, 12, "items onto cities.", 12, drawing.MUTED)
    for column in range(WIDTH):
        canvas.text(tile_centre((column, 0))[0], 43, str(column + 1), 12, drawing.MUTED, anchor="mm")
    for row in range(HEIGHT):
        canvas.text(10, tile_centre((0, row))[1], str(row + 1), 12, drawing.MUTED, anchor="mm")
    land = map_of(number)
    canvas.panel((MAP[0] - 2, MAP[1] - 2, MAP[2] + 2, MAP[3] + 2), drawing.INK, 3)
    for row in range(HEIGHT):
        for column in range(WIDTH):
            _tile(canvas, (column, row), land.terrain[row][column], land.resources[row][column])
    _legend(canvas)
    return canvas


def _legend(canvas: Canvas) -> None:
    """What the ground and what lies on it give, below the map, and the letters for it below the cities."""
    x = 8
    for ground, label in _TERRAIN_LEGEND:
        x = _entry(canvas, x, 383, ground, label)
    x = _entry(canvas, 8, 396, "w", "Water 2F 1S")
    for resource, label in _EXTRA_LEGEND:
        _resource(canvas, x + 6, 396, resource)
        canvas.text(x + 16, 396, label, 12, drawing.MUTED, anchor="lm")
        x += 30 + int(drawing.font(12).getlength(label))
    canvas.text(_LEFT, 383, "F food   P production", 12, drawing.MUTED, anchor="lm")
    canvas.text(_LEFT, 396, "S science   1 tile a head", 12, drawing.MUTED, anchor="lm")


def _entry(canvas: Canvas, x: int, y: int, ground: str, label: str) -> int:
    """A swatch of a terrain and what it gives; where the next one begins."""
    canvas.panel((x, y - 5, x + 11, y + 6), drawing.MUTED, 2)
    canvas.panel((x + 1, y - 4, x + 10, y + 5), GROUND[ground], 1)
    canvas.text(x + 15, y, label, 12, drawing.MUTED, anchor="lm")
    return x + 23 + int(drawing.font(12).getlength(label))


def _tile(canvas: Canvas, cell: Cell, ground: str, resource: str) -> None:
    x, y = tile_centre(cell)
    left, top = x - SIDE // 2, y - SIDE // 2
    red, green, blue = GROUND[ground]
    canvas.panel((left, top, left + SIDE, top + SIDE), (red - 12, green - 12, blue - 12))
    canvas.panel((left, top, left + SIDE - 1, top + SIDE - 1), GROUND[ground])
    if ground == "f":
        for dx, dy in ((-8, 4), (7, 6), (0, -4)):
            canvas.panel((x + dx - 1, y + dy + 4, x + dx + 2, y + dy + 9), drawing.BROWN)
            canvas.polygon([(x + dx - 7, y + dy + 5), (x + dx + 7, y + dy + 5), (x + dx, y + dy - 9)], (46, 104, 60))
    elif ground == "h":
        for dx, dy, size in ((-6, 6, 8), (7, 8, 9)):
            canvas.polygon([(x + dx - size, y + dy), (x + dx - 4, y + dy - 9), (x + dx + 4, y + dy - 9),
                            (x + dx + size, y + dy)], (142, 118, 72))  # fmt: skip
    elif ground == "m":
        canvas.polygon([(x - 16, y + 13), (x + 16, y + 13), (x, y - 15)], (104, 98, 96))
        canvas.polygon([(x - 5, y - 6), (x + 5, y - 6), (x, y - 15)], (246, 246, 248))
    elif ground == "w":
        for dx, dy in ((-7, -6), (6, 1), (-5, 9)):
            canvas.panel((x + dx - 6, y + dy, x + dx + 6, y + dy + 2), (156, 198, 226), 1)
    elif ground == "d":
        for dx, dy in ((-8, -5), (5, 3), (-4, 10)):
            canvas.panel((x + dx - 4, y + dy, x + dx + 4, y + dy + 1), (206, 184, 124))
    elif ground == "g":
        for dx, dy in ((-9, 7), (8, -4), (3, 10)):
            canvas.panel((x + dx, y + dy - 3, x + dx + 1, y + dy + 2), (110, 154, 72))
            canvas.panel((x + dx + 3, y + dy - 2, x + dx + 4, y + dy + 2), (110, 154, 72))
    if resource in RESOURCES:
        _resource(canvas, x + 10, y - 10, resource)


def _resource(canvas: Canvas, x: int, y: int, resource: str) -> None:
    canvas.disc(x, y, 7, drawing.CARD)
    if resource == "w":
        canvas.panel((x - 1, y - 4, x + 1, y + 6), (150, 104, 10))
        for dy in (-4, -1, 2):
            canvas.disc(x - 2, y + dy, 2, drawing.GOLD)
            canvas.disc(x + 2, y + dy, 2, drawing.GOLD)
    elif resource == "i":
        canvas.polygon([(x - 5, y + 3), (x - 3, y - 3), (x + 3, y - 3), (x + 5, y + 3)], (70, 74, 84))
    else:
        canvas.polygon([(x - 5, y - 1), (x, y - 5), (x + 5, y - 1), (x, y + 5)], (196, 40, 128))


def _fog(canvas: Canvas, world: World) -> None:
    """Dark where nobody has been; a veil where nobody looks now."""
    sight = world.in_sight()
    for row in range(HEIGHT):
        for column in range(WIDTH):
            if (column, row) in sight:
                continue
            x, y = tile_centre((column, row))
            box = (x - SIDE // 2, y - SIDE // 2, x + SIDE // 2, y + SIDE // 2)
            canvas.panel(box, FOG, 0, 0.22 if world.is_seen((column, row)) else 1.0)


def _foes(canvas: Canvas, world: World) -> None:
    for cell, foe in world.visible_foes().items():
        x, y = tile_centre(cell)
        if foe is world.rival:
            _houses(canvas, x, y, VIOLET)
            canvas.panel((x - 17, y - 17, x + 17, y - 4), VIOLET, 3)
            canvas.text(x, y - 11, "Rival", 12, drawing.CARD, bold=True, anchor="mm")
            _health(canvas, x, y, foe.health, RIVAL_HEALTH)
        elif foe in world.camps:
            canvas.polygon([(x - 14, y + 13), (x + 14, y + 13), (x, y - 8)], drawing.RED)
            canvas.polygon([(x - 4, y + 13), (x + 4, y + 13), (x, y + 2)], drawing.INK)
            canvas.panel((x - 18, y - 18, x + 18, y - 5), drawing.RED, 3)
            canvas.text(x, y - 11, "Camp", 12, drawing.CARD, anchor="mm")
            _health(canvas, x, y, foe.health, CAMP_HEALTH)
        else:
            canvas.disc(x, y, 16, drawing.RED)
            canvas.text(x, y, "Raid", 12, drawing.CARD, anchor="mm")
            _health(canvas, x, y, foe.health, RAIDER_HEALTH)


def _health(canvas: Canvas, x: int, y: int, health: int, full: int) -> None:
    if health < full:
        canvas.panel((x - 15, y + 13, x + 15, y + 17), drawing.INK)
        width = max(28 * health // full, 1)
        canvas.panel((x - 14, y + 14, x - 14 + width, y + 16), (110, 220, 110))


def _houses(canvas: Canvas, x: int, y: int, roof: Colour) -> None:
    for dx, dy, size in ((-8, 8, 7), (8, 8, 7), (0, 4, 8)):
        canvas.panel((x + dx - size + 1, y + dy, x + dx + size - 1, y + dy + 8), (240, 232, 214))
        canvas.polygon([(x + dx - size, y + dy + 1), (x + dx + size, y + dy + 1), (x + dx, y + dy - 7)], roof)


def _city(canvas: Canvas, city: City, garrison: bool) -> None:
    """A banner with letter and people; the houses make room for a unit."""
    x, y = tile_centre(city.cell)
    _houses(canvas, x - (5 if garrison else 0), y, drawing.TEAL)
    canvas.panel((x - 18, y - 18, x + 17, y - 4), drawing.DEEP_TEAL, 3)
    canvas.text(x, y - 11, f"{city.letter}:{city.population}", 12, drawing.CARD, bold=True, anchor="mm")


def _unit(canvas: Canvas, world: World, unit: Unit) -> None:
    x, y = tile_centre(unit.cell)
    fill = UNIT_COLOURS[unit.kind]
    if unit.goal:
        to_x, to_y = tile_centre(unit.goal)
        for part in range(1, 7):
            canvas.disc(x + (to_x - x) * part / 7, y + (to_y - y) * part / 7, 2, drawing.CARD)
        canvas.disc(to_x + 9, to_y + 9, 7, drawing.CARD)
        canvas.text(to_x + 9, to_y + 9, unit.letter, 12, fill, bold=True, anchor="mm")
    if world.city_at(unit.cell):
        canvas.panel((x - 2, y - 4, x + 18, y + 17), drawing.CARD, 4)
        canvas.panel((x - 1, y - 3, x + 17, y + 16), fill, 4)
        canvas.text(x + 8, y + 6, unit.letter, 14, drawing.CARD, bold=True, anchor="mm")
        ready = (x + 15, y - 2)
    else:
        canvas.panel((x - 17, y - 16, x + 17, y + 15), drawing.CARD, 6)
        canvas.panel((x - 16, y - 15, x + 16, y + 14), fill, 5)
        canvas.text(x, y - 6, unit.letter, 16, drawing.CARD, bold=True, anchor="mm")
        _emblem(canvas, x, y + 7, unit.kind, fill)
        ready = (x + 14, y - 13)
    if unit.moves > 0:
        canvas.disc(*ready, 4, drawing.CARD)
        canvas.disc(*ready, 3, (60, 190, 80))
    _health(canvas, x, y, unit.health, FULL_HEALTH)


def _emblem(canvas: Canvas, x: int, y: int, kind: str, ground: Colour) -> None:
    """What kind of unit it is, in white about (x, y) on `ground`: a flag, an eye, a shield, a sword, a cart."""
    white = drawing.CARD
    match kind:
        case "settler":
            canvas.panel((x - 4, y - 6, x - 2, y + 6), white)
            canvas.polygon([(x - 2, y - 6), (x + 7, y - 3), (x - 2, y + 1)], white)
        case "scout":
            canvas.polygon(
                [(x - 9, y), (x - 4, y - 5), (x + 4, y - 5), (x + 9, y), (x + 4, y + 5), (x - 4, y + 5)], white
            )
            canvas.disc(x, y, 3, ground)
        case "warrior":
            canvas.polygon([(x - 6, y - 6), (x + 6, y - 6), (x + 6, y), (x, y + 7), (x - 6, y)], white)
        case "swordsman":
            canvas.panel((x - 1, y - 7, x + 2, y + 2), white)
            canvas.panel((x - 6, y + 2, x + 7, y + 4), white)
            canvas.panel((x - 1, y + 4, x + 2, y + 7), white)
        case "caravan":
            canvas.panel((x - 8, y - 5, x + 8, y + 2), white, 2)
            canvas.disc(x - 4, y + 4, 3, white)
            canvas.disc(x + 4, y + 4, 3, white)


def _ambitions(canvas: Canvas, ambitions: list[tuple[str, float, str]]) -> None:
    canvas.text(_LEFT, 1, "Ambitions", 14, bold=True)
    for i, (name, share, figures) in enumerate(ambitions):
        y = 19 + 22 * i
        canvas.text(_LEFT, y - 1, name, 12, bold=True)
        canvas.text(_RIGHT, y - 1, figures, 12, drawing.MUTED, anchor="ra")
        canvas.panel((_LEFT, y + 14, _RIGHT, y + 19), drawing.LINE, 2)
        width = int((_RIGHT - _LEFT) * share)
        if width >= 4:
            canvas.panel((_LEFT, y + 14, _LEFT + width, y + 19), drawing.GREEN if share >= 1 else drawing.GOLD, 2)


def _technologies(canvas: Canvas, world: World) -> None:
    """Green is known, blue is being researched (science gathered of the cost), white can be, grey comes later."""
    hint = "" if world.research else f"{world.science} science" if world.cities else ""
    canvas.text(_LEFT, 130, "Research", 13, bold=True)
    canvas.text(_RIGHT, 131, hint or "click to choose", 12, drawing.MUTED, anchor="ra")
    for tech, box in TECH_CHIPS.items():
        rule = TECHS[tech]
        missing = [before for before in rule.after if before not in world.known]
        fill, ink, note = drawing.CARD, drawing.INK, f"costs {rule.cost}"
        if tech in world.known:
            fill, ink, note = drawing.GREEN, drawing.CARD, "known"
        elif tech == world.research:
            fill, ink, note = drawing.BLUE, drawing.CARD, f"{min(world.science, rule.cost)} of {rule.cost}"
        elif missing:
            fill, ink, note = drawing.SHADE, drawing.MUTED, f"after {missing[0].capitalize()}"
        canvas.panel(box, drawing.LINE, 4)
        canvas.panel((box[0] + 1, box[1] + 1, box[2] - 1, box[3] - 1), fill, 4)
        x, y = centre(box)
        canvas.text(x, y - 6, tech.capitalize(), 12, ink, anchor="mm")
        canvas.text(x, y + 7, note, 12, ink, anchor="mm")


def _cities(canvas: Canvas, world: World) -> None:
    """One line a city: letter, people and when they grow, what is being built, how full the queue is."""
    canvas.text(_LEFT, 267, "Cities", 13, bold=True)
    canvas.text(_RIGHT, 268, "people, growth, work", 12, drawing.MUTED, anchor="ra")
    for i, city in enumerate(world.cities):
        y = 284 + 15 * i
        canvas.panel((_LEFT, y, _LEFT + 15, y + 14), drawing.DEEP_TEAL, 3)
        canvas.text(_LEFT + 7, y + 7, city.letter, 12, drawing.CARD, bold=True, anchor="mm")
        surplus = world.yields(city).food - 2 * city.population
        wait = -(-(city.food_to_grow - city.food) // surplus) if surplus > 0 else 0
        canvas.text(_LEFT + 19, y + 7, str(city.population), 12, bold=True, anchor="lm")
        full = city.population == MOST_PEOPLE and surplus >= 0
        growth = "full" if full else f"in {wait}" if surplus > 0 else "stays" if surplus == 0 else "hunger"
        canvas.text(_LEFT + 31, y + 7, growth, 12, drawing.RED if surplus < 0 else drawing.MUTED, anchor="lm")
        room = _RIGHT - _LEFT - 36 - int(drawing.font(12).getlength(growth))
        work = _work(city, room) if city.queue else "no work"
        canvas.text(_RIGHT, y + 7, work, 12, drawing.INK if city.queue else drawing.RED, anchor="rm")


def _work(city: City, room: int) -> str:
    """What a city builds, with its cost and the count of what comes after it as far as there is room."""
    item, cost = city.queue[0], ITEMS[city.queue[0]].cost
    done = f" {min(city.production, cost)}/{cost}"
    more = f" +{len(city.queue) - 1}" if len(city.queue) > 1 else ""
    lines = [f"{item}{done}{more}", f"{item}{more}"] if more else [f"{item}{done}"]
    return next((line for line in lines if drawing.font(12).getlength(line) <= room), item)


def _chips(canvas: Canvas, world: World) -> None:
    """What can be built, grey where a technology is missing; the flag; the button that ends the turn."""
    box = CHIPS["end_turn"]
    x, y = centre(box)
    canvas.panel(box, drawing.TEAL, 6)
    canvas.text(x, y - 6, "End turn", 14, drawing.CARD, bold=True, anchor="mm")
    canvas.text(x, y + 9, "click, or Enter", 12, drawing.CARD, anchor="mm")
    _chip(canvas, CHIPS["found"], "Found city", "onto a settler", "found", True)
    for item, rule in ITEMS.items():
        usable = rule.tech is None or rule.tech in world.known
        note = f"{rule.cost}P {rule.use}" if usable else f"with {rule.tech}"
        _chip(canvas, CHIPS[item], item.capitalize(), note, item, usable)


def _chip(canvas: Canvas, box: Box, name: str, note: str, kind: str, usable: bool) -> None:
    """One thing to drag; units bear the emblem that they have on the map."""
    left, top, right, bottom = box
    canvas.panel(box, drawing.LINE, 6)
    canvas.panel((left + 1, top + 1, right - 1, bottom - 1), drawing.CARD if usable else drawing.SHADE, 6)
    ink = drawing.INK if usable else drawing.MUTED
    if kind in UNIT_COLOURS:
        colour = UNIT_COLOURS[kind] if usable else drawing.MUTED
        canvas.panel((left + 3, top + 3, left + 23, top + 20), colour, 4)
        _emblem(canvas, left + 13, top + 11, kind, colour)
        canvas.text(left + 27, top + 11, name, 12, ink, anchor="lm")
    else:
        canvas.text((left + right) // 2, top + 11, name, 12, ink, bold=True, anchor="mm")
    canvas.text((left + right) // 2, top + 27, note, 12, drawing.MUTED, anchor="mm")


def _ending(canvas: Canvas, outcome: str, score: float) -> None:
    won = outcome == "won"
    headline = {"won": "All ambitions fulfilled", "late": "The years are over"}.get(
        outcome, "Your people are scattered"
    )
    detail = "Your realm is great in all five ways." if won else f"Fulfilled: {score:.0f} of 100."
    drawing.banner(canvas, headline, detail, drawing.GREEN if won else drawing.RED, clear_of=MAP[3], board=MAP)
