"""Every error this package raises, as one tree.

    AgentsError
    ├── UnknownAgent          no such agent (also a LookupError); the message names the closest one
    ├── InvalidOptions        options that the agent does not take; `problems` lists them
    ├── UnreadableReply       a reply that holds no action; `act` turns it into a `Decision`
    └── ProviderError         the model's side failed: never a score; carries the calls made so far
        ├── ProviderTimeout       no answer in time
        ├── RateLimited           still refused after all retries
        ├── ServerError           5xx after all retries, or an answer that is no chat completion
        ├── BadRequest            the provider refuses the request itself (4xx): retrying is useless
        ├── AuthenticationFailed  no key, or a key that is not accepted
        ├── NetworkError          no connection
        ├── UnusableAnswer        a policy's answer that holds no action: an error, a wrong shape, a value out of range
        └── BudgetExceeded        a declared limit on calls, tokens or cost is used up

A reply that cannot be parsed, or a refusal by the model, never leaves `act` as an error: it is a `Decision`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.calls import ModelCall


class AgentsError(Exception):
    """Root of this package's errors."""


class UnknownAgent(AgentsError, LookupError):
    """No agent of that name."""


class InvalidOptions(AgentsError, ValueError):
    """Options an agent does not take. `problems` holds `(field, message)` pairs."""

    def __init__(self, agent: str, problems: list[tuple[str, str]]) -> None:
        self.agent = agent
        self.problems = problems
        super().__init__(agent, problems)  # the arguments themselves, so that pickling can make it anew

    def __str__(self) -> str:
        return f"agent {self.agent!r}: " + "; ".join(f"{field}: {message}" for field, message in self.problems)


class UnreadableReply(AgentsError, ValueError):
    """A reply that does not hold what was asked for. `problems` has one readable line per fault."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(problems)

    def __str__(self) -> str:
        return "; ".join(self.problems)


class ProviderError(AgentsError):
    """The model's side failed after all retries."""

    def __init__(self, message: str, calls: tuple[ModelCall, ...] = ()) -> None:
        self.calls = calls
        super().__init__(message)


class ProviderTimeout(ProviderError):
    """No answer within the timeout."""


class RateLimited(ProviderError):
    """Still rate-limited after all retries."""


class ServerError(ProviderError):
    """A 5xx answer after all retries, or an answer that is no chat completion.

    `status` is the HTTP status, or None where the connection broke in the middle of the answer.
    """

    def __init__(self, message: str, calls: tuple[ModelCall, ...] = (), *, status: int | None = None) -> None:
        self.status = status
        super().__init__(message, calls)


class BadRequest(ProviderError):
    """The provider refuses the request; retrying would not help."""


class AuthenticationFailed(ProviderError):
    """No key, or one that is not accepted."""


class NetworkError(ProviderError):
    """The endpoint could not be reached."""


class UnusableAnswer(ProviderError):
    """A policy server's answer that holds no action: its own error, a wrong shape, a value out of range."""


class BudgetExceeded(ProviderError):
    """A declared limit on calls, tokens or cost is used up; nothing was sent."""
