"""The robot protocol's messages: plain msgpack maps, so that a server can be written in any language.

A request is `{"seq": n, "do": name, ...}`, an answer `{"seq": n, "ok": {...}}` or `{"seq": n, "error": {...}}` with
`code` and `message`.
Vectors are lists of numbers, pictures `{"time_s", "height", "width", "rgb": bytes}`. Nothing is a pickle, nothing is a
path, and whatever comes in is checked for its type, its shape, its size and for numbers that are none.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from environments.real.robot import ACTION_SIZE, Description, Picture, Reading, RobotFault, Vector

MAX_REQUEST = 64 * 2**10
"""Bytes of the longest request that a server reads."""
MAX_ANSWER = 32 * 2**20
"""Bytes of the longest answer that a client reads: two megapixel pictures fit."""
MAX_CAMERAS = 8
MAX_EDGE_PX = 4096
MAX_TEXT = 2000
_VECTORS = ("position", "rotation", "axis_angle", "velocity", "fingers")
CODES = ("protocol", "version", "busy", "not-ready", "bad-action", "watchdog", "stopped", "robot")
"""What may be wrong, in one word each; the message says it in full."""


class BadMessage(ValueError):
    """A message that cannot be read; the text says which part and why."""


@functools.cache
def _msgpack() -> Any:
    import msgpack  # of the extra `policies`

    return msgpack


def pack(message: Mapping[str, Any]) -> bytes:
    """A message as bytes."""
    data: bytes = _msgpack().packb(message)
    return data


def unpack(data: bytes | str, limit: int) -> dict[str, Any]:
    """The map that a message holds.

    Args:
        data: as received; a text frame is no message.
        limit: longest that is read, in bytes.

    Raises:
        BadMessage: for anything but a msgpack map with text keys.
    """
    if not isinstance(data, bytes):
        raise BadMessage("is a text frame, not msgpack in a binary one")
    if len(data) > limit:
        raise BadMessage(f"has {len(data):,} bytes; at most {limit:,} are read")
    try:
        value = _msgpack().unpackb(data)
    except (ValueError, RecursionError, _msgpack().exceptions.UnpackException):
        raise BadMessage("is no msgpack") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise BadMessage(f"is {type(value).__name__}, not a map with names")
    return value


# --- values ---------------------------------------------------------------------------------------------------------


def text(value: Any, what: str, limit: int = MAX_TEXT) -> str:
    """A text of bounded length.

    Raises:
        BadMessage: for anything else.
    """
    if not isinstance(value, str) or len(value) > limit:
        raise BadMessage(f"`{what}` is {_told(value)}, not a text of at most {limit} characters")
    return value


def number(value: Any, what: str) -> float:
    """A finite number.

    Raises:
        BadMessage: for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadMessage(f"`{what}` is {_told(value)}, not a finite number")
    return float(value)


def vector(value: Any, what: str, size: int) -> Vector:
    """So many finite numbers, (size,) float64.

    Raises:
        BadMessage: for another length, or a number that is none.
    """
    if not isinstance(value, list | tuple) or len(value) != size:
        raise BadMessage(f"`{what}` is {_told(value)}, not {size} numbers")
    return np.array([number(item, f"{what}[{i}]") for i, item in enumerate(value)])


def field(message: Any, name: str) -> Any:
    """The value of a key.

    Raises:
        BadMessage: if it is missing.
    """
    if not isinstance(message, dict) or name not in message:
        raise BadMessage(f"has no `{name}`")
    return message[name]


def _told(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"{type(value).__name__} {str(value)[:40]!r}"


# --- what a robot says ----------------------------------------------------------------------------------------------


def description_out(robot: Description, protocol: str, watchdog_s: float) -> dict[str, Any]:
    """A description as it is sent."""
    return {
        "protocol": protocol,
        "name": robot.name,
        "cameras": {name: list(size) for name, size in robot.cameras.items()},
        "rate_hz": float(robot.rate_hz),
        "low": [float(value) for value in robot.low],
        "high": [float(value) for value in robot.high],
        "workspace": None if robot.workspace is None else [[float(x) for x in corner] for corner in robot.workspace],
        "watchdog_s": float(watchdog_s),
        "judge": robot.judge,
        "check": robot.check,
    }


def description_in(message: Any) -> tuple[Description, float]:
    """A description that came, and the watchdog's time in seconds.

    Raises:
        BadMessage: for a part that is missing, misshapen or out of bounds.
    """
    cameras = field(message, "cameras")
    if not isinstance(cameras, dict) or len(cameras) > MAX_CAMERAS:
        raise BadMessage(f"`cameras` is {_told(cameras)}, not a map of at most {MAX_CAMERAS} cameras")
    rate_hz = number(field(message, "rate_hz"), "rate_hz")
    watchdog_s = number(field(message, "watchdog_s"), "watchdog_s")
    if not 1 <= rate_hz <= 1000 or not 0 < watchdog_s <= 3600:
        raise BadMessage(f"`rate_hz` is {rate_hz:g} and `watchdog_s` {watchdog_s:g}; expected 1..1000 and 0..3600")
    judge = field(message, "judge")
    if judge not in ("operator", "check"):
        raise BadMessage(f"`judge` is {_told(judge)}, neither operator nor check")
    low, high = (vector(field(message, name), name, ACTION_SIZE) for name in ("low", "high"))
    if not ((low >= -1) & (low <= high) & (high <= 1)).all():
        raise BadMessage("`low` and `high` are not in order within [-1, 1]")
    corners = field(message, "workspace")
    if corners is not None:
        if not isinstance(corners, list) or len(corners) != 2:
            raise BadMessage(f"`workspace` is {_told(corners)}, not two corners")
        corners = tuple(tuple(vector(corner, "workspace", 3).tolist()) for corner in corners)
    robot = Description(
        name=text(field(message, "name"), "name", 100),
        cameras={text(name, "cameras", 60): _size(size, name) for name, size in cameras.items()},
        rate_hz=rate_hz,
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        workspace=corners,
        judge=judge,
        check=text(field(message, "check"), "check"),
    )
    return robot, watchdog_s


def reading_out(reading: Reading) -> dict[str, Any]:
    """A reading as it is sent.

    Raises:
        RobotFault: for a picture that is not (H, W, 3) uint8. Fractions in [0, 1] would be sent as black.
    """
    numbers = {name: np.asarray(getattr(reading, name), float).ravel().tolist() for name in _VECTORS}
    pictures = {name: _picture_out(picture, name) for name, picture in reading.pictures.items()}
    return {"time_s": float(reading.time_s), **numbers, "pictures": pictures}


def _picture_out(picture: Picture, name: str) -> dict[str, Any]:
    pixels = np.asarray(picture.pixels)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise RobotFault(f"the picture of {name!r} is {pixels.shape} {pixels.dtype}; expected (height, width, 3) uint8")
    height, width, _ = pixels.shape
    return {"time_s": float(picture.time_s), "height": height, "width": width, "rgb": pixels.tobytes()}


def reading_in(message: Any) -> Reading:
    """A reading that came.

    Raises:
        BadMessage: for a part that is missing, misshapen or no number.
    """
    pictures = field(message, "pictures")
    if not isinstance(pictures, dict) or len(pictures) > MAX_CAMERAS:
        raise BadMessage(f"`pictures` is {_told(pictures)}, not a map of at most {MAX_CAMERAS} pictures")
    rotation = vector(field(message, "rotation"), "rotation", 9).reshape(3, 3)
    if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-3:
        raise BadMessage("`rotation` is no rotation: its rows are not orthonormal")
    return Reading(
        time_s=number(field(message, "time_s"), "time_s"),
        position=vector(field(message, "position"), "position", 3),
        rotation=rotation,
        axis_angle=vector(field(message, "axis_angle"), "axis_angle", 3),
        velocity=vector(field(message, "velocity"), "velocity", 3),
        fingers=vector(field(message, "fingers"), "fingers", 2),
        pictures={name: _picture(picture, name) for name, picture in pictures.items()},
    )


def _size(value: Any, name: str) -> tuple[int, int]:
    good = isinstance(value, list | tuple) and len(value) == 2
    if not good or not all(type(edge) is int and 1 <= edge <= MAX_EDGE_PX for edge in value):
        raise BadMessage(f"`cameras.{name[:40]}` is {_told(value)}, not height and width in 1..{MAX_EDGE_PX}")
    return value[0], value[1]


def _picture(value: Any, name: str) -> Picture:
    height, width = _size([field(value, "height"), field(value, "width")], name)
    rgb = field(value, "rgb")
    if not isinstance(rgb, bytes) or len(rgb) != 3 * height * width:
        got = f"{len(rgb):,} bytes" if isinstance(rgb, bytes) else type(rgb).__name__
        raise BadMessage(f"`pictures.{name[:40]}.rgb` has {got}, not {3 * height * width:,} for {height} x {width}")
    pixels = np.frombuffer(rgb, np.uint8).reshape(height, width, 3)
    return Picture(number(field(value, "time_s"), "time_s"), pixels)
