"""How an experiment asks for reflection: who reflects, on what evidence, and in what form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agents.gateway import GatewaySettings
from arena.models import ModelOptions
from arena.sampling import FrameReader, RecordStrategy, sample_frames

EvidenceKind = Literal["none", "log", "failure", "tutorial", "both", "placebo"]
"""What the pictures of a reflection show. The text part, the player's own log, is the same for all of them."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "plain-retry": {"evidence": "none"},
    "text-log": {"evidence": "log"},
    "failure-video": {"evidence": "failure"},
    "tutorial-video": {"evidence": "tutorial"},
    "failure+tutorial": {"evidence": "both"},
    "other-model": {"evidence": "both"},
    "placebo": {"evidence": "placebo"},
}
"""The named conditions that retry, each as what it says of its reflection."""

_KINDS: Mapping[str, str] = {preset["evidence"]: name for name, preset in PRESETS.items() if name != "other-model"}
_TAKES_NO_VIDEO = ("https://api.openai.com/v1", "litellm:openai")
"""Endpoints that are known to refuse a video; others say so when they are asked."""
_SHORTEST_ANSWER = 2048
"""Tokens that a player's own model may at least answer with when it reflects: its turns are shorter than lessons."""


def _absent(value: Any) -> bool:
    """Fields that came later are left out where they say nothing: the run keeps its id."""
    return value in (None, 1, "shuffled", "frames")


class ReflectionConfig(BaseModel):
    """Who reflects, and on what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reflector: Literal["rules", "vlm", "player"] = "rules"
    """`player`: the player's own model, and `rules` for a player that has none."""
    frames: Annotated[int, Field(ge=4, le=64)] = 8
    """Pictures in one reflection, failure and tutorial together: the same budget with and without a tutorial."""
    sampling: RecordStrategy = "tail"
    """How the failed attempt's frames are chosen; the tutorial's are always uniform."""
    tutorial: bool | Annotated[str, Field(pattern=r"^(e\d+-[0-9a-f]{24}-\d+|t-[0-9a-f]{24})$")] = True
    """Whether the expert's tutorial is shown; or what is shown in its place: the id of a won episode, such as a
    person's, or of a video that was added by `arena tutorial add`."""
    max_words: Annotated[int, Field(ge=20, le=1000)] = 200
    evidence: EvidenceKind | None = Field(default=None, exclude_if=_absent)
    """What the pictures show, on the matched budget. None is the older form of `reflect-and-retry`: failure and
    tutorial with both their logs, and as many pictures as there are, up to `frames`."""
    stages: Annotated[Literal[1, 2], Field(exclude_if=_absent)] = 1
    """1: causes and lesson in one answer; 2: first the causes, then the lesson, with the pictures shown twice."""
    placebo: Annotated[Literal["shuffled", "other-game"], Field(exclude_if=_absent)] = "shuffled"
    """For `evidence: placebo`: the attempt's own frames in a wrong order, or frames of another game."""
    video: Annotated[Literal["frames", "native"], Field(exclude_if=_absent)] = "frames"
    """How the pictures are sent: one by one, or as one video of one picture a second, where the provider takes it."""
    writer: ModelOptions | Literal["rules"] | None = Field(default=None, exclude_if=_absent)
    """Who writes the lessons in the player's place: another model than the player's."""
    model: ModelOptions | None = None
    """For `vlm`: the model, by name or with its options."""

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"reflector": value}
        if isinstance(value, dict):
            value = dict(value)
            for name in ("model", "writer"):
                if isinstance(value.get(name), str) and (name, value[name]) != ("writer", "rules"):
                    value[name] = {"model": value[name]}
        return value

    @model_validator(mode="after")
    def _model_for_vlm_alone(self) -> Self:
        if (self.reflector == "vlm") != (self.model is not None):
            raise ValueError("reflector 'vlm' needs `model`, for example `model: qwen3-vl`; 'rules' takes none")
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.evidence is None:
            later = ("placebo", "stages", "video", "writer")
            given = [name for name in later if not _absent(getattr(self, name))]
            if given or self.reflector == "player":
                what = ", ".join(given) or "reflector 'player'"
                raise ValueError(f"{what} needs `evidence`: {', '.join(_KINDS)}")
        if self.evidence in ("tutorial", "both") and self.tutorial is False:
            raise ValueError(f"evidence {self.evidence!r} shows a tutorial: `tutorial` must be true or an id")
        if self.writer is not None and self.reflector != "player":
            raise ValueError("`writer` writes in the player's place: leave `reflector` and `model` out")
        models = [model for model in (self.model, self.writer) if isinstance(model, ModelOptions)]
        if self.video == "native" and any(model.endpoint in _TAKES_NO_VIDEO for model in models):
            raise ValueError("video 'native': OpenAI's own endpoint takes no video; set `video: frames`")
        if self.writer is not None and self.evidence == "none":
            raise ValueError("evidence 'none' has no lesson, and so no `writer`")
        return self

    @property
    def kind(self) -> str:
        """The kind of lesson, by the name of its condition."""
        if self.writer is not None:
            return "other-model"
        if self.evidence is None:
            return "failure+tutorial" if self.tutorial else "failure-video"
        return _KINDS[self.evidence]

    @property
    def demonstration(self) -> bool | str:
        """What is looked at beside the attempt: the expert's tutorial (true), one by its id, or nothing (false)."""
        return self.tutorial if self.evidence in (None, "tutorial", "both") else False

    @property
    def other_game(self) -> bool:
        """Whether frames of another game are shown."""
        return self.evidence == "placebo" and self.placebo == "other-game"

    def of(self, player: str, options: Mapping[str, Any]) -> ReflectionConfig:
        """The same with `player` and `writer` put into what they come to: rules, or a model.

        Args:
            player: The player's name, as in `agents`.
            options: The player's options.
        """
        if self.reflector != "player":
            return self
        if self.writer is not None:
            model = None if self.writer == "rules" else self.writer
        else:
            model = own_model(options) if player == "vlm" else None
        found = {"reflector": "rules" if model is None else "vlm", "model": model}
        return self.model_copy(update=found)


def own_model(options: Mapping[str, Any]) -> ModelOptions | None:
    """The model of a `vlm` player, as it reflects; None if its options name none."""
    if "model" not in options:
        return None
    shared = {*GatewaySettings.model_fields, "temperature", "seed", "mode", "timeout_s"}
    given = {name: value for name, value in options.items() if name in shared}
    given["max_tokens"] = max(_SHORTEST_ANSWER, options.get("max_tokens") or 0)
    if options.get("image_size"):
        given["longest_side"] = max(64, options["image_size"])
    return ModelOptions.model_validate(given)


def choose_frames(
    config: ReflectionConfig, n_failure: int, n_tutorial: int, failure_video: FrameReader | None = None
) -> tuple[list[int], list[int]]:
    """The frames that a reflection of the older form is shown; none for `rules`, which reads no pictures.

    The budget is one for both videos, half each; what one video is too short to use goes to the other.
    `arena.reflection.pictures` chooses those of the matched budget.

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
