"""Crab Coast's own rules: cards, pearls, what each defender does and each crab, and the mouse on the tray."""

import json
from itertools import pairwise

import numpy as np
import pytest

from environments.errors import InvalidAction
from environments.game import InputEvent
from environments.games.lanes import Lanes, LanesAction
from environments.games.lanes_beach import (
    CASTLE,
    COLUMNS,
    CRABS,
    DEFENDERS,
    ENTRY,
    LANES,
    PEARL_LIFE,
    PEARL_VALUE,
    UNIT,
    Beach,
    Coming,
    Crab,
    Pearl,
    schedule,
)
from environments.games.lanes_picture import (
    GRID,
    NET_MIDDLE,
    card_at,
    card_middle,
    cell_at,
    cell_middle,
    pearl_middle,
)

RNG = np.random.default_rng(0)
SIZES = (4, 6, 8, 10)


def game(seed=0, **params):
    made = Lanes(**params)
    made.reset(np.random.default_rng(seed))
    return made


def act(target, **action):
    """One semantic action and the time it takes; the refusal."""
    loaded = LanesAction.model_validate(action).root
    reason = target.apply(loaded)
    for _ in range(max(1, getattr(loaded, "ms", 0) // 400)):
        target.tick()
    target.release()
    return reason


def pause(target):
    """The time of one action, in which nothing is done."""
    target.tick()
    target.release()


def mouse(target, path, button="left"):
    """Press at the first point, go on to the last, one tick, release there; the refusal."""
    (x, y), (to_x, to_y) = path[0], path[-1]
    reasons = [target.on_input(InputEvent("button_down", button=button, x=x, y=y))]
    reasons += [target.on_input(InputEvent("motion", x=px, y=py)) for px, py in path[1:]]
    target.tick()
    reasons.append(target.on_input(InputEvent("button_up", button=button, x=to_x, y=to_y)))
    target.release()
    return next((reason for reason in reasons if reason), None)


def beach(*crabs, purse=1000, **more):
    return Beach(purse=purse, crabs=[Crab(kind, lane, x, CRABS[kind].health, 0) for kind, lane, x in crabs], **more)


def after(sand, steps):
    for _ in range(steps):
        sand.advance(RNG)
    return sand


def test_waves_are_whole_in_order_and_each_comes_in_a_few_lanes():
    """So that where to stand is another question with every seed and every wave."""
    for seed in range(30):
        coming = schedule(np.random.default_rng(seed), SIZES, 50, 80)
        assert [sum(one.wave == wave for one in coming) for wave in range(4)] == list(SIZES)
        assert all(a.step <= b.step and a.wave <= b.wave for a, b in pairwise(coming))
        lanes = [{one.lane for one in coming if one.wave == wave} for wave in range(4)]
        assert [len(some) for some in lanes] == [2, 2, 3, 3]
        assert [one.kind for one in coming].count("king") == 1 and coming[-1].kind == "king"
        assert all(one.kind == "crab" for one in coming if one.wave == 0)


def test_placing_costs_pearls_and_starts_the_cooldown():
    sand = beach(purse=130)
    assert sand.place("oyster", 2, 3) is None
    assert sand.purse == 80 and sand.at(2, 3).kind == "oyster"
    assert "not ready" in sand.place("oyster", 0, 0)
    assert "not enough pearls" in sand.place("squid", 0, 0)
    assert "another defender" in sand.place("rock", 2, 3)
    after(sand, DEFENDERS["oyster"].cooldown)
    assert sand.place("oyster", 0, 0) is None and sand.purse == 30


def test_nothing_stands_in_a_pool_and_crabs_wade_through():
    sand = beach(("crab", 1, 5 * UNIT), pools=[[1, 4]])
    assert "pool" in sand.place("rock", 1, 4)
    after(sand, 25)
    assert sand.crabs[0].x == 5 * UNIT - 25 * CRABS["crab"].speed


def test_oyster_makes_pearls_that_the_sea_takes_back():
    sand = beach(purse=50)
    sand.place("oyster", 4, 0)
    after(sand, DEFENDERS["oyster"].every)
    mine = [pearl for pearl in sand.pearls if (pearl.lane, pearl.column) == (4, 0)]
    assert len(mine) == 1
    sand.defenders = []
    count = len(sand.pearls)
    assert sand.gather() is None and sand.purse == count * PEARL_VALUE and sand.pearls == []
    assert "no pearl" in sand.gather()
    sand.pearls = [Pearl(0, 0)]
    after(sand, PEARL_LIFE)
    assert all(pearl.column >= 2 for pearl in sand.pearls), "only what the tide has brought since"


def test_squid_shoots_crabs_of_its_own_lane_alone():
    sand = beach(("crab", 2, 6 * UNIT), ("crab", 3, 6 * UNIT))
    sand.place("squid", 2, 1)
    after(sand, 20)
    mine, other = sand.crabs
    assert mine.health < CRABS["crab"].health and other.health == CRABS["crab"].health
    assert all(drop.lane == 2 for drop in sand.drops)


def test_squid_is_calm_while_its_lane_is_empty():
    sand = beach(("crab", 0, 6 * UNIT))
    sand.place("squid", 2, 1)
    assert after(sand, 30).drops == []


def test_squid_turns_a_lone_crab_back():
    sand = beach(("crab", 2, ENTRY))
    sand.place("squid", 2, 1)
    after(sand, 120)
    assert sand.crabs == [] and sand.repelled == 1 and sand.flags == 3


def test_rock_holds_a_crab_until_it_is_bitten_through():
    sand = beach(("crab", 2, 6 * UNIT))
    sand.place("rock", 2, 4)
    after(sand, 60)
    assert sand.crabs[0].x > 4 * UNIT + UNIT // 2 and sand.at(2, 4).health < DEFENDERS["rock"].health
    after(sand, 100)
    assert sand.at(2, 4) is None and sand.crabs[0].x < 5 * UNIT


def test_hopper_hops_once_but_not_over_a_rock():
    hop, stop = beach(("hopper", 2, 6 * UNIT)), beach(("hopper", 2, 6 * UNIT))
    hop.place("oyster", 2, 4)
    stop.place("rock", 2, 4)
    after(hop, 24)
    after(stop, 24)
    assert hop.crabs[0].x < 4 * UNIT and hop.crabs[0].hopped and hop.at(2, 4).health == DEFENDERS["oyster"].health
    assert stop.crabs[0].x > 4 * UNIT and not stop.crabs[0].hopped


def test_jelly_stings_neighbouring_lanes_and_geyser_bursts_once():
    sand = beach(*(("hermit", lane, 5 * UNIT) for lane in range(LANES)))
    sand.place("jelly", 2, 4)
    after(sand, 8)
    assert [crab.health < CRABS["hermit"].health for crab in sand.crabs] == [False, True, True, True, False]
    sand = beach(*(("hermit", lane, 5 * UNIT) for lane in range(LANES)))
    sand.place("geyser", 2, 4)
    after(sand, DEFENDERS["geyser"].every)
    assert sand.repelled == 3 and sand.at(2, 4) is None and sand.bursts == [[2, 4]]


def test_crab_that_arrives_takes_a_flag_and_the_last_flag_ends_the_game():
    target = game()
    target.beach.crabs = [Crab("crab", lane, CASTLE + 10, 80, 0) for lane in range(2)]
    pause(target)
    assert target.beach.flags == 1 and not target.over and target.score() == 0
    target.beach.crabs = [Crab("crab", 0, CASTLE + 10, 80, 0)]
    pause(target)
    assert target.over and not target.won and "all-waves" not in target.reached()


def test_waves_are_over_when_their_crabs_are_gone():
    target = game(sizes=(1, 1), first=1, gap=10)
    target.beach.schedule = [Coming(1, 0, 0, "crab"), Coming(11, 1, 0, "crab")]
    pause(target)
    assert target.waves_over == 0
    target.beach.crabs[0].health = 0
    target.beach.advance(RNG)
    assert target.waves_over == 1 and target.score() == 50 and "wave-1" in target.reached() and not target.over
    while not target.beach.crabs:
        target.beach.advance(RNG)
    target.beach.crabs[0].health = 0
    target.beach.advance(RNG)
    assert target.won and target.score() == 100 and "all-waves" in target.reached()


@pytest.mark.parametrize("kind", DEFENDERS)
def test_drag_and_semantic_action_do_the_same(kind):
    one, other = game(3), game(3)
    for target in (one, other):
        target.beach.purse = 500
    free = next([2, c] for c in range(COLUMNS) if [2, c] not in one.beach.pools)
    assert act(one, do="place", defender=kind, lane=3, column=free[1] + 1) is None
    assert mouse(other, [card_middle(kind), (300, 200), cell_middle(*free)]) is None
    assert one.state() == other.state() and one.beach.defenders


def test_drag_is_refused_for_the_same_reason():
    one, other = game(3), game(3)
    for target in (one, other):
        target.beach.purse = 0
    reason = act(one, do="place", defender="squid", lane=1, column=1)
    assert reason and mouse(other, [card_middle("squid"), cell_middle(0, 0)]) == reason
    assert one.state() == other.state()


def test_refusals_name_no_numbers():
    sand = beach(purse=60, pools=[[0, 5]])
    reasons = [sand.gather(), sand.place("squid", 0, 0), sand.place("rock", 0, 5), sand.place("oyster", 0, 0)]
    reasons += [sand.place("oyster", 0, 1)]
    assert sum(reason is not None for reason in reasons) == 4
    assert not any(letter.isdigit() for reason in reasons if reason for letter in reason)


def test_net_and_pearl_gather_everything_once_per_step():
    for where in ("net", "pearl"):
        target = game()
        target.beach.pearls = [Pearl(0, 3), Pearl(4, 8)]
        start = target.beach.purse
        point = NET_MIDDLE if where == "net" else pearl_middle(target.beach.pearls[1])
        assert mouse(target, [point]) is None
        assert target.beach.purse == start + 2 * PEARL_VALUE and target.gathered
    assert "no pearl" in mouse(target, [NET_MIDDLE])


def test_drags_that_mean_nothing_place_nothing():
    """Off the beach, from the sand, with another button, or let go of over the tray."""
    for path, button in (
        ([card_middle("rock"), (20, 200)], "left"),
        ([card_middle("rock"), cell_middle(2, 2), (300, 470)], "left"),
        ([cell_middle(0, 0), cell_middle(1, 1)], "left"),
        ([card_middle("rock"), cell_middle(1, 1)], "right"),
        ([card_middle("rock")], "left"),
    ):
        one, other = game(), game()
        assert mouse(one, path, button) is None
        pause(other)
        assert one.state() == other.state() and not one.beach.defenders


def test_every_pixel_of_the_grid_is_of_one_cell_and_no_card_is_on_it():
    left, top, right, bottom = GRID
    cells = {cell_at(x, y) for x in range(left, right) for y in range(top, bottom)}
    assert cells == {(lane, column) for lane in range(LANES) for column in range(COLUMNS)}
    assert all(cell_at(*cell_middle(*cell)) == cell for cell in cells)
    assert cell_at(left - 1, top) is None and cell_at(right, top) is None and cell_at(left, bottom) is None
    assert all(card_at(*card_middle(kind)) == kind and cell_at(*card_middle(kind)) is None for kind in DEFENDERS)
    assert card_at(*NET_MIDDLE) is None


def test_pools_differ_between_seeds_and_leave_the_castle_free():
    pools = [game(seed).beach.pools for seed in range(12)]
    assert len({json.dumps(one) for one in pools}) >= 11
    assert all(len(one) == 4 and all(column >= 2 for _, column in one) for one in pools)


@pytest.mark.parametrize(
    "junk", [{"do": "place", "defender": "squid", "lane": 0, "column": 1}, {"do": "wait", "ms": 2001}, {"do": "fly"},
             {"do": "place", "defender": "kraken", "lane": 1, "column": 1}, {"do": "gather", "all": True},
             {"do": "place", "defender": "rock", "lane": 1.5, "column": 1}, {"do": "wait", "ms": -1}, {"ms": 100}],
)  # fmt: skip
def test_hostile_actions_are_refused_by_the_schema(make_env, junk):
    env = make_env("games/lanes-v1", seed=0)
    with pytest.raises(InvalidAction):
        env.step(junk)


@pytest.mark.parametrize("params", [{"sizes": ()}, {"sizes": (3, 0)}, {"sizes": (1,) * 6}, {"gap": 1}, {"pools": 9}])
def test_parameters_that_make_no_game_are_refused(params):
    with pytest.raises(ValueError, match="expected"):
        Lanes(**params)


def test_refusal_is_on_the_screen_for_two_seconds():
    target, quiet = game(), game()
    assert act(target, do="gather") == "no pearl lies on the beach"
    pause(quiet)
    assert not np.array_equal(target.draw()[445:477], quiet.draw()[445:477])
    act(target, do="wait", ms=2000)
    act(quiet, do="wait", ms=2000)
    assert np.array_equal(target.draw(), quiet.draw()) and target.state() == quiet.state()


def test_remembered_moves_of_one_seed_do_not_hold_the_others():
    first = game(seed=0)
    moves = []
    while not first.over:
        moves.append(first.expert())
        act(first, **moves[-1])
    assert first.won
    scores = []
    for seed in range(1, 16):
        other = game(seed)
        for move in moves:
            if not other.over:
                act(other, **move)
        scores.append(other.score())
    assert np.mean(scores) < 50
