"""Pictures sent as one video, for providers that take video: the same pictures, one a second."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from agents.gateway.messages import Image

VIDEO = "video_url"
"""How a video stands in a chat completion: vLLM's form, which other servers of that protocol took over."""
FPS = 1
"""Pictures a second. Providers look at one frame a second (Gemini) or two (Qwen-VL): at this rate they miss none."""


@dataclass(frozen=True, eq=False)
class Clip:
    """A short video in a message.

    Raises:
        ValueError: without pictures, or for pictures of different sizes.
    """

    images: tuple[Image, ...]
    """In the order of play, all of one size."""

    def __post_init__(self) -> None:
        if len({image.size for image in self.images}) != 1:
            sizes = sorted({image.size for image in self.images})
            raise ValueError(f"a clip has pictures of one size, got {len(self.images)} of sizes {sizes}")

    @cached_property
    def mp4(self) -> bytes:
        """The clip as an H.264 MP4 file; the record keeps the pictures themselves, not these bytes."""
        return encode_mp4(self.images)

    def data_url(self) -> str:
        """The clip as a `data:` URL."""
        return "data:video/mp4;base64," + base64.b64encode(self.mp4).decode("ascii")


def encode_mp4(images: Sequence[Image]) -> bytes:
    """Encode pictures as a video of one picture a second; odd sizes are padded by repeating the edge.

    Args:
        images: of one size, at least one.
    """
    import av  # FFmpeg; players that send single pictures do without it

    width, height = images[0].size
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        # Each picture whole, so that a provider that seeks sees it as it is.
        options = {"crf": "14", "g": "1", "bf": "0", "threads": "1", "preset": "medium"}
        stream = container.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height = width + width % 2, height + height % 2
        stream.pix_fmt = "yuv420p"
        for image in images:
            padded = np.pad(image.pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(padded), format="rgb24")))
        container.mux(stream.encode())
    return file.getvalue()


def has_video(body: Mapping[str, Any]) -> bool:
    """Whether a chat completion, as it is sent, holds a video."""
    contents = [message.get("content") for message in body.get("messages", [])]
    return any(part.get("type") == VIDEO for parts in contents if isinstance(parts, list) for part in parts)


def as_files(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same chat completion with its videos in litellm's form, which it translates for the providers it knows."""

    def part(given: Mapping[str, Any]) -> Mapping[str, Any]:
        if given.get("type") != VIDEO:
            return given
        return {"type": "file", "file": {"file_data": given[VIDEO]["url"], "format": "video/mp4"}}

    def message(given: Mapping[str, Any]) -> Mapping[str, Any]:
        content = given.get("content")
        return {**given, "content": [part(item) for item in content]} if isinstance(content, list) else given

    return {**body, "messages": [message(item) for item in body["messages"]]}
