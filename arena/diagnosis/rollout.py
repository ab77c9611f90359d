"""An episode in this process, without a record: what monitors are tuned on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.agent import Agent, Briefing
from arena.diagnosis.signals import Reading, read
from arena.subgoals import subgoal_of
from arena.supervision import Moment
from environments.env import ArenaEnv


@dataclass(frozen=True, slots=True)
class Rollout:
    """One episode as a supervisor would have seen it."""

    success: bool
    readings: tuple[Reading, ...]


def roll_out(env: ArenaEnv, agent: Agent, seed: int, *, fault: Any = None, max_steps: int | None = None) -> Rollout:
    """Play one episode that nobody supervises.

    Args:
        env: behind its native space.
        agent: who plays it.
        seed: of the world, and of the player's own chance.
        fault: injected, as `reset(options={"fault": ...})` takes it.
        max_steps: the horizon; None takes the task's.
    """
    observation, _ = env.reset(seed=seed, options={"fault": fault} if fault else None)
    agent.reset(
        Briefing(
            task=env.task,
            space=env.space,
            actions=env.action_space,
            max_steps=max_steps,
            seed=seed,
            privileged=env if agent.privileged else None,
        )
    )
    readings: list[Reading] = []
    for index in range(max_steps or env.task.max_steps):
        decision = agent.act(env.perceived(observation))
        terminated = False
        if decision.action is not None:
            observation, reward, terminated, _, info = env.step(decision.action)
            agent.observe_result(illegal=info["illegal"], reward=float(reward))
        moment = Moment(
            index=index,
            sim_step=index,
            branch=0,
            action=decision.action,
            telemetry=env.telemetry(),
            observation=observation,
            snapshots=(),
            notes=decision.notes,
            subgoal=subgoal_of(env),
        )
        reading = read(moment)
        if reading is not None:
            readings.append(reading)
        if terminated:
            return Rollout(env.success(), tuple(readings))
    return Rollout(False, tuple(readings))
