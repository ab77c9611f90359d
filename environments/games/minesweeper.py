"""Minesweeper: numbers tell how many mines lie around a cell; every board can be cleared without guessing."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from environments import drawing
from environments.drawing import BOARD, SIDEBAR, Canvas, Colour
from environments.env import Frame
from environments.facts import Cell, Facts
from environments.game import Game, InputEvent
from environments.games.minesweeper_logic import Field as MineField
from environments.games.minesweeper_logic import deduce, draw_mines

SIZE = 8
SIDE = 52
"""Pixels of a cell; what is left of the board's 440 has the names of columns and rows."""
LEFT, TOP = BOARD[2] - SIZE * SIDE, BOARD[3] - SIZE * SIDE


class MinesweeperAction(BaseModel):
    """Open a cell, or put a flag where you think that a mine lies.

    do: "open" or "flag". column: "a" to "h"; row: 1 to 8, counted from the top (both stand beside the board). Opening
    a mine ends the game. Opening a number that has all its flags around it opens the other cells around it. A second
    flag on a cell takes the first away. Flagged cells and cells without anything left to open are refused.
    Example: {"do": "open", "column": "c", "row": 5}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    do: Literal["open", "flag"]
    column: Literal["a", "b", "c", "d", "e", "f", "g", "h"]
    row: Annotated[int, Field(ge=1, le=SIZE)]


class Minesweeper(Game):
    """A board of 8 x 8 cells, open in one place at the start; won when all safe cells are open, lost on a mine.

    Score: 80 x progress + 20 x economy. Progress is the share of the safe cells that were closed at the start and are
    open now. Economy is 0 until the board is cleared, then par / the number of turns taken, 1 at most. Par is the
    least number of openings that clear the board without flags, and one flag for each mine; refused and idle turns
    count.
    """

    Action: ClassVar[type[BaseModel]] = MinesweeperAction

    def __init__(self, mines: int = 10) -> None:
        """A board with so many mines.

        Raises:
            ValueError: for a number of mines with which hardly any board can be cleared by logic.
        """
        if not 4 <= mines <= 14:
            raise ValueError(f"mines: expected 4 to 14 on {SIZE} x {SIZE} cells, got {mines}")
        self.count = mines
        self.field = MineField(SIZE, ())
        self.opened: set[int] = set()
        self.flags: set[int] = set()
        self.given = 0
        """Cells that are open at the start."""
        self.par = 1
        self.exploded: int | None = None
        """The mine that was opened."""
        self.latest: list[int] = []
        """What the last turn opened."""
        self.turns = 0
        self.acted = False
        """Whether this step's action was tried; a gesture with several clicks makes one move."""

    def reset(self, rng: np.random.Generator) -> None:
        """Lay mines until logic can clear the board, and open the place where it begins."""
        self.rng = rng
        start = int(rng.integers(SIZE * SIZE))
        self.field = draw_mines(rng, SIZE, self.count, start)
        self.opened, self.flags, self.latest = set(self.field.region(start)), set(), []
        self.given = len(self.opened)
        self.par = self.field.least_openings(self.opened) + self.count
        self.exploded, self.turns, self.acted = None, 0, False

    @property
    def to_open(self) -> int:
        """Safe cells that are still closed."""
        return SIZE * SIZE - self.count - len(self.opened)

    @property
    def cleared(self) -> float:
        """Share of the safe cells, closed at the start, that is open, in 0..1."""
        return (len(self.opened) - self.given) / (SIZE * SIZE - self.count - self.given)

    def apply(self, action: MinesweeperAction) -> str | None:
        """Open a cell, or put or take a flag."""
        self.acted = True
        cell = (action.row - 1) * SIZE + "abcdefgh".index(action.column)
        return self._flag(cell) if action.do == "flag" else self._open(cell)

    def on_input(self, event: InputEvent) -> str | None:
        """The left button opens, the right one flags; the first press in each step counts."""
        if self.acted or event.kind != "button_down" or event.button not in ("left", "right"):
            return None
        column, row = (event.x - LEFT) // SIDE, (event.y - TOP) // SIDE
        if not (0 <= column < SIZE and 0 <= row < SIZE):
            return None
        do = "open" if event.button == "left" else "flag"
        return self.apply(MinesweeperAction.model_validate({"do": do, "column": "abcdefgh"[column], "row": row + 1}))

    def tick(self) -> None:
        """A turn is over, whatever the player did in it."""
        self.turns += 1
        self.acted = False

    @property
    def over(self) -> bool:
        """Cleared, or a mine was opened."""
        return self.won or self.exploded is not None

    @property
    def won(self) -> bool:
        """All safe cells are open."""
        return self.to_open == 0

    def score(self) -> float:
        """80 x progress + 20 x economy; see the class."""
        economy = self.par / max(self.turns, self.par) if self.won else 0.0
        return 80.0 * self.cleared + 20.0 * economy

    def reached(self) -> set[str]:
        """`first-cell`, `quarter`, `half`, `three-quarters`, `nine-tenths`, `cleared`."""
        conditions = {
            "first-cell": len(self.opened) > self.given,
            "quarter": self.cleared >= 0.25,
            "half": self.cleared >= 0.5,
            "three-quarters": self.cleared >= 0.75,
            "nine-tenths": self.cleared >= 0.9,
            "cleared": self.won,
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def facts(self) -> Facts:
        """What each cell shows; what lies below a closed one is no fact."""
        return Facts(
            cells=tuple(
                Cell((x, y, x + SIDE, y + SIDE), self._shows(SIZE * row + column))
                for row, y in enumerate(range(TOP, TOP + SIZE * SIDE, SIDE))
                for column, x in enumerate(range(LEFT, LEFT + SIZE * SIDE, SIDE))
            ),
            contents=("closed, without a flag", "a flag", "open, without a number", *map(_numbered, range(1, 9))),
        )

    def expert(self) -> dict[str, Any]:
        """A cell that the numbers in sight prove safe; of several, the one that opens most, as only the engine knows.

        Flags are not trusted: one on a safe cell is taken away.
        """
        proven = deduce(self.field.view(self.opened), SIZE, self.count).safe
        # Without a proof, what the engine knows; once nothing is left, any cell.
        safe = proven or set(range(SIZE * SIZE)) - self.opened - self.field.mines or {0}
        flagged = sorted(safe & self.flags)
        if flagged:  # a wrong flag is in the way
            return _order("flag", flagged[0])
        return _order("open", max(sorted(safe), key=lambda cell: len(self.field.region(cell))))

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One click: the left button opens, the right one flags."""
        column, row = "abcdefgh".index(action["column"]), action["row"] - 1
        button = "left" if action["do"] == "open" else "right"
        x, y = LEFT + column * SIDE + SIDE // 2, TOP + row * SIDE + SIDE // 2
        return [{"verb": "click", "x": x, "y": y, "button": button, "count": 1}]

    def state(self) -> dict[str, Any]:
        """Mines, open cells and flags as numbers of cells, row by row; the counts."""
        return {
            "mines": sorted(self.field.mines),
            "opened": sorted(self.opened),
            "flags": sorted(self.flags),
            "given": self.given,
            "par": self.par,
            "exploded": self.exploded,
            "latest": list(self.latest),
            "turns": self.turns,
            "acted": self.acted,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.field = MineField(SIZE, state["mines"])
        self.opened, self.flags, self.latest = set(state["opened"]), set(state["flags"]), list(state["latest"])
        self.given, self.par, self.exploded = state["given"], state["par"], state["exploded"]
        self.turns, self.acted = state["turns"], state["acted"]

    def draw(self) -> Frame:
        """The board; the figures beside it. At the end the mines too."""
        canvas = _backdrop().copy()
        for cell in range(SIZE * SIZE):
            self._draw_cell(canvas, cell)
        drawing.figure(canvas, 0, "Mines left", str(self.count - len(self.flags)))
        opened, total = len(self.opened) - self.given, SIZE * SIZE - self.count - self.given
        drawing.figure(canvas, 1, "Cells opened", f"{opened} of {total}")
        drawing.figure(canvas, 2, "Turns taken", str(self.turns))
        if self.won:
            seen = TOP + SIDE * (self.latest[0] // SIZE) if self.latest else BOARD[1]
            drawing.banner(canvas, "Board cleared", f"Turns taken: {self.turns}.", drawing.GREEN, clear_of=seen)
        elif self.exploded is not None:
            seen = TOP + SIDE * (self.exploded // SIZE)
            drawing.banner(canvas, "Game over", "There was a mine.", drawing.RED, clear_of=seen)
        return canvas.frame()

    def _shows(self, cell: int) -> str:
        if cell in self.opened:
            number = self.field.number(cell)
            return _numbered(number) if number else "open, without a number"
        return "a flag" if cell in self.flags else "closed, without a flag"

    def _flag(self, cell: int) -> str | None:
        if cell in self.opened:
            return "this cell is open"
        self.flags ^= {cell}
        self.latest = []
        return None

    def _open(self, cell: int) -> str | None:
        if cell in self.flags:
            return "there is a flag on this cell; take it away first"
        if cell in self.opened:
            around = self.field.around(cell)
            if sum(near in self.flags for near in around) != self.field.number(cell):
                return "this cell is open, and the flags around it are not as many as its number says"
            cells = [near for near in around if near not in self.flags | self.opened]
            if not cells:
                return "there is nothing left to open around this cell"
        else:
            cells = [cell]
        before = set(self.opened)
        for chosen in cells:
            if chosen in self.field.mines:
                self.exploded = chosen
                break
            self.opened |= self.field.region(chosen)
        self.flags -= self.opened  # a region that opens by itself takes wrong flags away
        self.latest = sorted(self.opened - before)
        return None

    def _draw_cell(self, canvas: Canvas, cell: int) -> None:
        row, column = divmod(cell, SIZE)
        x, y = LEFT + column * SIDE, TOP + row * SIDE
        middle_x, middle_y = x + SIDE // 2, y + SIDE // 2
        if cell in self.opened:
            fill = (255, 246, 214) if cell in self.latest else (238, 236, 229)
            canvas.panel((x + 1, y + 1, x + SIDE - 1, y + SIDE - 1), fill, 4)
            number = self.field.number(cell)
            if number:
                canvas.text(middle_x, middle_y, str(number), 28, _NUMBERS[number - 1], bold=True, anchor="mm")
            return
        mine = cell in self.field.mines and self.over
        fill = drawing.RED if cell == self.exploded else (112, 140, 158)
        canvas.panel((x + 1, y + 1, x + SIDE - 1, y + SIDE - 1), (72, 98, 116), 6)
        canvas.panel((x + 1, y + 1, x + SIDE - 1, y + SIDE - 4), fill, 6)
        if cell in self.flags:
            _draw_flag(canvas, middle_x, middle_y)
            if self.over and not mine:
                canvas.text(middle_x, middle_y, "×", 44, drawing.CARD, bold=True, anchor="mm")
        elif mine:
            _draw_mine(canvas, middle_x, middle_y)


_NUMBERS: tuple[Colour, ...] = (
    drawing.BLUE,
    drawing.GREEN,
    drawing.RED,
    (88, 48, 148),
    drawing.BROWN,
    drawing.TEAL,
    drawing.INK,
    drawing.MUTED,
)
"""Colours of the numbers 1 to 8."""


def _numbered(number: int) -> str:
    return f"the number {number}"


def _order(do: str, cell: int) -> dict[str, Any]:
    row, column = divmod(cell, SIZE)
    return {"do": do, "column": "abcdefgh"[column], "row": row + 1}


def _draw_flag(canvas: Canvas, x: int, y: int) -> None:
    canvas.panel((x - 12, y + 13, x + 12, y + 17), drawing.INK, 2)
    canvas.panel((x - 5, y - 17, x - 2, y + 14), drawing.INK)
    canvas.polygon([(x - 2, y - 18), (x + 15, y - 9), (x - 2, y)], drawing.RED)


def _draw_mine(canvas: Canvas, x: int, y: int) -> None:
    for dx, dy in ((0, 18), (13, 13), (18, 0), (13, -13)):
        wide_x, wide_y = dy / 9, -dx / 9
        corners = ((dx + wide_x, dy + wide_y), (dx - wide_x, dy - wide_y))
        canvas.polygon([(x + sign * a, y + sign * b) for sign in (1, -1) for a, b in corners], drawing.INK)
    canvas.disc(x, y, 12, drawing.INK)
    canvas.disc(x - 4, y - 4, 3.5, drawing.CARD)


@lru_cache(maxsize=1)
def _backdrop() -> Canvas:
    """What never changes; shared, so it is copied and never drawn on."""
    canvas = Canvas()
    for index in range(SIZE):
        canvas.text(LEFT + index * SIDE + SIDE // 2, BOARD[1] + 11, "abcdefgh"[index], 17, drawing.MUTED, anchor="mm")
        canvas.text(BOARD[0] + 11, TOP + index * SIDE + SIDE // 2, str(index + 1), 17, drawing.MUTED, anchor="mm")
    left, top, right, bottom = SIDEBAR
    canvas.fitted((left + right) / 2, top + 16, "Minesweeper", 26, right - left)
    canvas.panel((left, top + 42, right, top + 45), drawing.TEAL)
    lines = (
        "A number counts the",
        "mines in the up to",
        "eight cells around it.",
        "",
        "Left click opens,",
        "right click flags.",
        "Click a number that",
        "has all its flags to",
        "open the rest around.",
    )
    for index, line in enumerate(lines):
        canvas.text(left, bottom - 17 * (len(lines) - index) - 2, line, 12, drawing.MUTED)
    return canvas
