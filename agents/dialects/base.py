"""What a dialect is, and what all of them share: keys by many names, places, waiting times."""

from __future__ import annotations

import difflib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, get_args

from pydantic import BaseModel

from agents.coordinates import Coordinates, OutsidePicture
from agents.parsing import read_action
from environments.actions.gui import GuiAction, Key
from environments.actions.spec import Action, TypedActions
from environments.errors import InvalidAction

LONGEST_MS = 2000
"""The longest that a gesture lasts."""

_KEYS = frozenset(get_args(Key))
_OTHER_NAMES = {
    "return": "enter", "kp_enter": "enter", "escape": "esc", "control": "ctrl", "control_l": "ctrl", "ctrl_l": "ctrl",
    "shift_l": "shift", "alt_l": "alt", "option": "alt", " ": "space", "spacebar": "space", "del": "delete",
    "arrowup": "up", "arrowdown": "down", "arrowleft": "left", "arrowright": "right", "up_arrow": "up",
    "down_arrow": "down", "left_arrow": "left", "right_arrow": "right", "page_up": "pageup", "page_down": "pagedown",
    "pgup": "pageup", "pgdn": "pagedown", "pgdown": "pagedown", "prior": "pageup", "next": "pagedown",
    "back_space": "backspace", "\n": "enter", "\t": "tab", "control_r": "ctrl", "ctrl_r": "ctrl", "shift_r": "shift",
    "alt_r": "alt", "kp_up": "up", "kp_down": "down", "kp_left": "left", "kp_right": "right", "kp_home": "home",
    "kp_end": "end", "kp_prior": "pageup", "kp_page_up": "pageup", "kp_next": "pagedown", "kp_page_down": "pagedown",
    "kp_delete": "delete", "kp_space": "space", "kp_tab": "tab", "linefeed": "enter",
    **{f"kp_{digit}": digit for digit in "0123456789"},
}  # fmt: skip
"""What X, browsers and the providers' own examples call the same keys."""
_SIGNS = {
    "plus": "+", "kp_add": "+", "minus": "-", "kp_subtract": "-", "equal": "=", "slash": "/", "kp_divide": "/",
    "backslash": "\\", "period": ".", "kp_decimal": ".", "comma": ",", "semicolon": ";", "colon": ":", "question": "?",
    "exclam": "!", "asterisk": "*", "kp_multiply": "*", "underscore": "_", "apostrophe": "'", "quotedbl": '"',
    "numbersign": "#", "dollar": "$", "percent": "%", "ampersand": "&", "parenleft": "(", "parenright": ")",
    "bracketleft": "[", "bracketright": "]", "braceleft": "{", "braceright": "}", "less": "<", "greater": ">",
    "at": "@", "grave": "`", "asciitilde": "~", "asciicircum": "^", "bar": "|",
}  # fmt: skip
"""X's names of signs, which have no key of their own here: alone they are typed."""
_NEAR = 0.75
"""How alike a key's name must be to be suggested; at difflib's own 0.6 Insert would be taken for Page Down."""


class Reading(NamedTuple):
    """What a reply amounts to."""

    action: Action
    """In canonical JSON, in pixels of the frame."""
    rationale: str
    said: str
    """The action in the player's own words, to remind it of them."""


class Dialect(ABC):
    """One vocabulary for keyboard and mouse."""

    name: ClassVar[str]
    answers_in_text: ClassVar[bool] = False
    """Whether it is spoken as plain text, not as arguments of a tool."""

    @abstractmethod
    def schema(self, coordinates: Coordinates) -> dict[str, Any]:
        """JSON schema of one action in this dialect; `$ref`s are allowed."""

    @abstractmethod
    def help(self, coordinates: Coordinates) -> str:
        """What a player is told about acting."""

    @abstractmethod
    def translate(self, said: Any, coordinates: Coordinates) -> dict[str, Any]:
        """A gesture, as JSON for `GuiAction`, from what was said.

        Raises:
            InvalidAction: with one line per fault.
        """

    def read(self, text: str, spoken: Spoken) -> Reading:
        """What a reply amounts to.

        Raises:
            UnreadableReply: with one line per fault.
        """
        listener = _Listener(spoken)
        action, rationale = read_action(text, listener)
        return Reading(action, rationale, json.dumps(listener.heard, ensure_ascii=False))


class Spoken:
    """A dialect with the coordinates of one picture: stands where a player would use the action space itself.

    Args:
        dialect: the vocabulary.
        coordinates: what its numbers mean.
    """

    def __init__(self, dialect: Dialect, coordinates: Coordinates) -> None:
        self.dialect = dialect
        self.coordinates = coordinates
        self._gestures = TypedActions(GuiAction)

    def schema(self) -> dict[str, Any]:
        """JSON schema of one action."""
        return self.dialect.schema(self.coordinates)

    def help(self) -> str:
        """What a player is told about acting, and what its coordinates are."""
        return f"{self.dialect.help(self.coordinates)}\n\n{self.coordinates.describe()}"

    def parse(self, action: Any) -> dict[str, Any]:
        """The gesture in pixels of the frame, validated as any gesture is.

        Raises:
            InvalidAction: with one line per fault.
        """
        return self._gestures.parse(self.dialect.translate(action, self.coordinates))

    def read(self, text: str) -> Reading:
        """What a model's reply amounts to.

        Raises:
            UnreadableReply: with one line per fault.
        """
        return self.dialect.read(text, self)


class _Listener:
    """A parser that remembers what it was last given: the words of the action, without the prose around them."""

    def __init__(self, spoken: Spoken) -> None:
        self._spoken = spoken
        self.heard: Any = None

    def parse(self, action: Any) -> dict[str, Any]:
        self.heard = action
        return self._spoken.parse(action)

    def schema(self) -> dict[str, Any]:
        return self._spoken.schema()


def validated(model: type[BaseModel], said: Any) -> Any:
    """The variant of a union model that was said.

    Raises:
        InvalidAction: with one line per fault.
    """
    return TypedActions(model).load(said)


def pixel(place: Sequence[float], coordinates: Coordinates, field: str = "") -> dict[str, int]:
    """A place in pixels of the frame.

    Raises:
        InvalidAction: for a place outside the picture.
    """
    try:
        x, y = coordinates.to_frame(*place)
    except OutsidePicture as error:
        raise InvalidAction([f"{field}.{error}" if field else str(error)]) from None
    return {"x": x, "y": y}


def drag(start: Sequence[float], end: Sequence[float], coordinates: Coordinates) -> dict[str, Any]:
    """A drag with the left button."""
    to = pixel(end, coordinates, "end")
    return {"verb": "drag", **pixel(start, coordinates, "start"), "to_x": to["x"], "to_y": to["y"]}


def key(name: str, field: str) -> str:
    """Our name of a key, whatever it is called.

    Raises:
        InvalidAction: for a key that is not offered, with the nearest that is.
    """
    lowered = name.lower() if name in (" ", "\n", "\t") else name.strip().lower()
    known = _OTHER_NAMES.get(lowered, lowered)
    if known in _KEYS:
        return known
    near = difflib.get_close_matches(known, [*_KEYS, *_OTHER_NAMES], n=1, cutoff=_NEAR)
    hint = (
        f"; did you mean {_OTHER_NAMES.get(near[0], near[0])!r}?"
        if near
        else "; there are letters, digits, arrows, editing and function keys"
    )
    raise InvalidAction([f"{field}: no key {name[:40]!r}{hint}"])


def keys_together(names: Sequence[str], field: str, ms: int | None = None) -> dict[str, Any]:
    """One key pressed or held, or several together; a single sign without a key of its own is typed.

    Args:
        names: of the keys, by any of their names; one may hold several, joined by "+".
        field: where they were named, for complaints.
        ms: how long to hold them; None for a tap.

    Raises:
        InvalidAction: for none, more than four, one twice, or one that is not offered.
    """
    names = [part for name in names for part in parts_of(name)]
    if not 1 <= len(names) <= 4:
        raise InvalidAction([f"{field}: expected one to four keys, got {len(names)}"])
    if len(names) == 1:
        sign = _SIGNS.get(names[0].strip().lower(), names[0])
        if ms is None and len(sign) == 1 and sign.isprintable() and sign.lower() not in _KEYS | {" "}:
            return {"verb": "type", "text": sign}
        held = {} if ms is None else {"ms": ms}
        return {"verb": "press" if ms is None else "hold", "key": key(names[0], field), **held}
    keys = [key(name, field) for name in names]
    if len(set(keys)) < len(keys):  # together they would be one press, which is not what was meant
        raise InvalidAction([f"{field}: the same key twice; these are pressed together: press a key once per step"])
    return {"verb": "hotkey", "keys": keys, "ms": ms or 0}


def parts_of(name: str) -> list[str]:
    """The keys of a combination such as "ctrl+shift+t"; "+" alone, or at the end, is that sign itself."""
    if "+" not in name[:-1]:
        return [name]
    head, sign = (name[:-2], ["+"]) if name.endswith("++") else (name, [])
    return [*head.split("+"), *sign]


def milliseconds(seconds: float, field: str) -> int:
    """A duration.

    Raises:
        InvalidAction: for less than nothing, or more than a gesture may last.
    """
    if not 0 <= seconds * 1000 <= LONGEST_MS:
        raise InvalidAction([f"{field}: expected 0 to {LONGEST_MS / 1000:g} seconds, got {seconds:g}"])
    return round(seconds * 1000)


def wheel(direction: str, notches: float, field: str) -> int:
    """Wheel clicks, positive upwards, one to ten in either direction; what is more is ten, as the helps say.

    Raises:
        InvalidAction: for a horizontal direction, which no wheel here has, or no distance.
    """
    if direction not in ("up", "down"):
        raise InvalidAction([f"{field}: the wheel turns up or down, not {direction[:40]!r}"])
    if not notches > 0:
        raise InvalidAction([f"{field}: expected some distance, got {notches:g}"])
    clicks = min(10, max(1, round(notches)))
    return clicks if direction == "up" else -clicks


def not_offered(what: str, instead: str) -> InvalidAction:
    """The refusal of a verb that the dialect has and the display has not."""
    return InvalidAction([f"{what} is not offered here; {instead}"])
