"""The corridor's own rules: what is in sight, what counts, when the armour is not enough."""

import numpy as np
import pytest

pytest.importorskip("vizdoom", reason="vizdoom is not installed (extra 'doom')")

from environments.games.corridor import LENGTH, Corridor, _in_sight
from environments.games.doom import DoomAction


@pytest.fixture
def game():
    game = Corridor(needed=4)
    game.reset(np.random.default_rng(1))
    yield game
    game.close()


def play(game, **fields):
    action = DoomAction(**fields)
    game.apply(action)
    for _ in range(action.ms // 29):
        game.tick()
    game.release()


def test_walking_on_counts_and_walking_back_takes_nothing_away(game):
    game.seen["kills"] = 0
    play(game, turn="right" if game.start.turn > 0 else "left", ms=87)
    assert game.score() == 0.0
    while abs(game.aim((LENGTH, 0.0))[1]) > 5:
        fields = {key: value for key, value in game.expert().items() if key in ("turn", "ms", "hands", "move")}
        play(game, **fields)
    play(game, move="forward", ms=300)
    far = game.seen["way"]
    play(game, move="back", ms=300)
    assert far > 0 and game.seen["way"] >= far


def test_armour_without_enough_guards_ends_the_game_unwon(game):
    game.seen |= {"ending": "exit", "kills": 3, "way": LENGTH}
    assert game.over and not game.won and game.score() == 40 + 15 + 30
    assert "armour" not in game.reached() and game.verdict()[0] == "Too many left"
    game.seen["kills"] = 6
    assert game.won and game.score() == 100.0 and "armour" in game.reached()


def test_guards_are_seen_through_the_opening_of_their_niche_only():
    assert _in_sight(0, 0, 160, 64)
    assert not _in_sight(100, 0, 608, 64)
    assert _in_sight(400, 0, 608, -64)


def test_refuses_more_guards_than_there_are():
    with pytest.raises(ValueError, match="needed"):
        Corridor(needed=7)
