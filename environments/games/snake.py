"""Snake: it moves on by itself, grows with every apple, and must not hit the wall or itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from environments import drawing
from environments.drawing import BOARD, SIDEBAR, Canvas
from environments.env import Frame
from environments.facts import Cell as Square
from environments.facts import Facts, Statement, Thing
from environments.game import Game, InputEvent
from environments.games.grid import OPPOSITE, STEPS, Cell, Direction, arrow, distances, neighbour
from environments.games.notes import Note

_NOTE_TICKS = 5
"""How long a refusal is shown."""


class SnakeAction(BaseModel):
    """Turn the snake before its next step, or let it go straight on.

    turn: "up", "down", "left", "right" (directions on the screen) or "straight". The snake moves one
    cell with every action. Turning back onto itself is refused, and it goes straight on.
    Example: {"turn": "up"}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    turn: Literal["up", "down", "left", "right", "straight"]


class Snake(Game):
    """A square board with walls; won when `target` apples are eaten, lost on a collision.

    Score: 100 x apples eaten / `target`.
    """

    Action: ClassVar[type[BaseModel]] = SnakeAction
    tick_ms: ClassVar[int | None] = 200

    def __init__(self, size: int = 11, target: int = 10) -> None:
        """A board of `size` x `size` cells, `target` apples to eat.

        Raises:
            ValueError: for a size that is too small or cannot be drawn, a target that does not fit on it.
        """
        drawing.check_cells(size)
        if not 1 <= target <= size * size - 4:
            raise ValueError(f"target: expected 1 to {size * size - 4} apples on {size} x {size} cells, got {target}")
        self.size, self.target = size, target
        self.body: list[Cell] = []
        """Head first."""
        self.heading: Direction = "right"
        """The direction of the last step; what a reversal is judged by."""
        self.next_heading: Direction = "right"
        self.apple: Cell | None = None
        self.eaten = 0
        self.turns = 0
        """Changes of direction so far."""
        self.collision: Literal["", "wall", "body"] = ""
        self.note = Note()
        self._backdrop: Canvas | None = None

    def reset(self, rng: np.random.Generator) -> None:
        """A snake of three cells near the left wall, in a random row, heading right."""
        self.rng = rng
        row = int(rng.integers(2, self.size - 2))
        self.body = [(3, row), (2, row), (1, row)]
        self.heading = self.next_heading = "right"
        self.eaten = self.turns = 0
        self.collision = ""
        self.note = Note()
        self._place_apple()

    def apply(self, action: SnakeAction) -> str | None:
        """Choose the direction of the next step."""
        return None if action.turn == "straight" else self._turn(action.turn)

    def on_input(self, event: InputEvent) -> str | None:
        """Arrow keys turn; of several in one step, the last that is allowed counts."""
        direction = arrow(event)
        return self._turn(direction) if direction else None

    def tick(self) -> None:
        """One step of the snake. On a collision it stays where it was."""
        if self.over:
            return
        self.note.fade()
        self.turns += self.next_heading != self.heading
        self.heading = self.next_heading
        head = neighbour(self.body[0], self.heading)
        if not self._inside(head):
            self.collision = "wall"
        elif head in self.body[:-1]:  # the tail makes room, and no apple ever lies on it
            self.collision = "body"
        elif head == self.apple:
            self.body.insert(0, head)
            self.eaten += 1
            self._place_apple()
        else:
            self.body = [head, *self.body[:-1]]

    @property
    def over(self) -> bool:
        """Won, or collided."""
        return self.won or bool(self.collision)

    @property
    def won(self) -> bool:
        """All apples are eaten."""
        return self.eaten >= self.target

    def score(self) -> float:
        """100 x apples eaten / target."""
        return 100.0 * self.eaten / self.target

    def reached(self) -> set[str]:
        """`turned`, `apple-N` for every N eaten so far, `all-apples`."""
        reached = {f"apple-{count}" for count in range(1, self.eaten + 1)}
        if self.turns:
            reached.add("turned")
        if self.won:
            reached.add("all-apples")
        return reached

    def facts(self) -> Facts:
        """Head and apple, what each cell holds, and where the snake is heading."""
        side = (BOARD[2] - BOARD[0]) // self.size
        names = dict.fromkeys(self.body, "the snake's body") | {self.body[0]: "the snake's head"}
        things = [Thing("the snake's head", *self._centre(self.body[0]), side // 2)]
        if self.apple is not None:
            names[self.apple] = "the apple"
            things.append(Thing("the apple", *self._centre(self.apple), side // 2))

        def square(x: int, y: int) -> Square:
            left, top = BOARD[0] + x * side, BOARD[1] + y * side
            return Square((left, top, left + side, top + side), names.get((x, y), "nothing"))

        return Facts(
            things=tuple(things),
            cells=tuple(square(x, y) for y in range(self.size) for x in range(self.size)),
            contents=("the snake's head", "the snake's body", "the apple", "nothing"),
            statements=(Statement("Which way is the snake heading?", tuple(STEPS), self.heading),),
        )

    def expert(self) -> dict[str, Any]:
        """The shortest way to the apple if the tail can still be reached after it, else the roomiest step."""
        direction = self._best_direction()
        return {"turn": "straight" if direction == self.heading else direction}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One press of an arrow key; for going straight on, hands off."""
        turn = action["turn"]
        return [{"verb": "wait", "ms": 0} if turn == "straight" else {"verb": "press", "key": turn}]

    def state(self) -> dict[str, Any]:
        """Positions, directions, counts."""
        return {
            "body": [list(cell) for cell in self.body],
            "heading": self.heading,
            "next_heading": self.next_heading,
            "apple": list(self.apple) if self.apple else None,
            "eaten": self.eaten,
            "turns": self.turns,
            "collision": self.collision,
            "note": self.note.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.body = [(x, y) for x, y in state["body"]]
        self.heading, self.next_heading = state["heading"], state["next_heading"]
        self.apple = (state["apple"][0], state["apple"][1]) if state["apple"] else None
        self.eaten, self.turns, self.collision = state["eaten"], state["turns"], state["collision"]
        self.note = Note(**state["note"])

    def draw(self) -> Frame:
        """The board with snake and apple; the figures beside it."""
        if self._backdrop is None:
            self._backdrop = _backdrop(self.size)
        canvas = self._backdrop.copy()
        if self.apple:
            _draw_apple(canvas, *self._centre(self.apple))
        self._draw_snake(canvas)
        drawing.figure(canvas, 0, "Apples eaten", f"{self.eaten} of {self.target}")
        drawing.figure(canvas, 1, "Snake length", str(len(self.body)))
        drawing.figure(canvas, 2, "Heading", self.heading)
        self.note.draw(canvas, (SIDEBAR[0], 288, SIDEBAR[2], 328), 12)
        head_y = self._centre(self.body[0])[1]
        if self.won:
            drawing.banner(canvas, "All apples eaten", "The snake is full.", drawing.GREEN, clear_of=head_y)
        elif self.collision:
            what = "the wall" if self.collision == "wall" else "its own body"
            drawing.banner(canvas, "Game over", f"The snake ran into {what}.", drawing.RED, clear_of=head_y)
        return canvas.frame()

    def _turn(self, direction: Direction) -> str | None:
        if direction == OPPOSITE[self.heading]:
            return self.note.tell("the snake cannot turn back", _NOTE_TICKS)
        self.next_heading = direction
        return self.note.tell(None, 0)

    def _inside(self, cell: Cell) -> bool:
        return 0 <= cell[0] < self.size and 0 <= cell[1] < self.size

    def _place_apple(self) -> None:
        taken = set(self.body)
        free = [(x, y) for y in range(self.size) for x in range(self.size) if (x, y) not in taken]
        self.apple = None if self.won or not free else free[int(self.rng.integers(len(free)))]

    def _best_direction(self) -> Direction:
        body = self.body
        to_apple = _distances_from(self.apple, body[:-1], self.size) if self.apple else {}
        options: list[tuple[bool, int, int, Direction]] = []
        for direction in STEPS:
            head = neighbour(body[0], direction)
            if not self._inside(head) or head in body[:-1]:
                continue
            moved = [head, *(body if head == self.apple else body[:-1])]
            room = _distances_from(head, moved[1:-1], self.size)
            safe = moved[-1] in room
            options.append((not safe, to_apple.get(head, 999), -len(room), direction))
        # Without any way out the end is certain; go straight into it.
        return min(options)[-1] if options else self.heading

    def _centre(self, cell: Cell) -> tuple[int, int]:
        side = (BOARD[2] - BOARD[0]) // self.size
        return BOARD[0] + cell[0] * side + side // 2, BOARD[1] + cell[1] * side + side // 2

    def _draw_snake(self, canvas: Canvas) -> None:
        half = (BOARD[2] - BOARD[0]) // self.size // 2 - 4
        centres = [self._centre(cell) for cell in self.body]
        for (ax, ay), (bx, by) in pairwise(centres):
            box = (min(ax, bx) - half, min(ay, by) - half, max(ax, bx) + half, max(ay, by) + half)
            canvas.panel(box, drawing.TEAL, half - 2)
        x, y = centres[0]
        canvas.panel((x - half, y - half, x + half, y + half), drawing.DEEP_TEAL, half - 2)
        dx, dy = STEPS[self.heading]
        for side in (-1, 1):  # the eyes look where the snake is heading
            eye_x, eye_y = x + 5 * dx + 7 * side * dy, y + 5 * dy + 7 * side * dx
            canvas.disc(eye_x, eye_y, 5, drawing.CARD)
            canvas.disc(eye_x + 2 * dx, eye_y + 2 * dy, 2.5, drawing.INK)


def _distances_from(start: Cell, walls: list[Cell], size: int) -> dict[Cell, int]:
    blocked = set(walls)

    def exits(cell: Cell) -> Iterator[Cell]:
        for direction in STEPS:
            x, y = after = neighbour(cell, direction)
            if 0 <= x < size and 0 <= y < size and after not in blocked:
                yield after

    return distances(start, exits)


def _backdrop(size: int) -> Canvas:
    canvas = drawing.board_layout("Snake", ["Arrow keys turn;", "it moves by itself."])
    left, top, right, bottom = BOARD
    canvas.panel((left - 6, top - 6, right + 6, bottom + 6), drawing.INK, 6)
    canvas.panel(BOARD, drawing.CARD)
    side = (right - left) // size
    for y in range(size):
        for x in range(y % 2, size, 2):
            box = (left + x * side, top + y * side, left + (x + 1) * side, top + (y + 1) * side)
            canvas.panel(box, (238, 241, 238))
    return canvas


def _draw_apple(canvas: Canvas, x: int, y: int) -> None:
    canvas.disc(x, y + 2, 13, drawing.RED)
    canvas.disc(x - 4, y - 2, 3, (240, 138, 128))
    canvas.polygon([(x - 1, y - 9), (x - 1, y - 15), (x + 2, y - 15), (x + 2, y - 9)], drawing.BROWN)
    canvas.polygon([(x + 2, y - 10), (x + 5, y - 16), (x + 12, y - 16), (x + 8, y - 10)], drawing.GREEN)
