"""A uniform-ish random value of a JSON schema: what the `random` agent plays."""

from __future__ import annotations

from typing import Any

import numpy as np

_TEXT = "abcdefghijklmnopqrstuvwxyz0123456789 "


def sample_schema(schema: dict[str, Any], rng: np.random.Generator, root: dict[str, Any] | None = None) -> Any:
    """Draw a value that the schema accepts, for the subset of JSON schema that pydantic emits.

    Raises:
        ValueError: for a construct outside that subset, naming it.
    """
    root = schema if root is None else root
    if "$ref" in schema:
        return sample_schema(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], rng, root)
    for union in ("oneOf", "anyOf"):
        if union in schema:
            return sample_schema(schema[union][rng.integers(len(schema[union]))], rng, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][rng.integers(len(schema["enum"]))]
    match schema.get("type"):
        case "object":
            return {key: sample_schema(value, rng, root) for key, value in schema.get("properties", {}).items()}
        case "array":
            low = schema.get("minItems", 0)
            length = int(rng.integers(low, min(schema.get("maxItems", low + 2), low + 12) + 1))
            return _items(schema, length, rng, root)
        case "integer" if _bounded(schema):
            return int(rng.integers(_low(schema, 1), _high(schema, 1) + 1))
        case "number" if _bounded(schema):
            return float(rng.uniform(_low(schema, 0), _high(schema, 0)))
        case "boolean":
            return bool(rng.integers(2))
        case "null":
            return None
        case "string":
            low = schema.get("minLength", min(1, schema.get("maxLength", 1)))
            length = int(rng.integers(low, max(low, min(12, schema.get("maxLength", 12))) + 1))
            return "".join(_TEXT[i] for i in rng.integers(len(_TEXT), size=length))
    raise ValueError(f"cannot sample from schema {schema!r}: bound it, or enumerate its values")


def _items(schema: dict[str, Any], length: int, rng: np.random.Generator, root: dict[str, Any]) -> list[Any]:
    drawn: list[Any] = []
    for _ in range(100 * length):
        if len(drawn) == length:
            break
        value = sample_schema(schema["items"], rng, root)
        if not (schema.get("uniqueItems") and value in drawn):
            drawn.append(value)
    if len(drawn) < length:
        raise ValueError(f"cannot sample from schema {schema!r}: it has too few different items")
    return drawn


def _bounded(schema: dict[str, Any]) -> bool:
    return bool({"minimum", "exclusiveMinimum"} & schema.keys() and {"maximum", "exclusiveMaximum"} & schema.keys())


def _low(schema: dict[str, Any], unit: int) -> Any:
    return schema["exclusiveMinimum"] + unit if "exclusiveMinimum" in schema else schema["minimum"]


def _high(schema: dict[str, Any], unit: int) -> Any:
    return schema["exclusiveMaximum"] - unit if "exclusiveMaximum" in schema else schema["maximum"]
