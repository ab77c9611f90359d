"""One trial: the first attempt, its judging, and the reflections and retries that conditions ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import agents
import environments
from agents.agent import Agent
from agents.errors import ProviderError
from arena import diagnosis, reflection
from arena.errors import NotReproduced
from arena.experiment import Condition
from arena.identity import digest
from arena.judging import JudgeConfig
from arena.outcomes import Outcome
from arena.plan import Attempt, Demonstration, Plan, Trial, retry
from arena.play import Play
from arena.recorder import Recorder, record_calls
from arena.reflection import Reflector
from arena.review import is_judged, judge_episode, reflection_evidence
from environments.env import ArenaEnv
from environments.errors import InfrastructureError, PersonTookOver
from storage.models import Episode, Lesson
from storage.store import Store

log = logging.getLogger(__name__)

MAX_TRIES = 3
"""Tries of one attempt within one start of a command, when the machine fails (never when the player does)."""

OnEpisode = Callable[[Episode], None]
"""Told about a try that has just been played."""


def _ignore(episode: Episode) -> None:
    """Tell nobody."""


def is_done(episode: Episode | None) -> bool:
    """Whether an attempt needs no (further) try: it ended, and not by a failure of machine or provider."""
    return episode is not None and episode.status == "finished" and not Outcome(str(episode.outcome)).rerun


class TrialRunner:
    """Plays trials in one process; keeps environments and players for the next trial.

    Everything it does is idempotent: what is done already is found by its identity and not repeated.
    """

    def __init__(self, store: Store, plan: Plan, scratch: Path) -> None:
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
            if episode.outcome == Outcome.PROVIDER_ERROR or episode.outcome_detail.startswith(PersonTookOver.__name__):
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
        """Reflect and try again until a success, the last round, or an ending that is no score."""
        previous, links = trial.first, [trial.first]
        tutorial = self._plan.tutorial(previous, condition)
        reported = True
        for _ in range(condition.rounds):
            if episode.success or not episode.scored:
                break
            lesson = self._reflect(previous, episode, condition, tutorial)
            if lesson is None:  # no result yet, and above all no gain of zero: the next start reflects again
                reported = False
                break
            following = replace(
                retry(previous, condition, tutorial), parent=episode.id, lesson_id=lesson.id, lesson=lesson.text or None
            )
            links.append(following)
            episode = self.attempt(following, trial.judges, on_episode)
            previous = following
        last = len(links) - 1
        self._store.link(
            [
                link.link(self._plan.run_id, condition.label, trial.first.identity, final=reported and position == last)
                for position, link in enumerate(links)
            ]
        )

    def _reflect(
        self, attempt: Attempt, episode: Episode, condition: Condition, tutorial: Demonstration | None
    ) -> Lesson | None:
        """The lesson of a failed attempt; made once, then found.

        None if the model's side failed, or if there is no expert episode though one is to be looked at: the retry's
        identity names that expert.
        """
        expert = self._latest(tutorial) if tutorial else None
        if tutorial is not None and not is_done(expert):
            log.warning(
                "%s: no lesson: the expert's episode %s is not done; start the command again to play it and to retry",
                episode.id,
                tutorial.identity,
            )
            return None
        reflector = reflection.build(condition.reflection)
        fingerprint = digest(reflector.fingerprint())
        lesson_id = f"l-{digest([episode.id, fingerprint, expert.id if expert else None])}"
        known = self._lesson(episode, lesson_id)
        if known is not None:
            return known
        with self._store.episode_lock(attempt.identity):  # another run may reflect on the same episode
            return self._lesson(episode, lesson_id) or self._make_lesson(
                attempt, episode, expert, condition, reflector, lesson_id
            )

    def _lesson(self, episode: Episode, lesson_id: str) -> Lesson | None:
        return next((lesson for lesson in self._store.lessons(episode.id) if lesson.id == lesson_id), None)

    def _make_lesson(
        self,
        attempt: Attempt,
        episode: Episode,
        expert: Episode | None,
        condition: Condition,
        reflector: Reflector,
        lesson_id: str,
    ) -> Lesson | None:
        evidence = reflection_evidence(self._store, attempt.task, episode, expert, condition.reflection)
        try:
            result = reflector.reflect(evidence)
        except ProviderError as error:
            record_calls(self._store, error.calls, episode.id)
            log.warning("%s: no lesson: %s: %s", episode.id, type(error).__name__, error)
            return None
        lesson = Lesson(
            id=lesson_id,
            episode_id=episode.id,
            tutorial_id=expert.id if expert else None,
            reflector=reflector.name,
            fingerprint=digest(reflector.fingerprint()),
            text=result.text,
            frames={"failure": list(evidence.failure_indices), "tutorial": list(evidence.tutorial_indices)},
            call_id=result.calls[-1].id if result.calls else None,
        )
        record_calls(self._store, result.calls, episode.id, lesson)
        if result.status != "ok":
            log.warning(
                "%s: retried without a lesson, the answer was %s: %s", episode.id, result.status, result.problem
            )
        return lesson
