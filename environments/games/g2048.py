"""2048: slide all tiles, equal ones merge, a new one appears after every move.

The package gymnasium-2048 has the same game (all 28,561 lines of tiles up to 4,096 slide alike), but nails
Gymnasium to a version that NetHack's package excludes, and its episodes cannot be put back to an earlier state.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from environments import drawing
from environments.drawing import BOARD, Canvas, Colour
from environments.env import Frame
from environments.facts import Cell, Facts, Thing
from environments.game import Game, InputEvent
from environments.games.grid import STEPS, Direction, arrow

Line = tuple[int, ...]
Board = tuple[Line, ...]
"""Four rows of four exponents: 0 is an empty cell, 3 is the tile 8."""

_LOWEST_EXPONENT = 5
"""The tile 32, which nearly any player reaches: the zero of the score."""


class Action2048(BaseModel):
    """Slide all tiles as far as they go; two equal tiles that meet become one of twice the value.

    move: "up", "down", "left" or "right". A move that would change nothing is refused.
    Example: {"move": "left"}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    move: Literal["up", "down", "left", "right"]


class Game2048(Game):
    """A short game on the usual 4x4 board: won with the tile `goal`, lost when no move is left.

    Score: 60 x progress + 40 x economy. Progress is (log2(highest tile) - 5) / (log2(`goal`) - 5),
    within 0..1: the tile 32 is worth nothing, and every doubling after it the same. Economy is 0
    until the goal is reached, then (`goal` / 2) / the number of turns taken, 1 at most; refused and
    idle turns count. A turn brings 2.2 on average, so par leaves a tenth of the goal's value lying about.
    """

    Action: ClassVar[type[BaseModel]] = Action2048

    def __init__(self, goal: int = 256) -> None:
        """`goal` is a power of two, 64 at least.

        Raises:
            ValueError: for another goal.
        """
        if goal < 64 or goal & (goal - 1):
            raise ValueError(f"goal: expected a power of two, 64 at least, got {goal}")
        self.goal = goal
        self.board: Board = ()
        self.turns = 0
        self.acted = False
        """Whether this step's move was tried; a gesture with several arrow keys makes one move."""
        self._backdrop: Canvas | None = None

    def reset(self, rng: np.random.Generator) -> None:
        """An empty board with two tiles."""
        self.rng = rng
        self.board = ((0,) * 4,) * 4
        self.turns = 0
        self.acted = False
        self._spawn()
        self._spawn()

    def apply(self, action: Action2048) -> str | None:
        """Slide the tiles, then let a new one appear: a 2, or in one case of ten a 4."""
        self.acted = True
        board = slide(self.board, action.move)
        if board == self.board:
            return f"no tile can move {action.move}"
        self.board = board
        self._spawn()
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Arrow keys move, the first one in each step."""
        direction = arrow(event)
        if direction is None or self.acted:
            return None
        return self.apply(Action2048(move=direction))

    def tick(self) -> None:
        """A turn is over, whatever the player did in it."""
        self.turns += 1
        self.acted = False

    @property
    def highest(self) -> int:
        """The exponent of the highest tile."""
        return max(max(row) for row in self.board)

    @property
    def over(self) -> bool:
        """Won, or stuck."""
        return self.won or all(slide(self.board, direction) == self.board for direction in STEPS)

    @property
    def won(self) -> bool:
        """The goal tile is on the board."""
        return 1 << self.highest >= self.goal

    def score(self) -> float:
        """60 x progress + 40 x economy; see the class."""
        span = self.goal.bit_length() - 1 - _LOWEST_EXPONENT
        progress = min(max(self.highest - _LOWEST_EXPONENT, 0), span) / span
        par = self.goal / 2
        economy = par / max(self.turns, par) if self.won else 0.0
        return 60.0 * progress + 40.0 * economy

    def reached(self) -> set[str]:
        """`tile-8`, `tile-16` and so on up to the highest tile."""
        return {f"tile-{1 << exponent}" for exponent in range(3, self.highest + 1)}

    def facts(self) -> Facts:
        """What each cell holds, and where the highest tile is, if there is one."""

        def name(exponent: int) -> str:
            return f"the tile {1 << exponent}" if exponent else "no tile"

        places = {(x, y): exponent for y, row in enumerate(self.board) for x, exponent in enumerate(row)}
        corners = {cell: (BOARD[0] + 12 + 107 * cell[0], BOARD[1] + 12 + 107 * cell[1]) for cell in places}
        highest = [cell for cell, exponent in places.items() if exponent == self.highest]
        x, y = corners[highest[0]]
        return Facts(
            things=(Thing("the highest tile", x + 47, y + 47, 47),) if len(highest) == 1 else (),
            cells=tuple(Cell((x, y, x + 95, y + 95), name(places[cell])) for cell, (x, y) in corners.items()),
            contents=tuple(name(exponent) for exponent in range(max(self.highest + 2, 6))),
        )

    def expert(self) -> dict[str, Any]:
        """The move with the best expectation over the next tile and the move after it."""
        best, best_value = "up", -np.inf
        for direction in STEPS:
            board = slide(self.board, direction)
            if board == self.board:
                continue
            value = _expectation(board)
            if value > best_value:
                best, best_value = direction, value
        return {"move": best}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One press of an arrow key."""
        return [{"verb": "press", "key": action["move"]}]

    def state(self) -> dict[str, Any]:
        """The board as exponents, row by row, and the turns."""
        return {"board": [list(row) for row in self.board], "turns": self.turns, "acted": self.acted}

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.board = tuple(tuple(row) for row in state["board"])
        self.turns, self.acted = state["turns"], state["acted"]

    def draw(self) -> Frame:
        """The tiles; the figures beside them."""
        if self._backdrop is None:
            self._backdrop = drawing.board_layout("2048", ["Arrow keys slide", "all tiles."])
            self._backdrop.panel(BOARD, (92, 96, 108), 12)
        canvas = self._backdrop.copy()
        for y, row in enumerate(self.board):
            for x, exponent in enumerate(row):
                _draw_tile(canvas, BOARD[0] + 12 + 107 * x, BOARD[1] + 12 + 107 * y, exponent)
        drawing.figure(canvas, 0, "Goal tile", str(self.goal))
        drawing.figure(canvas, 1, "Highest tile", str(1 << self.highest))
        drawing.figure(canvas, 2, "Turns taken", str(self.turns))
        if self.won:
            drawing.banner(
                canvas,
                f"{self.goal} reached",
                "The goal tile is on the board.",
                drawing.GREEN,
                clear_of=self._highest_y(),
            )
        elif self.over:
            drawing.banner(canvas, "Game over", "No tile can move.", drawing.RED, clear_of=self._highest_y())
        return canvas.frame()

    def _highest_y(self) -> int:
        row = next(y for y, row in enumerate(self.board) if self.highest in row)
        return BOARD[1] + 60 + 107 * row

    def _spawn(self) -> None:
        empty = [(x, y) for y, row in enumerate(self.board) for x, exponent in enumerate(row) if not exponent]
        cell = empty[int(self.rng.integers(len(empty)))]
        self.board = _with_tile(self.board, cell, 1 if self.rng.random() < 0.9 else 2)


def slide(board: Board, direction: Direction) -> Board:
    """The board after a move, without the new tile."""
    vertical, backwards = direction in ("up", "down"), direction in ("down", "right")
    lines = list(zip(*board, strict=True)) if vertical else list(board)
    moved = [_slide_left(line[::-1] if backwards else line) for line in lines]
    after = [line[::-1] if backwards else line for line in moved]
    return tuple(zip(*after, strict=True)) if vertical else tuple(after)


@lru_cache(maxsize=1 << 16)
def _slide_left(line: Line) -> Line:
    # Lines are few, and the expert slides thousands a move: remembered, the rule costs nothing.
    tiles: list[int] = []
    mergeable = False
    for exponent in line:
        if exponent and mergeable and tiles[-1] == exponent:
            tiles[-1] += 1
            mergeable = False  # a tile merges once in a move
        elif exponent:
            tiles.append(exponent)
            mergeable = True
    return (*tiles, *[0] * (len(line) - len(tiles)))


def _with_tile(board: Board, cell: tuple[int, int], exponent: int) -> Board:
    x, y = cell
    row = (*board[y][:x], exponent, *board[y][x + 1 :])
    return (*board[:y], row, *board[y + 1 :])


def _expectation(board: Board) -> float:
    """Mean value of the best answer to a new tile 2, over a spread of at most five empty cells."""
    empty = [(x, y) for y, row in enumerate(board) for x, exponent in enumerate(row) if not exponent]
    chosen = empty[:: max(1, len(empty) // 5)][:5]
    return sum(max(_answers(_with_tile(board, cell, 1))) for cell in chosen) / len(chosen)


def _answers(board: Board) -> Iterator[float]:
    yield -100.0  # stuck
    for direction in STEPS:
        after = slide(board, direction)
        if after != board:
            yield sum(map(_order, after)) + sum(map(_order, zip(*after, strict=True)))


@lru_cache(maxsize=1 << 16)
def _order(line: Line) -> float:
    """How tidy a line is: room, neighbours that can merge, small differences, a single slope."""
    tiles = [exponent for exponent in line if exponent]
    pairs = list(pairwise(tiles))
    rise = sum(max(b - a, 0) for a, b in pairs)
    fall = sum(max(a - b, 0) for a, b in pairs)
    room, merges = len(line) - len(tiles), sum(a == b for a, b in pairs)
    # Weights from a search over 50 seeds, none of them public: 135 turns to 256 on average, 170 at most.
    return 5.5 * room + 2.0 * merges - 0.3 * (rise + fall) - 0.3 * min(rise, fall)


_TILES: tuple[Colour, ...] = (
    (116, 121, 134), (246, 243, 235), (240, 228, 198), (247, 196, 120), (243, 160, 84), (232, 119, 74), (214, 74, 60),
    (120, 168, 92), (34, 139, 112), (23, 110, 158), (52, 72, 168), (88, 48, 148),
)  # fmt: skip
"""Colour of each exponent; the last serves all above."""


def _draw_tile(canvas: Canvas, x: int, y: int, exponent: int) -> None:
    canvas.panel((x, y, x + 95, y + 95), _TILES[min(exponent, len(_TILES) - 1)], 10)
    if exponent:
        canvas.fitted(x + 47.5, y + 47, str(1 << exponent), 44, 80, drawing.INK if exponent < 5 else drawing.CARD)
