"""Levels: whole levels of Freedoom, Phase 1, to explore: doors, keys, switches, lifts, secrets, an exit (ViZDoom)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from environments import drawing
from environments.drawing import Colour
from environments.games import levels_expert
from environments.games.doom import DoomGame
from environments.games.doom_engine import Engine, Start
from environments.games.doom_map import Floats, Level, read_level
from environments.games.levels_ground import KEYS, Ground, ground, regions

_SIGHT = 176.0
"""How near one must come to a region's middle, in map units, and see it, for the region to count as explored."""
_REACH = 130.0
"""Keys nearer than this are looked at: have they been taken? A man runs 105 units between two looks."""
_ARMOURY = ("chaingun", "clip 100", "bluearmor", "soulsphere")
"""What the player brings: the chaingun, 200 rounds, and 200 of health and of armour, the most that he can carry.

It makes the level a matter of finding the way rather than of saving every shot."""


class Levels(DoomGame):
    """A level of several, chosen by the seed; won at the exit by someone who has seen and done enough.

    Score: 40 x exploration + 15 x fights + 15 for a key + 30 for the exit. Exploration is the explored share of the
    level's ground / `share`, fights the enemies beaten / `enemies`; each counts at most 1. Ground is counted in
    squares of 128 map units; one is explored by someone who comes near its middle and sees it. The level is won, with
    100 points, by leaving it with exploration and fights at 1, a key found, and a door passed, before the time is up.
    """

    def __init__(
        self,
        levels: tuple[str, ...] = ("E1M1",),
        skill: int = 1,
        share: float = 0.3,
        enemies: int = 5,
        seconds: int = 300,
    ) -> None:
        """The maps to choose from, Doom's `skill`, what is enough, and the time that there is for it.

        Raises:
            ValueError: for no levels, a share outside 0..1, no enemies, no time.
        """
        if not levels or not 0 < share <= 1 or enemies < 1 or seconds < 1:
            given = f"levels={levels}, share={share}, enemies={enemies}, seconds={seconds}"
            raise ValueError(f"expected some levels, a share of at most 1, and 1 or more of the others; got {given}")
        super().__init__(Engine("freedoom1.wad", skill=skill, sectors=True, gifts=_ARMOURY))
        self.levels, self.share, self.enemies, self.seconds = tuple(levels), share, enemies, seconds

    @property
    def level(self) -> Level:
        """The map that is played."""
        return read_level(self.engine.wad, self.start.level)

    @property
    def ground(self) -> Ground:
        """Where one can walk on it."""
        return ground(self.level)

    @property
    def key_things(self) -> list[tuple[str, float, float]]:
        """Colour and place of every key of the level."""
        things = [thing for thing in self.level.things if thing.kind in KEYS and thing.in_easy_game]
        return [(KEYS[thing.kind], float(thing.x), float(thing.y)) for thing in things]

    def begin(self) -> Start:
        """One of the levels, other dice, and another direction to look in at first."""
        level = self.levels[int(self.rng.integers(len(self.levels)))]
        return Start(level, int(self.rng.integers(1, 2**31 - 1)), int(self.rng.integers(-60, 61)))

    def notice(self, now: dict[str, Any]) -> None:
        """Regions explored, doors passed, keys found; whether the player gets anywhere."""
        seen, here = self.seen, (now["x"], now["y"])
        if not self.tics:
            seen.update(explored=[], first=len(self._in_sight(here, [])), keys=[], door=False)
            seen.update(still=0, news=0, misses=0, damage=0, at=list(here))
        found = self._in_sight(here, seen["explored"])
        seen["explored"] = sorted([*seen["explored"], *found])
        seen["door"] = seen["door"] or self._passes_door(tuple(seen["at"]), here)
        for colour, x, y in self.key_things:
            if colour not in seen["keys"] and math.dist(here, (x, y)) < _REACH and not self._lies(x, y):
                seen["keys"] = sorted([*seen["keys"], colour])
                found.append(-1)
        held = self.runs[-1][0] if self.runs else 0
        if math.dist(here, seen["at"]) > 8:
            seen["still"] = 0
        elif held & 0b1111:
            seen["still"] += 1
        hit = now["damage"] > seen["damage"]
        seen["misses"] = 0 if hit else seen["misses"] + (held >> 6 & 1)
        seen["news"] = self.tics if found or hit else seen["news"]
        seen["damage"], seen["at"] = int(now["damage"]), list(here)

    @property
    def explored(self) -> float:
        """The share of the level's ground that is explored, 0 at the start."""
        first = self.seen["first"]
        return float((len(self.seen["explored"]) - first) / (len(self._regions) - first))

    @property
    def over(self) -> bool:
        """The exit is reached, the player is dead, or the time is up."""
        return super().over or self.tics >= 35 * self.seconds

    @property
    def won(self) -> bool:
        """The exit is reached, and enough is seen and done."""
        return self.seen["ending"] == "exit" and self._done_before_exit() >= _WANTED.keys()

    def score(self) -> float:
        """40 x exploration + 15 x fights + 15 for a key + 30 for the exit; see the class."""
        exploration = min(self.explored / self.share, 1.0)
        fights = min(self.seen["kills"] / self.enemies, 1.0)
        key = 15 if self.seen["keys"] else 0
        leaving = 30 if self.seen["ending"] == "exit" else 0
        return float(40 * exploration + 15 * fights + key + leaving)

    def reached(self) -> set[str]:
        """Milestones; `exit` only with all that must be done before it."""
        return self._done_before_exit() | ({"exit"} if self.won else set())

    def expert(self) -> dict[str, Any]:
        """Shoot what is in sight, fetch keys, explore enough, open what is shut, leave."""
        self.engine.go(self.start, self.runs)
        return levels_expert.choose(self)

    def figures(self) -> list[tuple[str, str, Colour]]:
        """Time left, exploration, enemies beaten, keys."""
        left = max(self.seconds - self.tics // 35, 0)
        explored = f"{math.floor(100 * self.explored)}/{round(100 * self.share)}%"
        beaten = f"{self.seen['kills']} of {self.enemies}"
        keys = ", ".join(self.seen["keys"]) or "none"
        return [
            ("Time left", f"{left // 60}:{left % 60:02}", drawing.INK if left > 30 else drawing.RED),
            ("Explored", explored, drawing.GREEN if self.explored >= self.share else drawing.INK),
            ("Beaten", beaten, drawing.GREEN if self.seen["kills"] >= self.enemies else drawing.INK),
            ("Keys", keys, drawing.GREEN if self.seen["keys"] else drawing.INK),
        ]

    def verdict(self) -> tuple[str, str]:
        """Left well, left too early and what was missing, dead, or out of time."""
        if self.won:
            return "Level done", "Left through the exit, with enough explored."
        if self.seen["ending"] == "exit":
            done = self._done_before_exit()
            missing = [words for milestone, words in _WANTED.items() if milestone not in done]
            return "Left too early", f"At the exit, but {missing[0]}."
        return "Game over", "You have died." if self.seen["ending"] else "The time is up."

    def _done_before_exit(self) -> set[str]:
        conditions = {
            "enemy": self.seen["kills"] >= 1,
            "enemies-enough": self.seen["kills"] >= self.enemies,
            "door": self.seen["door"],
            "key": bool(self.seen["keys"]),
            "explored-quarter": self.explored >= self.share / 4,
            "explored-half": self.explored >= self.share / 2,
            "explored-enough": self.explored >= self.share,
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def _passes_door(self, a: tuple[float, float], b: tuple[float, float]) -> bool:
        """Whether a door is on the way from a to b: doors are thinner than the way between two looks is long."""
        sectors = set(self.level.sectors_between(a, b))
        return bool(sectors & self.ground.gates) and self.level.open_between(a, b)

    @property
    def _regions(self) -> Floats:
        return regions(self.ground)

    def _in_sight(self, here: tuple[float, float], known: list[int]) -> list[int]:
        """Regions not yet known whose middle is close by, with no wall in between."""
        distances = np.hypot(*(self._regions - np.array(here)).T)
        near = [int(region) for region in np.nonzero(distances < _SIGHT)[0] if region not in set(known)]
        return [region for region in near if self.level.open_between(here, tuple(self._regions[region]))]

    def _lies(self, x: float, y: float) -> bool:
        """Whether a key still lies there."""
        keys = [thing for thing in self.engine.objects() if thing.category == "Key"]
        return any(math.dist((key.position_x, key.position_y), (x, y)) < 1 for key in keys)


_WANTED = {
    "explored-enough": "too little is explored",
    "key": "no key was found",
    "enemies-enough": "too few enemies are beaten",
    "door": "no door was passed",
}
"""What must be done before the exit, and how it is said that it was not."""
