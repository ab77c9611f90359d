"""Rounds: what the next attempt follows, from recorded scores alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import plan
from arena.experiment import parse
from arena.rounds import Rounds
from storage.models import Episode

BUILT = plan.build(
    parse(
        "name: rounds\ntasks: games/maze-v1\nspaces: semantic\nseeds: 1\nagents: random\nconditions:\n"
        "  - {name: text-log, rounds: 5}\n"
        "  - {name: reflect-and-retry, rounds: 5}\n"
        "  - {name: plain-retry, rounds: 5}\n"
    )
)
FIRST = BUILT.trials[0].first
TEXT_LOG, OLDER, PLAIN = BUILT.trials[0].conditions


def ended(attempt: plan.Attempt, score: float | None, *, won: bool = False) -> Episode:
    spec = attempt.spec
    return Episode(
        id=f"{attempt.identity}-0", identity=attempt.identity, try_no=0, spec=spec, task_id=spec["task"],
        space=spec["space"], agent="random", seed=spec["seed"], round=attempt.round,
        score=score, scored=score is not None, success=won,
    )  # fmt: skip


def walk(condition: Any, scores: list[float | None]) -> Rounds:
    rounds = Rounds.begin(FIRST, condition, None, ended(FIRST, scores[0]))
    for score in scores[1:]:
        assert not rounds.over
        attempt = rounds.following()
        rounds.played(attempt, ended(attempt, score))
    return rounds


@pytest.mark.parametrize(
    ("scores", "best", "tried", "learned"),
    [
        ([10.0], 0, [], None),
        ([10.0, 20.0], 1, [], 1),
        ([10.0, 5.0], 0, [1], 1),
        ([10.0, 10.0], 1, [], 1),
        ([10.0, 5.0, 7.0], 0, [1, 2], 2),
        ([10.0, 5.0, 12.0, 11.0], 2, [3], 2),
        ([10.0, 12.0, 11.0, 12.0], 3, [], 3),
    ],
)
def test_the_best_attempt_is_kept_and_worse_ones_are_remembered(
    scores: list[float | None], best: int, tried: list[int], learned: int | None
) -> None:
    rounds = walk(TEXT_LOG, scores)
    assert (rounds.best, list(rounds.tried)) == (best, tried)
    assert rounds.learned() == (None if learned is None else rounds.attempts[learned])
    told = rounds.following().spec["retry"]
    assert told["of"] == rounds.attempts[best].identity and told["round"] == len(scores)
    assert told["tried"] == [rounds.attempts[place].identity for place in tried]


def test_the_older_form_looks_at_the_last_attempt_whatever_its_score() -> None:
    rounds = walk(OLDER, [10.0, 20.0, 5.0])
    told = rounds.following().spec["retry"]
    assert told["of"] == rounds.attempts[2].identity and "tried" not in told


def test_a_success_an_ending_without_a_score_and_the_last_round_end_the_rounds() -> None:
    assert Rounds.begin(FIRST, TEXT_LOG, None, ended(FIRST, 100.0, won=True)).over
    assert Rounds.begin(FIRST, TEXT_LOG, None, ended(FIRST, None)).over
    assert walk(TEXT_LOG, [10.0, None]).over
    assert walk(TEXT_LOG, [10.0, None]).learned() is not None
    assert not walk(TEXT_LOG, [1.0] * 5).over and walk(TEXT_LOG, [1.0] * 6).over


@given(st.lists(st.floats(0, 100), min_size=1, max_size=5))
def test_walking_again_gives_the_same_identities_and_no_two_rounds_share_one(scores: list[float]) -> None:
    first, again = walk(TEXT_LOG, [*scores]), walk(TEXT_LOG, [*scores])
    names = [attempt.identity for attempt in first.attempts]
    assert names == [attempt.identity for attempt in again.attempts]
    assert len(set(names)) == len(names) and first.following().identity not in names


def test_plain_retries_have_identities_of_their_own_and_none_of_a_lesson() -> None:
    rounds = walk(PLAIN, [10.0, 5.0])
    assert rounds.attempts[1].spec["retry"]["reflection"] == {"reflector": "none"}
    assert rounds.attempts[1].lesson_kind == "plain-retry"
    assert len({FIRST.identity, *(attempt.identity for attempt in rounds.attempts), rounds.following().identity}) == 3


def test_an_attempt_on_a_held_out_seed_keeps_the_lesson_and_not_the_seed() -> None:
    learned = walk(TEXT_LOG, [10.0, 20.0]).attempts[1]
    [before] = BUILT.held_out(FIRST, TEXT_LOG.model_copy(update={"heldout": 1}))
    after = plan.transfer(learned, before)
    assert before.spec["seed"] == after.spec["seed"] == 20_000 and before.spec["retry"] is None
    assert after.spec["retry"] == {**learned.spec["retry"], "learned_on": 0}
    assert after.lesson_kind == "text-log (held-out)"
