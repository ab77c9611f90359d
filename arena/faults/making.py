"""Plays the episodes that a slot tries, and keeps the first that obeys the rule.

The rule: the same seed succeeds without the fault; with a fault of severity 1 or more it fails, and with a benign
injection (N1) it succeeds still. Nothing is rendered here unless the policy looks. Of a kept episode the snapshots of
the moments that its clip shows are kept too; `clips` draws them later, in whatever process.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import agents
import environments
from agents.agent import Agent, Briefing
from agents.errors import AuthenticationFailed, BadRequest, BudgetExceeded, ProviderError
from arena.errors import ArenaError
from arena.faults.dataset import Arrays, Episode, Truth
from arena.faults.plan import Attempt, BuildConfig, Player, Slot
from arena.identity import derived_seed
from environments.errors import InfrastructureError, RenderError
from environments.robots.faults import KINDS, Fault
from environments.robots.faults.annotation import Annotation, Course, compare, play
from environments.robots.robot_env import CAMERAS, RobotEnv

ENVIRONMENTS = 3
"""Worlds that a process keeps built; each takes about a second to build."""
TWINS = 64
"""Clean twins that a process remembers."""


class NoAction(ArenaError, RuntimeError):
    """A policy gave no action, so that its episode says nothing of faults."""


class PolicyUnavailable(ArenaError, RuntimeError):
    """A served policy did not answer: its server's failure and never the policy's, so nothing is kept or dropped."""

    def __init__(self, message: str, lasting: bool = False) -> None:
        super().__init__(message, lasting)  # both as arguments: a worker sends it to the process that started it
        self.lasting = lasting
        """Whether to ask again is of no use, as with a refused key."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(slots=True)
class Made:
    """What came of a slot."""

    slot: str
    episode: Episode | None
    """None: no try obeyed the rule."""
    arrays: Arrays | None
    moments: dict[int, bytes]
    """Moment -> snapshot, of those that the clip shows."""
    dropped: dict[str, int]
    """Reason -> tries that were played and not kept."""


class Drive:
    """An agent as `annotation.Policy`: it perceives through the faults, and has its own seeded chance."""

    def __init__(self, env: RobotEnv, agent: Agent, chance: int) -> None:
        self._env, self._agent, self._chance = env, agent, chance

    def reset(self) -> None:
        """Begin, or look afresh in the middle: the noise of a step is the same either way."""
        env, agent = self._env, self._agent
        agent.reset(
            Briefing(
                task=env.task,
                space=env.space,
                actions=env.action_space,
                seed=self._chance,
                privileged=env if agent.privileged else None,
            )
        )
        agent.step = env.control_steps

    def act(self) -> list[float]:
        """The next action.

        Raises:
            NoAction: if the agent has none.
            PolicyUnavailable: if the server that it asks has failed.
        """
        try:
            decision = self._agent.act(self._env.perceived(self._env.observe()))
        except ProviderError as error:
            lasting = isinstance(error, AuthenticationFailed | BadRequest | BudgetExceeded)
            raise PolicyUnavailable(str(error), lasting) from error
        if decision.action is None:
            raise NoAction(f"{self._agent.name} on {self._env.task.id}: {decision.status}: {decision.reason[:200]}")
        return [float(value) for value in decision.action]


@dataclass(slots=True)
class _Record:
    """What a robot's sensors tell, step by step."""

    env: RobotEnv
    states: list[Any] = field(default_factory=list)
    actions: list[list[float]] = field(default_factory=list)
    readings: list[dict[str, Any]] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)

    def note(self, action: list[float]) -> None:
        step = len(self.actions)
        self.actions.append(action)
        self.states.append(self.env.proprioception())
        self.readings.append(self.env.telemetry())
        for milestone in self.env.milestones():
            self.reached.setdefault(milestone, step)

    def arrays(self, stages: list[str], names: list[str], first: Any) -> Arrays:
        read = self.readings
        return {
            "state": np.array([first, *self.states], np.float32),
            "action": np.array(self.actions, np.float64),
            "command": np.array([item["command"] for item in read], np.float64),
            "gripper_width_m": np.array([item["gripper_width_m"] for item in read], np.float64),
            "eef_pos_m": np.array([item["eef_pos_m"] for item in read], np.float64),
            "eef_speed_m_s": np.array([item["eef_speed_m_s"] for item in read], np.float64),
            "stage": np.array([names.index(stage) for stage in stages], np.int16),
        }


class Maker:
    """Makes slots in one process; what it remembers saves time and changes nothing."""

    def __init__(self, config: BuildConfig) -> None:
        self._config = config
        self._envs: OrderedDict[str, RobotEnv] = OrderedDict()
        self._agents: dict[str, Agent] = {}
        self._twins: OrderedDict[tuple[str, str, int], Course] = OrderedDict()

    def make(self, slot: Slot) -> Made:
        """Try a slot's episodes in order.

        Raises:
            NoAction: a policy gave no action.
            PolicyUnavailable: a server failed. Made again, the slot is what it would have been.
        """
        dropped: Counter[str] = Counter()
        for attempt in slot.attempts:
            try:
                made = self._try(slot, attempt)
            except RenderError:
                raise  # a machine without OpenGL, not an episode that cannot be used
            except InfrastructureError:  # a fault can throw things so that the solver diverges
                self._discard(attempt.task)
                made = "the simulation diverged"
            if isinstance(made, Made):
                made.dropped = dict(sorted(dropped.items()))
                return made
            dropped[made] += 1
        return Made(slot.name, None, None, {}, dict(sorted(dropped.items())))

    def close(self) -> None:
        """Free the worlds and the policies."""
        for env in self._envs.values():
            env.close()
        for agent in self._agents.values():
            agent.close()

    def env(self, task: str) -> RobotEnv:
        """The world of a task, built once."""
        if task not in self._envs:
            while len(self._envs) >= ENVIRONMENTS:
                self._envs.popitem(last=False)[1].close()
            made = environments.make(task, "native")
            if not isinstance(made, RobotEnv):
                raise TypeError(f"{task} is no robot task")
            self._envs[task] = made
        self._envs.move_to_end(task)
        return self._envs[task]

    def _discard(self, task: str) -> None:
        """Build a world anew before it is used again: nothing of what happened in it may be left."""
        env = self._envs.pop(task, None)
        if env is not None:
            env.close()

    def _try(self, slot: Slot, attempt: Attempt) -> Made | str:
        """An episode that obeys the rule, or the reason why it does not."""
        env = self.env(attempt.task)
        drive = self._drive(env, attempt)
        horizon = env.task.max_steps
        if attempt.kind is None:
            return self._clean(slot, attempt, env, drive, horizon)
        twin = self._twin(attempt, env, drive, horizon)
        if not twin.success:
            return "the policy fails without the fault"
        fault = Fault.parse({"kind": attempt.kind, "severity": attempt.severity, "stage": attempt.stage})
        if attempt.stage not in twin.stages:
            return "the stage never comes"
        record = _Record(env)
        course = play(env, drive, attempt.seed, fault, horizon, keep=True, watch=record.note)
        if (course.truth or {}).get("onset_step") is None:
            return "the fault never begins"
        if course.success and attempt.severity > 0:
            return f"the policy succeeds in spite of severity {attempt.severity}"
        if not course.success and attempt.severity == 0:
            return "the benign injection makes it fail"
        found = compare(env, drive, twin, course, horizon)
        return self._made(slot, attempt, course, record, fault, _truth(attempt, course, found))

    def _clean(self, slot: Slot, attempt: Attempt, env: RobotEnv, drive: Drive, horizon: int) -> Made | str:
        record = _Record(env)
        course = play(env, drive, attempt.seed, None, horizon, keep=True, watch=record.note)
        if not course.success:
            return "the policy fails without the fault"
        return self._made(slot, attempt, course, record, None, Truth(fault_class="none", fault_type="N0"))

    def _twin(self, attempt: Attempt, env: RobotEnv, drive: Drive, horizon: int) -> Course:
        key = (attempt.task, attempt.player.label, attempt.seed)
        if key not in self._twins:
            while len(self._twins) >= TWINS:
                self._twins.popitem(last=False)
            self._twins[key] = play(env, drive, attempt.seed, None, horizon)
        return self._twins[key]

    def _drive(self, env: RobotEnv, attempt: Attempt) -> Drive:
        player = attempt.player
        if player.label not in self._agents:
            self._agents[player.label] = agents.create(player.agent, player.options)
        return Drive(env, self._agents[player.label], _chance(attempt.task, player, attempt.seed))

    def _made(
        self, slot: Slot, attempt: Attempt, course: Course, record: _Record, fault: Fault | None, truth: Truth
    ) -> Made:
        env, n = record.env, len(record.actions)
        names = sorted(set(course.stages))
        moments = clip_moments(n, self._config.every) if self._config.pictures == "clips" else []
        env.restore(course.snapshots[0])
        arrays = record.arrays(course.stages, names, env.proprioception())
        episode = Episode(
            id=attempt.id,
            split=slot.split,
            task=attempt.task,
            family=env.task.category,
            instruction=env.task.goal,
            player=attempt.player.label,
            seed=attempt.seed,
            success=course.success,
            steps=n,
            horizon=env.task.max_steps,
            truth=truth,
            fault=fault.model_dump(mode="json") if fault is not None else None,
            stages=names,
            subtasks={milestone.id: record.reached.get(milestone.id) for milestone in env.task.milestones},
            cameras=sorted(CAMERAS) if moments else [],
            clip_moments=moments,
        )
        return Made(slot.name, episode, arrays, {moment: course.snapshots[moment] for moment in moments}, {})


def clip_moments(steps: int, every: int) -> list[int]:
    """Which moments of an episode its clip shows: every so many from the first, and the end."""
    moments = list(range(0, steps, every))
    return [*moments, steps] if moments[-1:] != [steps] else moments


def _chance(task: str, player: Player, seed: int) -> int:
    """The policy's own seed: the same with and without a fault, or the twins would not be twins."""
    return derived_seed(f"{task} {player.label} {seed}", "fault-dataset")


def _truth(attempt: Attempt, course: Course, found: Annotation) -> Truth:
    if attempt.kind is None:
        raise ValueError("an episode without a fault has no such truth")
    kind = KINDS[attempt.kind]
    harmful = attempt.severity > 0
    return Truth(
        fault_class=kind.fault_class if harmful else "none",
        fault_type=kind.fault_type if harmful else "N1",
        kind=attempt.kind,
        injected_type=kind.fault_type,
        severity=attempt.severity,
        stage=attempt.stage,
        onset_step=found.onset_step,
        manifest_step=found.manifest_step,
        no_return_step=found.no_return_step,
        entity=found.entity or (course.truth or {}).get("entity"),
        dxyz_m=found.dxyz_m,
        drot_rad=found.drot_rad,
        repair=found.repair or "abort",
    )
