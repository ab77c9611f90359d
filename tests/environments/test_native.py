"""Native programs without any game: a small X client of ours is started, shown, stopped, and ended for certain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import environments
from environments.desktop import check as desktop_problems
from environments.desktop.clock import Clock, find_library
from environments.errors import DisplayError, InvalidAction, Irreversible, MissingEngine, MissingProgram, NoExpert
from environments.native import check
from environments.native.env import NativeEnv, make_native, program_of
from environments.native.probe import COLOURS
from environments.native.program import EPOCH, Program
from environments.task import ActionSpace, Task

needs_display = [
    pytest.mark.display,
    pytest.mark.skipif(bool(desktop_problems()), reason="; ".join(desktop_problems())),
]
needs_clock = pytest.mark.skipif(find_library() is None, reason="libfaketime is not installed")

STUBBORN = """
import os, signal, subprocess, sys, runpy
open(os.path.expanduser("~/.mine"), "w").write("settings")
child = subprocess.Popen(["sleep", "1000"])
far = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print("pids", os.getpid(), child.pid, far.pid, flush=True)
print("environment", sorted(os.environ), flush=True)
sys.argv = ["probe", "0.02"]
runpy.run_path(os.environ["PROBE"], run_name="__main__")
"""
STUBBORN_PROGRAM = check.BARE_PROBE.model_copy(
    update={
        "arguments": ("-P", "{home}/stubborn.py"),
        "files": {"stubborn.py": STUBBORN},
        "environment": {"PROBE": str(Path(check.__file__).with_name("probe.py"))},
    }
)


def task_of(program: Program) -> Task:
    return Task(
        id="desktop/probe-v1",
        title="Probe",
        goal="None.",
        entry_point="environments.native.env:make_native",
        spaces=(ActionSpace.GUI,),
        milestones=(),
        max_steps=10,
    )


@pytest.fixture
def start() -> Iterator[Callable[[Program], NativeEnv]]:
    made: list[NativeEnv] = []

    def begin(program: Program) -> NativeEnv:
        env = NativeEnv(task_of(program), ActionSpace.GUI, program)
        made.append(env)
        env.reset(seed=7)
        return env

    yield begin
    for env in made:
        env.close()


def log_of(env: NativeEnv) -> list[str]:
    return env._truth.sources.log.read_text().splitlines()


def events_of(env: NativeEnv) -> list[str]:
    return [line.split()[0] for line in log_of(env) if line.startswith(("key", "button"))]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


class TestOnADisplay:
    pytestmark = needs_display

    def test_window_fills_the_screen_and_gestures_reach_it(self, start):
        env = start(check.BARE_PROBE)
        frame = env.render()
        assert frame.shape == (480, 640, 3) and len(np.unique(frame.reshape(-1, 3), axis=0)) == 1
        assert frame[0, 0].tolist() == list(COLOURS[0].to_bytes(3, "big"))
        observation, reward, over, truncated, info = env.step({"verb": "press", "key": "a"})
        assert observation["frame"][479, 639].tolist() == list(COLOURS[1].to_bytes(3, "big"))
        assert (reward, over, truncated, info) == (0.0, False, False, {"illegal": None})
        env.step({"verb": "click", "x": 600, "y": 400, "count": 2})
        env.step({"verb": "wait", "ms": 50})
        assert events_of(env) == ["key_down", "key_up"] + ["button_down", "button_up"] * 2

    def test_a_key_that_is_put_down_is_up_at_the_end_of_the_step(self, start):
        env = start(check.BARE_PROBE)
        env.step({"verb": "key_down", "key": "shift"})
        env.step({"verb": "wait", "ms": 50})
        assert events_of(env) == ["key_down", "key_up"]

    def test_program_stands_still_between_steps(self, start):
        env = start(check.BARE_PROBE)
        assert state_of(env.desktop.program) == "T"
        before = len(log_of(env))
        time.sleep(0.3)
        assert len(log_of(env)) == before
        assert env.state_hash() == env.state_hash()
        env.step({"verb": "wait", "ms": 300})
        assert len(log_of(env)) > before

    def test_advance_lets_time_pass_without_an_action(self, start):
        env = start(check.BARE_PROBE)
        before, moment = len(log_of(env)), env.moment
        assert env.advance(300) is False
        assert len(log_of(env)) > before and env.moment == moment + 1 and events_of(env) == []

    @needs_clock
    def test_clock_stands_still_while_the_program_is_stopped(self):
        report = check.measure_clock(check.PROBE, stop_s=1.5)
        assert not report.jumps, report

    def test_self_test_detects_a_clock_that_jumps(self):
        report = check.measure_clock(check.BARE_PROBE, stop_s=1.5)
        assert report.jumps, report

    @needs_clock
    def test_clock_begins_at_the_date_of_the_seed(self, start):
        env = start(check.PROBE)
        began = float(next(line for line in log_of(env) if line.startswith("time")).split()[2])
        assert 0 <= began - (EPOCH + 7 * 60) < 30

    def test_home_is_private_and_nothing_of_the_environment_is_handed_on(self, start, monkeypatch):
        monkeypatch.setenv("SOME_API_KEY", "secret")
        env = start(STUBBORN_PROGRAM)
        home = env._truth.sources.home
        assert (home / ".mine").read_text() == "settings" and home.is_relative_to(tempfile.gettempdir())
        names = next(line for line in log_of(env) if line.startswith("environment"))
        assert "SOME_API_KEY" not in names and "'HOME'" in names
        first = home
        env.reset(seed=8)
        assert not first.exists() and env._truth.sources.home != first
        second = env._truth.sources.home
        env.close()
        assert not second.exists()

    def test_no_process_outlives_the_episode(self, start):
        env = start(STUBBORN_PROGRAM)
        pids = [int(pid) for pid in next(line for line in log_of(env) if line.startswith("pids")).split()[1:]]
        pids += env.desktop.pids
        assert not any(gone(pid) for pid in pids)
        env.close()
        wait_until(lambda: all(gone(pid) for pid in pids))

    def test_no_process_outlives_a_parent_that_is_killed(self):
        script = (
            "import time\n"
            "from environments.native.env import NativeEnv\n"
            "from tests_native import STUBBORN_PROGRAM, task_of, log_of, ActionSpace\n"
            "env = NativeEnv(task_of(STUBBORN_PROGRAM), ActionSpace.GUI, STUBBORN_PROGRAM)\n"
            "env.reset(seed=1)\n"
            "print(*[line for line in log_of(env) if line.startswith('pids')][0].split()[1:], *env.desktop.pids,\n"
            "      env._truth.sources.home.parent, flush=True)\n"
            "time.sleep(100)\n"
        )
        loader = (
            "import importlib.util, sys\n"
            f"spec = importlib.util.spec_from_file_location('tests_native', {__file__!r})\n"
            "module = importlib.util.module_from_spec(spec); sys.modules['tests_native'] = module\n"
            "spec.loader.exec_module(module)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        parent = subprocess.Popen(
            [sys.executable, "-c", loader + script], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert parent.stdout is not None
        *pids, scratch = parent.stdout.readline().split()
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
        wait_until(lambda: all(gone(int(pid)) for pid in pids) and not Path(scratch).exists())

    def test_program_that_ends_by_itself_ends_the_episode(self, start):
        env = start(check.BARE_PROBE.model_copy(update={"arguments": ("-c", _ENDING)}))
        assert env.step({"verb": "press", "key": "a"})[2]
        moment = env.moment
        _, reward, over, _, _ = env.step({"verb": "press", "key": "a"})
        assert over and reward == 0.0 and not env.success() and env.moment == moment + 1

    def test_program_that_is_killed_is_the_machines_fault(self, start):
        env = start(check.BARE_PROBE)
        os.kill(env.desktop.program, signal.SIGKILL)
        with pytest.raises(DisplayError, match="signal 9"):
            env.step({"verb": "wait", "ms": 50})

    def test_program_that_does_not_start_says_why(self, start):
        broken = check.BARE_PROBE.model_copy(update={"arguments": ("-c", "raise SystemExit('no board found')")})
        with pytest.raises(DisplayError, match=r"ended with status 1.*no board found"):
            start(broken)

    def test_window_that_does_not_appear_is_named(self, start):
        other = check.BARE_PROBE.model_copy(update={"window": "^another title$", "start_s": 1.0})
        with pytest.raises(DisplayError, match=r"no window that matches.*'arena probe"):
            start(other)

    def test_there_is_no_way_back_and_no_expert(self, start):
        env = start(check.BARE_PROBE)
        assert env.reversible is False
        for use in (env.snapshot, lambda: env.restore(b"")):
            with pytest.raises(Irreversible, match="from its start"):
                use()
        with pytest.raises(NoExpert, match="no scripted expert"):
            env.expert_action()

    def test_schema_refusal_changes_nothing(self, start):
        env = start(check.BARE_PROBE)
        before, moment = len(log_of(env)), env.moment
        with pytest.raises(InvalidAction):
            env.step({"verb": "click", "x": 640, "y": 0})
        assert env.moment == moment and len(log_of(env)) == before


_ENDING = """
import sys
import tempfile
from Xlib import X
from Xlib.display import Display
display = Display()
window = display.screen().root.create_window(0, 0, 99, 99, 0, 24, event_mask=X.KeyPressMask)
window.set_wm_name("arena probe")
window.map()
while display.next_event().type != X.KeyPress:
    pass
"""


def test_missing_program_names_the_command():
    program = check.BARE_PROBE.model_copy(update={"executable": "no-such-game", "packages": ("no-such-package",)})
    assert program.missing() == [
        "the program no-such-game is not installed; install it with: apt-get install no-such-package"
    ]


def test_missing_program_is_refused_when_the_environment_is_made(monkeypatch):
    monkeypatch.setattr("environments.native.program.SEARCH_PATH", "/nowhere")
    with pytest.raises(MissingProgram, match=r"desktop/flood-v1.*apt-get install sgt-puzzles") as caught:
        environments.make("desktop/flood-v1", "gui")
    assert isinstance(caught.value, MissingEngine)
    assert set(check.check()) == {task.id for task in environments.match("desktop/*")}
    assert all(problems for problems in check.check().values())


def test_clock_file_goes_back_by_the_length_of_each_stop(tmp_path):
    clock = Clock(tmp_path / "clock", time.time() + 1000)
    first = float((tmp_path / "clock").read_text())
    clock.stop()
    clock.stop()
    time.sleep(0.05)
    clock.go()
    clock.go()
    second = float((tmp_path / "clock").read_text())
    clock.close()
    assert 0.05 <= first - second < 10 and 900 < second < 1001
    with pytest.raises(ValueError, match="in the past"):
        Clock(tmp_path / "other", 0.0)


def test_programs_are_declared_whole():
    """Every native task names a known program with packages, and says by its tags what it lacks."""
    for task in environments.match("desktop/*"):
        program = program_of(task)
        assert program.packages and task.spaces == (ActionSpace.GUI,) and "native" in task.tags
        assert ("vlm-judged" in task.tags) == (not program.truth)
        assert task.entry_point == f"{make_native.__module__}:{make_native.__name__}"
        assert 5 <= len(task.milestones) <= 12


def test_templates_name_seed_level_and_home(tmp_path):
    program = check.BARE_PROBE.model_copy(
        update={"arguments": ("{seed}", "{seed%70+1}", "{home}/x"), "files": {"a/b.conf": "s={seed} {other}"}}
    )
    launch = program.launch(tmp_path, seed=141)
    assert launch.argv[1:] == ["141", "2", f"{tmp_path}/home/x"]
    assert (tmp_path / "home/a/b.conf").read_text() == "s=141 {other}"
