"""One trial: the first attempt, its judging, and the reflections and retries that conditions ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import agents
import environments
from agents.agent import Agent
from arena import diagnosis
from arena.conditions import Condition
from arena.errors import InexactRollback, NotReproduced
from arena.identity import digest
from arena.judging import JudgeConfig
from arena.lessons import Beside, lesson_of
from arena.outcomes import Outcome
from arena.plan import SINGLE_HELD_OUT, Attempt, Demonstration, Filmed, Plan, Trial, transfer
from arena.play import Play
from arena.recorder import Recorder
from arena.review import is_judged, judge_episode
from arena.rollback_check import RollbackChecks
from arena.rounds import Rounds
from environments.env import ArenaEnv
from environments.errors import InfrastructureError, PersonTookOver, RobotError
from storage.models import Episode, RunEpisode
from storage.store import Store

log = logging.getLogger(__name__)

MAX_TRIES = 3
"""Tries of one attempt within one start of a command, when the machine fails (never when the player does)."""

_NOT_AT_ONCE = (PersonTookOver.__name__, InexactRollback.__name__, RobotError.__name__)
"""Failures that another try would only meet again."""

OnEpisode = Callable[[Episode], None]
"""Told about a try that has just been played."""


def _ignore(episode: Episode) -> None:
    """Tell nobody."""


def is_done(episode: Episode | None) -> bool:
    """Whether an attempt needs no (further) try: it ended, and not by a failure of machine or provider."""
    return episode is not None and episode.status == "finished" and not Outcome(str(episode.outcome)).rerun


def rests_on_rollback(attempt: Attempt) -> bool:
    """Whether its world may be taken back to a snapshot, by a supervisor of what a robot senses who may intervene."""
    asked = attempt.condition.diagnosis
    supervised = attempt.spec["supervision"] is not None and "robot" in attempt.task.tags
    return supervised and asked.rollback == "sim" and asked.max_interventions > 0


class TrialRunner:
    """Plays trials in one process; keeps environments and players for the next trial.

    Everything it does is idempotent: what is done already is found by its identity and not repeated.

    Args:
        store: Where it records.
        plan: What its trials belong to.
        scratch: Folder for unfinished videos.
        rollbacks: Folder that remembers which tasks go back exactly here (see `rollback_check`); None forgets.
    """

    def __init__(self, store: Store, plan: Plan, scratch: Path, rollbacks: Path | None = None) -> None:
        self._rollbacks = RollbackChecks(rollbacks)
        self._store = store
        self._plan = plan
        self._scratch = scratch
        self._env: tuple[tuple[str, str], ArenaEnv] | None = None
        self._agent: tuple[str, Agent] | None = None

    @property
    def store(self) -> Store:
        """Where it records."""
        return self._store

    def run(self, trial: Trial, on_episode: OnEpisode = _ignore) -> None:
        """Bring a trial to its end: every condition's last round is played and judged.

        Args:
            trial: What to play.
            on_episode: Told about every try that is played now.
        """
        episode = self.attempt(trial.first, trial.judges, on_episode)
        for condition in trial.retries:
            self._retry(trial, condition, episode, on_episode)

    def attempt(self, attempt: Attempt, judges: Sequence[JudgeConfig] = (), on_episode: OnEpisode = _ignore) -> Episode:
        """Play an attempt unless it is done; judge it unless it is judged. Returns its last try.

        If another run on this store is at the same attempt, its result is waited for and used.

        Raises:
            Busy: if the other run is still at it after an hour.
        """
        episode = self._latest(attempt)
        if episode is not None and is_done(episode) and all(is_judged(self._store, episode, judge) for judge in judges):
            return episode  # without the lock: finished work costs nothing
        with self._store.episode_lock(attempt.identity):
            episode = self._play_out(attempt, on_episode)
            for judge in judges:
                if not is_judged(self._store, episode, judge):
                    judge_episode(self._store, attempt.task, episode, judge)
        return episode

    def _latest(self, attempt: Demonstration) -> Episode | None:
        return self._store.latest_tries([attempt.identity]).get(attempt.identity)

    def _play_out(self, attempt: Attempt, on_episode: OnEpisode) -> Episode:
        """Try until the attempt is done or tries are used up; only under the attempt's lock."""
        episode = self._latest(attempt)
        tries = 0
        while not is_done(episode) and tries < MAX_TRIES:
            unfinished = episode is not None and episode.status == "running"
            try_no = 0 if episode is None else episode.try_no + (0 if unfinished else 1)
            episode = self._play(attempt, try_no)
            tries += 1
            on_episode(episode)
            if episode.outcome == Outcome.PROVIDER_ERROR or episode.outcome_detail.startswith(_NOT_AT_ONCE):
                break  # the gateway has retried, or a person wants the screen; the next start tries again
        if episode is None:
            raise RuntimeError(f"{attempt.identity}: no try was made")
        return episode

    def close(self) -> None:
        """Close the environment and the player that are kept."""
        if self._env is not None:
            self._env[1].close()
            self._env = None
        if self._agent is not None:
            self._agent[1].close()
            self._agent = None

    def _play(self, attempt: Attempt, try_no: int) -> Episode:
        condition = attempt.condition
        supervisor = diagnosis.build(condition.diagnosis) if attempt.spec["supervision"] else None
        with Recorder(self._store, attempt, try_no, self._scratch) as recorder:
            try:
                if rests_on_rollback(attempt) and not self._rollbacks.known(attempt.task):
                    with self._store.episode_lock(f"rollback-{attempt.task.id}"):  # once, not in every worker
                        self._rollbacks.require(attempt.task)
                Play(attempt, self._environment(attempt), self._player(attempt), recorder, supervisor).run()
            except (InfrastructureError, NotReproduced) as error:
                log.warning("%s: %s: %s", recorder.episode_id, type(error).__name__, error)
                self.close()  # a broken display or renderer must not meet the next try
                recorder.fail(error)
        return self._store.episode(f"{attempt.identity}-{try_no}")

    def _environment(self, attempt: Attempt) -> ArenaEnv:
        key = (attempt.spec["task"], attempt.spec["space"])
        if self._env is None or self._env[0] != key:
            if self._env is not None:
                self._env[1].close()
                self._env = None
            self._env = (key, environments.make(*key))
        return self._env[1]

    def _player(self, attempt: Attempt) -> Agent:
        key = digest(attempt.agent.model_dump(mode="json"))
        if self._agent is None or self._agent[0] != key:
            if self._agent is not None:
                self._agent[1].close()
            self._agent = (key, agents.create(attempt.agent.name, attempt.agent.options))
        return self._agent[1]

    def _retry(self, trial: Trial, condition: Condition, episode: Episode, on_episode: OnEpisode) -> None:
        """Reflect and try again until a success, the last round, or an ending that is no score; then transfer."""
        rounds = Rounds.begin(trial.first, condition, self._plan.tutorial(trial.first, condition), episode)
        reported = True
        while not rounds.over:
            following = self._with_lesson(rounds)
            if following is None:  # no result yet, and above all no gain of zero: the next start reflects again
                reported = False
                break
            rounds.played(following, self.attempt(following, trial.judges, on_episode))
        run_id, label = self._plan.run_id, condition.label
        last = len(rounds.attempts) - 1
        links = [
            attempt.link(run_id, label, trial.first.identity, final=reported and place == last)
            for place, attempt in enumerate(rounds.attempts)
        ]
        learned = rounds.learned()
        if reported and learned is not None and is_done(rounds.episodes[-1]):
            for before in self._plan.held_out(trial.first, condition):
                links += self._transfer(before, learned, condition, trial.judges, on_episode)
        self._store.link(links)

    def _transfer(
        self,
        before: Attempt,
        learned: Attempt,
        condition: Condition,
        judges: Sequence[JudgeConfig],
        on_episode: OnEpisode,
    ) -> list[RunEpisode]:
        """Play a held-out seed without a lesson and with it; the rows that say so, a trial of their own."""
        baseline = self.attempt(before, judges, on_episode)
        after = replace(transfer(learned, before), parent=baseline.id)
        self.attempt(after, judges, on_episode)
        run_id, label, name = self._plan.run_id, condition.held_out_label, before.identity
        return [
            before.link(run_id, SINGLE_HELD_OUT, name, final=True),
            before.link(run_id, label, name, final=False),
            after.link(run_id, label, name, final=True),
        ]

    def _with_lesson(self, rounds: Rounds) -> Attempt | None:
        """The next attempt with its lesson, if its condition gives one.

        None if the model's side failed, or if there is no expert episode though one is to be looked at: the retry's
        identity names that expert.
        """
        following, parent = rounds.following(), rounds.episodes[rounds.best]
        if rounds.condition.reflection.evidence == "none":
            return replace(following, parent=parent.id)
        beside = self._beside(rounds.demonstration)
        if beside is None:
            log.warning(
                "%s: no lesson: the expert's episode %s is not done; start the command again to play it and to retry",
                parent.id,
                rounds.demonstration.identity if rounds.demonstration else "",
            )
            return None
        lesson = lesson_of(self._store, rounds, beside)
        if lesson is None:
            return None
        return replace(following, parent=parent.id, lesson_id=lesson.id, lesson=lesson.text or None)

    def _beside(self, wanted: Demonstration | None) -> Beside | None:
        """What a reflection looks at beside the attempt; None if it is not there yet."""
        if wanted is None:
            return Beside()
        if isinstance(wanted, Filmed):
            return Beside(film=self._store.tutorial(wanted.tutorial_id))
        expert = self._latest(wanted)
        return Beside(expert) if is_done(expert) else None
