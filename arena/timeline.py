"""Where the play of an episode stands, and what it can go back to: the world's states, or the arm's poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from arena.subgoals import subgoal_of
from arena.supervision import REWIND, Moment, RollbackKind, Supervisor
from environments.env import ArenaEnv
from environments.robots.repairs import Manoeuvre
from environments.robots.rewind import Rewind, Waypoint
from storage.models import Step

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv


class Kept(NamedTuple):
    """The world, or the arm, as it was before a step."""

    sim_step: int
    snapshot: bytes = b""
    state_hash: str = ""
    waypoint: Waypoint | None = None
    """For physical rollbacks, in place of the snapshot."""


class Retrace(NamedTuple):
    """A physical rollback under way."""

    to: int
    """Step index whose pose is the target."""
    indices: tuple[int, ...]
    """Of the steps whose waypoints are the path, the latest first."""
    rewind: Rewind

    @property
    def come_to(self) -> int:
        """The latest step whose waypoint lies on the way back from where the arm is now."""
        return self.indices[self.rewind.at]

    def notes(self) -> dict[str, Any]:
        """What the row of a step that was just played says of it; the last one says how the rewind ended."""
        told: dict[str, Any] = {REWIND: True, "rewind_to": self.to}
        if self.rewind.end is not None:
            metres, radians = self.rewind.off
            told |= {"rewind_end": self.rewind.end, "off_m": round(metres, 6), "off_rad": round(radians, 6)}
        return told


class Left(NamedTuple):
    """The end of a branch that was left, to come back to."""

    at: int
    """Index of its last step."""
    kept: Kept
    """The moment after that."""
    snapshots: dict[int, Kept]
    """What could be gone back to then."""


@dataclass(slots=True)
class Timeline:
    """How many steps were played, on which branch, and what can be gone back to."""

    rollback: RollbackKind = "sim"
    index: int = 0
    sim_step: int = 0
    branch: int = 0
    snapshots: dict[int, Kept] = field(default_factory=dict)
    """By step index: the state before that step, on the present branch's past."""
    added: int = 0
    """Steps that rollbacks and repairs have cost: undone ones, and those that retraced a path or repaired."""
    undone: int = 0
    """Of them, those that the world's own time no longer shows."""
    retrace: Retrace | None = None
    """While the arm is on its way back, nobody else acts."""
    manoeuvre: Manoeuvre | None = None
    """Nor while it carries out a repair."""
    repair: str = ""
    """Kind of the repair that it carries out."""
    left: Left | None = None
    """The branch that the last rollback of the whole world left."""

    def moment(self, row: Step, env: ArenaEnv, observation: Mapping[str, Any], supervisor: Supervisor | None) -> Moment:
        """The present just after a step, as whoever supervises sees it.

        Args:
            row: the step that was played last.
            env: the running episode.
            observation: what it shows now.
            supervisor: told of sub-goals and of the fault only if it declares to be.
        """
        return Moment(
            index=row.index,
            sim_step=self.sim_step - 1,
            branch=self.branch,
            action=row.action,
            telemetry=env.telemetry(),
            observation=observation,
            snapshots=tuple(self.snapshots),
            added_steps=self.added,
            notes=row.notes,
            subgoal=subgoal_of(env) if supervisor is not None and supervisor.wants_subgoals else None,
            truth=env.fault_truth() if supervisor is not None and supervisor.privileged else None,
        )

    def keep(self, env: ArenaEnv) -> None:
        """Remember the present, to go back to."""
        if self.rollback == "physical":  # the experiment has been checked: a robot behind its native space
            self.snapshots[self.index] = Kept(self.sim_step, waypoint=Waypoint.of(cast("RobotEnv", env)))
        else:
            self.snapshots[self.index] = Kept(self.sim_step, env.snapshot(), env.state_hash())

    def go_back(self, env: ArenaEnv, to: int) -> Kept:
        """Make step `to` the next one on a new branch; returns the state to restore."""
        kept = self.snapshots[to]
        now = Kept(self.sim_step, env.snapshot(), env.state_hash())
        self.left = Left(self.index, now, dict(self.snapshots))
        self._charge(self.sim_step - kept.sim_step)
        self.sim_step = kept.sim_step
        self._forget_after(to)
        self.branch += 1
        return kept

    def undo(self) -> Left:
        """Go back to where the last rollback of the whole world began; returns the branch to take up again.

        Raises:
            RuntimeError: if there was none, or it was undone already.
        """
        if self.left is None:
            raise RuntimeError("there is no rollback to be undone")
        left, self.left = self.left, None
        # What was played since counts for nothing now, and what going back had charged is part of the world again.
        self._charge(self.sim_step - left.kept.sim_step)
        self.sim_step, self.snapshots = left.kept.sim_step, dict(left.snapshots)
        self.branch += 1
        return left

    def _charge(self, steps: int) -> None:
        self.added += steps
        self.undone += steps

    @property
    def charged(self) -> int:
        """Steps on the world's own timeline, and those that were undone: what a robot would have spent."""
        return self.sim_step + self.undone

    def begin_retrace(self, env: ArenaEnv, to: int, max_added: int | None) -> None:
        """Open a new branch, on which the arm first goes back to where it was before step `to`.

        Args:
            env: the running episode.
            to: step index.
            max_added: steps that all rollbacks of the episode may cost together.
        """
        indices = tuple(sorted((index for index in self.snapshots if index >= to), reverse=True))
        path = [waypoint for index in indices if (waypoint := self.snapshots[index].waypoint) is not None]
        left = None if max_added is None else max_added - self.added
        self.retrace = Retrace(to, indices, Rewind(cast("RobotEnv", env), path, left))
        self.branch += 1

    def end_retrace(self) -> int | None:
        """If the arm is where it can get to: let the player act again. Returns the step that it has come to."""
        if self.retrace is None or self.retrace.rewind.end is None:
            return None
        retrace, self.retrace = self.retrace, None
        self.added += retrace.rewind.steps
        self._forget_after(retrace.come_to)
        return retrace.come_to

    def begin_repair(self, manoeuvre: Manoeuvre, kind: str) -> None:
        """Let the arm carry out a repair before anybody else acts."""
        self.manoeuvre, self.repair = manoeuvre, kind

    def end_repair(self) -> bool:
        """If the repair is over: let the player act again."""
        if self.manoeuvre is None or not self.manoeuvre.done:
            return False
        self.added += self.manoeuvre.steps
        self.manoeuvre, self.repair = None, ""
        return True

    def _forget_after(self, to: int) -> None:
        """What the abandoned branch saw is no longer the past of the present."""
        self.snapshots = {index: kept for index, kept in self.snapshots.items() if index <= to}
