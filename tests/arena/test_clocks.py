"""How time passes while a player thinks, and that a record of it replays under the latency model."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from sqlalchemy import update

import environments
from agents import registry
from agents.agent import Agent, Decision
from agents.errors import ProviderError
from arena import run
from arena.clocks import RealTime
from arena.experiment import parse
from arena.location import Location
from arena.verification import verify
from environments.actions import TypedActions
from storage.models import Episode, Step
from storage.store import Store


class Dawdler(Agent):
    """Turns at random and takes its time: from nothing to a third of a second a step."""

    name: ClassVar[str] = "dawdler"
    threads: ClassVar[set[str]] = set()

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        rng = self.chance()
        time.sleep(float(rng.choice([0.0, 0.1, 0.33])))
        self.threads.add(threading.current_thread().name)
        assert observation["frame"].shape == (480, 640, 3)  # of its moment, though the world has moved on
        assert isinstance(self.briefing.actions, TypedActions)
        self.briefing.actions.seed(int(rng.integers(2**31)))
        return Decision(action=self.briefing.actions.sample())


@pytest.fixture
def dawdler(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Dawdler]]:
    monkeypatch.setattr(registry, "_agents", dict(registry._agents))
    registry.register(Dawdler)
    yield Dawdler


def play(store: Store, place: Location, clock: str, agent: str = "dawdler", space: str = "semantic") -> Episode:
    text = (
        f"name: clocks\ntasks: games/snake-v1\nspaces: {space}\nseeds: 1\nagents: {agent}\nconditions: single\n"
        f"clock: {clock}\nlimits: {{max_steps: 8}}\n"
    )
    run_id = run.run(parse(text), store, place, workers=0)
    [episode] = store.episodes(run_id)
    return episode


def test_in_real_time_the_game_runs_on_while_the_player_thinks(
    store: Store, place: Location, dawdler: type[Dawdler]
) -> None:
    """The recorded milliseconds are what the wall's clock says, and the snake has made its steps meanwhile."""
    episode = play(store, place, "real-time")
    steps = store.steps(episode.id)
    assert dawdler.threads == {"player"}
    assert any(step.world_ms >= 330 for step in steps)
    assert all(step.think_s * 1000 >= step.world_ms for step in steps)
    env = environments.make("games/snake-v1", "semantic")
    env.reset(seed=0)
    for step in steps:
        env.advance(step.world_ms)
        env.step(step.action or {})
    assert env.clock_ms > 200 * len(steps) or env.game.over  # type: ignore[attr-defined]


def test_a_step_lasts_its_game_time_on_the_wall(store: Store, place: Location) -> None:
    """With a player that answers at once, eight steps of 200 ms take 1.6 s at the least, unless the game ends."""
    episode = play(store, place, "real-time", agent="scripted")
    steps = store.steps(episode.id)
    assert sum(step.env_s for step in steps) >= 0.2 * len(steps) * 0.9


@pytest.mark.parametrize(
    "space",
    [
        "semantic",
        pytest.param(
            "gui", marks=[pytest.mark.display, pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb")]
        ),
    ],
)
def test_recorded_latencies_replay_to_the_same_result(
    store: Store, place: Location, dawdler: type[Dawdler], space: str
) -> None:
    episode = play(store, place, "real-time", space=space)
    result = verify(store, episode)
    assert result.holds and result.steps == episode.n_steps


@pytest.mark.parametrize("column", ["world_ms", "score", "reward", "action"])
def test_a_record_that_was_tampered_with_does_not_verify(store: Store, place: Location, column: str) -> None:
    episode = play(store, place, "stepped", agent="scripted")
    changed: Any = {"world_ms": 2000, "score": 99.0, "reward": 50.0, "action": {"turn": "left"}}[column]
    with store.session() as session:
        session.execute(update(Step).where(Step.episode_id == episode.id, Step.index == 1).values({column: changed}))
    assert verify(store, episode).differences


def test_a_player_that_fails_in_real_time_leaves_a_record_that_verifies(
    store: Store, place: Location, dawdler: type[Dawdler], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The world ran on by a time that belongs to no step: the steps are compared, and the end is not."""
    decide = dawdler.decide

    def fail(self: Dawdler, observation: Mapping[str, Any]) -> Decision:
        if self.step == 3:
            time.sleep(0.5)
            raise ProviderError("gone")
        return decide(self, observation)

    monkeypatch.setattr(dawdler, "decide", fail)
    episode = play(store, place, "real-time")
    assert episode.outcome == "provider_error" and not episode.scored
    result = verify(store, episode)
    assert result.holds and result.steps == 3


def test_a_declared_latency_passes_before_every_action(store: Store, place: Location) -> None:
    episode = play(store, place, "{kind: latency, ms: 400}", agent="scripted")
    assert {step.world_ms for step in store.steps(episode.id)} == {400}
    assert verify(store, episode).holds


def test_an_error_of_the_player_comes_out_of_its_thread(dawdler: type[Dawdler], monkeypatch: Any) -> None:
    env = environments.make("games/snake-v1", "semantic")
    observation, _ = env.reset(seed=0)
    agent = dawdler()

    def fail(_: Any) -> Decision:
        raise ValueError("from the player")

    monkeypatch.setattr(agent, "decide", fail)
    with pytest.raises(ValueError, match="from the player"):
        RealTime(env, agent).think(observation)


def test_advancing_in_pieces_is_advancing_at_once() -> None:
    """Also past the end of the game."""
    whole, parts = (environments.make("games/snake-v1", "semantic") for _ in range(2))
    for total in (170, 1030, 5000):
        whole.reset(seed=3)
        parts.reset(seed=3)
        whole.advance(total)
        for piece in (total // 7,) * 7 + (total % 7,):
            parts.advance(piece)
        assert whole.state_hash() == parts.state_hash() and whole.clock_ms == parts.clock_ms
