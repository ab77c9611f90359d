"""The whole loop on the real tabletop, without pictures: watch, diagnose, restore bit by bit, succeed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import environments
from arena.diagnosis import DiagnosingSupervisor, DiagnosisConfig, build
from arena.supervision import Directive, Moment

pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

TASK = "tabletop/pick-place-bowl-v1"
FAULT = {"kind": "gripper-opens-mid-carry"}


@dataclass
class Played:
    """What came of an episode."""

    success: bool = False
    directives: list[Directive] = field(default_factory=list)
    rolled_back_to: list[int] = field(default_factory=list)
    steps: int = 0


@pytest.fixture(scope="module")
def env() -> Iterator[Any]:
    env = environments.make(TASK, "native")
    yield env
    env.close()


def play(env: Any, seed: int, fault: dict[str, Any] | None, supervisor: DiagnosingSupervisor | None = None) -> Played:
    """A believing policy under a supervisor: the engine's loop in small."""
    from environments.robots.expert import BelievingExpert

    observation, _ = env.reset(seed=seed, options={"fault": fault} if fault else None)
    policy = BelievingExpert(env)
    policy.reset()
    if supervisor:
        supervisor.begin(env.task, env.task.goal)
    played = Played()
    kept: dict[int, tuple[int, bytes, str]] = {}
    sim_step = 0
    while sim_step < env.task.max_steps:
        index = played.steps
        kept[index] = sim_step, env.snapshot(), env.state_hash()
        action = policy.act()
        observation, _, terminated, _, _ = env.step(action)
        sim_step, played.steps = sim_step + 1, index + 1
        if terminated:
            played.success = env.success()
            break
        if supervisor is None:
            continue
        moment = Moment(
            index=index, sim_step=sim_step - 1, branch=len(played.rolled_back_to), action=action,
            telemetry=env.telemetry(), observation=observation, snapshots=tuple(kept),
        )  # fmt: skip
        directive = supervisor.watch(moment)
        played.directives += [directive] if directive else []
        if directive and directive.rollback_to is not None:
            sim_step, snapshot, state_hash = kept[directive.rollback_to]
            env.restore(snapshot)
            assert env.state_hash() == state_hash, "the restored world is the very one of the snapshot"
            policy.reset()
            supervisor.rolled_back(directive.rollback_to)
            kept = {step: item for step, item in kept.items() if step <= directive.rollback_to}
            played.rolled_back_to.append(directive.rollback_to)
    return played


def rules(**options: Any) -> DiagnosingSupervisor:
    supervisor = build(DiagnosisConfig(**options))
    assert supervisor is not None
    return supervisor


@pytest.mark.parametrize("seed", range(2))
def test_a_clean_episode_raises_nothing(env: Any, seed: int):
    played = play(env, seed, None, rules())
    assert played.success and played.directives == []


@pytest.mark.parametrize("seed", range(2))
def test_a_drop_is_found_undone_and_the_episode_succeeds(env: Any, seed: int):
    """Left alone, the same policy fails on the same seed with the same fault."""
    assert not play(env, seed, FAULT).success
    onset = env.fault_truth()["onset_step"]
    played = play(env, seed, FAULT, rules())
    (said,) = played.directives
    assert (said.trigger, said.body["fault_class"], said.body["fault_type"]) == ("gripper-lost", "control", "C5")
    assert abs(said.body["onset_step"] - onset) <= 2
    assert onset < said.body["step_now"] <= onset + 8
    assert played.rolled_back_to == [said.rollback_to] and said.rollback_to < onset
    assert played.success


def test_a_fault_that_comes_back_uses_up_the_budget_and_no_more(env: Any):
    played = play(env, 0, FAULT | {"repeat": True}, rules(max_interventions=2))
    assert not played.success
    assert len(played.rolled_back_to) == 2 and len(played.directives) == 3
    assert [said.body["verdict"] for said in played.directives] == ["fault"] * 3


def test_naming_without_acting_changes_nothing(env: Any):
    """The control condition: the supervised world ends bit for bit where the unsupervised one does."""
    play(env, 1, FAULT)
    alone = env.state_hash()
    played = play(env, 1, FAULT, rules(max_interventions=0))
    assert [said.body["fault_type"] for said in played.directives] == ["C5"]
    assert env.state_hash() == alone
