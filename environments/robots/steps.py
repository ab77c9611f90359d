"""A goal as steps: one predicate after the other. Plain values, so that tasks can be listed without MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass

Fact = tuple[str, ...]
"""A predicate with its arguments, such as ("on", "bowl", "plate"): BDDL's goals are conjunctions of these."""


@dataclass(frozen=True, slots=True)
class Step:
    """One sub-goal on the way."""

    fact: Fact
    lasting: bool = True
    """Whether it is part of the goal; a drawer may be opened only to be closed again."""

    @property
    def verb(self) -> str:
        """The predicate."""
        return self.fact[0]

    @property
    def thing(self) -> str:
        """What is moved."""
        return self.fact[1]

    @property
    def place(self) -> str:
        """Where an object is to be."""
        return self.fact[2]

    @property
    def places(self) -> bool:
        """Whether an object is to be put somewhere; else a part is to be slid or turned."""
        return len(self.fact) == 3


def kind(name: str) -> str:
    """A name without its number: `black_bowl_1` is a `black_bowl`."""
    return name.rstrip("0123456789").rstrip("_")
