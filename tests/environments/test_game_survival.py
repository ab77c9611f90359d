"""Survival: walking and using while a key is held, tiers of tools, needs, nights, islands that can be won."""

import numpy as np
import pytest

from environments.game import InputEvent
from environments.games import survival_world as world
from environments.games.survival import MOST, POINTS, Craft, Move, Sleep, Survival, Use, Wait
from environments.games.survival_clock import DAY_TICKS, DUSK_TICKS
from environments.games.survival_craft import BY_KEY, RECIPES, TOOLS
from environments.games.survival_creatures import Creature


@pytest.fixture
def game():
    """A meadow without grazers, the player in its middle."""
    survival = Survival(grazers=0)
    survival.reset(np.random.default_rng(1))
    survival.tiles = [[world.GRASS] * world.SIZE for _ in range(world.SIZE)]
    survival.player, survival.facing = (20, 20), "right"
    return survival


def do(game, action, ticks=1):
    """One step as the environment makes it."""
    refusal = game.apply(action)
    for _ in range(ticks):
        game.tick()
    game.release()
    return refusal


def put(game, dx, dy, kind):
    game.tiles[20 + dy][20 + dx] = kind


def craft(item):
    return Craft(do="craft", item=item)


def use():
    return Use(do="use")


def test_held_key_walks_a_cell_each_tick_until_something_is_in_the_way(game):
    put(game, 4, 0, world.STONE)
    do(game, Move(do="move", direction="right"), 2)
    assert game.player == (22, 20)
    do(game, Move(do="move", direction="right"), 8)
    assert game.player == (23, 20) and game.facing == "right"
    do(game, Wait(do="wait"), 3)
    assert game.player == (23, 20), "released keys do nothing"


def test_lifted_key_stops_the_walk(game):
    game.on_input(InputEvent("key_down", key="left"))
    game.tick()
    game.on_input(InputEvent("key_up", key="up"))
    game.tick()
    game.on_input(InputEvent("key_up", key="left"))
    game.tick()
    assert game.player == (18, 20)


def test_tree_gives_three_wood_and_is_gone(game):
    put(game, 1, 0, world.TREES[0])
    assert do(game, use(), 6) is None
    assert game.carried["wood"] == 3 and world.tile(game.tiles, (21, 20)) == world.GRASS
    assert "nothing ahead" in do(game, use())


@pytest.mark.parametrize(
    ("kind", "tool", "material"),
    [
        (world.STONE, "wood_pickaxe", "stone"),
        (world.COAL, "wood_pickaxe", "coal"),
        (world.IRON, "stone_pickaxe", "iron"),
        (world.CRYSTAL, "iron_pickaxe", "crystal"),
    ],
)
def test_harder_stuff_takes_a_better_pickaxe(game, kind, tool, material):
    put(game, 1, 0, kind)
    for weaker in TOOLS[: TOOLS.index(tool)]:
        game.carried[weaker] = 1
    refusal = do(game, use())
    assert RECIPES[tool].name.lower() in refusal and game.carried[material] == 0
    game.carried[tool] = 1
    assert do(game, use()) is None and game.carried[material] == 1 and material in game.done
    assert world.tile(game.tiles, (21, 20)) == world.FLOOR


def test_drinking_and_eating(game):
    game.needs.water, game.needs.food = 2, 2
    put(game, 1, 0, world.WATER)
    do(game, use(), 4)
    assert game.needs.water == 6
    put(game, 1, 0, world.BUSH)
    do(game, use(), 3)
    assert game.needs.food == 5, "a bush bears once"
    assert "nothing at present" in do(game, use())
    game.clock = 300
    game.tick()
    assert world.tile(game.tiles, (21, 20)) == world.BUSH, "and again after a while"
    game.creatures = [Creature("grazer", 21, 20, health=2)]
    game.needs.food = 2
    do(game, use(), 2)
    assert game.needs.food == 7 and not game.creatures


def test_recipes_ask_for_materials_and_their_place(game):
    assert "not enough wood" in do(game, craft("workbench"))
    game.carried.update(wood=20, stone=20, coal=5, iron=5)
    assert "within two cells of a workbench" in do(game, craft("wood_pickaxe"))
    assert do(game, craft("workbench")) is None and world.tile(game.tiles, (21, 20)) == world.WORKBENCH
    assert do(game, craft("wood_pickaxe")) is None and game.carried["wood"] == 20 - 4 - 2
    assert "in the bag already" in do(game, craft("wood_pickaxe"))
    assert "within two cells of a furnace" in do(game, craft("iron_pickaxe"))
    assert do(game, craft("furnace")) is None and do(game, craft("iron_pickaxe")) is None
    game.player = (23, 20)
    assert game.near("workbench")
    game.player = (24, 20)
    assert not game.near("workbench")


def test_palisade_closes_what_is_free_and_keeps_shades_out(game):
    game.carried["wood"] = 6
    put(game, 0, -1, world.WATER)
    assert do(game, craft("palisade")) is None
    assert [world.tile(game.tiles, cell) for cell in world.beside(game.player)].count(world.PALISADE) == 3
    assert "no free ground" in do(game, craft("palisade"))
    game.clock = DUSK_TICKS
    game.creatures = [Creature("shade", 22, 20, health=4)]
    for _ in range(60):
        game.tick()
    assert game.needs.health == MOST
    assert do(game, use()) is None and game.carried["wood"] == 4, "it can be taken down again"


def test_beacon_wins_from_things_of_every_tier(game):
    game.carried.update(RECIPES["beacon"].cost)
    put(game, 0, 2, world.FURNACE)
    assert do(game, craft("beacon")) is None and game.won and game.over
    assert game.score() == POINTS["beacon"] and sum(POINTS.values()) == 100


def test_shades_come_at_night_strike_and_leave_embers(game):
    game.clock = DUSK_TICKS
    for _ in range(60):
        game.tick()
    assert any(creature.kind == "shade" for creature in game.creatures)
    assert game.needs.health < MOST
    game.creatures = [Creature("shade", 21, 20, health=4, pause=5)]
    game.carried["stone_sword"] = 1
    do(game, use(), 2)
    assert game.carried["ember"] == 1 and "ember" in game.done
    game.clock = DAY_TICKS - 1
    game.tick()
    assert not [creature for creature in game.creatures if creature.kind == "shade"]


def test_sleep_restores_energy_and_a_rested_player_cannot_sleep(game):
    assert "not tired" in do(game, Sleep(do="sleep"))
    game.needs.energy = 3
    do(game, Sleep(do="sleep"), 6)
    assert game.needs.energy == 5 and game.asleep
    do(game, Wait(do="wait"))
    assert not game.asleep


def test_neglected_needs_end_the_game(game):
    game.needs.food = game.needs.water = 0
    for _ in range(100):
        game.tick()
    assert game.over and not game.won and game.needs.health == 0
    clock = game.clock
    game.tick()
    assert game.clock == clock


def test_keys_do_what_the_menu_says(game):
    game.carried["wood"] = 4
    assert [BY_KEY[key].item for key in "12345678"] == list(RECIPES)
    assert game.on_input(InputEvent("key_down", key="1")) is None
    assert world.tile(game.tiles, (21, 20)) == world.WORKBENCH
    assert "not enough wood, stone" in game.on_input(InputEvent("key_down", key="4"))
    assert not any(letter.isdigit() for letter in game.on_input(InputEvent("key_down", key="8")))
    assert game.on_input(InputEvent("key_down", key="9")) is None


def test_only_what_was_in_view_is_on_the_map(game):
    assert sum(map(sum, game.seen)) <= 2 * 99
    seen = sum(map(sum, game.seen))
    do(game, Move(do="move", direction="right"), 5)
    assert sum(map(sum, game.seen)) > seen


@pytest.mark.parametrize("seed", range(6))
def test_islands_differ_and_hold_what_the_beacon_takes(seed):
    tiles, start = world.make_island(np.random.default_rng(seed))
    flat = "".join("".join(row) for row in tiles)
    assert world.tile(tiles, start) == world.GRASS and len(flat) == world.SIZE**2
    assert flat.count(world.CRYSTAL) >= 2 and flat.count(world.IRON) >= 2 and flat.count(world.COAL) >= 3
    assert set(tiles[0]) == set(tiles[-1]) == {world.WATER}, "an island ends in the sea"


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="grazers"):
        Survival(grazers=-1)
