"""The diagnosis: one schema for every diagnoser, rules and models alike.

Steps, never seconds: every step is an index in order of play, as in the `step` table. Frames of
reference are always named. What does not fit the schema is no diagnosis: it becomes an abstention
that is counted and never acted upon.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from agents.gateway.messages import plain_schema

SCHEMA_VERSION: Final = 1

Verdict = Literal["ok", "suspect", "fault", "unrecoverable", "abstain"]
FaultClass = Literal["perception", "planning", "control", "external", "none"]
FaultType = Literal[
    "P1", "P2", "P3", "P4", "P5", "P6",
    "L1", "L2", "L3", "L4", "L5",
    "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8",
    "E1",
    "N0", "N1",
]  # fmt: skip
AbstainCause = Literal["declined", "invalid", "provider"]
"""Why nothing was said: by choice, because the answer did not fit the schema, or because none came."""
RepairKind = Literal["none", "retry", "offset", "reprompt", "regrasp", "reset", "abort"]
ReferenceFrame = Literal["world", "base", "eef"]

FAULT_TYPES: tuple[str, ...] = get_args(FaultType)
CLASS_OF: dict[str, FaultClass] = {
    "P": "perception",
    "L": "planning",
    "C": "control",
    "E": "external",
    "N": "none",
}
"""First letter of a fault type -> its class."""

MAX_OFFSET_M = 0.10
"""Longest repair offset along one axis. A correction larger than this is a new plan, not a repair."""
_MAX_STEP = 1_000_000

_REPLACED = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories: controls (also U+0080 to U+009F), halves of surrogate pairs, line and paragraph separators."""


def _clean(text: str) -> str:
    """Model text as databases, terminals and pages can take it: what it shows is what it says.

    Formatting characters (category Cf: bidirectional overrides and isolates, zero-width characters, tags) are taken
    out: they can turn a line round or hide one. So are joiners: a joined emoji falls into its parts and stays readable.
    """
    return "".join(_shown(letter) for letter in text)


def _shown(letter: str) -> str:
    category = unicodedata.category(letter)
    if category == "Cf":
        return ""
    return "\N{REPLACEMENT CHARACTER}" if category in _REPLACED and letter not in "\t\n" else letter


ShortText = Annotated[str, AfterValidator(_clean), Field(max_length=120)]
LongText = Annotated[str, AfterValidator(_clean), Field(max_length=2_000)]
Step = Annotated[int, Field(ge=0, le=_MAX_STEP)]
Metres = Annotated[float, Field(ge=-2.0, le=2.0, allow_inf_nan=False)]
Offset = Annotated[float, Field(ge=-MAX_OFFSET_M, le=MAX_OFFSET_M, allow_inf_nan=False)]
Radians = Annotated[float, Field(ge=-6.3, le=6.3, allow_inf_nan=False)]

# Lists of fixed length rather than tuples: several providers refuse `prefixItems` in a schema.
Vector = Annotated[list[Metres], Field(min_length=3, max_length=3)]
Rotation = Annotated[list[Radians], Field(min_length=3, max_length=3)]
OffsetVector = Annotated[list[Offset], Field(min_length=3, max_length=3)]
Interval = Annotated[list[Step], Field(min_length=2, max_length=2)]

_Strict = ConfigDict(extra="forbid", frozen=True)


class Deviation(BaseModel):
    """How far, and in which frame, the robot or an object is from where it should be."""

    model_config = _Strict

    frame: ReferenceFrame = Field(description="frame of reference of the vectors")
    dxyz_m: Vector = Field(description="translation in metres: where it is minus where it should be")
    drot_rad: Rotation = Field(default=[0.0, 0.0, 0.0], description="rotation as axis times angle, radians")
    sigma: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = Field(
        default=None, description="one standard deviation of the translation, metres"
    )


class Repair(BaseModel):
    """What to do after the rollback."""

    model_config = _Strict

    kind: RepairKind = Field(
        default="none", description="retry: play on from the rollback step; abort: give the episode up"
    )
    frame: ReferenceFrame = Field(default="world", description="frame of reference of the offset")
    offset_m: OffsetVector | None = Field(default=None, description="for `offset`: shift of the next target, metres")
    reprompt: LongText = Field(default="", description="for `reprompt`: the instruction to give instead")
    apply_steps: Annotated[int, Field(ge=0, le=100)] = Field(default=0, description="for `offset`: over how many steps")
    # What the arena decides itself; not in the schema that a model is given, and not said where it is 0.
    vary: SkipJsonSchema[Annotated[int, Field(ge=0, le=100)]] = Field(default=0, exclude_if=lambda number: number == 0)
    """In which way the policy is to act then (`Agent.vary`): 0 the usual one, others where that was tried before."""

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if (self.kind == "offset") != (self.offset_m is not None):
            raise ValueError("repair.offset_m belongs to kind 'offset', which needs it")
        if self.kind == "offset" and self.apply_steps == 0:
            raise ValueError("repair.apply_steps must be at least 1 for kind 'offset'")
        if (self.kind == "reprompt") != bool(self.reprompt.strip()):
            raise ValueError("repair.reprompt belongs to kind 'reprompt', which needs it")
        return self


class Evidence(BaseModel):
    """What the diagnosis rests on: a picture or a reading, by step."""

    model_config = _Strict

    camera: ShortText = Field(description="name of the camera, or `proprioception`")
    step: Step
    note: Annotated[str, AfterValidator(_clean), Field(max_length=500)]


class Diagnosis(BaseModel):
    """Your diagnosis of the running episode."""

    model_config = _Strict

    schema_version: Literal[1] = SCHEMA_VERSION
    step_now: Step = Field(description="index of the last step played")
    verdict: Verdict = Field(
        description="ok: all is well; suspect: something is odd, do nothing yet; fault: something went wrong and "
        "going back would mend it; unrecoverable: it would not; abstain: cannot tell"
    )
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        description="probability in 0..1 that the verdict is right"
    )
    fault_class: FaultClass = "none"
    fault_type: FaultType = Field(
        default="N0", description="first letter: P perception, L planning, C control, E external, N none"
    )
    severity: Annotated[int, Field(ge=0, le=3)] = Field(
        default=0, description="0 none, 1 redundant motion, 2 the sub-task fails, 3 the task fails"
    )
    stage: ShortText = Field(default="", description="stage of the task in which it happened")
    onset_step: Step | None = Field(default=None, description="first step at which it went wrong")
    onset_interval: Interval | None = Field(default=None, description="first and last step at which that may have been")
    rollback_step: Step | None = Field(
        default=None, description="one of the listed snapshot steps, not after onset_step"
    )
    entity: ShortText = Field(default="", description="object or part of the robot concerned")
    deviation: Deviation | None = None
    repair: Repair = Repair()
    evidence: Annotated[list[Evidence], Field(max_length=12)] = []
    rationale: LongText = Field(default="", description="why, in a few sentences")
    abstain_reason: LongText = Field(default="", description="for `abstain`: why you cannot tell")
    abstain_cause: AbstainCause | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        problems = _contradictions(self)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @classmethod
    def abstention(cls, step_now: int, cause: AbstainCause, reason: str) -> Self:
        """An answer that says nothing and changes nothing; `cause` keeps the kinds apart when they are counted."""
        text = _clean(reason).strip() or "no reason given"
        return cls(
            step_now=step_now, verdict="abstain", confidence=0.0, abstain_reason=text[:2_000], abstain_cause=cause
        )

    @classmethod
    def answer_schema(cls) -> dict[str, Any]:
        """The JSON schema that a model is given: without the fields that the arena fills in itself."""
        schema = plain_schema(cls.model_json_schema())
        for name in ("schema_version", "step_now", "abstain_cause"):
            del schema["properties"][name]
        schema["required"] = [name for name in schema["required"] if name in schema["properties"]]
        return schema

    def to_json(self) -> dict[str, Any]:
        """As JSON values, the form that is stored."""
        return self.model_dump(mode="json")


def _contradictions(it: Diagnosis) -> list[str]:
    """What cannot be true together, whatever the episode."""
    problems = []
    expected = CLASS_OF[it.fault_type[0]]
    if it.fault_class != expected:
        problems.append(f"fault_type {it.fault_type} is of class {expected!r}, not {it.fault_class!r}")
    faulty = it.verdict in ("fault", "unrecoverable")
    if faulty and it.fault_class == "none":
        problems.append(f"verdict {it.verdict!r} needs a fault_class and a fault_type")
    if it.verdict in ("ok", "abstain") and it.fault_class != "none":
        problems.append(f"verdict {it.verdict!r} goes with fault_class 'none'")
    if it.verdict == "fault" and it.onset_step is None:
        problems.append("verdict 'fault' needs an onset_step")
    if it.rollback_step is not None:
        if it.verdict != "fault":
            problems.append(f"verdict {it.verdict!r} has no rollback_step: only a fault is rolled back")
        elif it.onset_step is not None and it.rollback_step > it.onset_step:
            problems.append(f"rollback_step {it.rollback_step} is after onset_step {it.onset_step}")
    if it.onset_interval is not None:
        first, last = it.onset_interval
        if first > last:
            problems.append(f"onset_interval [{first}, {last}] ends before it begins")
        elif it.onset_step is None or not first <= it.onset_step <= last:
            problems.append(f"onset_step {it.onset_step} is outside onset_interval [{first}, {last}]")
    if it.verdict in ("ok", "abstain") and it.repair.kind != "none":
        problems.append(f"verdict {it.verdict!r} needs no repair, got {it.repair.kind!r}")
    if (it.verdict == "abstain") != bool(it.abstain_reason.strip()):
        problems.append("abstain_reason belongs to verdict 'abstain', which needs it")
    if it.abstain_cause is not None and it.verdict != "abstain":
        problems.append("abstain_cause belongs to verdict 'abstain'")
    return problems


def validate_against(diagnosis: Diagnosis, snapshots: Sequence[int], step_now: int) -> list[str]:
    """What is wrong with a diagnosis in this very episode; an empty list if nothing is.

    Args:
        diagnosis: the answer.
        snapshots: step indices that can be gone back to.
        step_now: index of the last step played.
    """
    problems = []
    if diagnosis.step_now != step_now:
        problems.append(f"step_now: expected {step_now}, got {diagnosis.step_now}")
    onset = diagnosis.onset_step
    if onset is not None and onset > step_now:
        problems.append(f"onset_step {onset} is in the future: step_now is {step_now}")
    if diagnosis.onset_interval is not None and diagnosis.onset_interval[1] > step_now:
        problems.append(f"onset_interval ends at {diagnosis.onset_interval[1]}, after step_now {step_now}")
    target = diagnosis.rollback_step
    if target is not None and target not in snapshots:
        near = min(snapshots, key=lambda step: abs(step - target), default=None)
        hint = "there are no snapshots" if near is None else f"the nearest is {near}"
        problems.append(f"rollback_step {target} is not one of the snapshots; {hint}")
    problems += [
        f"evidence[{i}].step {item.step} is in the future: step_now is {step_now}"
        for i, item in enumerate(diagnosis.evidence)
        if item.step > step_now
    ]
    return problems
