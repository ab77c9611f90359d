"""The scripted expert as a policy that is served: it knows where it is by the arm's state.

The expert plans from the engine's own state, which no protocol carries. So the server plays the task once for itself,
with the seed that it was told, and keeps the path: at each step the arm's state (8 numbers) and the expert's action.
A request carries the arm's state too, and equal seeds and actions give equal states; so the state says which step the
client is at, and the answer is the path from there. Nothing depends on what was asked before: a client may execute as
much of a chunk as it likes, go back, connect anew or begin again. A client whose arm is elsewhere did not execute
what it was told, or plays another seed, and is told so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

import environments
from agents.policies.chunks import Rows
from environments.env import ArenaEnv

TOLERANCE = 1e-3
"""Largest difference of a state number (m, rad) that still is the same step: clients on other machines may round
otherwise. The arm moves 1 to 50 mm a step."""
KEPT = 16
"""Paths that are kept, by seed."""
_SEEDS = 2**31


State = NDArray[np.float32]
"""The arm's state as a protocol carries it, (k,) float32."""


class Refusal(ValueError):
    """A request that cannot be answered; the text is told to the client in its protocol's way."""


def same(state: State) -> State:
    """The observation's state as it is."""
    return state


class Served(Protocol):
    """A policy as the servers ask it."""

    def chunk(self, seed: Any, at: State | int, length: int, told: Callable[[State], State] = same) -> Rows:
        """The next native actions, (length, 7) float64.

        Args:
            seed: what the client said of the seed, or None for the server's own.
            at: the arm's state, or the step by count where the protocol does not carry the state.
            length: number of actions.
            told: the observation's state, (8,), as the protocol says it, in the numbers of `at`.

        Raises:
            Refusal: if there is no answer.
        """


class _Path(NamedTuple):
    states: State
    """(T, 8): before each action."""
    actions: Rows
    """(T, 7)."""


class ExpertPath:
    """What the scripted expert does in a task, found again by the state of the arm; safe for threads."""

    def __init__(self, task: str, seed: int = 0) -> None:
        """Build the task's world.

        Raises:
            EnvironmentsError: for a task that does not exist, has no native space or no expert.
        """
        self._env: ArenaEnv = environments.make(task, "native")
        self._seed = seed
        self._paths: dict[int, _Path] = {}
        self._lock = threading.Lock()

    def chunk(self, seed: Any, at: State | int, length: int, told: Callable[[State], State] = same) -> Rows:
        """The expert's next actions; after its last one it holds still, with the gripper as it is."""
        path = self._path(self._seed if seed is None else _checked(seed))
        first = at if isinstance(at, int) else _nearest(path, at, told)
        rows = path.actions[first : first + length]
        missing = length - len(rows)
        if missing:
            hold = np.zeros((missing, 7))
            hold[:, 6] = path.actions[-1, 6]
            rows = np.concatenate([rows, hold])
        return rows

    def close(self) -> None:
        """Close the world."""
        self._env.close()

    def _path(self, seed: int) -> _Path:
        with self._lock:
            path = self._paths.get(seed)
            if path is None:
                path = self._paths[seed] = record(self._env, seed)
                while len(self._paths) > KEPT:
                    del self._paths[next(iter(self._paths))]
            return path


def record(env: ArenaEnv, seed: int) -> _Path:
    """Let the expert play an episode of the native space to its end."""
    observation, _ = env.reset(seed=seed)
    states, actions = [], []
    for _ in range(env.task.max_steps):
        action = env.expert_action()
        states.append(np.array(observation["state"], np.float32))
        actions.append(action)
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    return _Path(np.stack(states), np.array(actions, np.float64))


def _nearest(path: _Path, state: State, told: Callable[[State], State]) -> int:
    """The step of a path whose state this is; the first of equals."""
    known = np.stack([told(row) for row in path.states]).astype(np.float64)
    apart = np.abs(known - state).max(axis=1)
    step = int(apart.argmin())
    if not apart[step] <= TOLERANCE:
        here = ", ".join(f"{number:.3f}" for number in state[:3])
        raise Refusal(
            f"the arm is at ({here}) m, off the expert's path by {apart[step]:.4f} in the nearest state (step {step} of"
            f" {len(path.actions)}): execute the actions as they were given, from the beginning of an episode of the"
            " same task and seed"
        )
    return step


def _checked(seed: Any) -> int:
    if type(seed) is not int or not 0 <= seed < _SEEDS:
        raise Refusal(f"the seed is {str(seed)[:40]!r}, not a whole number in 0..{_SEEDS - 1}")
    return seed
