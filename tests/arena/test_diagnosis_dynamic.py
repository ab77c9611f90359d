"""The dynamic track on the real tabletop, without pictures: conditions paired by seed, the table, counterfactuals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from arena import run
from arena.cli import common, dynamic_tables
from arena.cli.app import app
from arena.diagnosis import DiagnosisConfig, build, conformal, counterfactual, dynamic
from arena.diagnosis.dynamic import Scenario, configs, experiment, run_dynamic, scenarios
from arena.diagnosis.dynamic_rows import rows_of
from arena.diagnosis.dynamic_table import Table, bootstrap_sum, dynamic_table
from arena.errors import InvalidExperiment
from arena.location import Location
from arena.supervision import by_arm
from environments.robots.faults import Fault
from storage.store import Store
from storage.video import read_frames

pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

TASK = "tabletop/pick-place-bowl-v1"
SCENES = [
    Scenario(TASK, 1),
    Scenario(TASK, 1, Fault(kind="stuck", severity=0)),
    Scenario(TASK, 1, Fault(kind="pose-bias", severity=2)),
    Scenario(TASK, 1, Fault(kind="premature-stop", severity=2)),
]
NAMES = ["rules", "random-trigger", "oracle-everything", "planted:1:0", "planted:0:1"]


@pytest.fixture(scope="module")
def calibration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thresholds from eight clean episodes: enough for alpha 0.2."""
    path = tmp_path_factory.mktemp("calibration") / "c.json"
    conformal.calibrate([TASK], episodes=8, alpha=0.2).save(path)
    return path


@pytest.fixture(scope="module")
def played(calibration: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The store, the run's id and its table."""
    place = Location.of(str(tmp_path_factory.mktemp("dynamic") / "d.db"))
    with place.open() as store:
        run_id = run_dynamic(store, place, SCENES, NAMES, calibration=str(calibration), workers=0)
        yield store, run_id, dynamic_table(store, run_id)


def test_rules_rescue_what_fails_alone_and_leave_the_rest_alone(played: tuple[Store, str, Table]):
    _, _, table = played
    assert table.scenarios == 4
    alone, rules = table.line("none"), table.line("rules")
    assert (alone.success, alone.net, alone.p) == (0.5, 0, 1.0)
    assert (rules.success, rules.rescued, rules.broken, rules.net) == (1.0, 2, 0, 2)
    assert (rules.false_alarm_rate, rules.false_alarm_rate_benign, rules.broken_clean) == (0.0, 0.0, 0.0)
    assert rules.interventions == 0.5 and rules.added_steps > 0 and rules.calls == 0
    found = {line.fault_type: line for line in table.types if line.condition == "rules"}
    assert {kind: line.rescue_rate for kind, line in found.items()} == {"P2": 1.0, "L4": 1.0, "N0": None, "N1": None}
    assert found["L4"].type_accuracy == 1.0 and abs(found["L4"].onset_median or 0) <= 2


@pytest.mark.parametrize("rollback", ["sim", "physical"])
def test_the_steps_that_supervision_cost_are_those_of_the_record(rollback: str, store: Store, place: Location):
    """Counted step by step here; the rows have them from a query over all episodes at once."""
    names = ["oracle-everything", "planted:1:0"]
    rows = rows_of(store, run_dynamic(store, place, SCENES[-2:], names, rollback=rollback, workers=0))
    assert len(rows) == 6
    for row in rows:
        steps = store.steps(row.episode_id)
        led = sum(by_arm(step.notes) for step in steps)
        assert row.added == len(steps) - (steps[-1].sim_step + 1) + led
        assert (led > 0) is (row.condition != "none" and rollback == "physical")


class Stopped(Exception):
    """Nothing is played after this line."""


def test_the_same_call_goes_on_in_its_run_and_says_so_where_it_cannot(
    played: tuple[Store, str, Table], calibration: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """With another rate of `rules`, as after episodes that could not be measured, the random trigger is another one."""
    store, run_id, _ = played

    def stop(line: str) -> None:
        raise Stopped(line)

    asked: dict[str, Any] = {"calibration": str(calibration), "workers": 0, "tell": stop}
    place = Location.of(str(tmp_path / "unused.db"))
    assert run_dynamic(store, place, SCENES, NAMES, **asked) == run_id
    monkeypatch.setattr(dynamic, "rule_rate", lambda rows: 3.0)
    told = f"and {run_id} stays as it is: how often `rules` intervened is part of a run"
    with pytest.raises(Stopped, match=re.escape(told)):
        run_dynamic(store, place, SCENES, NAMES, **asked)


def test_the_random_trigger_waits_until_rules_has_been_measured_everywhere(
    played: tuple[Store, str, Table], calibration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A rate from the episodes that a dead server left over would be another run's when it is back."""
    store, run_id, _ = played
    lines: list[str] = []
    rows = dynamic.rows_of(store, run_id)
    lacking = [row for row in rows if row.condition != "rules"] + [row for row in rows if row.condition == "rules"][1:]
    monkeypatch.setattr(dynamic, "rows_of", lambda store, run_id: lacking)
    place = Location.of(str(tmp_path / "unused.db"))
    first = run_dynamic(store, place, SCENES, NAMES, calibration=str(calibration), workers=0, tell=lines.append)
    assert lines == ["random-trigger is not played: its rate is that of `rules`, of which 1 of 4 episodes are missing"]
    assert {row.condition for row in dynamic_table(store, first).lines} == {"none", *NAMES} - {"random-trigger"}


def test_instruments_mark_floor_and_ceiling(played: tuple[Store, str, Table]):
    _, _, table = played
    assert table.line("oracle-everything").net == 2
    assert table.line("planted:1:0").net == 2
    worst = table.line("planted:0:1")
    assert worst.success == 0 and worst.net < 0, "who always claims a fault never lets an episode end"
    assert table.line("random-trigger").interventions > 0


def test_oracles_know_the_truth_through_their_own_door_alone():
    for name in ("rules", "restart", "monitors-only"):
        supervisor = build(DiagnosisConfig(diagnoser=name))  # type: ignore[arg-type]
        assert supervisor is not None and not supervisor.privileged and "privileged" not in supervisor.fingerprint()
    oracle = build(DiagnosisConfig(diagnoser="oracle-everything"))
    assert oracle is not None and oracle.privileged and oracle.fingerprint()["privileged"] is True


def test_without_the_intervention_the_episode_ends_as_it_does_alone(played: tuple[Store, str, Table]):
    store, run_id, _ = played
    found = list(counterfactual.of_run(store, run_id, conditions=["rules"]))
    assert len(found) == 2
    assert [(item.exact, item.verdict, item.suppressed) for item in found] == [(True, "helped", False)] * 2
    assert counterfactual.tally(found) == counterfactual.Tally(2, 2, 2, 0, 0, 0)
    failed = store.episodes(run_id, outcome="horizon")
    alone = {episode.state_hash for episode in failed if not episode.spec["supervision"]}
    assert {item.branch.state_hash for item in found} == alone, "bit for bit the episode left alone"


def test_what_the_other_way_led_to_is_kept_and_a_second_look_adds_to_it(played: tuple[Store, str, Table]):
    store, run_id, _ = played
    [found] = counterfactual.of_run(store, run_id, conditions=["rules"], limit=1)
    first, second = counterfactual.keep(store, found), counterfactual.keep(store, found)
    [one, two] = store.counterfactuals(found.episode)
    assert {one.id, two.id} == {first.id, second.id}
    assert (one.diagnosis_id, one.verdict, one.exact, one.suppressed) == (found.diagnosis, "helped", True, False)
    assert (one.from_step, one.outcome, one.with_it, one.without_it) == (one.at_step + 1, "horizon", True, False)
    assert one.n_steps == len(one.scores) > 0 and one.score == one.scores[-1] and one.repair_steps == 0
    assert (one.video, one.video_info) == (None, {})


@pytest.mark.gl
def test_the_other_way_is_filmed_without_being_changed(played: tuple[Store, str, Table], tmp_path: Path):
    """One picture before each step and one of the end; the first is what the record shows at the fork."""
    store, run_id, _ = played
    [seen] = counterfactual.of_run(store, run_id, conditions=["rules"], limit=1, films=tmp_path / "films")
    [unseen] = counterfactual.of_run(store, run_id, conditions=["rules"], limit=1)
    assert (seen.branch.state_hash, seen.branch.scores) == (unseen.branch.state_hash, unseen.branch.scores)
    row = counterfactual.keep(store, seen)
    assert row.video and row.video_info["n_frames"] == row.n_steps + 1
    assert list((tmp_path / "films").iterdir()) == [], "what is unfinished leaves nothing behind"
    episode = store.episode(seen.episode)
    assert episode.video
    with store.artifacts.open(row.video) as other, store.artifacts.open(episode.video) as record:
        [first] = read_frames(other, [0])
        [left] = read_frames(record, [store.steps(episode.id, row.at_step, row.at_step + 1)[0].frame + 1])
    assert np.abs(first.astype(int) - left.astype(int)).mean() < 3, "both are one picture, encoded twice"


def test_a_suppressed_intervention_is_played_too(calibration: Path, tmp_path: Path):
    place = Location.of(str(tmp_path / "s.db"))
    asked = configs(["rules"], calibration=str(calibration))
    asked["rules"]["max_interventions"] = 0
    with place.open() as store:
        run_id = run.run(experiment("suppressed", SCENES[3:], asked), store, place, workers=0)
        found = next(counterfactual.of_run(store, run_id))
    assert (found.suppressed, found.with_it, found.without, found.verdict) == (True, True, False, "helped")
    assert found.exact and found.branch.from_step <= found.step


def test_a_player_with_chance_of_its_own_is_the_same_whoever_watches(tmp_path: Path):
    """Else part of what was rescued or broken would be luck."""
    place = Location.of(str(tmp_path / "n.db"))
    noisy = {"name": "noisy-expert", "failure_rate": 0.5}
    with place.open() as store:
        asked = configs(["none", "rules"], calibration=None)
        asked["rules"]["max_interventions"] = 0
        run_id = run.run(experiment("noisy", [Scenario(TASK, 3)], asked, noisy), store, place, workers=0)
        alone, watched = store.episodes(run_id)
        assert alone.identity != watched.identity
        assert [row.action for row in store.steps(alone.id)] == [row.action for row in store.steps(watched.id)]


def test_the_bootstrap_draws_scenes_of_one_seed_together():
    low, high = bootstrap_sum([1, 1, 1, 1, 0, 0], ["a", "a", "b", "b", "c", "c"]) or (0, 0)
    assert 0 <= low < 4 < high <= 6
    assert bootstrap_sum([1, 1], ["a", "a"]) is None and bootstrap_sum([], []) is None, "one seed tells of no other"


def test_scenarios_are_a_product_with_the_clean_episode():
    found = scenarios([TASK], [0, 1], ["stuck"], [0, 2])
    assert [scene.label for scene in found[:3]] == ["clean", "stuck/0", "stuck/2"] and len(found) == 6
    with pytest.raises(InvalidExperiment, match="there is no such condition; did you mean 'oracle-detection'"):
        configs(["oracle"], calibration=None)


def test_the_command_prints_the_table(calibration: Path, tmp_path: Path):
    database = str(tmp_path / "cli.db")
    arguments = ["diagnose", TASK, "--seeds", "1", "--faults", "stuck", "--severities", "2", "--db", database]
    arguments += ["--conditions", "oracle-detection", "--calibration", str(calibration), "-j", "0"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "2 scenarios, each alone and under every condition" in result.output and "oracle-detection" in result.output
    assert "instruments, which go by chance or by the truth: oracle-detection" in result.output
    nothing = ["diagnose", "counterfactual", "diagnosis", "--conditions", "none", "--db", database]
    told = CliRunner().invoke(app, nothing).output
    assert "nothing to replay" in told and "`none` never intervenes" in told and "verdict" not in told
    again = CliRunner().invoke(app, ["diagnose", "counterfactual", "diagnosis", "--json", "--db", database])
    assert again.exit_code == 0, again.output
    told = json.loads(again.stdout)["forks"]
    with Location.of(database).open() as store:
        [run_of] = store.runs()
        kept = [row for episode in store.episodes(run_of.id) for row in store.counterfactuals(episode.id)]
    assert [(row.diagnosis_id, row.n_steps, row.exact) for row in kept] == [
        (item["diagnosis"], item["branch"]["n_steps"], True) for item in told
    ]
    assert kept, "each was played the other way, and kept"
    wrong = CliRunner().invoke(app, ["diagnose", TASK, "--faults", "gravity", "--db", database])
    assert wrong.exit_code != 0 and "unknown kind" in str(wrong.exception)


def test_the_tables_fit_into_eighty_columns(
    played: tuple[Store, str, Table], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    _, _, table = played
    monkeypatch.setattr(common.console, "width", 80)
    dynamic_tables.tell(table)
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80
    [rules] = [line for line in shown if line.startswith("rules") and "one seed" in line]
    assert rules.split()[:4] == ["rules", "100%", "2", "0"], "no cell is broken over two lines"
    at = next(i for i, line in enumerate(shown) if line.split()[:3] == ["condition", "touched", "detected"])
    noticed = {line.split()[0]: line.split() for line in shown[at + 2 : at + 7]}
    assert noticed["rules"][:3] == ["rules", "0%", "2/2"] and noticed["rules"][4] == "100%"
    assert noticed["planted:0:1"][1] == "100%", "it touched every episode that is won alone"
    assert noticed["oracle-everything"][2:] == ["2/2", "-", "-", "-"], "what it knows is not held to its credit"
    named = [line.split() for line in shown[shown.index("rescued by type of fault, and after a minus sign broken") :]]
    assert {tuple(words[:3]) for words in named if words[:1] == ["rules"]} == {
        ("rules", "L4", "1/1"),
        ("rules", "P2", "1/1"),
    }


def test_conditions_are_told_apart_by_what_they_are(played: tuple[Store, str, Table]):
    """In JSON too, with what each noticed over all types of fault."""
    table = played[2]
    lines = {line["condition"]: line for line in table.to_json()["conditions"]}
    assert [name for name, line in lines.items() if line["diagnoser"]] == ["rules"]
    assert [name for name, line in lines.items() if not line["instrument"]] == ["none", "rules"]
    assert (lines["rules"]["detected"], lines["rules"]["harmful"]) == (2, 2)
    onsets = [abs(line.onset_median or 0) for line in table.types if line.condition == "rules"]
    assert abs(lines["rules"]["onset_median"]) <= max(onsets)
