"""The page around the study's view: casebook, plan, form, buttons; what is where for the mouse and the keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from environments import drawing
from environments.drawing import Canvas
from environments.env import Frame
from environments.games.scene_case import CHOICES, QUESTIONS, Case, Question
from environments.games.scene_paint import sole_mask
from environments.games.scene_room import SPOTS, TABLE_RADIUS, VIEW_HEIGHT, VIEW_WIDTH

NOTE = (12, 432, 460, 472)
"""Where a refusal is shown, over the help."""
VIEW = (12, 12)
"""The view's top left corner."""
LEFT, RIGHT = 472, 628
"""The sidebar's edges."""
PLAN = (LEFT, 44, RIGHT, 180)
_PLAN_SCALE = 25.0
_FORM_TOP, _FORM_STEP = 206, 30
_SHORT = {"who": "Who", "cup": "Cup", "poison": "Poison", "way": "Way in", "time": "Time", "order": "Order"}

_KEYS: dict[str, dict[str, Any]] = {
    **{key: {"do": "look", "to": key} for key in ("left", "right", "up", "down")},
    **{key: {"do": "walk", "spot": key} for key in SPOTS},
    **{str(mark): {"do": "inspect", "mark": mark} for mark in range(1, 10)},
    "z": {"do": "zoom", "to": "in"},
    "x": {"do": "zoom", "to": "out"},
    "b": {"do": "back"},
    "esc": {"do": "back"},
    "c": {"do": "casebook"},
}
_BUTTONS: tuple[tuple[str, str, int], ...] = (
    ("left", "◀", 34),
    ("right", "▶", 34),
    ("up", "▲", 34),
    ("down", "▼", 34),
    ("z", "Zoom in (Z)", 90),
    ("x", "Out (X)", 58),
    ("b", "Back (B)", 62),
    ("c", "Casebook (C)", 102),
)
"""Key, caption and width of the buttons below the view."""
_BUTTON_TOP, _BUTTON_HEIGHT = 402, 26


def action_of_key(key: str) -> dict[str, Any] | None:
    """What a key does, or None."""
    return _KEYS.get(key.lower())


def action_at(x: int, y: int, marks: Sequence[tuple[int, int]]) -> dict[str, Any] | None:
    """What a click at a pixel of the frame does, or None; `marks` are the places of the numbers in the view."""
    for index, (mark_x, mark_y) in enumerate(marks):
        if math.hypot(x - mark_x, y - mark_y) <= 11:
            return _KEYS[str(index + 1)]
    for key in SPOTS:
        spot_x, spot_y = _spot(key)
        if math.hypot(x - spot_x, y - spot_y) <= 11:
            return _KEYS[key]
    for key, (left, top, right, bottom) in _button_boxes().items():
        if left <= x < right and top <= y < bottom:
            return _KEYS[key]
    for row, question in enumerate(QUESTIONS):
        for column, choice in enumerate(CHOICES):
            left, top, right, bottom = _choice_box(row, column)
            if left <= x < right and top <= y < bottom:
                return {"do": "answer", "question": question, "choice": choice}
    return None


def gesture(action: Mapping[str, Any]) -> dict[str, Any]:
    """The one gesture of a semantic action."""
    if action["do"] == "answer":
        row, column = list(QUESTIONS).index(action["question"]), CHOICES.index(action["choice"])
        left, top, right, bottom = _choice_box(row, column)
        return {"verb": "click", "x": (left + right) // 2, "y": (top + bottom) // 2, "button": "left", "count": 1}
    return {"verb": "press", "key": next(key for key, meaning in _KEYS.items() if meaning == dict(action))}


def badges(pixels: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Where the numbers for pixels of the view stand in the frame: inside the view, clear of each other."""
    placed: list[tuple[int, int]] = []
    for x, y in pixels:
        at_x, at_y = VIEW[0] + min(max(x, 12), VIEW_WIDTH - 12), VIEW[1] + max(y, 12)
        while any(math.hypot(at_x - other_x, at_y - other_y) < 22 for other_x, other_y in placed):
            at_y += 6
        placed.append((at_x, at_y))
    return placed


def backdrop() -> Canvas:
    """What never changes: name, buttons, the plan's furniture, the form's labels, help."""
    canvas = Canvas()
    canvas.text(LEFT, 12, "The locked study", 16, bold=True)
    canvas.panel((LEFT, 36, RIGHT, 38), drawing.TEAL)
    left, top, right, bottom = PLAN
    canvas.panel(PLAN, drawing.LINE, 4)
    canvas.panel((left + 2, top + 2, right - 2, bottom - 2), drawing.CARD, 3)
    canvas.disc(*_on_plan(0, 0), TABLE_RADIUS * _PLAN_SCALE, drawing.SHADE)
    canvas.text(*_on_plan(0, 0), "table", 12, drawing.MUTED, anchor="mm")
    canvas.text(LEFT, _FORM_TOP - 21, "Your answers (final)", 12, drawing.MUTED)
    for row, question in enumerate(QUESTIONS):
        canvas.text(LEFT, _FORM_TOP + _FORM_STEP * row + 12, _SHORT[question], 13, bold=True, anchor="lm")
    for key, (x, y, end, below) in _button_boxes().items():
        canvas.panel((x, y, end, below), drawing.LINE, 6)
        canvas.panel((x + 1, y + 1, end - 1, below - 2), drawing.CARD, 5)
        caption = next(caption for name, caption, _ in _BUTTONS if name == key)
        canvas.text((x + end) // 2, (y + below) // 2, caption, 12, anchor="mm")
    return canvas


def view(canvas: Canvas, picture: Frame, marks: Sequence[tuple[int, int]]) -> None:
    """Put the rendered view and its numbered marks on the page."""
    canvas.picture(*VIEW, np.ascontiguousarray(picture))
    for index, (x, y) in enumerate(marks):
        canvas.disc(x, y, 10, drawing.INK)
        canvas.disc(x, y, 8.5, drawing.GOLD)
        canvas.text(x, y, str(index + 1), 12, drawing.INK, bold=True, anchor="mm")


def casebook(canvas: Canvas, case: Case) -> None:
    """The guests, the questions and their choices, in place of the view."""
    left, top = VIEW
    canvas.panel((left, top, left + VIEW_WIDTH, top + VIEW_HEIGHT), drawing.CARD, 6)
    canvas.text(left + 14, top + 8, "Casebook", 19, bold=True)
    for row, line in enumerate(
        (
            "Four guests had tea here. One came back in muddy boots, poisoned",
            "a cup and left by another way. Coat and boots are the same since then.",
            "Coming in, that guest leaned on the wall with the writing hand.",
        )
    ):
        canvas.text(left + 10, top + 31 + 15 * row, line, 12, drawing.MUTED)
    for guest, name in enumerate(case.names):
        x = left + 14 + 106 * guest
        canvas.panel((x, top + 84, x + 100, top + 166), drawing.SHADE, 6)
        canvas.text(x + 50, top + 88, name, 14, bold=True, anchor="ma")
        _sole(canvas, case.soles[guest], x + 12, top + 108)
        canvas.text(x + 42, top + 112, "boot sole", 12, drawing.MUTED)
        canvas.text(x + 42, top + 130, "writes", 12, drawing.MUTED)
        canvas.text(x + 42, top + 144, case.hands[guest], 13, bold=True)
    for row, (question, words) in enumerate(QUESTIONS.items()):
        y = top + 172 + 33 * row
        canvas.text(left + 14, y, words, 12, drawing.TEAL, bold=True)
        for column, option in enumerate(case.options[question]):
            across, down = (column % 2, column // 2) if question == "order" else (column / 2, 0)  # orders are long
            x = left + 14 + round(214 * across)
            canvas.text(x, y + 15 + 14 * down, CHOICES[column], 12, drawing.MUTED, bold=True)
            canvas.text(x + 14, y + 15 + 14 * down, option, 12)


def plan(canvas: Canvas, spot: str, heading: int, *, close: bool) -> None:
    """The spots with their keys, and where one stands and looks."""
    x, y = _spot(spot)
    if not close:
        angles = [math.radians(45 * heading + side) for side in (-36, -18, 0, 18, 36)]
        cone = [(x, y), *((x + 30 * math.cos(angle), y - 30 * math.sin(angle)) for angle in angles)]
        canvas.polygon(cone, (158, 214, 206))
    for key in SPOTS:
        at_x, at_y = _spot(key)
        canvas.disc(at_x, at_y, 9.5, drawing.TEAL if key == spot else drawing.LINE)
        canvas.text(at_x, at_y, key.upper(), 12, drawing.CARD if key == spot else drawing.INK, bold=True, anchor="mm")


def form(canvas: Canvas, answers: Mapping[str, str], verdicts: Mapping[Question, bool]) -> None:
    """Four buttons for each question; given answers are green or red."""
    for row, question in enumerate(QUESTIONS):
        for column, choice in enumerate(CHOICES):
            left, top, right, bottom = _choice_box(row, column)
            fill, ink = (drawing.SHADE, drawing.LINE) if question in answers else (drawing.CARD, drawing.INK)
            if answers.get(question) == choice:
                fill, ink = drawing.GREEN if verdicts[question] else drawing.RED, drawing.CARD
            canvas.panel((left, top, right, bottom), drawing.LINE, 5)
            canvas.panel((left + 1, top + 1, right - 1, bottom - 1), fill, 4)
            canvas.text((left + right) // 2, (top + bottom) // 2, choice, 12, ink, bold=True, anchor="mm")


def figures(canvas: Canvas, seen: int, turns: int, *, close: bool, reading: bool) -> None:
    """Counts, and what the keys do now."""
    top = _FORM_TOP + _FORM_STEP * len(QUESTIONS) + 6
    canvas.text(LEFT, top, "Traces examined", 12, drawing.MUTED)
    canvas.text(RIGHT, top - 2, f"{seen} of 9", 14, bold=True, anchor="ra")
    canvas.text(LEFT, top + 20, "Turns", 12, drawing.MUTED)
    canvas.text(RIGHT, top + 18, str(turns), 14, bold=True, anchor="ra")
    if reading:
        lines = (
            "C closes the casebook. Answer with the buttons on the right, A to D.",
            "An answer is final; wrong ones cost points.",
        )
    elif close:
        lines = ("A close look. Arrow keys move around it and above it, Z and X zoom.", "B steps back.")
    else:
        lines = (
            "Arrow keys look around, Q W E A S D walk to the spots of the plan.",
            "1 to 9, or a click on the mark, looks closely. C: guests and questions.",
        )
    for row, line in enumerate(lines):
        canvas.text(VIEW[0], 435 + 17 * row, line, 12, drawing.MUTED)


def ending(canvas: Canvas, right: int, *, won: bool) -> None:
    """The banner of the end."""
    headline = "Case solved" if won else "Case closed"
    detail = f"{right} of {len(QUESTIONS)} answers are right."
    drawing.banner(canvas, headline, detail, drawing.GREEN if won else drawing.RED, clear_of=400)


@lru_cache(maxsize=1)
def _button_boxes() -> dict[str, drawing.Box]:
    boxes, x = {}, VIEW[0]
    for key, _, width in _BUTTONS:
        boxes[key] = (x, _BUTTON_TOP, x + width - 3, _BUTTON_TOP + _BUTTON_HEIGHT)
        x += width
    return boxes


def _choice_box(row: int, column: int) -> drawing.Box:
    left, top = LEFT + 56 + 26 * column, _FORM_TOP + _FORM_STEP * row
    return left, top, left + 23, top + 24


def _on_plan(x: float, y: float) -> tuple[float, float]:
    left, top, right, bottom = PLAN
    return (left + right) / 2 + x * _PLAN_SCALE, (top + bottom) / 2 - y * _PLAN_SCALE


def _spot(key: str) -> tuple[float, float]:
    return _on_plan(*SPOTS[key])


def _sole(canvas: Canvas, pattern: str, x: int, y: int) -> None:
    """A right boot's sole, 25 x 50 pixels."""
    mask = np.asarray(sole_mask(pattern, 50, left=False), dtype=np.float64)[..., None] / 255
    ground, mud = np.array(drawing.SHADE), np.array((70, 48, 30))
    canvas.picture(x, y, np.rint(ground + (mud - ground) * mask).astype(np.uint8))
