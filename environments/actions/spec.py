"""One object per action space: its schema, its validator, its help for a prompt, its sampler."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from pydantic import BaseModel, RootModel, ValidationError

from environments.actions.sampling import sample_schema
from environments.errors import InvalidAction

Action = dict[str, Any] | list[float]
"""A validated action in its JSON form: an object for typed spaces, seven numbers for `native`."""

_NUMBERS = (int, float, np.integer, np.floating)
_DEPTH = 4
"""How deep actions nest, at most: what lies deeper is refused whatever it is."""
_RESPELT = (float, tuple, np.integer, np.floating)
"""What strict validation may refuse for the way it is written."""


class TypedActions(spaces.Space[dict[str, Any]]):
    """A Gymnasium space whose elements are the JSON objects that a pydantic model accepts.

    The model is the single source: its JSON schema is the tool given to a language model, its
    validator is the parser, its docstring (and those of its variants) is the help in the prompt.

    What the schema says is taken, and nothing else is turned into it:

    - an integer is a number without a fraction. 5.0 is one, as JSON Schema defines it (2020-12, 4.2.3 and 6.1.1: a
      value, not a way to write it), and becomes 5; 5.5, true, "5" and "1_0" are none.
    - a number is neither a boolean nor a string, and finite where it has bounds.
    - a string or a boolean is just that; a number never stands for one, nor do bytes.
    - one of several values is exactly that one: no other case, no spaces around it.
    - an object has each key once; `agents.parsing` sees to it, since a dict cannot tell.

    Python callers may give NumPy's numbers, whatever else has a `__float__` where a number is expected, and a tuple for
    an array: no such thing can come in JSON.
    """

    def __init__(self, model: type[BaseModel], seed: int | np.random.Generator | None = None) -> None:
        self.model = model
        super().__init__(shape=None, dtype=None, seed=seed)

    def parse(self, action: Any) -> dict[str, Any]:
        """The canonical JSON form of an action, defaults filled in.

        Raises:
            InvalidAction: with one line per fault: where, what was given, what is expected.
        """
        result: dict[str, Any] = self._validate(action).model_dump(mode="json")
        return result

    def load(self, action: Any) -> Any:
        """The validated model instance (the variant itself where the model is a union).

        Raises:
            InvalidAction: as `parse` does.
        """
        parsed = self._validate(action)
        return parsed.root if isinstance(parsed, RootModel) else parsed

    def _validate(self, action: Any) -> BaseModel:
        try:
            return self.model.model_validate(action, strict=True)
        except ValidationError as error:
            items = error.errors(include_url=False)
        # Pydantic's strict mode knows integers by their Python type. Seldom needed, so it costs the others nothing.
        if any(isinstance(item["input"], _RESPELT) for item in items):
            try:
                return self.model.model_validate(respelt(action), strict=True)
            except ValidationError as error:
                items = error.errors(include_url=False)
        raise InvalidAction([_explain(item) for item in items])

    def schema(self) -> dict[str, Any]:
        """JSON schema of one action, `$ref`s included; the caller's own copy."""
        return copy.deepcopy(self._schema)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return self.model.model_json_schema()  # 5 ms for the GUI's: too dear for every sample

    def help(self) -> str:
        """The docstring of the model: what a player is told about acting."""
        return (self.model.__doc__ or "").strip()

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A random valid action, uniform over variants and enumerated values."""
        return self.parse(sample_schema(self._schema, self.np_random))

    def contains(self, x: Any) -> bool:
        """Whether the schema accepts `x`."""
        try:
            self.parse(x)
        except InvalidAction:
            return False
        return True

    def to_jsonable(self, sample_n: Any) -> list[Any]:
        """Elements are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[Any]:
        """The inverse of `to_jsonable`, validated."""
        return [self.parse(item) for item in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedActions) and other.model is self.model

    __hash__ = None  # type: ignore[assignment]  # mutable (its generator), as Gymnasium's own spaces

    def __repr__(self) -> str:
        return f"TypedActions({self.model.__name__})"


class NativeActions(spaces.Box):
    """The 7-D end-effector action: dx, dy, dz, three rotations, gripper, each in [-1, 1].

    LIBERO's convention on robosuite's OSC_POSE at 20 Hz: +-1 is +-5 cm or +-0.5 rad a step, and
    the gripper closes at +1 and opens at -1.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(-1.0, 1.0, (7,), np.float32, seed)

    def parse(self, action: Any) -> list[float]:
        """Seven finite numbers in [-1, 1], as a list.

        Raises:
            InvalidAction: for another shape, or a value outside the range.
        """
        if not isinstance(action, list | tuple | np.ndarray):
            raise InvalidAction([f"action: expected seven numbers, got {shown(action)}"])
        shape = action.shape if isinstance(action, np.ndarray) else (len(action),)
        if shape != (7,):
            raise InvalidAction([f"action: expected seven numbers, shape (7,), got {shape}"])
        values = action.tolist() if isinstance(action, np.ndarray) else action
        other = [i for i, value in enumerate(values) if isinstance(value, bool) or not isinstance(value, _NUMBERS)]
        if other:
            raise InvalidAction([f"action[{i}]: expected a number (got {shown(values[i])})" for i in other])
        bad = [i for i, value in enumerate(values) if not -1.0 <= value <= 1.0]
        if bad:
            raise InvalidAction([f"action[{i}]: {shown(values[i])} is not a finite number in [-1, 1]" for i in bad])
        return [float(np.float32(value)) for value in values]

    def contains(self, x: Any) -> bool:
        """Whether `parse` accepts `x`: lists and float64 arrays too, unlike `Box`."""
        try:
            self.parse(x)
        except InvalidAction:
            return False
        return True

    def schema(self) -> dict[str, Any]:
        """JSON schema of one action."""
        number = {"type": "number", "minimum": -1, "maximum": 1}
        return {"type": "array", "items": number, "minItems": 7, "maxItems": 7}

    def help(self) -> str:
        """What a player is told about acting."""
        return (self.__doc__ or "").strip()


def respelt(value: Any, depth: int = 0) -> Any:
    """The same JSON value as strict mode wants it: 5.0 as 5, NumPy's numbers as Python's, lists for tuples."""
    if isinstance(value, dict | list | tuple) and depth > _DEPTH:
        return value  # no recursion into what a caller nested without end
    if isinstance(value, dict):
        return {key: respelt(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [respelt(item, depth + 1) for item in value]
    if isinstance(value, float | np.floating):
        return int(value) if value.is_integer() else float(value)
    return int(value) if isinstance(value, np.integer) else value


def _explain(item: Any) -> str:
    where = ".".join(_cut(str(part), 40) for part in item["loc"]) or "action"
    message = item["msg"]
    # Only the first letter: what stands in quotes later is a value, and values keep their case.
    return f"{where}: {_cut(message[:1].lower() + message[1:], 300)} (got {shown(item.get('input'))})"


def shown(value: Any) -> str:
    """A value in a complaint: as Python writes it, 80 characters at most."""
    return _cut(repr(value), 80)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
