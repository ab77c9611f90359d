"""Whole episodes on a robot behind a URL: rescued by going back, timed, and never scored when the robot failed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("msgpack")
pytest.importorskip("websockets")

from arena import loop_times, run
from arena.cli.app import app
from arena.diagnosis.supervisor import DiagnosingSupervisor
from arena.errors import InvalidExperiment
from arena.experiment import parse
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.outcomes import Outcome
from arena.supervision import REWIND, Moment
from arena.verification import verify
from environments import registry
from environments.errors import RenderError
from environments.real import profile, tasks
from environments.real.server import RobotServer
from storage.models import Episode, Step
from storage.store import Store
from tests.fakes.policy_servers import OpenPi
from tests.fakes.provider import FakeProvider
from tests.fakes.robot import Misbehaving, PointRobot

PAGE = (Path(__file__).parents[2] / "docs" / "real-robot.md").read_text("utf-8")
needs_robots = pytest.mark.skipif(importlib.util.find_spec("robosuite") is None, reason="robosuite is not installed")

AddRobot = Callable[..., None]


@pytest.fixture
def add_robot(monkeypatch: pytest.MonkeyPatch) -> AddRobot:
    """Makes `real/bench-v1` the robot at a URL."""

    def add(url: str, **more: Any) -> None:
        values = {"name": "bench", "title": "Bench", "goal": "go there", "url": url, "max_steps": 40, **more}
        task = tasks.task_of(profile.parse(json.dumps(values)))  # JSON is YAML
        monkeypatch.setattr(registry, "_tasks", {**registry._tasks, task.id: task})

    return add


def experiment(url: str, *, protocol: str = "openpi", conditions: str = "single", more: str = "") -> Any:
    agent = {"name": "policy", "protocol": protocol, "url": url, "timeout_s": 20, "retries": 0}
    return parse(
        f"name: real\ntasks: real/bench-v1\nspaces: native\nseeds: 1\nagents: [{json.dumps(agent)}]\n"
        f"video: as-seen\nconditions: {conditions}\n{more}"
    )


def play(store: Store, place: Location, told: Any) -> list[Episode]:
    return list(store.episodes(run.run(told, store, place, workers=0)))


# --- what is asked of it ---------------------------------------------------------------------------------------------


def test_what_no_real_robot_can_do_is_refused_when_the_file_is_read(add_robot: AddRobot) -> None:
    add_robot("ws://127.0.0.1:9")
    with pytest.raises(InvalidExperiment, match="of whose world no snapshot exists; use `rollback: physical`"):
        experiment("ws://127.0.0.1:9", conditions="diagnose-and-rollback")
    with pytest.raises(InvalidExperiment, match="is a real robot; cause the fault there"):
        experiment("ws://127.0.0.1:9", conditions="[{name: single, fault: stuck}]")
    experiment("ws://127.0.0.1:9", conditions="[{name: diagnose-and-rollback, diagnosis: {rollback: physical}}]")


def test_a_robot_is_never_played_by_two_processes(
    store: Store, place: Location, add_robot: AddRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever `--workers` says: the processes would move one arm in turn."""
    add_robot("ws://127.0.0.1:9")
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(run, "play_trials", lambda job, batch, *_, workers, tell: asked.append((len(batch), workers)))
    told = experiment("ws://127.0.0.1:9").model_copy(deep=True)
    block = told.blocks[0].model_copy(update={"repetitions": 3})
    run.run(told.model_copy(update={"blocks": [block]}), store, place, workers=4)
    assert asked == [(0, 0), (3, 1)]


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_robot_that_works_is_scored_by_its_judge_and_is_not_moved_by_verify(
    store: Store, place: Location, add_robot: AddRobot
) -> None:
    robot = PointRobot(goal_steps=7)
    with OpenPi() as policy, RobotServer(robot, watchdog_s=20) as server:
        add_robot(server.url, picture=[32, 32])
        [episode] = play(store, place, experiment(policy.url))
        assert (episode.outcome, episode.score, episode.n_steps) == (Outcome.WON, 100.0, 7)
        before = list(robot.done)
        checked = verify(store, episode)
        assert checked.skipped and not checked.differences
        assert robot.done == before, "nothing moves when a record is checked"


SPOILED = [
    ("act", lambda answer: b"\xc1", "the answer to `act` is no msgpack"),
    ("act", lambda answer: None, "gave no answer to `act` within 0.5 s"),
    ("act", lambda answer: answer["ok"]["reading"].update(fingers=[0.0]) or answer, "`fingers` is a list of 1"),
    ("act", lambda answer: answer["ok"]["reading"].update(time_s=float("nan")) or answer, "`time_s` is float 'nan'"),
    ("describe", lambda answer: answer["ok"].update(protocol="arena-robot/2") or answer, "speaks 'arena-robot/2'"),
    ("act", lambda answer: {**answer, "error": {"code": "watchdog", "message": "held"}}, "refuses `act`: watchdog"),
]


@pytest.mark.parametrize(("do", "spoil", "said"), SPOILED)
def test_trouble_with_the_robot_is_never_scored_and_the_next_start_plays_afresh(
    store: Store, place: Location, add_robot: AddRobot, do: str, spoil: Any, said: str
) -> None:
    with OpenPi() as policy:
        with Misbehaving(do, spoil, after=3 if do == "act" else 1) as bad:
            add_robot(bad.url, picture=[32, 32], timeout_s=0.5)
            run_id = run.run(experiment(policy.url), store, place, workers=0)
        [episode] = store.episodes(run_id)
        assert episode.outcome == Outcome.INFRASTRUCTURE_ERROR and not episode.scored
        assert episode.outcome_detail.startswith("RobotError: ") and said in episode.outcome_detail
        [row] = leaderboard(store, run_id).rows
        assert row.scored == 0 and row.success is None
        with RobotServer(PointRobot(goal_steps=5), watchdog_s=20) as good:
            add_robot(good.url, picture=[32, 32], timeout_s=0.5)
            assert run.run(experiment(policy.url), store, place, workers=0) == run_id
    last = list(store.episodes(run_id))[-1]
    assert (last.outcome, last.try_no, last.n_steps) == (Outcome.WON, 1, 5)


def test_a_declining_operator_is_no_score_and_is_not_asked_again_at_once(
    store: Store, place: Location, add_robot: AddRobot
) -> None:
    robot = PointRobot()
    robot.declines = True
    with OpenPi() as policy, RobotServer(robot) as server:
        add_robot(server.url, picture=[32, 32])
        [episode] = play(store, place, experiment(policy.url))
    assert episode.outcome == Outcome.INFRASTRUCTURE_ERROR and "the operator declined" in episode.outcome_detail


# --- time ------------------------------------------------------------------------------------------------------------


def row(index: int, loop: dict[str, Any], **notes: Any) -> Step:
    return Step(episode_id="e", index=index, branch=0, sim_step=index, action=None, status="ok", reason="",
                rationale="", frame=0, world_ms=0, notes={"loop": loop, **notes})  # fmt: skip


def test_a_pause_belongs_to_the_cycle_before_it_and_the_parts_are_the_whole() -> None:
    steps = [
        row(0, {"cycle": 0, "think_s": 1.0, "execute_s": 2.0}),
        row(1, {"cycle": 0, "rollback_s": 4.0, "inspect_s": 8.0}, rewind=True),
        row(2, {"cycle": 1, "rollback_s": 16.0, "think_s": 32.0, "execute_s": 64.0}),
    ]
    first, second = found = loop_times.cycles(steps)
    assert (first.steps, first.back, first.execute_s, first.think_s, first.vlm_s, first.rollback_s) == (
        1,
        1,
        3,
        1,
        8,
        20,
    )
    assert (first.loop_s, second.loop_s) == (31, 96)
    assert loop_times.summary(found)["loop_s"] == {"median": 63.5, "max": 96, "sum": 127}
    assert loop_times.cycles([]) == [] and loop_times.summary([]) == {}


# --- the reference robot, in a process of its own -------------------------------------------------------------------


class Process:
    """`arena serve-robot` as a program."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-c", "from arena.cli import main; main()", "serve-robot"]
        command += ["--port", "0", "--policy-port", "0", "--watchdog", "60", "--no-paced", "--json", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, "it ended without a word"
            text += line
        self.told = json.loads(text)


@pytest.fixture
def serve_robot() -> Iterator[Callable[..., Process]]:
    pytest.importorskip("robosuite", reason="the reference robot needs robosuite")
    from environments.robots import rendering

    try:
        rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))
    started: list[Process] = []

    def start(*arguments: str) -> Process:
        started.append(Process(*arguments))
        return started[-1]

    yield start
    for item in started:
        item.process.terminate()
        item.process.wait(20)


@needs_robots
@pytest.mark.gl
@pytest.mark.slow
def test_the_page_plays_as_printed_a_drop_is_rescued_by_the_arms_own_way_back_and_the_cycles_are_timed(
    store: Store, place: Location, add_robot: AddRobot, serve_robot: Callable[..., Process]
) -> None:
    """C5, injected at the robot's side in another process: lost alone, won with `rules` and a physical rewind."""
    [command] = re.findall(r"^arena serve-robot (.*)$", PAGE, re.MULTILINE)
    assert "--fault gripper-opens-mid-carry" in command and "tabletop/pick-place-bowl-v1" in command
    told = serve_robot("tabletop/pick-place-bowl-v1", "--fault", "gripper-opens-mid-carry").told
    bench, text = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    values = profile.parse(bench).model_dump(mode="json", exclude_defaults=True)
    add_robot(**{**values, "url": told["url"], "max_steps": 180})
    played = play(store, place, parse(text.replace("ws://127.0.0.1:8101", told["policy_url"])))
    alone, rescued = sorted(played, key=lambda episode: str(episode.outcome))
    assert (alone.outcome, alone.score, rescued.outcome, rescued.score) == ("horizon", 0.0, "won", 100.0)

    steps = store.steps(rescued.id)
    [fork] = store.interventions(rescued.id)
    [diagnosis] = store.diagnoses(rescued.id)
    assert (fork.kind, diagnosis.fault_type, diagnosis.diagnoser) == ("physical", "C5", "rules")
    back = [step for step in steps if step.notes.get(REWIND)]
    assert back and back[-1].notes["rewind_end"] == "reached"
    found = loop_times.cycles(steps)
    assert [cycle.steps for cycle in found[:2]] == [20, 20]
    assert sum(cycle.steps for cycle in found) + len(back) == len(steps)
    [going] = [cycle for cycle in found if cycle.back]
    assert going.back == len(back) and going.rollback_s > 0 and going.steps < 20, "cut short by the alarm"
    assert all(cycle.loop_s > 0 and cycle.think_s > 0 for cycle in found)

    shown = CliRunner().invoke(app, ["show", rescued.id, "--db", place.database])
    assert shown.exit_code == 0 and "T_rollback" in shown.output
    shown = CliRunner().invoke(app, ["show", rescued.id, "--db", place.database, "--json"])
    assert len(json.loads(shown.output)["cycles"]) == len(found)


@needs_robots
@pytest.mark.gl
@pytest.mark.slow
def test_a_model_diagnoses_over_the_robots_wire(
    tmp_path: Path, place: Location, add_robot: AddRobot, serve_robot: Callable[..., Process]
) -> None:
    """C5 again, by the command: the model is shown the robot's own pictures, and the arm goes back where it says."""
    told = serve_robot("tabletop/pick-place-bowl-v1", "--fault", "gripper-opens-mid-carry").told
    add_robot(told["url"], goal="pick up the red cube and put it in the bowl", max_steps=180, timeout_s=60)
    file = tmp_path / "real.yaml"
    file.write_text(
        "name: real\ntasks: real/bench-v1\nspaces: native\nseeds: [0]\nvideo: as-seen\n"
        f"agents: [{{name: policy, protocol: roboarena, url: '{told['policy_url']}'}}]\nconditions:\n"
        "  - {name: diagnose-and-rollback, label: ours, diagnosis: {diagnoser: vlm, rollback: physical}}\n"
    )
    with FakeProvider() as model:
        asked = ["--model", "fake/diagnose", "--base-url", model.url, "--workers", "0", "--db", place.database]
        shown = CliRunner().invoke(app, ["diagnose", "physical", str(file), *asked])
        assert shown.exit_code == 0, shown.output + str(shown.exception)
        question = model.requests[-1]
    assert "put it in the bowl" in question.text and "retraces the path" in question.text
    assert len(question.images) >= 2 and {image.shape[1] for image in question.images} == {256}
    with place.open() as store:
        [episode] = store.episodes()
        [fork] = store.interventions(episode.id)
        assert (episode.outcome, fork.kind) == ("won", "physical")
        assert [call.purpose for call in store.calls(episode.id)] == ["diagnose"]
        assert sum(cycle.vlm_s for cycle in loop_times.cycles(store.steps(episode.id))) > 0


def test_a_physical_run_that_measured_nothing_says_why(tmp_path: Path, place: Location, add_robot: AddRobot) -> None:
    add_robot("ws://127.0.0.1:9", picture=[32, 32])
    file = tmp_path / "real.yaml"
    file.write_text(
        "name: real\ntasks: real/bench-v1\nspaces: native\nseeds: 1\nvideo: as-seen\nconditions: single\n"
        "agents: [{name: policy, protocol: openpi, url: 'ws://127.0.0.1:9'}]\n"
    )
    told = CliRunner().invoke(app, ["diagnose", "physical", str(file), "--workers", "0", "--db", place.database])
    assert told.exit_code == 1 and "1 not measured: RobotError: no robot answers at ws://127.0.0.1:9" in told.output
    assert "condition" not in told.output and "T_loop" not in told.output, "no table without rows"


@needs_robots
@pytest.mark.gl
@pytest.mark.slow
def test_a_robot_server_that_is_killed_in_the_middle_is_an_infrastructure_error(
    store: Store, place: Location, add_robot: AddRobot, serve_robot: Callable[..., Process]
) -> None:
    """kill -9 while the policy thinks about its third chunk."""
    robot = serve_robot()
    add_robot(robot.told["url"], max_steps=100)

    def kill() -> None:
        os.kill(robot.process.pid, signal.SIGKILL)
        robot.process.wait(20)

    with _PolicyThatKills(3, kill) as policy:
        [episode] = play(store, place, experiment(policy.url, more="limits: {max_steps: 100}\n"))
    assert episode.outcome == Outcome.INFRASTRUCTURE_ERROR and not episode.scored and episode.score is None
    assert re.search(r"RobotError: ws://127\.0\.0\.1:\d+ is gone: the connection broke during", episode.outcome_detail)
    assert store.steps(episode.id), "what was played before is on record"


class _PolicyThatKills(OpenPi):
    """A policy in the midst of whose answers something else dies."""

    def __init__(self, at_request: int, kill: Callable[[], None]) -> None:
        self._left, self._kill = at_request, kill
        super().__init__()

    def answer(self, connection: Any, message: Any) -> None:
        self._left -= 1
        if not self._left:
            self._kill()
        super().answer(connection, message)


def test_serve_robot_explains_wrong_arguments() -> None:
    for arguments, said in (
        (["games/snake-v1"], "offers"),
        (["--fault", "{"], "is no JSON"),
        (["--watchdog", "nan"], "3600"),
    ):
        result = CliRunner().invoke(app, ["serve-robot", *arguments])
        assert result.exit_code != 0 and said in result.output + str(result.exception)


def test_the_physical_track_is_one_command_with_the_loops_times(
    tmp_path: Path, place: Location, add_robot: AddRobot
) -> None:
    """Both conditions win here; the table pairs them, and no false alarm rate is told, since no truth is known."""
    file = tmp_path / "real.yaml"
    with OpenPi() as policy, RobotServer(PointRobot(goal_steps=25), watchdog_s=20) as server:
        add_robot(server.url, picture=[32, 32])
        file.write_text(
            "name: real\ntasks: real/bench-v1\nspaces: native\nseeds: 2\nvideo: as-seen\n"
            f"agents: [{{name: policy, protocol: openpi, url: '{policy.url}'}}]\nconditions:\n"
            "  - {name: single, label: none}\n"
            "  - {name: diagnose-and-rollback, diagnosis: {rollback: physical}}\n"
        )
        command = ["diagnose", "physical", str(file), "--workers", "0", "--db", place.database]
        told = CliRunner().invoke(app, [*command, "--json"])
        shown = CliRunner().invoke(app, command)
    assert told.exit_code == 0 and shown.exit_code == 0, told.output + shown.output
    result = json.loads(told.stdout)
    by_name = {line["condition"]: line for line in result["conditions"]}
    watched = "diagnose-and-rollback (physical)"
    assert {name: (line["episodes"], line["net"]) for name, line in by_name.items()} == {
        "none": (2, 0),
        watched: (2, 0),
    }
    assert not any("false" in key for key in by_name[watched])
    assert {label: loop["cycles"] for label, loop in result["loop"].items()} == {"none": 4, watched: 4}
    assert {(item["condition"], item["seed"], item["success"]) for item in result["episodes"]} == {
        (name, seed, True) for name in by_name for seed in (0, 1)
    }
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(item["id"] in line for line in lines) for item in result["episodes"]), "`arena show` takes them"
    outcome = next(line for line in lines if line.startswith(watched))
    assert outcome.removeprefix(watched).split() == ["2", "100%", "0", "0", "0", "0", "0"]
    assert "T_loop" in shown.stdout and "rescued" in shown.stdout


def test_the_physical_track_wants_a_real_robot(tmp_path: Path) -> None:
    file = tmp_path / "game.yaml"
    file.write_text("name: x\ntasks: games/maze-v1\nspaces: semantic\nseeds: 1\nagents: random\nconditions: single\n")
    result = CliRunner().invoke(app, ["diagnose", "physical", str(file)])
    assert isinstance(result.exception, InvalidExperiment) and "plays `real/` tasks" in str(result.exception)


def test_time_for_a_diagnoser_is_a_pause_and_no_broken_link(
    store: Store, place: Location, add_robot: AddRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than the watchdog allows: the robot is told to hold meanwhile, and T_vlm shows it."""
    watch = DiagnosingSupervisor.watch

    def slowly(self: DiagnosingSupervisor, moment: Moment) -> Any:
        if moment.index == 3:
            time.sleep(2.5)
        return watch(self, moment)

    monkeypatch.setattr(DiagnosingSupervisor, "watch", slowly)
    robot = PointRobot(goal_steps=25)
    with OpenPi() as policy, RobotServer(robot, watchdog_s=2.0) as server:
        add_robot(server.url, picture=[32, 32])
        physical = "[{name: diagnose-and-rollback, diagnosis: {rollback: physical}}]"
        [episode] = play(store, place, experiment(policy.url, conditions=physical))
    assert episode.outcome == Outcome.WON
    first, second = loop_times.cycles(store.steps(episode.id))
    assert first.vlm_s >= 2.5 > second.vlm_s and first.loop_s >= 2.5
    assert robot.done[5] == "hold", "after the fourth action, and before the fifth"
