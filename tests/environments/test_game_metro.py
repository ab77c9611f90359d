"""Metro: drawing lines, the way of passengers through them, crowds, and what a mouse can do wrong."""

from itertools import pairwise
from math import dist

import numpy as np
import pytest

from environments.game import InputEvent
from environments.games import metro_view
from environments.games.metro import Connect, Metro, Remove, Select, Wait
from environments.games.metro_network import LETTERS, MOST_WAITING, NO_STATION, SAME_STATION, City, Station


@pytest.fixture
def game():
    metro = Metro(busy=(0.0, 0.0))
    metro.reset(np.random.default_rng(1))
    # Four stations in a row, far from any river.
    shapes = ("circle", "triangle", "circle", "square")
    metro.city = City([Station(60 + 80 * i, 200, shape, 0) for i, shape in enumerate(shapes)], [(30, 400), (440, 400)])
    return metro


def connect(game, tracks):
    return [game.apply(Connect(do="connect", start=a, end=b)) for a, b in tracks]


def run(game, ticks):
    for _ in range(ticks):
        game.tick()


def drag(game, start, end, *, tick=True):
    game.on_input(InputEvent("button_down", button="left", x=start[0], y=start[1]))
    game.on_input(InputEvent("motion", x=end[0], y=end[1]))
    if tick:
        game.tick()
    return game.on_input(InputEvent("button_up", button="left", x=end[0], y=end[1]))


def test_line_starts_anywhere_and_grows_from_both_ends(game):
    assert connect(game, ["BC", "CD", "AB"]) == [None, None, None]
    assert game.city.lines[0].stops == [0, 1, 2, 3]
    assert game.city.lines[0].train.at == 1, "the train stays at the station where it was"


def test_joining_the_ends_closes_a_loop_that_trains_go_round(game):
    connect(game, ["AB", "BC", "CA"])
    line = game.city.lines[0]
    assert line.loop and line.ends == ()
    calls = []
    for _ in range(300):
        game.tick()
        if line.train.dwell == 5 and line.train.run_px == 0.0:
            calls.append(line.stops[line.train.at])
    assert calls[:6] == [1, 2, 0, 1, 2, 0]


def test_refusals(game):
    assert connect(game, ["AB", "AA", "AL", "CD"])[1:] == [
        SAME_STATION,
        NO_STATION,
        "the red line can only be extended from one of its two ends",
    ]
    assert connect(game, ["AB"]) == ["the red line calls at both stations already"]
    connect(game, ["BC", "CA"])
    assert "closed loop" in connect(game, ["AD"])[0]
    assert game.apply(Remove(do="remove", line="gold")) == "the gold line is not in use"


def test_tunnels_are_limited_and_come_back_with_the_line(game):
    game.city.river = [(180, 20), (180, 460)]  # between B and C
    game.tunnels = 1
    assert connect(game, ["BC"]) == [None] and game.city.tunnels_used() == 1
    game.apply(Select(do="select", line="blue"))
    assert "no tunnel is left" in connect(game, ["AD"])[0]
    game.apply(Remove(do="remove", line="red"))
    assert connect(game, ["AD"]) == [None]


def test_passenger_rides_to_the_nearest_station_of_the_shape(game):
    connect(game, ["AB", "BC", "CD"])
    game.city.stations[0].waiting = ["square", "triangle"]
    run(game, 30)
    assert game.city.delivered == 1 and game.city.lines[0].train.aboard == ["square"]
    run(game, 60)
    assert game.city.delivered == 2


def test_passenger_changes_where_lines_meet(game):
    connect(game, ["AB"])
    game.apply(Select(do="select", line="blue"))
    connect(game, ["BC", "CD"])
    game.city.stations[0].waiting = ["square"]
    run(game, 200)
    assert game.city.delivered == 1


def test_nobody_boards_a_train_that_leads_nowhere(game):
    connect(game, ["AB"])
    game.city.stations[0].waiting = ["square"]
    run(game, 100)
    assert game.city.stations[0].waiting == ["square"] and not game.city.lines[0].train.aboard


def test_removing_a_line_sets_its_passengers_down_at_the_last_stop(game):
    connect(game, ["AB", "BC", "CD"])
    game.city.stations[0].waiting = ["square"] * 8
    run(game, 20)
    assert len(game.city.lines[0].train.aboard) == 6
    assert game.apply(Remove(do="remove", line="red")) is None
    assert sum(len(station.waiting) for station in game.city.stations) == 8 and not game.city.lines[0].stops


def test_crowd_loses_patience_and_recovers_it(game):
    station = game.city.stations[0]
    station.waiting = ["square"] * 7
    run(game, 100)
    assert station.pressure == 100 and not game.over
    station.waiting = ["square"] * 6
    run(game, 40)
    assert station.pressure == 60
    station.waiting = ["square"] * 7
    run(game, 240)
    assert game.over and not game.won and game.lost_at == 0
    assert game.draw().shape == (480, 640, 3)


def test_full_station_takes_no_more_passengers():
    game = Metro(busy=(1.0, 1.0), patience_s=1000)
    game.reset(np.random.default_rng(0))
    run(game, 200)
    assert [len(game.city.stations[i].waiting) for i in range(3)] == [MOST_WAITING] * 3


def test_metro_closes_at_the_end_of_the_day():
    game = Metro(day_s=2, busy=(0.0, 0.0))
    game.reset(np.random.default_rng(0))
    run(game, 30)
    assert game.over and not game.won and game.city.clock == 20 and game.score() == 0.0


def test_drag_lays_its_track_before_the_tick_and_tells_refusals_at_its_end(game):
    assert drag(game, (60, 200), (140, 205)) is None and game.city.lines[0].stops == [0, 1]
    assert drag(game, (60, 200), (140, 205)) == "the red line calls at both stations already"
    assert drag(game, (140, 200), (220, 200), tick=False) is None and game.city.lines[0].stops == [0, 1, 2]
    assert drag(game, (220, 200), (400, 350)) == NO_STATION
    assert drag(game, (26, 26), (60, 200)) == NO_STATION
    assert drag(game, (60, 200), (61, 200)) == SAME_STATION


def test_slow_drag_goes_on_from_station_to_station(game):
    game.on_input(InputEvent("button_down", button="left", x=60, y=200))
    for x in (100, 140, 180, 220):
        game.on_input(InputEvent("motion", x=x, y=200))
        game.tick()
    assert game.city.lines[0].stops == [0, 1, 2]
    game.release()
    assert game.drag is None


def test_cards_choose_and_crosses_remove(game):
    connect(game, ["AB"])
    x, y = metro_view.card_centre(2)
    assert game.on_input(InputEvent("button_down", button="left", x=x, y=y)) is None and game.selected == 2
    assert game.on_input(InputEvent("button_down", button="right", x=480, y=230)) is None and game.selected == 2
    x, y = metro_view.cross_centre(0)
    assert game.on_input(InputEvent("button_down", button="left", x=x, y=y)) is None and not game.city.lines[0].stops
    assert game.on_input(InputEvent("button_down", button="left", x=x, y=y)) == "the red line is not in use"


@pytest.mark.parametrize("seed", range(12))
def test_cities_are_drawable_and_can_be_served(seed):
    """Stations keep their distance from each other and the river, and a city never begins with tunnels alone."""
    game = Metro()
    game.reset(np.random.default_rng(seed))
    places = [station.place for station in game.city.stations]
    assert len(places) == 9 <= len(LETTERS) and {s.shape for s in game.city.stations[:3]} == set(metro_view_shapes())
    assert min(dist(a, b) for i, a in enumerate(places) for b in places[:i]) >= 2 * metro_view.REACH_PX
    assert not all(game.city.crosses(a, b) for a, b in pairwise((0, 1, 2)))
    assert all(
        metro_view.station_at(game.city, *metro_view.where(game.city, i, end=True)) in (i, None) for i in range(10)
    )


def metro_view_shapes():
    return "circle", "triangle", "square"


def test_waiting_action_is_the_only_one_with_a_time_of_its_own():
    assert "ms" in Wait.model_fields
    assert not any("ms" in variant.model_fields for variant in (Select, Connect, Remove))


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="stations"):
        Metro(stations=13)
    with pytest.raises(ValueError, match="day_s"):
        Metro(day_s=0)


def test_refusal_is_on_the_screen_for_two_seconds(game):
    quiet = game.draw()
    assert connect(game, ["AA"]) == [SAME_STATION]
    assert not np.array_equal(game.draw(), quiet)
    game.note.fade()
    assert game.note.text
    for _ in range(20):
        game.note.fade()
    assert np.array_equal(game.draw(), quiet)


def test_letters_are_drawn_anew_for_every_city_and_survive_a_restore():
    """A remembered list of tracks must not fit another city."""
    game, twin = Metro(), Metro()
    names = set()
    for seed in range(6):
        game.reset(np.random.default_rng(seed))
        names.add(game.city.letters)
        assert sorted(game.city.letters) == list(LETTERS)
    twin.load(game.state())
    assert len(names) == 6 and twin.city.letters == game.city.letters
