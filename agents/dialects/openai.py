"""OpenAI's computer-use actions.

Source of the vocabulary: the `computer_call` actions of the Responses API. Its scroll distances are pixels, positive
downwards and to the right; a notch of a wheel is taken as 100 of them.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator
from pydantic_core import PydanticCustomError

from agents.coordinates import Coordinates
from agents.dialects import base
from environments.actions.spec import TypedActions
from environments.errors import InvalidAction

_PIXELS_A_NOTCH = 100
_STRAIGHT = 0.02
"""How far a point of a drag may lie off the straight line, as a share of the picture's larger side."""
_CAMEL_CASE = {"scrollX": "scroll_x", "scrollY": "scroll_y"}


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Pointed(_Said):
    keys: Annotated[list[str] | None, Field(max_length=4, description="not offered here: leave it out")] = None
    """Keys held meanwhile, which the newer models may name; most say null or none."""


class Point(_Said):
    """A place in the picture."""

    x: float
    y: float

    @model_validator(mode="before")
    @classmethod
    def _from_pair(cls, value: Any) -> Any:
        return dict(zip("xy", value, strict=True)) if isinstance(value, list) and len(value) == 2 else value


class Click(_Pointed):
    """Click at x, y."""

    type: Literal["click"]
    x: float
    y: float
    button: Literal["left", "right", "wheel", "back", "forward"] = "left"


class DoubleClick(_Pointed):
    """Click twice at x, y with the left button."""

    type: Literal["double_click"]
    x: float
    y: float


class Drag(_Pointed):
    """Press at the first point of the path, move along it, release at the last. The path must be straight."""

    type: Literal["drag"]
    path: Annotated[list[Point], Field(min_length=2, max_length=200)]


class KeyPress(_Said):
    """Press one key, or up to four together."""

    type: Literal["keypress"]
    keys: Annotated[list[Annotated[str, Field(max_length=40)]], Field(min_length=1, max_length=4)]


class Move(_Pointed):
    """Move the pointer to x, y."""

    type: Literal["move"]
    x: float
    y: float


class Scroll(_Pointed):
    """Turn the wheel at x, y; scroll_y is in pixels, positive is down."""

    type: Literal["scroll"]
    x: float
    y: float
    scroll_x: float = 0
    scroll_y: float = 0

    @model_validator(mode="before")
    @classmethod
    def _from_camel_case(cls, value: Any) -> Any:
        """Take the spelling of the provider's examples in JavaScript too."""
        if not isinstance(value, dict):
            return value
        if twice := [name for name, other in _CAMEL_CASE.items() if name in value and other in value]:
            other = _CAMEL_CASE[twice[0]]
            raise PydanticCustomError(
                "given_twice", "expected {other} once, not as {name} too", {"other": other, "name": twice[0]}
            )
        return {_CAMEL_CASE.get(name, name): item for name, item in value.items()}


class TypeText(_Said):
    """Type a text."""

    type: Literal["type"]
    text: Annotated[str, Field(min_length=1, max_length=200)]


class Wait(_Said):
    """Wait two seconds."""

    type: Literal["wait"]


class Screenshot(_Said):
    """Look again without acting."""

    type: Literal["screenshot"]


class OpenAIAction(
    RootModel[
        Annotated[
            Click | DoubleClick | Drag | KeyPress | Move | Scroll | TypeText | Wait | Screenshot,
            Field(discriminator="type"),
        ]
    ]
):
    """One computer action. The field `type` names it.

    click(x, y, button=left|right|wheel) - double_click(x, y) - drag(path) - keypress(keys) - move(x, y) -
    scroll(x, y, scroll_x, scroll_y) - type(text) - wait() - screenshot(). Scrolling goes 1000 pixels at most, waiting
    lasts two seconds. For example {"type": "keypress", "keys": ["ARROWUP"]}.
    """


class OpenAI(base.Dialect):
    """Actions as OpenAI's computer-use models give them."""

    name: ClassVar[str] = "openai"

    def schema(self, coordinates: Coordinates) -> dict[str, Any]:
        """Their schema."""
        return TypedActions(OpenAIAction).schema()

    def help(self, coordinates: Coordinates) -> str:
        """Their help."""
        return TypedActions(OpenAIAction).help()

    def translate(self, said: Any, coordinates: Coordinates) -> dict[str, Any]:
        """The gesture that is meant."""
        action = base.validated(OpenAIAction, _unwrapped(said))
        if isinstance(action, _Pointed) and action.keys:
            raise base.not_offered("holding `keys` meanwhile", "press keys in a step of their own")
        match action:
            case Click(x=x, y=y, button=button):
                if button in ("back", "forward"):
                    raise base.not_offered(f"button {button!r}", "there are left, right and wheel")
                ours = "middle" if button == "wheel" else button
                return {"verb": "click", **base.pixel((x, y), coordinates), "button": ours}
            case DoubleClick(x=x, y=y):
                return {"verb": "click", **base.pixel((x, y), coordinates), "count": 2}
            case Drag(path=path):
                _check_straight(path, coordinates)
                return base.drag((path[0].x, path[0].y), (path[-1].x, path[-1].y), coordinates)
            case KeyPress(keys=keys):
                return base.keys_together(keys, "keys")
            case Move(x=x, y=y):
                return {"verb": "move", **base.pixel((x, y), coordinates)}
            case Scroll() as scroll:
                return _scroll(scroll, coordinates)
            case TypeText(text=text):
                return {"verb": "type", "text": text}
            case Wait():
                return {"verb": "wait", "ms": base.LONGEST_MS}
        return {"verb": "wait", "ms": 0}  # a screenshot, which comes with every turn


def _unwrapped(said: Any) -> Any:
    """The action of an output item; newer models give a list of them, of which one is taken.

    Raises:
        InvalidAction: for several at once.
    """
    if isinstance(said, dict) and isinstance(said.get("actions"), list):
        if len(said["actions"]) != 1:
            raise InvalidAction([f"actions: expected exactly one action a turn, got {len(said['actions'])}"])
        return said["actions"][0]
    return said


def _scroll(scroll: Scroll, coordinates: Coordinates) -> dict[str, Any]:
    if scroll.scroll_x or not scroll.scroll_y:
        raise InvalidAction(["scroll: the wheel turns up or down; give scroll_y, not 0, and scroll_x 0"])
    direction = "down" if scroll.scroll_y > 0 else "up"
    clicks = base.wheel(direction, abs(scroll.scroll_y) / _PIXELS_A_NOTCH, "scroll_y")
    return {"verb": "scroll", **base.pixel((scroll.x, scroll.y), coordinates), "clicks": clicks}


def _check_straight(path: list[Point], coordinates: Coordinates) -> None:
    """Refuse a path with a bend or a way back: the hand here goes straight from its start to its end."""
    (x, y), (to_x, to_y) = (path[0].x, path[0].y), (path[-1].x, path[-1].y)
    length = math.hypot(to_x - x, to_y - y)
    allowed = _STRAIGHT * max(coordinates.extent)
    ux, uy = ((to_x - x) / length, (to_y - y) / length) if length else (0.0, 0.0)
    furthest = 0.0
    for i, point in enumerate(path[1:-1], 1):
        along = (point.x - x) * ux + (point.y - y) * uy
        across = math.hypot(point.x - x - along * ux, point.y - y - along * uy)
        # Written so that a distance that is no number is refused too.
        if not (across <= allowed and furthest - allowed <= along <= length + allowed):
            raise InvalidAction([f"path[{i}]: lies off the straight way; drag in several straight pieces"])
        furthest = max(furthest, along)
