"""What every protocol's client does: begin an episode, ask for a chunk, say what failed in words that help."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.gateway.retry import Clock, RetryPolicy
from agents.gateway.secrets import SHORTEST, Mask
from agents.policies.chunks import Rows
from agents.policies.options import PolicyOptions
from agents.policies.sight import Sight

QUOTED = 600
"""Characters of a server's own words that a message repeats: a traceback says it in its last lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """What a server may be told of an episode."""

    session: str
    """An id of its own, 32 hexadecimal digits; the same when an interrupted episode goes on."""
    task: str
    instruction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A chunk as the policy said it, and what is to be noted of it."""

    rows: Rows
    """(H, 7) float64, in the policy's own conventions."""
    name: str
    """How the protocol calls the field, for messages."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """JSON values."""


class PolicyClient(ABC):
    """The near end of one protocol. It raises `ProviderError`s, or `WireError` for an answer that is no answer."""

    default_replan: int | None = None
    """Steps that the server itself wants executed of a chunk, where its protocol can say so."""

    def __init__(self, options: PolicyOptions, clock: Clock | None = None) -> None:
        self.options = options
        self.clock = clock or Clock()
        key = options.key() or ""
        self._mask = Mask(key)
        self._key = key if len(key) >= SHORTEST else ""

    @abstractmethod
    def begin(self, episode: Episode) -> str:
        """Let the policy forget what it has seen; returns by which means, for the record.

        Called before the first request of an episode, after a rollback, and when an interrupted episode goes on.

        Raises:
            ProviderError: if the server cannot be reached or refuses.
            WireError: if it greets with something that the protocol does not know.
        """

    @abstractmethod
    def ask(self, sight: Sight) -> Answer:
        """The next chunk.

        Raises:
            ProviderError: if the server failed.
            WireError: if the answer holds no chunk.
        """

    @abstractmethod
    def drop(self) -> None:
        """End the connection, if there is one: after an error a late answer must not be taken for the next one."""

    def retry_policy(self) -> RetryPolicy:
        """How patiently connections are tried again."""
        return RetryPolicy(max_retries=self.options.retries, total_s=600.0, base_s=0.5, longest_s=10.0)

    def blotted(self, message: bytes) -> bytes:
        """A server's message with our key, should it hold it, blotted out; as long as before, so that it can be read.

        What a message holds is told in errors and kept in records, cut short and in many places: there it is too late.
        """
        key = self._key.encode()
        return message.replace(key, b"*" * len(key)) if key else message

    def quoted(self, text: str) -> str:
        """A server's own words: the end of them, on one line, escaped, without keys."""
        words = self._mask.text(text.strip()[-4 * QUOTED :])
        return json.dumps(words if len(words) <= QUOTED else "..." + words[-QUOTED:])


def timing(value: Any) -> dict[str, float]:
    """The numbers of a server's timing report; whatever else it holds is left out."""
    if not isinstance(value, Mapping):
        return {}
    kept = {
        str(name)[:40]: float(number) for name, number in list(value.items())[:16] if isinstance(number, int | float)
    }
    return {name: round(number, 3) for name, number in kept.items() if math.isfinite(number)}
