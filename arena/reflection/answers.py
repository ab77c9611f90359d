"""What a model answers when it reflects: the schema that it is given, and how its answer is read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from agents.errors import UnreadableReply
from agents.parsing import read_json
from arena.reflection.reflector import Cause
from arena.text import clean, read_index

Cited = Literal["frame", "picture"]
"""How causes name what they were seen on: by frame of the attempt's video, or by the picture's own number."""

MAX_CAUSES = 5
_HELP = {"frame": "number of a failure frame that is shown", "picture": "number of a picture that is shown"}


def schema(cited: Cited, *, causes: bool = True, lesson: bool = True) -> dict[str, Any]:
    """The JSON schema of an answer with causes, a lesson, or both."""
    properties: dict[str, Any] = {}
    if causes:
        number = {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": _HELP[cited]}
        properties["causes"] = {
            "type": "array",
            "maxItems": MAX_CAUSES,
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, cited: number},
                "required": ["text", cited],
                "additionalProperties": False,
            },
        }
    if lesson:
        properties["lesson"] = {"type": "string", "description": "advice for the next attempt"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_answer(text: str) -> dict[str, Any]:
    """The object that an answer consists of.

    Raises:
        UnreadableReply: if it is none.
    """
    answer = read_json(text)
    if not isinstance(answer, dict):
        raise UnreadableReply(["expected an object with the fields that were asked for, got an array"])
    return answer


def read_lesson(answer: dict[str, Any]) -> str:
    """The lesson, as the model wrote it.

    Raises:
        UnreadableReply: if there is none.
    """
    lesson = answer.get("lesson")
    if not isinstance(lesson, str) or not lesson.strip():
        raise UnreadableReply(["lesson: expected text, got " + ("nothing" if not lesson else type(lesson).__name__)])
    return lesson


def read_causes(answer: dict[str, Any], cited: Cited, shown: Collection[int]) -> tuple[list[Cause], int]:
    """Causes on what was shown, and the number of causes on anything else.

    Raises:
        UnreadableReply: if every cause cites what was not shown.
    """
    given = answer.get("causes")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    items = [item for item in items if isinstance(item.get("text"), str) and item["text"].strip()][:MAX_CAUSES]
    causes, n_bad = [], 0
    for item in items:
        try:
            number = read_index(item.get(cited))
        except ValueError:
            n_bad += 1
            continue
        if number is None or number in shown:
            text = clean(item["text"], 500)
            causes.append(Cause(text=text, frame=number) if cited == "frame" else Cause(text=text, picture=number))
        else:
            n_bad += 1
    if items and not causes:
        raise UnreadableReply([f"causes: all {n_bad} cite {cited}s that were not shown"])
    return causes, n_bad
