"""What stands and drives along the road, and the sky: pictures painted once, then scaled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from environments.drawing import Canvas, Colour
from environments.games.racer_track import SEGMENT, SEGMENTS, Track

Sprite = tuple[str, int, int, bool]
"""Kind, colour or theme, lean, lights: what `_painted` makes a picture of."""
OWN = 5
"""The colour's number of the player's car."""
_CARS: tuple[Colour, ...] = (
    (44, 98, 190),
    (232, 232, 228),
    (58, 140, 84),
    (226, 176, 44),
    (96, 72, 130),
    (204, 44, 40),
)
SKY_WIDTH = 1280


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a landscape, and what grows there."""

    zenith: Colour
    haze: Colour
    mountain: Colour
    hill: Colour
    grass: Colour
    grass_dark: Colour
    road: Colour
    road_dark: Colour
    plants: tuple[str, ...]


THEMES: tuple[Theme, ...] = (
    Theme(
        (92, 156, 220), (206, 224, 236), (132, 156, 184), (96, 140, 110), (112, 168, 84), (102, 156, 76),
        (104, 106, 112), (98, 100, 106), ("pine", "bush", "tree"),
    ),
    Theme(
        (108, 170, 216), (244, 222, 184), (196, 142, 104), (206, 164, 112), (222, 186, 126), (212, 174, 114),
        (118, 110, 104), (112, 104, 98), ("cactus", "rock", "bush"),
    ),
    Theme(
        (124, 160, 200), (226, 234, 242), (176, 192, 212), (206, 216, 226), (236, 240, 244), (222, 228, 236),
        (112, 116, 124), (106, 110, 118), ("pine", "rock", "pine"),
    ),
    Theme(
        (58, 62, 122), (246, 178, 134), (104, 84, 130), (78, 80, 96), (86, 118, 84), (78, 108, 76),
        (84, 82, 94), (78, 76, 88), ("tree", "bush", "pine"),
    ),
)  # fmt: skip


def sky(theme: Theme, salt: int) -> NDArray[np.uint8]:
    """A panorama that closes on itself, (320, SKY_WIDTH, 3) uint8: sky, mountains, hills, haze below."""
    rng = np.random.default_rng(salt)
    rows = np.clip(np.arange(320, dtype=np.float32) / 205.0, 0, 1)[:, None, None]
    zenith, haze = np.array(theme.zenith, np.float32), np.array(theme.haze, np.float32)
    picture = np.broadcast_to(zenith + (haze - zenith) * rows, (320, SKY_WIDTH, 3)).copy()
    x = np.arange(SKY_WIDTH, dtype=np.float64) * (2 * np.pi / SKY_WIDTH)
    y = np.arange(320, dtype=np.float64)[:, None]
    for colour, base, size, waves in ((theme.mountain, 188, 26, (3, 5, 8, 13)), (theme.hill, 202, 9, (4, 7, 11, 17))):
        ridge = np.full(SKY_WIDTH, float(base))
        for wave in waves:
            ridge -= size * 2.2 / wave**0.5 * np.abs(np.sin(wave * x / 2 + rng.uniform(0, 6.28))) - size * 0.6
        cover = np.clip(y - np.rint(ridge * 64) / 64 + 0.5, 0, 1)[..., None] * (y < 216)[..., None]
        picture = picture + (np.array(colour) - picture) * cover
    picture[208:] = haze
    pixels: NDArray[np.uint8] = np.rint(picture).astype(np.uint8)
    return pixels


def scenery(track: Track, theme: Theme, number: int) -> list[tuple[Sprite, float, float]]:
    """What stands beside a segment: the figure, its place across the road, its width in metres."""
    found: list[tuple[Sprite, float, float]] = []
    if number % 2 == 0:
        noise = ((number + 17) * 2654435761 + track.salt * 40503) & 0xFFFFFFFF
        side = 1 if noise & 64 else -1
        kind = theme.plants[(noise >> 8) % 3]
        across = side * (1.5 + ((noise >> 12) & 255) / 256 * 2.6)
        wide = {"pine": 3.4, "tree": 4.2, "bush": 1.8, "cactus": 1.8, "rock": 2.2}[kind]
        found.append(((kind, track.theme, 0, False), across, wide))
    bend = track.bends[number] if 0 <= number < SEGMENTS else 0.0
    if abs(bend) > 0.55 and number % 3 == 0:  # boards on the outside of a sharp bend
        found.append((("board", 0, 1 if bend > 0 else -1, False), -1.3 if bend > 0 else 1.3, 1.5))
    if number % 20 == 0 and number * SEGMENT > 10:
        found.append((("post", 0, 0, False), 1.18, 0.35))
    return found


def car(colour: int, lean: int, lights: bool) -> Sprite:
    """A car from behind, leaning to one side in a bend."""
    return "car", colour, lean, lights


def stand(canvas: Canvas, sprite: Sprite, x: float, y: float, pixels: float, clip: float) -> None:
    """Put a figure of a width in pixels on the canvas: its foot at (x, y), nothing of it below the row `clip`."""
    width = round(pixels)
    if width > 24:  # steps of a tenth: the cache stays small, and nobody sees it
        width = round(width / 3) * 3
    if width < 2 or width > 900:
        return
    picture = _scaled(sprite, width)
    left, top = round(x - picture.width / 2), round(y) - picture.height
    keep = min(picture.height, int(clip) - top)
    if keep > 0:
        canvas.sprite(left, top, picture if keep == picture.height else picture.crop((0, 0, picture.width, keep)))


@lru_cache(maxsize=512)  # near ones have a megabyte each
def _scaled(sprite: Sprite, width: int) -> Image.Image:
    picture = _painted(sprite)
    height = max(1, round(picture.height * width / picture.width))
    return picture.resize((width, height), Image.Resampling.BOX if width < picture.width else Image.Resampling.BILINEAR)


@lru_cache(maxsize=128)
def _painted(sprite: Sprite) -> Image.Image:
    kind, colour, lean, lights = sprite
    if kind == "car":
        return _car(_CARS[colour], lean, lights)
    return {"board": _board, "post": _post}[kind](lean) if kind in ("board", "post") else _PLANTS[kind](colour == 2)


def _sheet(width: int, height: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    return image, ImageDraw.Draw(image)


def _darker(colour: Colour, share: float) -> Colour:
    red, green, blue = (round(part * share) for part in colour)
    return red, green, blue


def _car(paint: Colour, lean: int, lights: bool) -> Image.Image:
    """Seen from behind, 480 x 330: painted large, so that scaling smooths it."""
    image, draw = _sheet(480, 330)
    draw.ellipse((10, 286, 470, 329), fill=(20, 20, 24, 110))
    for x in (42, 352):
        draw.rounded_rectangle((x, 214, x + 86, 316), 16, fill=(26, 26, 30))
    shift = 16 * lean
    roof = [(124 + shift, 30), (356 + shift, 30), (410, 150), (70, 150)]
    draw.polygon(roof, fill=_darker(paint, 0.8))
    draw.polygon([(140 + shift, 48), (340 + shift, 48), (384, 140), (96, 140)], fill=(56, 72, 92))
    draw.polygon([(150 + shift, 52), (210 + shift, 52), (176, 136), (106, 136)], fill=(96, 116, 138))
    draw.rounded_rectangle((28, 138, 452, 282), 34, fill=paint)
    draw.rounded_rectangle((28, 138, 452, 180), 30, fill=_darker(paint, 1.0))
    draw.rectangle((40, 170, 440, 178), fill=_darker(paint, 0.7))
    draw.rounded_rectangle((44, 240, 436, 290), 18, fill=_darker(paint, 0.45))
    draw.rounded_rectangle((190, 196, 290, 232), 6, fill=(240, 238, 226))
    lamp = (255, 92, 70) if lights else (140, 20, 24)
    for x in (48, 350):
        draw.rounded_rectangle((x, 190, x + 82, 228), 12, fill=lamp)
    if lights:
        for x in (62, 364):
            draw.rounded_rectangle((x, 198, x + 54, 220), 8, fill=(255, 200, 170))
    draw.rectangle((60 + shift // 2, 118, 420 + shift // 2, 132), fill=_darker(paint, 0.55))
    return image


def _board(lean: int) -> Image.Image:
    """A chevron board: the arrow points into the bend."""
    image, draw = _sheet(240, 260)
    for x in (50, 176):
        draw.rectangle((x, 120, x + 14, 259), fill=(110, 112, 118))
    draw.rounded_rectangle((4, 4, 236, 150), 14, fill=(30, 32, 40))
    for start in (24, 94, 164):
        points = [(0, 24), (24, 24), (56, 77), (24, 130), (0, 130), (32, 77)]
        if lean < 0:
            points = [(56 - x, y) for x, y in points]
        draw.polygon([(start + x, y) for x, y in points], fill=(250, 208, 60))
    return image


def _post(lean: int) -> Image.Image:
    image, draw = _sheet(40, 130)
    draw.rounded_rectangle((6, 0, 34, 129), 6, fill=(240, 240, 236))
    draw.rectangle((6, 20, 34, 50), fill=(196, 48, 42))
    return image


def _pine(snowy: bool) -> Image.Image:
    image, draw = _sheet(240, 420)
    draw.rectangle((106, 350, 134, 419), fill=(96, 66, 44))
    for row in range(4):
        top, half = 20 + 80 * row, 52 + 22 * row
        tone = (40 + 8 * row, 92 + 8 * row, 62 + 4 * row)
        draw.polygon([(120, top), (120 + half, top + 122), (120 - half, top + 122)], fill=tone)
        if snowy:
            draw.polygon([(120, top), (120 + half // 2, top + 58), (120 - half // 2, top + 58)], fill=(240, 244, 248))
    return image


def _tree(snowy: bool) -> Image.Image:
    image, draw = _sheet(320, 400)
    draw.rectangle((146, 260, 176, 399), fill=(102, 72, 48))
    for box, tone in (
        ((20, 100, 200, 280), (62, 116, 62)),
        ((130, 90, 304, 270), (54, 106, 58)),
        ((70, 14, 256, 200), (76, 134, 70)),
    ):
        draw.ellipse(box, fill=tone)
    return image


def _bush(snowy: bool) -> Image.Image:
    image, draw = _sheet(240, 150)
    for box, tone in (
        ((4, 50, 120, 160), (70, 118, 62)),
        ((110, 46, 236, 160), (64, 110, 60)),
        ((56, 10, 180, 150), (84, 134, 72)),
    ):
        draw.ellipse(box, fill=tone)
    return image


def _cactus(snowy: bool) -> Image.Image:
    image, draw = _sheet(240, 380)
    green = (72, 124, 78)
    draw.rounded_rectangle((92, 10, 148, 379), 28, fill=green)
    for box in ((14, 110, 56, 230), (184, 80, 226, 200)):
        draw.rounded_rectangle(box, 20, fill=green)
    draw.rounded_rectangle((14, 196, 120, 238), 20, fill=green)
    draw.rounded_rectangle((120, 164, 226, 206), 20, fill=green)
    return image


def _rock(snowy: bool) -> Image.Image:
    image, draw = _sheet(240, 150)
    tone = (150, 156, 166) if snowy else (156, 124, 98)
    draw.polygon([(6, 149), (36, 60), (100, 14), (170, 34), (220, 90), (236, 149)], fill=tone)
    draw.polygon([(100, 14), (170, 34), (150, 149), (84, 149)], fill=_darker(tone, 1.15))
    return image


_PLANTS = {"pine": _pine, "tree": _tree, "bush": _bush, "cactus": _cactus, "rock": _rock}
