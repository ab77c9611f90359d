"""A reflector whose questions differ between conditions in what the pictures show, and in nothing else.

The text part (goal, ending, the attempt's own log up to the same length) is the same in every condition, and so are the
number of pictures, their size, and their labels but for one word. What is gained over the placebo is then not the
gain of a longer question, of more pictures, or of a second chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.calls import ModelCall
from agents.errors import ProviderError, UnreadableReply
from agents.gateway import Clip, Image, Message, ModelGateway, ModelRequest
from arena.prompting import Prompt
from arena.reflection import answers, log
from arena.reflection.config import ReflectionConfig
from arena.reflection.reflector import Cause, Evidence, Reflection
from arena.text import as_data, bounded, clean

ONE_STAGE, CAUSES, LESSON = "reflect-v2", "causes-v1", "lesson-v1"


class MatchedReflector:
    """Asks a vision-language model for causes and a lesson, in one answer or in two.

    It is told what the player could have known: goal, actions, refusals, and how it ended. The engine's score and
    milestones stay out, so that no truth reaches the retry's prompt.
    """

    instrument = ""

    def __init__(self, gateway: ModelGateway, config: ReflectionConfig) -> None:
        if config.model is None or config.evidence in (None, "none"):
            raise ValueError(f"expected a model and evidence, got {config.model!r} and {config.evidence!r}")
        self._gateway = gateway
        self._config = config
        self._options = config.model
        names = (ONE_STAGE,) if config.stages == 1 else (ONE_STAGE, CAUSES, LESSON)
        self._prompts = {name: Prompt.load("arena.reflection", name) for name in names}

    @property
    def name(self) -> str:
        """The model's name."""
        return self._options.model

    def fingerprint(self) -> dict[str, Any]:
        """Model and how it is asked, prompts, schemas, and what is shown and kept."""
        config = self._config
        return {
            "reflector": "matched",
            "model": self._options.fingerprint(),
            "prompts": {name: prompt.sha256 for name, prompt in self._prompts.items()},
            "schema": answers.schema("picture"),
            "log": [log.FIRST, log.LAST],
            "max_words": config.max_words,
            "evidence": config.evidence,
            "placebo": config.placebo if config.evidence == "placebo" else None,
            "tutorial": config.demonstration,
            "stages": config.stages,
            "frames": config.frames,
            "sampling": config.sampling,
            "video": config.video,
        }

    def reflect(self, evidence: Evidence) -> Reflection:
        """Ask once, or for causes and then for the lesson; see `Reflector`."""
        return self._in_one(evidence) if self._config.stages == 1 else self._in_two(evidence)

    def _in_one(self, evidence: Evidence) -> Reflection:
        told = self._told(evidence)
        call = self._ask(ONE_STAGE, told, evidence, answers.schema("picture"))
        bad = _unusable(call, (call,))
        if bad is not None:
            return bad
        try:
            answer = answers.read_answer(call.text)
            lesson = answers.read_lesson(answer)
            causes, n_bad = answers.read_causes(answer, "picture", self._numbers(evidence))
        except UnreadableReply as error:
            return _unreadable(call, (call,), error)
        return self._lesson(lesson, (call,), causes, n_bad)

    def _in_two(self, evidence: Evidence) -> Reflection:
        told = self._told(evidence)
        first = self._ask(CAUSES, told, evidence, answers.schema("picture", lesson=False))
        bad = _unusable(first, (first,))
        if bad is not None:
            return bad
        try:
            causes, n_bad = answers.read_causes(answers.read_answer(first.text), "picture", self._numbers(evidence))
        except UnreadableReply as error:
            return _unreadable(first, (first,), error)
        named = "\n".join(as_data({"text": cause.text, "picture": cause.picture}) for cause in causes)
        try:
            second = self._ask(LESSON, told, evidence, answers.schema("picture", causes=False), named or "(none)")
        except ProviderError as error:
            error.calls = (first, *error.calls)
            raise
        calls = (first, second)
        bad = _unusable(second, calls)
        if bad is not None:
            return bad
        try:
            lesson = answers.read_lesson(answers.read_answer(second.text))
        except UnreadableReply as error:
            return _unreadable(second, calls, error)
        return self._lesson(lesson, calls, causes, n_bad)

    def _lesson(self, text: str, calls: tuple[ModelCall, ...], causes: Sequence[Cause], n_bad: int) -> Reflection:
        lesson = bounded(text, self._config.max_words)
        return Reflection(text=lesson, calls=calls, causes=tuple(causes), n_bad_citations=n_bad)

    def _numbers(self, evidence: Evidence) -> range:
        return range(1, len(evidence.pictures) + 1)

    def _ask(
        self, name: str, told: str, evidence: Evidence, schema: Mapping[str, Any], causes: str | None = None
    ) -> ModelCall:
        prompt = self._prompts[name]
        words = {} if name == CAUSES else {"max_words": str(self._config.max_words)}
        system = prompt.system(schema, self._options.mode, **words)
        filled = {} if causes is None else {"causes": causes}
        user = told if name == ONE_STAGE else prompt.fill("user", evidence=told, **filled)
        return self._gateway.complete(self._request(system, user, evidence, schema))

    def _request(self, system: str, user: str, evidence: Evidence, schema: Mapping[str, Any]) -> ModelRequest:
        return self._options.request(
            "reflect",
            (Message("system", (system,)), Message("user", (user, *self._pictures(evidence)))),
            schema=schema,
            schema_name="reflection",
            schema_help="Why the attempt failed, and the lesson for the next one.",
        )

    def _told(self, evidence: Evidence) -> str:
        """The text part: the same in every condition but for the sentence that says what the pictures are."""
        prompt, steps = self._prompts[ONE_STAGE], evidence.steps
        kind = "failure" if self._config.evidence == "placebo" else str(self._config.evidence)
        earlier = ""
        if evidence.lesson:
            earlier += prompt.fill("advice", advice=as_data(evidence.lesson)) + "\n\n"
        if evidence.tried:
            earlier += prompt.fill("tried", advice="\n".join(map(as_data, evidence.tried))) + "\n\n"
        return prompt.fill(
            "user",
            title=evidence.task.title,
            goal=evidence.task.goal,
            space=str(evidence.space),
            outcome=log.ending(evidence.episode),
            n_steps=str(len(steps)),
            elided=log.elided(steps),
            log="\n".join(log.lines(steps)),
            earlier=earlier,
            pictures=prompt.fill(kind, n=str(len(evidence.pictures))),
        )

    def _pictures(self, evidence: Evidence) -> Iterator[str | Image | Clip]:
        """Each picture after its label; as a video, all labels in its order and then the same pictures."""
        labels = [f"picture {number} ({shown.label}):" for number, shown in enumerate(evidence.pictures, 1)]
        images = [self._options.picture(shown.frame) for shown in evidence.pictures]
        if self._config.video == "native":
            yield "\n".join(labels)
            yield Clip(tuple(images))
            return
        for label, image in zip(labels, images, strict=True):
            yield label
            yield image


def _unusable(call: ModelCall, calls: tuple[ModelCall, ...]) -> Reflection | None:
    if call.status != "refused":
        return None
    return Reflection(text="", calls=calls, status="refused", problem=clean(call.error, 300))


def _unreadable(call: ModelCall, calls: tuple[ModelCall, ...], error: UnreadableReply) -> Reflection:
    cut = "the answer was cut off: " if call.status == "truncated" else ""
    return Reflection(text="", calls=calls, status="unusable", problem=cut + clean(str(error), 300))
