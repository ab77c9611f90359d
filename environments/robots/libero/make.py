"""The entry point of LIBERO's tasks: says what is missing before anything heavy is imported."""

from __future__ import annotations

from environments.env import ArenaEnv
from environments.errors import MissingBenchmark
from environments.robots.libero import loading
from environments.task import ActionSpace, Task


def make_libero(task: Task, space: ActionSpace) -> ArenaEnv:
    """Build a LIBERO task; `task.params` are the keyword arguments of `LiberoEnv`.

    Raises:
        MissingBenchmark: if the benchmark or its assets are not on this machine; the message has the cure.
    """
    problems = loading.problems(task.params.get("assets"))
    if problems:
        raise MissingBenchmark(task.id, problems)
    from environments.robots.libero.env import LiberoEnv

    if space == ActionSpace.GUI:  # whoever looks at a window is shown the scene as it is, not mirrored
        from environments.robots.teleop_env import VIEW_PX, TeleopEnv

        params = {**task.params, "size": VIEW_PX, "orientation": "upright"}
        return TeleopEnv(LiberoEnv(task, ActionSpace.NATIVE, **params))
    return LiberoEnv(task, space, **task.params)
