"""Slingshot: throw stones at a fort of blocks until no imp is left in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from environments.drawing import Box
from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games import slingshot_forts, slingshot_picture
from environments.games.slingshot_picture import FULL_PULL, POUCH
from environments.games.slingshot_world import GRAVITY, HEALTH, SPEED, STONE_RADIUS, Flight, Piece, launch_speed, throw

_SHORTEST_PULL = 15
_GRIP = 24
"""How near to the pouch it can be taken hold of, in pixels."""


class SlingshotAction(BaseModel):
    """Pull the pouch with the stone away from its place, and let go: the stone flies the opposite way.

    back: how far to the left, 0 to 100 pixels of the picture.
    down: how far down, -60 to 100 pixels; negative is up.
    The farther the pull, the faster the stone, up to the dotted ring; beyond it nothing is gained.
    A very short pull is refused.
    Example, a hard throw half way up: {"back": 64, "down": 64}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    back: int = Field(ge=0, le=100)
    down: int = Field(ge=-60, le=100)


class Slingshot(Game):
    """A fort for each seed, `imps` imps in it and `stones` stones; won when all imps are out.

    A hard knock takes an imp out: a stone, a fall, a block on its head. Lesser knocks leave a plaster
    and count on. Wooden blocks break likewise, stone blocks never do.

    Score: 80 x imps out / imps + 20 x economy. Economy is 0 until all imps are out, then `par` / the
    number of stones thrown, 1 at most.
    """

    Action: ClassVar[type[BaseModel]] = SlingshotAction

    def __init__(self, imps: int = 5, stones: int = 5, par: int = 2) -> None:
        """`imps` imps to take out with `stones` stones; `par` stones or fewer earn the full economy.

        Raises:
            ValueError: for more imps than every fort has room for, no stones, a par outside 1..`stones`.
        """
        if not 1 <= imps <= 5:
            raise ValueError(f"imps: expected 1 to 5, got {imps}")
        if not 1 <= par <= stones <= 8:
            raise ValueError(f"par, stones: expected 1 <= par <= stones <= 8, got {par} and {stones}")
        self.imps, self.stones, self.par = imps, stones, par
        self.pieces: list[Piece] = []
        self.terrain: list[Box] = []
        self.thrown = 0
        self.struck = False
        """Whether any stone has touched a block or an imp."""
        self.flight = Flight()
        self.pull: tuple[int, int] | None = None
        """The last pull, back and down, as it was given."""
        self.held = False
        """Whether the mouse holds the pouch."""
        self.refused = ""
        """Why the last pull threw nothing, in the few words that the picture has room for."""
        self._plan: tuple[str, dict[str, Any]] | None = None
        """The expert's last answer and what it was asked about."""

    def reset(self, rng: np.random.Generator) -> None:
        """Another fort."""
        self.rng = rng
        self.pieces, self.terrain = slingshot_forts.build(rng, self.imps)
        self.thrown, self.struck, self.held = 0, False, False
        self.flight, self.pull, self.refused = Flight(), None, ""

    def apply(self, action: SlingshotAction) -> str | None:
        """Throw a stone, and let everything come to rest."""
        return self._let_go(action.back, action.down)

    def on_input(self, event: InputEvent) -> str | None:
        """The left button takes the pouch, and throws where it is released."""
        if event.button != "left":
            return None
        away = event.x - POUCH[0], event.y - POUCH[1]
        if event.kind == "button_down":
            self.held = math.hypot(*away) <= _GRIP
        elif event.kind == "button_up" and self.held:
            self.held = False
            return self._let_go(-away[0], away[1])
        return None

    def release(self) -> None:
        """A pouch that is still held is let go of without a throw."""
        self.held = False

    @property
    def left(self) -> int:
        """Imps that are still in."""
        return sum(piece.kind == "imp" for piece in self.pieces)

    @property
    def over(self) -> bool:
        """Won, or no stone is left."""
        return self.won or self.thrown >= self.stones

    @property
    def won(self) -> bool:
        """All imps are out."""
        return self.left == 0

    def score(self) -> float:
        """80 x imps out / imps + 20 x economy; see the class."""
        economy = min(1.0, self.par / max(self.thrown, 1)) if self.won else 0.0
        return 80.0 * (self.imps - self.left) / self.imps + 20.0 * economy

    def reached(self) -> set[str]:
        """`thrown`, `struck`, `out-N` for every N imps out so far, `all-out`."""
        reached = {f"out-{count}" for count in range(1, min(self.imps - self.left, self.imps - 1) + 1)}
        conditions = {"thrown": self.thrown > 0, "struck": self.struck or bool(reached), "all-out": self.won}
        return reached | {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """The best of the throws that aim at an imp, tried out beforehand, and of their neighbours."""
        asked = repr([piece.row() for piece in self.pieces])
        if self._plan is None or self._plan[0] != asked:
            self._plan = asked, self._search()
        return dict(self._plan[1])

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One drag that starts at the pouch."""
        x, y = POUCH
        return [{"verb": "drag", "x": x, "y": y, "to_x": x - action["back"], "to_y": y + action["down"]}]

    def state(self) -> dict[str, Any]:
        """Pieces, terrain, stones thrown, and the last flight as it is drawn."""
        return {
            "pieces": [piece.row() for piece in self.pieces],
            "terrain": [list(box) for box in self.terrain],
            "thrown": self.thrown,
            "struck": self.struck,
            "trace": [list(point) for point in self.flight.trace],
            "impact": self.flight.impact,
            "flight_struck": self.flight.struck,
            "pull": list(self.pull) if self.pull else None,
            "held": self.held,
            "refused": self.refused,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.pieces = [Piece(*row) for row in state["pieces"]]
        self.terrain = [(left, top, right, bottom) for left, top, right, bottom in state["terrain"]]
        self.thrown, self.struck, self.held = state["thrown"], state["struck"], state["held"]
        self.refused = str(state["refused"])
        self.flight = Flight([list(point) for point in state["trace"]], state["impact"], state["flight_struck"])
        self.pull = (state["pull"][0], state["pull"][1]) if state["pull"] else None

    def draw(self) -> Frame:
        """Sling, fort, imps, the last flight; what is left of stones and imps."""
        return slingshot_picture.draw(
            self.pieces,
            self.terrain,
            stones=(self.stones - self.thrown, self.stones),
            imps=(self.left, self.imps),
            flight=self.flight,
            pull=self.pull,
            refused=self.refused,
        )

    def _let_go(self, back: int, down: int) -> str | None:
        if back < 0:
            self.refused = "Refused: pull to the left"
            return "the sling throws away from the pull: pull to the left, not towards the fort"
        if math.hypot(back, down) < _SHORTEST_PULL:
            self.refused = "Refused: pull too short"
            return "the pull is too short to throw the stone"
        self.pieces, self.flight = self._try(back, down)
        self.thrown += 1
        self.struck |= self.flight.struck
        self.pull, self.refused = (back, down), ""
        return None

    def _try(self, back: int, down: int) -> tuple[list[Piece], Flight]:
        return throw(self.pieces, self.terrain, POUCH, launch_speed(back, down, FULL_PULL))

    def _search(self) -> dict[str, Any]:
        best, best_worth = (88, 14), (-1, 0.0)
        tried: set[tuple[int, int]] = set()
        for aimed in (True, False):
            for pull in self._aimed() if aimed else _nearby(*best):
                if pull in tried or not (0 <= pull[0] <= 100 and -60 <= pull[1] <= 100):
                    continue
                tried.add(pull)
                worth = self._worth(*pull)
                if worth > best_worth:
                    best, best_worth = pull, worth
                if worth[0] >= min(self.left, _GOOD_THROW):
                    return {"back": pull[0], "down": pull[1]}
        return {"back": best[0], "down": best[1]}

    def _worth(self, back: int, down: int) -> tuple[int, float]:
        """Imps that a throw takes out; then the harm to all else, and the wood that is in their way no more."""
        after = self._try(back, down)[0]
        imps = [piece for piece in after if piece.kind == "imp"]
        whole = sum(HEALTH[piece.kind] for piece in after if piece.kind == "wood")
        return self.left - len(imps), sum(piece.harm for piece in after) - whole

    def _aimed(self) -> Iterator[tuple[int, int]]:
        """Pulls whose flight, were nothing in the way, leads through an imp."""
        for piece in self.pieces:
            across, up = piece.x - POUCH[0], POUCH[1] - piece.y
            if piece.kind != "imp" or across < 1:  # who rolled behind the sling is out of its reach
                continue
            for pull, sign in (
                _PULLS if self.left > 2 else _PULLS + _MORE_PULLS
            ):  # the last ones sit in the worst places
                square = (SPEED * pull / FULL_PULL) ** 2
                root = square**2 - GRAVITY * (GRAVITY * across**2 + 2 * up * square)
                if root >= 0:
                    slope = (square + sign * math.sqrt(root)) / (GRAVITY * across)
                    back = pull / math.hypot(1, slope)
                    if self._passes(across, slope, square):
                        yield round(back), round(back * slope)

    def _passes(self, across: float, slope: float, square: float) -> bool:
        """Whether a flight passes over the earth before its goal: trying out one that does not is lost time."""
        for left, top, right, _ in self.terrain:
            for x in (left - POUCH[0], right - POUCH[0]):
                if 0 < x < across - 30:
                    rise = slope * x - GRAVITY * x * x * (1 + slope * slope) / (2 * square)
                    if POUCH[1] - rise > top - STONE_RADIUS:
                        return False
        return True


def _nearby(back: int, down: int) -> Iterator[tuple[int, int]]:
    return ((back + dx, down + dy) for dx, dy in ((0, -2), (0, 2), (-3, 0), (0, -4), (0, 4), (0, 6)))


_PULLS = ((90, -1), (90, 1), (76, -1), (76, 1))
"""How far the expert pulls, and whether it throws low (-1) or high."""
_MORE_PULLS = ((83, 1), (83, -1), (68, 1), (68, -1))
_GOOD_THROW = 3
"""Imps: the expert looks no further once a throw takes out so many, which halves the time of its search."""
