"""The fake provider keeps its own promises: it looks at its pictures, and runs as a program."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

PATH = Path(__file__).with_name("provider.py")


def load() -> Any:
    if "fake_provider" not in sys.modules:
        spec = importlib.util.spec_from_file_location("fake_provider", PATH)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules["fake_provider"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["fake_provider"]


def post(url: str, *urls: str, model: str = "fake/ok") -> tuple[int, dict[str, Any]]:
    content = [{"type": "text", "text": "hello"}, *({"type": "image_url", "image_url": {"url": u}} for u in urls)]
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": content}]}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def picture(form: str) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (1, 2, 3)).save(buffer, form)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def test_good_pictures_are_seen_and_broken_ones_refused() -> None:
    good = picture("PNG")
    with load().FakeProvider() as provider:
        assert post(provider.url, good, good)[0] == 200
        assert [image.shape for image in provider.requests[0].images] == [(6, 8, 3)] * 2
        cut = good[:-60] + "=" * (-(len(good) - 60 - good.index(",") - 1) % 4)
        for broken in (cut, picture("JPEG"), "data:image/png;base64,AAAA", "http://example.com/x.png"):
            status, body = post(provider.url, broken)
            assert (status, body["error"]["code"]) == (400, "invalid_image")
        assert len(provider.requests) == 1


def test_script_goes_before_name_and_names_count_repetitions() -> None:
    with load().FakeProvider(["503"]) as provider:
        url = provider.url
        assert [post(url)[0] for _ in range(2)] == [503, 200]
        assert [post(url, model="fake/500-then-ok")[0] for _ in range(3)] == [500, 200, 200]
        assert post(url, model="fake/no-such-thing")[0] == 404
        provider.reset()
        assert post(url, model="fake/500-then-ok")[0] == 500
        assert [seen.behaviour for seen in provider.requests] == ["500"]


@pytest.mark.parametrize("schema", [{"type": "integer", "minimum": 2, "maximum": 3}, {"anyOf": [{"const": 1}]}])
def test_samples_fit_their_schema(schema: dict[str, Any]) -> None:
    assert load().sample(schema, None) in (1, 2)


def test_it_runs_as_a_program() -> None:
    process = subprocess.Popen([sys.executable, str(PATH), "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        assert post(url)[1]["choices"][0]["message"]["content"] == "I was shown 0 picture(s)."
    finally:
        process.terminate()
        process.wait(10)


def test_callers_that_hang_up_leave_no_trace_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with load().FakeProvider() as provider:
        address = ("127.0.0.1", int(provider.url.split(":")[2].partition("/")[0]))
        for _ in range(3):
            with socket.create_connection(address) as caller:
                caller.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99\r\n\r\n{")
                # Closed with a reset instead of a goodbye.
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert post(provider.url)[0] == 200
    assert capfd.readouterr().err == ""
