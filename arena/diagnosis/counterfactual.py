"""What would have been: each intervention of a recorded episode without it, and each suppressed one with it.

Snapshots are exact and players draw their chance from episode and step alone, so a recorded episode can be played again
up to any of its steps and then go another way. Until the fork the replay must equal the record bit for bit: actions,
rewards and scores of every step, and the SHA-256 of every snapshot that was restored. What the other way led to is kept
by `keep`; its pictures are drawn and filmed only if they are asked for.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import uuid4

import agents
import environments
from agents.agent import Agent, Briefing, Decision
from arena.diagnosis.dynamic_table import SEPARATOR
from arena.diagnosis.film import Film
from arena.diagnosis.human import is_review
from arena.errors import ArenaError
from arena.experiment import AgentEntry
from arena.identity import player_seed
from arena.outcomes import Outcome
from arena.repairs import executable, told
from arena.supervision import REPAIR, UNDO, by_arm
from environments.env import ArenaEnv
from environments.robots import repairs as manoeuvres
from environments.task import ActionSpace
from storage import models
from storage.models import Diagnosis, Episode, Intervention, Step
from storage.store import Store

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv

Verdict = Literal["helped", "harmed", "not needed", "did not help"]
"""Failed without and succeeded with it; the reverse; succeeded either way; failed either way."""


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
    """Of its steps the first so many, which carried out a repair."""
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


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """One fork, and what came of going the other way there."""

    episode: str
    diagnosis: str
    step: int
    """Step index after which the ways part."""
    trigger: str
    suppressed: bool
    """Whether the intervention was not carried out in the record, and is in the replay."""
    with_it: bool
    """Success with the intervention..."""
    without: bool
    """...and without it."""
    branch: Branch
    """The way that is not the record's."""
    prefix_steps: int
    """Steps that were compared with the record."""
    differences: tuple[str, ...]
    """Where the replay was not the record; none means bit for bit the same until the fork."""

    @property
    def exact(self) -> bool:
        """Whether the replay equalled the record until the fork."""
        return not self.differences

    @property
    def verdict(self) -> Verdict:
        """Was it needed, did it help."""
        if self.with_it != self.without:
            return "helped" if self.with_it else "harmed"
        return "not needed" if self.with_it else "did not help"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        branch = {**asdict(self.branch), "n_steps": self.branch.n_steps}
        return {**asdict(self), "branch": branch, "exact": self.exact, "verdict": self.verdict}


def keep(store: Store, found: Counterfactual) -> models.Counterfactual:
    """Add the row of a counterfactual. One that is there already stays: the latest counts."""
    branch = found.branch
    row = models.Counterfactual(
        id=f"c-{uuid4().hex[:24]}",
        episode_id=found.episode,
        diagnosis_id=found.diagnosis,
        at_step=found.step,
        from_step=branch.from_step,
        suppressed=found.suppressed,
        verdict=found.verdict.replace(" ", "_"),
        with_it=found.with_it,
        without_it=found.without,
        exact=found.exact,
        prefix_steps=found.prefix_steps,
        differences=list(found.differences),
        outcome=branch.outcome,
        score=branch.score,
        n_steps=branch.n_steps,
        repair_steps=branch.repair_steps,
        scores=list(branch.scores),
        state_hash=branch.state_hash,
        video=branch.video,
        video_info=dict(branch.video_info),
    )
    store.add(row)
    return row


def counterfactuals(
    store: Store, episode: Episode, options: Mapping[str, Any], *, films: Path | None = None
) -> Iterator[Counterfactual]:
    """Play each intervention of an episode, carried out or suppressed, the other way.

    Args:
        store: where it was recorded.
        episode: a finished and scored one.
        options: of its player, with its `name`, as the experiment gave them.
        films: local folder for unfinished videos; None films nothing.

    Raises:
        NotReplayable: if it cannot be played again.
        VideoError: if it cannot be filmed.
    """
    forks = {fork.diagnosis_id: fork for fork in store.interventions(episode.id)}
    said = [d for d in store.diagnoses(episode.id) if d.id in forks or _suppressed(d)]
    said = [d for d in said if d.id not in forks or forks[d.id].kind != UNDO]
    if not said:
        return
    replay = _Replay(store, episode, options, films)
    try:
        for diagnosis in said:
            yield replay.other_way(diagnosis, forks.get(diagnosis.id))
    finally:
        replay.close()


def _suppressed(diagnosis: Diagnosis) -> bool:
    """A fault that was named with a way back, and left alone: not sure enough, or the budget was used up."""
    named = diagnosis.verdict == "fault" and diagnosis.body.get("rollback_step") is not None
    return named and not is_review(diagnosis)


class _Replay:
    """A recorded episode, to be played again and again up to some step."""

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
        self._kept: dict[int, tuple[int, bytes]] = {}
        self._left: dict[int, tuple[int, bytes]] = {}
        self._sim = self._undone = 0
        self._prompt = ""
        self._observation: Mapping[str, Any] = {}
        self._film: Film | None = None
        self._scores: list[float] = []

    def close(self) -> None:
        """Close world and player."""
        self._agent.close()
        self._env.close()

    def other_way(self, diagnosis: Diagnosis, fork: Intervention | None) -> Counterfactual:
        """Go the way that the record did not go after a diagnosis."""
        at = diagnosis.step_index
        differences = list(self._until(at))
        recorded = bool(self._episode.success)
        branch = self._branch(diagnosis, fork)
        return Counterfactual(
            episode=self._episode.id,
            diagnosis=diagnosis.id,
            step=at,
            trigger=diagnosis.trigger,
            suppressed=fork is None,
            with_it=recorded if fork is not None else branch.success,
            without=branch.success if fork is not None else recorded,
            branch=branch,
            prefix_steps=at + 1,
            differences=tuple(differences[:5]),
        )

    def _branch(self, diagnosis: Diagnosis, fork: Intervention | None) -> Branch:
        """Play the other way to its end; with a suppressed diagnosis, what it advised comes first."""
        at = diagnosis.step_index
        begin = at + 1 if fork is not None else int(diagnosis.body["rollback_step"])
        video: str | None = None
        info: dict[str, Any] = {}
        with contextlib.ExitStack() as stack:
            self._scores, self._film = [], None
            if fork is None:
                self._go_back(begin, at)
            if self._films is not None:
                self._film = stack.enter_context(Film(self._films, int(self._env.metadata["render_fps"])))
                self._film.write(self._observation[self._env.main_view])
            if fork is None:
                self._carry_out(diagnosis.body.get("repair") or {})
            repair_steps = len(self._scores)
            outcome = self._play_on()
            if self._film is not None:
                video, info = self._film.keep(self._store)
        return Branch(
            from_step=begin, outcome=str(outcome), success=self._env.success(), scores=tuple(self._scores),
            repair_steps=repair_steps, state_hash=self._env.state_hash(), score=self._env.score(),
            video=video, video_info=info,
        )  # fmt: skip

    def _until(self, last: int) -> Iterator[str]:
        """Play the record up to and with a step; yields every difference."""
        episode, fault = self._episode, self._episode.spec["fault"]
        env, agent = self._env, self._agent
        self._observation, _ = env.reset(seed=episode.seed, options={"fault": fault} if fault else None)
        agent.reset(
            Briefing(
                task=env.task,
                space=ActionSpace(episode.space),
                actions=env.action_space,
                max_steps=self._horizon,
                seed=player_seed(episode.spec),
                privileged=env if agent.privileged else None,
            )
        )
        self._kept, self._left, self._sim, self._undone, self._prompt = {}, {}, 0, 0, ""
        arm_moves = False
        for row in self._rows[: last + 1]:
            arm_moved, arm_moves = arm_moves, by_arm(row.notes)
            if arm_moved and not arm_moves:
                agent.rolled_back()
            self._kept[row.index] = (self._sim, env.snapshot())
            yield from self._again(row, arm_moves=arm_moves)
            fork = self._forks.get(row.index)
            if fork is not None and row.index < last:
                yield from self._fork_again(fork)

    def _again(self, row: Step, *, arm_moves: bool) -> Iterator[str]:
        env, agent = self._env, self._agent
        if not arm_moves:
            decision = Decision(action=row.action, rationale=row.rationale, notes=row.notes)
            agent.replay(self._seen(), decision)
        reward = 0.0
        illegal: str | None = None
        if row.action is not None:
            act = env.override if arm_moves else env.step
            self._observation, got, _, _, info = act(row.action)
            reward, illegal = float(got), info["illegal"]
            if not arm_moves:
                agent.observe_result(illegal=illegal, reward=reward)
        self._sim += 1
        told_of = {"reward": (row.reward, reward), "score": (row.score, env.score())}
        for name, (was, now) in told_of.items():
            if was != now:
                yield f"step {row.index}: {name} was {was!r} and is {now!r}"

    def _fork_again(self, fork: Intervention) -> Iterator[str]:
        if fork.kind == "sim":
            self._left[fork.at_step] = (self._sim, self._env.snapshot())
            yield from self._same_snapshot(fork, self._kept[fork.to_step][1])
            self._go_back(fork.to_step, fork.at_step)
        elif fork.kind == UNDO:
            sim, snapshot = self._left[fork.to_step]
            yield from self._same_snapshot(fork, snapshot)
            self._observation = self._env.restore(snapshot)
            self._undone += max(0, self._sim - sim)
            self._sim = sim
            self._agent.rolled_back()
        body = self._bodies[fork.diagnosis_id]
        repair = body.get("repair") or {}
        if fork.kind != UNDO:
            self._agent.vary(int(repair.get("vary", 0)))
        if fork.kind != UNDO and repair.get("kind") == "reprompt":
            self._prompt = str(repair["reprompt"])
        if fork.kind in (REPAIR, "physical"):
            self._agent.rolled_back()

    def _same_snapshot(self, fork: Intervention, snapshot: bytes) -> Iterator[str]:
        found = hashlib.sha256(snapshot).hexdigest()
        if found != fork.snapshot:
            yield f"fork after step {fork.at_step}: the restored snapshot was {fork.snapshot} and is {found}"

    def _go_back(self, to: int, at: int) -> None:
        sim, snapshot = self._kept[to]
        self._observation = self._env.restore(snapshot)
        self._undone += self._sim - sim
        self._sim = sim
        self._kept = {index: kept for index, kept in self._kept.items() if index <= to or index > at}
        self._agent.rolled_back()

    def _carry_out(self, repair: Mapping[str, Any]) -> None:
        """Do what the suppressed diagnosis advised after going back."""
        if not executable(repair, self._env):
            return
        if repair["kind"] == "reprompt":
            self._prompt = str(repair["reprompt"])
        manoeuvre = manoeuvres.begin(cast("RobotEnv", self._env), dict(repair))
        while manoeuvre is not None and not manoeuvre.done:
            self._observation, *_ = self._env.override(self._env.action_space.parse(manoeuvre.action()))
            manoeuvre.moved()
            self._note_step()
        self._agent.rolled_back()

    def _note_step(self) -> None:
        """A step of the other way has been played."""
        self._sim += 1
        self._scores.append(self._env.score())
        if self._film is not None:
            self._film.write(self._observation[self._env.main_view])

    def _play_on(self) -> Outcome:
        """The player alone, to the end."""
        env, agent = self._env, self._agent
        while (self._sim + self._undone if self._charged else self._sim) < self._horizon:
            decision = agent.act(self._seen())
            terminated = truncated = False
            if decision.action is not None:
                self._observation, reward, terminated, truncated, info = env.step(decision.action)
                agent.observe_result(illegal=info["illegal"], reward=float(reward))
            self._note_step()
            if terminated:
                return Outcome.WON if env.success() else Outcome.LOST
            if truncated:
                break
        return Outcome.HORIZON

    def _seen(self) -> Mapping[str, Any]:
        return told(self._env.perceived(self._observation), self._prompt)


def of_run(
    store: Store, run_id: str, *, conditions: Sequence[str] = (), limit: int | None = None, films: Path | None = None
) -> Iterator[Counterfactual]:
    """The counterfactuals of a run's episodes.

    Args:
        store: where it was recorded.
        run_id: of the run, or its beginning.
        conditions: names of conditions, without the fault; none means all.
        limit: so many episodes with something to be asked about at most.
        films: local folder for unfinished videos; None films nothing.

    Raises:
        NotReplayable: if an episode cannot be played again.
        VideoError: if one cannot be filmed.
    """
    run = store.run(run_id)
    entries = [AgentEntry.model_validate(entry) for block in run.experiment["blocks"] for entry in block["agents"]]
    players = {entry.label: {"name": entry.name, **entry.options} for entry in entries}
    links = {link.identity: link for link in store.plan(run.id) if link.final}
    if conditions:
        links = {key: link for key, link in links.items() if link.condition.partition(SEPARATOR)[0] in conditions}
    tries = store.latest_tries(links)
    asked = 0
    for key, link in links.items():
        episode = tries.get(key)
        if episode is None or episode.status != "finished" or not episode.scored or not episode.spec["supervision"]:
            continue
        found = list(counterfactuals(store, episode, players[link.agent], films=films))
        asked += bool(found)
        yield from found
        if limit is not None and asked >= limit:
            return


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over many forks."""

    forks: int
    exact: int
    helped: int
    harmed: int
    not_needed: int
    did_not_help: int


def tally(found: Sequence[Counterfactual]) -> Tally:
    """Count the verdicts."""
    verdicts = [item.verdict for item in found]
    return Tally(
        forks=len(found),
        exact=sum(item.exact for item in found),
        helped=verdicts.count("helped"),
        harmed=verdicts.count("harmed"),
        not_needed=verdicts.count("not needed"),
        did_not_help=verdicts.count("did not help"),
    )
