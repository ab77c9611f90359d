"""Space Invaders: exact states of the console, its variants, its points, what the keys hold."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import environments
from environments.game import InputEvent

pytest.importorskip("ale_py", reason="the extra 'atari' is not installed")
from environments.games.atari import CENTRED, Emulator, code  # after the check that the engine is there
from environments.games.invaders import Invaders, InvadersAction

FRESH = """
import hashlib, json, sys
from environments.games.atari import Emulator
rom, state, frames = json.load(sys.stdin)
console = Emulator(rom)
console.load(state)
rows = [hashlib.sha256(console.picture().tobytes()).hexdigest()]
for joystick in frames:
    console.frame(joystick)
    rows.append(hashlib.sha256(console.picture().tobytes() + console.ram.tobytes()).hexdigest())
json.dump([rows, console.save()], sys.stdout)
"""


def started(seed=0, **params):
    game = Invaders(**params)
    game.reset(np.random.default_rng(seed))
    return game


def play(game, action, ms=None):
    game.apply(InvadersAction(**action))
    for _ in range((ms or action["ms"]) // 17):
        game.tick()
    game.release()


@pytest.mark.parametrize("rom", ["space_invaders", "montezuma_revenge"])
def test_saved_console_goes_on_alike_in_a_fresh_process(rom, digest):
    """The picture right after `load` too, although the emulator's own state holds none."""
    rng = np.random.default_rng(5)
    console = Emulator(rom)
    console.boot()
    for joystick in rng.integers(0, 18, size=200):
        console.frame(int(joystick))
    state, frames = console.save(), [int(joystick) for joystick in rng.integers(0, 18, size=120)]
    rows = [digest(console.picture())]
    for joystick in frames:
        console.frame(joystick)
        rows.append(digest(np.concatenate([console.picture().ravel(), console.ram])))
    asked = json.dumps([rom, state, frames])
    environment = os.environ | {"PYTHONPATH": str(Path(environments.__file__).parents[1])}
    fresh = subprocess.run(
        [sys.executable, "-c", FRESH], input=asked, env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(fresh.stdout) == [rows, console.save()]


def test_every_position_of_the_joystick_has_a_code_of_its_own():
    sticks = [(x, y, fire) for x in (-1, 0, 1) for y in (-1, 0, 1) for fire in (False, True)]
    assert sorted(map(code, sticks)) == list(range(18)) and code(CENTRED) == 0


@pytest.mark.parametrize(
    "damage",
    [
        {"engine": ""},
        {"engine": "not base64!"},
        {"engine": base64.b64encode(b"\0" * 7000).decode()},
        {"check": "0" * 64},
        {"joystick": []},
        {"joystick": [0, 0, 0]},
        {"joystick": [0, 77]},
        {"joystick": [-1, 0]},
    ],
)
def test_damaged_state_is_refused(damage):
    """A position of the joystick that the emulator does not know would end the process."""
    game = started()
    with pytest.raises(ValueError):
        game.load(game.state() | damage)


def test_no_damaged_byte_reaches_the_emulator():
    """It would believe damaged lengths, and end the process or take gigabytes."""
    game = started()
    state = game.state()
    engine = bytearray(base64.b64decode(state["engine"]))
    for place in range(0, len(engine), 97):
        engine[place] ^= 0xFF
        with pytest.raises(ValueError, match="engine"):
            game.load(state | {"engine": base64.b64encode(engine).decode()})
        engine[place] ^= 0xFF
    game.load(state)
    assert game.state() == state


def test_another_cartridges_state_is_refused():
    other = Emulator("montezuma_revenge")
    other.boot()
    with pytest.raises(ValueError, match="engine"):
        started().load(other.save())


def test_seeds_enter_different_variants_and_moments():
    games = [started(seed) for seed in range(12)]
    assert len({game.console.ram.tobytes() for game in games}) == 12
    shields = {game.console.picture()[150:175].tobytes() for game in games}
    assert len(shields) > 1, "in some variants the shields move"


def test_nothing_is_scored_before_the_first_move():
    for seed in range(6):
        game = started(seed)
        assert game.points == 0 and game.console.lives == 3 and not game.reached() and not game.over


def test_points_are_the_consoles_own():
    game = started()
    while game.points < 100:
        play(game, game.expert())
    tens = game.points // 10
    assert game.score() == pytest.approx(100 * game.points / 600) and tens >= 10
    assert {"first-hit", "points-100"} <= game.reached() and "points-200" not in game.reached()


def test_a_smaller_target_is_won_sooner_and_the_frame_says_so():
    game = started(target=50)
    while not game.over:
        play(game, game.expert())
    assert game.won and game.score() == 100.0 and game.reached() == {"first-hit"}
    before = game.state()
    game.tick()
    assert game.state() == before, "time stands still after the end"


def test_standing_still_loses_all_lives():
    game = started(1)
    while not game.over:
        play(game, {"move": "stay", "fire": False, "ms": 2000})
    assert not game.won and game.console.lives == 0 and game.score() == 0.0


def test_later_one_of_two_opposite_keys_counts_and_the_step_ends_it():
    game, twin = started(), started()
    for key in ("left", "right", "space"):
        game.on_input(InputEvent("key_down", key=key))
    for _ in range(30):
        game.tick()
    game.release()
    play(twin, {"move": "right", "fire": True, "ms": 510})
    assert game.state() == twin.state()
    for one in (game, twin):
        one.tick()
    assert game.state() == twin.state(), "nothing is held any more"


def test_gestures_are_one_and_last_as_long():
    game = started()
    wait = game.gestures({"move": "stay", "fire": False, "ms": 700})
    hold = game.gestures({"move": "left", "fire": False, "ms": 700})
    both = game.gestures({"move": "right", "fire": True, "ms": 700})
    assert wait == [{"verb": "wait", "ms": 700}] and hold == [{"verb": "hold", "key": "left", "ms": 700}]
    assert both == [{"verb": "hotkey", "keys": ["right", "space"], "ms": 700}]


@pytest.mark.parametrize("target", [0, -5, 631])
def test_target_that_the_wave_does_not_hold_is_refused(target):
    with pytest.raises(ValueError, match="target"):
        Invaders(target=target)


def test_missing_engine_is_named_with_its_extra(monkeypatch):
    for module in ("ale_py", "environments.games.atari", "environments.games.invaders"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(environments.errors.MissingEngine, match="atari"):
        environments.make("games/invaders-v1", "semantic")
