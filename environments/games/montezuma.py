"""Montezuma's Revenge on ale-py: down to the skull, up to the key, back to a door and out of the first room."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from environments import drawing
from environments.env import Frame
from environments.games.atari import CENTRED, FRAME_MS, SCREEN, AtariGame, Stick, code
from environments.games.montezuma_expert import FLOOR, MIDDLE, TOP, Hero, Move, next_move

STAGES = ("start", "middle", "right-ledge", "floor", "past-skull", "left-ledge", "key", "door", "next-room")
"""How far the hero has come; each is a milestone but the first."""
_SCORES = (0.0, 4.0, 10.0, 18.0, 32.0, 40.0, 60.0, 92.0, 100.0)

_ROOM, _X, _Y, _ITEMS, _DOORS, _SKULL, _POSE, _DYING, _AIR = 3, 42, 43, 65, 66, 47, 53, 55, 86
"""Bytes of the console's memory: room, hero, what he carries, doors that are shut, skull,
his pose, steps left of his death, frames left of a jump."""
_FIRST_ROOM, _KEY, _LEFT_DOOR, _RIGHT_DOOR, _STANDING = 1, 0x02, 0x08, 0x04, 255
_LYING = 22
"""The pose of someone who is dead, some frames longer than he is dying."""
_SKULL_OFFSET = 33
"""The skull is counted from another place than the hero."""
_SKULL_ROUND = 400
"""Frames in which the skull rolls to and fro once."""
_Directions = Literal[
    "stay", "left", "right", "up", "down", "up-left", "up-right", "down-left", "down-right"
]  # fmt: skip


class MontezumaAction(BaseModel):
    """Hold the joystick in a direction, or let it go, with the jump button held or not, for some time.

    move: "stay", "left", "right", "up", "down", "up-left", "up-right", "down-left" or "down-right"; up and down climb
    ladders and the rope. jump: hold the button; a jump goes in the direction that is held when it begins.
    ms: how long, 60 to 2000 milliseconds. Time runs on in the game as long as that, and then it waits.
    Example: {"move": "right", "jump": true, "ms": 200}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    move: _Directions
    jump: bool
    ms: int = Field(ge=60, le=2000)


class Montezuma(AtariGame):
    """The first room of the cartridge, entered at a random moment; won in the room beyond one of its doors.

    Score: by the farthest stage. Middle platform 4, right ledge 10, floor 18, beyond the skull 32, left ledge 40,
    key 60, door opened 92, next room 100. Lost with the last life.
    """

    Action: ClassVar[type[BaseModel]] = MontezumaAction
    ROM = "montezuma_revenge"
    TITLE = "Montezuma's\nRevenge"
    HELP = ("Arrows: walk, climb", "Space: jump", "Keep a key down", "to go on with it.")

    def __init__(self) -> None:
        """Switch the console on."""
        super().__init__()
        self.stage = 0
        """Index of the farthest stage so far."""

    def reset(self, rng: np.random.Generator) -> None:
        """The hero stands a few steps from where the cartridge puts him, the skull anywhere on its way."""
        self.rng = rng
        self.release()
        self.console.boot()
        way = int(rng.integers(-5, 7))
        for _ in range(abs(way)):
            self.console.frame(code((1 if way > 0 else -1, 0, False)))
        for _ in range(2 + int(rng.integers(_SKULL_ROUND))):
            self.console.frame(code(CENTRED))
        self.stage = 0

    def apply(self, action: MontezumaAction) -> str | None:
        """Hold the joystick; where there is no way the hero stays, so nothing is refused."""
        self.hold(_stick(action.move, action.jump))
        return None

    def tick(self) -> None:
        """One frame, and how far the hero has come in it."""
        height = self.hero.y
        super().tick()
        if self.hero.y == height:  # who falls past a ledge has not reached it
            self.stage = max(self.stage, self._stage())

    def stick_of(self, action: dict[str, Any]) -> Stick:
        """The joystick's position in a semantic action."""
        return _stick(action["move"], action["jump"])

    @property
    def over(self) -> bool:
        """Won, or no life is left."""
        return self.won or self.console.ended

    @property
    def won(self) -> bool:
        """The hero has left the first room."""
        return STAGES[self.stage] == "next-room"

    def score(self) -> float:
        """What the farthest stage is worth; see the class."""
        return _SCORES[self.stage]

    def reached(self) -> set[str]:
        """The stages so far."""
        return set(STAGES[1 : self.stage + 1])

    def expert(self) -> dict[str, Any]:
        """The next move on the known way, or another if the hero would not live through it."""
        hero = self.hero
        planned = next_move(hero, drift=self._after((CENTRED, 8)).skull - hero.skull)
        if planned[0][2] and (after := self._after(planned)).y == hero.y and not after.in_air:
            planned = CENTRED, 8  # the button is still down from the last jump, and only a new press counts
        others: list[Move] = [(CENTRED, 12), ((-1, 0, False), 12), ((1, 0, False), 12)]
        # One after the other: nearly always the first will do, and looking ahead is what an expert's move costs.
        (across, along, jump), frames = next((move for move in (planned, *others) if self._survives(move)), planned)
        return {"move": _MOVES_BACK[across, along], "jump": jump, "ms": max(60, frames * FRAME_MS)}

    def state(self) -> dict[str, Any]:
        """The console's state, and how far the hero has come."""
        return self.console.save() | {"stage": self.stage}

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned.

        Raises:
            ValueError: for a stage that does not exist, or a console's state that is none.
        """
        self.console.load(state)
        self.stage = int(state["stage"])
        if not 0 <= self.stage < len(STAGES):
            raise ValueError(f"stage: expected 0 to {len(STAGES) - 1}, got {self.stage}")
        self.release()

    def draw(self) -> Frame:
        """The television; lives and key beside it."""
        opened = self.stage >= STAGES.index("door")
        key = "in hand" if self.hero.has_key else "used" if opened else "not yet"
        figures = [("Lives", str(self.console.lives)), ("Key", key), ("Doors", "one is open" if opened else "shut")]
        canvas = self.screen(figures)
        if self.won:
            drawing.banner(
                canvas, "Out of the room", "The next room is reached.", drawing.GREEN, clear_of=100, board=SCREEN
            )
        elif self.console.ended:
            drawing.banner(canvas, "Game over", "The last life is lost.", drawing.RED, clear_of=100, board=SCREEN)
        return canvas.frame()

    @property
    def hero(self) -> Hero:
        """What the console's memory says about the hero and the skull."""
        return _hero(self.console.ram)

    def _stage(self) -> int:
        hero = self.hero
        if hero.room != _FIRST_ROOM:
            name = "next-room"
        elif hero.open_door:
            name = "door"
        elif hero.has_key:
            name = "key"
        else:
            name = hero.place
        return STAGES.index(name)

    def _after(self, move: Move) -> Hero:
        """The hero after a move on the second console."""
        self.scout.rewind(self.console.mark())
        self.scout.run(code(move[0]), move[1])
        return _hero(self.scout.ram)

    def _survives(self, move: Move) -> bool:
        """Whether the hero lives on after a move, once he has landed."""
        hero = self._after(move)
        stands = not hero.in_air and hero.y in (TOP, MIDDLE, FLOOR)
        self.scout.run(code(CENTRED), 4 if stands else _DOOM_FRAMES)
        return self.scout.lives == self.console.lives and not self.scout.ended


_DOOM_FRAMES = 40
"""A life is counted off this long after the mistake at the latest: the end of a jump and a fall."""
_MOVES: dict[str, tuple[int, int]] = {
    "stay": (0, 0), "left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1),
    "up-left": (-1, -1), "up-right": (1, -1), "down-left": (-1, 1), "down-right": (1, 1),
}  # fmt: skip
_MOVES_BACK = {stick: name for name, stick in _MOVES.items()}


def _stick(move: str, jump: bool) -> Stick:
    return (*_MOVES[move], jump)


def _hero(ram: Frame) -> Hero:
    doors = int(ram[_DOORS])
    return Hero(
        room=int(ram[_ROOM]),
        x=int(ram[_X]),
        y=int(ram[_Y]),
        dying=bool(ram[_DYING]) or int(ram[_POSE]) == _LYING,
        in_air=int(ram[_AIR]) != _STANDING,
        has_key=bool(ram[_ITEMS] & _KEY),
        open_door=-1 if not doors & _LEFT_DOOR else 1 if not doors & _RIGHT_DOOR else 0,
        skull=int(ram[_SKULL]) + _SKULL_OFFSET,
    )
