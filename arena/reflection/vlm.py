"""A reflector that shows a vision-language model frames of the failed attempt and of the expert's tutorial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agents.errors import UnreadableReply
from agents.gateway import Image, Message, ModelGateway, ModelRequest
from agents.parsing import read_json
from arena.prompting import Prompt
from arena.reflection.config import ReflectionConfig
from arena.reflection.reflector import Cause, Evidence, FrameLabels, Reflection
from arena.text import as_data, bounded, clean, read_index
from storage.models import Step

PROMPT = "reflect-v1"
_MAX_CAUSES = 5
_FIRST, _LAST = 10, 40
"""Steps of a log that are written out: how it began and how it ended."""
_ENDINGS = {"won": "the goal was reached", "lost": "the game was lost", "horizon": "the steps ran out"}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "causes": {
            "type": "array",
            "maxItems": _MAX_CAUSES,
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "frame": {
                        "anyOf": [{"type": "integer"}, {"type": "null"}],
                        "description": "number of a failure frame that is shown",
                    },
                },
                "required": ["text", "frame"],
                "additionalProperties": False,
            },
        },
        "lesson": {"type": "string", "description": "advice for the next attempt"},
    },
    "required": ["causes", "lesson"],
    "additionalProperties": False,
}


class VlmReflector:
    """One call: logs and labelled frames in, causes and a lesson out.

    The model is told what the player could have known: goal, actions, refusals, and how it ended.
    The engine's score and milestones stay out, so that no truth reaches the retry's prompt.

    A lesson counts only if it stands on the evidence: causes that cite a frame that was not shown
    are dropped, and an answer whose causes all do so is unusable.
    """

    instrument = ""

    def __init__(self, gateway: ModelGateway, config: ReflectionConfig) -> None:
        if config.model is None:
            raise ValueError("config.model: expected the model's options, got None")
        self._gateway = gateway
        self._config = config
        self._options = config.model
        self._prompt = Prompt.load("arena.reflection", PROMPT)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._options.model

    def fingerprint(self) -> dict[str, Any]:
        """Model and how it is asked, prompt, schema, and what is shown and kept."""
        return {
            "reflector": "vlm",
            "model": self._options.fingerprint(),
            "prompt": [PROMPT, self._prompt.sha256],
            "schema": SCHEMA,
            "log": [_FIRST, _LAST],
            "max_words": self._config.max_words,
            "tutorial": self._config.tutorial,
            "frames": self._config.frames,
            "sampling": self._config.sampling,
        }

    def reflect(self, evidence: Evidence) -> Reflection:
        """Ask once; see `Reflector`."""
        if not self._config.tutorial:
            evidence = evidence.without_tutorial()
        call = self._gateway.complete(self._request(evidence))
        if call.status == "refused":
            return Reflection(text="", calls=(call,), status="refused", problem=clean(call.error, 300))
        try:
            causes, n_bad, lesson = _read(call.text, set(evidence.failure_indices))
        except UnreadableReply as error:
            cut = "the answer was cut off: " if call.status == "truncated" else ""
            return Reflection(text="", calls=(call,), status="unusable", problem=cut + clean(str(error), 300))
        return Reflection(
            text=bounded(lesson, self._config.max_words), calls=(call,), causes=tuple(causes), n_bad_citations=n_bad
        )

    def _request(self, evidence: Evidence) -> ModelRequest:
        task, steps = evidence.task, evidence.steps
        system = self._prompt.system(SCHEMA, self._options.mode, max_words=str(self._config.max_words))
        user = self._prompt.fill(
            "user",
            title=task.title,
            goal=task.goal,
            space=str(evidence.space),
            outcome=_ENDINGS.get(str(evidence.episode.outcome), "it was broken off"),
            n_steps=str(len(steps)),
            elided=_elided(steps),
            failure_log="\n".join(_log(steps)),
            tutorial=_tutorial_text(evidence),
        )
        pictures = [
            *self._labelled("failure", evidence.failure_indices, evidence.failure_frames, steps),
            *self._labelled("tutorial", evidence.tutorial_indices, evidence.tutorial_frames, evidence.tutorial_steps),
        ]
        return self._options.request(
            "reflect",
            (Message("system", (system,)), Message("user", (user, *pictures))),
            schema=SCHEMA,
            schema_name="reflection",
            schema_help="Why the attempt failed, and the lesson for the next one.",
        )

    def _labelled(
        self, video: str, indices: Sequence[int], frames: Sequence[Any], steps: Sequence[Step]
    ) -> Iterator[str | Image]:
        labels = FrameLabels(steps)
        for index, frame in zip(indices, frames, strict=True):
            yield f"{video} frame {index} ({labels.label(index)}):"
            yield self._options.picture(frame)


def _tutorial_text(evidence: Evidence) -> str:
    steps = evidence.tutorial_steps
    if not steps and not evidence.tutorial_indices:
        return "There is no tutorial."
    lines = "\n".join(_log(steps))
    return (
        f"An expert's tutorial of the same task on another seed, {len(steps)} steps{_elided(steps)}:\n"
        f'<log of="tutorial">\n{lines}\n</log>'
    )


def _elided(steps: Sequence[Step]) -> str:
    left_out = len(steps) - _FIRST - _LAST
    return f" (the first {_FIRST} and the last {_LAST}; {left_out} between them are left out)" if left_out > 0 else ""


def _log(steps: Sequence[Step]) -> Iterator[str]:
    """A line of JSON for each step; the player's own words come cleaned and shortened."""
    shown = steps if len(steps) <= _FIRST + _LAST else [*steps[:_FIRST], *steps[-_LAST:]]
    for step in shown:
        entry: dict[str, Any] = {"step": step.index, "action": step.action}
        if step.status != "ok":
            entry |= {"status": step.status, "reason": clean(step.reason, 200)}
        if step.rationale:
            entry["player_said"] = clean(step.rationale, 200)
        yield as_data(entry)


def _read(text: str, shown: set[int]) -> tuple[list[Cause], int, str]:
    """Causes on frames that were shown, the number of causes on others, and the lesson.

    Raises:
        UnreadableReply: without a lesson, or if every cause cites a frame that was not shown.
    """
    answer = read_json(text)
    if not isinstance(answer, dict):
        raise UnreadableReply(["expected an object with `causes` and `lesson`, got an array"])
    lesson = answer.get("lesson")
    if not isinstance(lesson, str) or not lesson.strip():
        raise UnreadableReply(["lesson: expected text, got " + ("nothing" if not lesson else type(lesson).__name__)])
    given = answer.get("causes")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    items = [item for item in items if isinstance(item.get("text"), str) and item["text"].strip()][:_MAX_CAUSES]
    causes, n_bad = [], 0
    for item in items:
        try:
            frame = read_index(item.get("frame"))
        except ValueError:
            n_bad += 1
            continue
        if frame is None or frame in shown:
            causes.append(Cause(text=clean(item["text"], 500), frame=frame))
        else:
            n_bad += 1
    if items and not causes:
        raise UnreadableReply([f"causes: all {n_bad} cite frames that were not shown"])
    return causes, n_bad, lesson
