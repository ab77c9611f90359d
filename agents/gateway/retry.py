"""When to ask again, and after how long: the arena's one retry policy (the SDKs' own are off)."""

from __future__ import annotations

import datetime as dt
import email.utils
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from agents import errors


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as the gateway sees it; tests put in their own."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter; `Retry-After` is honoured.

    Source of "full jitter": M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """

    max_retries: int = 4
    total_s: float = 300.0
    """No attempt begins later than this after the first one."""
    base_s: float = 1.0
    """Upper bound of the first wait; it doubles from wait to wait."""
    longest_s: float = 60.0
    """Upper bound of every wait, those that the server asked for included."""

    def wait(self, retry: int, chance: random.Random, retry_after_s: float | None) -> float:
        """Seconds to wait before retry number `retry`, counted from 0."""
        if retry_after_s is not None:
            return min(self.longest_s, max(0.0, retry_after_s))
        # 2.0**1024 overflows; from 2**30 on the wait is `longest_s` anyway.
        return chance.uniform(0.0, min(self.longest_s, self.base_s * 2.0 ** min(retry, 30)))


def retryable(error: errors.ProviderError) -> bool:
    """Whether asking again may help: 429, 5xx, no answer in time, no connection."""
    if isinstance(error, errors.ServerError):
        return error.status is None or error.status >= 500
    return isinstance(error, errors.RateLimited | errors.ProviderTimeout | errors.NetworkError)


def parse_retry_after(value: str | None, now: dt.datetime) -> float | None:
    """Seconds from a `Retry-After` header: a number or an HTTP date (RFC 9110, 10.2.3); None if unreadable."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            then = email.utils.parsedate_to_datetime(value)
        except (ValueError, TypeError):
            return None
        then = then if then.tzinfo else then.replace(tzinfo=dt.UTC)
        return max(0.0, (then - now).total_seconds())
    return max(0.0, seconds) if seconds < float("inf") else None
