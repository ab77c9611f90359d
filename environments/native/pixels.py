"""Truth from exact pixels: boards whose cells are painted in flat colours, read at known places of the frame.

A reader that does not find its board (a menu or a dialog lies over it) keeps what it read last.
The geometry is that of Debian 12's programs in a window of 640x480.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from environments.actions.spec import Action
from environments.env import Frame
from environments.native.truth import Reading, Sources, Truth, ladder

Board = NDArray[np.int64]
"""A board of labels, (rows, columns)."""
Colour = tuple[int, int, int]


class Grid(NamedTuple):
    """Where a board's cells are sampled, in pixels of the frame."""

    left: int
    top: int
    pitch_x: float
    pitch_y: float
    columns: int
    rows: int

    def sample(self, frame: Frame) -> NDArray[np.int64]:
        """The colours at the sampled points, (rows, columns, 3)."""
        x = (self.left + self.pitch_x * np.arange(self.columns)).astype(int)
        y = (self.top + self.pitch_y * np.arange(self.rows)).astype(int)
        colours: NDArray[np.int64] = frame[np.ix_(y, x)].astype(np.int64)
        return colours

    def point(self, row: int, column: int) -> tuple[int, int]:
        """Position of a cell's sampled point."""
        return int(self.left + self.pitch_x * column), int(self.top + self.pitch_y * row)


def labels(colours: NDArray[np.int64], palette: dict[Colour, int], tolerance: int = 3) -> Board:
    """The label of each colour, -1 for a colour that is not in the palette.

    Args:
        colours: (rows, columns, 3).
        palette: labels by colour.
        tolerance: how far each channel may be off.
    """
    board = np.full(colours.shape[:2], -1, np.int64)
    for colour, label in palette.items():
        board[(np.abs(colours - np.array(colour)) <= tolerance).all(axis=2)] = label
    return board


class BoardTruth(Truth):
    """Reads a board of flat colours; subclasses say what it is worth."""

    grid: Grid
    palette: dict[Colour, int]

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._last = Reading()

    def board(self, frame: Frame) -> Board | None:
        """The labels of the cells, None if a cell has a colour of no label."""
        board = labels(self.grid.sample(frame), self.palette)
        return None if (board < 0).any() else board

    def read(self, frame: Frame) -> Reading:
        """The judgement of the board, or the last one where no board is to be seen."""
        board = self.board(frame)
        if board is not None:
            self._last = self.judge(board)
        return self._last

    @abstractmethod
    def judge(self, board: Board) -> Reading:
        """What a board is worth."""


class FloodTruth(BoardTruth):
    """Flood: a region grows from the top left corner by taking the colours of its neighbours.

    Score: 100 x (region - first region) / (all cells - first region). Cells are joined by their sides.
    Won when one colour fills the board. The expert takes the colour that gains most cells.
    """

    grid = Grid(144, 58, 32, 32, 12, 12)
    palette = {  # noqa: RUF012  a constant of the class
        (255, 0, 0): 0,
        (255, 255, 0): 1,
        (0, 255, 0): 2,
        (51, 76, 255): 3,
        (255, 128, 0): 4,
        (128, 0, 179): 5,
    }

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._first = 0

    def judge(self, board: Board) -> Reading:
        """See the class."""
        region = len(flooded(board))
        self._first = self._first or region
        share = (region - self._first) / max(1, board.size - self._first)
        won = region == board.size
        names = ("tenth", "quarter", "half", "three-quarters", "all")
        reached = {
            name for name, at in zip(names, (0.1, 0.25, 0.5, 0.75, 1.0), strict=True) if region >= at * board.size
        }
        return Reading(100.0 * max(0.0, share), frozenset(reached), won, won)

    def advise(self, frame: Frame) -> Action | None:
        """Click a cell beside the region, of the colour that adds most cells."""
        board = self.board(frame)
        if board is None:
            return {"verb": "press", "key": "esc"}
        region = flooded(board)
        best, target = len(region), (0, 0)
        for colour in set(board.flat) - {board[0, 0]}:
            painted = board.copy()
            for cell in region:
                painted[cell] = colour
            gained = flooded(painted)
            if len(gained) > best:
                best, target = len(gained), next(cell for cell in sorted(gained) if board[cell] == colour)
        x, y = self.grid.point(*target)
        return {"verb": "click", "x": x, "y": y}


def flooded(board: Board) -> set[tuple[int, int]]:
    """The cells that are joined with the top left one by sides of one colour."""
    rows, columns = board.shape
    found, edge = {(0, 0)}, [(0, 0)]
    while edge:
        row, column = edge.pop()
        for cell in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            inside = 0 <= cell[0] < rows and 0 <= cell[1] < columns
            if inside and cell not in found and board[cell] == board[0, 0]:
                found.add(cell)
                edge.append(cell)
    return found


EMPTY, BLACK, WHITE = 0, 1, 2


class UnrulyTruth(BoardTruth):
    """Unruly: fill a board with black and white, as many of each in every line, never three alike in a row.

    Score: 100 x (right - wrong) / (cells empty at the start), at least 0, by the only solution, which a solver finds
    from the first picture. The expert clicks a cell that is empty or wrong.
    """

    grid = Grid(145, 57, 50, 50, 8, 8)  # near a cell's upper edge: given cells have a frame inside
    palette = {(128, 128, 128): EMPTY, (51, 51, 51): BLACK, (215, 215, 215): WHITE}  # noqa: RUF012

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._given: Board | None = None
        self._solution: Board | None = None

    def judge(self, board: Board) -> Reading:
        """See the class."""
        if self._given is None:
            self._given, self._solution = board.copy(), solve_unruly(board)
        if self._solution is None:
            return Reading()
        free = int((self._given == EMPTY).sum())
        filled = (board != EMPTY) & (self._given == EMPTY)
        right = int((filled & (board == self._solution)).sum())
        wrong = int(filled.sum()) - right
        won = bool((board == self._solution).all())
        share = max(0.0, (right - wrong) / free)
        reached = ladder(right / free, ("quarter", "half", "three-quarters", "solved"))
        reached |= {"first-right"} if right else set()
        return Reading(100.0 * share, reached, won, won)

    def advise(self, frame: Frame) -> Action | None:
        """Left and right clicks lead an empty cell to black and to white; either empties a cell of the other colour."""
        board = self.board(frame)
        if board is None or self._solution is None:
            return {"verb": "press", "key": "esc"}
        wrong = np.argwhere(board != self._solution)
        row, column = (int(index) for index in (wrong[0] if len(wrong) else (0, 0)))
        x, y = self.grid.point(row, column)
        return {"verb": "click", "x": x, "y": y, "button": "left" if self._solution[row, column] == BLACK else "right"}


def solve_unruly(given: Board) -> Board | None:
    """A solution that agrees with the given cells (puzzles of this program have one), or None."""
    size = given.shape[0]
    board = given.copy()

    def fits(row: int, column: int) -> bool:
        for line, at in ((board[row], column), (board[:, column], row)):
            counts = Counter(line.tolist())
            if max(counts[BLACK], counts[WHITE]) > size // 2:
                return False
            for start in range(max(0, at - 2), min(size - 2, at + 1)):
                if line[start] != EMPTY and line[start] == line[start + 1] == line[start + 2]:
                    return False
        return True

    def fill(index: int) -> bool:
        if index == size * size:
            return True
        row, column = divmod(index, size)
        if given[row, column] != EMPTY:
            return fits(row, column) and fill(index + 1)
        for colour in (BLACK, WHITE):
            board[row, column] = colour
            if fits(row, column) and fill(index + 1):
                return True
        board[row, column] = EMPTY
        return False

    return board if fill(0) else None


class MinesTruth(BoardTruth):
    """Mines on 8x8 with ten mines.

    Score: 100 x opened cells / 54. Lost with the first mine that shows.
    """

    grid = Grid(42, 75, 49.14, 48.86, 8, 8)
    safe = 54
    palette = {  # noqa: RUF012  corners of cells, beside the digits
        (186, 189, 182): 0,  # covered
        (211, 215, 207): 0,  # covered, under the pointer
        (214, 214, 212): 2,  # the mine that went off
        (136, 138, 133): 2,  # another mine, shown at the end
        (222, 222, 220): 1,
        (221, 250, 195): 1,
        (236, 237, 191): 1,
        (237, 218, 180): 1,
    }

    def board(self, frame: Frame) -> Board | None:
        """Covered cells are grey-green and mines dark; whatever else stands where a cell is, is an opened one."""
        colours = self.grid.sample(frame)
        covered = labels(colours, self.palette)
        tinted = colours.min(axis=2) > 150
        return None if (covered < 0).any() and not tinted[covered < 0].all() else np.where(covered < 0, 1, covered)

    def judge(self, board: Board) -> Reading:
        """See the class."""
        opened, lost = int((board == 1).sum()), bool((board == 2).any())
        names = ("opened-10", "opened-20", "opened-30", "opened-40", "cleared")
        reached = {name for name, at in zip(names, (10, 20, 30, 40, self.safe), strict=True) if opened >= at}
        reached |= {"opened-1"} if opened else set()
        won = opened >= self.safe and not lost
        return Reading(100.0 * min(opened, self.safe) / self.safe, frozenset(reached), won, won or lost)


class TilesTruth(BoardTruth):
    """2048. Score: 100 x (log2 of the greatest tile - 2) / 9, at least 0: 0 for 4, 100 for 2048."""

    grid = Grid(130, 75, 103.5, 103.5, 4, 4)
    colours = (
        *("ffffff", "fce94f", "8ae234", "fcaf3e", "729fcf", "ad7fa8", "c17d11"),
        *("ef2929", "c4a000", "4e9a06", "ce5c00", "204a87", "5c3566"),
    )
    """By log2 of the tile; the program's own palette, GNOME's Tango. Seen up to 128 and taken from Tango beyond."""
    palette = {  # noqa: RUF012
        (int(colour[:2], 16), int(colour[2:4], 16), int(colour[4:], 16)): power for power, colour in enumerate(colours)
    }

    def judge(self, board: Board) -> Reading:
        """See the class."""
        power = int(board.max())
        reached = {f"tile-{2**n}" for n in (5, 6, 7, 8, 9, 10, 11) if power >= n}
        return Reading(100.0 * min(9, max(0, power - 2)) / 9, frozenset(reached), power >= 11, power >= 11)


class BreakoutTruth(Truth):
    """LBreakout2, first level: 14 x 11 bricks, compared with the first picture (the wall behind them is a random one).

    Score: 100 x bricks gone / bricks. A cell counts as gone where most of it looks different from the start, in two
    pictures in a row: a ball or a bonus passes by. A dimmed picture, with a question before it, is not read.
    """

    bricks = 154
    _different = 24

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._first: NDArray[np.int64] | None = None
        self._before = np.zeros((11, 14), bool)
        self._gone = np.zeros((11, 14), bool)

    def read(self, frame: Frame) -> Reading:
        """See the class."""
        picture = frame.astype(np.int64)
        if self._first is None:
            self._first = picture
        difference = np.abs(picture - self._first).max(axis=2)
        if difference[400:, :30].mean() < self._different / 2:  # the frame around the field is lit as at the start
            cells = difference[100:320, 41:601].reshape(11, 20, 14, 40)[:, 4:16, :, 6:34]
            changed = (cells > self._different).mean(axis=(1, 3)) > 0.6
            self._gone |= changed & self._before
            self._before = changed
        gone = int(self._gone.sum())
        counts = {"brick-1": 1, "brick-5": 5, "brick-20": 20, "brick-50": 50, "brick-100": 100, "cleared": self.bricks}
        reached = frozenset(name for name, count in counts.items() if gone >= count)
        return Reading(100.0 * gone / self.bricks, reached, gone == self.bricks, gone == self.bricks)


class HopTruth(Truth):
    """Hex-a-Hop, first island: how much green is left.

    Score: 100 x (1 - green pixels / green pixels at the start), the best so far. More than two fifths gone at once is
    no progress but something that covers the island. Won when less than a hundredth is left.
    """

    jump = 0.4
    left_over = 0.01

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._start = 0
        self._left = 1.0

    def read(self, frame: Frame) -> Reading:
        """See the class."""
        red, green, blue = (frame[..., channel].astype(np.int64) for channel in range(3))
        count = int(((green > red + 40) & (green > blue + 60)).sum())
        self._start = self._start or count
        left = count / max(1, self._start)
        if self._left - self.jump < left < self._left:
            self._left = left
        gone = 1 - self._left
        won = self._left < self.left_over
        names = ("tile-1", "quarter", "half", "three-quarters", "all-green")
        reached = frozenset(name for name, at in zip(names, (0.02, 0.25, 0.5, 0.75, 0.99), strict=True) if gone >= at)
        return Reading(100.0 if won else 100.0 * gone, reached, won, won)
