"""A vision-language model as judge: frames in, one verdict with its evidence for each milestone out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agents.calls import ModelCall
from agents.errors import ProviderError, UnreadableReply
from agents.gateway import Image, Message, ModelGateway, ModelRequest
from arena.asking import ask, quoted
from arena.judging.answers import OBJECTS_SCHEMA, SCHEMA, read_items, read_verdict
from arena.judging.config import JudgeConfig
from arena.judging.judge import JudgeEvidence, Judgement, MilestoneVerdict, VerdictName, VideoEvidence
from arena.judging.walk import closer
from arena.prompting import Prompt
from arena.sampling import sample_frames
from arena.text import as_data, clean
from environments.task import Milestone

PROMPT = "judge-v2"


class VlmJudge:
    """Asks for all milestones at once, on frames chosen within a budget; asks once more if it cannot read the answer.

    With `refine` it walks from coarse to fine: what is open after the first look is looked at again, on frames in
    between. With `objects_first` it asks in two steps, what is in the frames, and then how that stands to the
    milestones: the form that makes repeated answers comparable (`arena.judging.trust`).

    A verdict is `invalid` if it cites a frame that was not shown, if it claims `reached` without a
    frame, or if it cannot be read; a milestone without an answer is `uncertain`.
    """

    def __init__(self, gateway: ModelGateway, config: JudgeConfig) -> None:
        if config.model is None:
            raise ValueError("config.model: expected the model's options, got None")
        self._gateway = gateway
        self._config = config
        self._options = config.model
        self._prompt = Prompt.load("arena.judging", PROMPT)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._options.model

    def fingerprint(self) -> dict[str, Any]:
        """Model and how it is asked, prompts, schema, and how frames are chosen."""
        return {
            "judge": "vlm",
            "model": self._options.fingerprint(),
            "prompt": [PROMPT, self._prompt.sha256],
            "schema": SCHEMA,
            "frames": self._config.frames,
            "sampling": self._config.sampling,
            "refine": self._config.refine,
            "objects_first": self._config.objects_first,
        }

    def judge(self, evidence: JudgeEvidence, *, repeat: int = 0) -> Judgement:
        """Look at the frames and answer; see `Judge`."""
        if not isinstance(evidence, VideoEvidence):
            raise TypeError(
                f"a judge of frames must not be given the truth: expected VideoEvidence, got {evidence!r:.60}"
            )
        milestones = evidence.task.milestones
        shown = sample_frames(evidence.n_frames, self._config.frames, self._config.sampling, evidence.frames)
        if not shown or not milestones:
            return _all(milestones, "uncertain", "the episode has no frames")
        first = self._look(evidence, milestones, shown, repeat)
        if first.n_invalid == len(milestones):  # refused or unreadable: no second look will mend it
            return first
        further = closer(first.verdicts, shown, self._config.refine)
        if not further.frames:
            return first
        again = [milestone for milestone in milestones if milestone.id in further.milestones]
        try:
            second = self._look(evidence, again, further.frames, repeat, before=first)
        except ProviderError as failure:
            failure.calls = (*first.calls, *failure.calls)
            raise
        return _merged(first, second)

    def _look(
        self,
        evidence: VideoEvidence,
        milestones: Sequence[Milestone],
        shown: Sequence[int],
        repeat: int,
        before: Judgement | None = None,
    ) -> Judgement:
        """Verdicts on some milestones after a look at some frames; `before` is what a first look gave."""
        calls = self._ask(self._request(evidence, milestones, shown, repeat, before))
        if calls[-1].status == "refused":
            return _all(milestones, "invalid", f"the model declined: {clean(calls[-1].error, 200)}", calls, shown)
        try:
            items = read_items(calls[-1].text)
        except UnreadableReply as error:
            return _all(milestones, "invalid", f"no answer could be read: {clean(str(error), 200)}", calls, shown)
        known = {milestone.id for milestone in evidence.task.milestones}
        seen = {*shown, *(before.frames if before else ())}
        return Judgement(
            verdicts=tuple(read_verdict(milestone, items, seen) for milestone in milestones),
            calls=calls,
            frames=tuple(shown),
            n_unknown=sum(item.get("id") not in known for item in items),
        )

    def _ask(self, request: ModelRequest) -> tuple[ModelCall, ...]:
        """The calls that lead to an answer: what is there, if that is asked; the question; once more if unreadable."""
        before: tuple[ModelCall, ...] = ()
        if self._config.objects_first:
            before = (self._gateway.complete(self._objects(request)),)
            if before[0].status == "refused":
                return before
            turns = (Message("assistant", (quoted(before[0].text),)), Message("user", (self._relation(),)))
            request = replace(request, messages=(*request.messages, *turns))
        try:
            return (*before, *ask(self._gateway, request, _problem, self._repair))
        except ProviderError as failure:
            failure.calls = (*before, *failure.calls)
            raise

    def _repair(self, problem: str) -> str:
        return self._prompt.fill("repair", problem=problem)

    def _objects(self, request: ModelRequest) -> ModelRequest:
        """The same pictures, and the question what is in them."""
        return replace(
            request,
            schema=OBJECTS_SCHEMA,
            schema_name="objects",
            schema_help="For each frame, the things in it that the milestones speak of.",
        )

    def _relation(self) -> str:
        return self._prompt.ask("relation", SCHEMA, self._options.mode)

    def _request(
        self,
        evidence: VideoEvidence,
        milestones: Sequence[Milestone],
        shown: Sequence[int],
        repeat: int,
        before: Judgement | None,
    ) -> ModelRequest:
        task = evidence.task
        user = self._prompt.fill(
            "user",
            title=task.title,
            goal=task.goal,
            milestones="\n".join(as_data({"id": m.id, "text": m.text}) for m in milestones),
            n_frames=str(evidence.n_frames),
            last_frame=str(evidence.n_frames - 1),
            n_shown=str(len(shown)),
        )
        if before is not None:
            user = f"{user}\n\n{self._prompt.fill('closer', verdicts=_said(before, milestones))}"
        schema = OBJECTS_SCHEMA if self._config.objects_first else SCHEMA
        if self._config.objects_first:
            user = f"{user}\n\n{self._prompt.fill('objects')}"
        return self._options.request(
            "judge",
            (
                Message("system", (self._prompt.system(schema, self._options.mode),)),
                Message("user", (user, *self._pictures(evidence, shown))),
            ),
            schema=SCHEMA,
            schema_name="verdicts",
            schema_help="One verdict for each milestone of the list.",
            repeat=repeat,
        )

    def _pictures(self, evidence: VideoEvidence, shown: Sequence[int]) -> Iterator[str | Image]:
        chosen_on = {step.frame: step for step in evidence.steps}
        for index, frame in zip(shown, evidence.frames(shown), strict=True):
            step = chosen_on.get(index)
            action = f", action {as_data(step.action)}" if step else ""
            yield f"frame {index}{action}{f' ({step.status})' if step and step.status != 'ok' else ''}:"
            yield self._options.picture(frame)


def _problem(text: str) -> str:
    """Why an answer cannot be read, or nothing."""
    try:
        read_items(text)
    except UnreadableReply as error:
        return clean(str(error), 300)
    return ""


def _said(before: Judgement, milestones: Sequence[Milestone]) -> str:
    """The verdicts of the first look on what is looked at again, one JSON value a line."""
    wanted = {milestone.id for milestone in milestones}
    return "\n".join(
        as_data({"id": v.milestone_id, "verdict": v.verdict, "frame": v.frame})
        for v in before.verdicts
        if v.milestone_id in wanted
    )


def _merged(first: Judgement, second: Judgement) -> Judgement:
    """The closer look counts where it gave an answer; where it did not, the first one stands."""
    closer_look = {v.milestone_id: v for v in second.verdicts if v.verdict in ("reached", "not_reached")}
    return Judgement(
        verdicts=tuple(closer_look.get(v.milestone_id, v) for v in first.verdicts),
        calls=(*first.calls, *second.calls),
        frames=tuple(sorted({*first.frames, *second.frames})),
        n_unknown=first.n_unknown + second.n_unknown,
    )


def _all(
    milestones: Sequence[Milestone],
    verdict: VerdictName,
    note: str,
    calls: tuple[ModelCall, ...] = (),
    shown: Sequence[int] = (),
) -> Judgement:
    """The same verdict on every milestone."""
    return Judgement(
        verdicts=tuple(MilestoneVerdict(milestone_id=m.id, verdict=verdict, note=note) for m in milestones),
        calls=calls,
        frames=tuple(shown),
    )
