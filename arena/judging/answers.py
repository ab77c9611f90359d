"""What a judge's model answers: the form it is asked for, and what becomes of each verdict that it gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from agents.errors import UnreadableReply
from agents.parsing import read_json
from arena.judging.judge import MilestoneVerdict, VerdictName
from arena.text import clean, read_index
from environments.task import Milestone

ANSWERS: tuple[VerdictName, ...] = ("reached", "not_reached", "uncertain")
_NOTE = 500

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "milestones": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "verdict": {"type": "string", "enum": list(ANSWERS)},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                    "frame": {
                        "anyOf": [{"type": "integer"}, {"type": "null"}],
                        "description": "number of a frame that is shown",
                    },
                    "note": {"type": "string"},
                },
                "required": ["id", "verdict", "confidence", "frame", "note"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["milestones"],
    "additionalProperties": False,
}

OBJECTS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "frames": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "frame": {"type": "integer"},
                    "objects": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["frame", "objects"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["frames"],
    "additionalProperties": False,
}


def read_items(text: str) -> list[dict[str, Any]]:
    """The answers in a reply, not looked into yet.

    Raises:
        UnreadableReply: if it holds no list of objects.
    """
    answer = read_json(text)
    items = answer.get("milestones") if isinstance(answer, dict) else answer
    if not isinstance(items, list):
        raise UnreadableReply(["milestones: expected a list of verdicts, got " + type(items).__name__])
    wrong = [item for item in items if not isinstance(item, dict)]
    if wrong or not items:
        got = type(wrong[0]).__name__ if wrong else "an empty list"
        raise UnreadableReply([f"milestones: expected objects with `id` and `verdict`, got {got}"])
    return items


def read_verdict(milestone: Milestone, items: Sequence[dict[str, Any]], shown: Collection[int]) -> MilestoneVerdict:
    """The verdict on one milestone; whatever is wrong with it makes it invalid, and the note says what."""
    answers = [item for item in items if item.get("id") == milestone.id]
    if not answers:
        return MilestoneVerdict(milestone_id=milestone.id, verdict="uncertain", note="no answer on this milestone")
    answer = answers[-1]
    said, note = answer.get("verdict"), answer.get("note")
    problem = ""
    frame: int | None = None
    if any(item.get("verdict") != said for item in answers):
        problem = f"answered {len(answers)} times, not alike"
    elif said not in ANSWERS:
        problem = f"verdict {clean(repr(said), 60)} is none of {', '.join(ANSWERS)}"
    else:
        try:
            frame = read_index(answer.get("frame"))
        except ValueError as error:
            problem = clean(f"frame: {error}", 120)
        else:
            if frame is not None and frame not in shown:
                problem, frame = f"cites frame {frame}, which was not shown", None
            elif frame is None and said == "reached":
                problem = "claims `reached` without a frame"
    explained = clean(note, _NOTE) if isinstance(note, str) else ""
    if problem or said not in ANSWERS:
        note = f"{problem}; it said: {explained}" if explained else problem
        return MilestoneVerdict(milestone_id=milestone.id, verdict="invalid", note=note)
    return MilestoneVerdict(
        milestone_id=milestone.id,
        verdict=said,
        confidence=_confidence(answer.get("confidence")),
        frame=frame,
        note=explained,
    )


def _confidence(value: Any) -> float | None:
    """A number in 0..1, or None: a judge's figures are not mended."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)
