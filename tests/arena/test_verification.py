"""A diagnosed record holds as it was written, and not where a diagnosis, its answer or its fork was altered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

import agents
import environments
from agents.calls import ModelCall
from arena import plan
from arena.diagnosis import Diagnosis
from arena.experiment import AgentEntry
from arena.play import Play
from arena.recorder import Recorder
from arena.supervision import Directive, Moment
from arena.verification import Verification, verify
from environments import registry
from environments.task import Task
from storage.models import Call, Episode, Intervention
from storage.models import Diagnosis as Row
from storage.store import Store
from tests.fakes.policy_world import TASK as ARM

AT, TO = 8, 3
ANSWER = {
    "verdict": "fault", "confidence": 0.9, "fault_class": "control", "fault_type": "C6", "onset_step": 6,
    "rollback_step": TO, "repair": {"kind": "retry"},
}  # fmt: skip


class Asked:
    """A supervisor whose model says `ANSWER` after step `AT`, and is obeyed."""

    wants_subgoals = privileged = False

    def fingerprint(self) -> dict[str, Any]:
        return {"asked": ANSWER}

    def begin(self, task: Task, instruction: str, seed: int = 0) -> None: ...

    def watch(self, moment: Moment) -> Directive | None:
        if moment.index != AT:
            return None
        call = ModelCall(purpose="diagnose", model="m", request={}, text=json.dumps(ANSWER))
        body = Diagnosis.model_validate({**ANSWER, "step_now": AT}).to_json()
        return Directive(trigger="alarm", diagnoser="m", body=body, rollback_to=TO, calls=(call,))

    def recall(self, moment: Moment) -> None: ...

    def rolled_back(self, to: int) -> None: ...

    def repaired(self) -> None: ...

    def undone(self) -> None: ...


@pytest.fixture
def diagnosed(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Episode:
    monkeypatch.setattr(registry, "_tasks", {**registry._tasks, ARM.id: ARM})
    attempt = plan.single(ARM.id, "native", AgentEntry.model_validate("random"), 1, limits={"max_steps": 40})
    attempt.spec["supervision"] = Asked().fingerprint()
    env, agent = environments.make(ARM.id, "native"), agents.create("random", {})
    with Recorder(store, attempt, 0, tmp_path) as recorder:
        Play(attempt, env, agent, recorder, Asked()).run()
    env.close()
    return store.episode(f"{attempt.identity}-0")


def test_an_honest_record_holds(store: Store, diagnosed: Episode) -> None:
    assert len(store.interventions(diagnosed.id)) == 1
    told = "its diagnoses were not made again: no run in this database says what diagnosed it"
    assert verify(store, diagnosed) == Verification(diagnosed.id, diagnosed.n_steps, unchecked=(told,))


def body(**changes: Any) -> Any:
    return update(Row).values(body={**Diagnosis.model_validate({**ANSWER, "step_now": AT}).to_json(), **changes})


@pytest.mark.parametrize(
    ("altered", "told"),
    [
        (lambda: update(Row).values(verdict="ok"), "verdict is 'ok', and 'fault' in its body"),
        (lambda: body(onset_step=2), "onset_step is 2, and 6 in the model's answer"),
        (lambda: body(confidence=0.5), "confidence is 0.5, and 0.9 in the model's answer"),
        (lambda: body(repair={"kind": "regrasp"}), "its repair is 'regrasp', and 'retry' in the model's answer"),
        (lambda: update(Call).values(text="no"), "the model's answer is none: the reply holds no JSON object"),
        (lambda: update(Row).values(call_id="gone"), "there is no call gone"),
        (lambda: update(Row).values(rollback_step=TO + 1), "it goes back to step 4, the fork to step 3"),
        (lambda: update(Intervention).values(to_step=10**6), "it goes back to step 3, the fork to step 1000000"),
        (lambda: update(Intervention).values(at_step=AT - 1), "its fork is after step 7"),
        (lambda: delete(Intervention), "it went back to step 3, and there is no such fork"),
    ],
)
def test_a_diagnosis_that_was_altered_is_told(
    store: Store, diagnosed: Episode, altered: Callable[[], Any], told: str
) -> None:
    with store.session() as session:
        session.execute(altered())
    assert f"diagnosis after step {AT}: {told}" in verify(store, diagnosed).differences


def test_a_snapshot_that_was_not_the_restored_one_is_told(store: Store, diagnosed: Episode) -> None:
    with store.session() as session:
        session.execute(update(Intervention).values(snapshot="0" * 64))
    [told] = verify(store, diagnosed).differences
    assert told == f"fork after step {AT}: the moment of step {TO} is not the one that was restored"
