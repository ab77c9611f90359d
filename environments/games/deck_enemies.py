"""Who waits on the lamplighter's road, and what they do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Move:
    """What an enemy does in its turn. Weak, exposed and burn go to the player, block and might to itself."""

    name: str
    damage: int = 0
    times: int = 1
    block: int = 0
    might: int = 0
    weak: int = 0
    exposed: int = 0
    burn: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of enemy."""

    name: str
    hp: tuple[int, int]
    """Least and most hit points."""
    moves: tuple[Move, ...]
    in_order: bool = False
    """Whether its moves follow one another in order; otherwise by chance, never the same twice running."""


KINDS: dict[str, Kind] = {
    "rat": Kind(
        "Marsh Rat",
        (28, 33),
        (Move("Bite", damage=8), Move("Gnaw", damage=4, times=2), Move("Scurry", damage=4, block=6)),
    ),
    "moth": Kind("Ash Moth", (15, 18), (Move("Flutter", damage=5), Move("Dust", damage=3, weak=1))),
    "bramble": Kind(
        "Bramble",
        (32, 37),
        (Move("Lash", damage=7), Move("Grow", might=2, block=6), Move("Snare", damage=5, exposed=1)),
    ),
    "sentry": Kind(
        "Tin Sentry",
        (46, 52),
        (Move("Slam", damage=12), Move("Brace", block=10, might=2), Move("Rattle", damage=5, times=2)),
    ),
    "witch": Kind(
        "Fog Witch",
        (42, 47),
        (Move("Curse", damage=4, weak=2), Move("Bolt", damage=12), Move("Cinder", damage=5, burn=3)),
    ),
    "thief": Kind(
        "Lamp Thief",
        (32, 36),
        (Move("Stab", damage=9), Move("Smoke", damage=4, block=8), Move("Trip", damage=4, exposed=2)),
    ),
    "ox": Kind(
        "Stone Ox",
        (78, 86),
        (Move("Charge", damage=18), Move("Stomp", damage=10, weak=2), Move("Snort", damage=6, might=2, block=8)),
    ),
    "gloom": Kind(
        "The Gloom",
        (100, 106),
        (
            Move("Shroud", damage=6, weak=2, exposed=2),
            Move("Crush", damage=16),
            Move("Swarm", damage=5, times=3),
            Move("Feed", might=2, block=14),
        ),
        in_order=True,
    ),
    "warden": Kind(
        "The Warden",
        (114, 120),
        (
            Move("Chain", damage=12, exposed=1),
            Move("Flail", damage=6, times=2),
            Move("Bulwark", might=3, block=16),
            Move("Verdict", damage=19),
        ),
        in_order=True,
    ),
    "furnace": Kind(
        "The Furnace",
        (108, 114),
        (
            Move("Scorch", damage=8, burn=3),
            Move("Stoke", damage=4, might=2, block=10),
            Move("Blast", damage=15),
            Move("Embers", damage=4, times=3, burn=2),
        ),
        in_order=True,
    ),
}

ROAD: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("rat",), ("bramble",), ("moth", "moth")),
    (("rat", "moth"), ("thief",), ("moth", "bramble")),
    (("sentry",), ("witch",), ("thief", "moth")),
    (("ox",), ("thief", "thief"), ("sentry", "moth"), ("witch", "rat")),
    (("gloom",), ("warden",), ("furnace",)),
)
"""For each fight of a run, who may be met there; the last one is the boss's."""
