"""Faults: disturbances from outside that a policy does not know of, injected at a known step.

Ground truth for diagnosis: what, when, where in the task. The taxonomy is the field notes' (class
`control`, sub-type `C5` slip or drop); more sub-types are more `Kind`s.

**Rollback.** A fault is an event of the episode, not a property of the world: once it has happened,
restoring a snapshot from before its onset does not make it happen again (whoever knocked the gripper
open does not come back because time was turned back). With `repeat=True` it does come back, and
execution after a restore is then a pure function of the snapshot. A fault that is in progress in a
snapshot continues after a restore, always. A snapshot carries the fault with its progress, so that
another process, which has seen nothing happen, plays on exactly as the first one did.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Stage = Literal["reach", "grasp", "lift", "transport", "lower", "release"]
Kind = Literal["gripper-opens-mid-carry"]

_TAXONOMY: dict[str, tuple[str, str]] = {"gripper-opens-mid-carry": ("control", "C5")}


class Fault(BaseModel):
    """What goes wrong and when; JSON in, JSON out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind = "gripper-opens-mid-carry"
    stage: Stage = "transport"
    """The fault waits until this stage has lasted `after_steps` control steps in a row."""
    after_steps: int | None = Field(default=None, ge=1, le=100)
    """None: drawn from 3 to 6, seeded by the episode and `seed`."""
    duration_steps: int = Field(default=10, ge=1, le=100)
    """Control steps during which the gripper command is forced open; a full stroke takes eight."""
    severity: int = Field(default=3, ge=0, le=3)
    """0 harmless to 3 catastrophic; a label, it does not change what happens."""
    repeat: bool = False
    """Whether the fault comes back when execution is rolled back to before its onset."""
    seed: int = Field(default=0, ge=0)

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


class Injector:
    """Applies one fault to the action stream and remembers the truth about it."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self._threshold = 0
        self._count = 0
        self._remaining = 0
        self._onset: int | None = None

    def arm(self, fault: Fault | None, seed: int) -> None:
        """Begin with `fault`, or with none, in the episode of that seed."""
        self.fault = fault
        self._count, self._remaining, self._onset = 0, 0, None
        if fault is not None:
            drawn = int(np.random.default_rng([seed, fault.seed]).integers(3, 7))
            self._threshold = fault.after_steps or drawn

    def apply(self, action: list[float], stage: str, step: int) -> list[float]:
        """The action that really reaches the robot.

        Args:
            action: seven numbers, as commanded.
            stage: the present stage of the task.
            step: number of this control step, from 0.
        """
        if self.fault is None:
            return action
        if self._onset is None:
            self._count = self._count + 1 if stage == self.fault.stage else 0
            if self._count >= self._threshold:
                self._onset, self._remaining = step, self.fault.duration_steps
        if self._remaining > 0:
            self._remaining -= 1
            return [*action[:6], -1.0]
        return action

    def truth(self) -> dict[str, Any] | None:
        """Privileged: what was injected, or None; `onset_step` is None until it has happened."""
        if self.fault is None:
            return None
        fault_class, fault_type = _TAXONOMY[self.fault.kind]
        return {
            "kind": self.fault.kind,
            "fault_class": fault_class,
            "fault_type": fault_type,
            "severity": self.fault.severity,
            "stage": self.fault.stage,
            "onset_step": self._onset,
            "active": self._remaining > 0,
        }

    def state(self) -> dict[str, Any] | None:
        """The fault and its progress, as JSON values."""
        if self.fault is None:
            return None
        progress = [self._threshold, self._count, self._remaining, self._onset]
        return {"fault": self.fault.model_dump(mode="json"), "progress": progress}

    def load(self, state: dict[str, Any] | None, same_episode: bool) -> None:
        """Go back to a state; within the same episode, what has happened stays happened.

        Args:
            state: what `state` returned.
            same_episode: whether the snapshot is of the episode that this injector is in.
        """
        happened = self._onset if same_episode and self.fault is not None and not self.fault.repeat else None
        if state is None:
            # Injected after this snapshot was taken: an injection is not undone by going back either.
            if not same_episode:
                self.fault = None
            self._count, self._remaining, self._onset = 0, 0, happened
            return
        self.fault = Fault.model_validate(state["fault"])
        self._threshold, self._count, self._remaining, self._onset = state["progress"]
        if self._onset is None and happened is not None:
            self._onset = happened
