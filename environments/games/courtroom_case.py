"""Cases for the courtroom: facts, the evidence that records them, and testimonies with one lie each.

A case is made of facts of different kinds. Each fact has one piece of evidence, which records its true
value. A witness's statement concerns one fact, or none. Facts of different kinds say nothing about each
other, so a statement with a false value is contradicted by exactly one piece of evidence, and no other
statement by any.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from environments.games.courtroom_facts import COMBINED, DIRECT, FILLERS, NOTHING_TO_ADD, Fact

LETTERS = "ABCDEF"
"""The pieces of evidence, in the order of the court record."""

THINGS = (
    "silver cup", "painted fan", "brass telescope", "stamp album", "glass swan", "old violin", "sea chart",
    "chess clock", "jade comb", "music box", "gold thimble", "pearl brooch",
)  # fmt: skip
PLACES = (
    "town museum", "Grand Hotel", "opera house", "old lighthouse", "city library", "winter garden", "railway station",
    "river mill", "toy factory", "observatory",
)  # fmt: skip
ROLES = (
    "baker", "night porter", "gardener", "ticket clerk", "piano tuner", "florist", "cook", "librarian", "clockmaker",
    "postman", "usher", "tailor", "lamplighter", "barber", "ferryman", "glazier",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """One entry of the court record: its name, its picture, and what can be read once it is opened."""

    name: str
    icon: str
    details: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and what the witness adds when pressed."""

    text: str
    addition: str


@dataclass(frozen=True, slots=True)
class Testimony:
    """What one witness says, and where it is false."""

    witness: str
    statements: tuple[Statement, ...]
    lie: int
    """Index of the statement that is contradicted; never the first."""
    answer: str
    """Letter of the evidence that contradicts it."""
    needs_press: bool
    """Whether the false words are only said when that statement is pressed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A whole case: what happened, the court record, the testimonies in their order."""

    thing: str
    place: str
    accused: str
    file: tuple[str, ...]
    """The case file, which everybody may read and nobody can present."""
    evidence: tuple[Evidence, ...]
    testimonies: tuple[Testimony, ...]


@lru_cache(maxsize=64)
def case_of(number: int) -> Case:
    """The case of that number, always the same: what a state keeps of a case."""
    return generate(np.random.default_rng(number))


def generate(rng: np.random.Generator) -> Case:
    """A case of three testimonies, each harder than the one before.

    First a lie in plain words, then one that is only told when the witness is pressed, last one that
    the evidence contradicts together with a line of the case file (pressed for in half of the cases).
    """
    thing, place = _pick(THINGS, rng), _pick(PLACES, rng)
    roles = [str(role) for role in rng.permutation(ROLES)]
    accused, witnesses, others = roles[0], roles[1:4], roles[4:7]
    direct = [make(rng) for make in _sample(DIRECT, 4, rng)]
    combined = [make(rng, others) for make in _sample(COMBINED, 2, rng)]
    order = rng.permutation(len(LETTERS))
    facts = [(direct + combined)[index] for index in order]
    names = {"thing": thing, "place": place, "accused": accused}
    evidence = tuple(
        Evidence(fact.item, fact.icon, tuple(line.format(**names) for line in fact.record)) for fact in facts
    )
    lies = [direct[0], direct[1], combined[0]]
    testimonies = []
    for number, (witness, lie) in enumerate(zip(witnesses, lies, strict=True)):
        needs_press = number == 1 or (number == 2 and bool(rng.integers(2)))
        told = _testimony(witness, lie, facts, 4 if number == 0 else 5, needs_press, rng)
        statements = tuple(
            Statement(item.text.format(**names, witness=witness), item.addition.format(**names, witness=witness))
            for item in told.statements
        )
        testimonies.append(replace(told, statements=statements))
    file = (
        f"Theft of the {thing} from the {place}, at night.",
        f"Accused: the {accused}, whom you defend.",
        *(fact.file for fact in facts if fact.file),
    )
    return Case(thing, place, accused, file, evidence, tuple(testimonies))


def _testimony(
    witness: str, lie: Fact, facts: list[Fact], length: int, needs_press: bool, rng: np.random.Generator
) -> Testimony:
    """An opening without substance, then statements about facts: one false, the others true."""
    true_facts = _sample([fact for fact in facts if fact is not lie], length - 2, rng)
    told = [*true_facts]
    place = int(rng.integers(len(told) + 1))
    told.insert(place, lie)
    # Where the lie has to be pressed for, another statement is as vague: vagueness alone is no sign.
    vague = {place, (place + 1 + int(rng.integers(len(told) - 1))) % len(told)} if needs_press else set()
    statements = [Statement(_pick(FILLERS, rng), _pick(NOTHING_TO_ADD, rng))]
    for index, fact in enumerate(told):
        words = _pick(fact.claims, rng).replace("{c}", fact.lie if fact is lie else fact.truth)
        if index in vague:
            statements.append(Statement(_pick(fact.vague, rng), words))
        else:
            statements.append(Statement(words, _pick(NOTHING_TO_ADD, rng)))
    return Testimony(witness, tuple(statements), place + 1, LETTERS[facts.index(lie)], needs_press)


def _pick(options: Any, rng: np.random.Generator) -> Any:
    return options[int(rng.integers(len(options)))]


def _sample(options: Any, count: int, rng: np.random.Generator) -> list[Any]:
    return [options[index] for index in rng.permutation(len(options))[:count]]
