"""The study's textures, painted with Pillow: floor with its tracks, papers, labels, dials, prints."""

from __future__ import annotations

import math

from PIL import Image, ImageDraw

from environments.drawing import Colour, font
from environments.games.scene_case import Case
from environments.games.scene_room import HALF_X, HALF_Y, pile_centre, trail

FLOOR_PIXELS = 280
"""Pixels per metre of the floor."""
INK: Colour = (34, 32, 38)
PAPER: Colour = (246, 241, 226)
MUD: Colour = (70, 48, 30)
WINE: Colour = (122, 20, 44)
COAT_COLOURS: dict[str, Colour] = {
    "red": (186, 44, 40),
    "green": (40, 122, 64),
    "blue": (38, 84, 180),
    "yellow": (224, 178, 40),
    "grey": (128, 132, 140),
    "brown": (120, 76, 40),
}
TINT_COLOURS: dict[str, Colour] = {
    "amber": (226, 150, 30),
    "violet": (126, 60, 168),
    "green": (54, 160, 84),
    "blue": (48, 110, 214),
    "pink": (236, 120, 160),
    "white": (240, 240, 236),
}


def sole_mask(pattern: str, length: int, *, left: bool) -> Image.Image:
    """A boot's print as a mask, toe up, (length x length / 2): broad in front, heel apart, the pattern cut out."""
    k = 3
    height, width = length * k, length * k // 2
    mask = Image.new("L", (width, height), 0)
    draw = ImageDraw.Draw(mask)
    lean = -0.06 * width if left else 0.06 * width  # toes point inwards a little
    front = (0.08 * width - lean, 0, 0.92 * width - lean, 0.62 * height)
    draw.ellipse(front, fill=255)
    draw.rounded_rectangle((0.2 * width, 0.7 * height, 0.8 * width, height - 1), 0.18 * width, fill=255)
    thick = max(2, round(0.045 * height))
    for row in range(4):
        y = (0.1 + 0.13 * row) * height
        if pattern == "bars":
            draw.rectangle((0, y, width, y + thick), fill=0)
        elif pattern == "dots":
            for column in range(3):
                cx = (0.28 + 0.22 * column) * width - lean
                draw.ellipse((cx - thick, y - thick, cx + thick, y + thick), fill=0)
        elif pattern == "arrows" and row < 3:
            middle = width / 2 - lean
            tip = [(0.1 * width - lean, y + 0.14 * height), (middle, y), (0.9 * width - lean, y + 0.14 * height)]
            draw.line(tip, fill=0, width=thick)
    return mask.reduce(k)


def floor(case: Case) -> Image.Image:
    """Boards with a rug, both trails, and the pile; north is up."""
    width, height = round(2 * HALF_X * FLOOR_PIXELS), round(2 * HALF_Y * FLOOR_PIXELS)
    image = Image.new("RGB", (width, height), (176, 142, 104))
    draw = ImageDraw.Draw(image)
    board = FLOOR_PIXELS // 5
    for row in range(height // board + 1):
        tone = (row * 7) % 5 * 3
        draw.rectangle((0, row * board, width, (row + 1) * board), fill=(172 + tone, 138 + tone, 100 + tone))
        draw.line((0, row * board, width, row * board), fill=(140, 108, 76), width=2)
        for joint in range((row * 211) % 420, width, 420):
            draw.line((joint, row * board, joint, (row + 1) * board), fill=(140, 108, 76), width=2)
    for leaving in (False, True):
        steps = trail(case, leaving=leaving)
        for index, (x, y, direction) in enumerate(steps):
            share = index / max(1, len(steps) - 1)
            strength = 0.62 - 0.22 * share if leaving else 1.0 - 0.35 * share  # mud wears off with every step
            _print(image, case.soles[case.culprit], (x, y), direction, strength, left=index % 2 == 1)
    _pile(image, case)
    return image


def _pixel(x: float, y: float) -> tuple[int, int]:
    return round((x + HALF_X) * FLOOR_PIXELS), round((HALF_Y - y) * FLOOR_PIXELS)


def _print(
    image: Image.Image, sole: str, at: tuple[float, float], direction: float, strength: float, *, left: bool
) -> None:
    """One boot's print; `direction` is where the toe points, in radians from east."""
    mask = sole_mask(sole, round(0.29 * FLOOR_PIXELS), left=left)
    mask = mask.rotate(math.degrees(direction) - 90, Image.Resampling.BICUBIC, expand=True)
    mask = mask.point([round(level * strength) for level in range(256)])
    x, y = _pixel(*at)
    image.paste(MUD, (x - mask.width // 2, y - mask.height // 2), mask)


def _pile(image: Image.Image, case: Case) -> None:
    """A boot's print, a wine stain and a sheet, each partly on what fell before it."""
    x, y = pile_centre(case)
    px, py = _pixel(x, y)
    for layer in case.order:
        if layer == "mud":
            _print(image, case.soles[case.culprit], (x + 0.145, y + 0.075), 3.3, 1.0, left=False)
        elif layer == "wine":
            side = 2 * round(0.2 * FLOOR_PIXELS)
            blot = Image.new("L", (side, side), 0)
            draw = ImageDraw.Draw(blot)
            for angle in range(0, 360, 40):
                r = side * (0.24 if angle % 80 else 0.3)
                cx, cy = (side / 2 + 0.17 * side * f(math.radians(angle)) for f in (math.cos, math.sin))
                draw.ellipse((cx - r, cy - r, cx + r, cy + r), fill=255)
            image.paste(WINE, (px - side // 2 - 26, py - side // 2 - 34), blot)
        else:
            sheet = Image.new("RGB", (84, 112), PAPER)
            draw = ImageDraw.Draw(sheet)
            for line in range(8):
                draw.line((10, 14 + 11 * line, 74 - line % 3 * 9, 14 + 11 * line), fill=(120, 124, 150), width=2)
            draw.rectangle((0, 0, 83, 111), outline=(190, 180, 150), width=2)
            cover = Image.new("L", sheet.size, 255).rotate(24, Image.Resampling.BICUBIC, expand=True)
            sheet = sheet.rotate(24, Image.Resampling.BICUBIC, expand=True, fillcolor=PAPER)
            image.paste(sheet, (px - sheet.width // 2 + 6, py - sheet.height // 2 + 48), cover)


def label(text: str, colour: Colour = PAPER, width: int = 256, height: int = 96) -> Image.Image:
    """A card with one line, as large as fits."""
    image = Image.new("RGB", (width, height), colour)
    draw = ImageDraw.Draw(image)
    draw.rectangle((3, 3, width - 4, height - 4), outline=INK, width=3)
    size = height - 24
    while font(size, True).getlength(text) > width - 26:
        size -= 2
    draw.text((width / 2, height / 2), text, fill=INK, font=font(size, True), anchor="mm")
    return image


def memo(case: Case) -> Image.Image:
    """A sheet with a torn edge: by how much the table clock is wrong."""
    image = Image.new("RGB", (320, 240), PAPER)
    draw = ImageDraw.Draw(image)
    way = "FAST" if case.fast_minutes > 0 else "SLOW"
    for row, (text, size) in enumerate(
        [("To the clockmaker", 26), ("Our table clock runs", 26), (f"{abs(case.fast_minutes)} min {way}", 38)]
    ):
        draw.text((20, 24 + 52 * row), text, fill=(30, 44, 110), font=font(size, row == 2))
    torn = [(0, 240), *((x, 214 + (x * 7 // 20) % 3 * 9) for x in range(0, 340, 20)), (320, 240)]
    draw.polygon(torn, fill=(110, 74, 44))
    return image


def dial(minutes: int, *, cracked: bool) -> Image.Image:
    """A clock's face with its hands; cracks for one that has fallen."""
    side, k = 256, 2
    image = Image.new("RGB", (side * k, side * k), (88, 56, 32))
    draw = ImageDraw.Draw(image)
    middle = side * k / 2
    draw.ellipse((8, 8, side * k - 8, side * k - 8), fill=(206, 168, 80))
    draw.ellipse((26, 26, side * k - 26, side * k - 26), fill=(250, 248, 240))

    def at(turns: float, radius: float) -> tuple[float, float]:
        angle = 2 * math.pi * turns
        return middle + radius * k * math.sin(angle), middle - radius * k * math.cos(angle)

    for mark in range(60):
        long = mark % 5 == 0
        draw.line((at(mark / 60, 104 if long else 108), at(mark / 60, 113)), fill=INK, width=6 if long else 2)
    for hour in range(1, 13):
        draw.text(at(hour / 12, 86), str(hour), fill=INK, font=font(44, True), anchor="mm")
    if cracked:
        for turns, reach in ((0.08, 108), (0.37, 100), (0.62, 108), (0.81, 90)):
            draw.line(
                (at(turns, 12), at(turns + 0.02, reach / 2), at(turns - 0.01, reach)), fill=(150, 160, 170), width=4
            )
    draw.line((at(minutes / 720 + 0.5, 14), at(minutes / 720, 52)), fill=INK, width=18)
    draw.line((at(minutes / 60 + 0.5, 18), at(minutes / 60, 92)), fill=INK, width=9)
    draw.ellipse((middle - 14, middle - 14, middle + 14, middle + 14), fill=(170, 40, 36))
    return image.reduce(k)


def hand_print(hand: str, background: Colour) -> Image.Image:
    """A muddy print of a palm, fingers up: a right hand's thumb is on the left."""
    side, k = 192, 2
    image = Image.new("RGB", (side * k, side * k), background)
    draw = ImageDraw.Draw(image)
    draw.ellipse((60 * k, 92 * k, 136 * k, 168 * k), fill=MUD)
    for base, tip, wide in (
        ((72, 104), (58, 46), 17),
        ((90, 98), (86, 26), 18),
        ((108, 98), (112, 28), 18),
        ((124, 108), (138, 50), 16),
        ((74, 146), (26, 106), 20),
    ):
        draw.line([(x * k, y * k) for x, y in (base, tip)], fill=MUD, width=wide * k)
        draw.ellipse([(c + s * wide / 2) * k for s in (-1, 1) for c in tip], fill=MUD)
    image = image.reduce(k)
    return image if hand == "right" else image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def outdoors() -> Image.Image:
    """What one sees through the window: dusk, hills."""
    image = Image.new("RGB", (128, 128), (92, 124, 170))
    draw = ImageDraw.Draw(image)
    for row in range(64):
        draw.line((0, row, 128, row), fill=(70 + row, 104 + row, 168 + row // 2))
    draw.ellipse((-40, 62, 90, 190), fill=(58, 96, 66))
    draw.ellipse((40, 74, 190, 200), fill=(44, 80, 56))
    return image


def landscape() -> Image.Image:
    """The painting: a lighthouse."""
    image = Image.new("RGB", (192, 144), (228, 206, 160))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 92, 192, 144), fill=(52, 96, 128))
    draw.polygon([(96, 96), (104, 30), (122, 30), (130, 96)], fill=(244, 240, 232))
    for row in range(3):
        draw.rectangle((101, 42 + 18 * row, 126, 50 + 18 * row), fill=(186, 44, 40))
    draw.ellipse((84, 84, 150, 112), fill=(86, 80, 74))
    draw.ellipse((24, 18, 60, 54), fill=(246, 226, 130))
    return image
