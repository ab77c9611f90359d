"""The cycles of an episode on a real robot, from its rows: T_loop = T_execute + T_vlm + T_rollback, as measured.

The environment notes at each step where the time since the last one went (`environments.real.timing`); here that is
summed up by cycle. What lies between the end of a step and the player's being asked again belongs to the cycle of the
step before: there the pause is.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from arena.supervision import by_arm
from environments.real.timing import LOOP
from storage.models import Step
from storage.store import Store


@dataclass(slots=True, kw_only=True)
class Cycle:
    """One round of executing, looking, and perhaps going back. Wall time in seconds."""

    cycle: int
    """From 0."""
    steps: int = 0
    """Actions of the player."""
    back: int = 0
    """Actions on the way back or of a repair."""
    execute_s: float = 0.0
    """T_execute: motion, and the policy's own thinking between two actions (`think_s` of it)."""
    think_s: float = 0.0
    vlm_s: float = 0.0
    """T_vlm: monitors, diagnoser and record, from the end of a step until the player is asked again."""
    rollback_s: float = 0.0
    """T_rollback: the way back."""

    @property
    def loop_s(self) -> float:
        """T_loop."""
        return self.execute_s + self.vlm_s + self.rollback_s


TIMES = ("execute_s", "think_s", "vlm_s", "rollback_s", "loop_s")


def cycles(steps: Sequence[Step]) -> list[Cycle]:
    """The cycles of an episode in order; none where no step was timed.

    Args:
        steps: the episode's rows, in order of play.
    """
    found: list[Cycle] = []
    for step in steps:
        told = step.notes.get(LOOP)
        if not isinstance(told, dict):
            continue
        number = int(told["cycle"])
        before = found[-1] if found else None
        if before is None or before.cycle != number:
            found.append(Cycle(cycle=number))
        now = found[-1]
        (before or now).vlm_s += told.get("inspect_s", 0.0)
        (before or now).rollback_s += told.get("rollback_s", 0.0)
        now.think_s += told.get("think_s", 0.0)
        now.execute_s += told.get("execute_s", 0.0) + told.get("think_s", 0.0)
        if by_arm(step.notes):
            now.back += 1
        else:
            now.steps += 1
    return found


def summary(found: Sequence[Cycle]) -> dict[str, dict[str, float]]:
    """Median, largest and sum of each time over the cycles, in seconds."""
    told = {}
    for name in TIMES if found else ():
        values = [float(getattr(cycle, name)) for cycle in found]
        told[name] = {"median": statistics.median(values), "max": max(values), "sum": sum(values)}
    return told


def to_json(found: Sequence[Cycle]) -> list[dict[str, Any]]:
    """The cycles as JSON values."""
    return [{**{f.name: getattr(cycle, f.name) for f in fields(cycle)}, "loop_s": cycle.loop_s} for cycle in found]


def of_run(store: Store, run_id: str) -> dict[str, list[Cycle]]:
    """The cycles of a run's scored episodes, by the label of the condition; none where no robot was timed.

    Raises:
        UnknownRow: if there is no such run.
    """
    links = [link for link in store.plan(store.run(run_id).id) if link.final]
    tries = store.latest_tries(link.identity for link in links)
    found: dict[str, list[Cycle]] = {}
    for link in links:
        episode = tries.get(link.identity)
        if episode is not None and episode.scored:
            found.setdefault(link.condition, []).extend(cycles(store.steps(episode.id)))
    return {label: timed for label, timed in found.items() if timed}
