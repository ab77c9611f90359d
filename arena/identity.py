"""What an episode is called: a versioned hash of everything that changes its result.

The same string comes from a plan and from a stored row, because both hash the same specification.
Not part of it: run, experiment name, condition, worker, order, timeouts, keys, versions of packages
(those are in `Run.host`). Two conditions that ask for the very same attempt share one episode.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

VERSION = 1
"""Raise it when the meaning of a field of the specification changes."""


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text.

    Raises:
        ValueError: for NaN or infinity, which JSON cannot hold.
        TypeError: for values that are not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any, length: int = 24) -> str:
    """The first `length` hex digits of the SHA-256 of the canonical form."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:length]


def identity(spec: dict[str, Any]) -> str:
    """The identity of an episode specification, for example `e1-6f0c...`."""
    return f"e{VERSION}-{digest(spec)}"


def derived_seed(identity_: str, purpose: str) -> int:
    """A 63-bit seed for one purpose of one episode: never of a worker, an order or a clock."""
    return int(digest([identity_, purpose], 16), 16) >> 1


def player_seed(spec: dict[str, Any]) -> int:
    """The seed of a player's own chance: the same in all conditions that differ in who watches it alone.

    Whether a diagnoser rescued an episode or broke it can only be told beside the same player in the same mood.

    Args:
        spec: an episode's specification.
    """
    return derived_seed(identity({**spec, "supervision": None}), "agent")
