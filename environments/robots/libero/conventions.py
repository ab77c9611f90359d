"""How public harnesses run LIBERO: what they share, and each thing in which they differ, as named conventions.

Read from the harnesses' own source: openpi `examples/libero/main.py` (15a9616), OpenVLA
`experiments/robot/libero/` (c8f03f4), LeRobot `src/lerobot/envs/libero.py` and
`processor/env_processor.py` (7427f31).

They share: `reset`, then `set_init_state` with the published state of that episode, then ten settle
steps with the action [0, 0, 0, 0, 0, 0, -1] whose `done` nobody reads; 256 x 256 pictures of
`agentview` and the wrist, turned by 180 degrees before a policy sees them; the 8-D state with an
axis-angle that is not folded; success the moment that the goal holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

ConventionName = Literal["openpi", "openvla", "lerobot"]
Suite = Literal["spatial", "object", "goal", "10", "90"]

SUITES: tuple[Suite, ...] = ("spatial", "object", "goal", "10", "90")
"""The benchmark's suites, without its prefix `libero_`."""
INIT_STATES = 50
"""Published initial states of each task."""
SETTLE_STEPS = 10
SETTLE_ACTION = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)
"""The hand opens and nothing else is asked for, while the objects fall the last millimetres."""
MAX_STEPS: Mapping[Suite, int] = MappingProxyType({"spatial": 220, "object": 280, "goal": 300, "10": 520, "90": 400})
"""Horizon in control steps after settling (openpi, OpenVLA)."""


@dataclass(frozen=True, slots=True)
class Convention:
    """One harness's way to run an episode."""

    name: ConventionName
    seed: int
    """What numpy's generator is seeded with; it decides where fixtures stand."""
    seed_per_episode: bool
    """True: the generator is seeded with `seed` + episode before each reset. False: it is seeded once for a task,
    and episode k is the (k+1)-th reset after that."""
    loads: int
    """How often the scene has been loaded before the first episode's own reset: once by building the environment, and
    once more where a harness resets a new environment before it begins. LIBERO's draws depend on it, see `world`."""
    max_steps: Mapping[Suite, int]
    episodes_per_task: int
    rotate: bool
    """Whether the observation's pictures are turned by 180 degrees, as the policy is fed."""
    picture: int
    """Edge of the pictures that the policy is fed, in pixels; each renders 256 and resizes on its own side."""


CONVENTIONS: Mapping[ConventionName, Convention] = MappingProxyType(
    {
        "openpi": Convention("openpi", 7, False, 1, MAX_STEPS, 50, True, 224),
        "openvla": Convention("openvla", 0, False, 1, MAX_STEPS, 50, True, 224),
        "lerobot": Convention("lerobot", 1000, True, 2, MappingProxyType({**MAX_STEPS, "spatial": 280}), 10, True, 256),
    }
)
"""By name."""
