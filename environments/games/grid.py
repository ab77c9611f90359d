"""What games on a grid share: the four directions, the arrow keys, shortest paths.

Cells are (x, y), x to the right and y downwards from the top left cell (0, 0).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Literal

from environments.game import InputEvent

Cell = tuple[int, int]
Direction = Literal["up", "down", "left", "right"]

STEPS: dict[Direction, Cell] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
OPPOSITE: dict[Direction, Direction] = {"up": "down", "down": "up", "left": "right", "right": "left"}


def neighbour(cell: Cell, direction: Direction) -> Cell:
    """The next cell in that direction."""
    dx, dy = STEPS[direction]
    return cell[0] + dx, cell[1] + dy


def arrow(event: InputEvent) -> Direction | None:
    """The arrow key that went down, or None for every other event."""
    if event.kind != "key_down":
        return None
    return next((direction for direction in STEPS if direction == event.key), None)


def distances(start: Cell, exits: Callable[[Cell], Iterable[Cell]]) -> dict[Cell, int]:
    """Breadth-first distances from `start` to every cell that can be reached; `exits` names the next cells."""
    found = {start: 0}
    queue = deque([start])
    while queue:
        cell = queue.popleft()
        for after in exits(cell):
            if after not in found:
                found[after] = found[cell] + 1
                queue.append(after)
    return found
