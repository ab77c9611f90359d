"""Which tasks the scripted expert manages, as measured by `benchmarks/libero_expert.py`; nothing heavy is imported."""

from __future__ import annotations

from environments.robots.libero.suites import Fact

MANAGED: dict[str, frozenset[int]] = {
    "spatial": frozenset(range(10)),
    "object": frozenset(range(10)),
    "goal": frozenset({0, 1, 2, 4, 5, 6, 7, 8, 9}),
    "10": frozenset({0, 1, 2, 3, 4, 5, 6, 7, 8}),
    "90": frozenset(),
}
"""Numbers of the tasks, by suite, whose goal it reaches from more than half of the first five initial states.

Figures of all forty, those left out here too, are in docs/libero.md. LIBERO-90 has not been measured.
"""


def expert_manages(fact: Fact) -> bool:
    """Whether a task has a scripted expert; the others carry the tag `NO_EXPERT`."""
    return fact.number in MANAGED[fact.suite]
