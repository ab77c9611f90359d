"""Worlds: Gymnasium environments with exact snapshots, two or three action spaces, and the truth.

    import environments

    env = environments.make("games/snake-v1", "semantic")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step({"turn": "up"})

This package imports no other room of the house.
"""

from environments import catalogue as _catalogue  # noqa: F401  registers the built-in tasks
from environments.env import ArenaEnv, Frame, Views
from environments.registry import get, match, register, suggestion, tasks
from environments.task import ActionSpace, Milestone, Task


def make(task_id: str, space: ActionSpace | str) -> ArenaEnv:
    """Build a registered task behind one of its action spaces.

    Raises:
        UnknownTask: no such id; the message names the nearest one.
        UnsupportedSpace: the task does not offer that space.
    """
    return get(task_id).make(space)


__all__ = [
    "ActionSpace",
    "ArenaEnv",
    "Frame",
    "Milestone",
    "Task",
    "Views",
    "get",
    "make",
    "match",
    "register",
    "suggestion",
    "tasks",
]
