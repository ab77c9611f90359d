"""What a call cost: the provider's word, the given prices, or litellm's table. Unknown is None, never zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

Number = TypeVar("Number", int, Decimal)

_MILLION = Decimal(1_000_000)
MOST_USD = Decimal(1_000)
"""More than one call can cost, in US dollars: whoever reports more is not to be believed."""
MOST_TOKENS = 10**9
"""A thousand times the longest context there is; it also fits a column of 32 bits."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token, and where that is known from."""

    input_usd: Decimal
    output_usd: Decimal
    source: str

    @classmethod
    def per_million(cls, input_usd: Decimal, output_usd: Decimal, source: str) -> Price:
        """From dollars per million tokens, the form in which prices are published."""
        return cls(input_usd / _MILLION, output_usd / _MILLION, source)

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Cost of a call, in US dollars."""
        return self.input_usd * input_tokens + self.output_usd * output_tokens


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider says that a call took, as far as it can be believed. None is unknown."""

    input_tokens: int | None
    output_tokens: int | None
    cost_usd: Decimal | None
    """The cost that some routers report, in US dollars."""
    doubtful: str = ""
    """The first field that holds nonsense; its value stays in the reply."""


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """The counts and the cost of a reply's `usage`; a field that is missing or holds nonsense is unknown."""
    doubtful: list[str] = []

    def believed(name: str, read: Callable[[Any], Number | None]) -> Number | None:
        value = usage.get(name)
        if value is None:
            return None
        found = read(value)
        if found is None:
            doubtful.append(f"usage.{name}")
        return found

    tokens_in, tokens_out = believed("prompt_tokens", _tokens), believed("completion_tokens", _tokens)
    cost = believed("cost", _dollars)
    return Usage(tokens_in, tokens_out, cost, doubtful[0] if doubtful else "")


def _tokens(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= MOST_TOKENS else None


def _dollars(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return cost if cost.is_finite() and 0 <= cost <= MOST_USD else None
