"""How an experiment asks for judging, and the judge that comes of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from arena.models import ModelOptions
from arena.sampling import Strategy


class JudgeConfig(BaseModel):
    """Who judges the milestones, and on what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge: Literal["engine", "vlm"] = "engine"
    frames: Annotated[int, Field(ge=2, le=128)] = 12
    """For `vlm`: frames shown of one episode."""
    sampling: Strategy = "uniform"
    """For `vlm`: how they are chosen."""
    refine: Annotated[int, Field(ge=0, le=128)] = 0
    """For `vlm`: frames of a second look at what the first left open, between the frames shown before; 0 for none."""
    repeats: Annotated[int, Field(ge=1, le=20)] = 1
    """For `vlm`: how often it is asked. Repeats tell how often it flips, and how far its answers can be trusted; they
    need a temperature above 0, or a provider whose answers vary at 0."""
    objects_first: bool = False
    """For `vlm`: ask in two steps, what is in the frames, and then how that stands to the milestones."""
    model: ModelOptions | None = None
    """For `vlm`: the model, by name or with its options."""

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"judge": value}
        if isinstance(value, dict) and isinstance(value.get("model"), str):
            value = {**value, "model": {"model": value["model"]}}
        return value

    @model_validator(mode="after")
    def _model_for_vlm_alone(self) -> Self:
        if (self.judge == "vlm") != (self.model is not None):
            raise ValueError("judge 'vlm' needs `model`, for example `model: qwen3-vl`; 'engine' takes none")
        if self.judge == "engine" and (self.refine or self.repeats > 1 or self.objects_first):
            raise ValueError("judge 'engine' knows; it takes no `refine`, `repeats` or `objects_first`")
        return self
