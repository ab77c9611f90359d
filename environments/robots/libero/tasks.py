"""Registers LIBERO's tasks as `libero/<suite>/<n>-v1`; neither the benchmark nor MuJoCo is imported."""

from __future__ import annotations

import dataclasses
from typing import Any

from environments.registry import register
from environments.robots.libero.conventions import CONVENTIONS, INIT_STATES, Suite
from environments.robots.libero.expertise import expert_manages
from environments.robots.libero.goals import sub_goals
from environments.robots.libero.suites import Fact, facts
from environments.task import NO_EXPERT, ActionSpace, Task

_TITLES: dict[Suite, str] = {
    "spatial": "LIBERO-Spatial",
    "object": "LIBERO-Object",
    "goal": "LIBERO-Goal",
    "10": "LIBERO-10 (long)",
    "90": "LIBERO-90",
}
SETTINGS = {"convention": tuple(CONVENTIONS), "quality": ("reference", "fast")}
"""What an experiment may set; the first of each is the default."""


def task(fact: Fact, **params: Any) -> Task:
    """A task of the benchmark; `params` are those of `LiberoEnv`, for example `convention="lerobot"`.

    With other parameters than the defaults the id says so (`libero/spatial/0-lerobot-v1`), since
    results are compared by id.
    """
    convention = CONVENTIONS[params.get("convention", "openpi")]
    told = sorted((name, str(value)) for name, value in params.items() if name != "assets")  # a folder is no result
    label = "-".join(value.replace("_", "-").lower() for _, value in told)
    return Task(
        id=f"libero/{fact.suite}/{fact.number}-{label + '-' if label else ''}v1",
        title=f"{_TITLES[fact.suite]} {fact.number}: {fact.instruction}",
        goal=fact.instruction,
        entry_point="environments.robots.libero.make:make_libero",
        spaces=(ActionSpace.NATIVE, ActionSpace.SEMANTIC, ActionSpace.GUI),
        milestones=tuple(milestone for goal in sub_goals(fact) for milestone in goal.milestones()),
        max_steps=convention.max_steps[fact.suite],
        params={"suite": fact.suite, "number": fact.number, **params},
        public_seeds=tuple(range(INIT_STATES)),
        category=f"libero-{fact.suite}",
        tier="hard" if fact.suite == "10" else "medium",
        tags=("robot", "panda", "language", "libero", *(() if expert_manages(fact) else (NO_EXPERT,))),
        extra="libero",
        settings={} if params else SETTINGS,  # a variant is not varied once more
        varied_by="" if params else "environments.robots.libero.tasks:variant",
    )


for _fact in facts():
    register(task(_fact))


def variant(task_id: str, **params: Any) -> Task:
    """A registered LIBERO task with other parameters, not listed: `variant("libero/goal/3-v1", quality="fast")`.

    Those of `SETTINGS` are found by their id too, and may be set in an experiment file.
    """
    from environments.registry import get

    base = get(task_id)
    made = task(next(fact for fact in facts() if fact.id == task_id), **params)
    return dataclasses.replace(made, spaces=base.spaces)
