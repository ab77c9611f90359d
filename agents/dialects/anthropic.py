"""Anthropic's computer-use actions.

Source of the vocabulary: the tool versions `computer_20241022`, `computer_20250124` and `computer_20251124`. Keys are
X's names, several joined by plus signs; durations are seconds; scroll amounts are notches.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.coordinates import Coordinates
from agents.dialects import base
from environments.actions.spec import TypedActions
from environments.errors import InvalidAction

Place = Annotated[list[float], Field(min_length=2, max_length=2)]
Verb = Literal[
    "key", "hold_key", "type", "mouse_move", "left_click", "right_click", "middle_click", "double_click",
    "triple_click", "left_click_drag", "left_mouse_down", "left_mouse_up", "scroll", "wait", "screenshot",
    "cursor_position", "zoom",
]  # fmt: skip

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
    wait(duration) - screenshot. Durations are seconds, 2 at most. For example
    {"action": "key", "text": "Up"} or {"action": "hold_key", "text": "Left", "duration": 0.5}.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    action: Verb
    coordinate: Place | None = None
    start_coordinate: Place | None = None
    text: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    duration: float | None = None
    scroll_direction: Literal["up", "down", "left", "right"] | None = None
    scroll_amount: Annotated[float, Field(ge=0, le=1000)] | None = None


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
        if a.action in _CLICKS:
            if a.text:
                raise base.not_offered("a click with a key held (`text`)", "press keys in a step of their own")
            button, count = _CLICKS[a.action]
            return {"verb": "click", **_place(a, coordinates), "button": button, "count": count}
        match a.action:
            case "key":
                return base.keys_together(_keys(a), "text")
            case "hold_key":
                return base.keys_together(_keys(a), "text", base.milliseconds(_needed(a, "duration"), "duration"))
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


def _needed(action: AnthropicAction, field: str) -> Any:
    value = getattr(action, field)
    if value is None:
        raise InvalidAction([f"{field}: {action.action} needs it"])
    return value


def _place(action: AnthropicAction, coordinates: Coordinates) -> dict[str, int]:
    return base.pixel(_needed(action, "coordinate"), coordinates, "coordinate")


def _keys(action: AnthropicAction) -> list[str]:
    text: str = _needed(action, "text")
    return [text] if text == "+" else text.split("+")
