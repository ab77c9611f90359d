"""A model call as it happened: exact request, exact reply, tokens, cost, time."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Purpose = Literal["act", "repair", "reflect", "judge", "diagnose", "extract", "probe"]
CallStatus = Literal[
    "ok", "refused", "truncated", "timeout", "rate_limited", "server_error", "bad_request", "network", "malformed"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a model and its outcome, retries included; never holds a key."""

    purpose: Purpose
    model: str
    endpoint: str = ""
    """Base URL, or the provider's name; without credentials."""
    request: Mapping[str, Any]
    """The request as sent; each image is replaced by {"artifact": sha256}, or {"half_of": sha256} of the whole one."""
    images: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict, repr=False, compare=False)
    """Those images by their address, (H, W, 3) uint8 RGB."""
    reply: Mapping[str, Any] | None = None
    """The reply as received; None if none came."""
    text: str = ""
    """What the model said: the arguments of its tool call, or else its message (model text: hostile)."""
    status: CallStatus = "ok"
    error: str = ""
    retries: int = 0
    latency_s: float = 0.0
    """Wall time of the call, retries and waiting included."""
    waited_s: float = 0.0
    """Of it, waiting before and between attempts (token bucket, back-off, Retry-After): not the model's thinking."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    cost_usd: decimal.Decimal | None = None
    """None is unknown, not zero."""
    cost_source: str = ""
    cached: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
