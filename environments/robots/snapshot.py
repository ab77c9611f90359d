"""The exact state of a robot world as bytes: one JSON header and raw little-endian float64 arrays.

    b"RBT1" | length of the header (uint32) | header (JSON, UTF-8) | arrays, one after the other

MuJoCo's part is `mjSTATE_INTEGRATION`: time, positions, velocities, the solver's warm start,
controls and applied forces. Model fields that an episode may write are stored where they differ
from the model as built. No pickle: a snapshot is data, and may come from another process.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from environments.errors import InvalidSnapshot
from environments.robots._robosuite import mujoco

_MAGIC = b"RBT1"
_LENGTH = struct.Struct("<I")

MODEL_FIELDS = (
    "body_pos", "body_quat", "body_mass", "geom_friction", "geom_rgba", "cam_pos", "cam_quat", "cam_fovy",
    "light_pos", "light_diffuse", "site_rgba",
)  # fmt: skip
"""Fields of the model that an injection may write during an episode; anything else stays as built."""


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[np.float64]]) -> bytes:
    """Serialise JSON values and float64 arrays; equal contents give equal bytes."""
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    head = json.dumps({"values": header, "shapes": shapes}, sort_keys=True, separators=(",", ":")).encode()
    body = b"".join(arrays[name].astype("<f8", copy=False).tobytes() for name in sorted(arrays))
    return _MAGIC + _LENGTH.pack(len(head)) + head + body


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """The inverse of `pack`.

    Raises:
        InvalidSnapshot: for bytes that `pack` did not write, or that were cut short.
    """
    start = len(_MAGIC) + _LENGTH.size
    if not data.startswith(_MAGIC) or len(data) < start:
        raise InvalidSnapshot(f"expected a robot state that begins with {_MAGIC!r}, got {data[:8]!r}")
    (length,) = _LENGTH.unpack(data[len(_MAGIC) : start])
    try:
        head = json.loads(data[start : start + length])
        values, shapes = head["values"], head["shapes"]
        sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidSnapshot(f"the header of the robot state cannot be read: {error}") from None
    expected = start + length + 8 * sum(sizes.values())
    if len(data) != expected:
        raise InvalidSnapshot(f"expected a robot state of {expected} bytes, got {len(data)}")
    arrays, at = {}, start + length
    for name in sorted(shapes):
        arrays[name] = np.frombuffer(data, "<f8", sizes[name], at).reshape(shapes[name]).astype(np.float64)
        at += 8 * sizes[name]
    return values, arrays


class Physics:
    """Reads and writes MuJoCo's state and the writable fields of its model."""

    def __init__(self, model: Any, data: Any) -> None:
        self._model, self._data = model, data
        self._size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
        # Views of the model's own arrays, and their bytes: comparing bytes is six times faster than comparing numbers.
        self._fields = {name: getattr(model, name) for name in MODEL_FIELDS}
        self._built = {name: np.array(field, np.float64).ravel() for name, field in self._fields.items()}
        self._bytes = {name: field.tobytes() for name, field in self._fields.items()}

    def read(self) -> dict[str, NDArray[np.float64]]:
        """The state, (n,), and per changed model field its (k, 2) pairs of flat index and value."""
        state = np.empty(self._size)
        mujoco.mj_getState(self._model, self._data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        arrays = {"physics": state}
        for name, field in self._fields.items():
            if field.tobytes() != self._bytes[name]:
                now = field.ravel()
                changed = np.flatnonzero(now != self._built[name])
                if len(changed):  # none where only the sign of a zero differs
                    arrays[f"model.{name}"] = np.stack([changed, now[changed]], axis=1).astype(np.float64)
        return arrays

    def check(self, arrays: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """The state of this model among `arrays`.

        Raises:
            InvalidSnapshot: for a state of another model.
        """
        state = arrays.get("physics")
        if state is None or state.shape != (self._size,):
            got = "none" if state is None else str(state.shape)
            raise InvalidSnapshot(f"expected physics of shape ({self._size},), got {got}")
        return state

    def write(self, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        """Put back what `read` returned, and recompute poses and contacts.

        Raises:
            InvalidSnapshot: for a state of another model; nothing has changed then.
        """
        state = self.check(arrays)
        for name, built in self._built.items():
            field = self._fields[name]
            changes = arrays.get(f"model.{name}")
            if changes is not None:
                built = built.copy()
                built[changes[:, 0].astype(int)] = changes[:, 1]
            if changes is not None or (field.ravel() != built).any():
                field[...] = built.reshape(field.shape)
        mujoco.mj_setState(self._model, self._data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        # Positions, velocities and contacts of this state; it leaves the warm start alone (mj_forward would not).
        mujoco.mj_step1(self._model, self._data)
