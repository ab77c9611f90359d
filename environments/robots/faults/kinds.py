"""What can go wrong: the taxonomy, and how large each fault is at each severity.

Classes and letters are those of `docs/fault-taxonomy.md`, which names their sources. Severity 0 is N1, the benign twin:
the same disturbance, too small to matter. The sizes were set by measurement (`benchmarks/faults.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Stage = Literal[
    "reach", "grasp", "lift", "transport", "lower", "release", "open", "close", "turn", "push", "done"
]  # fmt: skip
FaultClass = Literal["perception", "planning", "control", "external"]
KindName = Literal[
    "wrong-object", "pose-bias", "stale-view", "noisy-view", "proprio-bias", "false-grasp",
    "wrong-target", "skipped-step", "swapped-steps", "premature-stop", "loop",
    "translation-bias", "rotation-bias", "grasp-miss", "gripper-timing", "gripper-opens-mid-carry",
    "stuck", "delay", "collision", "object-moved",
]  # fmt: skip
FOR_GOOD = 10_000
"""Control steps: longer than any episode."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One sub-type of fault."""

    fault_class: FaultClass
    fault_type: str
    """The letter and number of the taxonomy."""
    summary: str
    unit: str
    """Of `sizes`: m, rad, steps, N; empty where the fault has no size beside its duration."""
    sizes: tuple[float, float, float, float]
    """By severity, 0 to 3."""
    steps: tuple[int, int, int, int]
    """How many control steps it acts, by severity."""
    stage: Stage
    """Where it begins unless the fault says otherwise."""


_NONE = (0.0, 0.0, 0.0, 0.0)
KINDS: dict[KindName, Kind] = {
    "wrong-object": Kind("perception", "P1", "the policy takes another object for the one it was told", "",
                         _NONE, (1, 25, 60, FOR_GOOD), "reach"),
    "pose-bias": Kind("perception", "P2", "the policy sees the object beside where it is", "m",
                      (0.004, 0.03, 0.045, 0.06), (FOR_GOOD,) * 4, "reach"),
    "stale-view": Kind("perception", "P3", "the policy's view is blocked: it knows where things were", "",
                       _NONE, (2, 30, 80, FOR_GOOD), "reach"),
    "noisy-view": Kind("perception", "P4", "the policy's view is noisy", "m",
                       (0.001, 0.02, 0.035, 0.05), (FOR_GOOD,) * 4, "reach"),
    "proprio-bias": Kind("perception", "P5", "the policy is mistaken about where its hand is", "m",
                         (0.003, 0.03, 0.045, 0.06), (FOR_GOOD,) * 4, "reach"),
    "false-grasp": Kind("perception", "P6", "the fingers slip off, and the policy believes that it holds on", "",
                        _NONE, (1, 9, 12, 16), "lift"),
    "wrong-target": Kind("planning", "L1", "the policy carries the object to another place than told", "m",
                         (0.004, 0.10, 0.12, 0.15), (FOR_GOOD,) * 4, "transport"),
    "skipped-step": Kind("planning", "L2", "the policy takes its present sub-goal for done", "",
                         _NONE, (1, 40, 80, FOR_GOOD), "reach"),
    "swapped-steps": Kind("planning", "L3", "the policy lets go first and carries then", "",
                          _NONE, (1, 9, 12, 16), "lift"),
    "premature-stop": Kind("planning", "L4", "the policy stops although it is not done", "",
                           _NONE, (3, 150, 200, FOR_GOOD), "transport"),
    "loop": Kind("planning", "L5", "the policy repeats its last ten actions", "",
                 _NONE, (2, 100, 140, FOR_GOOD), "reach"),
    "translation-bias": Kind("control", "C1", "the hand goes beside where it is told to", "m",
                             (0.003, 0.03, 0.05, 0.07), (FOR_GOOD,) * 4, "reach"),
    "rotation-bias": Kind("control", "C2", "the hand turns beyond what it is told to", "rad",
                          (0.035, 0.35, 0.6, 0.79), (FOR_GOOD,) * 4, "reach"),
    "grasp-miss": Kind("control", "C3", "the hand stays open while it is told to close", "",
                       _NONE, (1, 10, 14, 20), "grasp"),
    "gripper-timing": Kind("control", "C4", "the gripper obeys late", "steps",
                           (1, 10, 14, 18), (FOR_GOOD,) * 4, "grasp"),
    "gripper-opens-mid-carry": Kind("control", "C5", "the hand opens while it carries", "",
                                    _NONE, (1, 6, 8, 10), "transport"),
    "stuck": Kind("control", "C6", "the arm does not move", "",
                  _NONE, (3, 150, 200, FOR_GOOD), "transport"),
    "delay": Kind("control", "C7", "every action is carried out late", "steps",
                  (1, 6, 9, 12), (FOR_GOOD,) * 4, "reach"),
    "collision": Kind("control", "C8", "the object is struck, and slips in the hand", "N",
                      (0.2, 70.0, 100.0, 140.0), (4,) * 4, "transport"),
    "object-moved": Kind("external", "E1", "somebody moves the object", "m",
                         (0.003, 0.05, 0.07, 0.09), (1,) * 4, "lift"),
}  # fmt: skip
"""All injectors. N0 is an episode without a fault; N1 is any of these at severity 0."""

if set(KINDS) != set(get_args(KindName)):
    raise RuntimeError("KINDS and KindName must name the same faults")
