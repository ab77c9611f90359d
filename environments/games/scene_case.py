"""An incident for the locked study: who came, how, when, in which order, and what it left in the room."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np

Question = Literal["who", "cup", "poison", "way", "time", "order"]
QUESTIONS: dict[Question, str] = {
    "who": "Who did it?",
    "cup": "Whose cup was poisoned?",
    "poison": "With what?",
    "way": "Which way in?",
    "time": "When, by a right clock?",
    "order": "What came first, then, last?",
}
"""The form: id and wording of each question."""
CHOICES = "ABCD"
NAMES = ("Heron", "Wren", "Finch", "Crane", "Swift", "Rook", "Lark", "Teal", "Plover", "Martin")
POISONS = ("FENROOT", "REDBELL", "GREYWORT", "MOTHBANE", "NIGHTCAP", "STARWORT", "COLDFERN", "ASHDROP")
TINTS = ("amber", "violet", "green", "blue", "pink", "white")
COATS = ("red", "green", "blue", "yellow", "grey", "brown")
SOLES = ("bars", "dots", "arrows", "plain")
ENTRIES = ("window", "glass door", "fireplace", "oak door")
FURNITURE = ("vials", "memo", "coats", "clock", "wall-clock", "books", "painting", "plant")
LAYERS = ("mud", "wine", "paper")


@dataclass(frozen=True, slots=True)
class Case:
    """One incident, whole. Guests are numbered as in the casebook, walls and seats north, east, south, west."""

    names: tuple[str, ...]
    soles: tuple[str, ...]
    """Pattern under each guest's boots; the casebook shows it."""
    hands: tuple[str, ...]
    """Each guest's writing hand, `left` or `right`; the casebook shows it."""
    coats: tuple[str, ...]
    """Colour of each guest's coat; the rack in the room shows it."""
    culprit: int
    victim: int
    seats: tuple[int, ...]
    """The guest of each seat."""
    poisons: tuple[str, ...]
    """Labels on the shelf, from left to right."""
    tints: tuple[str, ...]
    """Colour of what each bottle holds."""
    poison: int
    entries: tuple[str, ...]
    """The opening in each wall."""
    way_in: int
    way_out: int
    true_minutes: int
    """When it happened, in minutes on a twelve-hour dial."""
    fast_minutes: int
    """How much the table clock is ahead (negative: behind)."""
    wall_minutes: int
    """What the wall clock shows."""
    order: tuple[str, ...]
    """What fell on the floor, first to last."""
    furniture: tuple[str, ...]
    """What stands in each of the eight places along the walls."""
    pile: int
    """In which corner, 0 to 3, the things lie on top of each other."""
    options: dict[str, tuple[str, ...]]
    """The four choices of each question, as the form shows them."""

    def truth(self, question: Question) -> str:
        """The right choice, in the words of the form."""
        return {
            "who": self.names[self.culprit],
            "cup": self.names[self.victim],
            "poison": self.poisons[self.poison],
            "way": self.entries[self.way_in],
            "time": clock_text(self.true_minutes),
            "order": ", ".join(self.order),
        }[question]

    def right_choice(self, question: Question) -> str:
        """The letter of the right choice."""
        return CHOICES[self.options[question].index(self.truth(question))]

    def as_json(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return {key: _listed(value) for key, value in asdict(self).items()}

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Case:
        """The inverse of `as_json`.

        Raises:
            TypeError: for missing or unknown fields.
        """
        rest: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
        }
        rest["options"] = {question: tuple(choices) for question, choices in fields["options"].items()}
        return Case(**rest)


def clock_text(minutes: int) -> str:
    """The reading of a twelve-hour dial, for example `9:40`."""
    hour, minute = divmod(minutes % 720, 60)
    return f"{hour or 12}:{minute:02d}"


def make_case(rng: np.random.Generator) -> Case:
    """Draw an incident whose six questions have one answer each.

    No single trace tells the culprit: sole, writing hand and coat are each shared with one other guest,
    each time with another one, so that any two of the three traces leave one name.
    """
    culprit, sole_twin, coat_twin, hand_twin = _shuffled(rng, range(4))
    sole, coat = _shuffled(rng, SOLES), _shuffled(rng, COATS)
    hand, other_hand = _shuffled(rng, ("left", "right"))
    soles, coats, hands = [sole[1]] * 4, [coat[1]] * 4, [other_hand] * 4
    soles[culprit] = soles[sole_twin] = sole[0]
    soles[hand_twin] = sole[2]
    coats[culprit] = coats[coat_twin] = coat[0]
    coats[hand_twin] = coat[2]
    hands[culprit] = hands[hand_twin] = hand
    way_in, way_out = _shuffled(rng, range(4))[:2]
    true_minutes = 5 * int(rng.integers(97, 138))
    fast = int(rng.choice([-25, -20, -15, 15, 20, 25]))
    fields: dict[str, Any] = {
        "names": tuple(_shuffled(rng, NAMES)[:4]),
        "soles": tuple(soles),
        "hands": tuple(hands),
        "coats": tuple(coats),
        "culprit": culprit,
        "victim": int(rng.choice([guest for guest in range(4) if guest != culprit])),
        "seats": tuple(_shuffled(rng, range(4))),
        "poisons": tuple(_shuffled(rng, POISONS)[:4]),
        "tints": tuple(_shuffled(rng, TINTS)[:4]),
        "poison": int(rng.integers(4)),
        "entries": tuple(_shuffled(rng, ENTRIES)),
        "way_in": way_in,
        "way_out": way_out,
        "true_minutes": true_minutes,
        "fast_minutes": fast,
        "wall_minutes": 5 * int(rng.integers(63, 84)),
        "order": tuple(_shuffled(rng, LAYERS)),
        "furniture": tuple(_shuffled(rng, FURNITURE)),
        "pile": int(rng.integers(4)),
    }
    return Case(**fields, options=_options(rng, fields))


def _options(rng: np.random.Generator, fields: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """What the form offers: the readings of somebody who overlooked something, beside the truth."""
    true, fast = fields["true_minutes"], fields["fast_minutes"]
    times = (true, true + fast, true + 2 * fast, fields["wall_minutes"])
    order = ", ".join(fields["order"])
    others = [", ".join(way) for way in permutations(LAYERS) if ", ".join(way) != order]
    return {
        "who": fields["names"],
        "cup": fields["names"],
        "poison": tuple(_shuffled(rng, fields["poisons"])),
        "way": ENTRIES,
        "time": tuple(_shuffled(rng, [clock_text(minutes) for minutes in times])),
        "order": tuple(_shuffled(rng, [order, *_shuffled(rng, others)[:3]])),
    }


def _shuffled(rng: np.random.Generator, items: Any) -> list[Any]:
    pool = list(items)
    return [pool[int(index)] for index in rng.permutation(len(pool))]


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: list(choices) for key, choices in value.items()}
    return list(value) if isinstance(value, tuple) else value
