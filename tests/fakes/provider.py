"""A model provider that really speaks the protocol, really looks at its pictures, and misbehaves on command.

    with FakeProvider(["429:2", "ok"]) as provider:
        ...  # point any OpenAI client at provider.url

A local HTTP server on 127.0.0.1 that answers OpenAI's chat completions without streaming. What it does is
chosen per request, in this order:

1. the script: a list of behaviours, one a request, or a function of the request;
2. the model's name: `fake/BEHAVIOUR`, or `fake/FIRST-then-SECOND`, where FIRST answers the first sending of a
   request and SECOND its repetitions, be they retries or repair turns;
3. otherwise `ok`.

`BEHAVIOUR` is a name from `BEHAVIOURS`, with an argument after a colon where it takes one: `slow:0.5`, `429:2`,
`play:{"go": "up"}`. As a program, `python tests/fakes/provider.py --port 0` prints its URL and serves until it
is stopped.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import contextlib
import email.utils
import functools
import hashlib
import io
import json
import re
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import av
import numpy as np
from PIL import Image, UnidentifiedImageError

BEHAVIOURS = {
    "ok": "an answer that the schema accepts, drawn from the pictures, or the policy's",
    "play": "the action in its argument, whatever the picture",
    "diagnose": "asked by the fault diagnoser at an alarm: a fault since then, and a step to go back to; else `ok`",
    "text": "a good answer as plain text in a code fence, where a tool call was asked for",
    "echo": "an answer whose rationale tells what was seen: number, sizes and mean colours of the pictures",
    "no-usage": "a good answer without token counts",
    "usage": "a good answer; the argument, a JSON object, goes into its `usage`",
    "surrogates": "a good answer with half a surrogate pair in every text, field name and id",
    "deep": "a good answer with a field that is nested 900 levels deep",
    "slow": "a good answer after its argument in seconds (0.3)",
    "illegal": "always the first value of everything: allowed by the schema, sooner or later not by the rules",
    "invalid": "an action that the schema refuses",
    "malformed": "a tool call whose arguments are no JSON",
    "prose": "words without any JSON",
    "empty": "a message without content",
    "truncated": "a good answer cut in half, finish_reason length",
    "refusal": "a message with `refusal`",
    "filter": "finish_reason content_filter",
    "filter-400": "HTTP 400 with the code content_filter",
    "400": "HTTP 400: a parameter that is not supported",
    "401": "HTTP 401 that repeats the key it was given",
    "429": "HTTP 429; the argument becomes Retry-After",
    "429-date": "HTTP 429; Retry-After as an HTTP date, its argument in seconds from now",
    "429-quota": "HTTP 429 with the code insufficient_quota: waiting is useless",
    "500": "HTTP 500",
    "503": "HTTP 503",
    "html": "HTTP 200 with a web page",
    "html-key": "the same, with the key that it was given across its 120th character",
    "loud": "HTTP 500 that says 100 kB, control characters among them",
    "huge": "a good answer with a field of its argument in MiB (9)",
    "packed": "a good answer whose Content-Encoding is its argument: gzip (if none), deflate, raw-deflate, or a lie",
    "bomb": "gzip that unpacks to its argument in MiB (200) of white space",
    "endless": "white space as fast as it is read, and no end; the argument is the HTTP status (200)",
    "broken-json": "HTTP 200 with half a JSON document",
    "no-choices": "HTTP 200 with a JSON object that is no chat completion",
    "hang": "no answer until the server is closed",
    "trickle": "white space, again and again, and never an answer",
    "drop": "the connection closed without an answer",
}


HALF = "half a pair: \ud83d"
"""What `surrogates` says: JSON can hold it, UTF-8 cannot."""


class BrokenPicture(ValueError):
    """A picture that could not be decoded."""


@dataclass
class Seen:
    """A request as the provider understood it."""

    body: dict[str, Any]
    headers: dict[str, str]
    images: list[np.ndarray] = field(repr=False)
    """(H, W, 3) uint8 each, in the order of the messages."""
    behaviour: str = ""

    @property
    def text(self) -> str:
        """All text of all messages."""
        found: list[str] = []
        for message in self.body.get("messages", []):
            content = message.get("content")
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            found += [str(part.get("text")) for part in parts if part.get("type") == "text"]
        return "\n".join(found)

    def number(self, pattern: str) -> int:
        """The last number of the text that a pattern's group finds."""
        return int(re.findall(pattern, self.text)[-1])

    @property
    def turns(self) -> int:
        """How many answers of the model the conversation holds already."""
        return sum(message.get("role") == "assistant" for message in self.body.get("messages", []))

    @property
    def tool(self) -> str | None:
        """Name of the tool that must be called, if any."""
        tools = self.body.get("tools")
        return str(tools[0]["function"]["name"]) if tools else None

    @property
    def schema(self) -> dict[str, Any] | None:
        """Schema of the answer: of the tool, the response format, or a JSON block in the text."""
        if self.tool:
            parameters: dict[str, Any] = self.body["tools"][0]["function"]["parameters"]
            return parameters
        wanted = self.body.get("response_format", {}).get("json_schema", {}).get("schema")
        if wanted is not None:
            return dict(wanted)
        for block in re.findall(r"```json\n(.*?)\n```", self.text, re.DOTALL):
            try:
                schema = json.loads(block)
            except ValueError:
                continue
            if isinstance(schema, dict) and "properties" in schema:
                return schema
        return None


Policy = Callable[[Seen], Any]
Script = Iterable[str] | Callable[[Seen], str]


class FakeProvider:
    """The server, started by `with` or `start`, and the log of what it was asked.

    `keep` bounds the log, which holds every picture; None keeps all.
    """

    def __init__(
        self, script: Script = (), *, policy: Policy | None = None, port: int = 0, keep: int | None = None
    ) -> None:
        self.policy = policy
        self.keep = keep
        self.n_requests = 0
        self.requests: list[Seen] = []
        self.closing = threading.Event()
        self._script = script if callable(script) else list(script)
        self._repeats: Counter[str] = Counter()
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"provider": self})
        self._server = _Server(("127.0.0.1", port), handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="fake-provider", daemon=True
        )

    @property
    def url(self) -> str:
        """Base URL for OpenAI clients."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def say(self, *behaviours: str) -> None:
        """Script the coming requests."""
        self._script = list(behaviours)

    def say_by(self, choose: Callable[[Seen], str]) -> None:
        """Choose the behaviour for each of the coming requests by a function of it."""
        self._script = choose

    def reset(self) -> None:
        """Forget the log, the script and the policy."""
        with self._lock:
            self.requests.clear()
            self.n_requests = 0
            self._repeats.clear()
            self._script, self.policy = [], None

    def start(self) -> FakeProvider:
        """Serve in a thread."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving; requests that hang are let go."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def __enter__(self) -> FakeProvider:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def choose(self, seen: Seen) -> str:
        """The behaviour for a request, which is logged."""
        with self._lock:
            sending = hashlib.sha256(json.dumps(seen.body, sort_keys=True).encode()).hexdigest()
            nth = self._repeats[sending] + seen.turns
            self._repeats[sending] += 1
            if callable(self._script):
                chosen = self._script(seen)
            elif self._script:
                chosen = self._script.pop(0)
            else:
                named = str(seen.body.get("model", "")).partition("fake/")[2] or "ok"
                first, _, second = named.partition("-then-")
                chosen = second if second and nth else first
            seen.behaviour = chosen
            self.requests.append(seen)
            self.n_requests += 1
            if self.keep is not None:
                del self.requests[: -self.keep]
            return chosen

    def answer(self, seen: Seen, kind: str, argument: str) -> Any:
        """The JSON value of a good answer, or of one that is wrong in its content."""
        schema = seen.schema
        rng = np.random.default_rng(int.from_bytes(_digest(seen)[:8], "big"))
        if schema is None:
            return self.policy(seen) if self.policy else f"I was shown {len(seen.images)} picture(s)."
        value = sample(schema, None if kind == "illegal" else rng)
        if kind == "diagnose" and "verdict" in schema.get("properties", {}):
            return diagnosis(seen.text)
        if "action" in schema.get("properties", {}):
            if kind == "play":
                value["action"] = json.loads(argument)
            elif self.policy is not None and kind not in ("illegal", "invalid"):
                value["action"] = self.policy(seen)
            if kind == "invalid":
                value["action"] = {"no_such_field": "at all"}
            value["rationale"] = _describe(seen) if kind == "echo" else f"This is answer {self.n_requests}."
        elif self.policy is not None:
            value = self.policy(seen)
        return value


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of callers that hang up, as callers with timeouts do; anything else shows its trace."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    provider: FakeProvider
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # headers and body in one packet: two would wait 40 ms for one another's acknowledgement

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""

    def do_GET(self) -> None:
        if self.path.rstrip("/").endswith("/models"):
            data = [{"id": f"fake/{name}", "object": "model", "owned_by": "tests"} for name in BEHAVIOURS]
            self._json(200, {"object": "list", "data": data})
        else:
            self._error(404, "no such path", "not_found")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.endswith("/embeddings"):
            return self._embeddings(raw)
        if not self.path.endswith("/chat/completions"):
            return self._error(404, f"no such path: {self.path}", "not_found")
        try:
            body = json.loads(raw)
            seen = Seen(body, {name.lower(): value for name, value in self.headers.items()}, list(_pictures(body)))
        except BrokenPicture as error:
            return self._error(400, str(error), "invalid_image")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self._error(400, f"unreadable request: {error}", "invalid_request")
        if body.get("stream"):
            return self._error(400, "this server does not stream", "invalid_request")
        kind, _, argument = self.provider.choose(seen).partition(":")
        if kind not in BEHAVIOURS:
            return self._error(404, f"no model does {kind!r}; there are {', '.join(BEHAVIOURS)}", "model_not_found")
        if not (self._failed_http(seen, kind, argument) or self._failed_line(kind, argument)):
            self._answer(seen, kind, argument)
        return None

    def _embeddings(self, raw: bytes) -> None:
        """Vectors of 32 numbers, near each other for texts that share letters; the last text's comes first."""
        try:
            texts = [str(text) for text in json.loads(raw)["input"]]
        except (ValueError, KeyError, TypeError) as error:
            return self._error(400, f"unreadable request: {error}", "invalid_request")
        data = []
        for index, text in reversed(list(enumerate(texts))):
            counts = Counter(ord(letter) % 32 for letter in text.lower())
            vector = [float(counts[place]) for place in range(32)]
            data.append({"object": "embedding", "index": index, "embedding": vector})
        usage = {"prompt_tokens": sum(map(len, texts)) // 4, "total_tokens": sum(map(len, texts)) // 4}
        return self._json(200, {"object": "list", "data": data, "model": "fake", "usage": usage})

    def _failed_http(self, seen: Seen, kind: str, argument: str) -> bool:
        """HTTP-level misbehaviours."""
        key = seen.headers.get("authorization", "").removeprefix("Bearer ")
        match kind:
            case "429" | "429-date":
                after = argument
                if kind == "429-date":
                    after = email.utils.formatdate(time.time() + float(argument or 2), usegmt=True)
                self._error(429, "too many requests", "rate_limit_exceeded", {"Retry-After": after} if after else {})
            case "429-quota":
                self._error(429, "you exceeded your current quota", "insufficient_quota")
            case "500" | "503":
                self._error(int(kind), "the server had an error", "server_error")
            case "400":
                self._error(400, "unsupported parameter: temperature", "unsupported_parameter")
            case "401":
                self._error(401, f"incorrect API key provided: {key}", "invalid_api_key")
            case "filter-400":
                self._error(400, "the prompt was stopped by the content filter", "content_filter")
            case "html":
                self._bytes(200, b"<!doctype html><title>Welcome</title><p>It works.", "text/html")
            case "html-key":
                self._bytes(200, f"<p>{'-' * (110 - len(key) // 2)}{key}</p>".encode(), "text/html")
            case "loud":
                self._error(500, "\x1b]0;mine\x07\x1b[2J\x9b31m" + "ha" * 50_000, "server_error")
            case "broken-json":
                self._bytes(200, b'{"id": "x", "choices": [{"mess', "application/json")
            case "bomb":
                self._bytes(200, bomb(int(argument or 200)), "application/json", {"Content-Encoding": "gzip"})
            case "no-choices":
                self._json(200, {"id": "x", "object": "chat.completion", "choices": []})
            case _:
                return False
        return True

    def _failed_line(self, kind: str, argument: str) -> bool:
        """Misbehaviours of the connection itself."""
        self.close_connection = kind in ("hang", "trickle", "drop", "endless")
        if kind == "hang":
            self.provider.closing.wait()
        elif kind == "trickle":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            while not self.provider.closing.wait(0.05):
                try:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                except OSError:
                    break
        elif kind == "endless":
            self.send_response(int(argument or 200))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            with contextlib.suppress(OSError):
                while not self.provider.closing.is_set():
                    self.wfile.write(b" " * 2**16)
        return self.close_connection

    def _answer(self, seen: Seen, kind: str, argument: str) -> None:
        if kind == "slow":
            self.provider.closing.wait(float(argument or 0.3))
        try:
            value = self.provider.answer(seen, kind, argument)
        except ValueError as error:
            return self._error(400, f"no answer fits the schema: {error}", "invalid_schema")
        if kind == "surrogates" and isinstance(value, dict):
            value["rationale"] = HALF
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=kind != "surrogates")
        finish, message = "stop", {"role": "assistant", "content": None, "refusal": None}
        match kind:
            case "refusal":
                message["refusal"] = text = "I cannot help with this."
            case "filter":
                finish, message["content"] = "content_filter", ""
            case "prose":
                message["content"] = text = "I would go towards the light."
            case "empty":
                text = ""
            case "surrogates" if not seen.tool:
                message["content"] = text if seen.schema else HALF
            case "text":
                message["content"] = f"Let me think.\n```json\n{text}\n```\n"
            case _:
                if kind == "truncated":
                    text, finish = text[: len(text) // 2], "length"
                elif kind == "malformed":
                    text = '{"rationale": "x", "action": {"' + "oops"
                if seen.tool:
                    call = {"name": seen.tool, "arguments": text}
                    message["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
                    finish = finish if kind == "truncated" else "tool_calls"
                else:
                    message["content"] = text
        reply: dict[str, Any] = {
            "id": f"chatcmpl-{self.provider.n_requests}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": seen.body.get("model"),
            "choices": [{"index": 0, "finish_reason": finish, "message": message, "logprobs": None}],
        }
        if kind != "no-usage":
            tokens_in, tokens_out = len(seen.text) // 4 + 100 * len(seen.images), len(text) // 4 + 1
            total = tokens_in + tokens_out
            reply["usage"] = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": total}
        if kind == "usage":
            reply["usage"] |= json.loads(argument)
        elif kind == "surrogates":
            reply |= {"id": HALF, "model": HALF, HALF: [HALF]}
            message["reasoning"] = HALF
        elif kind == "huge":
            reply["padding"] = "x" * (int(argument or 9) * 2**20)
        elif kind == "deep":
            reply["deep"] = json.loads("[" * 900 + "]" * 900)
        if kind == "packed":
            form = {"gzip": 31, "deflate": 15, "raw-deflate": -15}.get(argument or "gzip", 31)
            body = zlib.compress(json.dumps(reply).encode(), wbits=form)
            encoding = (argument or "gzip").removeprefix("raw-")
            self._bytes(200, body, "application/json", {"Content-Encoding": encoding})
        else:
            self._json(200, reply)
        return None

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self._bytes(status, json.dumps(value).encode(), "application/json", headers)

    def _error(self, status: int, message: str, code: str, headers: dict[str, str] | None = None) -> None:
        self._json(status, {"error": {"message": message, "type": code, "code": code, "param": None}}, headers)

    def _bytes(self, status: int, data: bytes, media: str, headers: dict[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            for name, value in {"Content-Type": media, "Content-Length": str(len(data)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:  # the caller has gone, as callers with timeouts do
            self.close_connection = True


@functools.cache
def bomb(n_mib: int) -> bytes:
    """White space in gzip, a thousandth of its size; the same block again and again."""
    squeezer, space, crc = zlib.compressobj(wbits=31), b" " * 2**20, 0
    head, block = (squeezer.compress(space) + squeezer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    for _ in range(n_mib):
        crc = zlib.crc32(space, crc)
    end = squeezer.flush()[:-8] + crc.to_bytes(4, "little") + (n_mib * len(space)).to_bytes(4, "little")
    return head + block * (n_mib - 1) + end


def _pictures(body: dict[str, Any]) -> Iterable[np.ndarray]:
    """Decode every picture of a request; a real provider refuses broken ones as well."""
    for message in body["messages"]:
        content = message.get("content")
        for part in content if isinstance(content, list) else []:
            if part.get("type") == "video_url":
                yield from _film(str(part["video_url"]["url"]))
                continue
            if part.get("type") != "image_url":
                if part.get("type") != "text":
                    raise BrokenPicture(f"unknown content part {part.get('type')!r}")
                continue
            head, _, data = str(part["image_url"]["url"]).partition(",")
            if head != "data:image/png;base64":
                raise BrokenPicture(f"expected a PNG as a data URL, got {head[:40]!r}")
            try:
                with Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as picture:
                    if picture.format != "PNG":
                        raise BrokenPicture(f"the picture is {picture.format}, not PNG")
                    yield np.asarray(picture.convert("RGB"))
            except (UnidentifiedImageError, OSError, binascii.Error, SyntaxError) as error:
                raise BrokenPicture(f"the picture cannot be decoded: {error}") from None


def _film(url: str) -> Iterable[np.ndarray]:
    """Every picture of a video; a real provider looks at one or two a second."""
    head, _, data = url.partition(",")
    if head != "data:video/mp4;base64":
        raise BrokenPicture(f"expected an MP4 as a data URL, got {head[:40]!r}")
    try:
        with av.open(io.BytesIO(base64.b64decode(data, validate=True)), "r", format="mp4") as container:
            yield from [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    except (av.FFmpegError, binascii.Error, IndexError) as error:
        raise BrokenPicture(f"the video cannot be decoded: {error}") from None


def _digest(seen: Seen) -> bytes:
    digest = hashlib.sha256(seen.text.encode())
    for image in seen.images:
        digest.update(image.tobytes())
    return digest.digest()


def _describe(seen: Seen) -> str:
    sizes = ", ".join(f"{image.shape[1]}x{image.shape[0]} mean {image.mean():.1f}" for image in seen.images)
    return f"pictures: {len(seen.images)} ({sizes})"


def sample(schema: dict[str, Any], rng: np.random.Generator | None) -> Any:
    """A value that the schema accepts; without `rng`, the first of everything.

    Raises:
        ValueError: for a construct that it does not know.
    """

    def index(n: int) -> int:
        return 0 if rng is None else int(rng.integers(n))

    if "const" in schema:
        return schema["const"]
    for choice in ("enum", "oneOf", "anyOf"):
        if choice in schema:
            chosen = schema[choice][index(len(schema[choice]))]
            return chosen if choice == "enum" else sample(chosen, rng)
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    match schema.get("type"):
        case "object":
            return {name: sample(item, rng) for name, item in schema.get("properties", {}).items()}
        case "array":
            return [sample(schema["items"], rng) for _ in range(max(schema.get("minItems", 1), 1))]
        case "integer":
            high = schema.get("maximum", schema.get("exclusiveMaximum", low + 11) - 1)
            return int(low) + index(int(high) - int(low) + 1)
        case "number":
            high = schema.get("maximum", low + 1)
            return float(low) if rng is None else round(float(rng.uniform(low, high)), 3)
        case "boolean":
            return bool(index(2))
        case "string":
            word = "The frames show it."
            return word[: schema.get("maxLength", 80)].ljust(schema.get("minLength", 0), ".")
        case "null":
            return None
    raise ValueError(f"cannot make a value of {schema!r}")


def diagnosis(text: str) -> dict[str, Any]:
    """What somebody says who believes every alarm and goes back a second before its first odd reading."""
    onset = re.search(r"First odd reading: step (\d+)", text)
    ranges = re.search(r"Snapshots that can be gone back to: ([0-9, -]+)", text)
    if onset is None or ranges is None:
        return {"verdict": "ok", "confidence": 0.6, "rationale": "No alarm, no fault."}
    step = int(onset[1])
    spans = [part.strip().partition("-") for part in ranges[1].split(",")]
    known = [snapshot for low, _, high in spans for snapshot in range(int(low), int(high or low) + 1)]
    back = max((snapshot for snapshot in known if snapshot <= step - 20), default=min(known))
    return {
        "verdict": "fault", "confidence": 0.9, "fault_class": "control", "fault_type": "C5", "severity": 2,
        "onset_step": step, "rollback_step": back, "repair": {"kind": "retry"},
        "evidence": [{"camera": "proprioception", "step": step, "note": "the alarm"}],
        "rationale": f"The alarm at step {step} is right.",
    }  # fmt: skip


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible provider for tests.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args()
    with FakeProvider(port=options.port, keep=20) as provider:
        print(provider.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
