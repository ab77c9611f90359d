"""What an interrupted episode had spent is part of what it cost, whoever asked."""

from __future__ import annotations

from pathlib import Path

import environments
from agents.calls import ModelCall, Purpose
from arena import plan
from arena.experiment import AgentEntry
from arena.outcomes import Outcome
from arena.recorder import Recorder
from storage.store import Store

ASKED: tuple[Purpose, ...] = ("act", "repair", "diagnose", "repair", "act")
"""A player's question and its second, a diagnoser's and its second, and the player's of the next step."""


def test_an_interrupted_episode_sums_up_all_calls_and_charges_the_player_for_its_own(
    store: Store, tmp_path: Path
) -> None:
    attempt = plan.single("games/maze-v1", "semantic", AgentEntry.model_validate("random"), 1)
    calls = [
        ModelCall(purpose=purpose, model="m", request={}, input_tokens=10**place, output_tokens=0)
        for place, purpose in enumerate(ASKED)
    ]
    env = environments.make("games/maze-v1", "semantic")
    observation, _ = env.reset(seed=1)
    with Recorder(store, attempt, 0, tmp_path) as killed:
        killed.begin(env, observation)
        killed.failed_calls(calls[:4], 0)
        killed.failed_calls(calls[4:], 1)
    with Recorder(store, attempt, 0, tmp_path) as recorder:
        recorder.begin(env, observation)
        assert [call.input_tokens for call in recorder.recorded_calls()] == [1, 10, 10_000]
        recorder.finish(env, Outcome.HORIZON, "")
    env.close()
    summary = store.episode(f"{attempt.identity}-0").summary
    assert (summary["calls"], summary["input_tokens"], summary["cost_unknown"]) == (5, 11_111, True)
