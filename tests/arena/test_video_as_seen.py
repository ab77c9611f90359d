"""The thin video: what is drawn, what each row points to, and that rollback and interruption change neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

import agents
import environments
from arena import plan
from arena.errors import InvalidExperiment
from arena.experiment import AgentEntry, parse
from arena.outcomes import Outcome
from arena.play import Play
from arena.recorder import Recorder
from arena.supervision import Directive, Moment
from arena.verification import verify
from environments import registry
from storage.models import Episode, Step
from storage.store import Store
from tests.fakes.policy_servers import OpenPi
from tests.fakes.policy_world import TASK, ArmWorld


@pytest.fixture(autouse=True)
def arm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arm of the tests as a task like others; its policy looks at steps 0, 5 and 10, and it is won by the 12th."""
    monkeypatch.setattr(registry, "_tasks", {**registry._tasks, TASK.id: TASK})


class BackOnce:
    """After step `at` the world goes back to step `to`, once."""

    wants_subgoals = privileged = False

    def __init__(self, at: int, to: int) -> None:
        self.at, self.to = at, to

    def fingerprint(self) -> dict[str, Any]:
        return {}

    def begin(self, task: Any, instruction: str, seed: int = 0) -> None:
        """Nothing is kept."""

    def watch(self, moment: Moment) -> Directive | None:
        if moment.index != self.at:
            return None
        body = {"verdict": "fault"}
        return Directive(trigger="test", diagnoser="test", body=body, rollback_to=self.to)

    def recall(self, moment: Moment) -> None:
        """Nothing is kept."""

    def rolled_back(self, to: int) -> None:
        """Nothing is kept."""

    def repaired(self) -> None:
        """Nothing is kept."""

    def undone(self) -> None:
        """Nothing is kept."""


def play(
    store: Store, scratch: Path, video: str, supervisor: BackOnce | None = None
) -> tuple[Episode, list[int], list[int]]:
    """One episode; the frame of each row, and the steps of the world at which `agentview` was drawn."""
    env = environments.make(TASK.id, "native")
    assert isinstance(env, ArmWorld)
    with OpenPi() as server:
        options = {"protocol": "openpi", "url": server.url, "retries": 0}
        entry = AgentEntry.model_validate({"name": "policy", "model": "arm", **options})
        attempt = plan.single(TASK.id, "native", entry, 0, video=video)
        player = agents.create("policy", attempt.agent.options)
        with Recorder(store, attempt, 0, scratch) as recorder:
            outcome = Play(attempt, env, player, recorder, supervisor).run()
        player.close()
    assert outcome == Outcome.WON
    episode = store.episode(recorder.episode_id)
    return episode, [s.frame for s in store.steps(episode.id)], [at for key, at in env.rendered if key == "agentview"]


def cut(store: Store, episode: Episode, kept: int) -> None:
    """Leave the episode as a killed process does after `kept` steps."""
    with store.session() as session:
        session.execute(delete(Step).where(Step.episode_id == episode.id, Step.index >= kept))
        session.execute(
            update(Episode).where(Episode.id == episode.id).values(status="running", outcome=None, scored=False)
        )


def test_every_step_is_drawn_by_default_and_an_as_seen_video_holds_what_the_policy_looked_at(
    store: Store, tmp_path: Path
) -> None:
    """A row whose picture was not drawn names the nearest earlier frame, and the last picture is always there."""
    full, frames, drawn = play(store, tmp_path, "every-step")
    assert frames == list(range(12)) and full.video_info["n_frames"] == 13 and len(drawn) == 13
    thin, frames, drawn = play(store, tmp_path, "as-seen")
    assert frames == [0] * 5 + [1] * 5 + [2] * 2 and drawn == [0, 5, 10, 12]
    assert thin.video_info["n_frames"] == 4
    assert (thin.state_hash, thin.score, thin.n_steps) == (full.state_hash, full.score, full.n_steps)
    assert verify(store, thin).holds


def test_the_setting_is_part_of_an_episodes_identity_and_the_default_leaves_identities_as_they_were(
    store: Store, tmp_path: Path
) -> None:
    full, *_ = play(store, tmp_path, "every-step")
    thin, *_ = play(store, tmp_path, "as-seen")
    assert "video" not in full.spec and thin.spec["video"] == "as-seen"
    assert full.identity != thin.identity


@pytest.mark.parametrize("kept", [3, 5, 8, 11])
def test_an_interrupted_as_seen_episode_ends_with_the_same_frames(store: Store, tmp_path: Path, kept: int) -> None:
    """Nobody looks when the beginning is played again; the rows say where somebody had looked."""
    episode, frames, _ = play(store, tmp_path, "as-seen")
    cut(store, episode, kept)
    again, frames_again, drawn = play(store, tmp_path, "as-seen")
    assert again.id == episode.id and frames_again == frames
    assert drawn == [0, 5, 10, 12] and again.video_info == episode.video_info


@pytest.mark.parametrize("kept", [None, 8, 10])
def test_an_as_seen_video_shows_both_sides_of_a_rollback(store: Store, tmp_path: Path, kept: int | None) -> None:
    """Step 7's result and the moment of step 3 are drawn, so that no row points into the branch that was left."""
    back = BackOnce(at=7, to=3)
    episode, frames, drawn = play(store, tmp_path, "as-seen", back)
    if kept is not None:
        cut(store, episode, kept)
        episode, frames, drawn = play(store, tmp_path, "as-seen", back)
    # Steps 0-4 from frame 0, 5-7 from 1; frame 2 is step 7's result, 3 the restored moment; the policy looks there,
    # since its chunk was dropped, and after 5 more steps; frame 5 is the end.
    assert frames == [0] * 5 + [1] * 3 + [3] * 5 + [4] * 4
    assert drawn == [0, 5, 8, 3, 8, 12] and episode.video_info["n_frames"] == 6


def test_an_unknown_video_is_refused_with_the_choices() -> None:
    with pytest.raises(InvalidExperiment, match="expected one of every-step, as-seen; did you mean 'as-seen'"):
        parse(
            "name: x\ntasks: games/snake-v1\nspaces: gui\nseeds: 1\nagents: random\nconditions: single\nvideo: seen\n"
        )
