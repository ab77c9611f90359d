"""How an experiment asks for reflection, and which frames are shown."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from arena.models import ModelOptions
from arena.sampling import FrameReader, Strategy, sample_frames


class ReflectionConfig(BaseModel):
    """Who reflects, and on what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reflector: Literal["rules", "vlm"] = "rules"
    frames: Annotated[int, Field(ge=4, le=64)] = 8
    """Pictures in one reflection, failure and tutorial together: the same budget with and without a tutorial."""
    sampling: Strategy = "tail"
    """How the failed attempt's frames are chosen; the tutorial's are always uniform."""
    tutorial: bool | Annotated[str, Field(pattern=r"^e\d+-[0-9a-f]{24}-\d+$")] = True
    """Whether the expert's tutorial is shown; or the id of a won episode that is shown in its place, such as a
    person's."""
    max_words: Annotated[int, Field(ge=20, le=1000)] = 200
    model: ModelOptions | None = None
    """For `vlm`: the model, by name or with its options."""

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"reflector": value}
        if isinstance(value, dict) and isinstance(value.get("model"), str):
            value = {**value, "model": {"model": value["model"]}}
        return value

    @model_validator(mode="after")
    def _model_for_vlm_alone(self) -> Self:
        if (self.reflector == "vlm") != (self.model is not None):
            raise ValueError("reflector 'vlm' needs `model`, for example `model: qwen3-vl`; 'rules' takes none")
        return self


def choose_frames(
    config: ReflectionConfig, n_failure: int, n_tutorial: int, failure_video: FrameReader | None = None
) -> tuple[list[int], list[int]]:
    """The frames that a reflection is to be shown; none for `rules`, which reads no pictures.

    The budget is one for both videos, half each; what one video is too short to use goes to the other.

    Args:
        config: whose reflection.
        n_failure: frames in the failed attempt's video.
        n_tutorial: frames in the tutorial's video; 0 if there is none.
        failure_video: reads frames of the failed attempt; needed for `sampling: change` alone.

    Returns:
        Indices into the failed attempt's video, and into the tutorial's.
    """
    if config.reflector == "rules":
        return [], []
    n_tutorial = n_tutorial if config.tutorial else 0
    for_tutorial = min(n_tutorial, max(config.frames // 2, config.frames - n_failure))
    for_failure = config.frames - for_tutorial
    failure = sample_frames(n_failure, for_failure, config.sampling, failure_video)
    return failure, sample_frames(n_tutorial, for_tutorial, "uniform") if for_tutorial else []
