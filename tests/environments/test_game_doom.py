"""The Doom engine behind two games: any moment is reached exactly, and no process outlives its owner."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import environments
from environments.errors import EngineError

pytest.importorskip("vizdoom", reason="vizdoom is not installed (extra 'doom')")

from environments.games.corridor import Corridor
from environments.games.doom import KEYS, DoomAction
from environments.games.doom_engine import BUTTONS, Engine, Start, turned

ROOT = str(Path(environments.__file__).parents[1])
START = Start("map01", 7, 30)
LONG = [[1, 10], [0b100001, 9], [64, 12], [0, 5], [0b1001, 8]]


def engine_of():
    return Engine("freedoom2.wad", "deadly_corridor.wad", skill=3)


def children(pid):
    """Process ids of the engines that belong to a process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = status.read_text().rpartition(")")
        except OSError:
            continue
        if "(vizdoom" in name and int(rest.split()[1]) == pid:
            found.append(int(status.parent.name))
    return found


def gone(pids):
    """Wait until the processes have ended; whether they have."""
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() and "Z" not in state(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_moment_looks_the_same_however_one_got_there():
    """Played on step by step, jumped to, replayed after something else, and in another process."""
    engine, other = engine_of(), engine_of()
    for length in range(len(LONG) + 1):
        engine.go(START, LONG[:length])
    there = engine.frame(), engine.variable("POSITION_X"), engine.variable("HEALTH")
    other.go(START, LONG)
    assert np.array_equal(other.frame(), there[0])
    engine.go(START, [[2, 20]])
    assert not np.array_equal(engine.frame(), there[0])
    engine.go(START, LONG)
    assert np.array_equal(engine.frame(), there[0])
    assert (engine.variable("POSITION_X"), engine.variable("HEALTH")) == there[1:]
    engine.close()
    other.close()


def test_a_turn_goes_on_where_it_was_interrupted():
    """A run that is played in two parts turns as far as one that is played at once."""
    engine = engine_of()
    engine.go(START, [[16, 20]])
    angle = engine.variable("ANGLE")
    engine.go(START, [[16, 7]])
    engine.go(START, [[16, 20]])
    assert engine.variable("ANGLE") == angle
    assert angle == pytest.approx(30 + turned(20), abs=0.2)
    engine.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_engine_ends_with_close_and_with_its_owner():
    for end in ("close", "collect"):
        engine = engine_of()
        engine.go(START, [])
        mine = children(os.getpid())
        assert mine
        if end == "close":
            engine.close()
        del engine
        gc.collect()
        assert gone(mine)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("end", ["exit", "kill"])
def test_no_engine_survives_its_process(end):
    code = (
        "import sys; from environments.games.doom_engine import Engine, Start;"
        "e = Engine('freedoom2.wad', 'deadly_corridor.wad', skill=3); e.go(Start('map01', 1), []);"
        "print('ready', flush=True); sys.stdin.readline()"
    )
    environment = os.environ | {"PYTHONPATH": ROOT}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as owner:
        assert owner.stdout.readline().strip() == "ready"
        engines = children(owner.pid)
        assert engines
        if end == "kill":
            owner.send_signal(signal.SIGKILL)
        else:
            owner.stdin.write("\n")
            owner.stdin.flush()
        owner.wait()
    assert gone(engines)
    engine = engine_of()  # the next start sweeps up what the killed one left
    engine.go(START, [])
    engine.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_dead_engine_is_the_machines_fault_and_is_replaced():
    engine = engine_of()
    engine.go(START, LONG)
    frame = engine.frame()
    before = children(os.getpid())
    os.kill(before[-1], signal.SIGKILL)
    with pytest.raises(EngineError, match="ViZDoom"):
        engine.go(START, [*LONG, [1, 40]])
    engine.go(START, LONG)
    assert np.array_equal(engine.frame(), frame)
    engine.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("use", ["go", "close"])
def test_an_engine_that_hangs_is_ended(use, monkeypatch):
    """Stopped, it answers nothing: the call fails after a while instead of waiting for ever."""
    monkeypatch.setattr("environments.games.doom_engine._PATIENCE_S", 1.0)
    before = set(children(os.getpid()))
    engine = engine_of()
    engine.go(START, LONG)
    mine = set(children(os.getpid())) - before
    os.kill(min(mine), signal.SIGSTOP)
    if use == "go":
        with pytest.raises(EngineError, match="ViZDoom"):
            engine.go(START, [*LONG, [1, 40]])
        engine.go(START, LONG)
    engine.close()
    assert gone(mine)


def test_refuses_gifts_that_are_no_names():
    with pytest.raises(ValueError, match="gifts"):
        Engine("freedoom1.wad", skill=1, gifts=("chaingun; quit",))


def test_nothing_is_left_where_the_player_was_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = engine_of()
    engine.go(START, [])
    engine.close()
    assert not list(tmp_path.iterdir())


def test_an_action_never_needs_more_keys_than_a_hotkey_has():
    action = DoomAction(move="forward", turn="left", step="right", hands="fire", ms=500)
    assert len(action.buttons()) == 4 and set(action.buttons()) <= set(BUTTONS) == set(KEYS.values())
    game = Corridor()
    assert game.gestures(action.model_dump()) == [{"verb": "hotkey", "keys": ["up", "left", "d", "ctrl"], "ms": 500}]


def test_refuses_a_skill_that_doom_does_not_have():
    with pytest.raises(ValueError, match="skill"):
        Corridor(skill=6)


def test_refuses_runs_that_no_play_leads_to():
    game = Corridor()
    game.reset(np.random.default_rng(0))
    damaged = game.state() | {"runs": [[256, 1]]}
    with pytest.raises(ValueError, match="masks"):
        game.load(damaged)
    game.close()
