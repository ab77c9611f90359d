"""What is asked of a model: messages of text and pictures, and the shape of the answer."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray
from PIL import Image as Picture

from agents.calls import Purpose
from agents.gateway.clips import VIDEO, Clip

Mode = Literal["tool", "json_schema", "prompt"]
"""How a structured answer is asked for: as a tool call, as `response_format`, or in words alone."""


_UP, _RGB = 2, 2
"""PNG's numbers for the row filter and for the colour type."""


def shrunk(size: tuple[int, int], longest_side: int | None) -> tuple[int, int]:
    """Width and height of a picture whose longer side may have so many pixels; it is never enlarged."""
    if not longest_side or max(size) <= longest_side:
        return size
    scale = longest_side / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


@dataclass(frozen=True, eq=False)
class Image:
    """A picture in a message."""

    pixels: NDArray[np.uint8] = field(repr=False)
    """(H, W, 3) uint8, RGB, of the size that is sent; never written to."""
    whole: Image | None = field(default=None, repr=False)
    """The picture that this one is at half its size, if it is (see `reduced`)."""

    @classmethod
    def from_frame(cls, frame: NDArray[np.uint8], *, longest_side: int | None = None) -> Image:
        """A frame, at its own size or smaller.

        Args:
            frame: (H, W, 3) uint8, RGB.
            longest_side: shrink the picture so that its longer side has this many pixels; it is never enlarged.

        Raises:
            ValueError: for another shape or dtype.
        """
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError(f"a frame is (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
        if shrunk(frame.shape[:2], longest_side) == frame.shape[:2]:
            return cls(np.array(frame))  # a copy: the frame is the world's, and requests are evidence
        return cls(cls(frame).reduced(longest_side).pixels)

    def reduced(self, longest_side: int | None) -> Image:
        """The picture, smaller if need be; at exactly half the size the record names this one, and how to get there.

        Then each pixel is the mean of four in whole numbers (their sum, plus two, divided by four), the same on any
        machine.
        """
        size = shrunk(self.size, longest_side)
        if size == self.size:
            return self
        picture = Picture.fromarray(np.ascontiguousarray(self.pixels))
        if (2 * size[0], 2 * size[1]) == self.size:
            return Image(np.asarray(picture.reduce(2)), whole=self)
        return Image(np.asarray(picture.resize(size, Picture.Resampling.LANCZOS)))

    @cached_property
    def png(self) -> bytes:
        """The picture as a PNG file, losslessly."""
        return encode_png(self.pixels)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of size and pixels: the picture's address, whatever file it is sent as."""
        width, height = self.size
        digest = hashlib.sha256(f"{width}x{height}\n".encode())
        digest.update(np.ascontiguousarray(self.pixels).data)
        return digest.hexdigest()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self.pixels.shape[:2]
        return width, height

    def data_url(self) -> str:
        """The picture as a `data:` URL, the form that chat completions take."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode a picture as PNG, quickly: every row as its difference from the row above, deflated by ISA-L.

    Measured on a drawn frame of 640 x 480: 0.3 ms (1.5 ms with zlib at its fastest, 4.4 ms by Pillow at its fastest);
    on a textured one 1.2 ms (4.5 ms with zlib), for files of the same size.

    Args:
        pixels: (H, W, 3) uint8, RGB.
    """
    height, width = pixels.shape[:2]
    lines = np.ascontiguousarray(pixels).reshape(height, width * 3)
    filtered = np.empty((height, 1 + width * 3), np.uint8)
    filtered[:, 0] = _UP
    filtered[0, 1:] = lines[0]
    np.subtract(lines[1:], lines[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, _RGB, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", isal_zlib.compress(filtered, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", isal_zlib.crc32(kind + data))
        for kind, data in chunks
    )


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation; strings, pictures and videos in reading order."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Image | Clip, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model, independent of the provider."""

    purpose: Purpose
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    """JSON schema of the answer, an object without `$ref`; None asks for free text."""
    schema_name: str = "answer"
    """Name of the tool or of the response format."""
    schema_help: str = ""
    """What the tool is for."""
    mode: Mode = "tool"
    temperature: float | None = 0.0
    """None leaves it to the provider; reasoning models refuse any other value than their own."""
    max_tokens: int = 1024
    """Upper bound of the answer's length."""
    seed: int | None = None
    timeout_s: float = 60.0
    """Longest wait for one attempt."""
    repeat: int = 0
    """Numbers repeated questions, so that the cache keeps their answers apart; it is not sent."""

    @property
    def images(self) -> dict[str, NDArray[np.uint8]]:
        """All pictures by their address, (H, W, 3) uint8 RGB, as sent; for one at half size, the whole one.

        Those of a video too, as they were before it was encoded.
        """
        return {image.sha256: image.pixels for image in (part.whole or part for part in self._pictures())}

    def _pictures(self) -> list[Image]:
        parts = [part for message in self.messages for part in message.parts if not isinstance(part, str)]
        return [image for part in parts for image in (part.images if isinstance(part, Clip) else (part,))]

    def body(self, model: str, *, tokens_field: str = "max_tokens", recorded: bool = False) -> dict[str, Any]:
        """The request as a chat completion.

        Args:
            model: the model's name at the endpoint.
            tokens_field: `max_tokens`, or `max_completion_tokens` where the endpoint wants that.
            recorded: as it is stored, with each picture replaced by `{"artifact": sha256}`, or by `{"half_of": sha256}`
                of the whole one.
        """
        body: dict[str, Any] = {
            "model": model,
            "messages": [_message(message, recorded) for message in self.messages],
            tokens_field: self.max_tokens,
        }
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.seed is not None:
            body["seed"] = self.seed
        if self.schema is None or self.mode == "prompt":
            return body
        if self.mode == "tool":
            function = {"name": self.schema_name, "description": self.schema_help, "parameters": dict(self.schema)}
            body["tools"] = [{"type": "function", "function": function}]
            body["tool_choice"] = {"type": "function", "function": {"name": self.schema_name}}
        else:
            wanted = {"name": self.schema_name, "schema": dict(self.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return body

    def estimated_tokens(self) -> int:
        """A rough upper bound of the tokens it takes, answer included, for limits that bind before sending.

        Four characters of text a token, 1,500 tokens a picture (the most that the common
        providers charge for one of up to about 1,000 x 1,000 pixels).
        """
        text = sum(len(part) for m in self.messages for part in m.parts if isinstance(part, str))
        pictures = len(self._pictures())
        schema = len(str(self.schema)) if self.schema else 0
        return (text + schema) // 4 + 1_500 * pictures + self.max_tokens


def _message(message: Message, recorded: bool) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.role, "content": _sendable("\n\n".join(str(part) for part in message.parts))}
    return {"role": message.role, "content": [_part(part, recorded) for part in message.parts]}


def _part(part: str | Image | Clip, recorded: bool) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": _sendable(part)}
    if isinstance(part, Clip):
        if recorded:
            return {"type": "video", "frames": [_part(image, recorded) for image in part.images]}
        return {"type": VIDEO, VIDEO: {"url": part.data_url()}}
    if recorded:
        return {"half_of": part.whole.sha256} if part.whole else {"artifact": part.sha256}
    return {"type": "image_url", "image_url": {"url": part.data_url()}}


def _sendable(text: str) -> str:
    """Text with U+FFFD for each half of a surrogate pair: what a model said of that kind comes back in a prompt."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same JSON schema in the few words that all endpoints understand.

    `$defs` are put in place of the `$ref`s. Titles and OpenAPI's `discriminator` go: they repeat
    what the schema says already, and the latter refers to the `$defs`. `uniqueItems` goes too: some
    servers refuse a request that has it, and whoever reads the answer checks it anyway. `oneOf` becomes `anyOf`,
    `const` an `enum` of one, and exclusive bounds of integers inclusive ones: for what pydantic
    writes these mean the same, and some providers' tools know no other form.

    Raises:
        ValueError: for a schema that contains itself, or a `$ref` to somewhere else.
    """
    definitions = schema.get("$defs", {})

    def resolve(node: Any, inside: Sequence[str]) -> Any:
        if isinstance(node, list):
            return [resolve(item, inside) for item in node]
        if not isinstance(node, Mapping):
            return node
        if "$ref" in node:
            name = str(node["$ref"]).removeprefix("#/$defs/")
            if name not in definitions or name in inside:
                why = "contains itself" if name in inside else "is not among its $defs"
                raise ValueError(f"schema cannot be written out: {node['$ref']!r} {why}")
            beside = {key: value for key, value in node.items() if key != "$ref"}
            return resolve({**definitions[name], **beside}, [*inside, name])
        kept: dict[str, Any] = {}
        for key, value in node.items():
            if key in {"$defs", "discriminator", "uniqueItems"} or (key == "title" and isinstance(value, str)):
                continue
            if key == "properties":  # names chosen by the author: `title` may be one of them
                kept[key] = {name: resolve(item, inside) for name, item in value.items()}
            else:
                kept[key] = value if key in {"enum", "const", "default", "examples"} else resolve(value, inside)
        return _in_common_words(kept)

    result: dict[str, Any] = resolve(schema, [])
    return result


def _in_common_words(node: dict[str, Any]) -> dict[str, Any]:
    if "oneOf" in node and "anyOf" not in node:
        node["anyOf"] = node.pop("oneOf")
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if node.get("type") == "integer":
        if "exclusiveMinimum" in node:
            node["minimum"] = node.pop("exclusiveMinimum") + 1
        if "exclusiveMaximum" in node:
            node["maximum"] = node.pop("exclusiveMaximum") - 1
    return node
