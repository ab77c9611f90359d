"""What the rules said to the last action: shown on the screen for a while, as the player sees nothing else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from environments import drawing
from environments.drawing import Box, Canvas


@dataclass(slots=True)
class Note:
    """A refusal and how many ticks it is still shown; empty if the last action was carried out."""

    text: str = ""
    ticks: int = 0

    def tell(self, refusal: str | None, ticks: int) -> str | None:
        """Show a refusal for some ticks, or nothing if there is none; the refusal."""
        self.text, self.ticks = (refusal, ticks) if refusal else ("", 0)
        return refusal

    def fade(self) -> None:
        """A tick has passed."""
        self.ticks = max(0, self.ticks - 1)
        if not self.ticks:
            self.text = ""

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def draw(self, canvas: Canvas, box: Box, size: int = 13) -> None:
        """Write it, if there is one, into a red panel."""
        if self.text:
            show(canvas, self.text, box, size)


def show(canvas: Canvas, text: str, box: Box, size: int = 13) -> None:
    """Write a refusal as a sentence into a red panel, in as many lines as it needs."""
    left, top, right, bottom = box
    canvas.panel(box, drawing.RED, 6)
    lines = drawing.wrapped(f"{text[0].upper()}{text[1:]}.", size, right - left - 16, bold=True)
    middle = (top + bottom) / 2 - (len(lines) - 1) * (size + 2) / 2
    for row, line in enumerate(lines):
        canvas.text((left + right) / 2, middle + (size + 2) * row, line, size, drawing.CARD, bold=True, anchor="mm")
