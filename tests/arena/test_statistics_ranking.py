"""Ranks that intervals allow, and Bradley-Terry strengths where there are any."""

from __future__ import annotations

import evalica
import numpy as np
import pytest

from arena.statistics import Duel, Interval, bradley_terry, mean_interval, rank_bands


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def between(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 9)


def test_only_who_lies_wholly_above_is_ranked_before() -> None:
    bands = rank_bands([between(80, 90), between(40, 60), between(50, 70), between(0, 10)])
    assert bands == [(1, 1), (2, 3), (2, 3), (4, 4)]


def test_overlaps_need_not_go_on() -> None:
    """The first and the last do not overlap, both overlap with the one between."""
    assert rank_bands([between(60, 80), between(40, 65), between(20, 45)]) == [(1, 2), (1, 3), (2, 3)]


def test_touching_intervals_have_no_order() -> None:
    assert rank_bands([between(50, 60), between(40, 50)]) == [(1, 2), (1, 2)]


def test_what_has_no_interval_could_have_any_rank() -> None:
    bands = rank_bands([between(80, 90), None, mean_interval([50.0]), between(0, 10)])
    assert bands == [(1, 2), None, (1, 3), (2, 3)]


def duels(results: dict[tuple[str, str], list[float]]) -> list[Duel]:
    return [Duel(a, b, r, f"seed {i}") for (a, b), row in results.items() for i, r in enumerate(row)]


def test_two_players_have_the_odds_of_their_wins() -> None:
    """Three wins of four: odds 3, log 3 apart, mean 0."""
    found = bradley_terry(duels({("a", "b"): [1, 1, 1, 0] * 10}), rng())
    assert found.reason == "" and found.duels == 40
    assert found.players["a"].estimate == pytest.approx(np.log(3) / 2, abs=1e-5)
    assert found.players["b"].estimate == pytest.approx(-np.log(3) / 2, abs=1e-5)
    assert found.players["a"].low < np.log(3) / 2 < found.players["a"].high


def test_a_draw_is_half_a_win_to_either() -> None:
    draws = bradley_terry(duels({("a", "b"): [1, 0.5] * 20}), rng())
    wins = bradley_terry(duels({("a", "b"): [1, 1, 1, 0] * 10}), rng())
    assert draws.players["a"].estimate == pytest.approx(wins.players["a"].estimate, abs=1e-5)


def test_the_strengths_are_evalicas_on_the_duels_themselves() -> None:
    chance = rng(1)
    found = duels({pair: list(chance.choice([0, 0.5, 1], 30)) for pair in (("a", "b"), ("b", "c"), ("a", "c"))})
    winners = {0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw, 1.0: evalica.Winner.X}
    theirs = evalica.bradley_terry(
        [d.first for d in found],
        [d.second for d in found],
        [winners[d.result] for d in found],
        tolerance=1e-10,
        limit=10_000,
    ).scores
    logs = np.log(theirs) - np.log(theirs).mean()
    ours = bradley_terry(found, rng()).players
    assert {name: value.estimate for name, value in ours.items()} == pytest.approx(logs.to_dict(), abs=1e-5)


def test_who_never_lost_has_no_finite_strength() -> None:
    found = bradley_terry(
        duels({("expert", "random"): [1] * 9, ("a", "random"): [1, 0, 1], ("a", "expert"): [0]}), rng()
    )
    assert found.players == {}
    assert "no wins both ways" in found.reason and "expert" in found.reason and "a, random" in found.reason


def test_a_cycle_of_wins_is_connected() -> None:
    found = bradley_terry(duels({("a", "b"): [1] * 3, ("b", "c"): [1] * 3, ("c", "a"): [1] * 3}), rng())
    assert [value.estimate for value in found.players.values()] == pytest.approx([0, 0, 0], abs=1e-6)


def test_strangers_have_no_common_scale() -> None:
    assert bradley_terry([], rng()).reason == "there are no two players that met"
    apart = bradley_terry(duels({("a", "b"): [1, 0], ("c", "d"): [1, 0]}), rng())
    assert "a, b | c, d" in apart.reason


def test_resamples_that_fall_apart_are_told_and_no_interval_is_drawn() -> None:
    """One loss in twenty: in a third of the resamples it is missing, and the strengths run away."""
    found = bradley_terry(duels({("a", "b"): [0] + [1] * 19}), rng())
    assert 0.2 < found.degenerate < 0.5
    assert all(not value.drawn and "of resamples degenerate" in value.why for value in found.players.values())


def test_few_seeds_have_no_interval_and_the_same_generator_the_same_digits() -> None:
    few = bradley_terry(duels({("a", "b"): [1, 0]}), rng())
    assert all(value.why == "few seeds" for value in few.players.values())
    many = duels({("a", "b"): [1, 1, 0] * 8})
    assert bradley_terry(many, rng()) == bradley_terry(many, rng())


def test_the_interval_covers_known_strengths() -> None:
    """Three players of log strengths 0.5, 0 and -0.5 on 40 seeds: 95 % of intervals hold them."""
    chance, truth = rng(3), {"a": 0.5, "b": 0.0, "c": -0.5}
    covered = total = 0
    for _ in range(15):
        results = {
            (x, y): list((chance.random(40) < 1 / (1 + np.exp(truth[y] - truth[x]))).astype(float))
            for x, y in (("a", "b"), ("b", "c"), ("a", "c"))
        }
        for name, value in bradley_terry(duels(results), chance).players.items():
            covered += value.covers(truth[name])
            total += 1
    assert total == 45 and covered / total >= 0.84
