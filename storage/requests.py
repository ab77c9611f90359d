"""Requests to models, written down without saying the same twice.

The rules of a player, the schema of its answers and most of what it is told are the same in every request of an
episode, and longer than all that changes. In the database a later request is `{"as_in": <id of an earlier call>,
"changes": <text>}`: base64 of its JSON, deflated with the earlier request's JSON as dictionary.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

CHAIN = 32
"""Requests that lead from one to another, at most: reading one of them reads all before it."""
_REFERENCE, _CHANGES = "as_in", "changes"
_CONSTANT = ("tools", "response_format")
"""What earlier versions replaced by `{"as_in": id}`, each by itself, beside the first message."""
_LONGEST = 64 * 2**20
"""Bytes that a request may have: damaged rows must not fill the memory."""


def abridged(request: Mapping[str, Any], earlier: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    """A request as what it has beyond an earlier one.

    Args:
        request: as sent; JSON values.
        earlier: the whole request of the earlier call.
        call_id: of the earlier call.
    """
    packer = zlib.compressobj(9, zdict=_text(earlier))  # its checksums tell a request that belongs to another
    changes = packer.compress(_text(request)) + packer.flush()
    return {_REFERENCE: call_id, _CHANGES: base64.b64encode(changes).decode()}


def referred(request: Any) -> str | None:
    """The id of the call that a request refers to, or None if it is whole."""
    if not isinstance(request, Mapping):
        return None
    if set(request) == {_REFERENCE, _CHANGES}:
        return str(request[_REFERENCE])
    for value in (*(request.get(name) for name in _CONSTANT), _rules(request)):
        if isinstance(value, Mapping) and set(value) == {_REFERENCE}:
            return str(value[_REFERENCE])
    return None


def whole(request: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `abridged`: the request as it was sent.

    Raises:
        ValueError: if the two do not belong together.
    """
    if set(request) != {_REFERENCE, _CHANGES}:
        return _filled(request, earlier)
    try:
        unpacker = zlib.decompressobj(zdict=_text(earlier))
        full = json.loads(unpacker.decompress(base64.b64decode(request[_CHANGES], validate=True), _LONGEST))
    except (zlib.error, ValueError, TypeError) as error:
        raise ValueError(f"the request cannot be read from call {request[_REFERENCE]!r}: {error}") from None
    if not isinstance(full, dict):
        raise ValueError(f"the request read from call {request[_REFERENCE]!r} is no object")
    return full


def _text(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request, separators=(",", ":")).encode()


def _filled(request: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The form of earlier versions: rules, tools and response format named one by one."""
    full = dict(request)
    for name in _CONSTANT:
        if _is_reference(request.get(name)):
            full[name] = earlier.get(name)
    if _is_reference(_rules(request)):
        full["messages"] = [{**request["messages"][0], "content": _rules(earlier)}, *request["messages"][1:]]
    return full


def _rules(request: Mapping[str, Any]) -> Any:
    """The content of the first message, if it is the system's."""
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages or not isinstance(messages[0], Mapping):
        return None
    return messages[0].get("content") if messages[0].get("role") == "system" else None


def _is_reference(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {_REFERENCE}
