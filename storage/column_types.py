"""Column types that mean the same on SQLite and on PostgreSQL.

Each closes a gap between the two: SQLite forgets time zones and has no decimals, PostgreSQL refuses NUL in text.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import math
import zlib
from collections.abc import Callable
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, LargeBinary, Numeric, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

Json = JSON(none_as_null=True)
"""JSON whose None is SQL NULL, so that `IS NULL` in hand-written SQL means what it says.

PostgreSQL gets `json`, not `jsonb`: it keeps the text as it was sent (key order included: requests are evidence) and
takes the escape of NUL, which `jsonb` refuses and hostile model text contains. Cast to `jsonb` in a query that needs
its operators.
"""

_NANO_USD = decimal.Decimal("0.000000001")
_MOST_USD = 10**9


class UtcDateTime(TypeDecorator[dt.datetime]):
    """A moment in UTC; always aware when read. Refuses naive datetimes, whose moment nobody knows."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """To UTC.

        Raises:
            ValueError: `value` has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; use datetime.now(UTC)")
        return value.astimezone(dt.UTC)

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """To an aware UTC datetime: SQLite hands back the digits without the zone."""
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


class Usd(TypeDecorator[decimal.Decimal]):
    """US dollars to nine decimals.

    SQLite has no decimals and stores a double: exact after rounding to nine places below a million dollars a row.
    """

    impl = Numeric(18, 9)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """A plain number on SQLite, a decimal elsewhere."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(Numeric(18, 9, asdecimal=False))
        return dialect.type_descriptor(Numeric(18, 9))

    def process_bind_param(self, value: decimal.Decimal | None, dialect: Dialect) -> Any:
        """Rounded to nine places on every database alike.

        Raises:
            ValueError: `value` is no amount that the column can hold.
        """
        if value is None:
            return None
        if not value.is_finite() or abs(value) >= _MOST_USD:
            raise ValueError(f"{value:.6g} US dollars: the column holds amounts below {_MOST_USD}; None is unknown")
        value = value.quantize(_NANO_USD)
        return float(value) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> decimal.Decimal | None:
        """Back to a decimal of nine places."""
        return None if value is None else decimal.Decimal(str(value)).quantize(_NANO_USD)


class AnyText(TypeDecorator[str]):
    """Text of unknown origin: NUL and lone surrogates, which a database refuses, become U+FFFD."""

    impl = Text()
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace what cannot be stored; ordinary text passes through untouched."""
        if value is None:
            return None
        if "\x00" in value:
            value = value.replace("\x00", "\ufffd")
        if not value.isascii():
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value


class PackedJson(TypeDecorator[Any]):
    """JSON that nobody queries by its content, compressed: exact requests and replies are three quarters repetition.

    The first byte says how: `d` is zlib with the dictionary below; `a` is the id of a call, a zero, and what a request
    has beyond that call's (`storage.requests`), which is compressed already.
    """

    impl = LargeBinary()
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        """Compress; None stays NULL.

        Raises:
            TypeError: `value` holds something that is not JSON.
        """
        if value is None:
            return None
        if isinstance(value, dict) and value.keys() == {"as_in", "changes"}:
            return b"a" + str(value["as_in"]).encode() + b"\0" + base64.b64decode(value["changes"])
        packer = zlib.compressobj(6, zdict=_COMMON)
        return b"d" + packer.compress(dump_json(value).encode()) + packer.flush()

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        """Back to JSON values.

        Raises:
            ValueError: for bytes that nothing here has written.
        """
        if value is None:
            return None
        if value[:1] == b"a":
            call_id, _, changes = value[1:].partition(b"\0")
            return {"as_in": call_id.decode(errors="replace"), "changes": base64.b64encode(changes).decode()}
        if value[:1] != b"d":
            raise ValueError(f"a packed column begins with {value[:1]!r}, which this version does not know")
        unpacker = zlib.decompressobj(zdict=_COMMON)
        try:
            return json.loads(unpacker.decompress(value[1:]) + unpacker.flush())
        except zlib.error as error:
            raise ValueError(f"a packed column holds no packed JSON: {error}") from error


_COMMON = (
    b'{"id":"chatcmpl-","object":"chat.completion","created":17,"service_tier":"default","system_fingerpri'
    b'nt":null,"choices":[{"index":0,"finish_reason":"tool_calls","stop","length","logprobs":null,"message'
    b'":{"role":"assistant","content":null,"refusal":null,"annotations":[],"audio":null,"function_call":nu'
    b'll,"tool_calls":[{"id":"call_","type":"function","function":{"name":"act","arguments":"{\\"rationale\\'
    b'": \\"", \\"action\\": {\\"verb\\": \\"click\\", \\"press\\", \\"key\\": \\"x\\": , \\"y\\": }}"}}]}}],"u'
    b'sage":{"completion_tokens":,"prompt_tokens":,"total_tokens":,"completion_tokens_details":null,"promp'
    b't_tokens_details":null}}{"model":"","messages":[{"role":"system","content":{"as_in":""}},{"role":"us'
    b'er","content":[{"type":"text","text":"Goal: \\n\\nYour last turns:\\n- turn 1: {\\"move\\": \\"up\\", \\"'
    b'down\\", \\"left\\", \\"right\\"} -> done, reward 0 -> refused: (you thought: \\n\\nThis is turn  of at m'
    b'ost "},{"type":"text","text":"Earlier view `frame`, before turn , at reduced size:"},{"artifact":""}'
    b',{"type":"text","text":"Current view `frame` (640 x 480 pixels):"},{"artifact":""}]}],"max_tokens":1'
    b'024,"temperature":0.0,"tools":{"as_in":""},"tool_choice":{"type":"function","function":{"name":"act"'
    b"}}}"
)
"""What requests and replies have in common. Written bytes refer to it: never change it, add another letter instead."""


def dump_json(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """Serialise for a JSON column, a terminal or a browser.

    ASCII only, so that lone surrogates, which no encoding has, stay escapes that every reader takes.

    NaN and the infinities, which are not JSON but which Python's parser lets through from a model's reply, become the
    strings "NaN", "Infinity" and "-Infinity".

    Args:
        value: What is written.
        indent: Spaces a level, for people; None packs it into one line.
        default: Makes JSON of what is not, as for `json.dumps`.

    Raises:
        TypeError: `value` holds something that is not JSON (NumPy scalars, bytes, objects).
    """
    separators = (",", ":") if indent is None else (",", ": ")
    try:
        return json.dumps(value, allow_nan=False, separators=separators, indent=indent, default=default)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, separators=separators, indent=indent, default=default)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
