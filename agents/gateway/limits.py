"""What may be used: requests and tokens a minute, and budgets of calls, tokens and dollars."""

from __future__ import annotations

import decimal
import threading
from dataclasses import dataclass, field
from decimal import Decimal

from agents.errors import BudgetExceeded
from agents.gateway.retry import Clock


class TokenBucket:
    """Lets `per_minute` units through a minute; full at the start. Shared by threads.

    Units may be owed: a caller is let through into debt and told how long to wait, so that callers
    are served in order of arrival, and a request larger than the bucket still passes once.
    """

    def __init__(self, per_minute: float, clock: Clock) -> None:
        if per_minute <= 0:
            raise ValueError(f"per_minute must be positive, got {per_minute}")
        self.per_minute = per_minute
        self._clock = clock
        self._level = float(per_minute)
        self._at = clock.monotonic()
        self._lock = threading.Lock()

    def take(self, units: float) -> float:
        """Take units; returns the seconds to wait before using them."""
        with self._lock:
            now = self._clock.monotonic()
            self._level = min(self.per_minute, self._level + (now - self._at) * self.per_minute / 60.0)
            self._at = now
            self._level -= units
            return max(0.0, -self._level * 60.0 / self.per_minute)

    def give_back(self, units: float) -> None:
        """Correct an estimate: return units that were not used (negative: take more)."""
        with self._lock:
            self._level = min(self.per_minute, self._level + units)


_shared: dict[tuple[str, str, float], TokenBucket] = {}
_shared_lock = threading.Lock()


def shared_bucket(what: str, owner: str, per_minute: float, clock: Clock) -> TokenBucket:
    """The process's one bucket for an endpoint and model: every agent of an evaluation draws from it."""
    with _shared_lock:
        return _shared.setdefault((what, owner, per_minute), TokenBucket(per_minute, clock))


@dataclass
class Budget:
    """A limit on what a player, an episode or an experiment may use. Shared by threads.

    `check` binds before a call is sent: the call's own worst case must still fit.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: Decimal | None = None
    calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def check(self, tokens: int, cost_usd: Decimal | None) -> None:
        """Refuse a call that would break a limit.

        Args:
            tokens: the most that the call may take.
            cost_usd: the most that it may cost; None is unknown.

        Raises:
            BudgetExceeded: naming the limit, what is used, and what the call would need.
        """
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise BudgetExceeded(f"max_calls: {self.calls} of {self.max_calls} calls are used; nothing was sent")
            if self.max_tokens is not None and self.tokens + tokens > self.max_tokens:
                used = f"{self.tokens} of {self.max_tokens} tokens are used"
                raise BudgetExceeded(f"max_tokens: {used} and this call may take {tokens}; nothing was sent")
            if self.max_cost_usd is None:
                return
            if cost_usd is None:
                raise BudgetExceeded(
                    "max_cost_usd is set and this model's price is unknown; give prices or drop the limit; "
                    "nothing was sent"
                )
            if self.cost_usd + cost_usd > self.max_cost_usd:
                used = f"{_usd(self.cost_usd)} of {_usd(self.max_cost_usd)} US dollars are used"
                raise BudgetExceeded(f"max_cost_usd: {used} and this call may cost {_usd(cost_usd)}; nothing was sent")

    def spend(self, tokens: int, cost_usd: Decimal | None) -> None:
        """Note a call that was sent. Where the provider did not say, give the worst case."""
        with self._lock:
            self.calls += 1
            self.tokens += tokens
            self.cost_usd += cost_usd or Decimal(0)


def _usd(amount: Decimal) -> str:
    return format(amount.quantize(Decimal("0.000001"), rounding=decimal.ROUND_HALF_UP).normalize(), "f")
