"""Milestones read out of a recording by a model: proposed with their stretch and frames, reviewed before they count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agents.calls import ModelCall
from agents.errors import UnreadableReply
from agents.gateway import Image, Message, ModelGateway, ModelRequest
from agents.parsing import read_json
from arena.asking import ask
from arena.judging.judge import FrameLoader
from arena.models import ModelOptions
from arena.prompting import Prompt
from arena.sampling import Strategy, sample_frames
from arena.text import clean, read_index
from environments.task import Task

PROMPT = "extract-v1"
LEAST, MOST = 3, 12
_TEXT = 300
_CITED = 4

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "milestones": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "first_frame": {"type": "integer"},
                    "last_frame": {"type": "integer"},
                    "frames": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["text", "first_frame", "last_frame", "frames"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["milestones"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A milestone as a model proposes it."""

    text: str
    """Model text: hostile."""
    first_frame: int
    last_frame: int
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a model read out of a recording."""

    proposals: tuple[Proposed, ...]
    """In the order of the recording."""
    dropped: tuple[str, ...] = ()
    """What was wrong with proposals that are left out."""
    calls: tuple[ModelCall, ...] = ()
    shown: tuple[int, ...] = ()


class Extractor:
    """Asks a model for the milestones of a recording, and keeps what stands on frames that it was shown."""

    def __init__(self, options: ModelOptions, *, frames: int = 24, sampling: Strategy = "change") -> None:
        self._options = options
        self._gateway = ModelGateway(options)
        self._frames = frames
        self._sampling = sampling
        self._prompt = Prompt.load("arena.judging", PROMPT)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._options.model

    def fingerprint(self) -> dict[str, Any]:
        """Everything that determines what it proposes, as JSON values."""
        return {
            "model": self._options.fingerprint(),
            "prompt": [PROMPT, self._prompt.sha256],
            "schema": SCHEMA,
            "frames": self._frames,
            "sampling": self._sampling,
        }

    def extract(self, task: Task, n_frames: int, frames: FrameLoader) -> Extraction:
        """Look at a recording and propose.

        Raises:
            ValueError: for a recording of fewer than two frames.
            ProviderError: the model's side failed; `calls` holds what was sent. An unusable answer is an extraction
                without proposals.
        """
        if n_frames < 2:
            raise ValueError(f"a recording of {n_frames} frame(s) shows no milestone; it needs two at least")
        shown = sample_frames(n_frames, self._frames, self._sampling, frames)
        calls = ask(self._gateway, self._request(task, n_frames, shown, frames), _problem, self._repair)
        if calls[-1].status == "refused":
            told = f"the model declined: {clean(calls[-1].error, 200)}"
            return Extraction(proposals=(), dropped=(told,), calls=calls, shown=tuple(shown))
        if wrong := _problem(calls[-1].text):
            return Extraction(proposals=(), dropped=(wrong,), calls=calls, shown=tuple(shown))
        kept, dropped = _kept(_items(calls[-1].text), set(shown))
        return Extraction(proposals=kept, dropped=dropped, calls=calls, shown=tuple(shown))

    def _repair(self, problem: str) -> str:
        return self._prompt.fill("repair", problem=problem)

    def _request(self, task: Task, n_frames: int, shown: Sequence[int], frames: FrameLoader) -> ModelRequest:
        system = self._prompt.system(SCHEMA, self._options.mode, least=str(LEAST), most=str(MOST))
        user = self._prompt.fill(
            "user",
            title=task.title,
            goal=task.goal,
            n_frames=str(n_frames),
            last_frame=str(n_frames - 1),
            n_shown=str(len(shown)),
        )
        return self._options.request(
            "extract",
            (Message("system", (system,)), Message("user", (user, *self._pictures(shown, frames)))),
            schema=SCHEMA,
            schema_name="milestones",
            schema_help="The milestones of the recording, in its order.",
        )

    def _pictures(self, shown: Sequence[int], frames: FrameLoader) -> Iterator[str | Image]:
        for index, frame in zip(shown, frames(shown), strict=True):
            yield f"frame {index}:"
            yield self._options.picture(frame)


def _items(text: str) -> list[dict[str, Any]]:
    answer = read_json(text)
    items = answer.get("milestones") if isinstance(answer, dict) else answer
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        raise UnreadableReply(["milestones: expected a list of objects with `text` and frames"])
    return items


def _problem(text: str) -> str:
    try:
        _items(text)
    except UnreadableReply as error:
        return clean(str(error), 300)
    return ""


def _kept(items: Sequence[dict[str, Any]], shown: set[int]) -> tuple[tuple[Proposed, ...], tuple[str, ...]]:
    """The proposals that hold, in the order of the recording, and what is wrong with the others."""
    kept: list[Proposed] = []
    dropped: list[str] = []
    for number, item in enumerate(items):
        made = _read(item, shown)
        if isinstance(made, str):
            dropped.append(f"milestones[{number}]: {made}")
        elif any(made.text.casefold() == other.text.casefold() for other in kept):
            dropped.append(f"milestones[{number}]: says the same as another one")
        elif len(kept) == MOST:
            dropped.append(f"milestones[{number}]: is one too many, {MOST} are wanted at most")
        else:
            kept.append(made)
    return tuple(sorted(kept, key=lambda item: (item.last_frame, item.first_frame))), tuple(dropped[:50])


def _read(item: dict[str, Any], shown: set[int]) -> Proposed | str:
    """A proposal, or what is wrong with it."""
    said = item.get("text")
    text = clean(said, _TEXT) if isinstance(said, str) else ""
    if not text:
        return "has no text"
    cited = item.get("frames")
    try:
        first, last = read_index(item.get("first_frame")), read_index(item.get("last_frame"))
        frames = [read_index(frame) for frame in cited] if isinstance(cited, list) else []
    except ValueError as error:
        return clean(str(error), 120)
    if first is None or last is None or not frames or None in frames:
        return "names no stretch, or no frame that shows it"
    numbers = sorted({frame for frame in frames if frame is not None})
    unseen = [frame for frame in (first, last, *numbers) if frame not in shown]
    if unseen:
        return f"cites frame {unseen[0]}, which was not shown"
    if first > last:
        return f"is reached between frame {first} and the earlier frame {last}"
    return Proposed(text=text, first_frame=first, last_frame=last, frames=tuple(numbers[:_CITED]))
