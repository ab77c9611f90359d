"""UI-TARS: a thought and one call in plain text.

Source of the vocabulary: the action spaces of UI-TARS 1.0 and 1.5. Places come as `(x,y)`, between box tokens, or as
`<point>x y</point>`; a box of four numbers means its centre.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any, ClassVar

from agents.coordinates import Coordinates
from agents.dialects import base
from agents.errors import UnreadableReply
from agents.parsing import MAX_CHARACTERS
from environments.errors import InvalidAction

_HELP = """Answer in plain text: one line that begins with "Thought:", then one line that begins with "Action:" and
holds exactly one call.

click(start_box='(x,y)') - left_double(start_box='(x,y)') - right_single(start_box='(x,y)') -
drag(start_box='(x,y)', end_box='(x,y)') - hotkey(key='ctrl c') - type(content='text') -
scroll(start_box='(x,y)', direction='up' or 'down') - wait() - finished(content='why')

A "\\n" at the end of a typed text submits it; wait() lasts two seconds.

For example:
Thought: The snake heads for the wall, so it must turn.
Action: hotkey(key='up')"""

_MAX_CALL = 4_000
"""Characters of the call that are looked at; a typed text has 200 at most."""
_NUMBER = r"(?<![\w.-])-?[0-9]+(?:\.[0-9]+)?(?![\w.])"
"""A number that stands by itself: neither 1_0 nor 5e2 nor 1.2.3 is taken for two."""
_PLACE = re.compile(rf"^\D*?({_NUMBER})\D+?({_NUMBER})(?:\D+?({_NUMBER})\D+?({_NUMBER}))?\D*$")
_NOTCHES = 5
"""What UI-TARS's own executor scrolls."""
_VERBS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # verb: needed arguments, allowed arguments
    "click": (("start_box",), ()),
    "left_double": (("start_box",), ()),
    "right_single": (("start_box",), ()),
    "drag": (("start_box", "end_box"), ()),
    "hotkey": (("key",), ()),
    "type": (("content",), ()),
    "scroll": (("direction",), ("start_box",)),
    "wait": ((), ()),
    "finished": ((), ("content",)),
    "call_user": ((), ()),
    "move": (("start_box",), ()),
    "key_down": (("key",), ()),
    "key_up": (("key",), ()),
}
_OTHER_ARGUMENTS = {
    "point": "start_box", "start_point": "start_box", "end_point": "end_box", "hotkey": "key", "press": "key",
}  # fmt: skip
"""What 1.5, and the models' own parser, call them."""
_OTHER_VERBS = {
    "press": "hotkey", "keydown": "key_down", "release": "key_up", "keyup": "key_up", "hover": "move",
    "mouse_move": "move", "select": "drag", "left_single": "click",
}  # fmt: skip
"""What the models' own executor knows besides, and what it is here."""
_MARKER = re.compile(r"(?<!\w)Action[ \t]*[:\uff1a][*]*")
_AROUND = re.compile(r"^(?:```\w*\s*|`)+|(?:<\|im_end\|>|\[EOS\]|```|`|\s)+$")
"""What stands around a call: fences, and the sign with which a model ends."""
_INNER_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")


class UITars(base.Dialect):
    """Calls as the UI-TARS models write them."""

    name: ClassVar[str] = "ui-tars"
    answers_in_text: ClassVar[bool] = True

    def schema(self, coordinates: Coordinates) -> dict[str, Any]:
        """A call, as one string: it is not spoken as JSON."""
        return {"type": "string", "description": "one call"}

    def help(self, coordinates: Coordinates) -> str:
        """The calls."""
        return _HELP

    def read(self, text: str, spoken: base.Spoken) -> base.Reading:
        """The gesture of the one call, and the thought before it."""
        if len(text) > MAX_CHARACTERS:
            raise UnreadableReply([f"the reply has {len(text)} characters; at most {MAX_CHARACTERS} are read"])
        thought, call = _split(text)
        try:
            action = spoken.parse(call)
        except InvalidAction as error:
            raise UnreadableReply(error.problems) from None
        return base.Reading(action, thought, call)

    def translate(self, said: Any, coordinates: Coordinates) -> dict[str, Any]:
        """The gesture that is meant."""
        verb, a = _call(said)

        def at(name: str) -> dict[str, int]:
            return base.pixel(_place(a[name], name), coordinates, name)

        match verb:
            case "click" | "left_double" | "right_single":
                button, count = ("right" if verb == "right_single" else "left"), 1 + (verb == "left_double")
                return {"verb": "click", **at("start_box"), "button": button, "count": count}
            case "drag":
                start, end = (_place(a[name], name) for name in ("start_box", "end_box"))
                return base.drag(start, end, coordinates)
            case "move":
                return {"verb": "move", **at("start_box")}
            case "key_down" | "key_up":
                return {"verb": verb, "key": base.key(a["key"], "key")}
            case "hotkey":
                return base.keys_together(a["key"].split() or [a["key"]], "key")
            case "type":
                # A closing line feed submits what was typed: it is typed as Enter.
                return (
                    {"verb": "press", "key": "enter"}
                    if a["content"] == "\n"
                    else {"verb": "type", "text": a["content"]}
                )
            case "scroll":
                clicks = base.wheel(a["direction"], _NOTCHES, "direction")
                place = at("start_box") if "start_box" in a else _middle(coordinates)
                return {"verb": "scroll", **place, "clicks": clicks}
            case "wait":
                return {"verb": "wait", "ms": base.LONGEST_MS}
        return {
            "verb": "wait",
            "ms": 0,
        }  # finished, or a call for the user: the episode goes on until the world says so


def _split(text: str) -> tuple[str, str]:
    """Thought and call. The first "Action:" with a call after it counts, or else the last.

    Models write of actions in their thoughts; two calls are refused, not chosen from.
    """
    markers = list(_MARKER.finditer(text))
    if not markers:
        return "", _bare(text)
    for at, marker in enumerate(markers):
        end = markers[at + 1].start() if at + 1 < len(markers) else len(text)
        if _tree(_bare(text[marker.end() :])) or _tree(_bare(text[marker.end() : end])):
            break  # its rest is one call, or one with more after it, which `_call` refuses
    thought = text[: marker.start()].strip(" \n\t*`")
    return thought.removeprefix("Thought:").removeprefix("Thought\uff1a").strip(), _bare(text[marker.end() :])


def _bare(call: str) -> str:
    return _AROUND.sub("", call.strip()).strip()


def _tree(text: str) -> ast.Call | None:
    """The one call that a text is, parsed, never evaluated."""
    if len(text) > _MAX_CALL:
        return None
    # Typed texts come with raw line feeds, which a string in quotes cannot hold, and with bare apostrophes.
    line = text.replace("\r", "").replace("\n", "\\n")
    for candidate in (line, _INNER_APOSTROPHE.sub(r"\\'", line)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's opinion of the escapes in a model's text
                tree = ast.parse(candidate, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        return tree if isinstance(tree, ast.Call) else None
    return None


def _call(said: Any) -> tuple[str, dict[str, str]]:
    """Name and arguments of a call; parsed, never evaluated.

    Raises:
        InvalidAction: for anything but one call of a known verb with its arguments as strings.
    """
    if not isinstance(said, str):
        raise InvalidAction([f"expected one call as text, got {type(said).__name__}"])
    if len(said) > _MAX_CALL:
        raise InvalidAction([f"the call has {len(said)} characters; at most {_MAX_CALL} are read"])
    text = said.strip()
    tree = _tree(text)
    if tree is None:
        raise InvalidAction([f"expected exactly one call such as click(start_box='(10,20)'), got {text[:80]!r}"])
    if not isinstance(tree.func, ast.Name) or tree.args:
        raise InvalidAction([f"expected one call with named arguments, got {text[:80]!r}"])
    verb = _OTHER_VERBS.get(tree.func.id, tree.func.id)
    if verb not in _VERBS:
        raise InvalidAction([f"no verb {verb[:40]!r}; there are {', '.join(_VERBS)}"])
    arguments: dict[str, str] = {}
    for keyword in tree.keywords:
        if not isinstance(keyword.value, ast.Constant) or not isinstance(keyword.value.value, str):
            raise InvalidAction([f"{keyword.arg}: expected a text in quotes"])
        name = _OTHER_ARGUMENTS.get(str(keyword.arg), str(keyword.arg))
        if name in arguments:
            raise InvalidAction([f"{name[:40]}: given twice; give it once"])
        arguments[name] = keyword.value.value
    needed, allowed = _VERBS[verb]
    problems = [f"{name}: {verb} needs it" for name in needed if not arguments.get(name)]
    problems += [f"{name[:40]}: {verb} has no such argument" for name in arguments if name not in needed + allowed]
    if problems:
        raise InvalidAction(problems)
    return verb, arguments


def _place(text: str, field: str) -> tuple[float, float]:
    found = _PLACE.match(text[:200])
    if not found:
        raise InvalidAction([f"{field}: expected a place such as '(10,20)', got {text[:80]!r}"])
    x, y, right, lower = found.groups()
    if right is None:
        return float(x), float(y)
    return (float(x) + float(right)) / 2, (float(y) + float(lower)) / 2


def _middle(coordinates: Coordinates) -> dict[str, int]:
    width, height = coordinates.frame
    return {"x": width // 2, "y": height // 2}
