"""What is done around the attempts of a trial: the conditions that an experiment file may list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from arena.diagnosis import DiagnosisConfig
from arena.reflection import PRESETS, ReflectionConfig
from environments.robots.faults import Fault

_OneLine = Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")

Label = Annotated[str, _OneLine, Field(max_length=120)]
"""What the table calls a player: one line of text, without control characters, as long as the database keeps."""

HELD_OUT = " (held-out)"
"""What the label of a condition ends in where its lessons are tried on seeds that nobody learned on."""

ConditionLabel = Annotated[str, _OneLine, Field(max_length=60 - len(HELD_OUT))]
"""What the table calls a condition; the database keeps 60 characters, those of `HELD_OUT` included."""


class Condition(BaseModel):
    """What is done around the attempts: nothing, reflection and a retry, or supervision and rollback."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal[
        "single",
        "plain-retry",
        "text-log",
        "failure-video",
        "tutorial-video",
        "failure+tutorial",
        "other-model",
        "placebo",
        "reflect-and-retry",
        "diagnose-and-rollback",
    ]
    label: ConditionLabel
    rounds: Annotated[int, Field(ge=1, le=10)] = 1
    """For conditions that retry: retries at most; a success stops them."""
    heldout: Annotated[int, Field(ge=0, le=100, exclude_if=lambda value: not value)] = 0
    """For conditions with lessons: held-out seeds on which each trial's best lesson is tried too."""
    reflection: ReflectionConfig = ReflectionConfig()
    diagnosis: DiagnosisConfig = Field(default_factory=DiagnosisConfig)
    fault: Fault | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"name": value}
        if isinstance(value, dict) and "name" in value:
            value = {"label": _default_label(value), **value}
            if isinstance(value.get("fault"), str):
                value["fault"] = {"kind": value["fault"]}
            if isinstance(value["name"], str) and value["name"] in PRESETS:
                value["reflection"] = _preset(value["name"], value.get("reflection"))
        return value

    @model_validator(mode="after")
    def _takes_what_it_uses(self) -> Condition:
        unused = {name for names in _OF_CONDITION.values() for name in names} - _OF_CONDITION.get(self.name, set())
        given = sorted(self.model_fields_set & unused)
        if given:
            raise ValueError(f"condition {self.name!r} takes no {', '.join(given)}")
        if self.name == "other-model" and self.reflection.writer is None:
            raise ValueError("condition 'other-model' needs who writes: `reflection: {writer: MODEL}`")
        if self.heldout and self.reflection.evidence == "none":
            raise ValueError("`heldout` tries lessons, and evidence 'none' has none")
        if self.label.endswith(HELD_OUT):
            raise ValueError(f"label {self.label!r} ends like those of held-out seeds; choose another")
        return self

    @property
    def retries(self) -> bool:
        """Whether it tries again after a failure."""
        return self.name == "reflect-and-retry" or self.name in PRESETS

    @property
    def held_out_label(self) -> str:
        """What the table calls its lessons on held-out seeds."""
        return self.label + HELD_OUT


_OF_CONDITION = {
    **{name: {"rounds", "reflection", "heldout"} for name in ("reflect-and-retry", *PRESETS)},
    "plain-retry": {"rounds", "reflection"},
    "diagnose-and-rollback": {"diagnosis"},
}
"""Fields that mean something for one kind of condition alone."""


def _default_label(given: Mapping[str, Any]) -> Any:
    """The name, and which kind of rollback it is if it is not the usual one: the table never mixes the two."""
    diagnosis = given.get("diagnosis")
    physical = isinstance(diagnosis, Mapping) and diagnosis.get("rollback") == "physical"
    return f"{given['name']} (physical)" if physical else given["name"]


def _preset(name: str, given: Any) -> Any:
    """What a named condition says of its reflection, with what the file says beside it.

    Raises:
        ValueError: if the file says otherwise than the name.
    """
    if given is None:
        given = {}
    if isinstance(given, str):
        given = {"reflector": given}
    if not isinstance(given, Mapping):
        return given  # refused as no mapping, with its place
    preset = PRESETS[name]
    if name == "plain-retry" and given:
        raise ValueError("condition 'plain-retry' takes no reflection: it tries again without a lesson")
    if given.get("evidence", preset["evidence"]) != preset["evidence"]:
        raise ValueError(
            f"condition {name!r} is evidence {preset['evidence']!r}; for {given['evidence']!r} name it otherwise, "
            "or 'reflect-and-retry'"
        )
    return {"reflector": "vlm" if "model" in given else "player", **preset, **given}
