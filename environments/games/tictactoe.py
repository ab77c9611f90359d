"""Tic-tac-toe: a match of short rounds from openings of their own, against opponents that err or do not."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from environments import drawing
from environments.drawing import BOARD, SIDEBAR, Box, Canvas, Colour
from environments.env import Frame
from environments.game import Game, InputEvent

Board = str
"""Nine characters, row by row: X is the player's mark, O the opponent's, # is blocked, a dot is free."""
Mark = Literal["X", "O"]
Result = Literal["win", "draw", "missed", "loss"]
"""How a round ended for the player; `missed` is a draw after a position in which a win could have been forced."""

CELLS = ("a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3")
"""Names as they stand on the board: columns a to c, rows 1 to 3 from the top."""
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
POINTS: dict[Result, float] = {"win": 1.0, "draw": 1.0, "missed": 0.5, "loss": 0.0}
OTHER: dict[Mark, Mark] = {"X": "O", "O": "X"}

PITCH = 148
"""Pixels from one cell to the next; a cell is 4 pixels smaller."""
NEXT: Box = (SIDEBAR[0], 322, SIDEBAR[2], 352)
"""The button that starts the next round."""


class TicTacToeAction(BaseModel):
    """Put your X on a free cell, or go on to the next round once a round is over.

    cell: "a1" to "c3" (the names are on the board), or "next". The opponent answers at once. Cells that are taken or
    blocked are refused, cells when the round is over, and "next" before that.
    Example: {"cell": "b2"}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    cell: Literal["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3", "next"]


class TicTacToe(Game):
    """A match of `rounds` rounds; won with `target` points or more at its end.

    Score: 100 x points / `rounds`. A round is worth 1 point if it is won; 1 if it is drawn and the player never had a
    position from which a win could be forced; 0.5 if it is drawn in spite of one; 0 if it is lost. So a draw against
    somebody who makes no mistake is full marks, and mistakes must be used.
    """

    Action: ClassVar[type[BaseModel]] = TicTacToeAction

    def __init__(self, rounds: int = 6, flawless: int = 3, target: float = 5.0) -> None:
        """Of the opponents, `flawless` never err; the others play any move in 30 to 70 of 100 turns.

        Raises:
            ValueError: for a number of rounds that cannot be shown, or numbers that do not fit it.
        """
        if not 1 <= rounds <= 6:
            raise ValueError(f"rounds: expected 1 to 6, got {rounds}")
        if not 0 <= flawless <= rounds or not 0 < target <= rounds:
            raise ValueError(
                f"flawless, target: expected at most {rounds}, the number of rounds, got {flawless}, {target}"
            )
        self.rounds, self.flawless, self.target = rounds, flawless, target
        self.openings: list[Board] = []
        """What lies on the board when a round begins, round by round."""
        self.slips: list[float] = []
        """For each round, how often its opponent plays any move instead of a best one, in 0..1."""
        self.starts: list[Mark] = []
        """Who makes the first move of each round."""
        self.results: list[Result] = []
        self.round = 0
        """The round on the board, counted from 0; it stays there until the player goes on."""
        self.board: Board = "." * 9
        self.answer: int | None = None
        """The cell of the opponent's last mark in this round."""
        self.marked = False
        """Whether the player has put a mark at all."""
        self.chance = False
        """Whether the player has had a position in this round from which a win can be forced."""
        self.acted = False
        """Whether this step's action was tried; a gesture with several clicks makes one move."""

    def reset(self, rng: np.random.Generator) -> None:
        """Draw the opponents, who starts, and the openings of all rounds."""
        self.rng = rng
        careless = [float(slip) for slip in rng.uniform(0.3, 0.7, self.rounds - self.flawless)]
        slips = [0.0] * self.flawless + careless
        self.slips = [slips[index] for index in rng.permutation(self.rounds)]
        first = int(rng.integers(2))
        self.starts = ["X" if (first + index) % 2 else "O" for index in range(self.rounds)]
        self.openings = []
        for mark in self.starts:
            self.openings.append(draw_opening(rng, mark, self.openings))
        self.results, self.round, self.marked, self.acted = [], 0, False, False
        self._begin()

    @property
    def resting(self) -> bool:
        """The round on the board is over."""
        return len(self.results) > self.round

    @property
    def points(self) -> float:
        """Points so far, in halves."""
        return sum(POINTS[result] for result in self.results)

    def apply(self, action: TicTacToeAction) -> str | None:
        """Put the player's mark and let the opponent answer, or begin the next round."""
        self.acted = True
        if action.cell == "next":
            if not self.resting:
                return "the round is still being played"
            self.round += 1
            self._begin()
            return None
        if self.resting:
            return "the round is over; go on to the next one"
        cell = CELLS.index(action.cell)
        if self.board[cell] != ".":
            return "this cell is blocked" if self.board[cell] == "#" else "this cell is taken"
        self.board = put(self.board, cell, "X")
        self.marked = True
        if not self._ended():
            self._reply()
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """A left click on a cell puts a mark there; the button, or Enter, goes on to the next round."""
        if self.acted:
            return None
        if event.kind == "key_down" and event.key == "enter":
            return self.apply(TicTacToeAction(cell="next"))
        if event.kind != "button_down" or event.button != "left":
            return None
        if NEXT[0] <= event.x < NEXT[2] and NEXT[1] <= event.y < NEXT[3]:
            return self.apply(TicTacToeAction(cell="next"))
        column, row = (event.x - BOARD[0]) // PITCH, (event.y - BOARD[1]) // PITCH
        if not (0 <= column < 3 and 0 <= row < 3):
            return None
        return self.apply(TicTacToeAction.model_validate({"cell": CELLS[3 * row + column]}))

    def tick(self) -> None:
        """The step is over; turns do not count in a match."""
        self.acted = False

    @property
    def over(self) -> bool:
        """All rounds are played."""
        return len(self.results) == self.rounds

    @property
    def won(self) -> bool:
        """All rounds are played, with `target` points or more."""
        return self.over and self.points >= self.target

    def score(self) -> float:
        """100 x points / rounds; see the class."""
        return 100.0 * self.points / self.rounds

    def reached(self) -> set[str]:
        """`first-mark`, `half-point`, `points-N` for every whole point up to the target, `match`."""
        reached = {f"points-{n}" for n in range(1, int(self.target) + 1) if self.points >= n}
        conditions = {"first-mark": self.marked, "half-point": self.points >= 0.5, "match": self.won}
        return reached | {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """A best move by the whole game tree; among equals the one after which most answers are mistakes."""
        if self.resting:
            return {"cell": "next"}

        def merit(cell: int) -> tuple[int, float]:
            after = put(self.board, cell, "X")
            mistakes = [value(put(after, answer, "O"), "X") > 0 for answer in free(after)]
            return -value(after, "O"), sum(mistakes) / max(1, len(mistakes))

        return {"cell": CELLS[max(free(self.board), key=merit)]}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One click, on the cell or on the button."""
        if action["cell"] == "next":
            x, y = (NEXT[0] + NEXT[2]) // 2, (NEXT[1] + NEXT[3]) // 2
        else:
            row, column = divmod(CELLS.index(action["cell"]), 3)
            x, y = _centre(row, column)
        return [{"verb": "click", "x": x, "y": y, "button": "left", "count": 1}]

    def state(self) -> dict[str, Any]:
        """The rounds as drawn, the results, the board."""
        return {
            "openings": list(self.openings),
            "slips": list(self.slips),
            "starts": list(self.starts),
            "results": list(self.results),
            "round": self.round,
            "board": self.board,
            "answer": self.answer,
            "marked": self.marked,
            "chance": self.chance,
            "acted": self.acted,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.openings, self.slips = list(state["openings"]), list(state["slips"])
        self.starts, self.results = list(state["starts"]), list(state["results"])
        self.round, self.board, self.answer = state["round"], state["board"], state["answer"]
        self.marked, self.chance, self.acted = state["marked"], state["chance"], state["acted"]

    def draw(self) -> Frame:
        """The board with the names of its cells; the match beside it."""
        canvas = _backdrop().copy()
        line = winning_line(self.board)
        for cell in range(9):
            self._draw_cell(canvas, cell, lit=line is not None and cell in line)
        drawing.figure(canvas, 0, "Round", f"{self.round + 1} of {self.rounds}")
        drawing.figure(canvas, 1, "Points", f"{_halves(self.points)} of {self.rounds}")
        drawing.figure(canvas, 2, "Opponent", "")
        canvas.text(SIDEBAR[0] + 12, 246, "may err" if self.slips[self.round] else "never errs", 18, bold=True)
        for index in range(self.rounds):
            self._draw_result(canvas, index)
        if self.over:
            self._draw_end(canvas)
        elif self.resting:
            canvas.panel(NEXT, drawing.TEAL, 8)
            canvas.text(SIDEBAR[0] + 70, 337, "Next round", 17, drawing.CARD, bold=True, anchor="mm")
        else:
            canvas.text(SIDEBAR[0] + 70, 337, "Click a cell for X", 13, drawing.BLUE, bold=True, anchor="mm")
        return canvas.frame()

    def _begin(self) -> None:
        self.board, self.answer, self.chance = self.openings[self.round], None, False
        if self.starts[self.round] == "O":
            self._reply()
        else:
            self.chance = value(self.board, "X") > 0

    def _reply(self) -> None:
        """The opponent's move; it takes the quickest of the best, or slips and takes any."""
        cells = free(self.board)
        if self.rng.random() >= self.slips[self.round]:
            worth = {cell: -value(put(self.board, cell, "O"), "X") for cell in cells}
            cells = [cell for cell in cells if worth[cell] == max(worth.values())]
        self.answer = cells[int(self.rng.integers(len(cells)))]
        self.board = put(self.board, self.answer, "O")
        if not self._ended():
            self.chance = self.chance or value(self.board, "X") > 0

    def _ended(self) -> bool:
        """Note the result if the round is over."""
        line = winning_line(self.board)
        if line is not None:
            self.results.append("win" if self.board[line[0]] == "X" else "loss")
        elif not free(self.board):
            self.results.append("missed" if self.chance else "draw")
        return self.resting

    def _draw_cell(self, canvas: Canvas, cell: int, *, lit: bool) -> None:
        row, column = divmod(cell, 3)
        x, y = _centre(row, column)
        content = self.board[cell]
        fill: Colour = (214, 236, 218) if lit and content == "X" else (250, 222, 218) if lit else drawing.CARD
        if cell == self.answer and not lit:
            fill = (253, 240, 204)
        if content == "#":
            fill = (86, 91, 104)
        canvas.panel((x - 72, y - 72, x + 72, y + 72), fill, 10)
        canvas.text(x - 62, y - 66, CELLS[cell], 17, (176, 180, 190) if content == "#" else drawing.MUTED)
        if content == "X":
            for side in (-1, 1):
                corners = ((-36, -28), (-28, -36), (36, 28), (28, 36))
                canvas.polygon([(x + side * dx, y + 4 + dy) for dx, dy in corners], drawing.BLUE)
        elif content == "O":
            canvas.disc(x, y + 4, 38, drawing.RED)
            canvas.disc(x, y + 4, 26, fill)

    def _draw_result(self, canvas: Canvas, index: int) -> None:
        left, top = SIDEBAR[0] + 24 * index, 294
        shown: dict[Result, tuple[str, Colour]] = {
            "win": ("W", drawing.GREEN),
            "draw": ("D", drawing.TEAL),
            "missed": ("½", drawing.GOLD),
            "loss": ("L", drawing.RED),
        }
        letter, fill = shown[self.results[index]] if index < len(self.results) else ("", drawing.SHADE)
        if index == self.round:
            canvas.panel((left - 2, top - 2, left + 22, top + 22), drawing.INK, 6)
        canvas.panel((left, top, left + 20, top + 20), fill, 5)
        canvas.text(left + 10, top + 10, letter, 13, drawing.CARD, bold=True, anchor="mm")

    def _draw_end(self, canvas: Canvas) -> None:
        line = winning_line(self.board)
        seen = (self.answer or 0) if line is None else line[1]
        fill = drawing.GREEN if self.won else drawing.RED
        headline = "Match won" if self.won else "Match lost"
        detail = f"{_halves(self.points)} points; {_halves(self.target)} were needed."
        drawing.banner(canvas, headline, detail, fill, clear_of=_centre(seen // 3, 0)[1] + 1)


def put(board: Board, cell: int, mark: Mark) -> Board:
    """The board with a mark on a cell."""
    return board[:cell] + mark + board[cell + 1 :]


def free(board: Board) -> list[int]:
    """Cells that can be played, in reading order."""
    return [cell for cell, content in enumerate(board) if content == "."]


def winning_line(board: Board) -> tuple[int, int, int] | None:
    """Three equal marks in a row, column or diagonal."""
    return next((line for line in LINES if board[line[0]] in "XO" and len({board[cell] for cell in line}) == 1), None)


@lru_cache(maxsize=1 << 17)
def value(board: Board, mark: Mark) -> int:
    """What a position is worth to `mark`, who is to move, if both play best.

    0 for a draw, 10 - n for a win in n marks, n - 10 for a loss in n marks; both sides' marks count.
    """
    if winning_line(board):
        return -10
    cells = free(board)
    if not cells:
        return 0
    values = [-value(put(board, cell, mark), OTHER[mark]) for cell in cells]
    return max(worth - (worth > 0) + (worth < 0) for worth in values)


def draw_opening(rng: np.random.Generator, mark: Mark, others: list[Board]) -> Board:
    """A fair opening that is not among `others`, with `mark` to move: it has 0 or 1 blocked cell, 0 or 1 mark of each.

    Fair: a draw if both play best. Sharp: the player's first choice includes a mistake that loses. Open: a line is
    left for each. About one board in five passes, so the loop is short.
    """
    while True:
        cells = [int(cell) for cell in rng.permutation(9)[:3]]
        board = "." * 9
        if rng.random() < 0.7:
            board = put(put(board, cells[0], "X"), cells[1], "O")
        if rng.random() < 0.6:
            board = board[: cells[2]] + "#" + board[cells[2] + 1 :]
        if board not in others and value(board, mark) == 0 and _is_sharp(board, mark) and _is_open(board):
            return board


def _is_sharp(board: Board, mark: Mark) -> bool:
    if mark == "X":
        return any(value(put(board, cell, "X"), "O") > 0 for cell in free(board))
    answers = [put(board, cell, "O") for cell in free(board)]
    return all(_is_sharp(after, "X") for after in answers if value(after, "X") == 0)


def _is_open(board: Board) -> bool:
    return all(any(all(board[cell] in mark + "." for cell in line) for line in LINES) for mark in "XO")


def _centre(row: int, column: int) -> tuple[int, int]:
    return BOARD[0] + column * PITCH + 72, BOARD[1] + row * PITCH + 72


def _halves(points: float) -> str:
    whole, half = divmod(round(2 * points), 2)
    return (str(whole) if whole or not half else "") + ("½" if half else "")


@lru_cache(maxsize=1)
def _backdrop() -> Canvas:
    """What never changes; shared, so it is copied and never drawn on."""
    canvas = Canvas()
    left, top, right, bottom = SIDEBAR
    canvas.fitted((left + right) / 2, top + 16, "Tic-tac-toe", 26, right - left)
    canvas.panel((left, top + 42, right, top + 45), drawing.TEAL)
    lines = (
        "Three in a row win.",
        "Dark cells are blocked;",
        "yellow: its last mark.",
        "Win 1 point, loss none.",
        "Draw 1, but ½ if you",
        "let a sure win go.",
    )
    for index, line in enumerate(lines):
        canvas.text(left, bottom - 17 * (len(lines) - index) - 2, line, 12, drawing.MUTED)
    return canvas
