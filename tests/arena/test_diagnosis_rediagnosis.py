"""Whoever diagnosed a recorded episode says the same again, and what was altered consistently in the record is told.

An arm without physics loses what it holds at step 18, unless its seed is one for calibration: every diagnoser has
something to say, and an episode takes no time. What is altered is altered in SQL, in columns and bodies alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update
from typer.testing import CliRunner

from arena import run
from arena.cli.app import app
from arena.diagnosis import Diagnosis, conformal
from arena.experiment import Experiment
from arena.location import Location
from arena.supervision import LEFT_STATE
from arena.verification import Verification, verify
from environments import ActionSpace, Task, registry
from storage.models import Call, Episode, Intervention, Run, RunEpisode, Step
from storage.models import Diagnosis as Row
from storage.store import Store
from tests.fakes.policy_world import TASK, ArmWorld
from tests.fakes.provider import FakeProvider, Seen

SLIPS = 18
HELD_M, SHUT_M = 0.04, 0.001


class SlipperyArm(ArmWorld):
    """Closes on something 4 cm wide in four steps, and loses it within the steps 18 and 19 of its own time."""

    def telemetry(self) -> dict[str, Any]:
        width = max(HELD_M, 0.08 - 0.01 * self.steps)
        if self._slips() and self.steps > SLIPS:
            width = max(SHUT_M, HELD_M - 0.02 * (self.steps - SLIPS))
        return {"gripper_width_m": width, "eef_pos_m": self.pose[:3].tolist(), "eef_speed_m_s": 0.1}

    def fault_truth(self) -> dict[str, Any] | None:
        begun = self._slips() and self.steps > SLIPS
        told = {"fault_type": "C5", "severity": 2, "stage": "carry", "entity": "cube"}
        return {**told, "onset_step": SLIPS if begun else None}

    def _slips(self) -> bool:
        return self._seed < conformal.FIRST_SEED

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._seed = 0 if seed is None else seed
        return super().reset(seed=seed, options=options)


def make(task: Task, space: ActionSpace) -> SlipperyArm:
    return SlipperyArm(task, space, **task.params)


ARM = Task(
    id="tabletop/slippery-arm-of-the-tests-v1",
    title="Slippery arm",
    goal="hold it",
    entry_point="tests.arena.test_diagnosis_rediagnosis:make",
    spaces=TASK.spaces,
    milestones=TASK.milestones,
    max_steps=60,
    params={"goal_steps": 30},
)
SAID = {
    "step_now": 22, "verdict": "fault", "confidence": 0.9, "fault_class": "control", "fault_type": "C5",
    "onset_step": 19, "rollback_step": 12, "repair": {"kind": "retry"},
}  # fmt: skip
KEYLESS: dict[str, dict[str, Any]] = {
    "none": {"diagnoser": "none"},
    "rules": {"diagnoser": "rules", "vary": True},
    "restart": {"diagnoser": "restart"},
    "monitors-only": {"diagnoser": "monitors-only", "max_interventions": 0},
    "random-trigger": {"diagnoser": "random-trigger", "rate": 2, "spread_steps": 30},
    "oracle-detection": {"diagnoser": "oracle-detection"},
    "oracle-everything": {"diagnoser": "oracle-everything", "horizon": "charged"},
    "planted": {"diagnoser": "planted", "detection": 0.7, "false_alarm": 0.7, "every": 7, "max_interventions": 4},
    "human": {"diagnoser": "human", "opinion": SAID},
}


def answer(seen: Seen) -> Any:
    """What the model says: it believes the alarm, and goes back to well before it."""
    onset = seen.number(r"First odd reading: step (\d+)")
    fields = {"verdict": "fault", "confidence": 0.9, "fault_class": "control", "fault_type": "C5"}
    return {**fields, "onset_step": onset, "rollback_step": onset - 6, "repair": {"kind": "retry"}}


@pytest.fixture(autouse=True)
def slippery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_tasks", {**registry._tasks, ARM.id: ARM})


def play(store: Store, place: Location, conditions: dict[str, dict[str, Any]]) -> dict[str, Episode]:
    """One episode under each condition, by its label."""
    asked = [{"name": "diagnose-and-rollback", "label": name, "diagnosis": told} for name, told in conditions.items()]
    block = {"tasks": ARM.id, "spaces": "native", "seeds": 1, "agents": ["scripted"], "conditions": asked}
    run_id = run.run(Experiment.model_validate({"name": "again", "blocks": [block]}), store, place, workers=0)
    links = {link.condition: link.identity for link in store.plan(run_id)}
    return {name: store.episode(f"{identity}-0") for name, identity in links.items()}


def again(store: Store, episode: Episode) -> Verification:
    return verify(store, store.episode(episode.id))


@pytest.mark.parametrize("condition", KEYLESS)
def test_whoever_needs_no_model_says_the_same_again(store: Store, place: Location, condition: str) -> None:
    (episode,) = play(store, place, {condition: KEYLESS[condition]}).values()
    assert bool(store.diagnoses(episode.id)) == (condition != "none")
    acts = condition not in ("none", "monitors-only")
    assert bool(store.interventions(episode.id)) == acts
    assert again(store, episode) == Verification(episode.id, episode.n_steps)


Altered = tuple[dict[str, Any], str]
"""Fields of the first diagnosis of a condition, in its columns and its body, and what is told of them."""


def alter(store: Store, row: Row, **fields: Any) -> None:
    """Alter a diagnosis in every place that says it, so that it fits the schema."""
    body = Diagnosis.model_validate({**row.body, **fields}).to_json()
    columns = {name: body[name] for name in ("verdict", "fault_class", "fault_type") if name in fields}
    with store.session() as session:
        session.execute(update(Row).where(Row.id == row.id).values(body=body, **columns))


@pytest.mark.parametrize(
    ("condition", "fields", "told"),
    [
        (
            "monitors-only",
            {"verdict": "suspect", "rollback_step": None, "repair": {"kind": "none"}},
            "verdict was 'suspect' and is 'fault'",
        ),
        ("rules", {"fault_class": "perception", "fault_type": "P1"}, "fault_class was 'perception' and is"),
        ("rules", {"onset_step": 17, "onset_interval": None}, "onset_step was 17 and is 18"),
        ("rules", {"repair": {"kind": "regrasp"}}, "repair.kind was 'regrasp' and is 'retry'"),
        ("rules", {"rationale": "I was there"}, "rationale was 'I was there' and is"),
        ("restart", {"confidence": 0.9}, "confidence was 0.9 and is 1.0"),
        ("random-trigger", {"fault_type": "C2"}, "fault_type was 'C2' and is 'C6'"),
        ("oracle-everything", {"severity": 3}, "severity was 3 and is 2"),
        ("human", {"onset_step": 15}, "onset_step was 15 and is 19"),
    ],
)
def test_a_diagnosis_that_was_altered_in_column_and_body_alike_is_told(
    store: Store, place: Location, condition: str, fields: dict[str, Any], told: str
) -> None:
    (episode,) = play(store, place, {condition: KEYLESS[condition]}).values()
    row = store.diagnoses(episode.id)[0]
    alter(store, row, **fields)
    [found] = again(store, episode).differences
    assert found.startswith(f"diagnosis after step {row.step_index}: made again, {told}")


def test_the_moment_of_a_decision_is_compared(store: Store, place: Location) -> None:
    """A random trigger that is said to have struck a step later, with a fork that says so too; and one that is gone."""
    (episode,) = play(store, place, {"random-trigger": KEYLESS["random-trigger"]}).values()
    first = store.diagnoses(episode.id)[0]
    at = first.step_index
    with store.session() as session:
        body = {**first.body, "step_now": at + 1}
        session.execute(update(Row).where(Row.id == first.id).values(step_index=at + 1, body=body))
        session.execute(update(Intervention).where(Intervention.at_step == at).values(at_step=at + 1))
    told = f"diagnosis after step {at}: none is recorded; made again, 'random-trigger' leads to 'fault'"
    assert told in again(store, episode).differences
    with store.session() as session:
        session.execute(delete(Intervention))
        session.execute(delete(Row))
    assert told in again(store, episode).differences


def test_a_diagnosis_that_nobody_made_is_told(store: Store, place: Location) -> None:
    played = play(store, place, {name: KEYLESS[name] for name in ("none", "rules")})
    row = store.diagnoses(played["rules"].id)[0]
    with store.session() as session:
        session.execute(delete(Intervention))
        for name, step in (("none", 7), ("rules", 7)):
            body = Diagnosis(step_now=step, verdict="ok", confidence=1.0).to_json()
            told = {"trigger": "stall", "diagnoser": "rules", "fingerprint": row.fingerprint}
            columns = {"verdict": "ok", "fault_class": "none", "fault_type": "N0"}
            session.add(Row(id=f"d-{name}", episode_id=played[name].id, step_index=step, body=body, **told, **columns))
    [alone] = again(store, played["none"]).differences
    assert alone == "diagnosis after step 7: nobody watched this episode"
    assert "diagnosis after step 7: made again, nothing is said there" in again(store, played["rules"]).differences


def test_what_was_undone_is_compared_too(store: Store, place: Location) -> None:
    """The last action before a rollback changes neither reward nor score, nor anything that comes after it."""
    (episode,) = play(store, place, {"rules": KEYLESS["rules"]}).values()
    fork = store.interventions(episode.id)[0]
    last = store.steps(episode.id)[fork.at_step]
    with store.session() as session:
        changed = update(Step).where(Step.episode_id == episode.id, Step.index == fork.at_step)
        session.execute(changed.values(action=[0.5, 0.01, *last.action[2:]]))
    [told] = again(store, episode).differences
    assert told.startswith(
        f"fork after step {fork.at_step}: the state that it left was '{last.notes[LEFT_STATE]}' and is"
    )
    with store.session() as session:
        notes = {name: value for name, value in last.notes.items() if name != LEFT_STATE}
        session.execute(changed.values(action=last.action, notes=notes))
    checked = again(store, episode)
    assert checked.holds
    assert checked.unchecked == (
        f"the fork after step {fork.at_step} was recorded without the state that it left, so what was undone is "
        "compared by reward and score alone",
    )


def test_what_was_not_recorded_of_the_diagnoser_is_said_and_is_no_difference(
    store: Store, place: Location, tmp_path: Path
) -> None:
    """Its calibration is gone, or another one; it is of another version; no run says what it was."""
    path = tmp_path / "limits.json"
    found = conformal.calibrate([ARM.id], "scripted", episodes=8, alpha=0.2)
    found.save(path)
    (episode,) = play(store, place, {"rules": {"diagnoser": "rules", "calibration": str(path)}}).values()
    assert store.interventions(episode.id)
    assert again(store, episode) == Verification(episode.id, episode.n_steps)

    found.model_copy(update={"alpha": 0.3}).save(path)
    checked = again(store, episode)
    assert checked.holds
    told = "its diagnoses were not made again: what diagnosed it is another one now: calibration was '"
    assert checked.unchecked[0].startswith(told) and len(checked.unchecked) == 1

    path.unlink()
    checked = again(store, episode)
    assert checked.holds
    told = f"its diagnoses were not made again: {path}: cannot be read: "
    assert checked.unchecked[0].startswith(told) and len(checked.unchecked) == 1
    shown = CliRunner().invoke(app, ["verify", episode.id, "--db", str(place.database)])
    assert shown.exit_code == 0, shown.output
    words = " ".join(shown.output.split())
    assert "its diagnoses were not made again" in words
    assert "1 could not be compared in every part; their lines say what and why" in words

    with store.session() as session:
        session.execute(delete(RunEpisode))
        session.execute(delete(Run))
    told = "its diagnoses were not made again: no run in this database says what diagnosed it"
    assert again(store, episode).unchecked == (told,)


@pytest.fixture
def asked(store: Store, place: Location) -> Iterator[Episode]:
    """An episode whose diagnoser was a model, behind HTTP."""
    with FakeProvider(policy=answer) as provider:
        model = {"model": "fake/diagnose", "base_url": provider.url, "max_retries": 0}
        (episode,) = play(store, place, {"vlm": {"diagnoser": "vlm", "model": model}}).values()
    yield episode  # the provider is gone: nobody is asked again


def test_of_a_model_its_answer_is_read_again_and_the_rest_is_made_anew(store: Store, asked: Episode) -> None:
    assert [it.verdict for it in store.diagnoses(asked.id)][:2] == ["fault", "fault"]
    assert again(store, asked) == Verification(asked.id, asked.n_steps)


def test_a_model_that_is_said_to_have_been_silent_is_not_believed(store: Store, asked: Episode) -> None:
    """Whatever the cause that is claimed: a readable answer is there, or no call at all."""
    row = store.diagnoses(asked.id)[-1]
    assert not [fork for fork in store.interventions(asked.id) if fork.diagnosis_id == row.id], "the budget was used up"
    for cause in ("provider", "invalid"):
        silent = Diagnosis.abstention(row.step_index, cause, "nothing came").to_json()
        columns = {name: silent[name] for name in ("verdict", "fault_class", "fault_type")}
        with store.session() as session:
            session.execute(update(Row).where(Row.id == row.id).values(body=silent, **columns))
        [told] = again(store, asked).differences
        assert told == f"diagnosis after step {row.step_index}: made again, verdict was 'abstain' and is 'fault'"
    with store.session() as session:
        columns = {"verdict": "fault", "fault_class": "control", "fault_type": "C2"}
        body = {**row.body, "fault_type": "C2"}
        session.execute(update(Row).where(Row.id == row.id).values(body=body, call_id=None, **columns))
    [told] = again(store, asked).differences
    assert told == f"diagnosis after step {row.step_index}: made again, verdict was 'fault' and is 'abstain'"


def test_an_answer_that_was_altered_with_its_diagnosis_shows_where_it_was_carried_out(
    store: Store, asked: Episode
) -> None:
    """What a model has said is its own: only what monitors and supervisor made of it is made anew."""
    row = store.diagnoses(asked.id)[0]
    with store.session() as session:
        session.execute(update(Row).where(Row.id == row.id).values(trigger="stall"))
    [told] = again(store, asked).differences
    assert told == f"diagnosis after step {row.step_index}: made again, trigger was 'stall' and is 'gripper-lost'"
    with store.session() as session:
        session.execute(update(Row).where(Row.id == row.id).values(trigger="gripper-lost"))
        session.execute(update(Call).where(Call.id == row.call_id).values(text="I cannot tell."))
    told = f"diagnosis after step {row.step_index}: the model's answer is none"
    assert any(found.startswith(told) for found in again(store, asked).differences)
