"""Requests to models, written down without saying the same twice.

The rules of a player and the schema of its answers are the same in every request of an episode, and longer than all
that changes. In the database the later requests name the call that has them: `{"as_in": <call id>}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CONSTANT = ("tools", "response_format")
_REFERENCE = "as_in"


def abridged(request: Mapping[str, Any], earlier: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    """A request with what it has in common with an earlier one replaced by that call's id.

    Args:
        request: as sent.
        earlier: the whole request of the earlier call.
        call_id: of the earlier call.
    """
    reference = {_REFERENCE: call_id}
    short = dict(request)
    for name in _CONSTANT:
        if name in request and request[name] == earlier.get(name):
            short[name] = reference
    first, was = _rules(request), _rules(earlier)
    if first is not None and first == was:
        short["messages"] = [{**request["messages"][0], "content": reference}, *request["messages"][1:]]
    return short


def referred(request: Any) -> str | None:
    """The id of the call that a request refers to, or None if it is whole."""
    if not isinstance(request, Mapping):
        return None
    for value in (*(request.get(name) for name in _CONSTANT), _rules(request)):
        if isinstance(value, Mapping) and set(value) == {_REFERENCE}:
            return str(value[_REFERENCE])
    return None


def whole(request: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `abridged`: the request as it was sent."""
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
