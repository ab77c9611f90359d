"""The picture of the courtroom, and where its buttons and cards lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from environments import drawing
from environments.drawing import Box, Canvas, Colour
from environments.env import Frame
from environments.games.courtroom_case import LETTERS, ROLES, Case

STAGE: Box = (12, 40, 404, 186)
TESTIMONY: Box = (12, 194, 404, 352)
BUTTONS: dict[str, Box] = {
    "previous": (12, 360, 138, 396),
    "press": (145, 360, 271, 396),
    "next": (278, 360, 404, 396),
}
NOTES: Box = (12, 404, 404, 470)
CARDS: dict[str, Box] = {
    "file": (414, 64, 628, 92),
    **{
        letter: (414 + 109 * (i % 2), 98 + 52 * (i // 2), 519 + 109 * (i % 2), 146 + 52 * (i // 2))
        for i, letter in enumerate(LETTERS)
    },
}
DETAILS: Box = (414, 260, 628, 470)

WALL: Colour = (222, 209, 186)
PANEL: Colour = (168, 122, 80)
DARK_WOOD: Colour = (104, 68, 42)
SKIN: tuple[Colour, ...] = ((236, 190, 154), (198, 142, 100), (141, 92, 62), (246, 210, 180))
CLOTH: tuple[Colour, ...] = ((170, 58, 52), (52, 98, 160), (58, 122, 82), (122, 76, 142), (196, 138, 40), (70, 78, 92))
HAIR: tuple[Colour, ...] = ((54, 38, 30), (150, 98, 44), (180, 180, 184), (30, 30, 36), (176, 76, 40))


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the picture shows."""

    case: Case
    witness: str
    index: int
    count: int
    text: str
    addition: str
    heard: tuple[int, ...]
    found: int
    total: int
    patience: int
    full_patience: int
    turns: int
    opened: tuple[str, ...]
    shown: str
    message: str
    outcome: str
    """`won`, `lost` or nothing."""


def inside(box: Box, x: int, y: int) -> bool:
    """Whether a pixel lies in a box."""
    return box[0] <= x < box[2] and box[1] <= y < box[3]


def centre(box: Box) -> tuple[int, int]:
    """The pixel in the middle of a box."""
    return (box[0] + box[2]) // 2, (box[1] + box[3]) // 2


def card_at(x: int, y: int) -> str:
    """The card of the court record at a pixel: a letter, `file` or nothing."""
    return next((name for name, box in CARDS.items() if inside(box, x, y)), "")


def button_at(x: int, y: int) -> str:
    """The button at a pixel, or nothing."""
    return next((name for name, box in BUTTONS.items() if inside(box, x, y)), "")


@lru_cache(maxsize=512)
def wrap(text: str, size: int, width: int) -> tuple[str, ...]:
    """Break a text into lines of at most `width` pixels, between words."""
    measure = drawing.font(size).getlength
    lines: list[str] = []
    for word in text.split():
        if lines and measure(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return tuple(lines)


def details_of(case: Case, shown: str) -> tuple[str, tuple[str, ...]]:
    """Title and paragraphs of the card that lies open."""
    if not shown:
        return "", ("Nothing lies open. Click a card to read it.",)
    if shown == "file":
        return "Case file", case.file
    evidence = case.evidence[LETTERS.index(shown)]
    return f"{shown}  {evidence.name}", evidence.details


def draw(scene: Scene) -> Frame:
    """The whole picture, (480, 640, 3) uint8."""
    canvas = _backdrop().copy()
    _header(canvas, scene)
    _people(canvas, scene)
    _testimony(canvas, scene)
    _record(canvas, scene)
    _notes(canvas, scene)
    if scene.outcome:
        _verdict(canvas, scene)
    return canvas.frame()


@lru_cache(maxsize=1)
def _backdrop() -> Canvas:
    canvas = Canvas()
    canvas.text(12, 6, "One False Word", 22, bold=True)
    canvas.panel(STAGE, WALL, 8)
    left, top, right, bottom = STAGE
    for x in (left + 24, right - 66):  # tall windows
        canvas.panel((x, top + 12, x + 42, top + 78), DARK_WOOD, 4)
        canvas.panel((x + 3, top + 15, x + 39, top + 75), (176, 206, 222), 3)
        canvas.panel((x + 20, top + 15, x + 22, top + 75), DARK_WOOD)
        canvas.panel((x + 3, top + 42, x + 39, top + 44), DARK_WOOD)
    canvas.panel((left, bottom - 34, right, bottom), (150, 118, 86), 0)
    canvas.panel((left, bottom - 38, right, bottom - 34), DARK_WOOD)
    canvas.panel(TESTIMONY, drawing.LINE, 10)
    canvas.panel(_shrink(TESTIMONY, 2), drawing.CARD, 9)
    for name, box in BUTTONS.items():
        _button(canvas, name, box)
    canvas.text(414, 40, "Court record", 17, bold=True)
    canvas.panel(DETAILS, drawing.LINE, 8)
    canvas.panel(_shrink(DETAILS, 1), drawing.CARD, 7)
    return canvas


def _shrink(box: Box, by: int) -> Box:
    return box[0] + by, box[1] + by, box[2] - by, box[3] - by


def _button(canvas: Canvas, name: str, box: Box) -> None:
    fill = drawing.RED if name == "press" else drawing.TEAL
    canvas.panel(box, fill, 8)
    x, y = centre(box)
    label = {"previous": "Back", "press": "Press  (P)", "next": "Next"}[name]
    canvas.text(x, y, label, 16, drawing.CARD, bold=True, anchor="mm")
    if name == "previous":
        canvas.polygon([(box[0] + 14, y), (box[0] + 26, y - 8), (box[0] + 26, y + 8)], drawing.CARD)
    elif name == "next":
        canvas.polygon([(box[2] - 14, y), (box[2] - 26, y - 8), (box[2] - 26, y + 8)], drawing.CARD)


def _header(canvas: Canvas, scene: Scene) -> None:
    canvas.text(628, 20, f"Turn {scene.turns}", 14, drawing.MUTED, anchor="rm")
    canvas.text(236, 20, "Lies exposed", 14, drawing.MUTED, anchor="lm")
    for i in range(scene.total):
        canvas.disc(345 + 20 * i, 20, 7.5, drawing.GREEN if i < scene.found else drawing.LINE)
    canvas.text(414, 20, "Patience", 14, drawing.MUTED, anchor="lm")
    for i in range(scene.full_patience):
        x = 484 + 13 * i
        canvas.panel((x, 12, x + 9, 28), drawing.GOLD if i < scene.patience else drawing.LINE, 3)


def _people(canvas: Canvas, scene: Scene) -> None:
    left, _, right, bottom = STAGE
    _judge(canvas, (left + right) // 2 + 2, bottom - 88, scene)
    _person(canvas, left + 62, bottom - 62, scene.case.accused, happy=scene.outcome == "won")
    canvas.panel((left + 18, bottom - 34, left + 106, bottom - 6), DARK_WOOD, 4)
    canvas.text(left + 62, bottom - 20, "Accused", 12, drawing.CARD, bold=True, anchor="mm")
    _person(canvas, right - 74, bottom - 62, scene.witness, happy=False)
    canvas.panel((right - 122, bottom - 34, right - 26, bottom - 6), DARK_WOOD, 4)
    canvas.text(right - 74, bottom - 20, "Witness", 12, drawing.CARD, bold=True, anchor="mm")


def _judge(canvas: Canvas, x: int, y: int, scene: Scene) -> None:
    canvas.panel((x - 44, y - 46, x + 44, y + 54), PANEL, 8)
    for side in (-1, 1):
        canvas.disc(x + 15 * side, y - 2, 9, (238, 236, 230))  # the wig's curls
        canvas.disc(x + 16 * side, y + 12, 8, (238, 236, 230))
    canvas.panel((x - 30, y + 18, x + 30, y + 54), (44, 44, 54), 14)
    canvas.disc(x, y - 10, 17, (238, 236, 230))
    canvas.disc(x, y, 15, SKIN[0])
    angry = scene.patience < scene.full_patience and scene.outcome != "won"
    for side in (-1, 1):
        canvas.disc(x + 6 * side, y - 1, 2.2, drawing.INK)
        inner, outer = (y - 5, y - 9) if angry else (y - 7, y - 7)
        canvas.polygon([(x + 2 * side, inner), (x + 10 * side, outer), (x + 10 * side, outer + 2),
                        (x + 2 * side, inner + 2)], drawing.MUTED)  # fmt: skip
    canvas.panel((x - 5, y + 8, x + 5, y + 10), (150, 70, 60), 1)
    canvas.polygon([(x - 6, y + 18), (x + 6, y + 18), (x, y + 34)], drawing.CARD)
    canvas.panel((x - 62, y + 36, x + 62, y + 62), DARK_WOOD, 4)
    canvas.panel((x - 66, y + 32, x + 66, y + 39), PANEL, 3)
    canvas.text(x, y + 51, "Judge", 12, drawing.CARD, bold=True, anchor="mm")
    canvas.panel((x + 36, y + 22, x + 50, y + 32), drawing.BROWN, 3)  # the gavel
    canvas.panel((x + 30, y + 26, x + 40, y + 29), drawing.BROWN, 1)


def _person(canvas: Canvas, x: int, y: int, role: str, *, happy: bool) -> None:
    """Somebody behind a rail: build, colours and headgear follow from the role, so that each looks the same always."""
    kind = ROLES.index(role)
    skin, cloth, hair = SKIN[kind % 4], CLOTH[kind % 6], HAIR[kind % 5]
    canvas.panel((x - 25, y + 12, x + 25, y + 46), cloth, 14)
    canvas.polygon([(x - 7, y + 12), (x + 7, y + 12), (x, y + 24)], drawing.CARD)
    canvas.panel((x - 5, y + 4, x + 5, y + 16), skin, 3)
    if kind % 3 == 1:
        canvas.panel((x - 18, y - 14, x + 18, y + 16), hair, 12)
    canvas.disc(x, y - 12, 15, hair)
    canvas.disc(x, y - 6, 14, skin)
    hat = kind // 4 % 4
    if hat == 0:
        canvas.panel((x - 14, y - 34, x + 14, y - 15), (246, 246, 246), 8)
        canvas.panel((x - 13, y - 20, x + 13, y - 14), drawing.LINE, 2)
    elif hat == 1:
        canvas.panel((x - 15, y - 26, x + 15, y - 15), cloth, 5)
        canvas.panel((x - 20, y - 18, x + 6, y - 14), drawing.INK, 2)
    elif hat == 2:
        canvas.disc(x, y - 27, 7, hair)
    for side in (-1, 1):
        canvas.disc(x + 5 * side, y - 6, 2, drawing.INK)
        if kind % 5 == 2:
            canvas.panel((x + 5 * side - 5, y - 2, x + 5 * side + 5, y - 1), drawing.INK)
    canvas.panel((x - 5, y + 1, x + 5, y + 3), (150, 70, 60), 1)
    if happy:
        canvas.disc(x, y + 1, 4, (150, 70, 60))
        canvas.panel((x - 5, y - 4, x + 5, y + 1), skin)
    if kind % 4 == 3 and not happy:
        canvas.panel((x - 8, y - 2, x + 8, y + 1), hair, 1)


def _testimony(canvas: Canvas, scene: Scene) -> None:
    left, top, right, _ = TESTIMONY
    name = f"The {scene.witness}"
    width = int(drawing.font(15, True).getlength(name)) + 24
    canvas.panel((left + 10, top + 8, left + 10 + width, top + 32), drawing.DEEP_TEAL, 6)
    canvas.text(left + 10 + width // 2, top + 20, name, 15, drawing.CARD, bold=True, anchor="mm")
    canvas.text(right - 14, top + 14, f"Statement {scene.index + 1} of {scene.count}", 13, drawing.MUTED, anchor="rm")
    for i in range(scene.count):
        x = right - 20 - 16 * (scene.count - 1 - i)
        fill = drawing.RED if i == scene.index else drawing.MUTED if i in scene.heard else drawing.LINE
        canvas.disc(x, top + 28, 5 if i == scene.index else 4, fill)
    y = top + 44
    for line in wrap(f"“{scene.text}”", 17, right - left - 36):
        canvas.text(left + 18, y, line, 17)
        y += 23
    if scene.addition:
        y += 6
        for line in wrap(f"Pressed: “{scene.addition}”", 16, right - left - 36):
            canvas.text(left + 18, y, line, 16, drawing.BLUE)
            y += 21


def _record(canvas: Canvas, scene: Scene) -> None:
    for name, box in CARDS.items():
        active = name == scene.shown
        canvas.panel(box, drawing.TEAL if active else drawing.LINE, 7)
        canvas.panel(_shrink(box, 3 if active else 1), drawing.CARD, 6)
        x, y, right, _ = box
        if name == "file":
            icon(canvas, "page", x + 20, y + 14)
            canvas.text(x + 40, y + 14, "Case file  (key 0)", 14, bold=True, anchor="lm")
            continue
        evidence = scene.case.evidence[LETTERS.index(name)]
        canvas.text(x + 10, y + 7, name, 17, drawing.TEAL, bold=True)
        icon(canvas, evidence.icon, x + 50, y + 17)
        if name in scene.opened:
            canvas.text(right - 8, y + 15, "read", 12, drawing.GREEN, anchor="rm")
        canvas.text(x + 10, y + 29, evidence.name, 12)
    title, paragraphs = details_of(scene.case, scene.shown)
    left, y, right, _ = DETAILS
    if title:
        canvas.text(left + 12, y + 8, title, 15, drawing.TEAL, bold=True)
        y += 24
    y += 9
    size = 13 if scene.shown == "file" else 15
    for line_y, line in detail_lines(paragraphs, y, size):
        canvas.text(left + 12, line_y, line, size, drawing.INK if title else drawing.MUTED)


def detail_lines(paragraphs: tuple[str, ...], y: int, size: int) -> list[tuple[int, str]]:
    """The lines of the open card with the y of each, from `y` down."""
    placed = []
    for paragraph in paragraphs:
        for line in wrap(paragraph, size, DETAILS[2] - DETAILS[0] - 22):
            placed.append((y, line))
            y += size + 3
        y += 5
    return placed


def _notes(canvas: Canvas, scene: Scene) -> None:
    left, top, right, _ = NOTES
    for i, line in enumerate(wrap(scene.message, 13, right - left)[:2]):
        bad = "no contradiction" in scene.message or scene.message.startswith("Refused")
        canvas.text(left, top - 1 + 16 * i, line, 13, drawing.RED if bad else drawing.INK)
    canvas.text(left, top + 36, "Click a card to read it; drag it onto the testimony to present it.", 12, drawing.MUTED)
    canvas.text(left, top + 51, "Keys: arrows, P; A to F, 0 read; Enter presents the open card.", 12, drawing.MUTED)


def _verdict(canvas: Canvas, scene: Scene) -> None:
    won = scene.outcome == "won"
    left, top, right, bottom = STAGE
    canvas.panel((left + 6, top + 6, right - 6, bottom - 6), drawing.CARD, 14)
    canvas.panel((left + 8, top + 8, right - 8, bottom - 8), drawing.GREEN if won else drawing.RED, 12)
    headline = "Not guilty" if won else "Out of patience"
    detail = f"The {scene.case.accused} walks free." if won else "The judge hears the defence no longer."
    canvas.fitted((left + right) // 2, top + 56, headline, 36, right - left - 40, drawing.CARD)
    canvas.text((left + right) // 2, top + 98, detail, 17, drawing.CARD, anchor="mm")


def icon(canvas: Canvas, name: str, x: int, y: int) -> None:
    """A small picture of an object, 24 pixels high, about the centre (x, y)."""
    ink, card = drawing.INK, drawing.CARD
    if name in ("page", "note"):
        canvas.panel((x - 9, y - 12, x + 9, y + 12), drawing.MUTED, 2)
        canvas.panel((x - 8, y - 11, x + 8, y + 11), (252, 248, 232), 2)
        if name == "page":
            for row in (-6, -1, 4):
                canvas.panel((x - 5, y + row, x + 5, y + row + 2), drawing.MUTED)
        else:
            canvas.disc(x - 2, y + 5, 4, ink)
            canvas.panel((x, y - 7, x + 2, y + 6), ink)
            canvas.polygon([(x, y - 8), (x + 6, y - 5), (x + 6, y - 2), (x, y - 4)], ink)
    elif name == "letter":
        canvas.panel((x - 14, y - 9, x + 14, y + 9), drawing.MUTED, 2)
        canvas.panel((x - 13, y - 8, x + 13, y + 8), (252, 248, 232), 2)
        canvas.polygon([(x - 13, y - 8), (x + 13, y - 8), (x, y + 2)], drawing.LINE)
        canvas.disc(x, y + 1, 3, (150, 30, 60))
    elif name == "clock":
        canvas.disc(x, y, 12, ink)
        canvas.disc(x, y, 10, card)
        canvas.panel((x - 1, y - 7, x + 1, y + 1), ink)
        canvas.panel((x - 1, y - 1, x + 6, y + 1), ink)
    elif name == "photo":
        canvas.panel((x - 13, y - 11, x + 13, y + 11), ink, 2)
        canvas.panel((x - 11, y - 9, x + 11, y + 9), (176, 206, 222), 1)
        canvas.polygon([(x - 11, y + 9), (x - 3, y - 3), (x + 5, y + 9)], drawing.GREEN)
        canvas.polygon([(x, y + 9), (x + 6, y + 1), (x + 11, y + 9)], drawing.TEAL)
    elif name == "cloth":
        edge = ((-12, -7), (2, -11), (12, -3), (8, 3), (10, 9), (-2, 7), (-9, 11))
        canvas.polygon([(x + dx, y + dy) for dx, dy in edge], drawing.MUTED)
    elif name == "cup":
        canvas.disc(x + 9, y - 1, 6, drawing.BLUE)
        canvas.disc(x + 9, y - 1, 3, card)
        canvas.panel((x - 10, y - 8, x + 9, y + 7), drawing.BLUE, 5)
        canvas.panel((x - 14, y + 8, x + 14, y + 11), drawing.MUTED, 1)
    elif name == "bowl":
        canvas.panel((x - 14, y - 7, x + 14, y - 3), drawing.BROWN, 1)
        canvas.polygon([(x - 12, y - 4), (x + 12, y - 4), (x + 6, y + 8), (x - 6, y + 8)], drawing.BROWN)
        canvas.panel((x - 7, y + 8, x + 7, y + 11), drawing.BROWN, 1)
    elif name == "shoe":
        canvas.disc(x - 1, y - 5, 6, drawing.BROWN)
        canvas.panel((x - 6, y - 6, x + 4, y + 2), drawing.BROWN, 3)
        canvas.disc(x - 2, y + 8, 4.5, drawing.BROWN)
    elif name == "flask":
        canvas.disc(x, y + 3, 9, (150, 110, 180))
        canvas.panel((x - 3, y - 10, x + 3, y - 4), (150, 110, 180), 1)
        canvas.panel((x - 5, y - 13, x + 5, y - 9), ink, 1)
    elif name == "key":
        canvas.disc(x - 7, y, 7, drawing.GOLD)
        canvas.disc(x - 7, y, 3, card)
        canvas.panel((x - 1, y - 2, x + 13, y + 2), drawing.GOLD, 1)
        canvas.panel((x + 6, y + 1, x + 8, y + 7), drawing.GOLD)
        canvas.panel((x + 10, y + 1, x + 12, y + 6), drawing.GOLD)
    elif name == "ticket":
        canvas.panel((x - 13, y - 8, x + 13, y + 8), drawing.GOLD, 3)
        canvas.disc(x - 13, y, 3, card)
        canvas.disc(x + 13, y, 3, card)
        canvas.panel((x - 7, y - 3, x + 7, y - 1), ink)
        canvas.panel((x - 7, y + 2, x + 4, y + 4), ink)
