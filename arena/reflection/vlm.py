"""A reflector that shows a vision-language model frames of the failed attempt and of the expert's tutorial.

It is that of `reflect-and-retry` without `evidence`; `arena.reflection.matched` asks on the matched budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agents.errors import UnreadableReply
from agents.gateway import Image, Message, ModelGateway, ModelRequest
from arena.prompting import Prompt
from arena.reflection import answers, log
from arena.reflection.config import ReflectionConfig
from arena.reflection.reflector import Evidence, FrameLabels, Reflection
from arena.text import bounded, clean
from storage.models import Step

PROMPT = "reflect-v1"
SCHEMA = answers.schema("frame")


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
            "log": [log.FIRST, log.LAST],
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
            answer = answers.read_answer(call.text)
            lesson = answers.read_lesson(answer)
            causes, n_bad = answers.read_causes(answer, "frame", set(evidence.failure_indices))
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
            outcome=log.ending(evidence.episode),
            n_steps=str(len(steps)),
            elided=log.elided(steps),
            failure_log="\n".join(log.lines(steps)),
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
            seen = labels.label(index) if steps or video == "failure" else "without a log"
            yield f"{video} frame {index} ({seen}):"
            yield self._options.picture(frame)


def _tutorial_text(evidence: Evidence) -> str:
    steps = evidence.tutorial_steps
    if not steps and not evidence.tutorial_indices:
        return "There is no tutorial."
    if not steps:  # a person's own video
        return "There is a tutorial of the same task, as pictures alone."
    lines = "\n".join(log.lines(steps))
    return (
        f"An expert's tutorial of the same task on another seed, {len(steps)} steps{log.elided(steps)}:\n"
        f'<log of="tutorial">\n{lines}\n</log>'
    )
