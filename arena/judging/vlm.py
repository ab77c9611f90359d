"""A vision-language model as judge: frames in, one verdict with its evidence for each milestone out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agents.calls import ModelCall
from agents.errors import ProviderError, UnreadableReply
from agents.gateway import Image, Message, ModelGateway, ModelRequest
from agents.parsing import read_json
from arena.judging.config import JudgeConfig
from arena.judging.judge import JudgeEvidence, Judgement, MilestoneVerdict, VerdictName, VideoEvidence
from arena.prompting import Prompt
from arena.sampling import sample_frames
from arena.text import as_data, clean, read_index
from environments.task import Milestone

PROMPT = "judge-v1"
_QUOTED = 4000  # characters of an unreadable answer that the model is shown again
_NOTE = 500
_ANSWERS: tuple[VerdictName, ...] = ("reached", "not_reached", "uncertain")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "milestones": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "verdict": {"type": "string", "enum": list(_ANSWERS)},
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


class VlmJudge:
    """Asks for all milestones at once, on frames chosen within a budget; asks once more if it cannot read the answer.

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
        }

    def judge(self, evidence: JudgeEvidence, *, repeat: int = 0) -> Judgement:
        """Look at the frames and answer; see `Judge`.

        Args:
            evidence: the recording, without the truth.
            repeat: numbers repeated judgements, so that a cache keeps them apart.
        """
        if not isinstance(evidence, VideoEvidence):
            raise TypeError(
                f"a judge of frames must not be given the truth: expected VideoEvidence, got {evidence!r:.60}"
            )
        milestones = evidence.task.milestones
        shown = sample_frames(evidence.n_frames, self._config.frames, self._config.sampling, evidence.frames)
        if not shown or not milestones:
            return _all(milestones, "uncertain", "the episode has no frames")
        calls = self._ask(self._request(evidence, shown, repeat))
        if calls[-1].status == "refused":
            return _all(milestones, "invalid", f"the model declined: {clean(calls[-1].error, 200)}", calls, shown)
        try:
            items = _items(calls[-1].text)
        except UnreadableReply as error:
            return _all(milestones, "invalid", f"no answer could be read: {clean(str(error), 200)}", calls, shown)
        known = {milestone.id for milestone in milestones}
        return Judgement(
            verdicts=tuple(_verdict(milestone, items, set(shown)) for milestone in milestones),
            calls=calls,
            frames=tuple(shown),
            n_unknown=sum(item.get("id") not in known for item in items),
        )

    def _ask(self, request: ModelRequest) -> tuple[ModelCall, ...]:
        """The call, and a second one if its answer cannot be read."""
        first = self._gateway.complete(request, accept=_readable)
        if first.status == "refused":
            return (first,)
        try:
            _items(first.text)
        except UnreadableReply as error:
            repair = self._prompt.fill("repair", problem=clean(str(error), 300))
            said = first.text[:_QUOTED].strip() or "(no text)"
            turns = (Message("assistant", (said,)), Message("user", (repair,)))
            try:
                second = self._gateway.complete(
                    replace(request, messages=(*request.messages, *turns)), accept=_readable
                )
            except ProviderError as failure:
                failure.calls = (first, *failure.calls)
                raise
            return first, second
        return (first,)

    def _request(self, evidence: VideoEvidence, shown: Sequence[int], repeat: int) -> ModelRequest:
        task = evidence.task
        system = self._prompt.system(SCHEMA, self._options.mode)
        user = self._prompt.fill(
            "user",
            title=task.title,
            goal=task.goal,
            milestones="\n".join(as_data({"id": m.id, "text": m.text}) for m in task.milestones),
            n_frames=str(evidence.n_frames),
            last_frame=str(evidence.n_frames - 1),
            n_shown=str(len(shown)),
        )
        return self._options.request(
            "judge",
            (Message("system", (system,)), Message("user", (user, *self._pictures(evidence, shown)))),
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


def _readable(text: str) -> bool:
    """Whether an answer can be read: only such ones are worth keeping in a cache."""
    try:
        _items(text)
    except UnreadableReply:
        return False
    return True


def _items(text: str) -> list[dict[str, Any]]:
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


def _verdict(milestone: Milestone, items: Sequence[dict[str, Any]], shown: set[int]) -> MilestoneVerdict:
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
    elif said not in _ANSWERS:
        problem = f"verdict {clean(repr(said), 60)} is none of {', '.join(_ANSWERS)}"
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
    if problem or said not in _ANSWERS:
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
