"""The wire formats are the originals' to the byte, and whatever else comes is refused with its place."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st

from agents.policies import wire
from agents.policies.wire import WireError

VALUE = {
    "a": np.array([[1, 2.5]], np.float32),
    "u": np.arange(3, dtype=np.uint8),
    "s": np.float32(0.5),
    "t": "x",
    "b": np.array([True]),
}
# Written by the packages themselves, from VALUE: openpi_client.msgpack_numpy, vla_eval.protocol (images raw),
# json-numpy 2.1.1.
OPENPI = (
    "85a16184c40b5f5f6e6461727261795f5fc3c40464617461c4080000803f00002040c4056474797065a33c6634c40573686170659201"
    "02a17584c40b5f5f6e6461727261795f5fc3c40464617461c403000102c4056474797065a37c7531c40573686170659103a17383c40d"
    "5f5f6e7067656e657269635f5fc3c40464617461cb3fe0000000000000c4056474797065a33c6634a174a178a16284c40b5f5f6e6461"
    "727261795f5fc3c40464617461c40101c4056474797065a37c6231c40573686170659101"
)
VLA_EVAL = (
    "85a16184ab5f5f6e6461727261795f5fc3a464617461c4080000803f00002040a56474797065a33c6634a57368617065920102a17584"
    "ab5f5f6e6461727261795f5fc3a464617461c403000102a56474797065a37c7531a573686170659103a173cb3fe0000000000000a174"
    "a178a16284ab5f5f6e6461727261795f5fc3a464617461c40101a56474797065a37c6231a573686170659101"
)
VLA_EVAL_PNG = (
    "81a16984a95f5f696d6167655f5fc3a6666f726d6174a3706e67a464617461c44f89504e470d0a1a0a0000000d494844520000000200"
    "0000020802000000fdd49a730000001649444154789c636460646266666661636363666606000117002d2ebb78a40000000049454e44"
    "ae426082a5736861706593020203"
)
JSON = (
    '{"a": {"__numpy__": "AACAPwAAIEA=", "dtype": "<f4", "shape": [1, 2]},'
    ' "s": {"__numpy__": "AAAAPw==", "dtype": "<f4", "shape": []}}'
)


def same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left.dtype == right.dtype and np.array_equal(left, right)


def test_openpis_bytes_are_openpis_own() -> None:
    assert wire.pack(VALUE).hex() == OPENPI
    read = wire.unpack(bytes.fromhex(OPENPI))
    assert all(same(read[key], VALUE[key]) for key in "ausb") and read["t"] == "x"


def test_vla_evals_bytes_are_vla_evals_own() -> None:
    assert wire.pack_text_keys(VALUE).hex() == VLA_EVAL
    read = wire.unpack_text_keys(bytes.fromhex(VLA_EVAL))
    assert all(same(read[key], VALUE[key]) for key in "aub") and (read["s"], read["t"]) == (0.5, "x")
    assert np.array_equal(wire.unpack_text_keys(bytes.fromhex(VLA_EVAL_PNG))["i"], np.arange(12).reshape(2, 2, 3))


def test_json_numpys_text_is_json_numpys_own() -> None:
    value = {"a": VALUE["a"], "s": VALUE["s"]}
    assert wire.to_json(value).decode() == JSON
    read = wire.from_json(JSON)
    assert same(read["a"], value["a"]) and same(read["s"], value["s"])


DTYPES = st.sampled_from(["|b1", "<i2", "<i8", "|u1", "<f4", "<f8", ">f4", "<U3"])
ARRAYS = np_st.arrays(DTYPES.map(np.dtype), np_st.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))


@settings(max_examples=60, deadline=None)
@given(array=ARRAYS)
def test_arrays_survive_every_format(array: np.ndarray) -> None:
    for there, back in ((wire.pack, wire.unpack), (wire.pack_text_keys, wire.unpack_text_keys)):
        read = back(there({"x": array}))["x"]
        assert read.dtype == array.dtype and read.shape == array.shape and read.tobytes() == array.tobytes()
    if array.ndim == 0:
        return  # json-numpy makes scalars of these, and scalar text has no width
    read = wire.from_json(wire.to_json({"x": array}))["x"]
    assert read.shape == array.shape and read.tobytes() == array.tobytes()


def test_an_array_that_is_not_contiguous_is_sent_as_it_looks() -> None:
    turned = np.arange(12, dtype=np.uint8).reshape(2, 6)[::-1, ::2]
    assert np.array_equal(wire.unpack(wire.pack(turned)), turned)
    assert np.array_equal(wire.from_json(wire.to_json(turned)), turned)


@pytest.mark.parametrize("bad", [np.array([{}], object), np.array([1j]), np.zeros(2, "V4"), np.complex64(1)])
@pytest.mark.parametrize("form", [wire.pack, wire.pack_text_keys, wire.to_json])
def test_objects_void_and_complex_are_not_sent(bad: Any, form: Any) -> None:
    with pytest.raises(WireError, match="only booleans, integers, floats and text"):
        form({"x": bad})


def _array(**changes: Any) -> dict[bytes, Any]:
    array = {b"__ndarray__": True, b"data": bytes(8), b"dtype": "<f4", b"shape": [2]}
    return array | {key.encode(): value for key, value in changes.items()}


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (_array(dtype="|O"), "'|O' is refused"),
        (_array(dtype="|V8"), "'|V8' is refused"),
        (_array(dtype="<c8"), "'<c8' is refused"),
        (_array(dtype="<M8[s]"), "is refused"),
        (_array(dtype="f4,f4"), "is refused"),
        (_array(dtype="f" * 9999), "is refused"),
        (_array(dtype="<f3"), "no dtype '<f3'"),
        (_array(dtype=7), "is refused"),
        (_array(dtype="<U0", shape=[2**20], data=b""), "without a size"),
        (_array(shape=[3]), "has 8 bytes, not 12"),
        (_array(shape=[2**40, 2**40]), "no whole number in range"),
        (_array(shape=[-2]), "no whole number in range"),
        (_array(shape=[2.0]), "no whole number in range"),
        (_array(shape=[1] * 99), "at most 8 sizes"),
        (_array(shape="2"), "not a list"),
        (_array(data="words"), "not bytes"),
        ({b"__npgeneric__": True, b"data": [1], b"dtype": "<f4"}, "given as list"),
        ({b"__npgeneric__": True, b"data": "x", b"dtype": "<f4"}, "no scalar of <f4"),
        ({b"__npgeneric__": True, b"data": 1, b"dtype": "|O"}, "is refused"),
    ],
)
def test_what_is_no_array_is_refused(array: Any, said: str) -> None:
    with pytest.raises(WireError, match=said.replace("|", r"\|")):
        wire.unpack(msgpack.packb({"actions": array}))


@pytest.mark.parametrize(
    "data",
    [b"", b"\xc1", b"\x85\xa1", b"\x91" * 5000 + b"\x00", b"\x81\x91\x01\x02", b"\xdd\xff\xff\xff\xff", b"\x01\x02"],
)
def test_what_is_no_msgpack_is_refused(data: bytes) -> None:
    """And each refusal has a reason, though most of msgpack's own errors have none."""
    with pytest.raises(WireError, match=r"is no msgpack message: \w"):
        wire.unpack(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "incomplete"), (b"\xc1", "begins no value"), (b"\x91" * 5000 + b"\x00", "nested too deeply")],
)
def test_a_refusal_says_what_is_wrong_with_the_bytes(data: bytes, said: str) -> None:
    with pytest.raises(WireError, match=said):
        wire.unpack_text_keys(data)


def test_what_nests_for_ever_is_not_sent_and_the_reason_is_told() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(WireError, match=r"cannot be packed: \w"):
        wire.pack(endless)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (wire.unpack, wire.unpack_text_keys, wire.from_json):
        with contextlib.suppress(WireError):
            read(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"__numpy__": "AAA", "dtype": "<f4", "shape": [1]}', "no base64"),
        ('{"__numpy__": 7, "dtype": "<f4", "shape": [1]}', "not bytes"),
        ('{"__numpy__": "AAAA", "dtype": [["x", "<f8"]], "shape": [1]}', "is refused"),
    ],
)
def test_what_is_no_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(WireError, match=said):
        wire.from_json(text)


def test_sizes_are_bounded_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_BYTES", 1000)
    big = np.zeros(1001, np.uint8)
    for form in (wire.pack, wire.pack_text_keys, wire.to_json):
        with pytest.raises(WireError, match="at most 1,000 are sent"):
            form(big)
    for read in (wire.unpack, wire.unpack_text_keys, wire.from_json):
        with pytest.raises(WireError, match="at most 1,000 are read"):
            read(bytes(1001))


def test_a_picture_larger_than_it_says_is_refused() -> None:
    message = msgpack.unpackb(bytes.fromhex(VLA_EVAL_PNG))
    message["i"]["shape"] = [2, 2, 4]
    with pytest.raises(WireError, match=r"shape \[2, 2, 3\] is said to have \[2, 2, 4\]"):
        wire.unpack_text_keys(msgpack.packb(message))
    message["i"]["data"] = b"GIF89a" + bytes(40)
    with pytest.raises(WireError, match="cannot be decoded"):
        wire.unpack_text_keys(msgpack.packb(message))


def test_a_missing_field_is_named_with_those_that_are_there() -> None:
    with pytest.raises(WireError, match=r"no 'actions'; it has 'action', 'b'"):
        wire.field({"action": 1, "b": 2}, "actions")
    with pytest.raises(WireError, match="is list, not a map"):
        wire.field([1], "actions")
    assert json.loads(JSON)["a"]["shape"] == wire.field({"shape": [1, 2]}, "shape")
