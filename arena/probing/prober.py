"""Asks a model the questions of a probing, and reads what it answers."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.calls import ModelCall
from agents.coordinates import Convention, Coordinates, OutsidePicture
from agents.errors import UnreadableReply
from agents.gateway import Image, Message, ModelGateway, ModelRequest
from agents.parsing import read_json
from arena.asking import ask
from arena.models import ModelOptions
from arena.probing.question import Question, Spot
from arena.prompting import Prompt
from arena.text import clean
from environments.env import Frame
from environments.task import Task

PROMPT = "probe-v1"
Status = Literal["ok", "invalid", "refused"]
_PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model made of a question."""

    status: Status
    """`invalid`: it names no option, or no place in the picture; `refused`: the model declined."""
    said: str | tuple[int, int] | None = None
    """One of the options, or a pixel of the frame; None unless the status is `ok`."""
    calls: tuple[ModelCall, ...] = ()


class Prober:
    """Asks one question a request, and once more if the answer names nothing that was offered.

    Args:
        options: The model, and how it is asked.
        coordinates: What the model's numbers mean, where it is asked for a place.
    """

    def __init__(self, options: ModelOptions, coordinates: Convention = "pixel") -> None:
        self._options = options
        self._gateway = ModelGateway(options)
        self._coordinates = coordinates
        self._prompt = Prompt.load("arena.probing", PROMPT)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._options.model

    def fingerprint(self) -> dict[str, Any]:
        """Everything that determines how it answers a question, as JSON values."""
        return {
            "model": self._options.fingerprint(),
            "prompt": [PROMPT, self._prompt.sha256],
            "coordinates": self._coordinates,
        }

    def ask(self, question: Question, task: Task, frames: Callable[[Sequence[int]], Sequence[Frame]]) -> Answer:
        """Show the pictures and ask.

        Args:
            question: What to ask.
            task: The task that it is about.
            frames: Reads frames of the question's episode by index.

        Raises:
            ProviderError: the model's side failed; `calls` holds what was sent.
        """
        images = [self._options.picture(frame) for frame in question.pictures(frames)]
        coordinates = Coordinates(question.size, images[0].size, self._coordinates)

        def read(text: str) -> str | tuple[int, int]:
            return _chosen(text, question.options) if question.options else _pointed(text, coordinates)

        def problem(text: str) -> str:
            try:
                read(text)
            except (UnreadableReply, OutsidePicture) as error:
                return clean(str(error), 300)
            return ""

        request = self._request(question, task, images, coordinates)
        calls = ask(self._gateway, request, problem, lambda wrong: self._prompt.fill("repair", problem=wrong))
        if calls[-1].status == "refused":
            return Answer(status="refused", calls=calls)
        if problem(calls[-1].text):
            return Answer(status="invalid", calls=calls)
        return Answer(status="ok", said=read(calls[-1].text), calls=calls)

    def _request(
        self, question: Question, task: Task, images: Sequence[Image], coordinates: Coordinates
    ) -> ModelRequest:
        letters = string.ascii_uppercase[: len(question.options)]
        choice = {
            "type": "object",
            "properties": {"answer": {"type": "string", "enum": list(letters)}},
            "required": ["answer"],
            "additionalProperties": False,
        }
        schema = choice if letters else _PLACE
        if letters:
            offered = "\n".join(f"{letter}: {text}" for letter, text in zip(letters, question.options, strict=True))
            wanted = self._prompt.fill("choice", options=offered)
        else:
            wanted = self._prompt.fill("place", coordinates=coordinates.describe())
        user = self._prompt.fill("user", title=task.title, about=question.about, question=question.text)
        return self._options.request(
            "probe",
            (
                Message("system", (self._prompt.system(schema, self._options.mode),)),
                Message("user", (f"{user}\n\n{wanted}", *_shown(images))),
            ),
            schema=schema,
            schema_name="answer",
            schema_help="The answer to the question.",
        )


def _shown(images: Sequence[Image]) -> Iterator[str | Image]:
    for number, image in enumerate(images, 1):
        yield f"picture {number}:" if len(images) > 1 else "picture:"
        yield image


def _chosen(text: str, options: Sequence[str]) -> str:
    """The option that an answer names, by its letter or word for word.

    Raises:
        UnreadableReply: if it names none.
    """
    said = _field(text, "answer")
    if isinstance(said, str):
        letter = said.strip().rstrip(".):").upper()
        if len(letter) == 1 and letter in string.ascii_uppercase[: len(options)]:
            return options[string.ascii_uppercase.index(letter)]
        if said in options:
            return said
    last = string.ascii_uppercase[len(options) - 1]
    raise UnreadableReply([f"answer: expected a letter from A to {last}, got {clean(repr(said), 60)}"])


def _pointed(text: str, coordinates: Coordinates) -> tuple[int, int]:
    """The pixel of the frame that an answer names.

    Raises:
        UnreadableReply: if it names none.
        OutsidePicture: if it lies outside.
    """
    place = [_field(text, axis) for axis in ("x", "y")]
    for axis, value in zip("xy", place, strict=True):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or abs(value) > 1e9 or not math.isfinite(value):
            raise UnreadableReply([f"{axis}: expected a number, got {clean(repr(value), 60)}"])
    return coordinates.to_frame(*place)


def _field(text: str, name: str) -> Any:
    answer = read_json(text)
    if not isinstance(answer, dict):
        raise UnreadableReply([f"expected an object with `{name}`, got a list"])
    return answer.get(name)


def is_right(question: Question, said: str | tuple[int, int]) -> bool:
    """Whether an answer is the truth."""
    if isinstance(question.truth, Spot):
        return not isinstance(said, str) and question.truth.holds(*said)
    return said == question.truth


def as_json(value: str | tuple[int, int] | Spot | None) -> Any:
    """An answer or a truth as it is stored: an option's text, or `x` and `y` in pixels of the frame."""
    if isinstance(value, Spot):
        return {"x": value.x, "y": value.y, "radius": value.radius}
    return {"x": value[0], "y": value[1]} if isinstance(value, tuple) else value


__all__ = ["PROMPT", "Answer", "Prober", "as_json", "is_right"]
