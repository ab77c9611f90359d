"""The arena's own gestures, with coordinates in the model's convention."""

from __future__ import annotations

from typing import Any, ClassVar

from agents.coordinates import Coordinates
from agents.dialects.base import Dialect, pixel
from environments.actions.gui import GuiAction
from environments.actions.spec import TypedActions

_PAIRS = (("x", "y"), ("to_x", "to_y"))


class Own(Dialect):
    """`environments.actions.gui`, word for word."""

    name: ClassVar[str] = "arena"

    def schema(self, coordinates: Coordinates) -> dict[str, Any]:
        """The gestures' schema with the convention's bounds."""
        schema = TypedActions(GuiAction).schema()
        for verb in schema["$defs"].values():
            for pair in _PAIRS:
                for name, edge in zip(pair, coordinates.extent, strict=True):
                    if name in verb["properties"]:
                        verb["properties"][name] = _axis(name, edge, coordinates)
        return schema

    def help(self, coordinates: Coordinates) -> str:
        """The gestures' help."""
        text = TypedActions(GuiAction).help()
        said = "Coordinates are pixels of the 640x480 frame."
        if said not in text:
            raise RuntimeError("the help on gestures no longer says what its coordinates are; mend this line with it")
        x, y = coordinates.to_model(320, 240)
        example = f'"x": {x:g}, "y": {y:g}'
        return text.replace(f" {said}", "").replace('"x": 320, "y": 240', example)

    def translate(self, said: Any, coordinates: Coordinates) -> dict[str, Any]:
        """The same with pixels of the frame; what is no number is left for the schema to refuse."""
        if not isinstance(said, dict):
            return TypedActions(GuiAction).parse(said)
        moved = dict(said)
        for x, y in _PAIRS:
            if _number(said.get(x)) and _number(said.get(y)):
                place = pixel((said[x], said[y]), coordinates)
                moved[x], moved[y] = place["x"], place["y"]
        return moved


def _number(value: Any) -> bool:
    # What is absurdly large is refused by the schema, in words for whole numbers of any length.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6


def _axis(name: str, edge: float, coordinates: Coordinates) -> dict[str, Any]:
    kind = "integer" if coordinates.whole else "number"
    last = edge if coordinates.inclusive else edge - 1
    side = "left" if name.endswith("x") else "top"
    return {
        "type": kind,
        "minimum": 0,
        "maximum": int(last) if coordinates.whole else last,
        "description": f"from the {side}",
    }
