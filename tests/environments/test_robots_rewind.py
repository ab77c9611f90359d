"""The arm goes back along its own path, as a real one would: what moves, what stays, and when it gives up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import environments

pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

from environments.robots import rewind as rewinding
from environments.robots.rewind import ARRIVED_M, ARRIVED_RAD, BLOCKED_STEPS, PASSED_M, Rewind, Waypoint

TASK = "tabletop/pick-place-bowl-v1"
CUBE = "cube"


@pytest.fixture(scope="module")
def env() -> Iterator[Any]:
    env = environments.make(TASK, "native")
    yield env
    env.close()


def play(env: Any, until: str, more: int = 0, fault: dict[str, Any] | None = None) -> list[Waypoint]:
    """Let the expert play until a stage begins, and some steps into it; where the arm was before each step."""
    env.reset(seed=0, options={"fault": fault} if fault else None)
    path, left = [], more
    while env.stage() != until or left:
        left -= env.stage() == until
        path.append(Waypoint.of(env))
        env.step(env.expert_action())
        assert len(path) < 150, f"the stage {until!r} was not reached"
    return path


def back(env: Any, path: list[Waypoint], to: int, max_steps: int | None = None) -> tuple[Rewind, list[list[float]]]:
    """Retrace a path to its waypoint `to`; the actions that were played."""
    rewind, actions = Rewind(env, path[to:][::-1], max_steps), []
    while rewind.end is None:
        actions.append(env.action_space.parse(rewind.action()))
        env.override(actions[-1])
        rewind.moved()
    return rewind, actions


def cube(env: Any) -> Any:
    (name,) = (name for name in env.world.objects if CUBE in name)
    return np.array(env.world.position(name))


def test_the_arm_comes_back_along_its_path_and_the_objects_stay(env: Any) -> None:
    path = play(env, "grasp")
    before, there, steps = cube(env), env.arm.position, env.control_steps
    rewind = Rewind(env, path[4:][::-1])
    away = 0.0
    while rewind.end is None:
        env.override(rewind.action())
        rewind.moved()
        away = max(away, min(float(np.linalg.norm(point.position - env.arm.position)) for point in path))
    metres, radians = path[4].off(env.arm)
    assert rewind.end == "reached" and metres <= ARRIVED_M and radians <= ARRIVED_RAD
    assert np.linalg.norm(there - env.arm.position) > 0.05, "it has really moved"
    assert away <= PASSED_M + 0.01, "corners are cut by no more than that, and a little for the arm's momentum"
    assert np.linalg.norm(cube(env) - before) < 0.001
    assert env.control_steps == steps + rewind.steps, "every step on the way back is a control step"


def test_what_is_held_stays_held(env: Any) -> None:
    path = play(env, "transport", 4)
    to = next(index for index, point in enumerate(path) if point.gripper > 0) + 12
    width = env.arm.width_m
    rewind, actions = back(env, path, to)
    assert rewind.end == "reached" and {action[6] for action in actions} == {1.0}
    assert abs(env.arm.width_m - width) < 0.002 and np.linalg.norm(cube(env) - env.arm.position) < 0.03


def test_the_hand_opens_at_the_target_and_not_on_the_way_if_it_was_open_there(env: Any) -> None:
    path = play(env, "transport", 4)
    rewind, actions = back(env, path, 8)
    commands = [action[6] for action in actions]
    opened = commands.index(-1.0)
    assert rewind.end == "reached" and set(commands[:opened]) == {1.0} and set(commands[opened:]) == {-1.0}
    assert len(commands) - opened == rewinding.STROKE_STEPS and env.arm.width_m > 0.07
    metres, radians = path[8].off(env.arm)
    assert metres <= 2 * ARRIVED_M and radians <= 2 * ARRIVED_RAD


def test_an_arm_that_does_not_move_is_blocked(env: Any) -> None:
    path = play(env, "transport", 8, {"kind": "stuck", "severity": 3, "stage": "transport", "after_steps": 2})
    assert env.fault_truth()["active"]
    rewind, _ = back(env, path, 10)
    assert rewind.end == "blocked" and rewind.steps <= BLOCKED_STEPS + 5 and rewind.off[0] > ARRIVED_M


def test_a_rewind_ends_with_its_budget_of_steps(env: Any) -> None:
    path = play(env, "transport", 4)
    rewind, actions = back(env, path, 2, max_steps=3)
    assert rewind.end == "out of steps" and rewind.steps == len(actions) == 3
    assert 0 <= rewind.at < len(path) - 3, "it says how far along the path it has come"


@pytest.mark.parametrize("kind", ["premature-stop", "loop"])
def test_a_fault_of_what_the_policy_decides_does_not_touch_the_way_back(env: Any, kind: str) -> None:
    """It is not the policy that goes back; a fault of control would hold the arm all the same."""
    fault = {"kind": kind, "severity": 3, "stage": "transport", "after_steps": 2}
    path = play(env, "transport", 6, fault)
    assert env.fault_truth()["active"]
    rewind, _ = back(env, path, 20)
    assert rewind.end == "reached" and env.fault_truth()["active"]


def test_the_same_path_from_the_same_state_gives_the_same_steps(env: Any) -> None:
    """This is what an interrupted episode and `arena verify` rest on."""
    path = play(env, "grasp")
    start = env.snapshot()
    _, first = back(env, path, 4)
    end = env.state_hash()
    env.restore(start)
    _, second = back(env, path, 4)
    assert first == second and env.state_hash() == end


def test_there_is_nothing_to_do_where_the_arm_is_already(env: Any) -> None:
    env.reset(seed=0)
    assert Rewind(env, [Waypoint.of(env)]).end == "reached"
    with pytest.raises(ValueError, match="needs a path"):
        Rewind(env, [])
