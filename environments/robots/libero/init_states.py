"""The published initial states, read without torch and without trusting a pickle.

A file is a zip archive as `torch.save` writes it: `<name>/data.pkl` holds one pickled numpy array of
shape (50, 1 + nq + nv), and beside it lies a version number. Unpickling runs whatever a file asks for,
so the reader below resolves the four names that such an array needs to stand-ins of our own, which only
take notes; every other name, an array of anything but little-endian float64, and a file that is larger
than an array of states can be, are refused.
"""

from __future__ import annotations

import io
import pickle
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from environments.errors import EnvironmentsError

MAX_BYTES = 16 * 2**20
"""More than ten times the largest published file."""


class InvalidInitStates(EnvironmentsError, ValueError):
    """A file that does not hold exactly one plain array of numbers."""


def read(path: Path) -> NDArray[np.float64]:
    """The states of one file, (n, 1 + nq + nv) float64: time, joint positions, joint velocities.

    Raises:
        InvalidInitStates: for a file that is missing, is no such archive, or holds anything else.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith("/data.pkl")]
            if len(entries) != 1 or entries[0].file_size > MAX_BYTES:
                raise InvalidInitStates(f"{path}: expected one data.pkl of at most {MAX_BYTES} bytes in the archive")
            data = archive.read(entries[0])
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise InvalidInitStates(f"{path}: not a readable archive of initial states: {error}") from None
    try:
        return unpickle(data)
    except InvalidInitStates as error:
        raise InvalidInitStates(f"{path}: {error}") from None


def unpickle(data: bytes) -> NDArray[np.float64]:
    """The two-dimensional float64 array that a pickle holds; nothing that it names is ever called.

    Raises:
        InvalidInitStates: if it holds or asks for anything else.
    """
    try:
        found = _Reader(io.BytesIO(data)).load()
    except InvalidInitStates:
        raise
    except Exception as error:  # noqa: BLE001  a hostile pickle fails in any way it likes; none may pass for another error
        raise InvalidInitStates(f"not a pickle of one array: {type(error).__name__}: {error}") from None
    if not isinstance(found, _Array):
        raise InvalidInitStates(f"expected one array, got {type(found).__name__}")
    return found.array()


class _Reader(pickle.Unpickler):
    """Resolves the names of a plain numpy array to the stand-ins below, and no other name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise InvalidInitStates(f"asks for {module:.80}.{name:.80}, which no array of numbers needs")
        return _KNOWN[module, name]

    def persistent_load(self, pid: Any) -> NoReturn:
        raise InvalidInitStates("refers to an object outside the file")


class _StandIn:
    """A function that a pickle may call and not change: unpickling writes attributes to whatever it is told to."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __setstate__(self, state: Any) -> NoReturn:
        raise InvalidInitStates("changes what it names")


class _Dtype:
    """Little-endian float64, once its state has been told."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] != "<":
            raise InvalidInitStates(f"describes its numbers by {state!r:.80}, expected little-endian")


class _Array:
    """Notes what the pickle tells of the array."""

    __slots__ = ("_state",)

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def array(self) -> NDArray[np.float64]:
        """What was noted, checked, as an array of our own."""
        match getattr(self, "_state", None):
            case (int(), (int() as rows, int() as columns), _Dtype(), False, bytes() as content):
                if min(rows, columns) < 1 or len(content) != 8 * rows * columns:
                    raise InvalidInitStates(f"{len(content)} bytes are not {rows} x {columns} float64 numbers")
                numbers = np.frombuffer(content, "<f8").reshape(rows, columns).astype(np.float64)
                if not np.isfinite(numbers).all():
                    raise InvalidInitStates("some numbers are not finite")
                return numbers
        raise InvalidInitStates("the array is not two-dimensional, in row order, of numbers")


def _reconstruct(kind: Any, *_: Any) -> _Array:
    if kind is not _NDARRAY:
        raise InvalidInitStates(f"reconstructs a {kind!r:.80}, expected an array")
    return _Array()


def _dtype(kind: Any, *_: Any) -> _Dtype:
    if kind != "f8":
        raise InvalidInitStates(f"holds numbers of type {kind!r:.80}, expected 'f8'")
    return _Dtype()


def _encode(text: Any, encoding: Any) -> bytes:
    """Bytes, as protocol 2 writes them: text in Latin-1."""
    if not isinstance(text, str) or encoding != "latin1":
        raise InvalidInitStates(f"encodes with {encoding!r:.80}")
    return text.encode("latin1")


_NDARRAY = "numpy.ndarray"
"""Stands for the class; a string, so that it cannot be called."""
_KNOWN = {
    ("numpy.core.multiarray", "_reconstruct"): _StandIn(_reconstruct),
    ("numpy._core.multiarray", "_reconstruct"): _StandIn(_reconstruct),
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _StandIn(_dtype),
    ("_codecs", "encode"): _StandIn(_encode),
}
