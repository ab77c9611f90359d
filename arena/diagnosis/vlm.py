"""The diagnoser that shows a vision-language model keyframes and readings, and holds it to the schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from pydantic import ValidationError

from agents.calls import ModelCall
from agents.errors import ProviderError, UnreadableReply
from agents.gateway import Image, Message, ModelGateway, ModelRequest
from agents.parsing import read_json
from arena.diagnosis import keyframes
from arena.diagnosis.diagnoser import Case, Opinion
from arena.diagnosis.monitors import Alarm
from arena.diagnosis.schema import MAX_OFFSET_M, SCHEMA_VERSION, Diagnosis, validate_against
from arena.identity import digest
from arena.models import ModelOptions
from arena.prompting import Prompt
from environments.robots.repairs import LIFT_M
from storage.models import Call

PROMPT = "diagnose-v2"
_GOING_BACK = {
    "sim": "the whole world is put back to that moment, the objects as well as the arm.",
    "physical": "the arm retraces the path that it came by, and the steps count. The objects stay where they are now.",
}
"""What a rollback does, in words, by its kind."""
_QUOTED = 4_000
"""Characters of an unusable answer that the model is shown again."""


class VlmDiagnoser:
    """One call at an alarm or a look, and one more if its answer cannot be used; then it abstains.

    A failing provider must neither end the episode nor count as an opinion: it gives an abstention of
    cause `provider`, with the failed call. Answers that do not fit give one of cause `invalid`.
    """

    wants_pictures: ClassVar[bool] = True

    def __init__(self, gateway: ModelGateway, options: ModelOptions) -> None:
        self._gateway = gateway
        self._options = options
        self._prompt = Prompt.load("arena.diagnosis", PROMPT)
        self._schema = Diagnosis.answer_schema()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._options.model

    def fingerprint(self) -> dict[str, Any]:
        """Model and how it is asked, prompt, and schema."""
        return {
            "diagnoser": "vlm",
            "model": self._options.fingerprint(),
            "prompt": [PROMPT, self._prompt.sha256],
            "schema": digest(self._schema),
        }

    def diagnose(self, case: Case) -> Opinion:
        """Ask; see the class for what happens if that fails."""
        calls: tuple[ModelCall, ...] = ()
        request = self._request(case)
        problems: list[str] = []
        for turn in range(2):
            try:
                call = self._gateway.complete(request, accept=lambda text: _fits(text, case))
            except ProviderError as error:
                reason = f"{type(error).__name__}: {error}"
                return _abstain(case, "provider", reason, calls + error.calls)
            calls += (call,)
            try:
                return Opinion(diagnosis=heard(call, case.snapshots, case.step_now), calls=calls)
            except UnreadableReply as error:
                problems = error.problems
            if turn == 0:
                request = self._again(request, call.text, problems)
        return _abstain(case, "invalid", "; ".join(problems), calls)

    def _request(self, case: Case) -> ModelRequest:
        user = self._prompt.fill(
            "user",
            instruction=case.instruction,
            why=self._why(case.alarm),
            step_now=str(case.step_now),
            earlier=", ".join(case.earlier) or "none",
            snapshots=keyframes.ranges(case.snapshots),
            table=keyframes.table(case.readings, case.alarm.onset),
        )
        system = self._prompt.system(
            self._schema,
            self._options.mode,
            rollback=_GOING_BACK[case.rollback],
            lift=f"{LIFT_M:.2f}",
            offset=f"{MAX_OFFSET_M:.2f}",
        )
        return self._options.request(
            "diagnose",
            (Message("system", (system,)), Message("user", (user, *self._pictures(case)))),
            schema=self._schema,
            schema_name="diagnosis",
            schema_help="Your diagnosis of the running episode.",
        )

    def _why(self, alarm: Alarm) -> str:
        """The reason for the question: an alarm, or none."""
        if alarm.look:
            return self._prompt.fill("look", note=alarm.note, onset=str(alarm.onset))
        return self._prompt.fill(
            "alarm", monitor=alarm.monitor, alarm_step=str(alarm.step), note=alarm.note, onset=str(alarm.onset)
        )

    def _pictures(self, case: Case) -> Iterator[str | Image]:
        event = "the beginning of the stage" if case.alarm.look else "the onset"
        chosen = keyframes.choose(sorted(case.pictures), case.alarm.onset, case.step_now, event)
        for step, what in chosen.items():
            for camera, frame in case.pictures[step].items():
                yield f"Step {step} ({what}), camera {camera}:"
                yield self._options.picture(keyframes.labelled(frame, f"step {step}  {camera}"))

    def _again(self, request: ModelRequest, answer: str, problems: Sequence[str]) -> ModelRequest:
        """The same question, the unusable answer, and what is wrong with it."""
        said = Message("assistant", (answer[:_QUOTED] or "(nothing)",))
        listed = "\n".join(f"- {problem}" for problem in problems)
        told = Message("user", (self._prompt.fill("repair", problems=listed),))
        return replace(request, purpose="repair", messages=(*request.messages, said, told))


Form = TypeVar("Form", bound=Diagnosis)


def read_answer_as(form: type[Form], text: str, snapshots: Sequence[int], step_now: int) -> Form:
    """The diagnosis in a model's answer, checked against the schema and the episode.

    Args:
        form: the schema: `Diagnosis`, or one that asks for more.
        text: the answer (hostile); an object, or an object that holds it under one key.
        snapshots: step indices that can be gone back to.
        step_now: index of the last step played.

    Raises:
        UnreadableReply: with one line per fault.
    """
    value = read_json(text)
    if isinstance(value, dict) and len(value) == 1:
        (inner,) = value.values()
        value = inner if isinstance(inner, dict) else value
    if not isinstance(value, dict):
        raise UnreadableReply(["expected one JSON object, got an array"])
    # What the arena knows itself is not for the model to say.
    value = {**value, "schema_version": SCHEMA_VERSION, "step_now": step_now}
    value["abstain_cause"] = "declined" if value.get("verdict") == "abstain" else None
    try:
        diagnosis = form.model_validate(value)
    except ValidationError as error:
        raise UnreadableReply([_explain(item) for item in error.errors(include_url=False)[:12]]) from None
    problems = validate_against(diagnosis, snapshots, step_now)
    if problems:
        raise UnreadableReply(problems)
    return diagnosis


def read_answer(text: str, snapshots: Sequence[int], step_now: int) -> Diagnosis:
    """`read_answer_as` for the plain diagnosis.

    Raises:
        UnreadableReply: with one line per fault.
    """
    return read_answer_as(Diagnosis, text, snapshots, step_now)


def heard(call: ModelCall | Call, snapshots: Sequence[int], step_now: int) -> Diagnosis:
    """What a model's call says: its answer, or that it declined to give one. See `read_answer`.

    Raises:
        UnreadableReply: with one line per fault.
    """
    if call.status == "refused":
        return Diagnosis.abstention(step_now, "declined", f"the model refused: {call.error}")
    return read_answer(call.text, snapshots, step_now)


def _fits(text: str, case: Case) -> bool:
    try:
        read_answer(text, case.snapshots, case.step_now)
    except UnreadableReply:
        return False
    return True


def _explain(item: Any) -> str:
    where = ".".join(str(part)[:40] for part in item["loc"])
    message = item["msg"].removeprefix("Value error, ")
    if not where:  # a contradiction between fields: the message names them
        return str(message)
    return f"{where}: {message} (got {repr(item.get('input'))[:80]})"


def _abstain(case: Case, cause: Any, reason: str, calls: tuple[ModelCall, ...]) -> Opinion:
    return Opinion(diagnosis=Diagnosis.abstention(case.step_now, cause, reason), calls=calls)
