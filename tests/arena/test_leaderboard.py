"""The table: seeds are the units, failures are not done, weights are not pooled."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from arena import run
from arena.calibration import calibration
from arena.experiment import parse
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.reflection import RulesReflector, factory
from storage.models import Episode
from storage.store import Store

TEXT = """
name: table
tasks: games/maze-v1
spaces: semantic
seeds: 3
agents: [scripted]
conditions: [single]
limits: {max_steps: 12}
"""


def test_repetitions_of_a_deterministic_player_add_no_certainty(store: Store, place: Location) -> None:
    once = leaderboard(store, run.run(parse(TEXT), store, place, workers=0)).rows[0]
    text = TEXT.replace("name: table", "name: often") + "repetitions: 4\n"
    often = leaderboard(store, run.run(parse(text), store, place, workers=0)).rows[0]
    assert (once.scored, often.scored) == (3, 12)
    assert once.score is not None and often.score is not None
    assert often.score == once.score and often.score.n == 3


def test_five_of_five_is_no_certainty(store: Store, place: Location) -> None:
    text = TEXT.replace("seeds: 3", "seeds: 5").replace("limits: {max_steps: 12}\n", "")
    success = leaderboard(store, run.run(parse(text), store, place, workers=0)).rows[0].success
    assert success is not None and success.estimate == 1.0 and 0.5 < success.low < 0.6


def test_what_the_provider_failed_is_not_done(store: Store, place: Location) -> None:
    run_id = run.run(parse(TEXT), store, place, workers=0)
    with store.session() as session:
        session.execute(update(Episode).where(Episode.seed == 1).values(outcome="provider_error", scored=False))
    board = leaderboard(store, run_id)
    assert (board.planned, board.done) == (3, 2)


def test_calibration_never_pools_weights_of_different_p(store: Store, place: Location) -> None:
    """A weak and a strong weight of the same gain: pooled, the weak one's retries would turn the sign."""
    text = TEXT.replace(
        "[scripted]", "[{name: calibrated, p: 0.3, gain: 0.1, label: weak}, {name: calibrated, p: 0.8, gain: 0.1}]"
    )
    text = text.replace("[single]", "[reflect-and-retry]").replace("seeds: 3", "seeds: 12").replace("12}", "60}")
    found = [
        item for item in calibration(store, run.run(parse(text), store, place, workers=0)) if item.place == "in all"
    ]
    assert {item.p for item in found} <= {0.3, 0.8} and any(item.p == 0.3 for item in found)
    assert all(item.known == 0.1 and item.inside for item in found)


def test_calibration_knows_the_gain_of_each_kind_of_lesson(store: Store, place: Location) -> None:
    """A plain retry gains nothing, and neither does a placebo: the two are taken together."""
    text = TEXT.replace("[scripted]", "[{name: calibrated, p: 0.4, gain: 0.0, gains: {failure-video: 0.5}}]")
    text = text.replace("[single]", "[plain-retry, failure-video, placebo]").replace("12}", "40}")
    run_id = run.run(parse(text), store, place, workers=0)
    found = [item for item in calibration(store, run_id) if item.place == "in all"]
    assert [item.known for item in found] == [0.0, 0.5] and all(item.inside for item in found)
    board = leaderboard(store, run_id)
    made = [(c.condition, c.reference) for c in board.comparisons if not c.task]
    assert ("failure-video", "plain-retry") in made and ("placebo", "plain-retry") in made


def test_a_new_reflector_makes_a_new_run_and_leaves_the_old_one_whole(
    store: Store, place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXT.replace("[single]", "[reflect-and-retry]").replace("12}", "6}")
    first = run.run(parse(text), store, place, workers=0)
    before = leaderboard(store, first).to_json()
    old = RulesReflector.fingerprint

    def newer(self: RulesReflector) -> dict[str, Any]:
        return {**old(self), "version": "newer"}

    monkeypatch.setattr(RulesReflector, "fingerprint", newer)
    monkeypatch.setattr(factory, "_fingerprint", factory._fingerprint.__wrapped__)  # a process remembers the old ones
    second = run.run(parse(text), store, place, workers=0)
    assert second != first and store.run(second).status == "finished"
    assert leaderboard(store, first).to_json() == before
    assert leaderboard(store, second).done == leaderboard(store, second).planned == 3


def test_a_game_that_ends_while_the_player_thinks_is_lost(store: Store, place: Location) -> None:
    """Snake runs into the wall during a long latency: the game's own ending, and a score."""
    text = TEXT.replace("games/maze-v1", "games/snake-v1").replace("[scripted]", "[random]")
    run_id = run.run(parse(text + "clock: {kind: latency, ms: 60000}\n"), store, place, workers=0)
    assert {(e.outcome, e.n_steps) for e in store.episodes(run_id=run_id)} == {("lost", 1)}
