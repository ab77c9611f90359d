"""Worlds that are somebody else's programs: what cannot be asked of them, and whose verdicts their scores are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete, update

import environments
from arena import run
from arena.certification import certify
from arena.errors import InvalidExperiment
from arena.experiment import parse
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.review import add_human_verdict
from arena.verification import verify
from environments import registry
from environments.game_env import GameEnv
from environments.task import IRREVERSIBLE, NO_EXPERT, VLM_JUDGED
from storage.models import Episode, Step, Verdict
from storage.store import Store

FOREIGN = "games/foreign-v1"
FILE = f"name: foreign\ntasks: {FOREIGN}\nspaces: semantic\nseeds: 2\nlimits: {{max_steps: 12}}\n"


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Iterator[environments.Task]:
    """The maze, as if it were a program of somebody else's."""
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    tags = (IRREVERSIBLE, VLM_JUDGED, NO_EXPERT)
    yield registry.register(replace(environments.get("games/maze-v1"), id=FOREIGN, tags=tags))


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("agents: scripted\nconditions: single\n", "has none"),
        ("agents: calibrated\nconditions: single\n", "has none"),
        ("agents: random\nconditions: diagnose-and-rollback\n", "cannot be rolled back"),
        (
            "agents: random\nconditions: {name: reflect-and-retry, reflection: {reflector: rules, tutorial: true}}\n",
            "no scripted expert to record a tutorial from",
        ),
    ],
)
def test_what_such_a_world_cannot_give_is_refused_before_anything_is_run(
    foreign: environments.Task, rest: str, told: str
) -> None:
    with pytest.raises(InvalidExperiment, match=told):
        parse(FILE + rest)


def judgement(episode: Episode, fingerprint: str, reached: int) -> list[Verdict]:
    milestones = [milestone.id for milestone in environments.get(FOREIGN).milestones]
    return [
        Verdict(
            id=f"{fingerprint}-{episode.seed}-{name}",
            episode_id=episode.id,
            milestone_id=name,
            judge=f"judge {fingerprint}",
            fingerprint=fingerprint,
            verdict="reached" if number < reached else "not_reached",
        )
        for number, name in enumerate(milestones)
    ]


def test_its_score_is_the_judges_and_without_one_there_is_none(
    foreign: environments.Task, store: Store, place: Location
) -> None:
    """A judge counts who has judged every episode; of several the latest."""
    run_id = run.run(parse(FILE + "agents: random\nconditions: single\n"), store, place, workers=0)
    first, second = store.episodes(run_id)

    def row() -> Any:
        [only] = leaderboard(store, run_id).rows
        return only

    assert (row().score, row().success, row().judge, row().done) == (None, None, "", 2)
    store.add(*judgement(first, "a", 3))
    assert row().score is None, "one of two is judged"
    store.add(*judgement(second, "a", 6))
    assert (row().score.estimate, row().success.estimate, row().judge) == (75.0, 0.5, "judge a")
    store.add(*judgement(first, "b", 0), *judgement(second, "b", 3))
    assert (row().score.estimate, row().judge) == (25.0, "judge b")
    assert store.episode(first.id).score == first.score, "the rows are not touched"


def test_a_person_gives_a_score_once_all_is_judged_and_may_change_their_mind(
    foreign: environments.Task, store: Store, place: Location
) -> None:
    """What a person judged in part is no score, beside a judge of all or alone; of two decisions the latest counts."""
    file = parse(FILE.replace("seeds: 2", "seeds: 1") + "agents: random\nconditions: single\n")
    run_id = run.run(file, store, place, workers=0)
    [episode] = store.episodes(run_id)
    first, *rest = (milestone.id for milestone in foreign.milestones)

    def row() -> Any:
        [only] = leaderboard(store, run_id).rows
        return only

    add_human_verdict(store, foreign, episode, first, "not_reached", 0, name="ada")
    assert row().score is None, "one milestone of several"
    store.add(*judgement(episode, "a", 0))
    assert (row().score.estimate, row().judge) == (0.0, "judge a")
    for name in rest:
        add_human_verdict(store, foreign, episode, name, "reached", 0, name="ada")
    add_human_verdict(store, foreign, episode, first, "reached", 0, name="ada")
    assert (row().score.estimate, row().judge) == (100.0, "human:ada")


def test_an_interrupted_episode_is_played_afresh(
    foreign: environments.Task, store: Store, place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GameEnv, "reversible", False)
    file = parse(FILE.replace("seeds: 2", "seeds: 1") + "agents: random\nconditions: single\n")
    [episode] = store.episodes(run.run(file, store, place, workers=0))
    with store.session() as session:
        session.execute(delete(Step).where(Step.episode_id == episode.id, Step.index >= 5))
        session.execute(update(Episode).where(Episode.id == episode.id).values(status="running", outcome=None))
    tries = store.episodes(run.run(file, store, place, workers=0))
    assert [(e.try_no, e.outcome, e.scored) for e in tries] == [
        (0, "infrastructure_error", False),
        (1, episode.outcome, True),
    ]
    assert "cannot be brought back" in tries[0].outcome_detail


def test_it_is_neither_certified_nor_verified(
    foreign: environments.Task, store: Store, place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "somebody else's program" in certify(foreign).skipped
    file = parse(FILE + "agents: random\nconditions: single\n")
    episode, _ = store.episodes(run.run(file, store, place, workers=0))
    monkeypatch.setattr(GameEnv, "reversible", False)
    assert "does not repeat itself" in verify(store, episode).skipped
