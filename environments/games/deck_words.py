"""What the last action did, in a line for the picture."""

from __future__ import annotations

from environments.games.deck_battle import Battle
from environments.games.deck_enemies import KINDS

_STATUSES = ("might", "weak", "exposed", "burn")


def moves_of(battle: Battle) -> str:
    """Who of the enemies does what when the turn ends: `Fog Witch: Curse`."""
    enemies = [battle.enemies[place] for place in battle.living]
    return ", ".join(f"{KINDS[enemy.kind].name} ({enemy.move.name})" for enemy in enemies)


def changes(before: Battle, after: Battle, block: bool = True) -> str:
    """What changed for the player and the enemies; `block` is left out where it comes and goes with the turn.

    A line of plain words such as `Marsh Rat -6 HP, you +5 block.`
    """
    pairs = [("you", before.player, after.player)]
    pairs += [(KINDS[a.kind].name, a, b) for a, b in zip(before.enemies, after.enemies, strict=True)]
    parts = []
    for name, old, new in pairs:
        amounts = [(new.hp - old.hp, "HP")]
        if block:
            amounts.append((new.block - old.block, "block"))
            amounts += [(getattr(new, status) - getattr(old, status), status.capitalize()) for status in _STATUSES]
        words = [f"{amount:+d} {what}" for amount, what in amounts if amount]
        if words:
            parts.append(f"{name} {' '.join(words)}")
        if old.alive and not new.alive:
            parts[-1] += ", beaten" if name != "you" else ""
    return ", ".join(parts) + "." if parts else "nobody loses HP." if not block else "done."
