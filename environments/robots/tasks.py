"""The robot tasks. The engines (robosuite, MuJoCo) load when a task is first made."""

from __future__ import annotations

from environments.registry import register
from environments.robots.suite import tasks as _suite  # noqa: F401  # the other tabletop tasks
from environments.task import ActionSpace, Milestone, Task

register(
    Task(
        id="tabletop/pick-place-bowl-v1",
        title="Red cube into the bowl",
        goal="put the red cube in the bowl",
        entry_point="environments.robots.tabletop_env:make_tabletop",
        spaces=(ActionSpace.NATIVE, ActionSpace.SEMANTIC, ActionSpace.GUI),
        milestones=(
            Milestone("reach", "The gripper is at the red cube"),
            Milestone("grasp", "Both fingers of the gripper touch the red cube", after=("reach",)),
            Milestone("lift", "The red cube is held clear of the table", after=("grasp",)),
            Milestone("carry", "The red cube is held above the bowl", after=("lift",)),
            Milestone("place", "The red cube is inside the bowl", after=("carry",)),
            Milestone("release", "The red cube lies still in the bowl and the gripper has let go", after=("place",)),
        ),
        max_steps=200,
        params={"cube": "red", "distractor": "blue"},
        category="pick-and-place",
        tier="easy",
        tags=("robot", "panda", "language"),
    )
)
