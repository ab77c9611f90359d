"""Maze: fetch the key, then reach the locked door.

Not built on MiniGrid: its worlds turn a first-person agent in place, have no walls between
neighbouring cells and cannot be put back into an earlier state, so nothing of it would be left but
a second pygame beside the one that gymnasium-2048 installs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from environments import drawing
from environments.drawing import BOARD, Canvas
from environments.env import Frame
from environments.facts import Cell as Square
from environments.facts import Facts, Statement, Thing
from environments.game import Game, InputEvent
from environments.games.grid import OPPOSITE, STEPS, Cell, Direction, arrow, distances, neighbour


class MazeAction(BaseModel):
    """Walk one cell.

    move: "up", "down", "left" or "right" (directions on the screen). Walking into a wall is refused,
    and so is the door while it is locked; the key is picked up by walking onto it.
    Example: {"move": "right"}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    move: Literal["up", "down", "left", "right"]


class Maze(Game):
    """A maze with a few loops, dug anew for each seed; won at the door with the key in hand.

    Score: 80 x progress + 20 x economy. Progress is the part of the shortest way (start, key, door)
    that lies behind the player at the furthest point reached. Economy is 0 until the door is
    reached, then the length of the shortest way / the number of turns taken (turns in which the
    player bumped into a wall or did nothing included).
    """

    Action: ClassVar[type[BaseModel]] = MazeAction

    def __init__(self, size: int = 11, loops: int = 6, shortest: int = 30, longest: int = 50) -> None:
        """A maze of `size` x `size` cells.

        `loops` walls are taken out of the perfect maze. The shortest way from the start over the key
        to the door is between `shortest` and `longest` cells.

        Raises:
            ValueError: for a size that cannot be drawn, or ways that mazes of this size do not have.
        """
        drawing.check_cells(size)
        if not 0 <= loops <= (size - 1) ** 2:
            raise ValueError(f"loops: expected 0 to {(size - 1) ** 2} for {size} x {size} cells, got {loops}")
        if not 6 <= shortest <= longest or shortest > 3 * size:
            # Longer ones exist, but so rarely that digging until one is found may take forever.
            raise ValueError(
                f"shortest, longest: expected 6 <= shortest <= longest, shortest <= {3 * size}"
                f" for {size} x {size} cells, got {shortest} and {longest}"
            )
        self.size, self.loops, self.shortest, self.longest = size, loops, shortest, longest
        self.ways: dict[Cell, set[Direction]] = {}
        """Where one can walk from each cell."""
        self.player: Cell = (0, 0)
        self.key: Cell = (0, 0)
        self.door: Cell = (0, 0)
        self.start: Cell = (0, 0)
        self.has_key = False
        self.turns = 0
        self.least_left = 0
        """The least remaining way so far, in cells."""
        self._backdrop: Canvas | None = None
        self.acted = False
        """Whether this step's move was tried; a gesture with several arrow keys makes one move."""
        self._prepare()

    def reset(self, rng: np.random.Generator) -> None:
        """Dig a maze, choose start, key and door."""
        self.rng = rng
        self.has_key, self.turns, self.acted = False, 0, False
        while True:  # nearly every maze has a fitting choice; the loop is for the others
            self.ways = _dig(self.size, self.loops, rng)
            choices = self._choices()
            if choices:
                break
        self.key, self.door = choices[int(rng.integers(len(choices)))]
        self.player = self.start
        self._prepare()
        self.least_left = self.whole_way

    def apply(self, action: MazeAction) -> str | None:
        """Walk one cell, unless a wall or the locked door is in the way."""
        self.acted = True
        if action.move not in self.ways[self.player]:
            return f"there is a wall {_WHERE[action.move]} the player"
        after = neighbour(self.player, action.move)
        if after == self.door and not self.has_key:
            return "the door is locked and the player has no key"
        self.player = after
        self.has_key = self.has_key or after == self.key
        self.least_left = min(self.least_left, self._left())
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Arrow keys walk, the first one in each step."""
        direction = arrow(event)
        if direction is None or self.acted:
            return None
        return self.apply(MazeAction(move=direction))

    def tick(self) -> None:
        """A turn is over, whatever the player did in it."""
        self.turns += 1
        self.acted = False

    @property
    def over(self) -> bool:
        """The door is reached; the maze cannot be lost."""
        return self.won

    @property
    def won(self) -> bool:
        """The player stands in the open door."""
        return self.player == self.door

    def score(self) -> float:
        """80 x progress + 20 x economy; see the class."""
        progress = 1.0 - self.least_left / self.whole_way
        economy = self.whole_way / max(self.turns, self.whole_way) if self.won else 0.0
        return 80.0 * progress + 20.0 * economy

    def reached(self) -> set[str]:
        """`first-step`, `half-way-to-key`, `key`, `half-way-to-door`, `beside-door`, `door`."""
        after_key = self._to_door[self.key]
        conditions = {
            "first-step": self.least_left < self.whole_way or self.player != self.start,
            "half-way-to-key": 2 * (self.least_left - after_key) <= self.whole_way - after_key,
            "key": self.has_key,
            "half-way-to-door": self.has_key and 2 * self.least_left <= after_key,
            "beside-door": self.has_key and self.least_left <= 1,
            "door": self.won,
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def facts(self) -> Facts:
        """Player, key and door, and what each cell holds."""
        side = (BOARD[2] - BOARD[0]) // self.size
        places = {"the player": self.player, "the door": self.door}
        if not self.has_key:
            places["the key"] = self.key
        names = {place: name for name, place in places.items()}

        def square(cell: Cell) -> Square:
            left, top = BOARD[0] + cell[0] * side, BOARD[1] + cell[1] * side
            return Square((left, top, left + side, top + side), names.get(cell, "nothing"))

        return Facts(
            things=tuple(Thing(name, *self._centre(cell), side // 2) for name, cell in places.items()),
            cells=tuple(square(cell) for cell in self.ways),
            contents=("the player", "the key", "the door", "nothing"),
            statements=(Statement("Does the player hold the key?", ("yes", "no"), "yes" if self.has_key else "no"),),
        )

    def expert(self) -> dict[str, Any]:
        """A step of the shortest way to the key, then to the door."""
        goal = self._to_door if self.has_key else self._to_key
        ways = [way for way in STEPS if way in self.ways[self.player] and neighbour(self.player, way) in goal]
        return {"move": min(ways, key=lambda way: goal[neighbour(self.player, way)])}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One press of an arrow key."""
        return [{"verb": "press", "key": action["move"]}]

    def state(self) -> dict[str, Any]:
        """The maze (row by row, the initials of each cell's ways), positions, counts."""
        rows = range(self.size)
        return {
            "ways": [["".join(sorted(way[0] for way in self.ways[x, y])) for x in rows] for y in rows],
            "start": list(self.start),
            "player": list(self.player),
            "key": list(self.key),
            "door": list(self.door),
            "has_key": self.has_key,
            "turns": self.turns,
            "least_left": self.least_left,
            "acted": self.acted,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        names: dict[str, Direction] = {way[0]: way for way in STEPS}
        self.ways = {
            (x, y): {names[initial] for initial in initials}
            for y, row in enumerate(state["ways"])
            for x, initials in enumerate(row)
        }
        self.start, self.player, self.key, self.door = (
            (state[name][0], state[name][1]) for name in ("start", "player", "key", "door")
        )
        self.has_key, self.turns = state["has_key"], state["turns"]
        self.least_left, self.acted = state["least_left"], state["acted"]
        self._prepare()

    def draw(self) -> Frame:
        """The maze with player, key and door; the figures beside it."""
        if self._backdrop is None:
            self._backdrop = self._draw_walls()
        canvas = self._backdrop.copy()
        _draw_door(canvas, *self._centre(self.door), unlocked=self.has_key)
        if not self.has_key:
            _draw_key(canvas, *self._centre(self.key))
        _draw_player(canvas, *self._centre(self.player))
        drawing.figure(canvas, 0, "Key", "in hand" if self.has_key else "not yet", _TONE[self.has_key])
        drawing.figure(canvas, 1, "Door", "open" if self.has_key else "locked", _TONE[self.has_key])
        drawing.figure(canvas, 2, "Turns taken", str(self.turns))
        if self.won:
            drawing.banner(
                canvas,
                "Out of the maze",
                f"Turns taken: {self.turns}.",
                drawing.GREEN,
                clear_of=self._centre(self.door)[1],
            )
        return canvas.frame()

    @property
    def whole_way(self) -> int:
        """Length of the shortest way from the start over the key to the door, in cells."""
        return self._to_key[self.start] + self._to_door[self.key]

    def _left(self) -> int:
        """Length of the shortest way that remains, in cells."""
        return self._to_door[self.player] if self.has_key else self._to_key[self.player] + self._to_door[self.key]

    def _exits(self, cell: Cell) -> Iterator[Cell]:
        # In the order of STEPS: that of a set of strings differs between processes.
        ways = self.ways.get(cell, ())
        return (neighbour(cell, way) for way in STEPS if way in ways)

    def _exits_locked(self, cell: Cell) -> Iterator[Cell]:
        return (after for after in self._exits(cell) if after != self.door)

    def _prepare(self) -> None:
        """Derive from maze, key and door what is not state: distances and the drawn walls."""
        self._to_door = distances(self.door, self._exits)
        self._to_key = distances(self.key, self._exits_locked)
        self._backdrop = None

    def _choices(self) -> list[tuple[Cell, Cell]]:
        """Places for key and door, for a random start and one random door on the rim."""
        last = self.size - 1
        rim = [cell for cell in self.ways if cell[0] in (0, last) or cell[1] in (0, last)]
        start, door = (rim[int(i)] for i in self.rng.choice(len(rim), size=2, replace=False))
        self.start, self.door = start, door
        from_start, from_door = distances(start, self._exits_locked), distances(door, self._exits)
        return [
            (key, door)
            for key, way in from_start.items()
            if way >= self.shortest // 3
            and from_door[key] >= self.shortest // 3
            and self.shortest <= way + from_door[key] <= self.longest
        ]

    def _centre(self, cell: Cell) -> tuple[int, int]:
        side = (BOARD[2] - BOARD[0]) // self.size
        return BOARD[0] + cell[0] * side + side // 2, BOARD[1] + cell[1] * side + side // 2

    def _draw_walls(self) -> Canvas:
        canvas = drawing.board_layout("Maze", ["Arrow keys walk.", "Fetch the key,", "reach the door."])
        half = (BOARD[2] - BOARD[0]) // self.size // 2
        x, y = self._centre(self.start)
        canvas.panel((x - half, y - half, x + half, y + half), (222, 232, 250))
        for cell, ways in self.ways.items():
            x, y = self._centre(cell)
            for way, (dx, dy) in STEPS.items():
                if way not in ways:
                    wall_x, wall_y = x + dx * half, y + dy * half
                    across, along = (3, half + 3) if dx else (half + 3, 3)
                    canvas.panel((wall_x - across, wall_y - along, wall_x + across, wall_y + along), drawing.INK, 3)
        return canvas


_WHERE: dict[str, str] = {"up": "above", "down": "below", "left": "to the left of", "right": "to the right of"}
_TONE = {False: drawing.RED, True: drawing.GREEN}


def _dig(size: int, loops: int, rng: np.random.Generator) -> dict[Cell, set[Direction]]:
    """A perfect maze by depth-first digging, then `loops` more openings between neighbours."""
    ways: dict[Cell, set[Direction]] = {(x, y): set() for y in range(size) for x in range(size)}
    path: list[Cell] = [(int(rng.integers(size)), int(rng.integers(size)))]
    while path:
        cell = path[-1]
        fresh = [way for way in STEPS if not ways.get(neighbour(cell, way), True)]
        if not fresh:
            path.pop()
            continue
        path.append(_open(ways, cell, fresh[int(rng.integers(len(fresh)))]))
    either: tuple[Direction, ...] = ("right", "down")
    walls = [(cell, way) for cell in ways for way in either if way not in ways[cell] and neighbour(cell, way) in ways]
    for index in rng.choice(len(walls), size=loops, replace=False):
        _open(ways, *walls[int(index)])
    return ways


def _open(ways: dict[Cell, set[Direction]], cell: Cell, way: Direction) -> Cell:
    after = neighbour(cell, way)
    ways[cell].add(way)
    ways[after].add(OPPOSITE[way])
    return after


def _draw_player(canvas: Canvas, x: int, y: int) -> None:
    canvas.disc(x, y, 13, drawing.BLUE)
    canvas.disc(x - 4.5, y - 3, 3.5, drawing.CARD)
    canvas.disc(x + 4.5, y - 3, 3.5, drawing.CARD)
    canvas.panel((x - 5, y + 5, x + 5, y + 8), drawing.CARD, 1)


def _draw_key(canvas: Canvas, x: int, y: int) -> None:
    canvas.disc(x - 6, y, 8, drawing.GOLD)
    canvas.disc(x - 6, y, 3.5, drawing.CARD)
    canvas.panel((x + 1, y - 2, x + 15, y + 2), drawing.GOLD, 1)
    canvas.panel((x + 6, y, x + 9, y + 7), drawing.GOLD, 1)
    canvas.panel((x + 11, y, x + 14, y + 7), drawing.GOLD, 1)


def _draw_door(canvas: Canvas, x: int, y: int, *, unlocked: bool) -> None:
    canvas.panel((x - 13, y - 15, x + 13, y + 15), drawing.BROWN, 4)
    canvas.panel((x - 10, y - 12, x + 10, y + 15), drawing.GREEN if unlocked else (168, 112, 62), 3)
    if unlocked:
        canvas.polygon([(x - 6, y + 2), (x - 3, y - 1), (x - 1, y + 1), (x + 5, y - 6), (x + 7, y - 3), (x - 1, y + 6)],
                       drawing.CARD)  # fmt: skip
    else:
        canvas.disc(x, y - 2, 4, drawing.INK)
        canvas.polygon([(x - 2, y), (x + 2, y), (x + 3, y + 9), (x - 3, y + 9)], drawing.INK)
