"""LIBERO's policy that does not re-check: it wins undisturbed, and loses what the expert takes up again.

Needs the benchmark's assets in `ARENA_LIBERO_ASSETS`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip(
    "environments.robots._robosuite", reason="robosuite is not installed (pip install 'rewind-arena[robots]')"
)

import environments
from environments.robots.expert import believing_player
from environments.robots.faults import Fault
from environments.robots.libero import loading

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not os.environ.get(loading.ASSETS) or bool(loading.problems()),
        reason=f"{loading.ASSETS} names no folder with the assets of the LIBERO benchmark",
    ),
]
SEED = 0


def made(task_id: str) -> Iterator[Any]:
    env = environments.make(task_id, "native")
    yield env
    env.close()


can = pytest.fixture(scope="module")(lambda: (yield from made("libero/object/0-v1")))
drawer = pytest.fixture(scope="module")(lambda: (yield from made("libero/goal/0-v1")))
knob = pytest.fixture(scope="module")(lambda: (yield from made("libero/goal/7-v1")))


def played(env: Any, *, expert: bool = False, **fault: Any) -> bool:
    """Whether the policy, or the expert, succeeds."""
    env.reset(seed=SEED, options={"fault": Fault(**fault)} if fault else None)
    policy = believing_player(env)
    policy.reset()
    return any(env.step(env.expert_action() if expert else policy.act())[2] for _ in range(env.task.max_steps))


def test_it_carries_pulls_and_turns(can: Any, drawer: Any, knob: Any) -> None:
    assert played(can) and played(drawer) and played(knob)


def test_what_it_drops_it_does_not_take_up_again(can: Any) -> None:
    """The expert sees that the hand is empty; a policy that believes goes on to the basket."""
    drop: dict[str, Any] = {"kind": "gripper-opens-mid-carry", "severity": 2}
    assert played(can, expert=True, **drop)
    assert not played(can, **drop)
    assert played(can, kind="gripper-opens-mid-carry", severity=0), "N1"


def test_a_drawer_that_slipped_out_of_the_hand_is_left_ajar(drawer: Any) -> None:
    """It is believed to move with the hand, as far as it was to go when the hand closed."""
    fault: dict[str, Any] = {"kind": "grasp-miss", "severity": 3, "stage": "grasp"}
    assert played(drawer, expert=True, **fault)
    assert not played(drawer, **fault)


def test_it_takes_over_in_the_middle(can: Any) -> None:
    """With the can in the hand of the expert: it looks once and believes that it holds it."""
    can.reset(seed=SEED)
    while can.stage() != "transport":
        can.step(can.expert_action())
    policy = believing_player(can)
    policy.reset()
    assert policy.act()[6] == 1.0
    assert any(can.step(policy.act())[2] for _ in range(can.task.max_steps))


def test_it_looks_through_its_senses(can: Any) -> None:
    """Whoever sees the can 6 cm beside it closes there; whoever takes another thing for it takes that one."""
    assert not played(can, kind="pose-bias", severity=3)
    off = can.arm.position - can.world.position("alphabet_soup_1")
    assert np.linalg.norm(off[:2]) > 0.02
    assert not played(can, kind="wrong-object", severity=3)
    other = can._injector._running[0].memory["other"]
    start = can.world.position(other)
    can.reset(seed=SEED)
    assert np.linalg.norm(can.world.position(other) - start) > 0.05, "the other thing was carried away"


def test_equal_worlds_give_equal_actions(can: Any) -> None:
    told = []
    for _ in range(2):
        can.reset(seed=SEED)
        policy = believing_player(can)
        policy.reset()
        actions = []
        for _ in range(40):
            actions.append(policy.act())
            can.step(actions[-1])
        told.append(actions)
    assert told[0] == told[1]
