"""The course of a recorded episode: its rows and forks played again, with the time that it kept and who watched it.

Time is kept by the same `Timeline` as in the episode itself, so that what is gone back to, what that costs and where
the horizon lies are what they were there. A supervisor, if there is one, is told of what was done as it was told then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from arena.repairs import executable
from arena.supervision import LEFT_STATE, REPAIR, REWIND, UNDO, Moment, Supervisor, by_arm
from arena.timeline import Timeline
from environments.env import ArenaEnv
from storage.models import Episode, Intervention, Step


class Played(NamedTuple):
    """What the world answered to a recorded step."""

    status: str
    reward: float
    illegal: str | None


class Course:
    """A recorded episode that is played again row by row: `play` each, and `fork` after those that it forked at.

    Args:
        env: its world.
        episode: what was recorded.
        supervisor: who is told of rollbacks and repairs; it is not asked.
    """

    def __init__(self, env: ArenaEnv, episode: Episode, supervisor: Supervisor | None = None) -> None:
        self._env, self._episode, self._supervisor = env, episode, supervisor
        supervision = episode.spec["supervision"] or {}
        self._supervised = bool(supervision)
        self.max_added: int | None = supervision.get("max_added_steps")
        self.time = Timeline(supervision.get("rollback", {}).get("kind", "sim"))
        self.observation: Mapping[str, Any] = {}
        self.played = Played("ok", 0.0, None)
        self._last: Mapping[str, Any] = {}
        """Notes of the row before."""

    def begin(self) -> None:
        """Put the world to where the episode began."""
        fault = self._episode.spec["fault"]
        options = {"fault": fault} if fault else None
        self.observation, _ = self._env.reset(seed=self._episode.seed, options=options)
        self.time = Timeline(self.time.rollback)
        self._last = {}

    def before(self, row: Step) -> bool:
        """Note what can be gone back to; whether the arm has handed over to the player since the row before."""
        handed_over = by_arm(self._last) and not by_arm(row.notes)
        if handed_over and self._last.get(REPAIR) and self._supervisor is not None:
            self._supervisor.repaired()
        self.time.index = row.index
        if not self._supervised:
            return handed_over
        # The way back is no way to go back by; a repair's steps are one for an arm that goes back alone.
        if not by_arm(row.notes) or (self.time.rollback == "physical" and row.notes.get(REPAIR)):
            self.time.keep(self._env)
        return handed_over

    def play(self, row: Step) -> Iterator[str]:
        """Play a row; yields what is not as recorded. `played` is what the world answered."""
        env, moves = self._env, by_arm(row.notes)
        if row.world_ms:
            env.advance(row.world_ms)
        self.played = Played(row.status, 0.0, None)
        if row.action is not None:
            act = env.override if moves else env.step
            self.observation, reward, _, _, info = act(row.action)
            self.played = Played("illegal" if info["illegal"] else "ok", float(reward), info["illegal"])
        elif row.world_ms:
            self.observation = env.observe()
        self.time.sim_step += 1
        self.time.added += bool(row.notes.get(REPAIR))
        told: dict[str, tuple[Any, Any]] = {
            "status": (row.status, self.played.status),
            "reward": (row.reward, self.played.reward),
            "score": (row.score, env.score()),
        }
        self._last = row.notes
        if self.time.retrace is not None and row.notes.get(REWIND):
            self.time.retrace.rewind.moved()
            told["end of the way back"] = row.notes.get("rewind_end"), self.time.retrace.rewind.end
            self._end_retrace()
        for name, (was, now) in told.items():
            if was != now:
                yield f"step {row.index}: {name} was {was!r} and is {now!r}"

    def moment(self, row: Step) -> Moment:
        """The present, just after a row, as its supervisor saw it."""
        return self.time.moment(row, self._env, self.observation, self._supervisor)

    def fork(self, fork: Intervention, row: Step, repair: Mapping[str, Any]) -> Iterator[str]:
        """Do after a row what was done then; yields what is not as recorded.

        Args:
            fork: what was done.
            row: the step after which it was.
            repair: of the diagnosis that asked for it.
        """
        env, timeline = self._env, self.time
        if fork.kind in ("sim", UNDO):
            yield from self._go_back(fork, row)
        elif fork.kind == REPAIR:
            timeline.branch += 1
            moves = executable(repair, env) and repair["kind"] != "reprompt"
            if self._supervisor is not None and not moves:
                self._supervisor.repaired()
        elif fork.to_step in timeline.snapshots:
            timeline.begin_retrace(env, fork.to_step, self.max_added)
            self._end_retrace()  # it may be there already
        else:
            yield _nothing_kept(fork)

    def _go_back(self, fork: Intervention, row: Step) -> Iterator[str]:
        """Put the whole world to where it was put then."""
        env, timeline = self._env, self.time
        state = env.state_hash()
        if row.notes.get(LEFT_STATE, state) != state:
            yield f"fork after step {row.index}: the state that it left was {row.notes[LEFT_STATE]!r} and is {state!r}"
        if fork.kind == UNDO:
            if timeline.left is None or timeline.left.at != fork.to_step:
                yield _nothing_kept(fork)
                return
            kept = timeline.undo().kept
        elif fork.to_step in timeline.snapshots:
            kept = timeline.go_back(env, fork.to_step)
        else:
            yield _nothing_kept(fork)
            return
        if hashlib.sha256(kept.snapshot).hexdigest() != fork.snapshot:
            yield f"fork after step {row.index}: the moment of step {fork.to_step} is not the one that was restored"
        self.observation = env.restore(kept.snapshot)
        if self._supervisor is not None and fork.kind == UNDO:
            self._supervisor.undone()
        elif self._supervisor is not None:
            self._supervisor.rolled_back(fork.to_step)

    def _end_retrace(self) -> None:
        reached = self.time.end_retrace()
        if reached is not None and self._supervisor is not None:
            self._supervisor.rolled_back(reached)


def _nothing_kept(fork: Intervention) -> str:
    return f"fork after step {fork.at_step}: nothing was kept of step {fork.to_step} to go back to"
