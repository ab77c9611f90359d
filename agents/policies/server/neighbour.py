"""A policy without a model and without privilege: it does what the scripted expert did where the world looked alike.

The server lets the expert play some seeds of its tasks once and keeps, of every step, the arm's state and the action,
and every few steps a small picture. A request is answered with what followed the moment that is most like it: the task
by its words, the moment by picture and state, the step by state. So it is a function of the request alone, acts
wherever the arm is, and can be fooled by what it sees and is told, as learned policies can. On the seeds that it knows
and in a world that nothing disturbs it plays the expert's own path; on others it misses what lies elsewhere.

Nearest neighbours over demonstrations as a policy: Pari et al., "The Surprising Effectiveness of Representation
Learning for Visual Imitation" (RSS 2022). Here the representation is the picture itself, made small.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import environments
from agents.policies.chunks import Rows
from agents.policies.options import USUAL
from agents.policies.server.openpi import OpenPiServer
from agents.policies.server.path import Refusal, State, same
from agents.policies.sight import Sight
from environments.actions import Action

EDGE = 56
"""Edge of a kept picture in pixels: a cube of 4 cm covers two."""
APART = 5
"""Steps from one kept picture to the next."""
UNLIKE = 0.02
"""Root mean square of the difference of two pictures (of 1) that weighs as much as a state that is off by `OFF`."""
OFF = np.array([0.03] * 3 + [0.3] * 3 + [0.01] * 2)
"""Of the state's numbers: m, rad, and m of the fingers."""


class _Demonstrations(NamedTuple):
    """All of one instruction, one behind the other."""

    instruction: str
    states: NDArray[np.float64]
    """(T, 8): before each action."""
    actions: Rows
    """(T, 7)."""
    ends: NDArray[np.int64]
    """(T,): the step behind the last of the demonstration that a step is of."""
    pictures: NDArray[np.float32]
    """(P, EDGE * EDGE * 3), of 1."""
    pictured: NDArray[np.int64]
    """(P,): the step before which each picture is."""


class Neighbour:
    """The demonstrations of some tasks; safe for threads, for nothing of it changes.

    Args:
        tasks: ids of robot tasks with an expert and instructions of their own.
        seeds: that the expert plays.
        tell: told the task of each demonstration that was played.

    Raises:
        EnvironmentsError: for a task that does not exist, has no native space or no expert.
    """

    def __init__(self, tasks: Sequence[str], seeds: Sequence[int], tell: Callable[[str], None] | None = None) -> None:
        self._known: dict[str, _Demonstrations] = {}
        for task in tasks:
            found = _demonstrate(task, seeds, tell)
            alike = self._known.get(found.instruction)  # LIBERO gives the same words to tasks of different scenes
            self._known[found.instruction] = found if alike is None else _together(alike, found)

    def chunk(self, seed: Any, at: State | int, length: int, told: Callable[[State], State] = same) -> Rows:
        """Refused: this policy looks, and reads (`look`).

        Raises:
            Refusal: always.
        """
        raise Refusal("this policy needs the picture and the instruction, and is served by openpi's protocol alone")

    def look(self, prompt: str, picture: NDArray[np.uint8], state: State, length: int) -> Rows:
        """The next native actions, (length, 7) float64; behind the end of a demonstration it holds still.

        Args:
            prompt: the instruction; the known one that reads most alike is meant.
            picture: from the front, (H, W, 3) uint8, turned as openpi's clients turn it.
            state: the arm's, (8,).
            length: number of actions.
        """
        (words,) = difflib.get_close_matches(prompt, self._known, n=1, cutoff=0.0)
        known = self._known[words]
        step = _nearest(known, thumbnail(picture), state.astype(np.float64))
        rows = known.actions[step : min(step + length, known.ends[step])]
        hold = np.zeros((length - len(rows), 7))
        hold[:, 6] = known.actions[known.ends[step] - 1, 6]
        return np.concatenate([rows, hold])


class NeighbourServer(OpenPiServer):
    """openpi's protocol in front of a `Neighbour`, which looks at the picture and reads the prompt."""

    metadata: ClassVar[Mapping[str, Any]] = {"server": "rewind-arena", "policy": "neighbour"}

    def __init__(self, policy: Neighbour, host: str = "127.0.0.1", port: int = 0, chunk: int = 10) -> None:
        self._neighbour = policy
        super().__init__(policy, host, port, chunk)

    def rows(self, request: Mapping[str, Any], state: State) -> Rows:
        """What followed the moment that is most like the request's."""
        return self._neighbour.look(request["prompt"], request["observation/image"], state, self.length)


def thumbnail(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A picture, (H, W, 3) uint8, small and flat: (EDGE * EDGE * 3,) of 1."""
    small = Image.fromarray(picture).resize((EDGE, EDGE), Image.Resampling.BOX)
    flat: NDArray[np.float32] = np.asarray(small, np.float32).ravel() / np.float32(255)
    return flat


def _demonstrate(task: str, seeds: Sequence[int], tell: Callable[[str], None] | None) -> _Demonstrations:
    env = environments.make(task, "native")
    states: list[State] = []
    actions: list[Action] = []
    ends: list[int] = []
    pictures: list[NDArray[np.float32]] = []
    pictured: list[int] = []
    try:
        for seed in seeds:
            observation, _ = env.reset(seed=seed)
            for step in range(env.task.max_steps):
                if step % APART == 0:
                    sight = Sight(observation, env.task.goal, USUAL[NeighbourServer.protocol])
                    pictures.append(thumbnail(sight.picture("agentview")))
                    pictured.append(len(actions))
                states.append(np.array(observation["state"], np.float32))
                actions.append(env.expert_action())
                observation, _, terminated, truncated, _ = env.step(actions[-1])
                if terminated or truncated:
                    break
            ends += [len(actions)] * (len(actions) - len(ends))
            if tell is not None:
                tell(task)
    finally:
        env.close()
    return _Demonstrations(
        env.task.goal,
        np.stack(states).astype(np.float64),
        np.array(actions, np.float64),
        np.array(ends),
        np.stack(pictures),
        np.array(pictured),
    )


def _together(first: _Demonstrations, second: _Demonstrations) -> _Demonstrations:
    """The demonstrations of two tasks with the same instruction."""
    behind = len(first.states)
    return _Demonstrations(
        first.instruction,
        np.concatenate([first.states, second.states]),
        np.concatenate([first.actions, second.actions]),
        np.concatenate([first.ends, second.ends + behind]),
        np.concatenate([first.pictures, second.pictures]),
        np.concatenate([first.pictured, second.pictured + behind]),
    )


def _nearest(known: _Demonstrations, picture: NDArray[np.float32], state: NDArray[np.float64]) -> int:
    """The step that was most like this: the kept picture first, then the state among the steps around it."""
    off = (((known.states - state) / OFF) ** 2).mean(1)
    unlike = ((known.pictures - picture) ** 2).mean(1).astype(np.float64) / UNLIKE**2
    at = int(known.pictured[(unlike + off[known.pictured]).argmin()])
    first = max(at - APART + 1, 0 if at == 0 else int(np.searchsorted(known.ends, known.ends[at])))
    around = np.arange(first, min(at + APART, int(known.ends[at])))
    return int(min(around, key=lambda step: (round(off[step], 6), abs(step - at))))
