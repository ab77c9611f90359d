"""Both SDKs against a server that misbehaves: the right error, the right number of attempts, and no key anywhere."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import re
import subprocess
import sys
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import errors
from agents.gateway import Budget, CallCache, Clock, GatewaySettings, Image, Message, ModelGateway, ModelRequest
from agents.gateway.limits import TokenBucket, _shared
from agents.gateway.messages import plain_schema
from agents.gateway.retry import RetryPolicy, parse_retry_after

SCHEMA = {
    "type": "object",
    "properties": {
        "rationale": {"type": "string"},
        "action": {"type": "object", "properties": {"go": {"enum": ["up", "down"]}}},
    },
}
KEY = "planted-4b1f7e2c9d"
WAYS = ["openai", "litellm"]


class FakeClock:
    """Time that passes by sleeping alone."""

    def __init__(self) -> None:
        self.t = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.t += seconds

    def clock(self) -> Clock:
        return Clock(
            monotonic=lambda: self.t,
            sleep=self.sleep,
            now=lambda: dt.datetime.now(dt.UTC),
        )


@pytest.fixture(autouse=True)
def _planted_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_API_KEY", KEY)
    _shared.clear()


def make(
    provider: Any, way: str, *, model: str = "fake/ok", time: FakeClock | None = None, **more: Any
) -> ModelGateway:
    """A gateway to the fake through one of the SDKs."""
    extra = {name: more.pop(name) for name in ("budgets", "cache") if name in more}
    name = f"openai/{model}" if way == "litellm" else model
    settings = GatewaySettings(model=name, base_url=provider.url, backend=way, **more)  # type: ignore[arg-type]
    return ModelGateway(settings, clock=(time or FakeClock()).clock(), **extra)


def ask(text: str = "Where to?", *images: Image, **more: Any) -> ModelRequest:
    """A question with a schema."""
    more.setdefault("schema", SCHEMA)
    return ModelRequest(purpose="act", messages=(Message("user", (text, *images)),), timeout_s=5, **more)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["tool", "json_schema"])
def test_a_good_answer_is_written_down_whole(provider: Any, way: str, mode: Any) -> None:
    frame = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
    call = make(provider, way, input_price=2, output_price=6).complete(
        ask("Where to?", Image.from_frame(frame), mode=mode)
    )
    assert call.status == "ok"
    assert set(json.loads(call.text)) == {"rationale", "action"}
    assert np.array_equal(provider.requests[0].images[0], frame)
    sha = Image.from_frame(frame).sha256
    assert call.request["messages"][0]["content"] == [{"type": "text", "text": "Where to?"}, {"artifact": sha}]
    assert np.array_equal(call.images[sha], frame)
    assert call.reply is not None
    assert call.usage["prompt_tokens"] == call.input_tokens == 102
    assert call.cost_usd == (2 * Decimal(102) + 6 * Decimal(call.output_tokens or 0)) / 1_000_000
    assert (call.cost_source, call.retries, call.cached) == ("options", 0, False)
    json.dumps([call.request, call.reply, call.usage])


@pytest.mark.parametrize(
    ("size", "longest", "sent"), [((64, 48), 32, (32, 24)), ((64, 48), 40, (40, 30)), ((63, 48), 32, (32, 24))]
)
def test_a_picture_at_exactly_half_its_size_is_recorded_by_the_whole_one(
    provider: Any, size: tuple[int, int], longest: int, sent: tuple[int, int]
) -> None:
    frame = np.random.default_rng(1).integers(0, 255, (size[1], size[0], 3), np.uint8)
    whole = Image.from_frame(frame)
    small = whole.reduced(longest)
    assert small.size == sent and whole.reduced(None) is whole
    call = make(provider, "openai").complete(ask("Where to?", small))
    assert np.array_equal(provider.requests[0].images[0], small.pixels)
    [_, part] = call.request["messages"][0]["content"]
    if (2 * sent[0], 2 * sent[1]) == size:
        sums = frame.reshape(sent[1], 2, sent[0], 2, 3).sum(axis=(1, 3), dtype=np.uint16)
        assert np.array_equal(small.pixels, (sums + 2) >> 2)
        assert part == {"half_of": whole.sha256} and np.array_equal(call.images[whole.sha256], frame)
    else:
        assert part == {"artifact": small.sha256} and np.array_equal(call.images[small.sha256], small.pixels)


@pytest.mark.parametrize("way", WAYS)
def test_work_for_the_time_of_waiting_is_done_once_and_only_if_something_is_sent(
    provider: Any, way: str, tmp_path: Path
) -> None:
    done: list[str] = []
    gateway = make(provider, way, max_retries=2, cache=CallCache(tmp_path))
    provider.say("500", "ok")
    gateway.complete(ask(), meanwhile=lambda: done.append("sent"))
    gateway.complete(ask(), meanwhile=lambda: done.append("kept"))
    with pytest.raises(errors.BudgetExceeded):
        make(provider, way, budgets=[Budget(max_calls=0)]).complete(ask(), meanwhile=lambda: done.append("refused"))
    assert done == ["sent"]


@pytest.mark.parametrize("way", WAYS)
def test_the_request_is_recorded_as_it_was_sent(provider: Any, way: str) -> None:
    call = make(provider, way).complete(ask(seed=5, temperature=0.5, max_tokens=99))
    sent = dict(provider.requests[0].body)
    recorded = dict(call.request)
    assert recorded.pop("model").endswith(sent.pop("model"))
    assert {name: value for name, value in sent.items() if name in recorded} == recorded
    assert (sent["seed"], sent["temperature"], sent["max_tokens"]) == (5, 0.5, 99)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("behaviour", "error", "status", "sent"),
    [
        ("429", errors.RateLimited, "rate_limited", 3),
        ("500", errors.ServerError, "server_error", 3),
        ("503", errors.ServerError, "server_error", 3),
        ("drop", errors.NetworkError, "network", 3),
        ("400", errors.BadRequest, "bad_request", 1),
        ("429-quota", errors.BadRequest, "bad_request", 1),
        ("401", errors.AuthenticationFailed, "bad_request", 1),
    ],
)
def test_failures_end_in_their_own_error(
    provider: Any, way: str, behaviour: str, error: type[errors.ProviderError], status: str, sent: int
) -> None:
    time = FakeClock()
    gateway = make(provider, way, model=f"fake/{behaviour}", max_retries=2, time=time)
    with pytest.raises(error) as caught:
        gateway.complete(ask())
    assert type(caught.value) is error
    (call,) = caught.value.calls
    assert len(provider.requests) == sent
    assert (call.status, call.retries) == (status, sent - 1)
    assert call.waited_s == sum(time.slept) == call.latency_s
    assert call.reply is None
    assert call.cost_usd is None
    assert call.error == str(caught.value)
    assert provider.url in str(caught.value)
    if sent > 1:
        assert "tried 3 times" in str(caught.value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("usage", "tokens", "cost", "source"),
    [
        ({"cost": 0.25}, (2, 15), "0.25", "provider"),
        ({"cost": "0.25"}, (2, 15), "0.25", "provider"),
        ({"cost": 1000}, (2, 15), "1000", "provider"),
        ({"cost": None}, (2, 15), "0.000094", "options"),
        ({"cost": 1e300}, (2, 15), None, "unknown: usage.cost is not believed"),
        ({"cost": 1000.01}, (2, 15), None, "unknown: usage.cost is not believed"),
        ({"cost": -1e-9}, (2, 15), None, "unknown: usage.cost is not believed"),
        ({"cost": "NaN"}, (2, 15), None, "unknown: usage.cost is not believed"),
        ({"cost": "1e999999999"}, (2, 15), None, "unknown: usage.cost is not believed"),
        ({"prompt_tokens": 10**19}, (None, 15), None, "unknown: usage.prompt_tokens is not believed"),
        ({"completion_tokens": -1}, (2, None), None, "unknown: usage.completion_tokens is not believed"),
        ({"completion_tokens": 10**9 + 1}, (2, None), None, "unknown: usage.completion_tokens is not believed"),
        ({"prompt_tokens": 10**9}, (10**9, 15), None, "unknown: above 1000 US dollars a call"),
        ({"prompt_tokens": -1, "cost": 0.5}, (None, 15), "0.5", "provider; usage.prompt_tokens is not believed"),
    ],
)
def test_absurd_usage_is_unknown_and_stays_in_the_reply(
    provider: Any, way: str, usage: dict[str, Any], tokens: tuple[int | None, ...], cost: str | None, source: str
) -> None:
    provider.say(f"usage:{json.dumps(usage)}")
    call = make(provider, way, input_price=2, output_price=6).complete(ask())
    assert (call.input_tokens, call.output_tokens) == tokens
    assert call.cost_usd == (None if cost is None else Decimal(cost))
    assert call.cost_source == source and len(source) <= 60  # the column's width
    assert call.reply is not None
    assert all(call.reply["usage"].get(name) == value for name, value in usage.items())


@pytest.mark.parametrize(
    "usage", ['{"cost": NaN}', '{"cost": true}', '{"prompt_tokens": 1.5}', '{"prompt_tokens": "7"}']
)
def test_usage_of_another_type_is_unknown(provider: Any, usage: str) -> None:
    """Through the openai SDK alone: litellm makes numbers of some of these, and refuses others, before we see them."""
    provider.say(f"usage:{usage}")
    call = make(provider, "openai", input_price=2, output_price=6).complete(ask())
    [field] = json.loads(usage)
    assert (call.cost_usd, call.cost_source) == (None, f"unknown: usage.{field} is not believed")
    assert field == "cost" or call.input_tokens is None


def test_half_a_surrogate_pair_is_recorded_as_received_and_never_sent_back(provider: Any) -> None:
    half = "half a pair: \ud83d"
    provider.say("surrogates")
    call = make(provider, "openai").complete(ask())
    assert call.status == "ok" and half in call.text
    assert call.reply is not None
    assert call.reply["model"] == half and call.reply[half] == [half]
    again = make(provider, "openai").complete(ask(f"You said: {call.text}"))
    assert again.status == "ok"
    assert "half a pair: \ufffd" in provider.requests[-1].text
    json.dumps(again.request, ensure_ascii=False).encode()


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_that_is_nested_without_end_is_the_servers_failure(provider: Any, way: str) -> None:
    with pytest.raises(errors.ServerError, match="no chat completion"):
        make(provider, way, model="fake/deep", max_retries=0).complete(ask())


@pytest.mark.parametrize("behaviour", ["html", "broken-json", "no-choices"])
def test_an_answer_that_is_no_completion_is_the_servers_failure_and_not_retried(provider: Any, behaviour: str) -> None:
    with pytest.raises(errors.ServerError, match="no chat completion") as caught:
        make(provider, "openai", model=f"fake/{behaviour}").complete(ask())
    assert caught.value.calls[0].status == "malformed"
    assert len(provider.requests) == 1


@pytest.mark.parametrize("behaviour", ["html", "broken-json", "no-choices"])
def test_through_litellm_such_an_answer_is_a_provider_error_too(provider: Any, behaviour: str) -> None:
    with pytest.raises(errors.ProviderError) as caught:
        make(provider, "litellm", model=f"fake/{behaviour}", max_retries=0).complete(ask())
    assert len(caught.value.calls) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("behaviour", ["hang", "trickle"])
def test_silence_and_trickling_are_both_timeouts(provider: Any, way: str, behaviour: str) -> None:
    gateway = make(provider, way, model=f"fake/{behaviour}", max_retries=0)
    request = ModelRequest(purpose="act", messages=(Message("user", ("?",)),), timeout_s=0.4)
    with pytest.raises(errors.ProviderTimeout) as caught:
        gateway.complete(request)
    assert caught.value.calls[0].status == "timeout"


@pytest.mark.parametrize("way", WAYS)
def test_nobody_there_is_a_network_error(way: str) -> None:
    class Nowhere:
        url = "http://127.0.0.1:9/v1"

    with pytest.raises(errors.NetworkError, match=r"127\.0\.0\.1:9") as caught:
        make(Nowhere, way, max_retries=1).complete(ask())
    assert caught.value.calls[0].retries == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("behaviour", "least", "most"), [("429:7", 7, 7), ("429-date:30", 27, 30), ("429:9999", 60, 60)]
)
def test_retry_after_is_honoured_and_capped(provider: Any, way: str, behaviour: str, least: int, most: int) -> None:
    time = FakeClock()
    provider.say(behaviour, "ok")
    call = make(provider, way, time=time).complete(ask())
    assert call.status == "ok"
    assert call.retries == 1
    assert len(time.slept) == 1
    assert least <= time.slept[0] <= most
    assert call.waited_s == time.slept[0]


def test_backoff_has_full_jitter_and_is_the_same_for_the_same_question(provider: Any) -> None:
    waits = []
    for text in ("a", "a", "b"):
        time = FakeClock()
        provider.say("500", "503", "500", "ok")
        make(provider, "openai", time=time).complete(ask(text))
        waits.append(time.slept)
    assert waits[0] == waits[1] != waits[2]
    assert all(0 <= wait <= 2.0**n for n, wait in enumerate(waits[0]))


def test_patience_has_an_end(provider: Any) -> None:
    """No attempt begins after `total_timeout_s`, however many retries are left."""
    time = FakeClock()
    gateway = make(provider, "openai", model="fake/429:40", time=time, max_retries=10, total_timeout_s=100)
    with pytest.raises(errors.RateLimited):
        gateway.complete(ask())
    assert time.slept == [40, 40]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("behaviour", "status"),
    [("refusal", "refused"), ("filter", "refused"), ("filter-400", "refused"), ("truncated", "truncated")],
)
def test_refusals_and_truncation_are_answers(provider: Any, way: str, behaviour: str, status: str) -> None:
    call = make(provider, way, model=f"fake/{behaviour}").complete(ask())
    assert call.status == status
    assert call.error
    assert len(provider.requests) == 1


@pytest.mark.parametrize("way", WAYS)
def test_missing_usage_is_unknown_not_zero(provider: Any, way: str) -> None:
    gateway = make(provider, way, model="fake/no-usage", input_price=1, output_price=1)
    call = gateway.complete(ask())
    if way == "openai":  # litellm counts by itself and does not say so
        assert (call.input_tokens, call.output_tokens, call.cost_usd) == (None, None, None)
        assert call.cost_source == "unknown: the provider reported no usage"


def test_own_endpoints_have_no_price(provider: Any) -> None:
    call = make(provider, "openai").complete(ask())
    assert (call.cost_usd, call.cost_source) == (None, "n/a: own endpoint")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("behaviour", ["ok", "401", "500", "400", "echo", "drop", "html-key"])
def test_no_key_in_anything_that_is_kept_or_shown(provider: Any, way: str, behaviour: str) -> None:
    """The key is planted in the environment, in the prompt, and in the server's own error message."""
    gateway = make(provider, way, model=f"fake/{behaviour}", max_retries=0)
    shown = [repr(gateway), repr(gateway.settings), repr(gateway._backend), repr(gateway._mask)]
    try:
        call = gateway.complete(ask(f"my key is {KEY}, keep it"))
    except errors.ProviderError as error:
        call = error.calls[0]
        shown += [str(error), repr(error), "".join(traceback.format_exception(error))]
    shown += [repr(call), json.dumps([call.request, call.reply]), call.text, call.error]
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert not [text for text in shown if KEY in text or KEY[:10] in text]
    assert "my key is [key], keep it" in json.dumps(call.request)


@pytest.mark.parametrize("way", WAYS)
def test_a_servers_words_are_bounded_and_move_no_cursor(provider: Any, way: str) -> None:
    with pytest.raises(errors.ServerError, match="HTTP 500") as caught:
        make(provider, way, model="fake/loud", max_retries=0).complete(ask())
    said = str(caught.value)
    assert said.isprintable() and "haha" in said and len(said) < 2_200
    assert caught.value.calls[0].error == said


THREE_DOORS = [*WAYS, "litellm's own client"]
"""litellm gives some providers to the openai SDK, and speaks with others itself; xAI is one of these."""


def through(provider: Any, door: str, behaviour: str) -> ModelGateway:
    """A gateway that does not try again, through one of the clients there are."""
    if door in WAYS:
        return make(provider, door, model=f"fake/{behaviour}", max_retries=0)
    settings = GatewaySettings(model=f"xai/fake/{behaviour}", base_url=provider.url, backend="litellm", max_retries=0)
    return ModelGateway(settings, clock=FakeClock().clock())


@pytest.mark.parametrize("door", THREE_DOORS)
@pytest.mark.parametrize("behaviour", ["huge", "bomb", "endless"])
def test_a_reply_that_no_model_writes_is_not_taken(provider: Any, door: str, behaviour: str) -> None:
    through(provider, door, "ok").complete(ask())  # imports the SDK
    with pytest.raises(errors.ServerError, match="HTTP 200, and its body has more than the 8,388,608 bytes") as caught:
        through(provider, door, behaviour).complete(ask())
    assert caught.value.calls[0].reply is None and caught.value.calls[0].status == "malformed"
    assert len(provider.requests) == 2, "it is not asked for again"
    assert through(provider, door, "huge:1").complete(ask()).status == "ok"


def test_what_is_not_taken_is_not_read_into_memory(provider: Any) -> None:
    """A process of its own asks for 400 MiB in gzip and for an answer without end; 8 MiB are read of each."""
    code = """
import resource, sys
from agents import errors
from agents.gateway import GatewaySettings, Message, ModelGateway, ModelRequest

def ask(name, backend):
    options = GatewaySettings(model=name, base_url=sys.argv[1], backend=backend, max_retries=0)
    return ModelGateway(options).complete(ModelRequest(purpose="act", messages=(Message("user", ("?",)),)))

def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

ways = [("fake/", "openai"), ("openai/fake/", "litellm"), ("xai/fake/", "litellm")]
for prefix, backend in ways:
    ask(prefix + "huge:7", backend)
before = peak_mib()
for prefix, backend in ways:
    for behaviour in ("bomb:400", "endless"):
        try:
            ask(prefix + behaviour, backend)
        except errors.ServerError as error:
            assert "has more than" in str(error)
        else:
            raise AssertionError("it was taken")
print(peak_mib() - before)
"""
    done = subprocess.run([sys.executable, "-c", code, provider.url], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 48, "MiB at the peak above that of good answers of 7 MiB"


@pytest.mark.parametrize("door", THREE_DOORS)
def test_an_error_without_end_is_the_error_that_its_status_says(provider: Any, door: str) -> None:
    with pytest.raises(errors.ServerError, match="HTTP 503, and its body has more than") as caught:
        through(provider, door, "endless:503").complete(ask())
    assert caught.value.status == 503 and caught.value.calls[0].status == "server_error"


@pytest.mark.parametrize("door", THREE_DOORS)
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw-deflate"])
def test_packed_replies_are_unpacked(provider: Any, door: str, encoding: str) -> None:
    packed = through(provider, door, f"packed:{encoding}").complete(ask())
    assert packed.status == "ok" and "rationale" in packed.text
    assert provider.requests[-1].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("door", THREE_DOORS)
def test_a_reply_packed_as_nobody_asked_for_is_not_taken(provider: Any, door: str) -> None:
    """httpx would unpack Brotli where its package happens to be there, all that one read brings at once."""
    with pytest.raises(errors.ServerError, match="its body is packed as 'br', where gzip, deflate were asked for"):
        through(provider, door, "packed:br").complete(ask())


def test_key_of_another_service_is_not_sent(provider: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENAI_API_KEY belongs to api.openai.com; a local server must not get it by default."""
    monkeypatch.delenv("ARENA_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-belongs-to-openai")
    make(provider, "openai").complete(ask())
    assert "belongs" not in json.dumps(provider.requests[0].headers)


def test_a_named_key_that_is_not_set_is_told_before_sending(provider: Any) -> None:
    with pytest.raises(errors.AuthenticationFailed, match="MY_SERVER_KEY"):
        make(provider, "openai", key_env="MY_SERVER_KEY").complete(ask())
    assert not provider.requests


def test_a_provider_without_its_key_is_told_which_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves the machine: the SDK finds no key."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    gateway = ModelGateway(GatewaySettings(model="openai/gpt-4o-mini"), clock=FakeClock().clock())
    with pytest.raises(errors.AuthenticationFailed, match="set OPENAI_API_KEY") as caught:
        gateway.complete(ask())
    assert caught.value.calls[0].endpoint == "litellm:openai"


def test_budgets_bind_before_sending(provider: Any) -> None:
    for budget, limit in (
        (Budget(max_calls=2), "max_calls: 2 of 2"),
        (Budget(max_tokens=2300), "max_tokens"),
        (Budget(max_cost_usd=Decimal("0.0022")), "max_cost_usd"),
    ):
        provider.requests.clear()
        gateway = make(provider, "openai", budgets=(Budget(), budget), input_price=1, output_price=1)
        with pytest.raises(errors.BudgetExceeded, match=limit) as caught:
            for _ in range(100):
                gateway.complete(ask("word " * 200))
        assert caught.value.calls == ()
        assert len(provider.requests) == budget.calls > 1
        assert budget.tokens <= 2300
        assert budget.cost_usd <= Decimal("0.0022")


def test_a_cost_limit_without_a_price_is_refused_up_front(provider: Any) -> None:
    with pytest.raises(errors.BudgetExceeded, match="price is unknown"):
        make(provider, "openai", budgets=(Budget(max_cost_usd=Decimal(5)),)).complete(ask())
    assert not provider.requests


def test_calls_without_usage_count_as_their_worst_case(provider: Any) -> None:
    budget = Budget()
    request = ask()
    make(provider, "openai", model="fake/no-usage", budgets=(budget,)).complete(request)
    assert budget.tokens == request.estimated_tokens()


def test_rate_limits_are_shared_by_all_gateways_to_a_model(provider: Any) -> None:
    time = FakeClock()
    gateways = [make(provider, "openai", time=time, requests_per_minute=2) for _ in range(4)]
    calls = [gateway.complete(ask()) for gateway in gateways]
    assert time.slept == [30.0, 30.0]
    assert [call.waited_s for call in calls] == [0, 0, 30, 30]


def test_token_bucket_fills_with_time_and_takes_back_what_was_not_used() -> None:
    time = FakeClock()
    bucket = TokenBucket(600, time.clock())
    assert bucket.take(600) == 0
    assert bucket.take(100) == pytest.approx(10)
    bucket.give_back(100)
    time.sleep(5)
    assert bucket.take(50) == 0
    assert bucket.take(10) == pytest.approx(1)


def test_cache_keeps_accepted_answers_and_tells_apart_what_changes_them(provider: Any, tmp_path: Path) -> None:
    cache = CallCache(tmp_path)
    gateway = make(provider, "openai", cache=cache)
    image = Image.from_frame(np.zeros((4, 4, 3), np.uint8))
    first = gateway.complete(ask("q", image))
    again = gateway.complete(ask("q", image))
    assert len(provider.requests) == 1
    assert (again.cached, again.text, again.reply) == (True, first.text, first.reply)
    assert (again.cost_usd, again.input_tokens, again.cost_source) == (0, 0, "cache")
    other = Image.from_frame(np.ones((4, 4, 3), np.uint8))
    different = [ask("q"), ask("q", other), ask("q", image, seed=1), ask("q", image, max_tokens=9)]
    different += [ask("q", image, repeat=1), ask("q", image, schema=None), ask("q", image, mode="json_schema")]
    for request in different:
        assert not gateway.complete(request).cached
    assert not make(provider, "openai", model="fake/text", cache=cache).complete(ask("q", image)).cached
    assert not list(tmp_path.rglob("*.tmp"))


def test_cache_keeps_no_refused_truncated_rejected_or_sampled_answer(provider: Any, tmp_path: Path) -> None:
    cache = CallCache(tmp_path)
    for model in ("fake/refusal", "fake/truncated"):
        make(provider, "openai", model=model, cache=cache).complete(ask())
    make(provider, "openai", cache=cache).complete(ask(), accept=lambda text: False)
    make(provider, "openai", cache=cache).complete(ask(temperature=0.7))
    make(provider, "openai", cache=cache).complete(ask(temperature=None))
    assert not list(tmp_path.rglob("*.json"))
    sampled = make(provider, "openai", cache=CallCache(tmp_path, sampled=True))
    assert not sampled.complete(ask(temperature=0.7)).cached
    assert sampled.complete(ask(temperature=0.7)).cached
    assert not sampled.complete(ask(temperature=0.7, repeat=1)).cached


def test_damaged_cache_files_are_asked_again(provider: Any, tmp_path: Path) -> None:
    gateway = make(provider, "openai", cache=CallCache(tmp_path))
    gateway.complete(ask())
    (path,) = tmp_path.rglob("*.json")
    path.write_text(path.read_text()[:20])
    assert not gateway.complete(ask()).cached
    assert gateway.complete(ask()).cached


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("-4", 0),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30),
        ("soon", None),
        (None, None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_retry_after_forms(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, dt.datetime(2015, 10, 21, 7, 28, tzinfo=dt.UTC)) == seconds


def test_backoff_never_overflows() -> None:
    import random

    assert RetryPolicy().wait(10_000, random.Random(0), None) <= 60


def test_settings_refuse_keys_and_credentials_in_wrong_places() -> None:
    for wrong in ({"key_env": "sk-abcdef"}, {"base_url": "http://me:secret@host/v1"}, {"base_url": "ftp://host"}):
        with pytest.raises(ValueError, match=r"key_env|base_url"):
            GatewaySettings(model="m", **wrong)  # type: ignore[arg-type]


def test_plain_schema_puts_definitions_in_place() -> None:
    from environments.actions import GuiAction

    plain = plain_schema(GuiAction.model_json_schema())
    assert not re.search(r"\$ref|\$defs|discriminator", json.dumps(plain))
    assert len(plain["anyOf"]) == 11
    assert plain["anyOf"][0]["properties"] == {
        "verb": {"type": "string", "enum": ["move"]},
        "x": {"type": "integer", "minimum": 0, "maximum": 639, "description": "pixels from the left edge of the frame"},
        "y": {"type": "integer", "minimum": 0, "maximum": 479, "description": "pixels from the top edge of the frame"},
    }
    titled = {"type": "object", "title": "T", "properties": {"title": {"type": "string", "title": "Title"}}}
    assert plain_schema(titled) == {"type": "object", "properties": {"title": {"type": "string"}}}
    loop = {"$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}, "$ref": "#/$defs/A"}
    with pytest.raises(ValueError, match="contains itself"):
        plain_schema(loop)


def test_litellm_prices_known_models_from_its_own_table_and_no_others() -> None:
    from agents.gateway.backends import LiteLLMBackend

    price = LiteLLMBackend().price("gpt-4o-mini")
    assert price is not None
    assert price.cost(1_000_000, 0) == Decimal("0.15")
    assert "litellm" in price.source
    assert LiteLLMBackend().price("nobody/knows-this") is None


def test_a_known_model_is_priced_by_the_table(provider: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `base_url` the price is litellm's; here its OpenAI address is turned to the fake."""
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    budget = Budget(max_cost_usd=Decimal("0.01"))
    settings = GatewaySettings(model="openai/gpt-4o-mini")
    call = ModelGateway(settings, clock=FakeClock().clock(), budgets=(budget,)).complete(ask())
    expected = Decimal("0.15") * (call.input_tokens or 0) + Decimal("0.60") * (call.output_tokens or 0)
    assert call.cost_usd == budget.cost_usd == expected / 1_000_000
    assert call.cost_source.endswith("price table")
    assert KEY not in repr(call)


def test_provider_errors_survive_a_process_boundary() -> None:
    """Workers hand errors back by pickling them."""
    error = pickle.loads(pickle.dumps(errors.ServerError("m", status=500)))
    assert (str(error), error.status) == ("m", 500)
    again = pickle.loads(pickle.dumps(errors.InvalidOptions("a", [("b", "c")])))
    assert (again.problems, str(again)) == ([("b", "c")], "agent 'a': b: c")
    assert str(pickle.loads(pickle.dumps(errors.UnreadableReply(["x", "y"])))) == "x; y"
