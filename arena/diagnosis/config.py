"""How an experiment asks for supervision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agents.gateway import ModelGateway
from arena.diagnosis.baselines import (
    MonitorsOnly,
    OracleDetection,
    OracleEverything,
    Periodic,
    PlantedDiagnoser,
    RandomDiagnoser,
    RandomTrigger,
    Restart,
    TruthTrigger,
)
from arena.diagnosis.conformal import Calibration, calibrated_monitors
from arena.diagnosis.diagnoser import Diagnoser
from arena.diagnosis.human import HumanDiagnoser, PersonStops
from arena.diagnosis.insistent import InsistentVlm
from arena.diagnosis.monitors import Monitor
from arena.diagnosis.rules import MARGIN_STEPS, RulesDiagnoser
from arena.diagnosis.schema import Diagnosis
from arena.diagnosis.supervisor import DiagnosingSupervisor, MonitorsOf
from arena.diagnosis.vlm import VlmDiagnoser
from arena.models import ModelOptions
from arena.supervision import RollbackKind

DiagnoserName = Literal[
    "none", "rules", "vlm", "monitors-only", "restart", "random-trigger", "oracle-detection", "oracle-everything",
    "planted", "human",
]  # fmt: skip
INSTRUMENTS = frozenset({"random-trigger", "oracle-detection", "oracle-everything", "planted"})
"""Diagnosers that are no contestants: they go by chance, or by the truth."""
_PRIVILEGED = frozenset({"oracle-detection", "oracle-everything", "planted"})


def _rate(**options: Any) -> Any:
    """A field of one diagnoser, which is not said where it is not given."""
    return Field(exclude_if=lambda value: value is None, **options)


class DiagnosisConfig(BaseModel):
    """Who diagnoses, and how much may be done about it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    diagnoser: DiagnoserName = "rules"
    rollback: Annotated[RollbackKind, Field(exclude_if=lambda kind: kind == "sim")] = "sim"
    """`sim`: the whole world goes back to a snapshot, an upper bound. `physical`: the arm retraces its path, the
    objects stay, and the steps count. Results of the two never share a row: their conditions need different labels."""
    horizon: Annotated[Literal["world", "charged"], Field(exclude_if=lambda kind: kind == "world")] = "world"
    """What the horizon counts: steps of the world's own time, or `charged` also those that a rollback has undone, which
    a robot would have spent."""
    max_added_steps: Annotated[int | None, Field(ge=1, le=100_000, exclude_if=lambda steps: steps is None)] = None
    """Steps that rollbacks may cost in one episode, undone or spent on retracing; None: as many as the horizon has."""
    max_interventions: Annotated[int, Field(ge=0, le=20)] = 2
    """Rollbacks in one episode at most; with 0 faults are named and nothing is done (the control condition)."""
    max_diagnoses: Annotated[int, Field(ge=1, le=100)] = 6
    """Alarms in one episode that the diagnoser is asked about."""
    stages: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    """For `vlm`: ask also when a new stage begins (the gripper is told something else), without any alarm. Such looks
    take at most half of `max_diagnoses`, and nothing of what alarms may need."""
    vary: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    """From the second try at the same place on, have the policy act otherwise: other noise, or another number of steps
    of each chunk. The same state and the same policy would fail in the same way."""
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    """A diagnosis less sure than this changes nothing."""
    margin_steps: Annotated[int, Field(ge=2, le=100)] = MARGIN_STEPS
    """For `rules`: steps between the rollback target and the first odd reading."""
    picture_every: Annotated[int, Field(ge=1, le=100)] = 3
    """For `vlm`: steps between the pictures that are kept for it."""
    calibration: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    """A file of `arena diagnose calibrate`: the monitors' limits, learned from the policy's clean episodes. Without one
    there are the two monitors that need no learning."""
    subgoals: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    """Watch the engine's sub-goal predicates too: more than a robot's own sensors know."""
    rate: Annotated[float | None, _rate(ge=0, le=20)] = None
    """For `random-trigger`: alarms expected in an episode."""
    spread_steps: Annotated[int | None, _rate(ge=1, le=100_000)] = None
    """For `random-trigger`: control steps over which they are spread."""
    detection: Annotated[float | None, _rate(ge=0, le=1)] = None
    """For `planted`: probability of a claim at each look once something is wrong."""
    false_alarm: Annotated[float | None, _rate(ge=0, le=1)] = None
    """For `planted`: probability of a claim at each look while nothing is."""
    every: Annotated[int | None, _rate(ge=1, le=1000)] = None
    """For `planted`: steps between two looks."""
    opinion: Annotated[Diagnosis | None, _rate()] = None
    """For `human`: what a person said of the same episode left alone; `step_now` is where they stopped it."""
    model: ModelOptions | None = None
    """For `vlm`: the model, by name or with its options."""
    unanswered: Annotated[Literal["abstain", "stop"], Field(exclude_if=lambda value: value == "abstain")] = "abstain"
    """For `vlm`, where its provider fails: go on as if it had abstained, or `stop`: the episode ends without a score
    and is played again at the next start."""

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"diagnoser": value}
        if isinstance(value, dict) and isinstance(value.get("model"), str):
            value = {**value, "model": {"model": value["model"]}}
        return value

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if (self.diagnoser == "vlm") != (self.model is not None):
            raise ValueError("diagnoser 'vlm' needs `model`, for example `model: qwen3-vl`; the others take none")
        for name, fields in _NEEDS.items():
            given = [field for field in fields if getattr(self, field) is not None]
            if self.diagnoser == name and len(given) < len(fields):
                raise ValueError(f"diagnoser {name!r} needs {', '.join(fields)}")
            if self.diagnoser != name and given:
                raise ValueError(f"{', '.join(given)}: for diagnoser {name!r} alone")
        if self.stages and self.diagnoser != "vlm":
            raise ValueError("stages: for diagnoser 'vlm' alone; the others go by alarms")
        if self.subgoals and self.calibration is None:
            raise ValueError("subgoals: which ones follow which is learned; give a `calibration`")
        return self


_NEEDS = {
    "random-trigger": ("rate", "spread_steps"), "planted": ("detection", "false_alarm", "every"), "human": ("opinion",),
}  # fmt: skip


def build(config: DiagnosisConfig) -> DiagnosingSupervisor | None:
    """The supervisor that a configuration describes, or None for `none`. It opens no connection.

    Raises:
        NoCalibration: if its calibration file cannot be used.
    """
    if config.diagnoser == "none":
        return None
    found = Calibration.load(config.calibration) if config.calibration is not None else None
    return DiagnosingSupervisor(
        _diagnoser(config),
        _monitors(config, found),
        max_interventions=config.max_interventions,
        max_diagnoses=config.max_diagnoses,
        stages=config.stages,
        vary=config.vary,
        min_confidence=config.min_confidence,
        picture_every=config.picture_every,
        rollback=config.rollback,
        max_added_steps=config.max_added_steps,
        wants_subgoals=config.subgoals,
        privileged=config.diagnoser in _PRIVILEGED,
        undo=config.diagnoser not in INSTRUMENTS,
        calibration=found.digest if found is not None and config.diagnoser not in INSTRUMENTS else None,
        horizon=config.horizon,
    )


def _diagnoser(config: DiagnosisConfig) -> Diagnoser:
    if config.model is not None:
        ask = InsistentVlm if config.unanswered == "stop" else VlmDiagnoser
        return ask(ModelGateway(config.model), config.model)
    if config.opinion is not None:
        return HumanDiagnoser(config.opinion)
    if config.diagnoser == "planted":
        return PlantedDiagnoser(config.detection or 0.0, config.false_alarm or 0.0)
    plain: dict[str, Callable[[], Diagnoser]] = {
        "monitors-only": MonitorsOnly,
        "restart": Restart,
        "random-trigger": RandomDiagnoser,
        "oracle-detection": OracleDetection,
        "oracle-everything": OracleEverything,
    }
    make = plain.get(config.diagnoser)
    return make() if make else RulesDiagnoser(config.margin_steps, calibrated=config.calibration is not None)


def _monitors(config: DiagnosisConfig, found: Calibration | None) -> Sequence[Monitor] | MonitorsOf | None:
    """What raises its alarms; None for the monitors that need no calibration."""
    if config.diagnoser == "random-trigger":
        return (RandomTrigger(config.rate or 0.0, config.spread_steps or 1),)
    if config.opinion is not None:
        return (PersonStops(config.opinion.step_now),)
    if config.diagnoser == "planted":
        return (Periodic(config.every or 1),)
    if config.diagnoser in _PRIVILEGED:
        return (TruthTrigger(),)
    if found is None:
        return None

    def of(task_id: str) -> Sequence[Monitor]:
        learned = found.tasks.get(task_id)
        # A task that was not calibrated has no limit that keeps the promise: nothing is ever raised in it.
        return () if learned is None else calibrated_monitors(learned, subgoals=config.subgoals)

    return of
