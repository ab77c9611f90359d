"""Every tabletop task goes back exactly: after a soft and a hard reset, and in another process.

One episode per task is played by the expert and shared by the tests; rollback points are spread over it, and lie
closer where the hand closes, carries and opens.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

import environments

pytest.importorskip("environments.robots._robosuite", reason="pip install 'rewind-arena[robots]'")

TASKS = [task.id for task in environments.match("tabletop/*")]
STEPS, AHEAD, POINTS = 72, 3, 10

ELSEWHERE = """
import json, sys
import environments
for line in sys.stdin:
    job = json.loads(line)
    env = environments.make(job["task"], "native")
    hashes = []
    for blob, actions in job["points"]:
        env.restore(bytes.fromhex(blob))
        for action in actions:
            env.step(action)
        hashes.append([env.state_hash(), env.score(), sorted(env.milestones())])
    env.close()
    print(json.dumps(hashes), flush=True)
"""


@dataclass
class Episode:
    """What the expert did, and what it was like after each step."""

    snapshots: list[bytes]
    """Before each step."""
    actions: list[Any]
    hashes: list[str]
    truths: list[list[Any]]
    points: list[int]


@functools.cache
def world(task_id: str) -> Any:
    return environments.make(task_id, "native")


@functools.cache
def episode(task_id: str) -> Episode:
    """Played once, from seed 3."""
    env = world(task_id)
    env.reset(seed=3)
    snapshots, actions, hashes, truths, closing = [], [], [], [], []
    for step in range(STEPS):
        snapshots.append(env.snapshot())
        actions.append(env.expert_action())
        _, _, done, _, _ = env.step(actions[-1])
        hashes.append(env.state_hash())
        truths.append([env.score(), sorted(env.milestones())])
        if actions[-1][6] > 0:
            closing.append(step)
        if done:
            break
    last = len(actions) - AHEAD
    wanted = [*range(0, last, max(1, last // POINTS)), *(closing[i] for i in (0, 3, 6, len(closing) // 2) if closing)]
    return Episode(snapshots, actions, hashes, truths, sorted({point for point in wanted if point < last}))


@pytest.fixture(scope="module", params=TASKS)
def task_id(request: Any) -> Any:
    """Of the module's scope: all tests of one task come one after the other, and its model is compiled once."""
    yield request.param
    world(request.param).close()


def replays_exactly(env: Any, played: Episode) -> None:
    for at in played.points:
        env.restore(played.snapshots[at])
        assert env.snapshot() == played.snapshots[at]
        for step in range(at, at + AHEAD):
            env.step(played.actions[step])
            assert env.state_hash() == played.hashes[step], (at, step)
            assert [env.score(), sorted(env.milestones())] == played.truths[step]


def test_a_rollback_is_exact_after_a_soft_reset(task_id: str) -> None:
    """From ten points and more, mid-grasp among them, on a world that has meanwhile played another seed."""
    played = episode(task_id)
    assert len(played.points) >= 10
    assert any(played.actions[point][6] > 0 for point in played.points), "no point while the hand closes or holds"
    env = world(task_id)
    env.reset(seed=4)
    for _ in range(5):
        env.step([0.5, -0.5, -1.0, 0.2, 0.0, 0.4, 1.0])
    replays_exactly(env, played)


def test_a_rollback_is_exact_after_a_hard_reset(task_id: str) -> None:
    """On a world that was built anew and has not even begun an episode."""
    fresh = environments.make(task_id, "native")
    replays_exactly(fresh, episode(task_id))
    fresh.close()


def test_a_rollback_is_exact_in_another_process() -> None:
    jobs = []
    for task_id in TASKS:
        played = episode(task_id)
        points = [(played.snapshots[at].hex(), played.actions[at : at + AHEAD]) for at in played.points]
        jobs.append(json.dumps({"task": task_id, "points": points}))
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input="\n".join(jobs), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    replies = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    for task_id, reply in zip(TASKS, replies, strict=True):
        played = episode(task_id)
        for at, (digest, *truth) in zip(played.points, reply, strict=True):
            assert (digest, truth) == (played.hashes[at + AHEAD - 1], played.truths[at + AHEAD - 1]), (task_id, at)


def test_a_snapshot_is_small(task_id: str) -> None:
    assert max(map(len, episode(task_id).snapshots)) < 8_000


def test_the_same_seed_is_the_same_episode_and_another_seed_another(task_id: str) -> None:
    env = world(task_id)
    env.reset(seed=3)
    assert env.snapshot() == episode(task_id).snapshots[0]
    env.reset(seed=5)
    assert env.snapshot() != episode(task_id).snapshots[0]
