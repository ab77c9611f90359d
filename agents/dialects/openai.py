"""OpenAI's computer-use actions.

Source of the vocabulary: the `computer_call` actions of the Responses API. Its scroll distances are pixels, positive
downwards and to the right; a notch of a wheel is taken as 100 of them.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from agents.coordinates import Coordinates
from agents.dialects import base
from environments.actions.spec import TypedActions
from environments.errors import InvalidAction

_PIXELS_A_NOTCH = 100
_STRAIGHT = 0.02
"""How far a point of a drag may lie off the straight line, as a share of the picture's larger side."""


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Point(_Said):
    """A place in the picture."""

    x: float
    y: float


class Click(_Said):
    """Click at x, y."""

    type: Literal["click"]
    x: float
    y: float
    button: Literal["left", "right", "wheel", "back", "forward"] = "left"


class DoubleClick(_Said):
    """Click twice at x, y with the left button."""

    type: Literal["double_click"]
    x: float
    y: float


class Drag(_Said):
    """Press at the first point of the path, move along it, release at the last. The path must be straight."""

    type: Literal["drag"]
    path: Annotated[list[Point], Field(min_length=2, max_length=200)]


class KeyPress(_Said):
    """Press one key, or up to four together."""

    type: Literal["keypress"]
    keys: Annotated[list[Annotated[str, Field(max_length=40)]], Field(min_length=1, max_length=4)]


class Move(_Said):
    """Move the pointer to x, y."""

    type: Literal["move"]
    x: float
    y: float


class Scroll(_Said):
    """Turn the wheel at x, y; scroll_y is in pixels, positive is down."""

    type: Literal["scroll"]
    x: float
    y: float
    scroll_x: float = 0
    scroll_y: float = 0


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
    scroll(x, y, scroll_x, scroll_y) - type(text) - wait() - screenshot(). For example
    {"type": "keypress", "keys": ["ARROWUP"]}.
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
        match base.validated(OpenAIAction, said):
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


def _scroll(scroll: Scroll, coordinates: Coordinates) -> dict[str, Any]:
    if scroll.scroll_x or not scroll.scroll_y:
        raise InvalidAction(["scroll: the wheel turns up or down; give scroll_y, not 0, and scroll_x 0"])
    direction = "down" if scroll.scroll_y > 0 else "up"
    clicks = base.wheel(direction, abs(scroll.scroll_y) / _PIXELS_A_NOTCH, "scroll_y")
    return {"verb": "scroll", **base.pixel((scroll.x, scroll.y), coordinates), "clicks": clicks}


def _check_straight(path: list[Point], coordinates: Coordinates) -> None:
    """Refuse a path with a bend: the hand here goes straight from its start to its end."""
    (x, y), (to_x, to_y) = (path[0].x, path[0].y), (path[-1].x, path[-1].y)
    length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
    allowed = _STRAIGHT * max(coordinates.extent)
    for i, point in enumerate(path[1:-1], 1):
        across = abs((to_x - x) * (point.y - y) - (to_y - y) * (point.x - x))
        distance = across / length if length else ((point.x - x) ** 2 + (point.y - y) ** 2) ** 0.5
        if not distance <= allowed:  # also for a distance that is no number
            raise InvalidAction([f"path[{i}]: lies off the straight line; drag in several straight pieces"])
