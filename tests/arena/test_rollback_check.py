"""The self-test of rollback: it passes where going back is exact, finds where it is not, and guards diagnoses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import environments
from arena import rollback_check, run
from arena.cli import app, certify
from arena.errors import InexactRollback
from arena.experiment import parse
from arena.location import Location
from arena.plan import Plan
from arena.rollback_check import HOLDING, POINTS, RollbackCheck, RollbackChecks, check_rollback
from arena.workers import Progress
from storage.store import Store

TASK = "tabletop/pick-place-bowl-v1"


def test_a_game_goes_back_exactly() -> None:
    found = check_rollback(environments.get("games/snake-v1"))
    assert found.passed and found.points == POINTS and found.to_json()["passed"]


def test_a_robot_goes_back_exactly_from_ten_moments_and_while_it_holds_something() -> None:
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")
    found = check_rollback(environments.get(TASK))
    assert found.differences == () and found.passed
    assert found.points >= POINTS and found.holding >= HOLDING


@pytest.mark.shared
@pytest.mark.parametrize("task", ["libero/object/5-v1", "libero/10/3-v1"], ids=["expert", "no expert"])
def test_a_libero_task_goes_back_exactly(task: str) -> None:
    found = check_rollback(environments.get(task))
    if found.skipped:
        pytest.skip(found.skipped)
    assert found.differences == () and found.points >= POINTS and found.holding >= HOLDING


def test_what_a_snapshot_forgets_is_found_and_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the controller's goal the first state already differs; the other process is not tampered with."""
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")
    from environments.robots.control import PandaArm

    monkeypatch.setattr(PandaArm, "write", lambda self, arrays: None)
    found = check_rollback(environments.get(TASK))
    assert not found.passed
    ways = {difference.split(", step")[0] for difference in found.differences}
    assert ways == {"after a reset", "in a world built anew"}
    assert "the state after 0 steps differ" in found.differences[0]


def test_a_process_that_fails_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollback_check.sys, "executable", "/bin/false")
    (difference,) = check_rollback(environments.get("games/snake-v1")).differences
    assert difference.startswith("in another process: it failed")


def test_what_cannot_go_back_at_all_is_skipped_with_the_reason() -> None:
    task = next(task for task in environments.tasks() if environments.task.IRREVERSIBLE in task.tags)
    found = check_rollback(task)
    assert not found.passed and "somebody else's program" in found.skipped


class Checking:
    """Stands in for the test itself, and counts."""

    def __init__(self, differences: tuple[str, ...] = ()) -> None:
        self.differences, self.asked = differences, 0

    def __call__(self, task: Any) -> RollbackCheck:
        self.asked += 1
        return RollbackCheck(task.id, points=12, differences=self.differences)


def test_a_task_is_tested_once_for_a_machine_and_its_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, checking = environments.get("games/snake-v1"), Checking()
    monkeypatch.setattr(rollback_check, "check_rollback", checking)
    for _ in range(2):  # as two processes would
        RollbackChecks(tmp_path).require(task)
    assert checking.asked == 1 and RollbackChecks(tmp_path).known(task)
    assert not RollbackChecks(tmp_path).known(environments.get("games/maze-v1"))
    monkeypatch.setattr(rollback_check, "_versions", lambda: {"mujoco": "another"})
    assert not RollbackChecks(tmp_path).known(task)


def test_a_failure_is_remembered_by_nobody_but_who_saw_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, checking = environments.get("games/snake-v1"), Checking(("after a reset, step 3: the state differs",))
    monkeypatch.setattr(rollback_check, "check_rollback", checking)
    checks = RollbackChecks(tmp_path)
    for _ in range(2):
        with pytest.raises(InexactRollback, match=r"games/snake-v1 does not go back exactly.*after a reset, step 3"):
            checks.require(task)
    assert checking.asked == 1 and not RollbackChecks(tmp_path).known(task)


EXPERIMENT = """
name: guarded
tasks: tabletop/pick-place-bowl-v1
spaces: native
seeds: 1
agents: scripted-policy
video: as-seen
limits: {max_steps: 6}
conditions:
  - single
  - {name: diagnose-and-rollback, label: sim}
  - {name: diagnose-and-rollback, label: named, diagnosis: {max_interventions: 0}}
  - {name: diagnose-and-rollback, label: arm, diagnosis: {rollback: physical}}
"""


class Watching:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.checked: list[tuple[str, int, int]] = []

    def planned(self, plan: Plan, *, done: int) -> None:
        """Not of interest."""

    def checking(self, task_id: str, number: int, of: int) -> None:
        self.checked.append((task_id, number, of))

    def finished(self, progress: Progress) -> None:
        assert not progress.error, progress.error


def test_a_task_that_does_not_go_back_ends_its_diagnosis_trials_and_no_others(
    store: Store, place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is scored, nothing is tried three times over, and the next start plays what is left."""
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

    def outcomes(watching: Watching) -> dict[str, tuple[str | None, int]]:
        run_id = run.run(parse(EXPERIMENT), store, place, workers=0, observer=watching)
        last = {link.condition: store.latest_tries([link.identity])[link.identity] for link in store.plan(run_id)}
        return {label: (episode.outcome, episode.try_no) for label, episode in last.items()}

    failing, watching = Checking(("after a reset, step 3: the state after 0 steps differ",)), Watching()
    monkeypatch.setattr(rollback_check, "check_rollback", failing)
    found = outcomes(watching)
    assert found.pop("sim") == ("infrastructure_error", 0)
    assert found == dict.fromkeys(("single", "named", "arm"), ("horizon", 0))
    assert watching.checked == [(TASK, 1, 1)]
    (told,) = [e.outcome_detail for e in store.episodes() if e.outcome == "infrastructure_error"]
    assert told.startswith("InexactRollback: ") and "after a reset, step 3" in told and "certify --rollback" in told

    passing = Checking()
    monkeypatch.setattr(rollback_check, "check_rollback", passing)
    assert outcomes(watching)["sim"] == ("horizon", 1)
    assert passing.asked == 1, "the test before the trials serves the workers too"
    assert len(list(place.rollback_checks.glob("*.json"))) == 1


def test_the_command_tells_each_task_and_fails_with_the_first_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(*arguments: str) -> Any:
        return CliRunner().invoke(app.app, ["certify", "--rollback", *arguments])

    passed = command("games/snake-v1", "--json")
    (found,) = json.loads(passed.stdout)
    assert passed.exit_code == 0 and found["passed"] and found["points"] == POINTS
    monkeypatch.setattr(certify, "check_rollback", Checking(("in another process, step 3: the pictures differ",)))
    failed = command("games/snake-v1")
    assert failed.exit_code == 1 and "in another process, step 3" in failed.stdout
    assert command("games/snake-v1", "--page", "page.md").exit_code == 2
