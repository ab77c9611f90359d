"""Corridor: along a corridor with armed guards in its niches, to the armour at its far end (ViZDoom's scenario)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from environments import drawing
from environments.drawing import Colour
from environments.games.doom import DoomAction, DoomGame, turn_by
from environments.games.doom_engine import Engine, Start

LENGTH = 1280.0
"""Map units from the start to where the armour is touched; the corridor is straight and runs along x."""
GUARDS = 6
NICHES = (160.0, 608.0, 1024.0)
"""Where the guards stand in pairs, left and right, in map units along the corridor."""
_ARMOUR = 1312.0
_WALL, _OPENING = 32.0, 158.0
"""Half the width of the corridor between the niches, and half a niche's opening as far as a guard is seen in it."""
_RANGE = 450.0
_GUARD_HALF_WIDTH = 14.0


class Corridor(DoomGame):
    """Six guards shoot at sight, one hit kills each of them, and every hit hurts the player twice as much as usual.

    Score: 40 x way + 5 x guards shot + 30 for the armour. Way is the share of the corridor that the player has
    come at the farthest, 0 at the start and 1 at the armour, and all guards are 30 points. It is won when the armour
    is taken by someone who has shot at least `needed` guards; the armour ends the game in any case. The corridor is
    always the same; the guards' dice, how long they have been about, and where the player looks at first are not.
    """

    help_line: ClassVar[str] = "Arrow keys walk and turn.  A and D step aside.  Ctrl fires."

    def __init__(self, skill: int = 3, needed: int = 4) -> None:
        """Guards of Doom's `skill`, 1 to 5, `needed` of which must be shot.

        Raises:
            ValueError: for another skill, or more guards than there are.
        """
        if not 0 <= needed <= GUARDS:
            raise ValueError(f"needed: expected at most {GUARDS} guards, got {needed}")
        super().__init__(Engine("freedoom2.wad", "deadly_corridor.wad", skill=skill))
        self.needed = needed

    def begin(self) -> Start:
        """Other dice, another moment, and another direction to look in at first."""
        seed = int(self.rng.integers(1, 2**31 - 1))
        turn = int(self.rng.integers(8, 60)) * (1 if self.rng.integers(2) else -1)
        return Start("map01", seed, turn, wait=int(self.rng.integers(0, 36)))

    def notice(self, now: dict[str, Any]) -> None:
        """The farthest point reached."""
        way = min(max(now["x"], 0.0), LENGTH - 1) if self.tics else 0.0
        self.seen["way"] = LENGTH if self.seen["ending"] == "exit" else max(way, self.seen.get("way", 0.0))

    @property
    def won(self) -> bool:
        """The armour is taken, and enough guards are shot."""
        return bool(self.seen["ending"] == "exit" and self.seen["kills"] >= self.needed)

    def score(self) -> float:
        """40 x way + 5 x guards shot + 30 for the armour; see the class."""
        armour = 30 if self.seen["ending"] == "exit" else 0
        return float(40 * self.seen["way"] / LENGTH + 5 * min(self.seen["kills"], GUARDS) + armour)

    def reached(self) -> set[str]:
        """`guard-1`, `guard-2`, `guards-enough`, `niches-1` to `niches-3`, `half-way`, `armour`."""
        way, kills = self.seen["way"], self.seen["kills"]
        conditions = {f"niches-{number}": way >= x for number, x in enumerate(NICHES, start=1)}
        conditions |= {"guard-1": kills >= 1, "guard-2": kills >= 2, "guards-enough": kills >= self.needed}
        conditions |= {"half-way": 2 * way >= LENGTH, "armour": self.won}
        return {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """Shoot the nearest guard in sight from the spot, then run on towards the armour."""
        self.engine.go(self.start, self.runs)
        x, y = self.engine.variable("POSITION_X"), self.engine.variable("POSITION_Y")
        guards = [
            (thing.position_x, thing.position_y) for thing in self.engine.objects() if thing.category == "Monster"
        ]
        targets = [self.aim(guard) for guard in guards if _in_sight(x, y, *guard)]
        distance, angle = min(targets, key=lambda target: target[0] + abs(target[1]), default=(_RANGE, 0.0))
        if distance < _RANGE:
            if abs(angle) <= max(1.6, math.degrees(math.atan2(_GUARD_HALF_WIDTH, distance))):
                return _action(hands="fire", ms=200)
            return _action(**turn_by(angle), hands="fire" if abs(angle) < 30 else "none")
        _, angle = self.aim((_ARMOUR, 0.0))
        if abs(angle) > 6:
            return _action(**turn_by(angle), move="forward" if abs(angle) < 40 else "stay")
        return _action(move="forward", hands="fire", ms=200)

    def figures(self) -> list[tuple[str, str, Colour]]:
        """The guards shot, of those that must be."""
        enough = self.seen["kills"] >= self.needed
        shot = f"{self.seen['kills']} of {self.needed}"
        return [("Guards shot", shot, drawing.GREEN if enough else drawing.INK)]

    def verdict(self) -> tuple[str, str]:
        """Taken, taken too early, or shot."""
        if self.won:
            return "Armour taken", "The corridor is behind you."
        if self.seen["ending"] == "exit":
            return "Too many left", "The armour is taken, but too few guards were shot."
        return "Game over", "The guards have shot you."


def _in_sight(x: float, y: float, guard_x: float, guard_y: float) -> bool:
    """Whether the line of sight from the corridor enters the guard's niche through its opening."""
    wall = math.copysign(_WALL, guard_y)
    through = x + (guard_x - x) * (wall - y) / (guard_y - y) if abs(y) < _WALL else x
    return abs(through - guard_x) < _OPENING and guard_x - x > -100


def _action(**fields: Any) -> dict[str, Any]:
    return DoomAction.model_validate(fields).model_dump(mode="json")
