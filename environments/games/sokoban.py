"""Sokoban: push every box onto a target; boxes can be pushed, one at a time, and never pulled."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from environments import drawing
from environments.drawing import BOARD, Box, Canvas
from environments.env import Frame
from environments.facts import Cell, Facts, Thing
from environments.game import Game, InputEvent
from environments.games.grid import STEPS, Direction, arrow
from environments.games.sokoban_levels import SIDE, Level, Position, Room, draw_level, solver, step


class SokobanAction(BaseModel):
    """Walk one cell, pushing the box that stands there, or take moves back.

    move: "up", "down", "left" or "right" (directions on the screen), "undo" (the last move) or "restart" (all moves).
    A box moves if the cell behind it is free. What changes nothing is refused; every turn counts, undo and restart
    included.
    Example: {"move": "left"}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    move: Literal["up", "down", "left", "right", "undo", "restart"]


class Sokoban(Game):
    """A small room with three or four boxes, made anew for each seed; won when all boxes stand on targets.

    Score: 80 x progress + 20 x economy. Progress is 1 - the fewest pushes that the best position so far needs / the
    fewest that the start needs. Economy is 0 until the room is solved, then the moves of the reference plan (fewest
    pushes, and of those plans the fewest moves) / the number of turns taken, 1 at most; refused and idle turns, undo
    and restart count. A box that is stuck does not end the game: moves can be taken back.
    """

    Action: ClassVar[type[BaseModel]] = SokobanAction

    def __init__(self, shortest: int = 20, longest: int = 45) -> None:
        """Rooms whose reference plan takes `shortest` to `longest` moves.

        Raises:
            ValueError: for lengths that are seldom found.
        """
        if not 8 <= shortest <= 30 or longest < shortest + 10:
            raise ValueError(
                "shortest, longest: expected 8 <= shortest <= 30 and longest >= shortest + 10,"
                f" got {shortest} and {longest}"
            )
        self.shortest, self.longest = shortest, longest
        self.level = Level(Room(0, 0), Position(0, 0))
        self.history: list[Position] = [self.level.start]
        """The positions from the start to the present one; undo takes the last away."""
        self.moves: list[Direction] = []
        """The moves between them."""
        self.pushed = False
        """Whether a box has been pushed at all."""
        self.pushes, self.least_left = 1, 1
        """The fewest pushes that the start needs, and the best position so far."""
        self.par = 1
        """Moves of the reference plan."""
        self.turns = 0
        self.acted = False
        """Whether this step's move was tried; a gesture with several keys makes one move."""

    def reset(self, rng: np.random.Generator) -> None:
        """Make a room that can be solved."""
        self.rng = rng
        self._enter(draw_level(rng, self.shortest, self.longest))

    @property
    def position(self) -> Position:
        """Where the boxes and the player are now."""
        return self.history[-1]

    @property
    def home(self) -> int:
        """How many boxes stand on targets."""
        return (self.position.boxes & self.level.room.targets).bit_count()

    def apply(self, action: SokobanAction) -> str | None:
        """Walk or push, or go back by one move or to the start."""
        self.acted = True
        if action.move == "undo" or action.move == "restart":
            if not self.moves:
                return "there is no move to take back"
            kept = len(self.moves) - 1 if action.move == "undo" else 0
            del self.moves[kept:], self.history[kept + 1 :]
            return None
        after = step(self.level.room, self.position, action.move)
        if after is None:
            return self._obstacle(action.move)
        self.moves.append(action.move)
        self.history.append(after)
        if after.boxes != self.history[-2].boxes:
            self.pushed = True
            left = solver(self.level.room).pushes_left(after)
            self.least_left = self.least_left if left is None else min(self.least_left, left)
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Arrow keys move, Z takes a move back, R all of them; the first of them in each step counts."""
        if event.kind != "key_down" or self.acted:
            return None
        move = arrow(event) or {"z": "undo", "r": "restart"}.get(event.key.lower())
        return None if move is None else self.apply(SokobanAction.model_validate({"move": move}))

    def tick(self) -> None:
        """A turn is over, whatever the player did in it."""
        self.turns += 1
        self.acted = False

    @property
    def over(self) -> bool:
        """The room is solved; it cannot be lost, as moves can be taken back."""
        return self.won

    @property
    def won(self) -> bool:
        """All boxes stand on targets."""
        return self.position.boxes == self.level.room.targets

    def score(self) -> float:
        """80 x progress + 20 x economy; see the class."""
        economy = self.par / max(self.turns, self.par) if self.won else 0.0
        return 80.0 * (1.0 - self.least_left / self.pushes) + 20.0 * economy

    def reached(self) -> set[str]:
        """`first-push`, `box-home`, `quarter`, `half`, `three-quarters`, `one-missing`, `solved`."""
        done = 1.0 - self.least_left / self.pushes
        conditions = {
            "first-push": self.pushed,
            "box-home": self.home >= 1,
            "quarter": done >= 0.25,
            "half": done >= 0.5,
            "three-quarters": done >= 0.75,
            "one-missing": self.home >= self.level.room.targets.bit_count() - 1,
            "solved": self.won,
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def facts(self) -> Facts:
        """The player, and what each cell of the room holds."""
        view, room = _View(self.level.room), self.level.room
        shown = [cell for cell in range(SIDE * SIDE) if room.floor >> cell & 1 or _touches_floor(room, cell)]
        left, top, right, bottom = view.box(self.position.player)
        player = Thing("the player", (left + right) // 2, (top + bottom) // 2, view.side // 2)
        return Facts(
            things=(player,),
            cells=tuple(Cell(view.box(cell), self._holds(cell)) for cell in shown),
            contents=("the player", "a wall", "a box on a ring", "a box that is not on a ring", "a ring", "bare floor"),
        )

    def expert(self) -> dict[str, Any]:
        """The next move of a plan with the fewest pushes; out of a dead position by the shorter of undo and restart."""
        search = solver(self.level.room)
        way = search.plan(self.position)
        if way:
            return {"move": way[0]}
        if way is not None:  # solved already
            return {"move": "undo"}
        dead = next(n for n, past in enumerate(reversed(self.history)) if search.pushes_left(past) is not None)
        after_undo = search.plan(self.history[-1 - dead]) or []
        return {"move": "undo" if dead + len(after_undo) <= 1 + self.par else "restart"}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One press of an arrow key, of Z or of R."""
        return [{"verb": "press", "key": {"undo": "z", "restart": "r"}.get(action["move"], action["move"])}]

    def state(self) -> dict[str, Any]:
        """The level in letters, the moves since its start (they lead to the present position), the best, the counts."""
        return {
            "rows": self.level.rows(),
            "moves": list(self.moves),
            "pushed": self.pushed,
            "least_left": self.least_left,
            "turns": self.turns,
            "acted": self.acted,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned.

        Raises:
            ValueError: if the level cannot be solved, or the moves cannot be made in it.
        """
        self._enter(Level.parse(state["rows"]))
        for number, move in enumerate(state["moves"]):
            after = step(self.level.room, self.position, move)
            if after is None:
                raise ValueError(f"moves[{number}]: {move!r} moves nothing; the state is damaged")
            self.moves.append(move)
            self.history.append(after)
        self.pushed, self.least_left = state["pushed"], state["least_left"]
        self.turns, self.acted = state["turns"], state["acted"]

    def draw(self) -> Frame:
        """The room with the boxes and the player; the figures beside it."""
        view = _View(self.level.room)
        canvas = _backdrop(self.level.room).copy()
        for cell in range(SIDE * SIDE):
            if self.position.boxes >> cell & 1:
                _draw_box(canvas, view.box(cell), home=bool(self.level.room.targets >> cell & 1))
        _draw_player(canvas, view.box(self.position.player), self.moves[-1] if self.moves else "down")
        drawing.figure(canvas, 0, "Boxes in place", f"{self.home} of {self.level.room.targets.bit_count()}")
        drawing.figure(canvas, 1, "Turns taken", str(self.turns))
        if self.won:
            seen = view.box(self.position.player)[1]
            drawing.banner(canvas, "All boxes in place", f"Turns taken: {self.turns}.", drawing.GREEN, clear_of=seen)
        return canvas.frame()

    def _enter(self, level: Level) -> None:
        search = solver(level.room)
        plan, pushes = search.plan(level.start), search.pushes_left(level.start)
        if not plan or not pushes:
            raise ValueError("rows: expected a level that is not solved and can be")
        self.level, self.history, self.moves = level, [level.start], []
        self.par, self.pushes, self.least_left = len(plan), pushes, pushes
        self.pushed, self.turns, self.acted = False, 0, False

    def _holds(self, cell: int) -> str:
        room, position = self.level.room, self.position
        if not room.floor >> cell & 1:
            return "a wall"
        target = room.targets >> cell & 1
        if position.boxes >> cell & 1:
            return "a box on a ring" if target else "a box that is not on a ring"
        if cell == position.player:
            return "the player"
        return "a ring" if target else "bare floor"

    def _obstacle(self, direction: Direction) -> str:
        dx, dy = STEPS[direction]
        ahead = self.position.player + dx + SIDE * dy
        if not self.level.room.floor >> ahead & 1:
            return f"there is a wall {_SIDES[direction]}"
        behind = ahead + dx + SIDE * dy
        what = "another box" if self.position.boxes >> behind & 1 else "a wall"
        return f"the box {_SIDES[direction]} cannot move: {what} is behind it"


_SIDES: dict[Direction, str] = {"up": "above", "down": "below", "left": "on the left", "right": "on the right"}


class _View:
    """Where a room's cells are in the picture: as large as the room allows, in the middle of the board."""

    def __init__(self, room: Room) -> None:
        cells = [divmod(cell, SIDE) for cell in range(SIDE * SIDE) if room.floor >> cell & 1]
        top, bottom = min(y for y, _ in cells) - 1, max(y for y, _ in cells) + 1
        left, right = min(x for _, x in cells) - 1, max(x for _, x in cells) + 1
        width, height = right - left + 1, bottom - top + 1
        self.side = min(60, (BOARD[2] - BOARD[0]) // max(width, height))
        """Pixels of a cell."""
        self.x = (BOARD[0] + BOARD[2] - width * self.side) // 2 - left * self.side
        self.y = (BOARD[1] + BOARD[3] - height * self.side) // 2 - top * self.side

    def box(self, cell: int) -> Box:
        """The cell's square."""
        y, x = divmod(cell, SIDE)
        left, top = self.x + x * self.side, self.y + y * self.side
        return left, top, left + self.side, top + self.side


@lru_cache(maxsize=8)
def _backdrop(room: Room) -> Canvas:
    """Walls, floor, targets and help; shared, so it is copied and never drawn on."""
    canvas = drawing.board_layout("", ["Z takes a move", "back, R restarts."])
    left, top, right, _ = drawing.SIDEBAR
    canvas.fitted((left + right) / 2, top + 16, "Sokoban", 30, right - left)
    for index, line in enumerate(("Push each box onto", "a ring. Boxes cannot", "be pulled.")):
        canvas.text(left, 226 + 18 * index, line, 13, drawing.MUTED)
    canvas.panel(BOARD, drawing.PAPER)
    view = _View(room)
    for cell in range(SIDE * SIDE):
        left, top, right, bottom = view.box(cell)
        if room.floor >> cell & 1:
            canvas.panel((left, top, right, bottom), drawing.LINE)
            canvas.panel((left, top, right - 1, bottom - 1), (250, 248, 243))
            if room.targets >> cell & 1:
                middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
                for radius, fill in ((0.3, drawing.TEAL), (0.21, (250, 248, 243)), (0.1, drawing.TEAL)):
                    canvas.disc(middle_x, middle_y, radius * view.side, fill)
        elif _touches_floor(room, cell):
            canvas.panel((left, top, right, bottom), (66, 72, 86))
            canvas.panel((left + 1, top + 1, right - 1, bottom - 4), (104, 111, 127), 4)
    return canvas


def _touches_floor(room: Room, cell: int) -> bool:
    y, x = divmod(cell, SIDE)
    around = [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    return any(room.floor >> (SIDE * b + a) & 1 for a, b in around if 0 <= a < SIDE and 0 <= b < SIDE)


def _draw_box(canvas: Canvas, box: Box, *, home: bool) -> None:
    left, top, right, bottom = box
    edge, face = (drawing.GREEN, (150, 205, 150)) if home else (drawing.BROWN, (206, 154, 96))
    canvas.panel((left + 4, top + 4, right - 4, bottom - 4), edge, 5)
    canvas.panel((left + 9, top + 9, right - 9, bottom - 9), face, 2)
    a, b = left + 9, right - 9
    c, d = top + 9, bottom - 9
    if home:  # a tick
        middle_x, middle_y, unit = (left + right) / 2, (top + bottom) / 2, (right - left) / 44
        tick = ((-10, 0), (-6, -4), (-2, 1), (7, -9), (11, -5), (-2, 9))
        canvas.polygon([(middle_x + dx * unit, middle_y + dy * unit) for dx, dy in tick], edge)
    else:  # a brace from corner to corner
        canvas.polygon([(a, d - 6), (b - 6, c), (b, c), (b, c + 6), (a + 6, d), (a, d)], edge)


def _draw_player(canvas: Canvas, box: Box, facing: Direction) -> None:
    """A worker from above: shoulders, a cap, and the peak of the cap where the last move went."""
    x, y, unit = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, (box[2] - box[0]) / 38
    dx, dy = STEPS[facing]
    for side in (-1, 1):
        canvas.disc(x + 12 * unit * side * dy, y + 12 * unit * side * dx, 6.5 * unit, (20, 60, 150))
    canvas.disc(x, y, 14 * unit, drawing.BLUE)
    canvas.disc(x + 6 * unit * dx, y + 6 * unit * dy, 8 * unit, (244, 200, 160))
    canvas.disc(x - 1 * unit * dx, y - 1 * unit * dy, 9.5 * unit, drawing.GOLD)
    corners = ((-9, 2), (9, 2), (6, 12), (-6, 12))
    # The corners across and along the way that the worker faces, turned to it.
    peak = [(x + unit * (along * dx - across * dy), y + unit * (along * dy + across * dx)) for across, along in corners]
    canvas.polygon(peak, (250, 190, 60))
