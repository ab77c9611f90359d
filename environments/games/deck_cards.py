"""The cards of the lamplighter: what they cost and do, and their sharpened forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Card:
    """What a card does, in the order of the fields from `damage` on."""

    name: str
    cost: int
    target: Literal["enemy", "all", "self"]
    damage: int = 0
    times: int = 1
    bash: bool = False
    """Its damage is the block that the player has."""
    heal: int = 0
    block: int = 0
    weak: int = 0
    exposed: int = 0
    burn: int = 0
    might: int = 0
    energy: int = 0
    draw: int = 0
    once: bool = False
    """Played, it is gone for the rest of the fight."""


STARTERS = ("jab",) * 4 + ("guard",) * 4 + ("flare",)
"""The deck at the start of a run."""

_BASIC: dict[str, tuple[Card, dict[str, int]]] = {
    "jab": (Card("Jab", 1, "enemy", damage=6), {"damage": 9}),
    "guard": (Card("Guard", 1, "self", block=5), {"block": 8}),
    "flare": (Card("Flare", 2, "enemy", damage=8, exposed=2), {"damage": 10, "exposed": 3}),
    "sweep": (Card("Sweep", 1, "all", damage=7), {"damage": 10}),
    "twin-cut": (Card("Twin Cut", 1, "enemy", damage=4, times=2), {"damage": 6}),
    "lunge": (Card("Lunge", 2, "enemy", damage=15), {"damage": 20}),
    "nick": (Card("Nick", 0, "enemy", damage=4), {"damage": 6}),
    "drain": (Card("Drain", 2, "enemy", damage=9, heal=4), {"damage": 11, "heal": 6}),
    "bash": (Card("Bash", 1, "enemy", bash=True), {"cost": 0}),
    "rampart": (Card("Rampart", 2, "self", block=13), {"block": 17}),
    "sidestep": (Card("Sidestep", 1, "self", block=6, draw=1), {"block": 9}),
    "riposte": (Card("Riposte", 1, "enemy", damage=5, block=5), {"damage": 7, "block": 7}),
    "hex": (Card("Hex", 1, "enemy", weak=2, exposed=1), {"weak": 3, "exposed": 2}),
    "kindle": (Card("Kindle", 1, "enemy", burn=5), {"burn": 7}),
    "wildfire": (Card("Wildfire", 2, "all", burn=6), {"burn": 9}),
    "focus": (Card("Focus", 1, "self", might=2, once=True), {"might": 3}),
    "breath": (Card("Breath", 0, "self", draw=2, once=True), {"draw": 3}),
    "spark": (Card("Spark", 0, "self", energy=2, once=True), {"energy": 3}),
}

CARDS: dict[str, Card] = {name: card for name, (card, _) in _BASIC.items()} | {
    f"{name}+": replace(card, name=f"{card.name}+", **sharper)  # type: ignore[arg-type]
    for name, (card, sharper) in _BASIC.items()
}
"""All cards by id; the id of a sharpened one ends in +."""

REWARDS = tuple(name for name in _BASIC if name not in STARTERS)
"""What may be offered after a fight."""


def describe(card: Card, might: int = 0, weak: bool = False, block: int | None = None) -> list[str]:
    """What stands on the card: a line for each effect, with the damage that it does at present.

    `might`, `weak` and `block` are the player's in a fight; outside of fights there is no block to tell.
    """
    lines = []
    if card.bash and block is None:
        lines += ["Deal as much", "as you block"]
    elif card.damage or card.bash:
        hit = might + (block or 0 if card.bash else card.damage)
        lines.append(f"Deal {hit * 3 // 4 if weak else hit}" + (f" x {card.times}" if card.times > 1 else ""))
        lines += ["your block"] if card.bash else []
    if card.target == "all":
        lines.append("to all foes" if card.damage else "All foes:")
    for label, amount in (
        ("Heal", card.heal),
        ("Block", card.block),
        ("Weak", card.weak),
        ("Exposed", card.exposed),
        ("Burn", card.burn),
        ("Might +", card.might),
        ("Energy +", card.energy),
        ("Draw", card.draw),
    ):
        if amount:
            lines.append(f"{label}{amount}" if label.endswith("+") else f"{label} {amount}")
    if card.once:
        lines.append("Used up")  # as the pile is called that it goes to
    return lines
