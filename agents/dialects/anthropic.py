"""Anthropic's computer-use actions.

Source of the vocabulary: the tool versions `computer_20241022`, `computer_20250124` and `computer_20251124`. Keys are
X's names, several joined by plus signs; durations are seconds; scroll amounts are notches.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from agents.coordinates import Coordinates
from agents.dialects import base
from environments.actions.spec import TypedActions
from environments.errors import InvalidAction

_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:[ ,]+-?\d+(?:\.\d+)?){1,3}", re.ASCII)


def _numbers(value: Any) -> Any:
    """A list that came as a string, "[100, 200]" or "(100, 200)", as models write it now and then."""
    if not isinstance(value, str) or len(value) > 100:
        return value
    inner = value.strip()
    for opening, closing in ("[]", "()"):
        if inner.startswith(opening) and inner.endswith(closing):
            inner = inner[1:-1].strip()
            break
    return [float(number) for number in re.findall(r"[^ ,]+", inner)] if _NUMBERS.fullmatch(inner) else value


Place = Annotated[list[float], Field(min_length=2, max_length=2), BeforeValidator(_numbers)]
Verb = Literal[
    "key", "hold_key", "type", "mouse_move", "left_click", "right_click", "middle_click", "double_click",
    "triple_click", "left_click_drag", "left_mouse_down", "left_mouse_up", "scroll", "wait", "screenshot",
    "cursor_position", "zoom",
]  # fmt: skip

_TAKES: dict[str, tuple[str, ...]] = {
    "key": ("text",),
    "hold_key": ("text", "duration"),
    "type": ("text",),
    "mouse_move": ("coordinate",),
    "left_click_drag": ("start_coordinate", "coordinate"),
    "scroll": ("coordinate", "scroll_direction", "scroll_amount"),
    "wait": ("duration",),
}
"""What changes the meaning of these verbs; the others are clicks, or look at nothing but their name."""
_CLICKS: dict[str, tuple[str, int]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}


class AnthropicAction(BaseModel):
    """One computer action. The field `action` names it.

    key(text) presses a key, or several joined by "+" - hold_key(text, duration) - type(text) - mouse_move(coordinate) -
    left_click, right_click, middle_click, double_click, triple_click(coordinate) -
    left_click_drag(start_coordinate, coordinate) - scroll(coordinate, scroll_direction=up|down, scroll_amount) -
    wait(duration) - screenshot. Durations are seconds, 2 at most; the wheel turns 10 notches at most. For example
    {"action": "key", "text": "Up"} or {"action": "hold_key", "text": "Left", "duration": 0.5}.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    action: Verb
    coordinate: Place | None = None
    start_coordinate: Place | None = None
    text: Annotated[str, Field(max_length=200)] | None = None
    duration: float | None = None
    scroll_direction: Literal["up", "down", "left", "right"] | None = None
    scroll_amount: Annotated[float, Field(ge=0, le=1000)] | None = None
    repeat: Annotated[int, Field(ge=1, le=100, description="not offered here but 1: press once per step")] | None = None
    region: Annotated[list[float] | None, BeforeValidator(_numbers)] = None
    """Of `zoom`, which is refused in words of its own."""


class Anthropic(base.Dialect):
    """Actions as Anthropic's computer-use tool gives them."""

    name: ClassVar[str] = "anthropic"

    def schema(self, coordinates: Coordinates) -> dict[str, Any]:
        """Their schema."""
        return TypedActions(AnthropicAction).schema()

    def help(self, coordinates: Coordinates) -> str:
        """Their help."""
        return TypedActions(AnthropicAction).help()

    def translate(self, said: Any, coordinates: Coordinates) -> dict[str, Any]:
        """The gesture that is meant."""
        a: AnthropicAction = base.validated(AnthropicAction, said)
        if a.repeat not in (None, 1):
            raise base.not_offered("`repeat`", "press a key once per step")
        _check_takes(a)
        if a.action in _CLICKS:
            if a.text:
                raise base.not_offered("a click with a key held (`text`)", "press keys in a step of their own")
            button, count = _CLICKS[a.action]
            return {"verb": "click", **_place(a, coordinates), "button": button, "count": count}
        match a.action:
            case "key":
                return base.keys_together(_keys(_needed(a, "text")), "text")
            case "hold_key":
                return base.keys_together(
                    _keys(_needed(a, "text")), "text", base.milliseconds(_needed(a, "duration"), "duration")
                )
            case "type":
                return {"verb": "type", "text": _needed(a, "text")}
            case "mouse_move":
                return {"verb": "move", **_place(a, coordinates)}
            case "left_click_drag":
                return base.drag(_needed(a, "start_coordinate"), _needed(a, "coordinate"), coordinates)
            case "scroll":
                direction, amount = _needed(a, "scroll_direction"), _needed(a, "scroll_amount")
                clicks = base.wheel(direction, amount, "scroll_direction")
                return {"verb": "scroll", **_place(a, coordinates), "clicks": clicks}
            case "wait":
                return {"verb": "wait", "ms": base.milliseconds(_needed(a, "duration"), "duration")}
            case "screenshot":
                return {"verb": "wait", "ms": 0}  # a picture comes with every turn
            case "left_mouse_down" | "left_mouse_up":
                raise base.not_offered(a.action, "a button is released at the end of each step: use left_click_drag")
        raise base.not_offered(a.action, "look at the picture that comes with every turn")


def _check_takes(action: AnthropicAction) -> None:
    """Refuse what the verb does not take, where dropping it would change what was asked for."""
    takes = _TAKES.get(action.action)
    if takes is None:
        return
    surplus = [
        f"{name}: {action.action} does not take it here; leave it out"
        for name in ("text", "coordinate", "start_coordinate", "duration", "scroll_direction", "scroll_amount")
        if name not in takes and getattr(action, name) not in (None, "")
    ]
    if surplus:
        raise InvalidAction(surplus)


def _needed(action: AnthropicAction, field: str) -> Any:
    value = getattr(action, field)
    if value is None or value == "":
        raise InvalidAction([f"{field}: {action.action} needs it"])
    return value


def _place(action: AnthropicAction, coordinates: Coordinates) -> dict[str, int]:
    return base.pixel(_needed(action, "coordinate"), coordinates, "coordinate")


def _keys(text: str) -> list[str]:
    """Keys as X names them: a capital letter alone is Shift and the letter."""
    return ["shift", text.lower()] if len(text) == 1 and "A" <= text <= "Z" else base.parts_of(text)
