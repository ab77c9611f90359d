"""How an experiment asks for supervision."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agents.gateway import ModelGateway
from arena.diagnosis.rules import MARGIN_STEPS, RulesDiagnoser
from arena.diagnosis.supervisor import DiagnosingSupervisor
from arena.diagnosis.vlm import VlmDiagnoser
from arena.models import ModelOptions
from arena.supervision import RollbackKind


class DiagnosisConfig(BaseModel):
    """Who diagnoses, and how much may be done about it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    diagnoser: Literal["none", "rules", "vlm"] = "rules"
    rollback: Annotated[RollbackKind, Field(exclude_if=lambda kind: kind == "sim")] = "sim"
    """`sim`: the whole world goes back to a snapshot, an upper bound. `physical`: the arm retraces its path, the
    objects stay, and the steps count. Results of the two never share a row: their conditions need different labels."""
    max_added_steps: Annotated[int | None, Field(ge=1, le=100_000, exclude_if=lambda steps: steps is None)] = None
    """Steps that rollbacks may cost in one episode, undone or spent on retracing; None: as many as the horizon has."""
    max_interventions: Annotated[int, Field(ge=0, le=20)] = 2
    """Rollbacks in one episode at most; with 0 faults are named and nothing is done (the control condition)."""
    max_diagnoses: Annotated[int, Field(ge=1, le=100)] = 6
    """Alarms in one episode that the diagnoser is asked about."""
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    """A diagnosis less sure than this changes nothing."""
    margin_steps: Annotated[int, Field(ge=2, le=100)] = MARGIN_STEPS
    """For `rules`: steps between the rollback target and the first odd reading."""
    picture_every: Annotated[int, Field(ge=1, le=100)] = 3
    """For `vlm`: steps between the pictures that are kept for it."""
    model: ModelOptions | None = None
    """For `vlm`: the model, by name or with its options."""

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"diagnoser": value}
        if isinstance(value, dict) and isinstance(value.get("model"), str):
            value = {**value, "model": {"model": value["model"]}}
        return value

    @model_validator(mode="after")
    def _model_for_vlm_alone(self) -> Self:
        if (self.diagnoser == "vlm") != (self.model is not None):
            raise ValueError("diagnoser 'vlm' needs `model`, for example `model: qwen3-vl`; the others take none")
        return self


def build(config: DiagnosisConfig) -> DiagnosingSupervisor | None:
    """The supervisor that a configuration describes, or None for `none`. It opens no connection."""
    if config.diagnoser == "none":
        return None
    diagnoser = (
        RulesDiagnoser(config.margin_steps)
        if config.model is None
        else VlmDiagnoser(ModelGateway(config.model), config.model)
    )
    return DiagnosingSupervisor(
        diagnoser,
        max_interventions=config.max_interventions,
        max_diagnoses=config.max_diagnoses,
        min_confidence=config.min_confidence,
        picture_every=config.picture_every,
        rollback=config.rollback,
        max_added_steps=config.max_added_steps,
    )
