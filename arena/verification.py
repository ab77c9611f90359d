"""Playing recorded episodes again: does the record lead to the result that it claims?

Whatever the clock was, a record replays under the latency model: the world is advanced by the time that it was
recorded to have passed before each action.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import environments
from arena.supervision import UNDO, by_arm
from environments.env import ArenaEnv
from environments.errors import EnvironmentsError
from storage.models import Episode, Step
from storage.store import Store

_TOLERATED = 5
"""Differences after which an episode is not looked at any further: one leads to the next."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of playing one episode again."""

    episode: str
    steps: int
    """Steps that were played again."""
    differences: tuple[str, ...] = ()
    """What is not as recorded, in order; none means that the record holds."""
    skipped: str = ""
    """Why it was not played again at all, or empty."""

    @property
    def holds(self) -> bool:
        """Whether everything was played again and nothing differs."""
        return not self.differences and not self.skipped


def verify(store: Store, episode: Episode) -> Verification:
    """Play an episode again from its rows and compare status, reward and score of every step, and the final state.

    Args:
        store: Where it was recorded.
        episode: A finished episode; others are skipped with the reason.
    """
    if episode.status == "running":
        return Verification(episode.id, 0, skipped="it is not finished")
    if episode.state_hash is None:
        return Verification(episode.id, 0, skipped=f"it ended as {episode.outcome}, without a final state")
    try:
        env = environments.make(episode.task_id, episode.space)
    except EnvironmentsError as error:
        return Verification(episode.id, 0, skipped=str(error))
    if not env.reversible:
        env.close()
        return Verification(episode.id, 0, skipped="its world is a program that does not repeat itself")
    try:
        rows = store.steps(episode.id)
        differences = list(_differences(store, episode, rows, env))
    finally:
        env.close()
    return Verification(episode.id, len(rows), tuple(differences))


def _differences(store: Store, episode: Episode, rows: list[Step], env: ArenaEnv) -> Iterator[str]:
    fault = episode.spec["fault"]
    env.reset(seed=episode.seed, options={"fault": fault} if fault else None)
    forks = {fork.at_step: fork for fork in store.interventions(episode.id) if fork.kind in ("sim", UNDO)}
    snapshots: dict[int, bytes] = {}
    left: dict[int, bytes] = {}
    found = 0
    for row in rows:
        if forks:
            snapshots[row.index] = env.snapshot()
        replayed = _step(env, row)
        recorded = {"status": row.status, "reward": row.reward, "score": row.score}
        wrong = {name: value for name, value in recorded.items() if replayed[name] != value}
        for name, value in wrong.items():
            yield f"step {row.index}: {name} was {value!r} and is {replayed[name]!r}"
        found += len(wrong)
        if found >= _TOLERATED:
            return
        fork = forks.get(row.index)
        if fork is not None:
            left[row.index] = env.snapshot()  # the end of a branch may be come back to
            env.restore((left if fork.kind == UNDO else snapshots)[fork.to_step])
    if _ended_in_thought(episode):
        return
    for name, was, now in (
        ("state", episode.state_hash, env.state_hash()),
        ("score", episode.score, env.score()),
        ("success", episode.success, env.success()),
    ):
        if was != now:
            yield f"end: {name} was {was!r} and is {now!r}"
    reached = {truth.milestone_id for truth in store.truths(episode.id)}
    missing = env.milestones() - reached
    if missing or (not forks and reached - env.milestones()):
        yield f"end: milestones were {sorted(reached)} and are {sorted(env.milestones())}"


def _ended_in_thought(episode: Episode) -> bool:
    """Whether the player failed while a world in real time ran on, by a time that belongs to no step."""
    return episode.spec["clock"]["kind"] == "real-time" and episode.outcome in ("provider_error", "limit")


def _step(env: ArenaEnv, row: Step) -> dict[str, Any]:
    """Play one recorded step; what a row would say of it now."""
    if row.world_ms:
        env.advance(row.world_ms)
    told: dict[str, Any] = {"status": row.status, "reward": 0.0}
    if row.action is not None:
        _, reward, _, _, info = env.override(row.action) if by_arm(row.notes) else env.step(row.action)
        told = {"status": "illegal" if info["illegal"] else "ok", "reward": float(reward)}
    return {**told, "score": env.score()}
