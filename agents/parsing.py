"""From a model's text to an action: tolerant of form, strict about content. Nothing is ever evaluated."""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, Protocol

from agents.errors import UnreadableReply
from environments.actions import Action
from environments.errors import InvalidAction

MAX_CHARACTERS = 100_000
"""Longer replies are refused unread: an action takes a few hundred characters."""
MAX_DEPTH = 40
"""Deepest nesting; json and ast recurse, and a hostile text would exhaust the stack."""
_MAX_WORK = 1_000_000
"""Characters looked at before the search is given up: unclosed brackets make it quadratic."""

_FENCE = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\n(.*?)(?:\n[ \t]*)?```", re.DOTALL)
_NUMBER = re.compile(rb"(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
"""A number of JSON without its sign; Python's own may be 1_0, 0x10, .5 and more."""
_OPEN = {"{": "}", "[": "]"}
_NOTHING = object()


class _Unsound(dict[str, Any]):
    """In place of an object that can be read and must not be: why."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class Parser(Protocol):
    """What knows a valid action when it sees one: an action space, or a dialect of it."""

    def parse(self, action: Any, /) -> Action:
        """The action in canonical JSON.

        Raises:
            InvalidAction: with one line per fault.
        """

    def schema(self) -> dict[str, Any]:
        """JSON schema of one action."""


def read_json(text: str) -> dict[str, Any] | list[Any]:
    """The one JSON object or array that a text holds.

    Accepted around it: prose, code fences; within it: trailing commas, single quotes, and Python's
    True, False and None. Numbers are JSON's, and an object gives each key once: of two values for one
    key neither is chosen. If there are several values the last object counts (or, without objects,
    the last array), since models think first and answer last; code fences go before bare text.

    Raises:
        UnreadableReply: if there is none, it is cut off, it is no JSON even with that tolerance, or it says
            one thing twice.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableReply([f"the reply has {len(text)} characters; at most {MAX_CHARACTERS} are read"])
    whole = _load(text.strip())
    if whole is not _NOTHING:
        return _sound(whole)
    for body in [*reversed(_FENCE.findall(text)), text]:
        values = [value for value in map(_load, _spans(body)) if value is not _NOTHING]
        if values:
            objects = [value for value in values if isinstance(value, dict)]
            return _sound((objects or values)[-1])
    raise UnreadableReply([_why_not(text)])


def read_action(text: str, actions: Parser) -> tuple[Action, str]:
    """The action and the rationale of a reply of the form {"rationale": ..., "action": ...}.

    A bare action is taken too, if it is valid as it stands.

    Returns:
        The action in canonical JSON and the rationale ("" if there is none).

    Raises:
        UnreadableReply: with one line per fault.
    """
    value = _arguments(read_json(text))
    rationale = ""
    if isinstance(value, dict) and "action" in value:
        said = value.get("rationale", "")
        rationale = said if isinstance(said, str) else json.dumps(said)
        bare = {key: item for key, item in value.items() if key != "rationale"}
        value = _inner(bare, actions)
    elif isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != "rationale" or "rationale" in _fields(actions)}
    try:
        return actions.parse(value), rationale
    except InvalidAction as error:
        raise UnreadableReply(error.problems) from None


def _arguments(value: Any) -> Any:
    """The arguments of a tool call that a server without a tool parser left in the text."""
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        for key in ("arguments", "parameters", "input"):
            if isinstance(value.get(key), dict) and set(value) <= {"name", key, "type", "id"}:
                return value[key]
    return value


def _inner(value: dict[str, Any], actions: Parser) -> Any:
    """What stands under "action"; the whole object where the action itself has a field of that name."""
    inner = value["action"]
    if isinstance(inner, str):  # an object written as a string, as some tool callers do
        loaded = _load(inner.strip())
        inner = inner if loaded is _NOTHING else _sound(loaded)
    if actions_accept(actions, inner):
        return inner
    # Where neither is valid, the complaint must be about what was meant: an action may name its verb "action".
    named = not isinstance(inner, dict | list) and "action" in _fields(actions)
    return value if named or actions_accept(actions, value) else inner


def actions_accept(actions: Parser, value: Any) -> bool:
    """Whether a value is a valid action."""
    try:
        actions.parse(value)
    except InvalidAction:
        return False
    return True


def _fields(actions: Parser) -> set[str]:
    """What an action calls its own fields, as far as all actions have the same."""
    return set(actions.schema().get("properties", ()))


def _load(text: str) -> Any:
    """An object or array from text that holds nothing else; `_NOTHING` if it is none."""
    if not text or text[0] not in _OPEN or text[-1] != _OPEN[text[0]] or _depth(text) > MAX_DEPTH:
        return _NOTHING
    for candidate in (text, _without_trailing_commas(text)):
        try:
            return _JSON.decode(candidate)
        except ValueError:
            continue
    return _load_python(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object from its keys and values in order."""
    value = dict(pairs)
    return value if len(value) == len(pairs) else _Unsound(_repeated([key for key, _ in pairs]))


_JSON = json.JSONDecoder(object_pairs_hook=_object)
"""Kept: `json.loads` with a hook builds one for every call."""


def _repeated(keys: list[str]) -> str:
    twice = next(key for key, count in Counter(keys).items() if count > 1)
    return f"the key {_shown(twice)} stands twice in one JSON object: give it once"


def _load_python(text: str) -> Any:
    """An object or array written as Python would write it; `_NOTHING` if it is none."""
    try:  # literals only: names, calls and operators are errors
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's opinion of the escapes in a model's text
            tree = ast.parse(text, mode="eval")
            value = ast.literal_eval(tree)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return _NOTHING
    if not _is_json(value):
        return _NOTHING
    why = _unsound_python(tree, re.split(rb"\r\n|\r|\n", text.encode()))
    if why:
        return _Unsound(why) if isinstance(value, dict) else [_Unsound(why)]
    return value


def _unsound_python(tree: ast.AST, lines: list[bytes]) -> str:
    """What Python reads in a literal and JSON does not: 1_0, 0x10, .5, +1, keys given twice; "" if nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            written = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            if not _NUMBER.fullmatch(written):
                return f"{_shown(written.decode())} is not a number in JSON"
        elif isinstance(node, ast.UAdd):
            return "a number in JSON has no plus sign before it"
        elif isinstance(node, ast.Dict):
            keys = [str(key.value) for key in node.keys if isinstance(key, ast.Constant)]
            if len(set(keys)) < len(keys):
                return _repeated(keys)
    return ""


def _spans(text: str) -> Iterator[str]:
    """The balanced {...} and [...] of a text, outermost first, in reading order."""
    at = work = 0
    while work < _MAX_WORK:
        begin = min((i for i in (text.find("{", at), text.find("[", at)) if i >= 0), default=-1)
        if begin < 0:
            return
        end = _end(text, begin)
        work += (end or len(text)) - begin
        if end is None:
            at = begin + 1
            continue
        span = text[begin:end]
        if _load(span) is _NOTHING and len(span) > 2:
            at = begin + 1  # prose in brackets may hold the value further in
            continue
        yield span
        at = end


def _end(text: str, begin: int) -> int | None:
    """Index just after the bracket that closes the one at `begin`; None if there is none."""
    closers: list[str] = []
    quote = ""
    skip = False
    for i in range(begin, len(text)):
        char = text[i]
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char == '"' or (char == "'" and text[i - 1] in "{[:, \n\t("):
            quote = char
        elif char in _OPEN:
            closers.append(_OPEN[char])
        elif char in "]}":
            if char != closers.pop():
                return None
            if not closers:
                return i + 1
    return None


def _depth(text: str) -> int:
    """Deepest nesting of brackets, those within strings included: an upper bound."""
    depth = deepest = 0
    for char in text:
        if char in "{[(":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "}])":
            depth -= 1
    return deepest


def _without_trailing_commas(text: str) -> str:
    """Drop commas before a closing bracket, outside double-quoted strings."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|,(\s*[}\]])', lambda m: m[1] or m[2], text, flags=re.DOTALL)


def _is_json(value: Any) -> bool:
    """Whether a Python literal is a JSON value (no sets, tuples, bytes, complex numbers)."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(_is_json(item) for item in value)
    return value is None or isinstance(value, str | int | float | bool)


def _sound(value: Any) -> dict[str, Any] | list[Any]:
    """Refuse what is read and must not be: NaN and infinities, lone surrogates, keys given twice."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Unsound):
            raise UnreadableReply([item.why])
        if isinstance(item, float) and not math.isfinite(item):
            raise UnreadableReply([f"{item} is not a number in JSON"])
        if isinstance(item, str) and any("\ud800" <= char <= "\udfff" for char in item):
            raise UnreadableReply(["a string holds half of a surrogate pair, which is no character"])
        if isinstance(item, dict):
            stack += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            stack += item
    result: dict[str, Any] | list[Any] = value
    return result


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _why_not(text: str) -> str:
    if not text.strip():
        return "the reply is empty"
    if not any(char in text for char in _OPEN):
        return "the reply holds no JSON object"
    if text.count("{") > text.count("}") or text.count("[") > text.count("]"):
        return "the JSON object is not closed: the reply seems to be cut off"
    if _depth(text) > MAX_DEPTH:
        return f"the JSON is nested more than {MAX_DEPTH} deep"
    return "the reply holds no readable JSON object"
