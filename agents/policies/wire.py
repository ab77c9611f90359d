"""Arrays on the wire: msgpack as openpi and vla-eval write it, JSON as json-numpy does; bounded, and never a pickle.

- openpi (`openpi_client.msgpack_numpy`): a map with *byte* keys `__ndarray__`, `data`, `dtype` (`<f4`), `shape`;
  NumPy scalars as `__npgeneric__`, `data`, `dtype`. Object, void and complex arrays are refused.
- vla-eval 0.4 (`vla_eval.protocol`): the same map with *text* keys, scalars as plain numbers, and pictures as
  `__image__`, `format` (raw, png or jpeg), `data`, `shape`. The two do not understand one another.
- json-numpy 2 (OpenVLA's server): an object `__numpy__` (base64), `dtype`, `shape`; shape `[]` is a scalar.

What comes in is hostile: types are checked against a short list, sizes against their shapes, before NumPy sees them.
"""

from __future__ import annotations

import base64
import binascii
import functools
import io
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 32 * 2**20
"""Longest message that is read or written: two megapixel pictures fit, and no memory is in danger."""
MAX_DIMS = 8
_DTYPE = re.compile(r"[<>|=]?[biufUS]\d{0,5}")
"""Booleans, integers, floats, text. Not object (a pickle), void (anything), complex."""


class WireError(ValueError):
    """A message that cannot be read or written; the text says which part and why."""


# --- msgpack --------------------------------------------------------------------------------------------------------


def pack(value: Any) -> bytes:
    """A value as openpi's msgpack.

    Raises:
        WireError: for a type that has no place there, or more than `MAX_BYTES`.
    """
    return _packed(value, _openpi_form)


def unpack(data: bytes) -> Any:
    """The value of openpi's msgpack; arrays are read-only views of `data`.

    Raises:
        WireError: for bytes that are no such message.
    """
    return _unpacked(data, _from_openpi)


def pack_text_keys(value: Any) -> bytes:
    """A value as vla-eval's msgpack; pictures are sent raw, which its decoder takes as well as PNG.

    Raises:
        WireError: as `pack` does.
    """
    return _packed(value, _vla_eval_form)


def unpack_text_keys(data: bytes) -> Any:
    """The value of vla-eval's msgpack, pictures decoded.

    Raises:
        WireError: as `unpack` does.
    """
    return _unpacked(data, _from_vla_eval)


@functools.cache
def _msgpack() -> Any:
    import msgpack  # of the extra `policies`

    return msgpack


def _packed(value: Any, form: Any) -> bytes:
    try:
        data: bytes = _msgpack().packb(value, default=form)
    except (TypeError, OverflowError, RecursionError) as error:
        raise WireError(f"cannot be packed: {_why(error)}") from None
    except ValueError as error:
        raise error if isinstance(error, WireError) else WireError(f"cannot be packed: {_why(error)}") from None
    if len(data) > MAX_BYTES:
        raise WireError(f"the message has {len(data):,} bytes; at most {MAX_BYTES:,} are sent")
    return data


def _unpacked(data: bytes, hook: Any) -> Any:
    if len(data) > MAX_BYTES:
        raise WireError(f"the message has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    try:
        return _msgpack().unpackb(data, object_hook=hook)
    except (ValueError, TypeError, RecursionError, _msgpack().exceptions.UnpackException) as error:
        raise error if isinstance(error, WireError) else WireError(f"is no msgpack message: {_why(error)}") from None


def _why(error: Exception) -> str:
    """An error's own words, or what its kind means: most of msgpack's have none."""
    words = str(error).strip()
    if words:
        return words
    exceptions = _msgpack().exceptions
    for kind, meaning in (
        (exceptions.FormatError, "it holds a byte that begins no value"),
        (exceptions.StackError, "it is nested too deeply"),
        (RecursionError, "it is nested too deeply"),
    ):
        if isinstance(error, kind):
            return meaning
    return type(error).__name__


def _openpi_form(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        dtype = _sendable(value.dtype)
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": dtype, b"shape": list(value.shape)}
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": _sendable(value.dtype)}
    raise TypeError(f"{type(value).__name__} has no place in a message")


def _from_openpi(value: dict[Any, Any]) -> Any:
    if b"__ndarray__" in value:
        return _array(value.get(b"data"), value.get(b"dtype"), value.get(b"shape"))
    if b"__npgeneric__" in value:
        return _scalar(value.get(b"data"), value.get(b"dtype"))
    return value


def _vla_eval_form(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        dtype = _sendable(value.dtype)
        return {"__ndarray__": True, "data": value.tobytes(), "dtype": dtype, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        _sendable(value.dtype)
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a message")


def _from_vla_eval(value: dict[Any, Any]) -> Any:
    if "__image__" in value:
        if value.get("format") == "raw":
            return _array(value.get("data"), value.get("dtype"), value.get("shape"))
        return _picture(value.get("data"), value.get("shape"))
    if "__ndarray__" in value:
        return _array(value.get("data"), value.get("dtype"), value.get("shape"))
    return value


# --- JSON -----------------------------------------------------------------------------------------------------------


def to_json(value: Any) -> bytes:
    """A value as json-numpy's JSON, UTF-8.

    Raises:
        WireError: for a type that has no place there, NaN outside arrays, or more than `MAX_BYTES`.
    """
    try:
        data = json.dumps(value, default=_json_form, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise error if isinstance(error, WireError) else WireError(f"cannot be written as JSON: {error}") from None
    if len(data) > MAX_BYTES:
        raise WireError(f"the message has {len(data):,} bytes; at most {MAX_BYTES:,} are sent")
    return data


def from_json(data: bytes | str) -> Any:
    """The value of json-numpy's JSON.

    Raises:
        WireError: for text that is no such message.
    """
    if len(data) > MAX_BYTES:
        raise WireError(f"the message has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    try:
        return json.loads(data, object_hook=_from_json)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, WireError) else WireError(f"is no JSON: {error}") from None


def _json_form(value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"{type(value).__name__} has no place in a message")
    data = base64.b64encode(value.tobytes()).decode("ascii")
    return {"__numpy__": data, "dtype": _sendable(value.dtype), "shape": list(value.shape)}


def _from_json(value: dict[str, Any]) -> Any:
    if "__numpy__" not in value:
        return value
    coded = value["__numpy__"]
    try:
        data = base64.b64decode(coded, validate=True) if isinstance(coded, str) else None
    except (binascii.Error, ValueError):
        raise WireError("an array's data is no base64") from None
    array = _array(data, value.get("dtype"), value.get("shape"))
    return array if array.ndim else array[()]


# --- arrays ---------------------------------------------------------------------------------------------------------


def _sendable(dtype: np.dtype[Any]) -> str:
    if not _DTYPE.fullmatch(dtype.str):
        raise WireError(f"arrays of {dtype} are not sent: only booleans, integers, floats and text")
    return dtype.str


def _dtype(name: Any) -> np.dtype[Any]:
    """The type of a name that is on the short list; NumPy is asked only then."""
    text = name.decode("ascii", "replace") if isinstance(name, bytes) else name
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise WireError(f"an array of dtype {str(text)[:40]!r} is refused: only booleans, integers, floats and text")
    try:
        return np.dtype(text)
    except TypeError:
        raise WireError(f"there is no dtype {text!r}") from None


def _shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_DIMS:
        raise WireError(f"an array's shape is {str(value)[:60]}, not a list of at most {MAX_DIMS} sizes")
    if not all(type(size) is int and 0 <= size <= MAX_BYTES for size in value):
        raise WireError(f"an array's shape is {str(value)[:60]}, with a size that is no whole number in range")
    return tuple(value)


def _array(data: Any, dtype: Any, shape: Any) -> NDArray[Any]:
    kind, sizes = _dtype(dtype), _shape(shape)
    if not isinstance(data, bytes):
        raise WireError(f"an array's data is {type(data).__name__}, not bytes")
    expected = math.prod(sizes) * kind.itemsize
    if len(data) != expected:
        raise WireError(f"an array of {kind.str} and shape {list(sizes)} has {len(data):,} bytes, not {expected:,}")
    if not kind.itemsize:
        raise WireError(f"an array of {kind.str} has elements without a size")
    return np.frombuffer(data, kind).reshape(sizes)


def _scalar(data: Any, dtype: Any) -> Any:
    kind = _dtype(dtype)
    if not isinstance(data, bool | int | float | str | bytes):
        raise WireError(f"a scalar of {kind.str} is given as {type(data).__name__}")
    try:
        return kind.type(data)
    except (ValueError, TypeError, OverflowError):
        raise WireError(f"{str(data)[:40]!r} is no scalar of {kind.str}") from None


def _picture(data: Any, shape: Any) -> NDArray[np.uint8]:
    """A PNG or JPEG, (H, W, C) uint8; its size is read from its head before anything is unpacked."""
    from PIL import Image, UnidentifiedImageError

    if not isinstance(data, bytes):
        raise WireError(f"a picture's data is {type(data).__name__}, not bytes")
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as picture:
            if 4 * picture.width * picture.height > MAX_BYTES:
                raise WireError(f"a picture of {picture.width} x {picture.height} is too large")
            pixels = np.asarray(picture)
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise WireError(f"a picture cannot be decoded: {error}") from None
    if tuple(pixels.shape) != _shape(shape):
        raise WireError(f"a picture of shape {list(pixels.shape)} is said to have {str(shape)[:60]}")
    return pixels


def field(message: Any, *names: str) -> Any:
    """The value under the first of `names` that a map holds.

    Raises:
        WireError: if it is no map, or holds none of them.
    """
    if not isinstance(message, Mapping):
        raise WireError(f"the message is {_kind(message)}, not a map")
    for name in names:
        if name in message:
            return message[name]
    keys = ", ".join(repr(str(key)[:30]) for key in list(message)[:8])
    raise WireError(f"the message has no {' or '.join(map(repr, names))}; it has {keys or 'nothing'}")


def _kind(value: Any) -> str:
    return f"text ({value[:60]!r})" if isinstance(value, str) else type(value).__name__
