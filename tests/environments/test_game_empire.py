"""Five Ambitions: lands that can be ruled, and the rules of moving, building, fighting and seeing."""

import json

import numpy as np
import pytest

from environments.actions.spec import TypedActions
from environments.errors import InvalidAction
from environments.game import InputEvent
from environments.games import empire_view as view
from environments.games.empire import Empire, EmpireAction
from environments.games.empire_realm import RAIDER_HEALTH
from environments.games.empire_rules import ITEMS, TECHS, UNITS, Foe, Unit, apart, around, map_of, reachable, within
from environments.games.empire_world import World

ACTIONS = TypedActions(EmpireAction)


def game_of(seed=0):
    game = Empire()
    game.reset(np.random.default_rng(seed))
    return game


def do(game, **action):
    reason = game.apply(ACTIONS.load(action))
    game.tick()
    game.release()
    return reason


def settled(seed=0):
    """A game with one city where the people started."""
    game = game_of(seed)
    assert do(game, do="found", unit="A") is None
    return game


def put(world, kind, cell, letter="K", health=10):
    """A unit of the player's out of nowhere."""
    unit = Unit(letter, kind, *cell, UNITS[kind].moves, health)
    world.units.append(unit)
    return unit


def beside(world, cell):
    """A free tile of land next to a tile."""
    return next(near for near in around(cell) if world.land.passable(near) and not world.unit_at(near))


def order_to(unit, cell):
    return {"do": "move", "unit": unit.letter, "column": cell[0] + 1, "row": cell[1] + 1}


def tiles():
    return [(x, y) for y in range(9) for x in range(12)]


def test_every_land_has_what_the_ambitions_take():
    """The rival and both camps can be walked to, and there is room for five cities."""
    for number in range(150):
        land = map_of(number)
        home = reachable({cell for cell in tiles() if land.passable(cell)}, land.start)
        assert {land.rival, *land.camps} <= home and len(land.camps) == 2
        assert apart(land.start, land.rival) >= 7
        open_to_traders = reachable(home - {land.rival}, land.start)
        assert len(open_to_traders) == len(home) - 1, "the rival closes no pass"
        sites = []
        for cell in [land.start, *sorted(open_to_traders)]:
            if all(apart(cell, other) >= 3 for other in [*sites, land.rival]):
                sites.append(cell)
        assert len(sites) >= 5
        assert land.viewable >= 85


def test_lands_differ_and_come_back():
    assert len({map_of(number).terrain for number in range(50)}) == 50
    first = map_of(7)
    map_of.cache_clear()
    assert map_of(7) == first


def test_founding_takes_a_settler_and_distance():
    game = game_of()
    assert do(game, do="found", unit="B") == "only a settler can found a city"
    assert do(game, do="found", unit="K") == "there is no such unit of yours"
    assert do(game, do="found", unit="A") is None
    assert [city.letter for city in game.world.cities] == ["Z"]
    put(game.world, "settler", beside(game.world, game.world.cities[0].cell))
    assert do(game, do="found", unit="K") == "another city is too near"


def test_settlers_see_every_city_that_would_be_too_near():
    """A refusal to found cannot tell of a rival that was never seen."""
    assert UNITS["settler"].sight >= 2


def test_building_takes_technology_and_room_in_the_queue():
    game = settled()
    assert do(game, do="build", city="Y", item="scout") == "there is no such city of yours"
    assert do(game, do="build", city="Z", item="library") == "the technology for it is not known"
    assert do(game, do="build", city="Z", item="monument") is None
    assert "has it" in do(game, do="build", city="Z", item="monument")
    assert do(game, do="build", city="Z", item="scout") is None
    assert do(game, do="build", city="Z", item="scout") is None
    assert do(game, do="build", city="Z", item="warrior") == "the queue of this city is full"


def test_what_is_built_appears_and_works():
    game = settled()
    city, before = game.world.cities[0], len(game.world.units)
    do(game, do="build", city="Z", item="monument")
    do(game, do="build", city="Z", item="scout")
    assert game.world.culture_of(city) == 1
    for _ in range(14):
        do(game, do="end_turn")
    assert city.buildings == ["monument"] and game.world.culture_of(city) == 3
    assert len(game.world.units) == before + 1 and city.queue == []


def test_research_needs_its_ground_and_keeps_what_is_left():
    game = settled()
    assert do(game, do="research", tech="iron") == "another technology must come first"
    assert do(game, do="research", tech="bronze") is None
    assert do(game, do="research", tech="bronze") == "this is being researched"
    game.world.science = TECHS["bronze"].cost + 5
    do(game, do="end_turn")
    assert game.world.known == ["bronze"] and game.world.research is None and game.world.science >= 5
    assert do(game, do="research", tech="bronze") == "this technology is known already"
    assert do(game, do="research", tech="iron") is None


def test_city_grows_from_what_it_eats_not():
    game = settled()
    city = game.world.cities[0]
    gain = game.world.yields(city).food - 2 * city.population
    assert gain > 0
    turns = -(-city.food_to_grow // gain)
    for _ in range(turns - 1):
        do(game, do="end_turn")
    assert city.population == 1
    do(game, do="end_turn")
    assert city.population == 2


def test_unit_walks_on_in_later_turns():
    game = game_of()
    world = game.world
    unit = world.unit("C")
    goal = max(
        (cell for cell in tiles() if world.way(unit.cell, cell)), key=lambda cell: len(world.way(unit.cell, cell))
    )
    start = unit.cell
    do(game, **order_to(unit, goal))
    assert unit.moves == 0 and unit.cell != start and unit.goal == goal
    there = unit.cell
    do(game, do="end_turn")
    assert unit.cell != there
    do(game, **order_to(unit, unit.cell))
    assert unit.goal is None


def test_units_change_places_with_those_who_rest():
    """In a pass of one tile nobody blocks the way of the player's other units."""
    world = World(3)
    unit, friend = world.units[1], world.units[2]
    unit.x, unit.y = world.land.start
    world.units[0].x, world.units[0].y = unit.cell
    world.units.pop(0)
    friend.x, friend.y = beside(world, unit.cell)
    start, pass_ = unit.cell, friend.cell
    beyond = next((c for c in around(pass_) if world.land.passable(c) and apart(c, start) == 2), None)
    assert beyond is not None
    world.seen = [[True] * 12 for _ in range(9)]
    assert world.move(friend.letter, friend.cell) is None
    for cell in around(start):  # leave that one way open
        if cell != pass_ and world.land.passable(cell) and len(world.units) < 9:
            put(world, "warrior", cell, "EFGHIJKLMNOP"[len(world.units)])
    assert world.move(unit.letter, beyond) is None
    assert unit.cell == beyond and len({u.cell for u in world.units}) == len(world.units)


def test_moves_that_the_player_can_know_to_be_impossible_are_refused():
    game = game_of()
    world = game.world
    unit = world.unit("B")
    seen = [cell for cell in tiles() if world.is_seen(cell)]
    wet = next((cell for cell in seen if not world.land.passable(cell)), None)
    if wet:
        assert "water" in do(game, **order_to(unit, wet))
    assert "another unit" in do(game, **order_to(unit, world.unit("C").cell))
    unseen = next(cell for cell in tiles() if not world.is_seen(cell) and not world.land.passable(cell))
    assert do(game, **order_to(unit, unseen)) in (None, "no way there is known"), "the unknown tells nothing"


def test_unseen_foes_are_in_no_picture_and_no_refusal():
    game = game_of(1)
    world = game.world
    before = game.draw()
    for camp in world.camps:
        if not world.is_seen(camp.cell):
            camp.health = 3
    world.rival.health = 5
    hidden = next(cell for cell in tiles() if world.is_seen(cell) is False and world.land.passable(cell))
    world.raiders.append(Foe(*hidden, RAIDER_HEALTH, 0))
    assert not world.is_seen(world.rival.cell) and np.array_equal(game.draw(), before)
    assert do(game, **order_to(world.unit("A"), hidden)) is None


def test_raiders_are_seen_only_while_somebody_looks():
    game = game_of()
    world = game.world
    far = next(cell for cell in tiles() if world.land.passable(cell) and cell not in world.in_sight())
    world.seen = [[True] * 12 for _ in range(9)]
    world.raiders.append(Foe(*far, RAIDER_HEALTH, 0))
    assert far not in world.visible_foes()
    put(world, "scout", beside(world, far))
    assert far in world.visible_foes()


def test_swordsmen_take_a_camp_that_costs_a_lone_warrior_its_life():
    world = World(5)
    camp = world.camps[0]
    sword = put(world, "swordsman", beside(world, camp.cell), "K")
    for _ in range(2):
        sword.moves = 2
        assert world.move("K", camp.cell) is None
    assert camp.health == 0 and sword.cell == camp.cell and sword.health > 0
    other = world.camps[1]
    warrior = put(world, "warrior", beside(world, other.cell), "L")
    for _ in range(2):
        warrior.moves = 2
        world.move("L", other.cell)
    assert world.unit("L") is None and other.health > 0


def test_caravans_trade_until_there_is_war():
    world = World(6)
    for letter in "KL":
        put(world, "caravan", beside(world, world.rival.cell), letter)
        world.look(world.rival.cell, 1)
    assert world.move("K", world.rival.cell) is None
    assert world.trades == 1 and world.unit("K") is None
    put(world, "swordsman", beside(world, world.rival.cell), "M")
    assert world.move("M", world.rival.cell) is None and world.at_war
    assert world.move("L", world.rival.cell) == "the rival does not trade with an enemy"
    assert world.move("L", world.camps[0].cell) in (None, "this unit cannot fight")


def test_conquered_city_is_the_players():
    game = settled()
    world = game.world
    world.rival.health = 1
    put(world, "swordsman", beside(world, world.rival.cell))
    assert do(game, **order_to(world.unit("K"), world.rival.cell)) is None
    assert world.conquered and world.city_at(world.land.rival).population == 2
    assert game.ambitions()["Envoy"] == 0.5
    assert {"rival", "second-city"} <= game.reached()


def test_raiders_rob_an_open_city_and_break_on_a_guard():
    game = settled(2)
    world = game.world
    city = world.cities[0]
    world.units = [put(world, "warrior", city.cell, "K")]
    world.raiders = [Foe(*beside(world, city.cell), RAIDER_HEALTH, 0)]
    do(game, do="end_turn")
    assert world.raiders[0].health < RAIDER_HEALTH and city.population == 1
    world.units, city.population = [], 3
    do(game, do="end_turn")
    assert city.population == 2 and world.raiders == []


def test_camps_send_raiders_and_destroyed_camps_do_not():
    for destroyed, bands in ((False, 1), (True, 0)):
        world = World(8)
        world.units = []
        for camp in world.camps:
            camp.health = 0 if destroyed else camp.health
        for _ in range(12):
            world.end_turn()
        assert len(world.raiders) == bands


def test_game_ends_with_the_years_or_the_people():
    game = settled()
    for _ in range(40):
        assert not game.over
        do(game, do="end_turn")
    assert game.over and not game.won
    game = game_of()
    game.world.units = [unit for unit in game.world.units if unit.kind != "settler"]
    assert game.over and game.score() == 0.0


def test_score_is_eighteen_for_each_ambition_and_ten_for_haste():
    game = settled()
    assert game.score() == pytest.approx(18 * (0.6 / 5 + 0.4 / 22) + 18 * game.ambitions()["Explorer"])
    game.world.culture = 165
    assert game.ambitions()["Patron"] == 0.5
    game.world.culture = 9999
    assert game.ambitions()["Patron"] == 1.0 and "half-culture" in game.reached()


def test_state_goes_on_as_if_nothing_had_happened():
    """A game put back from JSON in the middle of a war plays on the same."""
    game = game_of(9)
    for _ in range(60):
        do(game, **game.expert())
    game.world.at_war = True
    twin = Empire()
    twin.load(json.loads(json.dumps(game.state())))
    for _ in range(25):
        action = game.expert()
        assert twin.expert() == action
        do(game, **action), do(twin, **action)
        assert twin.state() == game.state()
    assert np.array_equal(twin.draw(), game.draw())


def test_mouse_and_keyboard_give_the_orders():
    game, twin = game_of(4), game_of(4)
    world = game.world
    unit = world.unit("B")
    goal = next(cell for cell in sorted(within(unit.cell, 2)) if world.way(unit.cell, cell) and not world.unit_at(cell))
    for start, end, action in (
        (view.tile_centre(unit.cell), view.tile_centre(goal), order_to(unit, goal)),
        (view.centre(view.CHIPS["found"]), view.tile_centre(world.unit("A").cell), {"do": "found", "unit": "A"}),
        (
            view.centre(view.CHIPS["monument"]),
            view.tile_centre(world.unit("A").cell),
            {"do": "build", "city": "Z", "item": "monument"},
        ),
        (view.centre(view.TECH_CHIPS["bronze"]),) * 2 + ({"do": "research", "tech": "bronze"},),
        (view.centre(view.CHIPS["end_turn"]),) * 2 + ({"do": "end_turn"},),
    ):
        assert game.on_input(InputEvent("button_down", button="left", x=start[0], y=start[1])) is None
        assert game.on_input(InputEvent("button_up", button="left", x=end[0], y=end[1])) is None
        game.tick()
        game.release()
        assert do(twin, **action) is None
        assert game.state() == twin.state()
    game.on_input(InputEvent("key_down", key="enter"))
    game.on_input(InputEvent("key_down", key="enter"))
    assert game.world.turn == twin.world.turn + 1, "one order a step"


def test_drag_from_nowhere_to_nowhere_means_nothing():
    game = game_of()
    before = game.state()
    empty = next(cell for cell in tiles() if not game.world.unit_at(cell))
    for start, end in (
        ((470, 5), view.tile_centre(empty)),
        (view.centre(view.TECH_CHIPS["iron"]), view.tile_centre(empty)),
        (view.centre(view.CHIPS["found"]), (470, 5)),
        (view.tile_centre(empty), view.tile_centre(empty)),
    ):
        game.on_input(InputEvent("button_down", button="left", x=start[0], y=start[1]))
        assert game.on_input(InputEvent("button_up", button="left", x=end[0], y=end[1])) is None
        game.tick()
        game.release()
        assert game.state() == before


def test_news_that_do_not_fit_make_room_for_the_latest():
    news = [f"{letter}: swordsman ready." for letter in "ZYXWVU"] + ["Raiders rob city Z."]
    line = view.news_line(news)
    assert line.endswith("Raiders rob city Z.") and "U: swordsman" in line and "Z: swordsman" not in line
    assert view.news_line([]) == "A quiet year."


def test_places_for_the_mouse_do_not_overlap():
    boxes = [*view.CHIPS.values(), *view.TECH_CHIPS.values(), view.MAP]
    for i, a in enumerate(boxes):
        assert 0 <= a[0] < a[2] <= 640 and 0 <= a[1] < a[3] <= 480
        assert all(a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1] for b in boxes[i + 1 :])
    assert set(view.CHIPS) == {*ITEMS, "found", "end_turn"} and set(view.TECH_CHIPS) == set(TECHS)


@pytest.mark.parametrize(
    "action",
    [
        {"do": "move", "unit": "A", "column": 0, "row": 1},
        {"do": "move", "unit": "A", "column": 13, "row": 1},
        {"do": "move", "unit": "a", "column": 1, "row": 1},
        {"do": "build", "city": "Z", "item": "palace"},
        {"do": "build", "city": "A", "item": "scout"},
        {"do": "research", "tech": "../iron"},
        {"do": "end_turn", "times": 40},
    ],
)
def test_actions_outside_the_schema_are_refused(action):
    with pytest.raises(InvalidAction):
        ACTIONS.parse(action)


def test_too_few_years_are_refused():
    with pytest.raises(ValueError, match="years"):
        Empire(years=3)


def test_refusals_take_the_place_of_the_news_until_an_order_is_carried_out():
    game = game_of()
    news = game.draw()[24:40, 20:452].copy()
    reason = do(game, do="move", unit="P", column=3, row=3)
    assert game.refused == reason and not np.array_equal(game.draw()[24:40, 20:452], news)
    twin = game_of()
    twin.load(game.state())
    assert np.array_equal(twin.draw(), game.draw())
    do(game, do="found", unit="A")
    assert game.refused == "" and game.world.news == ["City Z is founded."]


def test_work_of_a_city_is_shortened_to_the_room_there_is():
    city = settled().world.cities[0]
    city.queue, city.production = ["swordsman", "scout", "scout"], 3
    assert [view._work(city, room) for room in (200, 100, 10)] == ["swordsman 3/14 +2", "swordsman +2", "swordsman"]
