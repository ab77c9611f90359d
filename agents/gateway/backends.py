"""The two ways out: litellm for the providers, the openai SDK for any OpenAI-compatible URL.

Both libraries are imported on the first call: importing this module needs neither them nor a
network. litellm's exceptions are subclasses of the openai SDK's, so one translation serves both.
"""

from __future__ import annotations

import functools
import json
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NoReturn, Protocol, TypeVar
from urllib.parse import urlsplit

from agents import errors
from agents.gateway import bodies
from agents.gateway.clients import litellm_module, openai_client
from agents.gateway.clips import as_files, has_video
from agents.gateway.pricing import Price
from agents.gateway.secrets import Mask

T = TypeVar("T")

_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached"}
"""HTTP 429 that no waiting mends: nothing is left on the account."""


FRAMES_INSTEAD = "set `video: frames` to send the same pictures one by one"

_DEEPEST = 100
"""Levels of a reply: ten times what any provider needs, a tenth of what Python's stack bears."""


class ContentRefused(Exception):
    """The provider's content filter stopped the request: the model's refusal, not a failure."""


@dataclass
class Failure(Exception):
    """A failed attempt: the error it amounts to, and what the server asked for."""

    error: errors.ProviderError
    retry_after: str | None = None

    def __str__(self) -> str:
        return str(self.error)


class Backend(Protocol):
    """One way to send a chat completion. It never retries."""

    @property
    def tokens_field(self) -> str:
        """Name of the field that bounds the answer's length."""

    def send(
        self, body: Mapping[str, Any], timeout_s: float, meanwhile: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """Send a request and return the reply's JSON; `meanwhile` is called once it is under way.

        Raises:
            Failure: the attempt failed.
            ContentRefused: a content filter stopped it.
        """

    def price(self, model: str) -> Price | None:
        """What the model's tokens cost, if that is known."""


@dataclass
class OpenAIBackend:
    """Any server that speaks OpenAI's chat completions, through the openai SDK."""

    base_url: str
    api_key: str | None = field(repr=False)

    @functools.cached_property
    def _mask(self) -> Mask:
        return Mask(self.api_key)

    @property
    def tokens_field(self) -> str:
        """OpenAI's own models refuse `max_tokens`; other servers often know nothing else."""
        return "max_completion_tokens" if urlsplit(self.base_url).hostname == "api.openai.com" else "max_tokens"

    def send(
        self, body: Mapping[str, Any], timeout_s: float, meanwhile: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """Send it; the reply is the server's JSON, not the SDK's reading of it.

        By the SDK's plain `post`: `chat.completions.create` first walks through the whole body, pictures and all, and
        takes 1.8 ms where this takes 0.8 (measured with two pictures).
        """
        import httpx  # the SDK's own transport

        if urlsplit(self.base_url).hostname == "api.openai.com" and has_video(body):
            raise Failure(errors.BadRequest(f"this endpoint takes no video; {FRAMES_INSTEAD}"))
        client = openai_client(self.base_url, self.api_key)
        options = {"timeout": timeout_s}
        try:
            raw = translated(
                lambda: client.post("/chat/completions", body=body, cast_to=httpx.Response, options=options),
                timeout_s,
                meanwhile,
            )
        except Failure as failure:
            if isinstance(failure.error, errors.BadRequest) and has_video(body):
                raise Failure(errors.BadRequest(f"{failure} (if it takes no video: {FRAMES_INSTEAD})")) from None
            raise
        # Before the body is cut anywhere: half a key would not be known as one.
        text = self._mask.known(raw.text)
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            _no_completion(raw.status_code, f"its body is no JSON: {text[:120]!r}")
        return checked(reply, raw.status_code)

    def price(self, model: str) -> Price | None:
        """Unknown: the endpoint is somebody's own."""
        return None


@dataclass
class LiteLLMBackend:
    """The providers that litellm knows; the model's name chooses, as in `anthropic/...` or `gemini/...`."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    tokens_field: str = "max_tokens"

    def send(
        self, body: Mapping[str, Any], timeout_s: float, meanwhile: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """Send it; the reply is in OpenAI's form, as litellm translates it."""
        litellm = litellm_module()
        own: dict[str, Any] = {"base_url": self.base_url, "api_key": self.api_key or "none"} if self.base_url else {}
        given = own or ({"api_key": self.api_key} if self.api_key else {})
        if has_video(body) and not own:
            if not _takes_video(litellm.model_cost.get(body["model"]) or {}):
                raise Failure(errors.BadRequest(f"litellm knows of no video input there; {FRAMES_INSTEAD}"))
            body = as_files(body)
        try:
            reply = translated(
                lambda: litellm.completion(**body, **given, timeout=timeout_s, num_retries=0, max_retries=0),
                timeout_s,
                meanwhile,
            )
        except Failure as failure:
            # litellm reports a missing key as an HTTP 500 of its own making.
            missing = [] if given else litellm.validate_environment(body["model"])["missing_keys"]
            if missing and isinstance(failure.error, errors.ServerError | errors.AuthenticationFailed):
                raise Failure(errors.AuthenticationFailed(f"set {' and '.join(missing)}: {failure}")) from None
            raise
        try:
            written = reply.model_dump(mode="json", exclude_none=True)
        except ValueError as error:  # nested deeper than pydantic goes
            _no_completion(200, f"it cannot be written as JSON: {error}")
        return checked(written, 200)

    def price(self, model: str) -> Price | None:
        """From the price table in litellm's own package."""
        litellm = litellm_module()
        try:
            info = litellm.get_model_info(model)
        except Exception:  # noqa: BLE001  litellm raises plain `Exception` for a model that it does not know
            return None
        cost = [info.get("input_cost_per_token"), info.get("output_cost_per_token")]
        if not all(isinstance(value, int | float) and value > 0 for value in cost):
            return None  # a zero in the table means free of charge or not known, and nobody can tell which
        return Price(Decimal(repr(cost[0])), Decimal(repr(cost[1])), f"litellm {_version('litellm')} price table")


def _takes_video(entry: Mapping[str, Any]) -> bool:
    """Whether a model's entry in litellm's table says so, in either of the two ways that the table has."""
    return entry.get("supports_video_input") is True or "video" in (entry.get("supported_modalities") or ())


def _version(distribution: str) -> str:
    from importlib.metadata import version

    return version(distribution)


def translated(call: Callable[[], T], timeout_s: float, meanwhile: Callable[[], None] | None = None) -> T:
    """Run one attempt, bounded in time, and turn the SDKs' exceptions into ours; `meanwhile` as for `bounded`.

    Raises:
        Failure: with the error that it amounts to.
        ContentRefused: a content filter stopped it.
    """
    import openai

    try:
        return bounded(call, timeout_s, meanwhile)
    except TimeoutError:
        raise Failure(errors.ProviderTimeout(f"no complete answer within {timeout_s:g} s")) from None
    except bodies.UnreadableBody as error:
        raise _body_failure(error) from None
    except openai.OpenAIError as error:
        if unreadable := _first_cause(error, bodies.UnreadableBody):
            raise _body_failure(unreadable) from None
        raise _sdk_failure(error, timeout_s) from None


def _body_failure(error: bodies.UnreadableBody) -> Failure:
    return Failure(errors.ServerError(f"HTTP {error.status}, and its body {error}", status=error.status))


def _sdk_failure(error: Exception, timeout_s: float) -> Failure | ContentRefused:
    """What an exception of the SDKs amounts to."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return Failure(errors.ProviderTimeout(f"no answer within {timeout_s:g} s"))
    if isinstance(error, openai.APIConnectionError):
        return _connection_failure(error)
    if isinstance(error, openai.APIStatusError):
        # litellm reports a lost connection as an HTTP 500 of its own making.
        lost = _first_cause(error, openai.APIConnectionError) if error.status_code >= 500 else None
        return _connection_failure(lost) if lost else _status_failure(error)
    # An unreadable answer, a missing key, litellm's catch-all.
    return Failure(errors.ServerError(f"{type(error).__name__}: {error}", status=200))


def bounded(call: Callable[[], T], timeout_s: float, meanwhile: Callable[[], None] | None = None) -> T:
    """Run `call`, and give up on it after `timeout_s` seconds and a little; do `meanwhile` in the time of waiting.

    The SDKs' timeouts bound each read from the socket, so that a server which trickles (some
    routers send white space to keep the line open) would hold the caller for ever. The abandoned
    thread ends with its socket; it is a daemon and keeps no process alive.

    Raises:
        TimeoutError: after `timeout_s` seconds and a quarter of a second, which lets the SDK's own
            timeout come first.
    """
    answers: queue.Queue[tuple[bool, Any]] = queue.Queue(1)

    def run() -> None:
        try:
            answers.put((True, call()))
        except BaseException as error:  # noqa: BLE001  handed to the caller's thread, which raises it
            answers.put((False, error))

    threading.Thread(target=run, name="model-call", daemon=True).start()
    if meanwhile is not None:
        meanwhile()
    try:
        done, value = answers.get(timeout=timeout_s + 0.25)
    except queue.Empty:
        raise TimeoutError from None
    if not done:
        raise value
    result: T = value
    return result


def _first_cause(error: BaseException, kind: type[T]) -> T | None:
    """The first exception of a kind among those that led to `error`."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, kind):
        cause = cause.__cause__ or cause.__context__
    return cause


def _code(error: BaseException) -> str:
    """The provider's own error code; litellm keeps it in the exception that led to its own."""
    cause: BaseException | None = error
    while cause is not None:
        code = getattr(cause, "code", None)
        if isinstance(code, str) and not code.isdigit():
            return code
        cause = cause.__cause__ or cause.__context__
    return ""


def _connection_failure(error: BaseException) -> Failure:
    cause = error.__cause__ or error
    return Failure(errors.NetworkError(f"no connection: {type(cause).__name__}: {cause}"))


def _status_failure(error: Any) -> Failure | ContentRefused:
    """What an HTTP status amounts to. `error` is an `openai.APIStatusError`, or litellm's kin of it."""
    status = int(error.status_code)
    message = f"HTTP {status}: {getattr(error, 'message', None) or error}"
    code = _code(error)
    kind = type(error).__name__
    if code.startswith(("content_filter", "content_policy")) or kind == "ContentPolicyViolationError":
        return ContentRefused(message)
    headers = getattr(error, "litellm_response_headers", None) or getattr(error.response, "headers", None) or {}
    after = headers.get("retry-after")
    if code in _QUOTA_CODES:
        return Failure(errors.BadRequest(f"{message} (the account's quota is used up)"))
    if status == 429:
        return Failure(errors.RateLimited(message), after)
    if status in (401, 403):
        return Failure(errors.AuthenticationFailed(message))
    if status == 408:
        return Failure(errors.ProviderTimeout(message), after)
    if status >= 500:
        return Failure(errors.ServerError(message, status=status), after)
    return Failure(errors.BadRequest(message))


def checked(reply: Any, status: int) -> dict[str, Any]:
    """The reply, if it has the form of a chat completion.

    Raises:
        Failure: if it has not.
    """
    if _deeper_than(reply, _DEEPEST):
        _no_completion(status, f"it is nested more than {_DEEPEST} levels deep")
    if not isinstance(reply, dict):
        _no_completion(status, f"expected an object, got {type(reply).__name__}")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        _no_completion(status, f"it has no `choices`; it begins {json.dumps(reply)[:120]}")
    if not isinstance(choices[0].get("message"), dict):
        _no_completion(status, "its first choice has no `message`")
    return reply


def _deeper_than(value: Any, levels: int) -> bool:
    """Whether JSON is nested deeper than that; level by level, for a recursion would itself run out of stack."""
    level = [value]
    for _ in range(levels + 1):
        level = [
            item
            for holder in level
            if isinstance(holder, dict | list)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
        if not level:
            return False
    return True


def _no_completion(status: int, why: str) -> NoReturn:
    raise Failure(errors.ServerError(f"HTTP {status}, but the answer is no chat completion: {why}", status=status))
