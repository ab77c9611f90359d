"""The picture of the metro game, and what lies where on it."""

from __future__ import annotations

from itertools import pairwise
from math import cos, dist, pi, sin
from typing import TYPE_CHECKING

from environments import drawing
from environments.drawing import BOARD, SIDEBAR, Box, Canvas, Colour, Point
from environments.env import Frame
from environments.games.metro_network import CROWDED, LINES, MOST_WAITING, TRAIN_SEATS, City, Line

if TYPE_CHECKING:
    from environments.games.metro import Metro

COLOURS: dict[str, Colour] = {"red": (206, 60, 52), "blue": (38, 98, 214), "gold": (226, 160, 22)}
WATER: Colour = (196, 221, 235)
REACH_PX = 20
"""A pointer this near to a station's centre is on it."""
_NOWHERE = ((26, 26), (26, 52))
"""Two points of the map that are never on a station, for tracks to letters that are not on the map."""

_CARDS_TOP, _CARD_STEP, _CARD_HEIGHT = 222, 39, 35
_HELP_TOP, _HELP_WIDTH = 341, 156
_HELP = (
    "Small shapes want to reach a station of their shape. Pick a colour, then drag from station to station. Lines grow"
    f" at their ends; x removes one. Over {CROWDED} waiting fill a red ring; a full one ends the game."
)


def station_at(city: City, x: int, y: int) -> int | None:
    """The open station under the pointer."""
    return next((i for i in city.open() if dist(city.stations[i].place, (x, y)) <= REACH_PX), None)


def where(city: City, station: int, *, end: bool = False) -> tuple[int, int]:
    """The pixel of a station, or an empty one if it is not on the map."""
    if station in city.open():
        return city.stations[station].x, city.stations[station].y
    return _NOWHERE[end]


def on_map(x: int, y: int) -> bool:
    """Whether the pointer is on the map."""
    return BOARD[0] <= x < BOARD[2] and BOARD[1] <= y < BOARD[3]


def _card(which: int) -> Box:
    top = _CARDS_TOP + _CARD_STEP * which
    return SIDEBAR[0], top, SIDEBAR[2] - 36, top + _CARD_HEIGHT


def _cross(which: int) -> Box:
    _, top, _, bottom = _card(which)
    return SIDEBAR[2] - 30, top, SIDEBAR[2], bottom


def _hit(box: Box, x: int, y: int) -> bool:
    return box[0] <= x < box[2] and box[1] <= y < box[3]


def _centre(box: Box) -> tuple[int, int]:
    return (box[0] + box[2]) // 2, (box[1] + box[3]) // 2


def card_at(x: int, y: int) -> int | None:
    """The line whose card is under the pointer."""
    return next((which for which in range(len(LINES)) if _hit(_card(which), x, y)), None)


def cross_at(x: int, y: int) -> int | None:
    """The line whose removing cross is under the pointer."""
    return next((which for which in range(len(LINES)) if _hit(_cross(which), x, y)), None)


def card_centre(which: int) -> tuple[int, int]:
    """Where to click to choose a line."""
    return _centre(_card(which))


def cross_centre(which: int) -> tuple[int, int]:
    """Where to click to remove a line."""
    return _centre(_cross(which))


class View:
    """Draws frames; keeps what changes only with the lines."""

    def __init__(self) -> None:
        self._map: Canvas | None = None
        self._map_key: object = None

    def draw(self, game: Metro) -> Frame:
        """The picture of this moment, (480, 640, 3) uint8."""
        city = game.city
        key = (
            tuple((s.x, s.y) for s in city.stations),
            tuple(city.river),
            tuple(tuple(line.stops) for line in city.lines),
        )
        if self._map is None or key != self._map_key:
            self._map, self._map_key = _draw_map(city), key
        canvas = self._map.copy()
        if game.drag is not None and game.drag.start is not None:
            start = city.stations[game.drag.start].place
            _stroke(canvas, start, (game.drag.x, game.drag.y), 5, COLOURS[LINES[game.selected]])
        for name, line in zip(LINES, city.lines, strict=True):
            if line.stops:
                _draw_train(canvas, city, name, line)
        for index in city.open():  # above the trains: a station's letter must be legible at all times
            _draw_station(canvas, city, index, game.patience)
        for index in city.open():
            _draw_waiting(canvas, city, index)
        _draw_sidebar(canvas, game)
        game.note.draw(canvas, (SIDEBAR[0] - 2, _HELP_TOP, 636, _HELP_TOP + 70), 12)
        _draw_end(canvas, game)
        return canvas.frame()


def _draw_map(city: City) -> Canvas:
    canvas = Canvas()
    left, top, right, bottom = BOARD
    canvas.panel((left - 2, top - 2, right + 2, bottom + 2), drawing.LINE, 4)
    canvas.panel(BOARD, (250, 249, 245))
    river, bends = city.river, city.river[1:-1]
    banks = [_beyond(river[1], river[0]), *bends, _beyond(river[-2], river[-1])]
    for bank, next_bank in pairwise(banks):
        _stroke(canvas, bank, next_bank, 30, WATER)
    for bend in bends:
        canvas.disc(*bend, 15, WATER)
    # The river runs on beyond the map, or its blunt ends would show.
    canvas.panel((0, 0, 640, top - 2), drawing.PAPER)
    canvas.panel((0, bottom + 2, 640, 480), drawing.PAPER)
    canvas.panel((0, 0, left - 2, 480), drawing.PAPER)
    canvas.panel((right + 2, 0, 640, 480), drawing.PAPER)
    for which, line in enumerate(city.lines):
        colour = COLOURS[LINES[which]]
        for a, b in pairwise(line.stops):
            start, end = _rails(city, which, a, b)
            _stroke(canvas, start, end, 6, colour)
            if city.crosses(a, b):
                _draw_tunnel(canvas, city, start, end, colour)
            canvas.disc(*start, 3, colour)
            canvas.disc(*end, 3, colour)
    x, y, right, _ = SIDEBAR
    canvas.text(x, y - 3, "Metro", 30, bold=True)
    canvas.panel((x, y + 42, right, y + 45), drawing.TEAL)
    for row, text in enumerate(drawing.wrapped(_HELP, 12, _HELP_WIDTH)):
        canvas.text(x, _HELP_TOP + 14 * row, text, 12, drawing.MUTED)
    return canvas


def _beyond(a: Point, b: Point) -> Point:
    """A point behind b, as seen from a."""
    return b[0] + (b[0] - a[0]) / 5, b[1] + (b[1] - a[1]) / 5


def _draw_tunnel(canvas: Canvas, city: City, start: Point, end: Point, colour: Colour) -> None:
    """Under water a track is a row of pale dashes."""
    whole = dist(start, end)
    for along in range(4, int(whole) - 3, 8):
        x = start[0] + (end[0] - start[0]) * along / whole
        y = start[1] + (end[1] - start[1]) * along / whole
        if any(_from(p, q, (x, y)) < 15 for p, q in pairwise(city.river)):
            canvas.disc(round(x), round(y), 2, drawing.CARD)


def _from(p: Point, q: Point, point: Point) -> float:
    """Distance of a point from the segment p-q."""
    dx, dy = q[0] - p[0], q[1] - p[1]
    along = min(1.0, max(0.0, ((point[0] - p[0]) * dx + (point[1] - p[1]) * dy) / (dx * dx + dy * dy)))
    return dist(point, (p[0] + along * dx, p[1] + along * dy))


def _rails(city: City, which: int, a: int, b: int) -> tuple[Point, Point]:
    """The track between two stations, moved sideways so that lines side by side can be told apart."""
    low, high = city.stations[min(a, b)].place, city.stations[max(a, b)].place
    whole = dist(low, high)
    aside = 7 * (which - 1)
    dx, dy = -(high[1] - low[1]) / whole * aside, (high[0] - low[0]) / whole * aside
    ends = ((low[0] + dx, low[1] + dy), (high[0] + dx, high[1] + dy))
    return ends if a < b else (ends[1], ends[0])


def _stroke(canvas: Canvas, a: Point, b: Point, width: float, colour: Colour) -> None:
    whole = dist(a, b)
    if whole < 1:
        return
    dx, dy = -(b[1] - a[1]) / whole * width / 2, (b[0] - a[0]) / whole * width / 2
    corners = [(a[0] + dx, a[1] + dy), (b[0] + dx, b[1] + dy), (b[0] - dx, b[1] - dy), (a[0] - dx, a[1] - dy)]
    canvas.polygon([(round(x, 1), round(y, 1)) for x, y in corners], colour)


def _shape(canvas: Canvas, shape: str, x: float, y: float, radius: float, colour: Colour) -> None:
    """One of the five shapes, of about the same area each."""
    match shape:
        case "circle":
            canvas.disc(x, y, radius, colour)
        case "square":
            half = radius * 0.9
            corners = [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]
            canvas.polygon(corners, colour)
        case "triangle":
            canvas.polygon(_around(x, y + radius * 0.2, radius * 1.25, 3), colour)
        case "star":
            canvas.polygon(_around(x, y, radius * 1.3, 5, radius * 0.6), colour)
        case "cross":
            r, w = radius * 1.05, radius * 0.48
            corners = [(-w, -r), (w, -r), (w, -w), (r, -w), (r, w), (w, w), (w, r), (-w, r), (-w, w), (-r, w), (-r, -w), (-w, -w)]  # fmt: skip  # noqa: E501
            canvas.polygon([(x + dx, y + dy) for dx, dy in corners], colour)


def _around(x: float, y: float, radius: float, points: int, inner: float | None = None) -> list[Point]:
    """A regular polygon with a point on top, or a star with an inner radius."""
    radii = [radius] if inner is None else [radius, inner]
    count = points * len(radii)
    turns = [2 * pi * i / count - pi / 2 for i in range(count)]
    return [
        (round(x + radii[i % len(radii)] * cos(turn), 1), round(y + radii[i % len(radii)] * sin(turn), 1))
        for i, turn in enumerate(turns)
    ]


def _draw_station(canvas: Canvas, city: City, index: int, patience: int) -> None:
    station = city.stations[index]
    x, y = station.place
    if station.pressure:
        canvas.disc(x, y, 25, (240, 205, 200))
        share = min(1.0, station.pressure / patience)
        steps = max(1, round(share * 36))
        turns = [2 * pi * i / 36 - pi / 2 for i in range(steps + 1)]
        rim = [(round(x + 25 * cos(turn), 1), round(y + 25 * sin(turn), 1)) for turn in turns]
        canvas.polygon([(x, y), *rim], drawing.RED)
        canvas.disc(x, y, 20, (250, 249, 245))
    _shape(canvas, station.shape, x, y, 16, drawing.INK)
    _shape(canvas, station.shape, x, y, 12.5, drawing.CARD)
    canvas.text(x, y + (2 if station.shape == "triangle" else 0), city.letters[index], 13, bold=True, anchor="mm")


def _draw_waiting(canvas: Canvas, city: City, index: int) -> None:
    """Two rows of six to the right of the station."""
    station = city.stations[index]
    shown = station.waiting[:MOST_WAITING]
    for position, wanted in enumerate(shown):
        row, column = divmod(position, 6)
        x, y = station.x + 33 + 11 * column, station.y - 6 + 12 * row
        canvas.disc(x, y, 6, drawing.CARD)
        _shape(canvas, wanted, x, y, 4, drawing.INK)
    if len(station.waiting) > MOST_WAITING:
        more = f"+{len(station.waiting) - MOST_WAITING}"
        canvas.text(station.x + 28, station.y + 12, more, 12, drawing.RED, bold=True)


def _draw_train(canvas: Canvas, city: City, name: str, line: Line) -> None:
    """A car of the line's colour, its length along the track, with its passengers inside."""
    train = line.train
    target, step = line.next_stop()
    a, b = line.stops[target - step], line.stops[target]
    start, end = _rails(city, LINES.index(name), a, b)
    whole = dist(start, end)
    ux, uy = (end[0] - start[0]) / whole, (end[1] - start[1]) / whole
    x, y = start[0] + ux * train.run_px, start[1] + uy * train.run_px

    def at(along: float, aside: float) -> Point:
        return round(x + ux * along - uy * aside, 1), round(y + uy * along + ux * aside, 1)

    canvas.polygon([at(-19, -10), at(17, -10), at(22, 0), at(17, 10), at(-19, 10)], drawing.CARD)
    canvas.polygon([at(-17, -8), at(16, -8), at(19, 0), at(16, 8), at(-17, 8)], COLOURS[name])
    for seat, wanted in enumerate(train.aboard[:TRAIN_SEATS]):
        column, row = divmod(seat, 2)
        _shape(canvas, wanted, *at(10 - 10 * column, -4 + 8 * row), 3, drawing.CARD)


def _small_card(canvas: Canvas, box: Box, label: str, value: str, fill: Colour = drawing.INK) -> None:
    canvas.panel(box, drawing.CARD, 8)
    canvas.text(box[0] + 8, box[1] + 5, label, 12, drawing.MUTED)
    canvas.text(box[0] + 8, box[1] + 20, value, 19, fill, bold=True)


def _draw_sidebar(canvas: Canvas, game: Metro) -> None:
    left, _, right, _ = SIDEBAR
    city = game.city
    seconds = max(0, game.day - city.clock + 9) // 10
    _small_card(canvas, (left, 74, right, 122), "Delivered", f"{city.delivered} of {game.target}")
    tone = drawing.RED if seconds <= 30 else drawing.INK
    _small_card(canvas, (left, 128, left + 72, 176), "Closes in", f"{seconds // 60}:{seconds % 60:02}", tone)
    left_over = game.tunnels - city.tunnels_used()
    _small_card(canvas, (left + 78, 128, right, 176), "Tunnels", str(left_over))
    canvas.text(left, 186, "Lines", 13, drawing.INK, bold=True)
    canvas.text(left, 203, "the framed one draws", 12, drawing.MUTED)
    for which, (name, line) in enumerate(zip(LINES, city.lines, strict=True)):
        x0, y0, x1, y1 = _card(which)
        if which == game.selected:
            canvas.panel((x0 - 4, y0 - 4, x1 + 4, y1 + 4), drawing.INK, 9)
            canvas.panel((x0 - 2, y0 - 2, x1 + 2, y1 + 2), drawing.PAPER, 8)
        canvas.panel((x0, y0, x1, y1), COLOURS[name], 7)
        canvas.text(x0 + 10, y0 + 3, name.capitalize(), 14, drawing.CARD, bold=True)
        stops = ("-" if len(line.stops) < 8 else "").join(city.letters[stop] for stop in line.stops) or "unused"
        canvas.text(x0 + 10, y0 + 19, stops, 12, drawing.CARD)
        box = _cross(which)
        canvas.panel(box, drawing.SHADE, 7)
        tone = drawing.INK if line.stops else drawing.LINE
        (cx, cy), r = _centre(box), 5
        _stroke(canvas, (cx - r, cy - r), (cx + r, cy + r), 3, tone)
        _stroke(canvas, (cx - r, cy + r), (cx + r, cy - r), 3, tone)


def _draw_end(canvas: Canvas, game: Metro) -> None:
    if not game.over:
        return
    detail = f"Passengers delivered: {game.city.delivered}."
    if game.won:
        drawing.banner(canvas, "Everybody is home", detail, drawing.GREEN, clear_of=BOARD[3])
    elif game.lost_at is not None:
        what = f"Station {game.city.letters[game.lost_at]} was too crowded for too long."
        drawing.banner(canvas, "Game over", what, drawing.RED, clear_of=game.city.stations[game.lost_at].y)
    else:
        drawing.banner(canvas, "The metro closes", detail, drawing.RED, clear_of=BOARD[3])
