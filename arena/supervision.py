"""What the engine asks of a supervisor that watches a running episode and may roll it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.calls import ModelCall
from environments.task import Task

RollbackKind = Literal["sim", "physical"]
"""How time is taken back: the whole world goes back to a snapshot, or the arm alone retraces its path."""
REWIND = "rewind"
"""Key in the notes of a step that retraces the path: it was no decision of the player."""
REPAIR = "repair"
"""Key in the notes of a step of a repair, whose kind is the value: it was no decision of the player either."""
LEFT_STATE = "left_state"
"""Key in the notes of the last step before the whole world goes back: SHA-256 of the state that was left."""
UNDO = "undo"
"""Kind of an intervention that takes back an earlier one: the world is as it was when that one began."""


def by_arm(notes: Mapping[str, Any]) -> bool:
    """Whether a step with these notes was the arm's on its way back or in a repair, and no decision of the player."""
    return bool(notes.get(REWIND) or notes.get(REPAIR))


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The present of a supervised episode, just after a step: what a real supervisor could know."""

    index: int
    """Index of the step just played (order of play, grows through rollbacks)."""
    sim_step: int
    """Its place on the world's own timeline."""
    branch: int
    action: Any
    telemetry: Mapping[str, Any]
    """The robot's own sensors (`env.telemetry()`); no privileged state."""
    observation: Mapping[str, Any]
    """Pictures are rendered only if the supervisor looks."""
    snapshots: tuple[int, ...]
    """Indices of the steps of this timeline before which a snapshot (or, for a physical rollback, the arm's pose) was
    kept: valid rollback targets."""
    added_steps: int = 0
    """Steps that rollbacks and repairs have cost so far: undone ones, and those that retraced a path or repaired."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """The player's own record of its decision."""
    own: bool = True
    """Whether the player decided on the step; a repair's steps are only to be taken note of."""
    subgoal: str | None = None
    """What the engine's sub-goal predicates say, for a supervisor that declares `wants_subgoals`; else None."""
    truth: Mapping[str, Any] | None = None
    """The injected fault, for an instrument that declares `privileged`; None for every diagnoser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """What a supervisor said about a moment, and what it wants done."""

    trigger: str
    """The monitor that raised it."""
    diagnoser: str
    body: Mapping[str, Any]
    """The validated diagnosis, as JSON (see arena/diagnosis/schema.py)."""
    rollback_to: int | None = None
    """Step index whose beginning is to be restored, or whose pose the arm is to go back to; None leaves the episode
    where it is."""
    act: bool = False
    """Carry out the diagnosis' `repair` without going back; after a rollback it is carried out anyway."""
    undo: bool = False
    """Take back the last intervention instead: it made things worse."""
    calls: tuple[ModelCall, ...] = field(default=())

    @property
    def acts(self) -> bool:
        """Whether it changes the episode."""
        return self.undo or self.act or self.rollback_to is not None


class Supervisor(Protocol):
    """Watches, diagnoses, decides. It never touches the environment itself: the engine does."""

    @property
    def wants_subgoals(self) -> bool:
        """Whether the engine is to tell it of the sub-goal predicates: more than a robot's own sensors know."""
        ...

    @property
    def privileged(self) -> bool:
        """Whether it is told the truth about the fault. Such a supervisor is an instrument, not a diagnoser."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """Everything that changes what it does; part of the episode's identity."""
        ...

    def begin(self, task: Task, instruction: str, seed: int = 0) -> None:
        """An episode begins; `seed` is for whatever chance it has."""
        ...

    def watch(self, moment: Moment) -> Directive | None:
        """Called after every step; None, the usual answer, says nothing and costs nothing."""
        ...

    def recall(self, moment: Moment) -> None:
        """Like `watch` for a step from before an interruption: take note, ask nobody, say nothing."""
        ...

    def rolled_back(self, to: int) -> None:
        """The engine carried out a rollback: forget what was seen from step `to` on.

        After a physical one `to` is where the arm has come to, which is later than was asked if it was blocked.
        """
        ...

    def repaired(self) -> None:
        """The engine carried out a repair, which moved the arm: what the hand does from now on is a new beginning."""
        ...

    def undone(self) -> None:
        """The engine took back the last rollback: the branch that it left is the past again."""
        ...
