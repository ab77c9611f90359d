"""What would have been: each intervention of a recorded episode without it, and each suppressed one with it.

Snapshots are exact and players draw their chance from episode and step alone, so a recorded episode can be played again
up to any of its steps and then go another way. Until the fork the replay must equal the record bit for bit: actions,
rewards and scores of every step, and the SHA-256 of every snapshot that was restored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import agents
import environments
from agents.agent import Agent, Briefing, Decision
from arena.diagnosis.dynamic_table import SEPARATOR
from arena.diagnosis.human import is_review
from arena.errors import ArenaError
from arena.experiment import AgentEntry
from arena.identity import derived_seed
from arena.repairs import executable, told
from arena.supervision import REPAIR, REWIND, UNDO
from environments.env import ArenaEnv
from environments.robots import repairs as manoeuvres
from environments.task import ActionSpace
from storage.models import Diagnosis, Episode, Intervention, Step
from storage.store import Store

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv

Verdict = Literal["helped", "harmed", "not needed", "did not help"]
"""Failed without and succeeded with it; the reverse; succeeded either way; failed either way."""


class NotReplayable(ArenaError):
    """A recorded episode cannot be played again: its world does not repeat itself, or its player is not there."""


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
    """...and without it. On the way that is not the record's nobody watches after the fork."""
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
        return {**asdict(self), "exact": self.exact, "verdict": self.verdict}


def counterfactuals(store: Store, episode: Episode, options: Mapping[str, Any]) -> Iterator[Counterfactual]:
    """Play each intervention of an episode, carried out or suppressed, the other way.

    Args:
        store: where it was recorded.
        episode: a finished and scored one.
        options: of its player, with its `name`, as the experiment gave them.

    Raises:
        NotReplayable: if it cannot be played again.
    """
    forks = {fork.diagnosis_id: fork for fork in store.interventions(episode.id)}
    said = [d for d in store.diagnoses(episode.id) if d.id in forks or _suppressed(d)]
    said = [d for d in said if d.id not in forks or forks[d.id].kind != UNDO]
    if not said:
        return
    replay = _Replay(store, episode, options)
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

    def __init__(self, store: Store, episode: Episode, options: Mapping[str, Any]) -> None:
        if episode.status != "finished" or not episode.scored:
            raise NotReplayable(f"{episode.id} has no result: it is {episode.outcome or episode.status}")
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

    def close(self) -> None:
        """Close world and player."""
        self._agent.close()
        self._env.close()

    def other_way(self, diagnosis: Diagnosis, fork: Intervention | None) -> Counterfactual:
        """Go the way that the record did not go after a diagnosis."""
        at = diagnosis.step_index
        differences = list(self._until(at))
        recorded = bool(self._episode.success)
        repair = diagnosis.body.get("repair") or {}
        if fork is None:
            self._go_back(int(diagnosis.body["rollback_step"]), at)
            self._carry_out(repair)
        success = self._play_on()
        return Counterfactual(
            episode=self._episode.id,
            diagnosis=diagnosis.id,
            step=at,
            trigger=diagnosis.trigger,
            suppressed=fork is None,
            with_it=recorded if fork is not None else success,
            without=success if fork is not None else recorded,
            prefix_steps=at + 1,
            differences=tuple(differences[:5]),
        )

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
                seed=derived_seed(episode.identity, "agent"),
                privileged=env if agent.privileged else None,
            )
        )
        self._kept, self._left, self._sim, self._undone, self._prompt = {}, {}, 0, 0, ""
        arm_moves = False
        for row in self._rows[: last + 1]:
            by_arm = bool(row.notes.get(REWIND) or row.notes.get(REPAIR))
            if arm_moves and not by_arm:
                agent.rolled_back()
            arm_moves = by_arm
            self._kept[row.index] = (self._sim, env.snapshot())
            yield from self._again(row, by_arm=by_arm)
            fork = self._forks.get(row.index)
            if fork is not None and row.index < last:
                yield from self._fork_again(fork)

    def _again(self, row: Step, *, by_arm: bool) -> Iterator[str]:
        env, agent = self._env, self._agent
        if not by_arm:
            decision = Decision(action=row.action, rationale=row.rationale, notes=row.notes)
            agent.replay(self._seen(), decision)
        reward = 0.0
        illegal: str | None = None
        if row.action is not None:
            act = env.override if by_arm else env.step
            self._observation, got, _, _, info = act(row.action)
            reward, illegal = float(got), info["illegal"]
            if not by_arm:
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
            self._sim += 1
        self._agent.rolled_back()

    def _play_on(self) -> bool:
        """The player alone, to the end."""
        env, agent = self._env, self._agent
        while (self._sim + self._undone if self._charged else self._sim) < self._horizon:
            decision = agent.act(self._seen())
            if decision.action is not None:
                self._observation, reward, terminated, truncated, info = env.step(decision.action)
                agent.observe_result(illegal=info["illegal"], reward=float(reward))
                if terminated or truncated:
                    return env.success()
            self._sim += 1
        return env.success()

    def _seen(self) -> Mapping[str, Any]:
        return told(self._env.perceived(self._observation), self._prompt)


def of_run(
    store: Store, run_id: str, *, conditions: Sequence[str] = (), limit: int | None = None
) -> Iterator[Counterfactual]:
    """The counterfactuals of a run's episodes.

    Args:
        store: where it was recorded.
        run_id: of the run, or its beginning.
        conditions: names of conditions, without the fault; none means all.
        limit: so many episodes with something to be asked about at most.

    Raises:
        NotReplayable: if an episode cannot be played again.
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
        found = list(counterfactuals(store, episode, players[link.agent]))
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
