"""The diagnoser of a recorded episode asked again while the record is played again: does it say the same?

What needs no model is made anew: monitors, rules, chance, oracles, and what a person had said. A model is not asked
again: its recorded answers are read again, and what monitors and supervisor made of them is made anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.errors import UnreadableReply
from arena.diagnosis.config import DiagnosisConfig, build
from arena.diagnosis.diagnoser import Case, Diagnoser, Opinion
from arena.diagnosis.schema import Diagnosis
from arena.diagnosis.supervisor import DiagnosingSupervisor
from arena.diagnosis.vlm import heard
from arena.errors import ArenaError
from arena.identity import canonical, derived_seed, identity
from arena.outcomes import Outcome
from arena.supervision import Directive, Moment
from environments.task import Task
from storage import models
from storage.models import Call, Episode, Step
from storage.store import Store

_FIRST = ("verdict", "fault_class", "fault_type", "onset_step", "rollback_step", "repair")
"""Fields of a diagnosis whose difference is told before that of the others."""


class NotRediagnosable(ArenaError):
    """What diagnosed a recorded episode is not there any more, or is another one now."""


def supervisor_of(store: Store, episode: Episode) -> DiagnosingSupervisor:
    """The supervisor that watched a recorded episode, as the run that planned it describes it.

    Raises:
        NotRediagnosable: if no run says what it was, its calibration file cannot be used, or it is another one now.
    """
    was = episode.spec["supervision"]
    reason = "no run in this database says what diagnosed it"
    for config in _configs(store, episode):
        try:
            found = build(config)
        except ArenaError as error:
            reason = str(error).partition("\n")[0]
            continue
        now = {} if found is None else found.fingerprint()
        if found is not None and canonical(now) == canonical(was):
            return found
        name = next(name for name in sorted({*was, *now}) if was.get(name) != now.get(name))
        reason = f"what diagnosed it is another one now: {name} was {_short(was.get(name))}, is {_short(now.get(name))}"
    raise NotRediagnosable(reason)


def _configs(store: Store, episode: Episode) -> Iterator[DiagnosisConfig]:
    """What the runs that planned an episode ask for under its conditions, each once."""
    seen: set[str] = set()
    for link in store.links(episode.identity):
        for block in store.run(link.run_id).experiment["blocks"]:
            for condition in block["conditions"]:
                said = canonical(condition.get("diagnosis"))
                if condition["label"] == link.condition and said not in seen:
                    seen.add(said)
                    yield DiagnosisConfig.model_validate(condition["diagnosis"])


class Rediagnosis:
    """A supervisor that watches an episode again, and is compared with what is recorded of it.

    Args:
        supervisor: the one that watched it (`supervisor_of`).
        episode: what was recorded.
        task: its task.
        said: its diagnoses, without what people said of it later.
        calls: its model calls, by id.
    """

    def __init__(
        self,
        supervisor: DiagnosingSupervisor,
        episode: Episode,
        task: Task,
        said: Sequence[models.Diagnosis],
        calls: Mapping[str, Call],
    ) -> None:
        self._said = {it.step_index: it for it in said}
        self._outcome = Outcome(str(episode.outcome))
        self._last = episode.n_steps - 1
        self.supervisor = supervisor
        if "model" in supervisor.diagnoser.fingerprint():
            supervisor.diagnoser = _Recorded(supervisor.diagnoser, self._said, calls)
        supervisor.begin(task, task.goal, derived_seed(identity(episode.spec), "supervisor"))

    def watch(self, row: Step, moment: Moment, *, forked: bool) -> str:
        """What is said of a step now and was not said then, or the reverse; empty if nothing.

        Args:
            row: the step, which the player decided on.
            moment: the present after it.
            forked: whether something was done there.
        """
        it = self._said.get(row.index)
        if row.index == self._last and not forked and not self._asked_last(it):
            return "" if it is None else f"diagnosis after step {row.index}: the episode was over, nobody was asked"
        now = self.supervisor.watch(moment)
        where = f"diagnosis after step {row.index}"
        if now is None:
            return "" if it is None else f"{where}: made again, nothing is said there"
        if it is None:
            return f"{where}: none is recorded; made again, {now.trigger!r} leads to {now.body['verdict']!r}"
        was, is_ = _told(it.trigger, it.diagnoser, it.body, it.rollback_step), _told_by(now)
        for name in (*is_, *(was.keys() - is_.keys())):
            if was.get(name) != is_.get(name):
                return f"{where}: made again, {name} was {_short(was.get(name))} and is {_short(is_.get(name))}"
        if now.acts != forked:
            return f"{where}: made again, {'something' if now.acts else 'nothing'} is done there"
        return ""

    def _asked_last(self, it: models.Diagnosis | None) -> bool:
        """Whether anybody was asked after the last step: not if that ended the episode.

        Whether a provider that failed was the diagnoser's is not known: then it is what the record says.
        """
        if self._outcome.scored:
            return False
        return it is not None or self._outcome not in (Outcome.PROVIDER_ERROR, Outcome.LIMIT)


class _Recorded:
    """A model's diagnoser that says again what its model answered then."""

    wants_pictures = False

    def __init__(self, asked: Diagnoser, said: Mapping[int, models.Diagnosis], calls: Mapping[str, Call]) -> None:
        self._asked, self._said, self._calls = asked, said, calls

    @property
    def name(self) -> str:
        """The model's name."""
        return self._asked.name

    def fingerprint(self) -> dict[str, Any]:
        """That of the diagnoser which was asked."""
        return self._asked.fingerprint()

    def diagnose(self, case: Case) -> Opinion:
        """What the recorded call comes to here; the record's word that a provider failed is taken."""
        now = case.step_now
        it = self._said.get(now)
        failed = it is not None and it.body.get("abstain_cause") == "provider"
        call = None if it is None or it.call_id is None else self._calls.get(it.call_id)
        problems = ["there is no call that gave an answer"]
        if call is not None:
            try:
                return Opinion(diagnosis=heard(call, case.snapshots, now))
            except UnreadableReply as error:
                problems = error.problems
        reason = str(it.body.get("abstain_reason")) if it is not None and failed else "; ".join(problems)
        return Opinion(diagnosis=Diagnosis.abstention(now, "provider" if failed else "invalid", reason))


def _told_by(now: Directive) -> dict[str, Any]:
    return _told(now.trigger, now.diagnoser, now.body, now.rollback_to)


def _told(trigger: str, diagnoser: str, body: Mapping[str, Any], to: int | None) -> dict[str, Any]:
    """What was said, part by part, in the order in which differences are told."""
    found: dict[str, Any] = {"trigger": trigger, "diagnoser": diagnoser}
    for name in (*_FIRST, *body):
        value = body.get(name)
        found |= (
            {f"{name}.{part}": inner for part, inner in value.items()} if isinstance(value, dict) else {name: value}
        )
    return {**found, "the step that it goes back to": to}


def _short(value: Any) -> str:
    return f"{value!r:.80}"
