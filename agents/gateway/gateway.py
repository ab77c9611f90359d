"""The one door to every model: sends, waits, asks again, counts, and writes down what happened."""

from __future__ import annotations

import functools
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agents import errors
from agents.calls import CallStatus, ModelCall
from agents.gateway.backends import Backend, ContentRefused, Failure, LiteLLMBackend, OpenAIBackend
from agents.gateway.cache import CallCache
from agents.gateway.limits import Budget, TokenBucket, shared_bucket
from agents.gateway.messages import ModelRequest
from agents.gateway.pricing import MOST_USD, Price, Usage, read_usage
from agents.gateway.retry import Clock, RetryPolicy, parse_retry_after, retryable
from agents.gateway.secrets import Mask
from agents.gateway.settings import GatewaySettings

OWN_ENDPOINT = "n/a: own endpoint"
"""`cost_source` where nobody charges by the token, or the arena cannot know."""
MOST_SAID = 2_000
"""Characters of an error that are told and kept: a server's own words are among them."""


@dataclass
class _Attempts:
    """What happened while a call was made."""

    started: float
    waited_s: float = 0.0
    retries: int = 0
    reply: dict[str, Any] | None = None
    error: str = ""
    status: CallStatus = "ok"
    text: str = ""
    failure: errors.ProviderError | None = field(default=None, repr=False)


class ModelGateway:
    """A model at an endpoint.

    Every call that was sent becomes a `ModelCall`, failed ones in `ProviderError.calls`. Refusals
    and truncated replies are answers: the call's `status` says so.

    Args:
        settings: which model, where, and how.
        budgets: limits that bind all calls together; the first one that is used up refuses the call.
        cache: where accepted answers are kept, if anywhere.
        clock: time; tests put in their own.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        budgets: Sequence[Budget] = (),
        cache: CallCache | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings
        self.budgets = tuple(budgets)
        self.cache = cache
        self.clock = clock or Clock()
        self.policy = RetryPolicy(max_retries=settings.max_retries, total_s=settings.total_timeout_s)
        self._key = settings.key()
        self._mask = Mask(self._key)
        self._backend: Backend = (
            OpenAIBackend(settings.base_url or "", self._key)
            if settings.way == "openai"
            else LiteLLMBackend(settings.base_url, self._key)
        )
        owner = f"{settings.endpoint} {settings.model}"
        self._requests = self._bucket("requests", owner, settings.requests_per_minute)
        self._tokens = self._bucket("tokens", owner, settings.tokens_per_minute)

    def __repr__(self) -> str:
        return f"ModelGateway({self.settings.model!r} at {self.settings.endpoint})"

    def complete(
        self,
        request: ModelRequest,
        accept: Callable[[str], bool] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> ModelCall:
        """Ask, and ask again where that may help.

        Args:
            request: the question.
            accept: whether an answer's text is valid; only such answers are kept in the cache.
            meanwhile: work for the time of waiting, called once when the request is under way; never if it is not sent.

        Returns:
            The call, with status `ok`, `refused` or `truncated`.

        Raises:
            BudgetExceeded: a budget has no room for it; nothing was sent.
            AuthenticationFailed: no key, or one that is not accepted.
            ProviderError: the model's side failed, after all retries; `calls` holds the call.
        """
        # It hashes the pictures: nothing that the model should wait for.
        recorded = functools.cache(lambda: self._recorded(request))
        key = ""
        if self.cache:
            key = self.cache.key(self.settings.way, self.settings.endpoint, recorded(), request.repeat)
            if self._cacheable(request) and (kept := self.cache.get(key)) is not None:
                return self._cached_call(request, recorded(), kept)
        if self.settings.key_env and self._key is None:
            raise errors.AuthenticationFailed(f"environment variable {self.settings.key_env} (`key_env`) is not set")
        price = self._price()
        estimate = request.estimated_tokens()
        worst = price.cost(max(0, estimate - request.max_tokens), request.max_tokens) if price else None
        for budget in self.budgets:
            budget.check(estimate, worst)

        def aside() -> None:
            recorded()
            if meanwhile is not None:
                meanwhile()

        attempts = self._attempt(request, recorded, estimate, aside)
        call = self._call(request, recorded(), attempts, price)
        for budget in self.budgets:
            budget.spend(*_spent(call, estimate, worst))
        if attempts.failure is not None:
            attempts.failure.calls = (call,)
            raise attempts.failure from None
        if self.cache and self._cacheable(request) and call.status == "ok" and (accept is None or accept(call.text)):
            self.cache.put(key, call.reply or {})
        return call

    def _attempt(
        self, request: ModelRequest, recorded: Callable[[], Mapping[str, Any]], estimate: int, aside: Callable[[], None]
    ) -> _Attempts:
        """Send until there is an answer, an error that asking again cannot mend, or patience ends."""
        attempts = _Attempts(started=self.clock.monotonic())
        chance: random.Random | None = None
        body = request.body(self.settings.model, tokens_field=self._backend.tokens_field)
        begun: float | None = None
        while True:
            attempts.waited_s += self._take_turn(estimate)
            begun = self.clock.monotonic() if begun is None else begun
            try:
                todo = None if attempts.retries else aside
                attempts.reply = self._mask.json(self._backend.send(body, request.timeout_s, todo))
            except ContentRefused as refusal:
                attempts.status, attempts.error = "refused", self._said(refusal)
                return attempts
            except Failure as failure:
                if chance is None:
                    # Seeded by the question: repeated runs wait alike, different questions at one endpoint do not.
                    chance = random.Random(hashlib.sha256(json.dumps(recorded(), sort_keys=True).encode()).digest())
                wait = self._next_wait(failure, attempts.retries, chance, begun)
                if wait is None:
                    attempts.failure = self._told(failure.error, attempts.retries)
                    attempts.status, attempts.error = _status_of(failure.error), str(attempts.failure)
                    return attempts
            else:
                attempts.status, attempts.text, attempts.error = read_reply(attempts.reply or {})
                self._correct_tokens(attempts.reply or {}, estimate)
                return attempts
            self.clock.sleep(wait)
            attempts.waited_s += wait
            attempts.retries += 1

    def _next_wait(self, failure: Failure, retries: int, chance: random.Random, begun: float) -> float | None:
        """Seconds until the next attempt, or None if there is to be none."""
        if not retryable(failure.error) or retries >= self.policy.max_retries:
            return None
        after = parse_retry_after(failure.retry_after, self.clock.now())
        wait = self.policy.wait(retries, chance, after)
        return None if self.clock.monotonic() + wait - begun > self.policy.total_s else wait

    def _take_turn(self, estimate: int) -> float:
        """Wait for the token buckets; returns the seconds waited."""
        waits = [self._requests.take(1) if self._requests else 0.0, self._tokens.take(estimate) if self._tokens else 0]
        wait = max(waits)
        if wait > 0:
            self.clock.sleep(wait)
        return wait

    def _correct_tokens(self, reply: Mapping[str, Any], estimate: int) -> None:
        usage = read_usage(_usage(reply))
        if self._tokens and usage.input_tokens is not None and usage.output_tokens is not None:
            self._tokens.give_back(estimate - usage.input_tokens - usage.output_tokens)

    def _call(
        self, request: ModelRequest, recorded: dict[str, Any], attempts: _Attempts, price: Price | None
    ) -> ModelCall:
        usage = _usage(attempts.reply or {})
        known = read_usage(usage)
        cost, source = self._cost(known, price)
        if attempts.reply is None:
            cost, source = None, "unknown: no answer"
        return ModelCall(
            purpose=request.purpose,
            model=self.settings.model,
            endpoint=self.settings.endpoint,
            request=recorded,
            images=request.images,
            reply=attempts.reply,
            text=attempts.text,
            status=attempts.status,
            error=attempts.error,
            retries=attempts.retries,
            latency_s=self.clock.monotonic() - attempts.started,
            waited_s=attempts.waited_s,
            input_tokens=known.input_tokens,
            output_tokens=known.output_tokens,
            usage=usage,
            cost_usd=cost,
            cost_source=source,
        )

    def _cached_call(self, request: ModelRequest, recorded: dict[str, Any], reply: dict[str, Any]) -> ModelCall:
        """A call that was answered from the cache: it took no tokens and cost nothing."""
        status, text, error = read_reply(reply)
        return ModelCall(
            purpose=request.purpose,
            model=self.settings.model,
            endpoint=self.settings.endpoint,
            request=recorded,
            images=request.images,
            reply=reply,
            text=text,
            status=status,
            error=error,
            input_tokens=0,
            output_tokens=0,
            cost_usd=Decimal(0),
            cost_source="cache",
            cached=True,
        )

    def _cost(self, usage: Usage, price: Price | None) -> tuple[Decimal | None, str]:
        """What a call cost, and whose word that is, in 60 characters at most."""
        doubt = f"{usage.doubtful} is not believed" if usage.doubtful else ""
        if usage.cost_usd is not None:
            return usage.cost_usd, f"provider; {doubt}" if doubt else "provider"
        if doubt:
            return None, f"unknown: {doubt}"
        if price is None:
            return None, OWN_ENDPOINT if self.settings.base_url else "unknown: no price for this model"
        if usage.input_tokens is None or usage.output_tokens is None:
            return None, "unknown: the provider reported no usage"
        cost = price.cost(usage.input_tokens, usage.output_tokens)
        return (cost, price.source) if cost <= MOST_USD else (None, f"unknown: above {MOST_USD} US dollars a call")

    def _price(self) -> Price | None:
        if self.settings.input_price is not None and self.settings.output_price is not None:
            return Price.per_million(self.settings.input_price, self.settings.output_price, "options")
        # A table of list prices says nothing about somebody's own endpoint.
        return None if self.settings.base_url else self._backend.price(self.settings.model)

    def _recorded(self, request: ModelRequest) -> dict[str, Any]:
        body = request.body(self.settings.model, tokens_field=self._backend.tokens_field, recorded=True)
        masked: dict[str, Any] = self._mask.json(body)
        return masked

    def _told(self, error: errors.ProviderError, retries: int) -> errors.ProviderError:
        """The error with the model's name, the endpoint and the number of attempts, without keys."""
        tried = f" (tried {retries + 1} times)" if retries else ""
        hint = ""
        if isinstance(error, errors.AuthenticationFailed) and self.settings.key_variable:
            hint = f"; the key is read from {self.settings.key_variable}" + ("" if self._key else ", which is not set")
        message = f"{self.settings.model} at {self.settings.endpoint}: {self._said(error)}{tried}{hint}"
        if isinstance(error, errors.ServerError):
            return errors.ServerError(message, status=error.status)
        return type(error)(message)

    def _said(self, error: Exception) -> str:
        """An error's words, a server's among them: without keys, bounded, with nothing that moves a cursor."""
        words = self._mask.text(str(error))
        kept = words if len(words) <= MOST_SAID else f"{words[:MOST_SAID]}..."
        return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in kept)

    def _cacheable(self, request: ModelRequest) -> bool:
        return self.cache is not None and (request.temperature == 0 or self.cache.sampled)

    def _bucket(self, what: str, owner: str, per_minute: float | None) -> TokenBucket | None:
        return shared_bucket(what, owner, per_minute, self.clock) if per_minute else None


def read_reply(reply: Mapping[str, Any]) -> tuple[CallStatus, str, str]:
    """Status, text and error of a chat completion, whatever the server filled in.

    The text is that of the first tool call's arguments, or else the message itself: models that
    were asked for a tool call at times answer in words, and the parser reads both.
    """
    choice = reply["choices"][0]
    message = choice["message"]
    text = _tool_arguments(message) or _content(message)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return "refused", text or refusal, refusal
    if choice.get("finish_reason") == "content_filter":
        return "refused", text, "the provider's content filter stopped the answer"
    if choice.get("finish_reason") == "length":
        return "truncated", text, "the answer was cut off at its longest permitted length"
    return "ok", text, ""


def _tool_arguments(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(arguments, dict):  # some servers send the object itself
        return json.dumps(arguments)
    return arguments if isinstance(arguments, str) else ""


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):  # content parts
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _usage(reply: Mapping[str, Any]) -> dict[str, Any]:
    usage = reply.get("usage")
    return dict(usage) if isinstance(usage, dict) else {}


def _spent(call: ModelCall, estimate: int, worst: Decimal | None) -> tuple[int, Decimal | None]:
    """Tokens and dollars to count against budgets: the worst case where nobody told."""
    if call.reply is None and call.status != "timeout":  # refused before any work; a timeout may be billed
        return 0, Decimal(0)
    known = call.input_tokens is not None and call.output_tokens is not None
    tokens = (call.input_tokens or 0) + (call.output_tokens or 0) if known else estimate
    return tokens, call.cost_usd if call.cost_usd is not None else worst


def _status_of(error: errors.ProviderError) -> CallStatus:
    match error:
        case errors.ProviderTimeout():
            return "timeout"
        case errors.RateLimited():
            return "rate_limited"
        case errors.NetworkError():
            return "network"
        case errors.ServerError():
            return "server_error" if error.status is None or error.status >= 400 else "malformed"
        case _:
            return "bad_request"
