"""What the package carries of LIBERO's tasks: their names, instructions and goals, as facts, without the benchmark.

`suites.json` is written by `write` from the installed
`hf-libero` 0.1.4 (MIT): per suite, in the benchmark's order, the name of the task (that of its BDDL
file), the instruction (as the benchmark makes it from the name) and the goal's predicates. So tasks can
be listed where neither the benchmark nor MuJoCo is installed.
"""

from __future__ import annotations

import functools
import importlib
import json
from dataclasses import dataclass
from pathlib import Path

from environments.robots.libero.conventions import SUITES, Suite

_FILE = Path(__file__).with_name("suites.json")


@dataclass(frozen=True, slots=True)
class Fact:
    """One task of the benchmark."""

    suite: Suite
    number: int
    """Place in the suite's own order, from 0."""
    name: str
    """Stem of its BDDL and initial-state files."""
    instruction: str
    """What the published harnesses give the policy as prompt."""
    goal: tuple[tuple[str, ...], ...]
    """Predicates that must all hold, each as (name, arguments...), in lower case."""

    @property
    def id(self) -> str:
        """The task's id here."""
        return f"libero/{self.suite}/{self.number}-v1"


@functools.cache
def facts() -> tuple[Fact, ...]:
    """All tasks, suite by suite."""
    table = json.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(
        Fact(suite, number, name, instruction, tuple(tuple(predicate) for predicate in goal))
        for suite in SUITES
        for number, (name, instruction, goal) in enumerate(table[suite])
    )


def fact(suite: str, number: int) -> Fact:
    """One task.

    Raises:
        LookupError: if the benchmark has none of that suite and number.
    """
    for known in facts():
        if (known.suite, known.number) == (suite, number):
            return known
    raise LookupError(f"LIBERO has no task {number} in suite {suite!r}; the suites are {', '.join(SUITES)}")


def instruction(name: str) -> str:
    """The instruction that the benchmark makes from a task's name: words after the scene's number, if there is one."""
    words = name.split("_")
    if name[:1].isupper():  # KITCHEN_SCENE4_put_the_...
        words = words[next(i for i, word in enumerate(words) if word.startswith("SCENE")) + 1 :]
    return " ".join(words)


def write() -> None:
    """Write `suites.json` anew from the installed benchmark."""
    from environments.robots.libero import loading

    benchmark = loading.benchmark()
    parsing = importlib.import_module("bddl.parsing")
    order = benchmark.task_names()
    table: dict[str, list[list[object]]] = {}
    for suite in SUITES:
        table[suite] = []
        for name in order[f"libero_{suite}"]:
            goal: list[list[str]] = []
            for group in parsing.scan_tokens(filename=str(benchmark.bddl(suite, name))):
                if group[0] == ":goal":
                    parsing.package_predicates(group[1], goal, "", "goals")
            table[suite].append([name, instruction(name), goal])
    lines = [f' "{suite}": [\n  ' + ",\n  ".join(map(json.dumps, table[suite])) + "\n ]" for suite in SUITES]
    _FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
