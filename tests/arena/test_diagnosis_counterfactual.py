"""The other way at a diagnosis that was not acted on is the very episode in which it is; what was answered is kept."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import agents
import environments
from arena import plan, run
from arena.cli.app import app
from arena.diagnosis import Diagnosis, counterfactual
from arena.diagnosis.dynamic import Scenario, configs, experiment
from arena.diagnosis.replay import Replay
from arena.experiment import parse
from arena.location import Location
from arena.play import Play
from arena.recorder import Recorder
from arena.supervision import Directive, Moment, by_arm
from environments.env import ArenaEnv
from environments.robots.faults import Fault
from environments.task import Task
from storage import models
from storage.models import Episode
from storage.store import Store

TEXT = """
name: other-way
tasks: tabletop/pick-place-bowl-v1
spaces: native
seeds: 1
agents: scripted-policy
video: as-seen
limits: {max_steps: %(max_steps)s}
conditions: [{name: diagnose-and-rollback, diagnosis: %(diagnosis)s}]
"""
POLICY = {"name": "scripted-policy"}
RETRY, REGRASP, ABORT = {"kind": "retry"}, {"kind": "regrasp"}, {"kind": "abort"}

Script = Mapping[int, tuple[int, Mapping[str, Any]] | None]
"""By step: where to go back to and what to do then; None takes the last one back."""


class Scripted:
    """Says what it was told to say; the last of it is carried out or not."""

    wants_subgoals = privileged = False

    def __init__(self, script: Script, *, last: bool) -> None:
        self.script, self.last = script, last

    def fingerprint(self) -> dict[str, Any]:
        return {"script": repr(self.script), "last": self.last}

    def begin(self, task: Task, instruction: str, seed: int = 0) -> None: ...

    def watch(self, moment: Moment) -> Directive | None:
        if moment.index not in self.script:
            return None
        said = self.script[moment.index]
        fields: dict[str, Any] = {"step_now": moment.index, "verdict": "suspect", "confidence": 1.0}
        if said is not None:
            fields |= {"verdict": "fault", "fault_class": "control", "fault_type": "C6", "onset_step": moment.index}
            fields |= {"rollback_step": said[0], "repair": said[1]}
        body = Diagnosis.model_validate(fields).to_json()
        target = said[0] if said is not None and (self.last or moment.index != max(self.script)) else None
        return Directive(trigger="t", diagnoser="d", body=body, rollback_to=target, undo=said is None)

    def recall(self, moment: Moment) -> None: ...

    def rolled_back(self, to: int) -> None: ...

    def repaired(self) -> None: ...

    def undone(self) -> None: ...


@pytest.fixture(scope="module")
def tabletop() -> Iterator[ArenaEnv]:
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")
    made = environments.make("tabletop/pick-place-bowl-v1", "native")
    yield made
    made.close()


def play(store: Store, scratch: Path, env: ArenaEnv, text: str, supervisor: Scripted) -> Episode:
    attempt = plan.build(parse(text)).trials[0].first
    attempt.spec["supervision"] |= supervisor.fingerprint()
    with Recorder(store, attempt, 0, scratch) as recorder:
        Play(attempt, env, agents.create("scripted-policy", {}), recorder, supervisor).run()
    return store.episode(f"{attempt.identity}-0")


@pytest.mark.parametrize(
    ("script", "max_steps", "diagnosis"),
    [
        pytest.param({40: (20, REGRASP)}, 70, "{}", id="whole world"),
        pytest.param({20: (5, RETRY), 50: (30, REGRASP)}, 75, "{horizon: charged}", id="whole world, charged"),
        pytest.param({20: (5, RETRY), 30: None, 45: (12, RETRY)}, 90, "{horizon: charged}", id="after an undo"),
        pytest.param({40: (20, REGRASP)}, 90, "{rollback: physical}", id="arm alone"),
        pytest.param({15: (8, REGRASP), 70: (62, REGRASP)}, 110, "{rollback: physical}", id="arm alone, again"),
        pytest.param({40: (2, RETRY)}, 70, "{rollback: physical, max_added_steps: 4}", id="arm alone, out of steps"),
        pytest.param({40: (2, REGRASP)}, 46, "{rollback: physical}", id="horizon on the way back"),
        pytest.param({40: (36, REGRASP)}, 46, "{}", id="horizon in the repair"),
        pytest.param({20: (5, {**RETRY, "vary": 2}), 40: (24, RETRY)}, 60, "{}", id="after a variation"),
        pytest.param({40: (20, ABORT)}, 60, "{}", id="given up"),
    ],
)
def test_what_would_have_come_of_an_intervention_is_what_comes_of_it(
    store: Store, tmp_path: Path, tabletop: ArenaEnv, script: Script, max_steps: int, diagnosis: str
) -> None:
    """Step by step, score by score, to the same state: against the same episode with the last one carried out."""
    text = TEXT % {"max_steps": max_steps, "diagnosis": diagnosis}
    left_alone = play(store, tmp_path, tabletop, text, Scripted(script, last=False))
    done = play(store, tmp_path, tabletop, text, Scripted(script, last=True))
    *_, other = counterfactual.counterfactuals(store, left_alone, POLICY)
    fork = store.interventions(done.id)[-1]
    assert (other.step, other.exact, other.suppressed) == (fork.at_step, True, True)
    assert other.branch.from_step == (fork.to_step if fork.kind == "sim" else fork.at_step + 1)
    rows = store.steps(done.id)[fork.at_step + 1 :]
    assert list(other.branch.scores) == [row.score for row in rows]
    assert other.branch.repair_steps == sum(by_arm(row.notes) for row in rows)
    assert (other.branch.state_hash, other.branch.outcome) == (done.state_hash, done.outcome)
    assert (other.with_it, other.without) == (done.success, left_alone.success)


KILLED = """
import os, signal, sys
from arena.cli.app import app
from arena.diagnosis import counterfactual
keep = counterfactual.keep
counterfactual.keep = lambda *given: (keep(*given), os.kill(os.getpid(), signal.SIGKILL))
app(sys.argv[1:])
"""


def test_what_was_answered_before_the_process_was_killed_is_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed when the first of several answers of one episode was there; each is in the database once, then."""
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")
    database = str(tmp_path / "k.db")
    place = Location.of(database)
    asked = configs(["rules"], calibration=None)
    asked["rules"] |= {"max_interventions": 1}
    scene = Scenario("tabletop/pick-place-bowl-v1", 1, Fault(kind="gripper-opens-mid-carry", severity=2, repeat=True))
    with place.open() as store:
        run_id = run.run(experiment("killed", [scene], asked), store, place, workers=0)
        [episode] = store.episodes(run_id)
    command = ["diagnose", "counterfactual", "killed", "--json", "--db", database]
    killed = subprocess.run([sys.executable, "-c", KILLED, *command], capture_output=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    played: list[int] = []
    until = Replay.until

    def counted(self: Replay, last: int) -> Iterator[str]:
        played.append(last)
        return until(self, last)

    monkeypatch.setattr(Replay, "until", counted)

    def rows() -> list[models.Counterfactual]:
        with place.open() as store:
            return store.counterfactuals(episode.id)

    def answers(*more: str) -> Any:
        result = CliRunner().invoke(app, [*command, *more])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    [first] = rows()
    told = answers()
    steps = [item["step"] for item in told["forks"]]
    assert len(steps) >= 2 and steps[0] == first.at_step and played == steps[1:]
    assert [row.at_step for row in rows()] == steps and rows()[0].id == first.id, "each is there once"
    assert answers() == told and played == steps[1:], "nothing is left to be played"
    assert answers("--again") == told, "what was read is what would be played"
    assert played[len(steps) - 1 :] == steps and len(rows()) == 2 * len(steps)


def test_what_was_not_exact_or_not_filmed_is_played_again(store: Store, tmp_path: Path, tabletop: ArenaEnv) -> None:
    text = TEXT % {"max_steps": 30, "diagnosis": "{}"}
    episode = play(store, tmp_path, tabletop, text, Scripted({20: (5, RETRY)}, last=False))
    [found] = counterfactual.counterfactuals(store, episode, POLICY)
    counterfactual.keep(store, dataclasses.replace(found, differences=("step 3: reward was 0.0 and is 1.0",)))
    assert counterfactual.kept(store, episode) == {}
    counterfactual.keep(store, found)
    assert counterfactual.kept(store, episode) == {found.diagnosis: found}
    assert counterfactual.kept(store, episode, filmed=True) == {}, "there is no film of it"
    assert list(counterfactual.counterfactuals(store, episode, {}, known={found.diagnosis: found})) == [found], (
        "no player is needed, nor a world"
    )
