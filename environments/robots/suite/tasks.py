"""Registers the suite's tasks; neither robosuite nor MuJoCo is imported."""

from __future__ import annotations

from environments.registry import register
from environments.robots.suite.catalogue import ALL
from environments.robots.suite.milestones import milestones
from environments.task import ActionSpace, Task

for _task in ALL:
    register(
        Task(
            id=_task.id,
            title=_task.title,
            goal=_task.instruction,
            entry_point="environments.robots.suite.env:make_suite",
            spaces=(ActionSpace.NATIVE, ActionSpace.SEMANTIC, ActionSpace.GUI),
            milestones=milestones(_task),
            max_steps=_task.max_steps,
            category=_task.family,
            tier=_task.tier,
            tags=("robot", "panda", "language"),
        )
    )
