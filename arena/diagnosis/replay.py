"""A recorded episode played again up to a step, and from there to its end in the way that the record did not go.

`Course` plays the record; here is its player, and what happens beyond it. An intervention that was suppressed is
carried out as the episode would have done it: the whole world goes back, or the arm alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import agents
import environments
from agents.agent import Agent, Briefing, Decision
from arena.diagnosis.course import Course
from arena.diagnosis.film import Film
from arena.errors import ArenaError
from arena.identity import player_seed
from arena.outcomes import Outcome
from arena.repairs import executable, told
from arena.supervision import UNDO, by_arm
from environments.env import ArenaEnv
from environments.robots import repairs as manoeuvres
from environments.task import ActionSpace
from storage.models import Diagnosis, Episode, Intervention, Step
from storage.store import Store

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv


class NotReplayable(ArenaError):
    """A recorded episode cannot be played again: its world does not repeat itself, or its player is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """The other way, from the fork to its end. Nobody watches there."""

    from_step: int
    """Step index at whose beginning it starts."""
    outcome: str
    """won | lost | horizon"""
    success: bool
    scores: tuple[float, ...] = field(repr=False)
    """After each of its steps."""
    repair_steps: int
    """Of its steps the first so many, which were the arm's: on its way back, and in a repair."""
    state_hash: str
    """SHA-256 of the simulation state in which it ended."""
    score: float
    video: str | None = None
    """SHA-256 of its video, if it was filmed: one picture before each step, and one of the end."""
    video_info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_steps(self) -> int:
        """How many steps it has."""
        return len(self.scores)


class Replay:
    """A recorded episode, to be played again and again up to some step, and from there in another way.

    Args:
        store: where it was recorded.
        episode: a finished and scored one.
        options: of its player, with its `name`, as the experiment gave them.
        films: local folder for unfinished videos; None films nothing.

    Raises:
        NotReplayable: if it has no result, or its world does not repeat itself.
    """

    def __init__(self, store: Store, episode: Episode, options: Mapping[str, Any], films: Path | None) -> None:
        if episode.status != "finished" or not episode.scored:
            raise NotReplayable(f"{episode.id} has no result: it is {episode.outcome or episode.status}")
        self._store, self._films = store, films
        self._episode = episode
        self._rows = store.steps(episode.id)
        self._forks = {fork.at_step: fork for fork in store.interventions(episode.id)}
        self._bodies = {diagnosis.id: diagnosis.body for diagnosis in store.diagnoses(episode.id)}
        self._env: ArenaEnv = environments.make(episode.task_id, episode.space)
        if not self._env.reversible:
            self._env.close()
            raise NotReplayable(f"{episode.id}: {episode.task_id} does not repeat itself")
        given = dict(options)
        self._agent: Agent = agents.create(str(given.pop("name")), given)
        self._horizon = int(episode.spec["limits"]["max_steps"])
        supervision = episode.spec["supervision"] or {}
        self._charged = supervision.get("horizon") == "charged"
        self._course = Course(self._env, episode)
        self._prompt = ""
        self._observation: Mapping[str, Any] = {}
        self._film: Film | None = None
        self._scores: list[float] = []

    def close(self) -> None:
        """Close world and player."""
        self._agent.close()
        self._env.close()

    def branch(self, diagnosis: Diagnosis, *, suppressed: bool) -> Branch:
        """From where `until` came to, the step of a diagnosis, play the other way to its end.

        Args:
            diagnosis: what was said there.
            suppressed: whether nothing was done in the record: then what it advised comes first.

        Raises:
            VideoError: if it cannot be filmed.
        """
        begin = diagnosis.step_index + 1
        video: str | None = None
        info: dict[str, Any] = {}
        with contextlib.ExitStack() as stack:
            self._scores, self._film = [], None
            if suppressed and self._course.time.rollback == "sim":
                begin = int(diagnosis.body["rollback_step"])
                self._restore(self._course.time.go_back(self._env, begin).snapshot)
            if self._films is not None:
                fps = int(self._env.metadata["render_fps"])
                self._film = stack.enter_context(Film(self._store, self._films, fps))
                self._film.write(self._observation[self._env.main_view])
            ended = self._obey(diagnosis.body) if suppressed else None
            repair_steps = len(self._scores)
            outcome = ended or self._play_on()
            if self._film is not None:
                video, info = self._film.keep()
        return Branch(
            from_step=begin, outcome=str(outcome), success=self._env.success(), scores=tuple(self._scores),
            repair_steps=repair_steps, state_hash=self._env.state_hash(), score=self._env.score(),
            video=video, video_info=info,
        )  # fmt: skip

    def until(self, last: int) -> Iterator[str]:
        """Play the record up to and with a step; yields every difference."""
        episode, course, agent = self._episode, self._course, self._agent
        course.begin()
        self._observation = course.observation
        agent.reset(
            Briefing(
                task=self._env.task,
                space=ActionSpace(episode.space),
                actions=self._env.action_space,
                max_steps=self._horizon,
                seed=player_seed(episode.spec),
                privileged=self._env if agent.privileged else None,
            )
        )
        self._prompt = ""
        for row in self._rows[: last + 1]:
            if course.before(row):
                agent.rolled_back()
            yield from self._again(row)
            fork = self._forks.get(row.index)
            if fork is not None and row.index < last:
                yield from self._fork_again(fork, row)

    def _again(self, row: Step) -> Iterator[str]:
        course, agent = self._course, self._agent
        own = not by_arm(row.notes)
        if own:
            agent.replay(self._seen(), Decision(action=row.action, rationale=row.rationale, notes=row.notes))
        differences = list(course.play(row))
        self._observation = course.observation
        if own and row.action is not None:
            agent.observe_result(illegal=course.played.illegal, reward=course.played.reward)
        yield from differences

    def _fork_again(self, fork: Intervention, row: Step) -> Iterator[str]:
        repair = self._bodies[fork.diagnosis_id].get("repair") or {}
        yield from self._course.fork(fork, row, repair)
        self._observation = self._course.observation
        if fork.kind != UNDO:
            self._agent.vary(int(repair.get("vary", 0)))
            if repair.get("kind") == "reprompt":
                self._prompt = str(repair["reprompt"])
        self._agent.rolled_back()

    def _restore(self, snapshot: bytes) -> None:
        self._observation = self._env.restore(snapshot)
        self._agent.rolled_back()

    def _obey(self, said: Mapping[str, Any]) -> Outcome | None:
        """Do what a suppressed diagnosis advised, as the episode would have: the outcome, if that ends it.

        Where the whole world goes back it is back already; an arm that goes back alone takes its steps here.
        """
        repair = said.get("repair") or {}
        self._agent.vary(int(repair.get("vary", 0)))
        if repair.get("kind") == "abort":
            return Outcome.LOST
        ended = self._retrace(int(said["rollback_step"])) if self._course.time.rollback == "physical" else None
        return ended or self._carry_out(repair)

    def _retrace(self, to: int) -> Outcome | None:
        """Send the arm back, the objects staying where they are."""
        self._course.time.begin_retrace(self._env, to, self._course.max_added)
        while (way := self._course.time.retrace) is not None:
            if self._course.time.end_retrace() is None:
                ended = self._arm(way.rewind.action())
                way.rewind.moved()
                if ended is not None:
                    return ended
        self._agent.rolled_back()
        return None

    def _carry_out(self, repair: Mapping[str, Any]) -> Outcome | None:
        """Do what is to follow the way back."""
        if not executable(repair, self._env):
            return None
        if repair["kind"] == "reprompt":
            self._prompt = str(repair["reprompt"])
        manoeuvre = manoeuvres.begin(cast("RobotEnv", self._env), dict(repair))
        while manoeuvre is not None and not manoeuvre.done:
            ended = self._arm(manoeuvre.action())
            manoeuvre.moved()
            if ended is not None:
                return ended
        self._agent.rolled_back()
        return None

    def _arm(self, action: list[float]) -> Outcome | None:
        """A step of the arm that was no decision of the player."""
        self._observation, _, terminated, truncated, _ = self._env.override(self._env.action_space.parse(action))
        return self._played(terminated, truncated)

    def _play_on(self) -> Outcome:
        """The player alone, to the end."""
        env, agent = self._env, self._agent
        outcome: Outcome | None = None
        while outcome is None:
            decision = agent.act(self._seen())
            terminated = truncated = False
            if decision.action is not None:
                self._observation, reward, terminated, truncated, info = env.step(decision.action)
                agent.observe_result(illegal=info["illegal"], reward=float(reward))
            outcome = self._played(terminated, truncated)
        return outcome

    def _played(self, terminated: bool, truncated: bool) -> Outcome | None:
        """Take note of a step of the other way; the outcome, if it was the last one."""
        self._course.time.sim_step += 1
        self._scores.append(self._env.score())
        if self._film is not None:
            self._film.write(self._observation[self._env.main_view])
        if terminated:
            return Outcome.WON if self._env.success() else Outcome.LOST
        spent = self._course.time.charged if self._charged else self._course.time.sim_step
        return Outcome.HORIZON if truncated or spent >= self._horizon else None

    def _seen(self) -> Mapping[str, Any]:
        return told(self._env.perceived(self._observation), self._prompt)
