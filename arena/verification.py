"""Playing recorded episodes again: does the record lead to the result that it claims?

Whatever the clock was, a record replays under the latency model: the world is advanced by the time that it was
recorded to have passed before each action. Whoever diagnosed it is asked again, but for models, whose answers are read
again (`rediagnosis`); and what was diagnosed is compared with the call that gave it and the fork that it led to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import environments
from agents.errors import UnreadableReply
from arena.diagnosis.course import Course
from arena.diagnosis.human import is_review
from arena.diagnosis.rediagnosis import NotRediagnosable, Rediagnosis, supervisor_of
from arena.diagnosis.vlm import read_answer
from arena.supervision import LEFT_STATE, REPAIR, UNDO, by_arm
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
    unchecked: tuple[str, ...] = ()
    """What could not be compared although the rest was, and why."""

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
        return _Check(store, episode, env).run()
    finally:
        env.close()


class _Check:
    """One episode while it is played again."""

    def __init__(self, store: Store, episode: Episode, env: ArenaEnv) -> None:
        self._store, self._episode, self._env = store, episode, env
        self._rows = store.steps(episode.id)
        self._forks = {fork.at_step: fork for fork in store.interventions(episode.id)}
        self._said = [it for it in store.diagnoses(episode.id) if not is_review(it)]
        self._calls: dict[str, Call] = {}
        if any(it.call_id for it in self._said):
            self._calls = {call.id: call for call in store.calls(episode.id)}
        self._unchecked: list[str] = []

    def run(self) -> Verification:
        nobody = not self._episode.spec["supervision"]
        unasked = [f"diagnosis after step {it.step_index}: nobody watched this episode" for it in self._said if nobody]
        differences = [*unasked, *_diagnoses(self._said, self._forks.values(), self._calls), *self._differences()]
        return Verification(self._episode.id, len(self._rows), tuple(differences), unchecked=tuple(self._unchecked))

    def _again(self) -> Rediagnosis | None:
        """Its diagnoser, to be asked again; None if nobody watched, or it is not there any more."""
        if not self._episode.spec["supervision"]:
            return None
        try:
            supervisor = supervisor_of(self._store, self._episode)
        except NotRediagnosable as error:
            self._unchecked.append(f"its diagnoses were not made again: {error}")
            return None
        return Rediagnosis(supervisor, self._episode, self._env.task, self._said, self._calls)

    def _differences(self) -> Iterator[str]:
        again = self._again()
        course = Course(self._env, self._episode, None if again is None else again.supervisor)
        course.begin()
        repairs = {it.id: it.body.get("repair") or {} for it in self._said}
        found = 0
        for row in self._rows:
            fork = self._forks.get(row.index)
            course.before(row)
            wrong = list(course.play(row))
            if again is not None and not by_arm(row.notes):
                other = again.watch(row, course.moment(row), forked=fork is not None)
                if other:  # what comes after it rests on it
                    yield other
                    again = None
            if fork is not None and len(wrong) < _TOLERATED:
                self._says_what_it_left(fork, row)
                wrong += course.fork(fork, row, repairs.get(fork.diagnosis_id, {}))
            yield from wrong
            found += len(wrong)
            if found >= _TOLERATED:
                return
        yield from self._end()

    def _says_what_it_left(self, fork: Intervention, row: Step) -> None:
        """Note where a record does not say to which state undone steps have led: they lead to no other."""
        if fork.kind in ("sim", UNDO) and LEFT_STATE not in row.notes:
            told = "without the state that it left, so what was undone is compared by reward and score alone"
            self._unchecked.append(f"the fork after step {row.index} was recorded {told}")

    def _end(self) -> Iterator[str]:
        """What is not as recorded once all has been played."""
        store, episode, env = self._store, self._episode, self._env
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
        if missing or (not self._forks and reached - env.milestones()):
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


def _diagnoses(
    diagnoses: Iterable[Diagnosis], interventions: Iterable[Intervention], calls: Mapping[str, Call]
) -> Iterator[str]:
    """Where a diagnosis, the call that gave it and the fork that it led to do not tell the same."""
    said = {it.id: it for it in diagnoses}
    forks = {fork.diagnosis_id: fork for fork in interventions}
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
