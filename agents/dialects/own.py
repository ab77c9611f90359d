"""The arena's own gestures, with coordinates in the model's convention."""

from __future__ import annotations

from typing import Any, ClassVar

from agents.coordinates import Coordinates
from agents.dialects.base import Dialect, pixel
from environments.actions.gui import GuiAction
from environments.actions.spec import TypedActions, shown
from environments.errors import InvalidAction

_PAIRS = (("x", "y"), ("to_x", "to_y"))
_ABSURD = 1e6
"""From here on a number is not tried as a coordinate: integers of any length come in JSON."""


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
        """The same with pixels of the frame; the rest is left for the gestures' own schema.

        Raises:
            InvalidAction: with one line per coordinate that is no number of the convention, or outside the picture.
        """
        if not isinstance(said, dict):
            return TypedActions(GuiAction).parse(said)
        moved = dict(said)
        problems: list[str] = []
        for pair in _PAIRS:
            for index, name in enumerate(pair):
                if name not in said:
                    continue
                try:
                    moved[name] = _pixel(name, said[name], index, coordinates)
                except InvalidAction as error:
                    problems += error.problems
        if problems:
            raise InvalidAction(problems)
        return moved


def _pixel(name: str, value: Any, index: int, coordinates: Coordinates) -> int:
    """One coordinate in pixels of the frame.

    Raises:
        InvalidAction: for what is no number, or none of the convention's, or outside the picture.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _ABSURD
    if not number or (coordinates.whole and isinstance(value, float) and not value.is_integer()):
        kind = "a whole number" if coordinates.whole else "a number"
        last = coordinates.extent[index] - (0 if coordinates.inclusive else 1)
        raise InvalidAction([f"{name}: expected {kind} from 0 to {last:g} (got {shown(value)})"])
    # The other coordinate is always inside: each is complained about for itself.
    place = pixel((value, 0) if index == 0 else (0, value), coordinates)
    return place["xy"[index]]


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
