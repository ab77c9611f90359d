"""Word Yard: the rules of the yard are sentences of word blocks that lie in it, and blocks can be pushed."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from environments import drawing
from environments.drawing import Box, Canvas
from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games.grid import Direction, arrow
from environments.games.rules_engine import (
    COLUMNS,
    ROWS,
    Laws,
    Position,
    Thing,
    is_won,
    readings,
    sentences,
    step,
    yours,
)
from environments.games.rules_levels import IDEAS, build
from environments.games.rules_planner import Stage, plan, win_route
from environments.games.rules_sprites import CELL, draw_object, draw_word

YARD: Box = (20, 46, 20 + COLUMNS * CELL, 46 + ROWS * CELL)


class WordYardAction(BaseModel):
    """Move everything that is YOU by one cell, or take the last move back.

    move: "up", "down", "left" or "right" (directions on the screen), or "undo". Word blocks in the way are pushed. A
    move in which nothing moves is refused, and so is an undo at the start; every turn counts, undo included.
    Example: {"move": "right"}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    move: Literal["up", "down", "left", "right", "undo"]


class WordYard(Game):
    """A yard of words, made anew for each seed after one of nine ideas; won when YOU touches WIN.

    Score: 80 x progress + 20 x economy. Progress is 1 - the moves that a plan needs from the best position so far /
    the moves that it needs from the start, and 1 once the yard is won. Economy is 0 until then, afterwards the moves
    planned at the start / the number of turns taken, 1 at most; refused and idle turns and undos count.
    """

    Action: ClassVar[type[BaseModel]] = WordYardAction

    def __init__(self, shortest: int = 8, longest: int = 25) -> None:
        """Yards whose plan takes `shortest` to `longest` moves.

        Raises:
            ValueError: for lengths that some ideas never have.
        """
        if not 1 <= shortest <= 12 or longest < max(20, shortest):
            raise ValueError(
                f"shortest, longest: expected 1 <= shortest <= 12 and longest >= 20, got {shortest} and {longest}"
            )
        self.shortest, self.longest = shortest, longest
        self.idea = ""
        self.stages: tuple[Stage, ...] = ()
        self.history: list[Position] = [()]
        """The positions from the start to the present one; undo takes the last away."""
        self.moves: list[Direction] = []
        """The moves between them."""
        self.turns = 0
        self.par, self.least_left = 1, 1
        """Planned moves from the start, and from the best position so far."""
        self.acted = False
        """Whether this step's move was tried; a gesture with several keys makes one move."""
        self.last, self.refused = "", False
        """The last move as it was asked for, and whether it was refused: the picture tells both."""
        self._backdrop: Canvas | None = None

    def reset(self, rng: np.random.Generator) -> None:
        """Choose an idea and make a yard of it."""
        self.rng = rng
        level = build(rng, list(IDEAS)[int(rng.integers(len(IDEAS)))], self.shortest, self.longest)
        self.idea, self.stages = level.idea, level.stages
        self.history, self.moves = [level.position], []
        self.par = self.least_left = len(level.plan)
        self.turns, self.acted = 0, False
        self.last, self.refused = "", False

    @property
    def position(self) -> Position:
        """Where everything is now."""
        return self.history[-1]

    def apply(self, action: WordYardAction) -> str | None:
        """Move all that is YOU, or go back by one move."""
        self.acted, self.last = True, action.move
        reason = self._carry_out(action)
        self.refused = reason is not None
        return reason

    def _carry_out(self, action: WordYardAction) -> str | None:
        if action.move == "undo":
            if not self.moves:
                return "there is no move to take back"
            self.history.pop()
            self.moves.pop()
            return None
        if not yours(self.position):
            return "nothing is YOU any more; only undo helps"
        after = step(self.position, action.move)
        if after is None:
            return f"nothing that is YOU can move {action.move}"
        self.history.append(after)
        self.moves.append(action.move)
        if self.won:
            self.least_left = 0
        elif (way := plan(after, self.stages)) is not None:
            self.least_left = min(self.least_left, len(way))
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Arrow keys move, Z takes back; the first of them in each step counts."""
        direction = arrow(event)
        undo = event.kind == "key_down" and event.key.lower() == "z"
        if self.acted or (direction is None and not undo):
            return None
        return self.apply(WordYardAction(move=direction or "undo"))

    def tick(self) -> None:
        """A turn is over, whatever the player did in it."""
        self.turns += 1
        self.acted = False

    @property
    def over(self) -> bool:
        """The yard is won; it cannot be lost, as every move can be taken back."""
        return self.won

    @property
    def won(self) -> bool:
        """Something that is YOU touches something that is WIN."""
        return is_won(self.position)

    def score(self) -> float:
        """80 x progress + 20 x economy; see the class."""
        economy = self.par / max(self.turns, self.par) if self.won else 0.0
        return 80.0 * (1.0 - self.least_left / self.par) + 20.0 * economy

    def reached(self) -> set[str]:
        """`first-step`, `word-pushed`, `sentence-changed`, `open`, `near`, `won`."""
        start, now = self.history[0], self.position
        way = win_route(now)
        conditions = {
            "first-step": bool(self.moves),
            "word-pushed": _words(now) != _words(start),
            "sentence-changed": sentences(now) != sentences(start),
            "open": way is not None,
            "near": way is not None and len(way) <= 3,
            "won": self.won,
        }
        return {milestone for milestone, holds in conditions.items() if holds or self.won}

    def expert(self) -> dict[str, Any]:
        """The next move of the plan; where there is none, back to where there was one."""
        way = plan(self.position, self.stages)
        if way:
            return {"move": way[0]}
        return {"move": "undo" if self.moves else "up"}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One press of an arrow key, or of Z."""
        return [{"verb": "press", "key": "z" if action["move"] == "undo" else action["move"]}]

    def state(self) -> dict[str, Any]:
        """The start, the stages, the moves since then (they lead to the present position), the counts."""
        return {
            "idea": self.idea,
            "start": [list(thing) for thing in self.history[0]],
            "stages": [[list(stage.sentence), stage.word] for stage in self.stages],
            "moves": list(self.moves),
            "turns": self.turns,
            "par": self.par,
            "least_left": self.least_left,
            "acted": self.acted,
            "last": self.last,
            "refused": self.refused,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned.

        Raises:
            ValueError: if the moves cannot be made from the start.
        """
        self.idea = state["idea"]
        self.stages = tuple(Stage((noun, verb, last), word) for (noun, verb, last), word in state["stages"])
        self.history = [tuple(Thing(name, x, y) for name, x, y in state["start"])]
        self.moves = list(state["moves"])
        for number, move in enumerate(self.moves):
            after = step(self.position, move)
            if after is None:
                raise ValueError(f"moves[{number}]: {move!r} moves nothing; the state is damaged")
            self.history.append(after)
        self.turns, self.acted = state["turns"], state["acted"]
        self.par, self.least_left = state["par"], state["least_left"]
        self.last, self.refused = str(state["last"]), bool(state["refused"])

    def draw(self) -> Frame:
        """The yard, the turns above it, the keys and the properties' meaning below it."""
        if self._backdrop is None:
            self._backdrop = _backdrop()
        canvas = self._backdrop.copy()
        canvas.text(YARD[2], 10, f"Turns taken: {self.turns}", 18, bold=True, anchor="ra")
        laws = Laws(self.position)
        lit = {cell for _, cells in readings(self.position) for cell in cells}
        # What is YOU lies on top, word blocks next, so that neither is ever hidden.
        for thing in sorted(self.position, key=lambda thing: (laws.has(thing, "YOU"), thing.is_word, thing)):
            x, y = YARD[0] + thing.x * CELL + CELL // 2, YARD[1] + thing.y * CELL + CELL // 2
            if thing.is_word:
                draw_word(canvas, x, y, thing.name, lit=thing.cell in lit)
            else:
                draw_object(canvas, x, y, thing.name)
        if not yours(self.position):
            canvas.text(320, 11, "Nothing is YOU: press Z.", 17, drawing.RED, bold=True, anchor="ma")
        elif self.last:
            line = f"Not possible: {self.last}" if self.refused else f"Last: {self.last}"
            canvas.text(320, 13, line, 15, drawing.RED if self.refused else drawing.MUTED, anchor="ma")
        if self.won:
            self._draw_end(canvas)
        return canvas.frame()

    def _draw_end(self, canvas: Canvas) -> None:
        goals = {thing.cell for thing in self.position if Laws(self.position).has(thing, "WIN")}
        y = next(thing.y for thing in yours(self.position) if thing.cell in goals)
        told = f"Turns taken: {self.turns}."
        clear_of = YARD[1] + CELL * y
        drawing.banner(canvas, "YOU reached WIN", told, drawing.GREEN, clear_of=clear_of, board=YARD)


def _words(position: Position) -> list[Thing]:
    return sorted(thing for thing in position if thing.is_word)


def _backdrop() -> Canvas:
    canvas = Canvas()
    canvas.text(YARD[0], 5, "Word Yard", 28, bold=True)
    canvas.panel(YARD, drawing.CARD)
    for column in range(COLUMNS):
        for row in range(ROWS):
            x, y = YARD[0] + column * CELL, YARD[1] + row * CELL
            canvas.panel((x + 1, y + 1, x + CELL - 1, y + CELL - 1), (250, 248, 243), 4)
    canvas.text(
        320, 449, "Arrow keys move what is YOU and push words; Z takes a move back. Solid words are in force.",
        12, drawing.INK, anchor="ma",
    )  # fmt: skip
    canvas.text(
        320, 464, "Touch WIN. STOP blocks. PUSH can be pushed. ZAP destroys YOU. SINK vanishes with what enters.",
        12, drawing.MUTED, anchor="ma",
    )  # fmt: skip
    return canvas
