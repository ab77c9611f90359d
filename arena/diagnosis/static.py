"""FaultEval's static track: a diagnoser looks at a whole recording and says what went wrong; nothing is acted upon.

`rules` gets the readings alone. A model gets a clip of both cameras with the steps written in, a plot of the readings,
the instruction and the sub-tasks. Both answer in the schema of every diagnosis, and of the sub-tasks beside it. Neither
is told the truth, the policy, the seed or the stage numbers of the recording.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from agents.calls import ModelCall
from agents.errors import ProviderError, UnreadableReply
from agents.gateway import Image, Message, ModelGateway, ModelRequest
from arena.diagnosis import static_view
from arena.diagnosis.conformal import Calibration, calibrated_monitors
from arena.diagnosis.diagnoser import Case
from arena.diagnosis.monitors import Alarm, Monitor, default_monitors
from arena.diagnosis.rules import RulesDiagnoser
from arena.diagnosis.schema import Diagnosis, ShortText
from arena.diagnosis.signals import Reading
from arena.diagnosis.vlm import read_answer_as
from arena.faults.dataset import Arrays, Dataset, Episode
from arena.identity import digest
from arena.models import ModelOptions
from arena.prompting import Prompt
from environments.env import Frame

PROMPT = "static-v1"
STAGES = ("reach", "grasp", "lift", "transport", "lower", "release", "open", "close", "turn", "push", "done")
_QUOTED = 4_000
"""Characters of an unusable answer that the model is shown again."""


class Subtask(BaseModel):
    """Whether a part of the task was done."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ShortText = Field(description="its id, as listed")
    done: bool = Field(description="whether it was done at any time")


class StaticDiagnosis(Diagnosis):
    """Your diagnosis of the recorded episode."""

    subtasks: Annotated[list[Subtask], Field(max_length=40)] = []  # noqa: RUF012  pydantic copies it


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a diagnoser is given of an episode."""

    task: str
    player: str
    """Whose calibration applies; a model is not told."""
    instruction: str
    subtasks: Mapping[str, str]
    """Id -> what it means."""
    readings: Sequence[Reading]
    """All control steps, in order."""
    moments: Sequence[int] = ()
    """Of which there are pictures: the step before which each is."""
    picture: Callable[[Sequence[int]], list[list[tuple[str, Frame]]]] = field(default=lambda moments: [])
    """Moments -> for each, camera and picture."""

    @property
    def step_now(self) -> int:
        """The last step played."""
        return len(self.readings) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticOpinion:
    """What was said of a recording."""

    diagnosis: StaticDiagnosis
    noticed_step: int | None = None
    """The step at which a monitor raised the alarm; None for who has seen the whole before speaking."""
    calls: tuple[ModelCall, ...] = ()


class StaticDiagnoser(Protocol):
    """Looks at a recording and answers; it abstains where it cannot, and never raises for a failing model."""

    @property
    def name(self) -> str:
        """`rules`, or the model's name."""
        ...

    @property
    def title(self) -> str:
        """Who answers, in words: the diagnoser, its limits or its model, and the endpoint's host; never a key."""
        ...

    @property
    def wants_pictures(self) -> bool:
        """Whether it needs clips."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """Everything that changes what it says, as JSON values."""
        ...

    def diagnose(self, recording: Recording) -> StaticOpinion:
        """Say what happened."""
        ...


def readings(arrays: Arrays) -> tuple[Reading, ...]:
    """The readings of a recording, as a supervisor would have had them."""
    return tuple(
        Reading(
            step=step,
            closing=None if command[6] == 0 else bool(command[6] > 0),
            push=math.hypot(*command[:3]),
            turn=math.hypot(*command[3:6]),
            command=tuple(float(value) for value in command),
            width_m=float(arrays["gripper_width_m"][step]),
            eef_pos_m=(float(place[0]), float(place[1]), float(place[2])),
            speed_m_s=float(arrays["eef_speed_m_s"][step]),
        )
        for step, (command, place) in enumerate(zip(arrays["command"], arrays["eef_pos_m"], strict=True))
    )


def recording(dataset: Dataset, episode: Episode, subtasks: Mapping[str, str]) -> Recording:
    """What a diagnoser is given of an episode of a dataset.

    Args:
        dataset: that holds it.
        episode: one of its episodes.
        subtasks: milestone -> what it means.
    """

    def picture(moments: Sequence[int]) -> list[list[tuple[str, Frame]]]:
        indices = [episode.clip_moments.index(moment) for moment in moments]
        seen = [[(camera, frame) for frame in dataset.frames(episode, camera, indices)] for camera in episode.cameras]
        return [list(views) for views in zip(*seen, strict=True)]

    return Recording(
        task=episode.task,
        player=episode.player,
        instruction=episode.instruction,
        subtasks=subtasks,
        readings=readings(dataset.arrays(episode)),
        moments=tuple(episode.clip_moments),
        picture=picture,
    )


class StaticRules:
    """The monitors run over the readings; the first alarm that a rule makes a fault of is the answer.

    Args:
        calibrations: thresholds by player and task; others get the wide ones that hold without.
    """

    name: ClassVar[str] = "rules"
    wants_pictures: ClassVar[bool] = False

    def __init__(self, calibrations: Mapping[str, Calibration] | None = None) -> None:
        self._calibrations = dict(calibrations or {})

    @property
    def title(self) -> str:
        """`rules`, and the policies whose limits it has."""
        told = [f"{player} ({found.size})" for player, found in sorted(self._calibrations.items())]
        limits = f"with limits of {', '.join(told)}" if told else "without limits"
        return f"{self.name}, {limits}"

    def fingerprint(self) -> dict[str, Any]:
        """The rules', the monitors' and the calibrations'."""
        return {
            "static": RulesDiagnoser().fingerprint(),
            "monitors": {monitor.name: monitor.settings() for monitor in default_monitors()},
            "calibrations": {player: found.digest for player, found in sorted(self._calibrations.items())},
        }

    def diagnose(self, recording: Recording) -> StaticOpinion:
        """Run the monitors, and ask the rules at every alarm."""
        monitors, calibrated = self._monitors(recording)
        rules = RulesDiagnoser(calibrated=calibrated)
        best: tuple[StaticDiagnosis, Alarm] | None = None
        for monitor in monitors:
            monitor.reset()
        for i, reading in enumerate(recording.readings):
            for alarm in [alarm for monitor in monitors if (alarm := monitor.update(reading)) is not None]:
                case = Case(
                    task_id=recording.task,
                    instruction=recording.instruction,
                    alarm=alarm,
                    step_now=reading.step,
                    snapshots=tuple(range(reading.step + 1)),
                    readings=recording.readings[: i + 1],
                )
                said = StaticDiagnosis.model_validate(rules.diagnose(case).diagnosis.to_json())
                if said.verdict in ("fault", "unrecoverable"):
                    return StaticOpinion(diagnosis=said, noticed_step=alarm.step)
                best = best or (said, alarm) if said.verdict == "suspect" else best
        if best is not None:
            return StaticOpinion(diagnosis=best[0], noticed_step=best[1].step)
        quiet = StaticDiagnosis(step_now=recording.step_now, verdict="ok", confidence=0.5, rationale="No alarm.")
        return StaticOpinion(diagnosis=quiet)

    def _monitors(self, recording: Recording) -> tuple[Sequence[Monitor], bool]:
        found = self._calibrations.get(recording.player)
        if found is None or recording.task not in found.tasks:
            return default_monitors(), False
        return calibrated_monitors(found.tasks[recording.task], subgoals=False), True


class StaticVlm:
    """Shows a model the clip, the plot and the sub-tasks; one more call if its answer cannot be used, then it abstains.

    Args:
        gateway: the way to the model.
        options: how it is asked.
        frames: moments that it is shown at most.
    """

    wants_pictures: ClassVar[bool] = True

    def __init__(self, gateway: ModelGateway, options: ModelOptions, *, frames: int = 12) -> None:
        self._gateway, self._options, self._frames = gateway, options, frames
        self._prompt = Prompt.load("arena.diagnosis", PROMPT)
        self._schema = StaticDiagnosis.answer_schema()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._options.model

    @property
    def title(self) -> str:
        """`vlm`, the model and where it is."""
        host = urlsplit(self._options.base_url).netloc if self._options.base_url else self._options.endpoint
        return f"vlm, model {self.name} at {host}"

    def fingerprint(self) -> dict[str, Any]:
        """Model and how it is asked, prompt, schema, and how much it is shown."""
        return {
            "static": "vlm",
            "model": self._options.fingerprint(),
            "prompt": [PROMPT, self._prompt.sha256],
            "schema": digest(self._schema),
            "frames": self._frames,
        }

    def diagnose(self, recording: Recording) -> StaticOpinion:
        """Ask; a failing provider, a refusal and an answer that does not fit are three kinds of abstention."""
        calls: tuple[ModelCall, ...] = ()
        request = self._request(recording)
        snapshots, now = range(len(recording.readings)), recording.step_now
        problems: list[str] = []

        def fits(text: str) -> bool:
            try:
                read_answer_as(StaticDiagnosis, text, snapshots, now)
            except UnreadableReply:
                return False
            return True

        for turn in range(2):
            try:
                call = self._gateway.complete(request, accept=fits)
            except ProviderError as error:
                return _abstain(now, "provider", f"{type(error).__name__}: {error}", calls + error.calls)
            calls += (call,)
            if call.status == "refused":
                return _abstain(now, "declined", f"the model refused: {call.error}", calls)
            try:
                said = read_answer_as(StaticDiagnosis, call.text, snapshots, now)
            except UnreadableReply as error:
                problems = error.problems
            else:
                return StaticOpinion(diagnosis=said, calls=calls)
            if turn == 0:
                request = self._again(request, call.text, problems)
        return _abstain(now, "invalid", "; ".join(problems), calls)

    def _request(self, recording: Recording) -> ModelRequest:
        user = self._prompt.fill(
            "user",
            instruction=recording.instruction,
            step_now=str(recording.step_now),
            subtasks="\n".join(f"- `{name}`: {meaning}" for name, meaning in recording.subtasks.items()) or "- none",
        )
        system = self._prompt.system(self._schema, self._options.mode, stages=", ".join(STAGES))
        return self._options.request(
            "diagnose",
            (Message("system", (system,)), Message("user", (user, *self._pictures(recording)))),
            schema=self._schema,
            schema_name="diagnosis",
            schema_help="Your diagnosis of the recorded episode.",
        )

    def _pictures(self, recording: Recording) -> list[str | Image]:
        parts: list[str | Image] = []
        moments = static_view.spread(recording.moments, self._frames)
        for moment, views in zip(moments, recording.picture(moments), strict=True):
            parts += [f"Step {moment}:", self._options.picture(static_view.side_by_side(views, moment))]
        return [*parts, "Readings:", self._options.picture(static_view.plot(recording.readings))]

    def _again(self, request: ModelRequest, answer: str, problems: Sequence[str]) -> ModelRequest:
        said = Message("assistant", (answer[:_QUOTED] or "(nothing)",))
        listed = "\n".join(f"- {problem}" for problem in problems)
        told = Message("user", (self._prompt.fill("repair", problems=listed),))
        return replace(request, purpose="repair", messages=(*request.messages, said, told))


def _abstain(
    now: int, cause: Literal["declined", "invalid", "provider"], reason: str, calls: tuple[ModelCall, ...]
) -> StaticOpinion:
    return StaticOpinion(diagnosis=StaticDiagnosis.abstention(now, cause, reason), calls=calls)
