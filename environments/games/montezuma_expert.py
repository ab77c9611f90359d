"""The way through the first room of Montezuma's Revenge, for an expert who reads the console's memory.

Heights grow upwards and are those of the hero: 235 on the top platform, 192 on the middle one and the two ledges,
148 on the floor. He walks one unit a frame, and a jump carries him 20 units in 20 frames.
"""

from __future__ import annotations

from dataclasses import dataclass

from environments.games.atari import CENTRED, Stick

Move = tuple[Stick, int]
"""A position of the joystick and how many frames it is held."""

TOP, MIDDLE, FLOOR = 235, 192, 148
LEFT_LADDER, MIDDLE_LADDER, ROPE, RIGHT_LADDER = 21, 77, 109, 133
_LEAP = 13
"""How far off an oncoming skull is when the hero jumps over it (measured: 10 to 15 pass)."""
_LEFT: Stick = (-1, 0, False)
_RIGHT: Stick = (1, 0, False)
_UP: Stick = (0, -1, False)
_DOWN: Stick = (0, 1, False)


@dataclass(frozen=True, slots=True)
class Hero:
    """Where things are, in the console's units."""

    room: int
    x: int
    y: int
    dying: bool
    in_air: bool
    has_key: bool
    open_door: int
    """-1 if the left door is open, 1 if the right one is, else 0."""
    skull: int

    @property
    def outward(self) -> bool:
        """Whether he is on his way out."""
        return self.has_key or bool(self.open_door)

    @property
    def place(self) -> str:
        """The part of the room in which the hero stands, as a stage of the game; `start` where that says nothing."""
        if self.dying or self.in_air or self.y not in (MIDDLE, FLOOR):
            return "start"
        if self.y == FLOOR:
            return "past-skull" if self.x < 45 else "floor"
        return "left-ledge" if self.x < 45 else "middle" if self.x < 106 else "right-ledge"


def next_move(hero: Hero, drift: int) -> Move:
    """What to do now; `drift` is how far the skull rolls in eight frames, to the right if positive."""
    if hero.dying or hero.in_air:
        return CENTRED, 30 if hero.dying else 6
    if hero.x == ROPE and MIDDLE < hero.y < 220:
        return _off_the_rope(hero)
    if hero.y > MIDDLE:
        return _above(hero)
    if hero.y == MIDDLE:
        return _ledges(hero)
    if hero.y == FLOOR:
        return _floor(hero, drift)
    # On one of the lower ladders.
    up = (hero.x < 77) != hero.outward
    return (_UP if up else _DOWN), 50


def _walk(hero: Hero, x: int, then: Move) -> Move:
    """Walk to within two units of `x`, then do something there."""
    way = x - hero.x
    if abs(way) <= 2:
        return then
    return (_RIGHT if way > 0 else _LEFT), max(4, abs(way))


def _jump(direction: int) -> Move:
    return (direction, 0, True), 8


def _off_the_rope(hero: Hero) -> Move:
    if hero.y > 209:  # a jump from here ends in too deep a fall
        return _DOWN, 5
    return _jump(-1 if hero.outward else 1)


def _above(hero: Hero) -> Move:
    """The top platform with its two gaps, and the ladder in the middle."""
    if hero.y < TOP:
        return (_UP if hero.outward else _DOWN), 50
    side = -1 if hero.x < 62 else 1 if hero.x > 98 else 0
    out = (hero.open_door or side or 1) if hero.outward else 0
    if side == out:
        return ((side, 0, False), 40) if side else _walk(hero, MIDDLE_LADDER, (_DOWN, 50))
    if side:
        return _walk(hero, 53 if side < 0 else 107, _jump(-side))
    return _walk(hero, 86 if out > 0 else 69, _jump(out))


def _ledges(hero: Hero) -> Move:
    """The two ledges, and between them the platform that moves to the left, half as fast as the hero walks."""
    if hero.x < 45:
        if hero.outward:
            return _walk(hero, LEFT_LADDER, (_DOWN, 50))
        return _walk(hero, 11, ((0, 0, True), 8))
    if hero.x < 106:
        if hero.outward:
            if abs(hero.x - MIDDLE_LADDER) <= 3:
                return _UP, 50
            way = MIDDLE_LADDER - hero.x
            return (_RIGHT, 2 * way) if way > 0 else (_LEFT, max(4, -way * 2 // 3))
        return (_RIGHT, max(4, 2 * (95 - hero.x))) if hero.x < 93 else _jump(1)
    if hero.outward:
        return _walk(hero, 126, _jump(-1))
    return _walk(hero, RIGHT_LADDER, (_DOWN, 50))


def _floor(hero: Hero, drift: int) -> Move:
    """Across the floor, over the skull when it comes near."""
    direction, ladder = (1, RIGHT_LADDER) if hero.outward else (-1, LEFT_LADDER)
    gap = (hero.skull - hero.x) * direction
    step: Stick = (direction, 0, False)
    left = (ladder - hero.x) * direction
    if abs(left) <= 3:
        return (_DOWN if hero.outward and ladder == LEFT_LADDER else _UP), 50
    if left < 0:
        return ((-direction, 0, False)), max(4, -left)
    if gap < 0:
        return step, min(left, 30)
    if drift * direction > 0:  # it rolls away
        return (step, min(left, gap - 30)) if gap > 36 else (CENTRED, 16)
    closing = 1.0 + abs(drift) / 8
    frames = int((gap - _LEAP) / closing)
    if frames >= 4:
        return step, min(left, frames, 30)
    return _jump(direction) if gap >= 9 else ((-direction, 0, False), 8)
