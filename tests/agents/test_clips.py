"""Pictures sent as one video: the same pictures, in order, where a provider takes video."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agents import errors
from agents.gateway import Clip, GatewaySettings, Image, Message, ModelGateway, ModelRequest
from agents.gateway.backends import Failure, LiteLLMBackend
from tests.fakes.provider import FakeProvider


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


def clip(n: int = 5, size: tuple[int, int] = (64, 48)) -> Clip:
    return Clip(tuple(Image(np.full((size[1], size[0], 3), 40 * i, np.uint8)) for i in range(n)))


def request(*parts: Any) -> ModelRequest:
    return ModelRequest(purpose="reflect", messages=(Message("user", ("What is this?", *parts)),))


def gateway(provider: FakeProvider) -> ModelGateway:
    return ModelGateway(
        GatewaySettings.model_validate({"model": "fake/ok", "base_url": provider.url, "max_retries": 0})
    )


@pytest.mark.parametrize("size", [(64, 48), (65, 49)])
def test_a_provider_sees_each_picture_of_a_clip_in_order(provider: FakeProvider, size: tuple[int, int]) -> None:
    call = gateway(provider).complete(request(clip(size=size)))
    [seen] = provider.requests
    assert [round(float(image.mean()), -1) for image in seen.images] == [0, 40, 80, 120, 160]
    even = (size[1] + size[1] % 2, size[0] + size[0] % 2)
    assert {image.shape[:2] for image in seen.images} == {even}
    assert call.status == "ok"


def test_the_record_keeps_the_pictures_and_not_the_encoded_file(provider: FakeProvider) -> None:
    shown = clip()
    call = gateway(provider).complete(request(shown))
    part = call.request["messages"][0]["content"][1]
    assert part == {"type": "video", "frames": [{"artifact": image.sha256} for image in shown.images]}
    assert list(call.images) == [image.sha256 for image in shown.images]


def test_a_clip_counts_its_pictures_against_budgets() -> None:
    assert request(clip(4)).estimated_tokens() - request().estimated_tokens() == 4 * 1_500


def test_the_same_pictures_give_the_same_bytes() -> None:
    assert clip().mp4 == clip().mp4


@pytest.mark.parametrize("sizes", [[], [(64, 48), (48, 64)]])
def test_a_clip_has_pictures_of_one_size(sizes: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="pictures of one size"):
        Clip(tuple(Image(np.zeros((h, w, 3), np.uint8)) for w, h in sizes))


def test_a_server_that_refuses_a_video_is_answered_with_what_to_do(provider: FakeProvider) -> None:
    provider.say("400")
    with pytest.raises(errors.BadRequest, match="if it takes no video: set `video: frames`"):
        gateway(provider).complete(request(clip()))
    provider.say("400")
    with pytest.raises(errors.BadRequest) as caught:
        gateway(provider).complete(request())
    assert "video" not in str(caught.value)


def test_openais_own_endpoint_is_not_sent_a_video() -> None:
    settings = GatewaySettings.model_validate({"model": "gpt-4o", "base_url": "https://api.openai.com/v1"})
    with pytest.raises(errors.BadRequest, match="takes no video; set `video: frames`"):
        ModelGateway(settings).complete(request(clip()))


def test_litellm_is_asked_whether_a_model_takes_video_before_anything_is_sent() -> None:
    body = request(clip()).body("anthropic/claude-3-5-haiku-20241022")
    with pytest.raises(Failure, match="no video input there; set `video: frames`"):
        LiteLLMBackend(api_key="none").send(body, 5.0)


def test_for_litellms_providers_a_video_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    from agents.gateway.clients import litellm_module

    sent: list[dict[str, Any]] = []

    def completion(**body: Any) -> Any:
        sent.append(body)
        raise TimeoutError

    monkeypatch.setattr(litellm_module(), "completion", completion)
    body = request(clip()).body("gemini/gemini-2.5-flash")
    with pytest.raises(Failure):
        LiteLLMBackend(api_key="none").send(body, 5.0)
    [text, part] = sent[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert part["type"] == "file" and part["file"]["format"] == "video/mp4"
    assert part["file"]["file_data"].startswith("data:video/mp4;base64,")
