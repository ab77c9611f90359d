"""Playing recorded episodes again: does the record lead to the result that it claims?

Whatever the clock was, a record replays under the latency model: the world is advanced by the time that it was
recorded to have passed before each action. What was diagnosed cannot be played again; it is compared with what else
the record holds of it: the call that gave the answer, and the fork that it led to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import environments
from agents.errors import UnreadableReply
from arena.diagnosis.human import is_review
from arena.diagnosis.vlm import read_answer
from arena.supervision import REPAIR, UNDO, by_arm
from environments.env import ArenaEnv
from environments.errors import EnvironmentsError
from storage.models import Call, Diagnosis, Episode, Intervention, Step
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
        differences = [*_diagnoses(store, episode), *_differences(store, episode, rows, env)]
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
            known = left if fork.kind == UNDO else snapshots
            target = known.get(fork.to_step, b"")
            if hashlib.sha256(target).hexdigest() != fork.snapshot:
                yield f"fork after step {row.index}: the moment of step {fork.to_step} is not the one that was restored"
                return
            env.restore(target)
    if _ended_in_thought(episode):
        return
    for name, was, now in (
        ("state", episode.state_hash, env.state_hash()),
        ("score", episode.score, env.score()),
        ("success", episode.success, env.success()),
    ):
        if was != now:
            yield f"end: {name} was {was!r} and is {now!r}"
    yield from _faults(store, episode, env)
    reached = {truth.milestone_id for truth in store.truths(episode.id)}
    missing = env.milestones() - reached
    if missing or (not forks and reached - env.milestones()):
        yield f"end: milestones were {sorted(reached)} and are {sorted(env.milestones())}"


def _faults(store: Store, episode: Episode, env: ArenaEnv) -> Iterator[str]:
    """Where the truth about the fault is another one than the table says."""
    truth = env.fault_truth() or {}
    for row in store.faults(episode.id):
        recorded = {
            "kind": row.kind, "fault_class": row.fault_class, "fault_type": row.fault_type,
            "first_onset_step": row.onset_step,
        }  # fmt: skip
        for name, was in recorded.items():
            if truth.get(name) != was:
                yield f"fault: {name} was {was!r} and is {truth.get(name)!r}"


def _diagnoses(store: Store, episode: Episode) -> Iterator[str]:
    """Where a diagnosis, the call that gave it and the fork that it led to do not tell the same."""
    said = {it.id: it for it in store.diagnoses(episode.id) if not is_review(it)}
    forks = {fork.diagnosis_id: fork for fork in store.interventions(episode.id)}
    calls = {call.id: call for call in store.calls(episode.id)} if any(it.call_id for it in said.values()) else {}
    for missing in forks.keys() - said.keys():
        yield f"fork after step {forks[missing].at_step}: there is no diagnosis that asked for it"
    for it in said.values():
        found = [*_columns(it), *_carried_out(it, forks.get(it.id)), *_answered(it, calls)]
        yield from (f"diagnosis after step {it.step_index}: {difference}" for difference in found)


def _columns(it: Diagnosis) -> Iterator[str]:
    """What the columns of a diagnosis say otherwise than its body."""
    told = {
        "step_now": it.step_index,
        "verdict": it.verdict,
        "fault_class": it.fault_class,
        "fault_type": it.fault_type,
    }
    for name, value in told.items():
        if it.body.get(name) != value:
            yield f"{name} is {value!r}, and {it.body.get(name)!r} in its body"


def _carried_out(it: Diagnosis, fork: Intervention | None) -> Iterator[str]:
    """What was done otherwise than a diagnosis says."""
    if fork is None:
        if it.rollback_step is not None:
            yield f"it went back to step {it.rollback_step}, and there is no such fork"
        return
    if fork.at_step != it.step_index:
        yield f"its fork is after step {fork.at_step}"
    if fork.kind == UNDO:
        return
    if it.verdict != "fault":
        yield f"{it.verdict!r} led to a fork"
    asked = it.body.get("rollback_step")
    went = None if fork.kind == REPAIR else fork.to_step
    for where, target in (("it", it.rollback_step), ("its body", it.rollback_step if asked is None else asked)):
        if target != went:
            yield f"{where} goes back to {_step_name(target)}, the fork to {_step_name(went)}"


def _step_name(step: int | None) -> str:
    return "none" if step is None else f"step {step}"


def _answered(it: Diagnosis, calls: Mapping[str, Call]) -> Iterator[str]:
    """Where a model's answer was another one than the diagnosis that rests on it."""
    if it.call_id is None or it.body.get("abstain_cause") is not None:
        return
    call = calls.get(it.call_id)
    if call is None:
        yield f"there is no call {it.call_id}"
        return
    try:
        answer = read_answer(call.text, range(it.step_index + 1), it.step_index).to_json()
    except UnreadableReply as error:
        yield f"the model's answer is none: {'; '.join(error.problems)[:200]}"
        return
    for name in ("verdict", "confidence", "fault_type", "onset_step", "rollback_step"):
        if answer[name] != it.body.get(name):
            yield f"{name} is {it.body.get(name)!r}, and {answer[name]!r} in the model's answer"
    kinds = answer["repair"]["kind"], (it.body.get("repair") or {}).get("kind")
    if kinds[0] != kinds[1]:
        yield f"its repair is {kinds[1]!r}, and {kinds[0]!r} in the model's answer"


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
