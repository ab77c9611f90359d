"""Space Invaders on ale-py: shoot a marching wave, dodge its bombs."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from environments import drawing
from environments.env import Frame
from environments.games.atari import CENTRED, FRAME_MS, SCREEN, AtariGame, Stick, code

POINTS_IN_THE_AIR = 630
"""What the 36 invaders of the first wave are worth together."""

_MODES = 4
"""The cartridge's first variants: shields that stand or move, bombs that fall straight or in zigzags."""
_INTRO_FRAMES = 125
"""The joystick does nothing in these frames after the start."""
_INVADERS, _POINTS_HIGH, _POINTS_LOW, _CANNON, _HIT = 17, 102, 104, 42, 0x04
"""Bytes of the console's memory: invaders left, points as four decimal digits, flags of the cannon."""

_SEARCH = (50, 30)
"""Frames of the two moves that the expert tries one after the other; it then plays the first. Three shorter ones win
no more often and take four times as long."""
_AFTERMATH = 18
"""Frames that it looks on after those: the time of a bomb's last stretch."""
_LOSS = 400.0
_MOST_PLANS = 4096


class InvadersAction(BaseModel):
    """Move the cannon, or stay, with the fire button held or not, for some time.

    move: "left", "right" or "stay". fire: hold the button; a new shot leaves as soon as the last one is gone.
    ms: how long, 100 to 2000 milliseconds. Time runs on in the game as long as that, and then it waits.
    Example: {"move": "left", "fire": true, "ms": 500}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    move: Literal["left", "right", "stay"]
    fire: bool
    ms: int = Field(ge=100, le=2000)


class Invaders(AtariGame):
    """One of four variants of the cartridge, entered at a random moment; won at `target` points.

    Score: 100 x points / `target`, at most 100. Lost when the last life is lost or the invaders land.
    """

    Action: ClassVar[type[BaseModel]] = InvadersAction
    ROM = "space_invaders"
    _plans: ClassVar[dict[str, str]] = {}
    """What the expert found for states of the console, by their sums: the same games are played again and again."""
    TITLE = "Space\nInvaders"
    HELP = ("Left, right: move", "Space: fire", "Keep a key down", "to go on with it.")

    def __init__(self, target: int = 600) -> None:
        """Points to score.

        Raises:
            ValueError: for a target that the first wave does not hold.
        """
        if not 1 <= target <= POINTS_IN_THE_AIR:
            raise ValueError(f"target: expected 1 to {POINTS_IN_THE_AIR} points, got {target}")
        super().__init__()
        self.target = target

    def reset(self, rng: np.random.Generator) -> None:
        """A variant of the game, and some frames in which the cannon drives about without a shot."""
        self.rng = rng
        self.release()
        self.console.boot(int(rng.integers(_MODES)))
        self.console.run(code(CENTRED), _INTRO_FRAMES)
        for move in rng.integers(-1, 2, size=4):
            for _ in range(int(rng.integers(5, 31))):
                self.console.frame(code((int(move), 0, False)))

    def apply(self, action: InvadersAction) -> str | None:
        """Hold the joystick; the cannon stops at the rims by itself, so nothing is refused."""
        self.hold(_stick(action.move, action.fire))
        return None

    def stick_of(self, action: dict[str, Any]) -> Stick:
        """The joystick's position in a semantic action."""
        return _stick(action["move"], action["fire"])

    @property
    def points(self) -> int:
        """Points on the console's own counter."""
        return _points(self.console.ram)

    @property
    def over(self) -> bool:
        """Won, or no life is left."""
        return self.won or self.console.ended

    @property
    def won(self) -> bool:
        """The target is reached."""
        return self.points >= self.target

    def score(self) -> float:
        """100 x points / target; see the class."""
        return min(100.0, 100.0 * self.points / self.target)

    def reached(self) -> set[str]:
        """`first-hit`, and `points-N` for every full hundred so far and for the target."""
        points = self.points
        reached = {f"points-{mark}" for mark in range(100, min(points, self.target) + 1, 100)}
        return reached | ({"first-hit"} if points else set())

    def expert(self) -> dict[str, Any]:
        """The first of two moves that together hit most and after which the cannon still stands."""
        mark = self.console.mark()
        key = hashlib.sha256(mark.serialize()).hexdigest()
        move = self._plans.get(key)
        if move is None:
            _, move = self._best(mark, 0)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = move
        return {"move": move, "fire": True, "ms": _SEARCH[0] * FRAME_MS}

    def state(self) -> dict[str, Any]:
        """The console's state."""
        return self.console.save()

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.console.load(state)
        self.release()

    def draw(self) -> Frame:
        """The television; points, lives and invaders beside it."""
        left = int(self.console.ram[_INVADERS])
        figures = [("Points", f"{self.points} / {self.target}"), ("Lives", str(self.console.lives)),
                   ("Invaders left", str(left))]  # fmt: skip
        canvas = self.screen(figures)
        if self.won:
            drawing.banner(
                canvas, "Target reached", f"Points: {self.points}.", drawing.GREEN, clear_of=400, board=SCREEN
            )
        elif self.console.ended:
            drawing.banner(canvas, "Game over", f"Points: {self.points}.", drawing.RED, clear_of=400, board=SCREEN)
        return canvas.frame()

    def _best(self, mark: Any, depth: int) -> tuple[float, str]:
        """The value of the best move from here, looked for on the second console, and the move."""
        options: list[tuple[float, str]] = []
        for move in ("stay", "right", "left"):
            self.scout.rewind(mark)
            joystick = code(_stick(move, True))
            self.scout.run(joystick, _SEARCH[depth])
            value = _worth(self.scout.ram)
            if self._hit():
                value += 20.0 * depth - _LOSS  # the later the better: there may be a way out by then
            elif depth + 1 < len(_SEARCH):
                # Sooner is a little better: otherwise the sure shot is put off for ever.
                value = self._best(self.scout.mark(), depth + 1)[0] + 0.05 * value
            else:
                self.scout.run(code(_stick("stay", True)), _AFTERMATH)
                value = _worth(self.scout.ram) - (_LOSS - 60.0 if self._hit() else 0.0)
            options.append((value, move))
        return max(options)

    def _hit(self) -> bool:
        """Whether the cannon on the second console is exploding, long before the life is counted off."""
        return self.scout.ended or bool(self.scout.ram[_CANNON] & _HIT)


def _stick(move: str, fire: bool) -> Stick:
    return {"left": -1, "right": 1, "stay": 0}[move], 0, fire


def _points(ram: Frame) -> int:
    high, low = int(ram[_POINTS_HIGH]), int(ram[_POINTS_LOW])
    return 1000 * (high >> 4) + 100 * (high & 15) + 10 * (low >> 4) + (low & 15)


def _worth(ram: Frame) -> float:
    """Invaders count more than points: the cheap ones march lowest, and they land first."""
    return 20.0 * (36 - int(ram[_INVADERS])) + 0.2 * _points(ram)
