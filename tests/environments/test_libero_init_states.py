"""LIBERO's initial states are read without torch, and a pickle that wants anything but one array gets nothing."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from environments.robots.libero import init_states
from environments.robots.libero.init_states import InvalidInitStates, read, unpickle

STATES = np.arange(12.0).reshape(3, 4) / 7


class Calls:
    """Pickles as a call of a function with arguments."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.function, self.arguments


def archive(path: Path, entries: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return path


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_an_array_is_read_bit_by_bit(tmp_path: Path, protocol: int) -> None:
    """Every protocol that numpy writes bytes with inside the stream, from an archive as torch makes it."""
    data = pickle.dumps(STATES, protocol)
    file = archive(tmp_path / "task.pruned_init", {"archive/data.pkl": data, "archive/version": b"3\n"})
    found = read(file)
    assert found.dtype == np.float64
    assert found.tobytes() == STATES.tobytes()
    found[0, 0] = 1.0  # it is ours to write


def test_the_names_of_old_numpy_are_known() -> None:
    data = pickle.dumps(STATES, 2).replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")
    assert unpickle(data).tobytes() == STATES.tobytes()


@pytest.mark.parametrize(
    "evil",
    [
        pytest.param(Calls(exec, "import pathlib; pathlib.Path('{mark}').touch()"), id="exec"),
        pytest.param(Calls(getattr, STATES, "tofile"), id="getattr"),
        pytest.param(Calls(io.open, "{mark}", "w"), id="open"),
        pytest.param([STATES, Calls(eval, "open('{mark}', 'w')")], id="beside an array"),
        pytest.param(Calls(np.frombuffer, b"12345678"), id="another function of numpy"),
        pytest.param(Calls(np.memmap, "{mark}", "float64", "w+", 0, (2, 2)), id="memmap"),
    ],
)
def test_a_pickle_that_calls_something_is_refused_before_it_is_called(tmp_path: Path, evil: Any) -> None:
    mark = tmp_path / "mark"

    def point(value: Any) -> Any:
        if isinstance(value, Calls):
            value.arguments = tuple(
                a.replace("{mark}", str(mark)) if isinstance(a, str) else a for a in value.arguments
            )
        return value

    for value in evil if isinstance(evil, list) else [evil]:
        point(value)
    with pytest.raises(InvalidInitStates, match=r"asks for|expected one array"):
        unpickle(pickle.dumps(evil, 2))
    assert not mark.exists()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (STATES.astype(np.float32), "f4"),
        (STATES.astype(">f8"), "little-endian"),
        (np.arange(4.0), "two-dimensional"),
        (np.zeros((0, 4)), "bytes"),
        (np.asfortranarray(STATES), "row order"),
        (np.array([[None, 1.0]], dtype=object), "'O8'"),
        (np.array([[np.nan, 1.0]]), "not finite"),
        ({"states": STATES}, "got dict"),
        (7, "got int"),
        ("numpy.ndarray", "got str"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_anything_but_a_plain_array_of_numbers_is_refused(value: Any, told: str) -> None:
    with pytest.raises(InvalidInitStates, match=told):
        unpickle(pickle.dumps(value, 2))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x80\x02", id="cut short"),
        pytest.param(pickle.dumps(STATES, 2)[:-40], id="an array cut short"),
        pytest.param(b"\x80\x02\x82\x01.", id="an extension code"),
        pytest.param(b"\x80\x02X\x01\x00\x00\x00aQ.", id="a persistent id"),
        pytest.param(b"cnumpy\nndarray\n(tR.", id="a call of the array's class"),
        pytest.param(b"cnumpy\nndarray\n)\x81.", id="a new array"),
        pytest.param(b"cnumpy\ndtype\n(S'O'\ntR.", id="another type"),
        pytest.param(b"c_codecs\nencode\n(S'a'\nS'zip'\ntR.", id="another encoding"),
        pytest.param(b"cnumpy\ndtype\n}S'f'\nI1\nsb.", id="attributes for a function"),
        pytest.param(b"cnumpy\ndtype\n(N}S'_function'\nI1\nstb.", id="another function for a name"),
        pytest.param(
            b"cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\ntR.", id="an array that is never filled"
        ),
    ],
)
def test_malformed_bytes_are_refused_and_change_nothing(data: bytes) -> None:
    """Whatever goes wrong inside the unpickler comes out as this one error, and the next file is read as ever."""
    with pytest.raises(InvalidInitStates):
        unpickle(data)
    assert unpickle(pickle.dumps(STATES, 2)).tobytes() == STATES.tobytes()


def test_a_file_says_which_it_is_and_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent, torn = tmp_path / "absent.pruned_init", tmp_path / "torn.pruned_init"
    torn.write_bytes(b"PK\x03\x04 and no more")
    for path in (absent, torn):
        with pytest.raises(InvalidInitStates, match=path.name):
            read(path)
    two = archive(tmp_path / "two", {"a/data.pkl": b"", "b/data.pkl": b""})
    with pytest.raises(InvalidInitStates, match=r"one data\.pkl"):
        read(two)
    evil = archive(tmp_path / "evil", {"a/data.pkl": pickle.dumps(Calls(exec, "1"), 2)})
    with pytest.raises(InvalidInitStates, match=r"evil: asks for (__builtin__|builtins)\.exec"):
        read(evil)
    monkeypatch.setattr(init_states, "MAX_BYTES", 100)  # a small archive may hold a very large file
    with pytest.raises(InvalidInitStates, match="at most 100 bytes"):
        read(archive(tmp_path / "bomb", {"a/data.pkl": b"0" * 101}))
