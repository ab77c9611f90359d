"""The GUI vocabulary: what a person can do with a keyboard and a mouse, in pixels of the frame."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel
from pydantic_core import PydanticCustomError

Key = Literal[
    "up", "down", "left", "right", "space", "enter", "esc", "tab", "backspace", "delete", "home", "end",
    "pageup", "pagedown", "shift", "ctrl", "alt",
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v",
    "w", "x", "y", "z", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
    "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
]  # fmt: skip
"""Key names; PyAutoGUI's own, so nothing is translated on the way to the display."""

X = Annotated[int, Field(ge=0, lt=640, description="pixels from the left edge of the frame")]
Y = Annotated[int, Field(ge=0, lt=480, description="pixels from the top edge of the frame")]
Button = Literal["left", "right", "middle"]
Milliseconds = Annotated[int, Field(ge=0, le=2_000)]


class _Verb(BaseModel):
    # Strict for whoever embeds gestures in a model of their own; an action space is so by itself.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _each_once(keys: list[str]) -> list[str]:
    """A key that is down already cannot go down: a second mention would be a press that never happens."""
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise PydanticCustomError("key_twice", "expected each key once, {key} is named twice", {"key": repr(twice)})
    return keys


class Move(_Verb):
    """Move the pointer to x, y."""

    verb: Literal["move"]
    x: X
    y: Y


class Click(_Verb):
    """Click at x, y: a button, once or several times."""

    verb: Literal["click"]
    x: X
    y: Y
    button: Button = "left"
    count: Annotated[int, Field(ge=1, le=3)] = 1


class Drag(_Verb):
    """Press at x, y, move to to_x, to_y with the button held, release."""

    verb: Literal["drag"]
    x: X
    y: Y
    to_x: X
    to_y: Y
    button: Button = "left"


class Scroll(_Verb):
    """Turn the wheel at x, y; positive clicks scroll up."""

    verb: Literal["scroll"]
    x: X
    y: Y
    clicks: Annotated[int, Field(ge=-10, le=10)]


class TypeText(_Verb):
    """Type a text, any Unicode."""

    verb: Literal["type"]
    text: Annotated[str, Field(min_length=1, max_length=200)]


class Press(_Verb):
    """Press and release one key."""

    verb: Literal["press"]
    key: Key


class Hold(_Verb):
    """Hold one key for a while, then release it."""

    verb: Literal["hold"]
    key: Key
    ms: Milliseconds = 200


class KeyDown(_Verb):
    """Press a key and keep it down until the end of the step."""

    verb: Literal["key_down"]
    key: Key


class KeyUp(_Verb):
    """Release a key."""

    verb: Literal["key_up"]
    key: Key


class Hotkey(_Verb):
    """Press several keys together, in order, hold them for a while, and release them in reverse."""

    verb: Literal["hotkey"]
    keys: Annotated[
        list[Key],
        Field(min_length=2, max_length=4, json_schema_extra={"uniqueItems": True}),
        AfterValidator(_each_once),
    ]
    ms: Milliseconds = 0


class Wait(_Verb):
    """Do nothing."""

    verb: Literal["wait"]
    ms: Milliseconds = 100


class GuiAction(
    RootModel[
        Annotated[
            Move | Click | Drag | Scroll | TypeText | Press | Hold | KeyDown | KeyUp | Hotkey | Wait,
            Field(discriminator="verb"),
        ]
    ]
):
    """One gesture with the keyboard or the mouse. Coordinates are pixels of the 640x480 frame.

    move(x, y) - click(x, y, button=left|right|middle, count=1..3) - drag(x, y, to_x, to_y, button) -
    scroll(x, y, clicks) - type(text) - press(key) - hold(key, ms) - key_down(key) - key_up(key) -
    hotkey(keys, ms) - wait(ms). The field `verb` names the gesture, for example
    {"verb": "press", "key": "up"} or {"verb": "click", "x": 320, "y": 240}.
    """
