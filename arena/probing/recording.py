"""A recorded episode as questions are made from it: its frames, and moments of it with what the engine knows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import environments
from arena.identity import canonical, derived_seed
from arena.review import EpisodeFrames
from arena.sampling import sample_frames
from environments.actions.sampling import sample_schema
from environments.env import ArenaEnv
from environments.errors import EnvironmentsError
from environments.facts import Facts
from environments.task import ActionSpace, Task
from storage.models import Episode, Step
from storage.store import Store

log = logging.getLogger(__name__)

GLIMPSES = 24
"""Frames of an episode that are compared with each other, at most."""
MOMENTS = 8
"""Moments of an episode at which its engine is asked, at most."""
CHANGED = 0.002
"""Share of a picture that must have changed for two frames to be told apart: a quarter of a cell of the maze."""
_LEVELS = 24
"""A pixel has changed if one of its channels has by more than this, of 255: video coding alone does not."""
_STRIDE = 4
_TRIALS, _DRAWS = 24, 200


@dataclass(frozen=True, slots=True)
class Trial:
    """An action that was tried, on a world that was put back afterwards."""

    action: Any
    legal: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """The world as a frame shows it."""

    frame: int
    facts: Facts
    trials: tuple[Trial, ...]


class Recording:
    """An episode up to its first rollback, after which its frames are no longer in the order of the world's time.

    Args:
        store: Where it is recorded.
        episode: A finished episode with a video.
        seed: Of the probing; decides which frames and moments are looked at.
    """

    def __init__(self, store: Store, episode: Episode, seed: int) -> None:
        self.episode = episode
        self.task: Task = environments.get(episode.task_id)
        self.load = EpisodeFrames(store, episode)
        """Frames by index, (H, W, 3) uint8."""
        self.size = int(episode.video_info["width"]), int(episode.video_info["height"])
        rows = store.steps(episode.id)
        forks = store.interventions(episode.id)
        if forks:
            rows = [row for row in rows if row.index <= min(fork.at_step for fork in forks)]
        self.rows: Sequence[Step] = rows
        self.n_frames = min(len(self.load), rows[-1].frame + 1 if forks and rows else len(self.load))
        """Frames that may be asked about."""
        self.reached = {truth.milestone_id: truth.step_index for truth in store.truths(episode.id)}
        """By milestone, the index of the step after which the engine saw it reached first; -1 for the start."""
        self.action_help = ""
        """How one acts, as players are told; known once `moments` are."""
        self._seed = seed

    @cached_property
    def glimpses(self) -> dict[int, NDArray[np.int16]]:
        """Some frames, equally spaced, every fourth pixel of them: (H / 4, W / 4, 3)."""
        if self.n_frames < 2:
            return {}
        indices = sample_frames(self.n_frames, GLIMPSES, "uniform")
        return {i: f[::_STRIDE, ::_STRIDE].astype(np.int16) for i, f in zip(indices, self.load(indices), strict=True)}

    def differ(self, first: int, second: int) -> bool:
        """Whether two of the glimpses can be told apart."""
        return differ(self.glimpses[first], self.glimpses[second])

    def generator(self, purpose: str) -> np.random.Generator:
        """Chance of this recording's own: which others are probed with it has no part."""
        return np.random.default_rng(derived_seed(self.episode.id, f"{self._seed} {purpose}"))

    @cached_property
    def moments(self) -> list[Moment]:
        """Moments with the engine's truth, found by playing the recorded actions again.

        None where the world cannot be played again, or does not come to what was recorded.
        """
        try:
            env = environments.make(self.episode.task_id, self.episode.space)
        except EnvironmentsError as error:
            log.warning("%s: its engine cannot be asked: %s", self.episode.id, error)
            return []
        self.action_help = env.action_space.help()
        try:
            return list(self._replayed(env)) if env.reversible else []
        except EnvironmentsError as error:
            log.warning("%s: its engine cannot be asked: %s: %s", self.episode.id, type(error).__name__, error)
            return []
        finally:
            env.close()

    def _replayed(self, env: ArenaEnv) -> Iterator[Moment]:
        rng = self.generator("moments")
        fresh = [row for n, row in enumerate(self.rows) if n == 0 or row.frame > self.rows[n - 1].frame]
        chosen = {fresh[int(i)].index for i in rng.permutation(len(fresh))[:MOMENTS]}
        fault = self.episode.spec["fault"]
        env.reset(seed=self.episode.seed, options={"fault": fault} if fault else None)
        for row in self.rows:
            if row.index in chosen:
                yield Moment(row.frame, env.facts(), tuple(_tried(env, rng)))
                chosen.discard(row.index)
            if not chosen:
                return
            if row.world_ms:
                env.advance(row.world_ms)
            status = row.status
            if row.action is not None:
                status = "illegal" if env.step(row.action)[4]["illegal"] else "ok"
            if (status, env.score()) != (row.status, row.score):
                log.warning("%s: step %d does not play as it was recorded", self.episode.id, row.index)
                return


def differ(first: NDArray[np.int16], second: NDArray[np.int16]) -> bool:
    """Whether two pictures of one size, (H, W, 3), are more than nearly identical."""
    changed = np.abs(first - second).max(axis=-1) > _LEVELS
    return bool(changed.mean() >= CHANGED)


def _tried(env: ArenaEnv, rng: np.random.Generator) -> Iterator[Trial]:
    """Actions, and whether the rules allow them now.

    Of typed moves in games alone: a gesture is never refused, and a robot's skill not by a rule but underway.
    """
    if env.space != ActionSpace.SEMANTIC or "robot" in env.task.tags:
        return
    schema: dict[str, Any] = env.action_space.schema()
    drawn = (sample_schema(schema, rng) for _ in range(_DRAWS))
    actions = {canonical(action): action for action in drawn}
    before = env.snapshot()
    for text in sorted(actions)[:: max(1, len(actions) // _TRIALS)]:
        action = env.action_space.parse(actions[text])
        legal = not env.step(action)[4]["illegal"]
        env.restore(before)
        yield Trial(action, legal)
