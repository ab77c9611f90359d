"""The NetHack quest: levels that can be solved, states by replay, the closed set of keys, nothing left behind."""

import gc
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from environments import drawing
from environments.errors import InvalidSnapshot
from environments.game import InputEvent
from environments.games.grid import distances
from environments.games.nethack_level import HEIGHT, WIDTH, generate

pytest.importorskip("nle", reason="the extra 'nethack' is not installed")
pytest.importorskip("minihack", reason="the extra 'nethack' is not installed")
from environments.games.nethack import _CODES, _KEYS, NetHack, NetHackAction


def started(seed=0):
    game = NetHack()
    game.reset(np.random.default_rng(seed))
    return game


def play(game, *commands):
    for command in commands:
        game.apply(NetHackAction(do=command))
        game.tick()
        game.release()


def until(game, flag, limit=200):
    for _ in range(limit):
        if flag in game.reached():
            return game
        play(game, game.expert()["do"])
    raise AssertionError(f"{flag} not reached, but {sorted(game.reached())}")


def screen(game):
    return "\n".join(bytes(row).decode() for row in game._see["tty_chars"])


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_levels_can_be_solved_and_only_through_the_vaults_door(first):
    for seed in range(first, first + 50):
        level = generate(seed)
        assert len(level.rows) == HEIGHT and {len(row) for row in level.rows} == {WIDTH}

        def sealed(spot, level=level):
            return (after for after in level.exits(spot) if after != level.vault_door)

        outside = distances(level.start, sealed)
        assert level.key in outside and level.stairs in outside and level.amulet not in outside
        assert level.amulet in distances(level.start, level.exits)
        assert [state for _, state in level.doors].count("locked") == 1


def test_things_and_creatures_never_share_a_place():
    for seed in range(100):
        level = generate(seed)
        spots = [level.start, level.key, level.amulet, level.stairs]
        spots += [spot for _, spot in level.monsters] + [spot for *_, spot in level.clutter]
        assert len(set(spots)) == len(spots) and all(level.room_of(spot) is not None for spot in spots)


def test_levels_differ():
    assert len({generate(seed).rows for seed in range(50)}) == 50


def test_engine_builds_what_was_generated():
    """The hero stands where the plan says, on a stair up, in every one of ten levels."""
    game = NetHack()
    for seed in range(10):
        game.reset(np.random.default_rng(seed))
        assert game.hero == game.level.start and not game.reached() and game.score() == 0.0


def test_quest_goes_by_its_stations():
    game = started(0)
    scores = [until(game, flag).score() for flag in ("left-room", "key", "vault-open", "amulet", "out")]
    assert scores == sorted(scores) and game.won and game.over and scores[-1] >= 90


def test_leaving_without_the_amulet_fails():
    game = started(0)
    goal = game.level.stairs
    for _ in range(200):
        if game.hero == goal or game.over:
            break
        play(game, game._answer() or game._blow() or game._step(goal))
    play(game, "descend")
    assert game.over and not game.won and "out" not in game.reached()
    keys = list(game.keys)
    play(game, "north", "south")
    assert game.keys == keys, "after the end no key is pressed"


def test_fleeing_by_the_way_up_ends_the_quest_and_is_not_called_a_death(monkeypatch):
    game = started()
    play(game, "continue", "ascend", "y")
    told = []
    monkeypatch.setattr(drawing, "banner", lambda canvas, headline, detail, *_, **__: told.append(detail))
    game.draw()
    assert game.over and not game.won and told == ["The hero has fled up the stairs."]


def test_descending_elsewhere_is_no_end():
    game = started(0)
    play(game, "descend")
    assert not game.over and "can't go down here" in screen(game)


def test_load_replays_only_what_is_new(monkeypatch):
    game = started(3)
    states = []
    for _ in range(25):
        states.append((game.state(), screen(game), game.score()))
        play(game, game.expert()["do"])
    starts, presses = [], []
    start, press = type(game._engine).start, type(game._engine).press
    monkeypatch.setattr(type(game._engine), "start", lambda *args: (starts.append(1), start(*args))[1])
    monkeypatch.setattr(type(game._engine), "press", lambda *args: (presses.append(1), press(*args))[1])
    game.load(game.state())
    assert (len(starts), len(presses)) == (0, 0)
    game.load(states[5][0])
    assert (len(starts), len(presses)) == (1, 5) and screen(game) == states[5][1]
    game.load(states[20][0])
    assert (len(starts), len(presses)) == (1, 20) and screen(game) == states[20][1]
    assert game.score() == states[20][2]


def test_two_games_in_one_process_do_not_disturb_each_other():
    one, two, alone = started(1), started(2), started(1)
    for _ in range(30):
        play(one, one.expert()["do"])
        play(two, two.expert()["do"])
    for _ in range(30):
        play(alone, alone.expert()["do"])
    assert screen(one) == screen(alone) and one.state() == alone.state() != two.state()


@pytest.mark.parametrize("key", [ord("S"), ord("#"), 3, 26, ord("!"), 0, 300])
def test_keys_outside_the_set_are_refused_from_a_state_and_ignored_in_the_window(make_env, key):
    """Among them those that save, quit, suspend or open a shell."""
    game = started(0)
    with pytest.raises(ValueError, match="keys"):
        game.load(game.state() | {"keys": [key]})
    before = game.state()
    assert game.on_input(InputEvent("key_down", key=chr(key))) is None and game.state() == before


def test_damaged_snapshot_is_refused(make_env):
    env = make_env("games/nethack-v1", seed=0)
    snapshot = env.snapshot()
    with pytest.raises(InvalidSnapshot):
        env.restore(snapshot.replace(b'"keys": []', b'"keys": [83]'))
    env.restore(snapshot)
    assert env.snapshot() == snapshot


def test_arrows_are_ways_and_only_the_first_key_of_a_step_counts():
    game, twin = started(4), started(4)
    for key in ("left", "right", "s"):
        game.on_input(InputEvent("key_down", key=key))
    game.tick()
    game.release()
    play(twin, "west")
    assert game.state() == twin.state()


def test_control_changes_only_the_kick():
    game = started(4)
    for key in ("ctrl", "c"):
        game.on_input(InputEvent("key_down", key=key))
    assert game.keys == []
    game.on_input(InputEvent("key_down", key="d"))
    assert game.keys == [4] and "In what direction" in screen(game)


def test_every_command_is_one_gesture_with_its_own_key():
    game = started(0)
    for command, key in _KEYS.items():
        (gesture,) = game.gestures({"do": command})
        assert gesture.get("key", gesture.get("text", "+".join(gesture.get("keys", [])))) == key
    assert ord("Q") not in _CODES and ord("S") not in _CODES


def test_resets_leave_nothing_behind():
    """Over 200 levels: no more open files, no more folders; and none once the game is gone."""

    def folders():
        return set(Path(tempfile.gettempdir()).glob("nethack-quest-*"))

    before = folders()
    game = started(0)
    mine = folders() - before
    files = open_files()
    resident = memory()
    for seed in range(200):
        game.reset(np.random.default_rng(seed))
        play(game, game.expert()["do"])
    assert open_files() == files
    assert memory() - resident < 20
    del game
    gc.collect()
    assert not any(folder.exists() for folder in mine)


def open_files():
    """How many, where the system tells it."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def memory():
    """Resident memory in MB, where the system tells it."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if status.exists() else 0.0
