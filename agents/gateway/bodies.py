"""Bodies of HTTP answers, bounded while they are read.

An answer may have no end, and a few hundred kilobytes may unpack to gigabytes. httpx bounds neither: it unpacks all
that one read from the socket brought, and the SDKs above it join everything before anybody can look at its size.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final

MAX_BYTES: Final = 8 * 2**20
"""Longest reply that is taken: a hundred times what a model writes. All of it is kept in the record."""
ACCEPTED: Final = "gzip, deflate"
"""For `Accept-Encoding`: what is unpacked here. httpx's own list has whatever is installed, Brotli among it."""
_WINDOWS: Final = {
    "gzip": (zlib.MAX_WBITS | 16,),
    "x-gzip": (zlib.MAX_WBITS | 16,),
    "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS),  # the second is wrong, and some servers send it all the same
}

_at_most: ContextVar[int] = ContextVar("at_most", default=MAX_BYTES)


class UnreadableBody(Exception):
    """A body that is too long, or packed in a way that cannot be undone; its text goes on after `its body ...`."""

    status: int = 200
    """HTTP status of the answer."""


@contextlib.contextmanager
def at_most(n_bytes: int) -> Iterator[None]:
    """Let the answers of this thread have that many bytes instead of `MAX_BYTES`."""
    token = _at_most.set(n_bytes)
    try:
        yield
    finally:
        _at_most.reset(token)


def unpacked(raw: Iterable[bytes], encoding: str, limit: int) -> Iterator[bytes]:
    """A body's bytes as they come, its `Content-Encoding` undone.

    Args:
        raw: the body as it was sent.
        encoding: the header; empty if there is none.
        limit: how many bytes it may have, packed and unpacked; never more than that is held.

    Raises:
        UnreadableBody: if it has more, or cannot be unpacked.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        yield from _counted(raw, limit)
    elif encoding in _WINDOWS:
        yield from _counted(_inflated(_counted(raw, limit), encoding, limit), limit)
    else:
        raise UnreadableBody(f"is packed as {encoding[:40]!r}, where {ACCEPTED} were asked for")


def _counted(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    taken = 0
    for piece in pieces:
        taken += len(piece)
        if taken > limit:
            raise UnreadableBody(f"has more than the {limit:,} bytes that are read")
        yield piece


def _inflated(raw: Iterable[bytes], encoding: str, limit: int) -> Iterator[bytes]:
    """Unpacked by zlib, `limit` and a byte at a time at most."""
    first, *others = _WINDOWS[encoding]
    inflater = zlib.decompressobj(first)
    for piece in raw:
        while piece and not inflater.eof:
            try:
                out = inflater.decompress(piece, limit + 1)
            except zlib.error as error:
                if not others:
                    raise UnreadableBody(f"is no {encoding}: {error}") from None
                inflater = zlib.decompressobj(others.pop())
                continue
            others.clear()
            piece = inflater.unconsumed_tail
            yield out
        if inflater.eof:  # zlib would keep what comes after the end
            return


def hooks() -> dict[str, list[Callable[[Any], None]]]:
    """For `event_hooks` of an httpx client (httpx or httpx2): every answer is read within the bound, or not at all.

    Hooks and no transport: a client with a transport of its own no longer looks for the proxies of the environment.
    """
    return {"request": [_ask], "response": [_read]}


def _ask(request: Any) -> None:
    request.headers["Accept-Encoding"] = ACCEPTED


def _read(response: Any) -> None:
    """Put what was read in the place of what would be read without a bound."""
    sent = response.stream
    try:
        body = b"".join(unpacked(sent, response.headers.get("content-encoding", ""), _at_most.get()))
    except UnreadableBody as error:
        error.status = response.status_code
        raise
    finally:
        sent.close()
    response.headers.pop("content-encoding", None)
    response.stream = type(response)(response.status_code, content=body).stream
