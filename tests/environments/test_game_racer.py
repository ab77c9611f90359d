"""Ridge Road: how the car moves, what gates, grass and rivals do, and whether the picture tells what a driver needs."""

import numpy as np
import pytest
from pydantic import ValidationError

from environments.game import InputEvent
from environments.games.racer import Racer, RacerAction
from environments.games.racer_track import CHECKPOINTS, LENGTH, SEGMENTS, Car, Rival, Section, Track, make_track

STRAIGHT = Track((Section(SEGMENTS, 0.0, 0.0),), (), 0, 1)
BEND = Track((Section(SEGMENTS, 1.0, 0.0),), (), 0, 1)


@pytest.fixture
def race():
    game = Racer()
    game.reset(np.random.default_rng(0))
    return game


def on(game, track):
    """The same game on another road."""
    game.load({**game.state(), "track": track.as_json()})
    return game


def act(game, steer, pedal, ms):
    assert game.apply(RacerAction(steer=steer, pedal=pedal, ms=ms)) is None
    for _ in range(ms // game.tick_ms):
        game.tick()
    game.release()


def test_tracks_have_their_length_and_differ():
    tracks = [make_track(np.random.default_rng(seed)) for seed in range(60)]
    assert all(sum(section.segments for section in track.sections) == SEGMENTS for track in tracks)
    assert all(len(track.bends) == len(track.heights) > SEGMENTS for track in tracks)
    assert all(abs(height) < 35 for track in tracks for height in track.heights)
    assert len({track.sections for track in tracks}) == 60
    assert all(Track.from_json(track.as_json()) == track for track in tracks)


def test_every_track_bends_both_ways_and_has_traffic():
    for seed in range(60):
        track = make_track(np.random.default_rng(seed))
        assert min(track.bends) < -0.3 and max(track.bends) > 0.3
        assert len(track.rivals) >= 15 and all(abs(rival.lane) <= 0.6 for rival in track.rivals)


def test_gas_brings_speed_the_brake_takes_it_and_hands_off_is_slower(race):
    act(on(race, STRAIGHT), "straight", "gas", 2000)
    fast = race.car.speed
    assert 20 < fast < 40
    act(race, "straight", "coast", 500)
    coasting = race.car.speed
    assert coasting < fast
    act(race, "straight", "brake", 500)
    assert race.car.speed < coasting - 10


def test_a_standing_car_cannot_move_sideways(race):
    act(race, "left", "coast", 1000)
    assert race.car.across == 0.0 and race.car.distance == 0.0


def test_steering_goes_where_it_says(race):
    on(race, STRAIGHT)
    act(race, "straight", "gas", 2000)
    act(race, "left", "gas", 400)
    assert race.car.across < -0.1
    act(race, "right", "gas", 1000)
    assert race.car.across > 0.1


def test_a_sharp_bend_cannot_be_held_at_full_speed_but_can_be_slowly():
    for speed, stays in ((60.0, False), (38.0, True)):
        car = Car(distance=LENGTH / 2, speed=speed)
        for tick in range(40):
            car.speed = speed
            car.drive(BEND, (), 1, 1, tick)
        assert (car.across > -0.2) == stays


def test_grass_slows_the_car():
    road, grass = Car(speed=50.0), Car(speed=50.0, across=1.5)
    for tick in range(40):
        road.drive(STRAIGHT, (), 0, 1, tick)
        grass.drive(STRAIGHT, (), 0, 1, tick)
    assert grass.off_road and grass.speed < 25 < 50 < road.speed


def test_a_rival_in_the_way_costs_speed_and_one_beside_does_not():
    rivals = (Rival(30.0, 0.0, 25.0, 0),)
    for across, hits in ((0.0, True), (0.6, False)):
        car, hit = Car(speed=55.0, across=across), False
        for tick in range(30):
            hit |= car.drive(STRAIGHT, rivals, 0, 1, tick)
        assert hit == hits and (car.speed < 45) == hits
        assert (car.distance < rivals[0].at(29)) == hits


def test_rubbing_along_one_car_is_one_crash(race):
    on(race, Track(STRAIGHT.sections, (Rival(8.0, 0.0, 24.0, 0),), 0, 1))
    race.car.speed = 55.0
    act(race, "straight", "gas", 400)
    assert race.crashes == 1


def test_a_gate_gives_time_and_the_last_one_wins(race):
    on(race, STRAIGHT)
    race.car.distance, race.car.speed = LENGTH / CHECKPOINTS - 1, 50.0
    before = race.left
    race.tick()
    assert race.gates == 1 and race.left > before + 100 and race.reached() >= {"moving", "fast", "gate-1"}
    race.gates, race.car.distance = CHECKPOINTS - 1, LENGTH - 1
    race.tick()
    assert race.won and race.over and "finish" in race.reached()


def test_standing_still_loses_with_nothing(race):
    for _ in range(1000):
        race.tick()
    assert race.over and not race.won and race.score() == 0.0 and race.left == 0


def test_being_late_costs_up_to_ten_points(race):
    race.gates, race.car.distance = CHECKPOINTS, LENGTH
    race.ticks = int(race.track.par_s / 0.05)
    assert race.score() == pytest.approx(100.0, abs=0.2)
    race.ticks = int(1.15 * race.track.par_s / 0.05)
    assert race.score() == pytest.approx(95.0, abs=0.3)
    race.ticks *= 2
    assert race.score() == pytest.approx(90.0)


def test_a_driver_who_only_keeps_to_the_road_reaches_the_finish(race):
    """No look at the traffic, a decision every third of a second: the game can be played, not only solved."""
    for seed in (0, 3, 5):
        race.reset(np.random.default_rng(seed))
        for _ in range(150):
            car = race.car
            wish = -2.0 * car.across + 1.6 * race.track.bend(car.distance + 12) * (car.speed / 60) ** 2
            steer = "straight" if abs(wish) < 0.35 else "right" if wish > 0 else "left"
            act(race, steer, "gas" if car.speed < 42 else "coast", 350)
            if race.over:
                break
        assert race.score() > 60


def test_keys_drive_while_they_are_held(race):
    race.on_input(InputEvent("key_down", key="up"))
    for _ in range(10):
        race.tick()
    moving = race.car.speed
    race.on_input(InputEvent("key_up", key="up"))
    race.tick()
    assert moving > race.car.speed > 0
    race.on_input(InputEvent("key_down", key="down"))
    race.on_input(InputEvent("key_down", key="up"))
    race.tick()
    assert race.braking, "the brake wins over the gas"
    race.release()
    assert race.held == []


def test_every_action_is_one_gesture_of_its_own_time(race):
    for steer in ("left", "straight", "right"):
        for pedal in ("gas", "coast", "brake"):
            (gesture,) = race.gestures({"steer": steer, "pedal": pedal, "ms": 350})
            assert gesture["ms"] == 350


@pytest.mark.parametrize("wrong", [{"ms": 50}, {"ms": 2001}, {"steer": "around"}, {"pedal": "up"}, {"gear": 3}])
def test_actions_outside_the_schema_are_refused(wrong):
    with pytest.raises(ValidationError):
        RacerAction.model_validate({"steer": "left", "pedal": "gas", "ms": 300, **wrong})


def test_bends_and_rivals_are_in_the_picture(race):
    """A right bend takes the far road to the right, a left one to the left; a rival ahead changes the road's middle."""

    def road_at(track, row):
        frame = on(race, track).draw()[row].astype(int)
        grey = (np.ptp(frame, axis=1) < 14) & (frame.mean(axis=1) < 125)
        return float(np.flatnonzero(grey).mean())

    left = Track((Section(SEGMENTS, -1.0, 0.0),), (), 0, 1)
    right = Track((Section(SEGMENTS, 1.0, 0.0),), (), 0, 1)
    race.car.distance, race.car.across = 900.0, 0.0
    assert road_at(left, 250) < road_at(STRAIGHT, 250) - 20 < road_at(STRAIGHT, 250) + 20 < road_at(right, 250)
    free = on(race, STRAIGHT).draw()
    busy = on(race, Track(STRAIGHT.sections, (Rival(925.0, 0.6, 0.0, 1),), 0, 1)).draw()
    assert np.any(free[225:330, 340:460] != busy[225:330, 340:460])


def test_pictures_follow_the_state_alone(race):
    """A game that has driven on draws a loaded moment as a fresh one does."""
    act(race, "left", "gas", 1500)
    saved, picture = race.state(), race.draw()
    act(race, "right", "gas", 2000)
    race.draw()
    other = Racer()
    other.load(saved)
    race.load(saved)
    assert np.array_equal(race.draw(), picture) and np.array_equal(other.draw(), picture)
