"""How the expert of Crab Coast plays: it counts what each lane needs, and what is on its way to it."""

from __future__ import annotations

from typing import Any

from environments.games.lanes_beach import COLUMNS, CRABS, DEFENDERS, LANES, UNIT, Beach, Defender, Kind

_OYSTERS = 5
_LOOK_AHEAD = 50
"""Steps that the expert sees into the schedule."""


def plan(beach: Beach) -> dict[str, Any]:
    """The next action, as JSON."""
    if len(beach.pearls) >= 4 or any(pearl.left < 12 for pearl in beach.pearls):
        return {"do": "gather"}
    return _rescue(beach) or _arm(beach) or _earn(beach) or _spend(beach) or _pass_time(beach)


def _pass_time(beach: Beach) -> dict[str, Any]:
    if len(beach.pearls) >= 2:
        return {"do": "gather"}
    busy = any(crab.x < 4 * UNIT for crab in beach.crabs)
    return {"do": "wait", "ms": 1200 if busy else 2000}


def _rescue(beach: Beach) -> dict[str, Any] | None:
    """A rock or a geyser before whoever is about to arrive."""
    near = sorted((crab for crab in beach.crabs if crab.x < 4 * UNIT), key=lambda crab: crab.x)
    for crab in near:
        if _power(beach, crab.lane) * (crab.x // CRABS[crab.kind].speed) >= 2 * crab.health and crab.x > 2 * UNIT:
            continue
        column = max(0, min(COLUMNS - 1, crab.x // UNIT))
        for kind, shift in (("geyser", 0), ("geyser", -1), ("rock", -1), ("rock", 0)):
            move = _put(beach, kind, crab.lane, column + shift)
            if move:
                return move
    return None


def _arm(beach: Beach) -> dict[str, Any] | None:
    """A squid in the lane whose crabs outweigh its squids the most."""
    needs = sorted(((_need(beach, lane), -lane) for lane in range(LANES)), reverse=True)
    for need, minus_lane in needs:
        if need <= 0:
            return None
        move = _put_left(beach, "squid", -minus_lane, 1)
        if move:
            return move
        if beach.purse < DEFENDERS["squid"].cost and len(_of(beach, "oyster")) >= 2:
            return _wait_or_gather(beach)
    return None


def _wait_or_gather(beach: Beach) -> dict[str, Any]:
    return {"do": "gather"} if beach.pearls else {"do": "wait", "ms": 1200}


def _earn(beach: Beach) -> dict[str, Any] | None:
    if len(_of(beach, "oyster")) >= _OYSTERS or beach.time > 400:
        return None
    lanes = sorted(range(LANES), key=lambda lane: sum(d.lane == lane for d in _of(beach, "oyster")))
    return _put(beach, "oyster", lanes[0], 0)


def _spend(beach: Beach) -> dict[str, Any] | None:
    """With pearls to spare: squids where there are fewest, then rocks before them."""
    if beach.purse < 175:
        return None
    lanes = sorted(range(LANES), key=lambda lane: _power(beach, lane))
    move = _put_left(beach, "squid", lanes[0], 1) if _power(beach, lanes[0]) < 5 else None
    if move:
        return move
    for lane in lanes:
        if not any(d.lane == lane for d in _of(beach, "rock")):
            return _put(beach, "rock", lane, 5)
    return None


def _need(beach: Beach, lane: int) -> float:
    """Health of the crabs in a lane, on the beach and soon, beyond what its squids take until they arrive."""
    soon = [c for c in beach.schedule[beach.entered :] if c.lane == lane and c.step < beach.time + _LOOK_AHEAD]
    coming = [*((c.health, c.x, c.kind) for c in beach.crabs if c.lane == lane),
              *((CRABS[c.kind].health, COLUMNS * UNIT, c.kind) for c in soon)]  # fmt: skip
    if not coming:
        return 0.0
    steps = min((x - 2 * UNIT) // CRABS[kind].speed for _, x, kind in coming)
    return float(sum(health for health, _, _ in coming)) - 0.8 * _power(beach, lane) * max(0, steps)


def _power(beach: Beach, lane: int) -> float:
    """Health that the squids of a lane take in a step."""
    model = DEFENDERS["squid"]
    return sum(d.lane == lane for d in _of(beach, "squid")) * model.force / model.every


def _of(beach: Beach, kind: Kind) -> list[Defender]:
    return [defender for defender in beach.defenders if defender.kind == kind]


def _put_left(beach: Beach, kind: Kind, lane: int, first: int) -> dict[str, Any] | None:
    """On the leftmost free cell of a lane that no crab has reached."""
    limit = min((crab.x // UNIT for crab in beach.crabs if crab.lane == lane), default=COLUMNS)
    for column in range(first, min(limit, COLUMNS)):
        move = _put(beach, kind, lane, column)
        if move:
            return move
    return None


def _put(beach: Beach, kind: Any, lane: int, column: int) -> dict[str, Any] | None:
    model = DEFENDERS[kind]
    ready = not beach.cooldowns[kind] and beach.purse >= model.cost
    if not ready or not 0 <= column < COLUMNS or beach.at(lane, column) or [lane, column] in beach.pools:
        return None
    return {"do": "place", "defender": kind, "lane": lane + 1, "column": column + 1}
