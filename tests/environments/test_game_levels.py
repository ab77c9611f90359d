"""The levels: the map that is read from the file, the ground on it, what counts and what the expert does."""
# ruff: noqa: E402  (the engine may be missing: importorskip comes first)

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

vizdoom = pytest.importorskip("vizdoom", reason="vizdoom is not installed (extra 'doom')")

from environments.games.doom import DoomAction
from environments.games.doom_engine import Start
from environments.games.doom_map import read_level
from environments.games.levels import Levels
from environments.games.levels_ground import EXIT_SWITCHES, Heights, ground, regions

WAD = str(Path(vizdoom.root_path) / "freedoom1.wad")
MAPS = ("E1M1", "E1M2", "E1M3", "E1M4", "E1M5")


@pytest.mark.parametrize("name", MAPS)
def test_exit_and_a_key_can_be_got_at(name):
    level = read_level(WAD, name)
    over = ground(level)
    assert all(over.reachable(over.start, over.open_edges(over.ever())) >= 0), "only ground that is reached is kept"
    exits = [line for line in level.lines if line.special in EXIT_SWITCHES and over.cells_along(line, 44)]
    assert exits and len(regions(over)) > 50


def test_walls_hide_and_air_does_not():
    level = read_level(WAD, "E1M4")
    start = next(thing for thing in level.things if thing.kind == 1)
    here = (float(start.x), float(start.y))
    assert level.open_between(here, (here[0] + 8, here[1]))
    assert not level.open_between(here, (here[0] + 30_000, here[1]))


def test_shut_doors_part_the_ground_and_keys_join_it():
    level = read_level(WAD, "E1M2")
    over = ground(level)
    shut = over.open_edges(Heights(level.floors, level.floors, level.ceilings))
    opened = over.open_edges(over.now(level.floors, level.ceilings, ("blue", "red", "yellow")))
    reach = [int((over.reachable(over.start, edges) >= 0).sum()) for edges in (shut, opened)]
    assert reach[0] < reach[1] < len(over.centres)


def test_unknown_maps_and_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="E9M9"):
        read_level(WAD, "E9M9")
    other = tmp_path / "other.wad"
    other.write_bytes(b"PNG " + bytes(40))
    with pytest.raises(ValueError, match="IWAD"):
        read_level(str(other), "E1M1")


def test_leaving_wins_only_after_enough_is_done():
    game = Levels(MAPS)
    game.reset(np.random.default_rng(0))
    assert game.score() == 0.0 and game.explored == 0.0
    assert [game.seen[name] for name in ("health", "armour", "ammo", "weapon")] == [200, 200, 200, 4], (
        "the armoury is carried"
    )
    game.seen |= {"ending": "exit", "explored": list(range(len(regions(game.ground)))), "keys": ["blue"], "door": True}
    assert game.over and not game.won and game.verdict()[1] == "At the exit, but too few enemies are beaten."
    assert game.score() == 40 + 15 + 30 and "exit" not in game.reached()
    game.seen["kills"] = 5
    assert game.won and game.score() == 100.0 and "exit" in game.reached()
    game.close()


def test_a_door_counts_though_it_is_thinner_than_the_way_between_two_looks():
    game = Levels(("E1M1",))
    game.start = Start("E1M1", 1)
    line = next(line for line in game.level.lines if line.left in game.ground.doors)
    (ax, ay), (bx, by) = game.level.ends(line)
    middle, normal = np.array([(ax + bx) / 2, (ay + by) / 2]), np.array([by - ay, ax - bx]) / np.hypot(bx - ax, by - ay)
    assert game._passes_door(tuple(middle + 50 * normal), tuple(middle - 50 * normal))
    assert not game._passes_door(tuple(middle + 50 * normal), tuple(middle + 20 * normal))


def test_the_expert_finishes_a_level():
    game = Levels(("E1M1",))
    game.reset(np.random.default_rng(0))
    for _ in range(450):
        action = DoomAction.model_validate(game.expert())
        game.apply(action)
        for _ in range(max(3, action.ms // 29)):
            game.tick()
        game.release()
        if game.over:
            break
    assert game.won and game.score() == 100.0
    game.close()


def test_the_time_is_up_at_last():
    game = Levels(("E1M4",), seconds=1)
    game.reset(np.random.default_rng(0))
    for _ in range(50):
        game.tick()
    assert game.tics == 35 and game.over and not game.won and game.verdict()[1] == "The time is up."
    game.close()


def test_seeds_choose_map_direction_and_dice():
    game = Levels(MAPS)
    starts = []
    for seed in range(30):
        game.rng = np.random.default_rng(seed)
        starts.append(game.begin())
    assert {start.level for start in starts} == set(MAPS)
    assert len({replace(start, level="") for start in starts}) == 30


def test_refuses_what_cannot_be_played():
    with pytest.raises(ValueError, match="share"):
        Levels(share=0.0)
