"""A fault as an experiment file asks for it; JSON in, JSON out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from environments.robots.faults.kinds import KINDS, Kind, KindName, Stage


class Fault(BaseModel):
    """What goes wrong and when."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    kind: KindName = "gripper-opens-mid-carry"
    severity: int = Field(default=3, ge=0, le=3)
    """0 harmless (the benign twin, N1) to 3 catastrophic; it sets `size` and `duration_steps` unless they are given."""
    stage: Stage = "transport"
    """The fault waits until this stage has lasted `after_steps` control steps in a row; by default the kind's own."""
    after_steps: int | None = Field(default=None, ge=1, le=100)
    """None: drawn from 3 to 6, seeded by the episode and `seed`; from 1 to 2 in a grasp, which is short."""
    duration_steps: int = Field(default=10, ge=1, le=10_000)
    """Control steps for which it acts; by default the kind's own at this severity."""
    size: float = Field(default=0.0, ge=0, le=1000)
    """In the kind's own unit (metres, radians, steps or newtons); by default the kind's own at this severity."""
    repeat: bool = False
    """Whether the fault comes back when execution is rolled back to before its onset."""
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _own_defaults(cls, value: Any) -> Any:
        """Fill in what the kind and the severity decide, so that a fault says all about itself."""
        if not isinstance(value, dict):
            return value
        kind = KINDS.get(value.get("kind", "gripper-opens-mid-carry"))
        severity = value.get("severity", 3)
        if kind is None or not isinstance(severity, int) or not 0 <= severity <= 3:
            return value  # refused below, by name
        own = {"stage": kind.stage, "duration_steps": kind.steps[severity], "size": kind.sizes[severity]}
        return {**own, **value}

    @property
    def about(self) -> Kind:
        """The kind's class, letter and sizes."""
        return KINDS[self.kind]

    @classmethod
    def parse(cls, value: Any) -> Fault:
        """A fault from JSON.

        Raises:
            ValueError: naming each wrong field, its value and what is expected.
        """
        if isinstance(value, Fault):
            return value
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            lines = [
                f"fault.{'.'.join(map(str, item['loc']))}: {item['msg'].lower()} (got {item['input']!r:.80})"
                for item in error.errors(include_url=False)
            ]
            raise ValueError("; ".join(lines)) from None

    @classmethod
    def parse_all(cls, value: Any) -> tuple[Fault, ...]:
        """None, one fault or several that act in one episode.

        Raises:
            ValueError: as `parse`; or more than eight, or two of one kind, which nobody could tell apart.
        """
        if value is None:
            return ()
        given = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        faults = tuple(cls.parse(item) for item in given)
        kinds = [fault.kind for fault in faults]
        if len(faults) > 8 or len(set(kinds)) < len(kinds):
            raise ValueError(f"faults: up to eight, each of another kind (got {', '.join(kinds)})")
        return faults
