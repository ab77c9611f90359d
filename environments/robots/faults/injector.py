"""Decides when faults begin and end, and remembers the truth about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from environments.robots.faults import effects
from environments.robots.faults.effects import HISTORY, Running, Scene
from environments.robots.faults.fault import Fault
from environments.robots.faults.senses import Percept, SensedArm, SensedWorld
from environments.robots.world import Vector

_SHORT = ("grasp", "release")
"""Stages that last a few steps: a fault waits less in them."""


class Injector:
    """The faults of an episode, in the order in which they were given."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._running: list[Running] = []
        self._first: dict[Fault, int] = {}
        """Fault -> its first onset in this episode, which no rollback undoes."""
        self._history: list[list[float]] = []
        self._step = 0
        self._percept: Percept | None = None
        self.senses = SensedWorld(scene.world, self), SensedArm(scene.arm, self)
        """Scene and arm as a policy perceives them."""

    @property
    def arm_position(self) -> Vector:
        """Where the hand really is, (3,) m."""
        return self._scene.arm.position

    def arm(self, faults: Sequence[Fault], seed: int) -> None:
        """Begin with these faults, or with none, in the episode of that seed."""
        self._running, self._first = [], {}
        for fault in faults:
            run = Running(fault, seed, 0)
            low, high = (1, 3) if fault.stage in _SHORT else (3, 7)
            run.threshold = fault.after_steps or int(run.rng().integers(low, high))
            self._running.append(run)
        self._history, self._step, self._percept = [], 0, None

    def decide(self, action: list[float], stage: str, step: int, *, policy: bool = True) -> list[float]:
        """The action that the policy decides on, faults of planning included; begins what is due.

        Args:
            action: seven numbers, as the policy would have it.
            stage: the present stage of the task.
            step: number of this control step, from 0.
            policy: False if somebody else has taken over, whose actions faults of planning do not change.
        """
        self._step, self._percept = step, None
        for run in self._running:
            self._wait(run, stage, step)
            if run.active and policy:
                action = effects.decided(run, action, self._history)
        if policy and any(run.fault.kind == "loop" for run in self._running):
            self._history = [*self._history, list(action)][-HISTORY:]
        return action

    def apply(self, action: list[float]) -> list[float]:
        """The action that really reaches the robot in this step: what `decide` returned, faults of control included."""
        for run in self._running:
            if run.active:
                action = effects.carried_out(run, action, self._scene)
        return action

    def passed(self) -> None:
        """The step is over."""
        for run in self._running:
            if run.active:
                run.left -= 1
                if run.left == 0:
                    effects.end(run, self._scene)
        self._step, self._percept = self._step + 1, None

    def percept(self) -> Percept:
        """How what the policy perceives now differs from the truth."""
        if self._percept is None:
            self._percept = Percept()
            for run in self._running:
                if run.active:
                    effects.perceived(run, self._percept, self._step)
        return self._percept

    def _wait(self, run: Running, stage: str, step: int) -> None:
        if run.onset is None:
            run.count = run.count + 1 if stage == run.fault.stage else 0
            if run.count >= run.threshold:
                run.onset, run.left = step, run.fault.duration_steps
                self._first.setdefault(run.fault, step)
                effects.begin(run, self._scene)
                self._percept = None

    # -- the truth, and snapshots --------------------------------------------------------------------------------------

    def truths(self) -> list[dict[str, Any]]:
        """Privileged: of each fault what it is and how far it has come.

        `onset_step` is of the present timeline, None until it has happened there; `first_onset_step` of whatever was
        played: of a fault that comes back it stays when its onset is rolled back.
        """
        return [
            {
                "kind": run.fault.kind,
                "fault_class": run.fault.about.fault_class,
                "fault_type": run.fault.about.fault_type,
                "severity": run.fault.severity,
                "stage": run.fault.stage,
                "onset_step": run.onset,
                "first_onset_step": self._first.get(run.fault),
                "active": run.active,
                "entity": run.memory.get("thing"),
            }
            for run in self._running
        ]

    def state(self) -> dict[str, Any] | None:
        """The faults and their progress, as JSON values."""
        if not self._running:
            return None
        return {"faults": [_state(run) for run in self._running], "history": self._history, "step": self._step}

    def load(self, state: dict[str, Any] | None, same_episode: bool) -> None:
        """Go back to a state; within the same episode, what has happened stays happened.

        Args:
            state: what `state` returned.
            same_episode: whether the snapshot is of the episode that this injector is in.
        """
        self._percept = None
        if not same_episode:
            self._running, self._first = [], {}
        if state is None:
            # Injected after this snapshot was taken: an injection is not undone by going back either.
            for run in self._running:
                run.count, run.left, run.onset, run.memory = 0, 0, None, {}
            self._history, self._step = [], 0
        else:
            self._running = [_running(item) for item in state["faults"]]
            self._history, self._step = [list(past) for past in state["history"]], int(state["step"])
        for run in self._running:
            if run.onset is not None:
                self._first.setdefault(run.fault, run.onset)
            elif not run.fault.repeat:
                run.onset = self._first.get(run.fault)


def _state(run: Running) -> dict[str, Any]:
    progress = [run.seed, run.threshold, run.count, run.left, run.onset]
    return {"fault": run.fault.model_dump(mode="json"), "progress": progress, "memory": run.memory}


def _running(state: dict[str, Any]) -> Running:
    seed, threshold, count, left, onset = state["progress"]
    return Running(Fault.model_validate(state["fault"]), seed, threshold, count, left, onset, dict(state["memory"]))
