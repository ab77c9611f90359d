"""What the servers demand of a request: each fault is told with the field, what came, and what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.policies.server.path import Refusal

SEED_KEY = "arena/seed"
"""A key of our own that a client may add, to say which seed it plays; no protocol has one."""


def picture(request: Mapping[str, Any], key: str) -> None:
    """Demand a picture, (H, W, 3) uint8.

    Raises:
        Refusal: if it is missing or something else.
    """
    value = present(request, key)
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 3 or value.shape[2] != 3:
        raise Refusal(f"{key!r} is {_told(value)}; expected a picture, (H, W, 3) uint8")


def numbers(request: Mapping[str, Any], key: str, size: int) -> NDArray[np.float32]:
    """Demand a vector of finite numbers, (size,); as float32, in which the arena observes.

    Raises:
        Refusal: if it is missing or something else.
    """
    value = present(request, key)
    try:
        vector = np.asarray(value)
    except ValueError:
        raise Refusal(f"{key!r} is a ragged list; expected ({size},) numbers") from None
    if vector.dtype.kind not in "iuf" or vector.shape != (size,) or not np.isfinite(vector).all():
        raise Refusal(f"{key!r} is {_told(value)}; expected ({size},) finite numbers")
    return vector.astype(np.float32)


def text(request: Mapping[str, Any], key: str) -> str:
    """Demand a text that is not empty.

    Raises:
        Refusal: if it is missing or something else.
    """
    value = present(request, key)
    if not isinstance(value, str) or not value.strip():
        raise Refusal(f"{key!r} is {_told(value)}; expected the instruction in words")
    return value


def present(request: Any, key: str) -> Any:
    """Demand a key.

    Raises:
        Refusal: if the request is no map or has no such key; it lists those that it has.
    """
    if not isinstance(request, Mapping):
        raise Refusal(f"the request is {_told(request)}; expected a map")
    if key not in request:
        raise Refusal(
            f"there is no {key!r}; the request has {', '.join(sorted(str(k)[:40] for k in request)) or 'nothing'}"
        )
    return request[key]


def _told(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    return f"{type(value).__name__} {str(value)[:40]!r}"
