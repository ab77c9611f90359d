"""What a call cost: the provider's word, the given prices, or litellm's table. Unknown is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

_MILLION = Decimal(1_000_000)


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


def reported_cost(usage: Mapping[str, Any]) -> Decimal | None:
    """The cost that some routers put into `usage.cost`, in US dollars."""
    value = usage.get("cost")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return cost if cost.is_finite() and cost >= 0 else None


def token_counts(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Input and output tokens as the provider counted them; None where it did not."""

    def count(name: str) -> int | None:
        value = usage.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    return count("prompt_tokens"), count("completion_tokens")
