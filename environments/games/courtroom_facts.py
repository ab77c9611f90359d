"""The kinds of facts that a courtroom case is made of, and all of their wording.

Rules for a new kind, which the tests check: its values exclude each other, its claims say nothing that
another kind's evidence records, and the record names the value outright (a direct kind) or together with
the line that it adds to the case file (a combined kind).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a case. In the texts {thing}, {place} and {accused} stand for the case's own."""

    kind: str
    item: str
    """Name of the evidence, at most 16 characters."""
    icon: str
    record: tuple[str, ...]
    """What is read when the evidence is opened."""
    claims: tuple[str, ...]
    """Ways to state the fact; {c} stands for its value."""
    vague: tuple[str, ...]
    """Ways to mention it without the value."""
    truth: str
    lie: str
    file: str = ""
    """The line of the case file that it takes to understand the record."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A direct kind: a table of values, each as the record (`values[i][0]`) and as a witness (`[1]`) has it."""

    kind: str
    item: str
    icon: str
    intros: tuple[str, ...]
    record: str
    values: tuple[tuple[str, str], ...]
    claims: tuple[str, ...]
    vague: tuple[str, ...]

    def __call__(self, rng: np.random.Generator) -> Fact:
        true, false = rng.permutation(len(self.values))[:2]
        intro = self.intros[int(rng.integers(len(self.intros)))]
        record = (intro, self.record.replace("{r}", self.values[true][0]))
        truth, lie = self.values[true][1], self.values[false][1]
        return Fact(self.kind, self.item, self.icon, record, self.claims, self.vague, truth, lie)


def _same(*values: str) -> tuple[tuple[str, str], ...]:
    return tuple((value, value) for value in values)


DIRECT: tuple[Callable[[np.random.Generator], Fact], ...] = (
    _Kind(
        "weather", "Weather log", "page",
        ("Kept by the harbour master.", "Kept by the fire watch on the tower."),
        "For the night of the theft it says: {r}.",
        (
            ("steady rain from dusk to dawn", "pouring rain"),
            ("dense fog, nothing seen beyond ten paces", "thick fog"),
            ("heavy snow without a pause", "falling snow"),
            ("dry, no cloud, a full moon", "bright moonlight"),
        ),
        (
            "I walked over through {c}.", "From my window I could see nothing but {c}.",
            "I remember the {c} as I stepped outside.", "On my whole way there was {c}.",
        ),
        ("I remember very well what the night was like outside.", "I did look out of the door once that night."),
    ),
    _Kind(
        "hand", "Doctor's note", "page",
        ("Signed by the doctor of the district.", "Found in the coat of the {accused}, and genuine."),
        "The {accused} cannot use the {r} arm: it has been in plaster for a month.",
        (("left", "right"), ("right", "left")),
        (
            "The {accused} turned the key with the {c} hand.", "The {accused} held the lamp high in the {c} hand.",
            "The {accused} waved at me with the {c} hand.", "With the {c} hand the {accused} pulled the door shut.",
        ),
        ("I saw how the {accused} handled the door.", "I watched the hands of the {accused} closely."),
    ),
    _Kind(
        "coat", "Scrap of cloth", "cloth",
        ("It was caught on a nail.", "It hung in the hedge."),
        "Without doubt it was torn from the coat of the thief. The cloth is {r}.",
        _same("red", "green", "blue", "yellow", "grey"),
        (
            "The figure that ran past me wore a {c} coat.", "The thief had on a {c} coat, nothing else stood out.",
            "I saw a {c} coat vanish round the corner: the thief's.", "What the thief wore was a {c} coat.",
        ),
        ("I noticed what the thief was wearing.", "The clothes of the thief caught my eye."),
    ),
    _Kind(
        "case", "Photograph", "photo",
        ("Taken one minute after the alarm.", "Taken before anything was touched."),
        "It shows the empty case of the {thing}: it lies {r}.",
        _same("under the stairs", "on the piano", "behind the curtain", "in the coal box", "on the window sill"),
        (
            "The empty case of the {thing} lay {c} when I came in.", "I found the empty case {c}.",
            "I looked around, and {c} I saw the empty case.", "Somebody had left the empty case {c}.",
        ),
        ("I know where the empty case was lying.", "I came in first and saw the empty case."),
    ),
    _Kind(
        "guests", "Tea tray", "cup",
        ("Sealed by the police at once.", "Brought to court as it stood."),
        "On it are {r} used cups. Every guest at tea had exactly one.",
        _same("two", "three", "four", "five", "six"),
        (
            "We were {c} people at tea.", "At tea we sat down as {c}, no more and no less.",
            "I counted {c} guests at the tea table.", "Tea was served for {c}, and all of us drank it.",
        ),
        ("I can tell you how many we were at tea.", "I was one of the guests at tea."),
    ),
    _Kind(
        "band", "Concert sheet", "note",
        ("The conductor swears that it was kept to.", "Printed for the evening, with times noted by hand."),
        "When the alarm rang, the band was in the middle of {r}.",
        _same("a waltz", "a march", "a lullaby", "a tango", "a hymn"),
        (
            "When the alarm rang, the band was playing {c}.", "I was listening to {c} when the alarm cut in.",
            "The alarm rang right into {c}.", "The band was busy with {c}, then came the alarm.",
        ),
        ("I still have the band in my ears as the alarm rang.", "I was listening to the band when the alarm rang."),
    ),
    _Kind(
        "power", "Power notice", "page",
        ("Posted by the electric company.", "Confirmed by the electric company."),
        "Works in the street: no current from {r} on the night of the theft, and only then.",
        (("20:00 to 20:50", "20:30"), ("21:00 to 21:50", "21:30"), ("22:00 to 22:50", "22:30"),
         ("23:00 to 23:50", "23:30")),
        (
            "At {c} we were sitting in the dark, for the current was off.", "At {c} no electric lamp would burn.",
            "The current was off at {c}: I lit a candle.", "I know that at {c} there was no current.",
        ),
        ("I noticed when the current was off.", "For a while that night no lamp would burn."),
    ),
    _Kind(
        "watch", "Broken watch", "clock",
        ("The guard wore it. It kept perfect time.", "Torn from the guard's wrist; it was always exact."),
        "It broke in the scuffle with the thief and stopped at {r}.",
        _same("20:10", "20:40", "21:15", "21:45", "22:20", "22:55"),
        (
            "The scuffle with the guard was at {c}.", "At {c} I heard the guard struggle with the thief.",
            "It was exactly {c} when the guard and the thief came to blows.", "The guard fought the thief at {c}.",
        ),
        ("I know when the guard fought with the thief.", "I heard the scuffle and looked at the time."),
    ),
    _Kind(
        "bowl", "Dented bowl", "bowl",
        ("The thief knocked it off a shelf.", "It was found on the floor of the corridor."),
        "A stamp under the foot says: solid {r}.",
        (("brass", "brass"), ("oak wood", "wooden"), ("marble", "marble"), ("silver", "silver"), ("pewter", "pewter")),
        (
            "I heard the {c} bowl hit the floor.", "The {c} bowl fell, and I woke up.",
            "Somebody knocked over the {c} bowl in the corridor.", "The bowl that fell was the {c} one.",
        ),
        ("I heard a bowl fall in the corridor.", "I know the bowl that fell."),
    ),
    _Kind(
        "gate", "Gate log", "page",
        ("Kept by the watchman, without a gap.", "Checked and signed twice a night."),
        "That night only the {r} gate was open. All others were chained.",
        _same("north", "south", "east", "west"),
        (
            "The thief left by the {c} gate.", "I saw somebody run out through the {c} gate.",
            "The {c} gate stood open, and the thief slipped out there.", "Out by the {c} gate the thief went.",
        ),
        ("I saw by which gate the thief got out.", "I had the gates in view."),
    ),
    _Kind(
        "shoes", "Plaster cast", "shoe",
        ("Taken from the flower bed.", "Made the next morning."),
        "The only prints of the thief were left by {r}.",
        _same("bare feet", "rubber boots", "dancing shoes", "nailed boots", "felt slippers"),
        (
            "The thief ran away in {c}.", "I heard the steps: the thief was in {c}.",
            "The one who fled was in {c}.", "You do not forget a thief in {c}.",
        ),
        ("I noticed the feet of the thief.", "I heard the steps of the thief."),
    ),
    _Kind(
        "letter", "Torn letter", "letter",
        ("The thief dropped it.", "It was found by the door."),
        "Every word of it is in {r}.",
        _same("French", "Latin", "Italian", "Dutch", "Polish"),
        (
            "I had the letter in my hand: it was in {c}.", "The letter by the door was written in {c}.",
            "I cannot read {c}, and the whole letter was in it.", "The letter was in {c} from start to end.",
        ),
        ("I saw the letter lying there.", "I picked up the letter and put it back."),
    ),
    _Kind(
        "scent", "Empty flask", "flask",
        ("It broke in the corridor that night.", "The thief stepped on it in the corridor."),
        "All of its perfume ran out. The label says: {r}.",
        _same("lavender", "rose", "jasmine", "orange blossom", "cedar"),
        (
            "The corridor smelled of {c}.", "A cloud of {c} hung in the corridor.",
            "As I opened the corridor door, I smelled {c}.", "There was {c} in the air of the corridor.",
        ),
        ("There was a scent in the corridor.", "I have a good nose, and I was in the corridor."),
    ),
    _Kind(
        "vehicle", "Yard book", "page",
        ("The porter notes all that passes.", "Kept at the entrance of the yard."),
        "The only thing that left the yard that night was {r}.",
        _same("a bicycle", "a hand cart", "a carriage", "a motor car", "a sledge"),
        (
            "Out of the yard came {c}.", "From the yard I saw {c} leave.",
            "I watched {c} roll out of the yard.", "What left the yard was {c}.",
        ),
        ("I saw something leave the yard that night.", "I had the yard in view that night."),
    ),
)  # fmt: skip


def _clock(rng: np.random.Generator, _roles: Sequence[str]) -> Fact:
    true = 60 * int(rng.integers(20, 23)) + 5 * int(rng.integers(12))
    offset = int(rng.choice([-40, -30, -20, 20, 30, 40]))
    shown = _time(true + offset)
    return Fact(
        "clock", "Clock picture", "clock",
        ("Taken just when the theft was noticed.", f"The hands of the hall clock are at {shown}."),
        (
            "The theft was noticed at {c}, by the right time.",
            "By the right time it was {c} when the theft was noticed.",
            "My own watch is right: at {c} somebody noticed the theft.",
        ),
        ("I know the right time at which the theft was noticed.", "I looked at my own watch, which is right."),
        # The hands themselves are the temptation: who forgets the case file takes the lie for the truth.
        _time(true), shown,
        f"The hall clock is always {abs(offset)} minutes {'fast' if offset > 0 else 'slow'}.",
    )  # fmt: skip


def _train(rng: np.random.Generator, _roles: Sequence[str]) -> Fact:
    start = 60 * int(rng.integers(17, 20)) + 5 * int(rng.integers(12))
    ride = int(rng.choice([25, 35, 50, 55]))
    wrong = int(rng.choice([-15, 15, 20, 30]))
    return Fact(
        "train", "Train ticket", "ticket",
        ("The {accused} came by this train and no other.", f"It left on time, at {_time(start)}."),
        (
            "The {accused} got off the train at {c}.", "At {c} I saw the {accused} step off the train.",
            "The train with the {accused} came in at {c}.",
        ),
        ("I was at the station when the {accused} arrived.", "I saw the {accused} arrive."),
        _time(start + ride), _time(start + ride + wrong),
        f"The train ride takes {ride} minutes.",
    )  # fmt: skip


def _key(rng: np.random.Generator, roles: Sequence[str]) -> Fact:
    true, false = (int(index) for index in rng.permutation(len(roles))[:2])
    hooks = ", ".join(f"{number} {role}" for number, role in enumerate(roles, 1))
    return Fact(
        "key", "Brass key", "key",
        ("It was still in the door of the show room.", f"The number {true + 1} is stamped on it."),
        (
            "The key in the door was the {c}'s.", "It was the {c}'s key that was in the door.",
            "The show room was opened with the key of the {c}.",
        ),
        ("I know whose key was in the door.", "I have seen the key in the door before."),
        roles[true], roles[false],
        f"Keys: {hooks}.",
    )  # fmt: skip


def _seal(rng: np.random.Generator, _roles: Sequence[str]) -> Fact:
    senders = [str(name) for name in rng.permutation(["mayor", "notary", "bank"])]
    true, false = (int(index) for index in rng.permutation(3)[:2])
    colours = ("red", "blue", "green")
    wax = ", ".join(f"{colour} {sender}" for colour, sender in zip(colours, senders, strict=True))
    return Fact(
        "seal", "Sealed note", "letter",
        ("The messenger left it in the hall.", f"The wax of its seal is {colours[true]}."),
        (
            "The messenger brought a note from the {c}.", "A note came in, sent by the {c}.",
            "It was the {c} who sent the messenger with the note.",
        ),
        ("I know who sent the messenger.", "I saw the note come in."),
        senders[true], senders[false],
        f"Sealing wax: {wax}.",
    )  # fmt: skip


def _room(rng: np.random.Generator, _roles: Sequence[str]) -> Fact:
    true, false = (int(index) for index in rng.permutation(3)[:2])
    floors = ("first", "second", "third")
    first = 10 * int(rng.integers(1, 7))
    number = first + 10 * true + int(rng.integers(1, 10))
    rooms = ", ".join(f"{first + 10 * k} to {first + 10 * k + 9} {floor}" for k, floor in enumerate(floors))
    return Fact(
        "room", "Room tag", "ticket",
        ("It belongs to the bed of the {accused}.", f"It says: room {number}."),
        (
            "The {accused} slept on the {c} floor.", "The room of the {accused} was on the {c} floor.",
            "I took the {accused} up to the {c} floor, to bed.",
        ),
        ("I know where the {accused} slept.", "I showed the {accused} the way to bed."),
        floors[true], floors[false],
        f"Rooms: {rooms} floor.",
    )  # fmt: skip


def _shift(rng: np.random.Generator, roles: Sequence[str]) -> Fact:
    true, false = (int(index) for index in rng.permutation(3)[:2])
    names = ("early", "late", "night")
    moments = (("7:30", "9:00", "11:30"), ("15:00", "17:30", "20:00"), ("23:30", "2:00", "4:30"))
    truth, lie = (moments[index][int(rng.integers(3))] for index in (true, false))
    return Fact(
        "shift", "Time card", "ticket",
        (f"It belongs to the {roles[0]}.", f"On that day it was stamped for the {names[true]} shift only."),
        (
            f"At {{c}} the {roles[0]} was on shift.", f"On that day I met the {roles[0]} on shift at {{c}}.",
            f"The {roles[0]} was at work in a shift at {{c}}.",
        ),
        (f"I met the {roles[0]} on shift that day.", f"I can say when the {roles[0]} was on shift."),
        truth, lie,
        "Shifts: early 6:00 to 14:00, late to 22:00, night to 6:00.",
    )  # fmt: skip


COMBINED: tuple[Callable[[np.random.Generator, Sequence[str]], Fact], ...] = (
    _clock,
    _train,
    _key,
    _seal,
    _room,
    _shift,
)

FILLERS = (
    "I am the {witness}, and I was at the {place} that night.",
    "I have worked as a {witness} for years. I know the {place} well.",
    "My name does not matter. Everybody calls me the {witness}.",
    "I did not want to come, but I will tell what I saw at the {place}.",
    "I knew the {thing} well. It was the pride of the {place}.",
    "The {accused}? We have met, yes. We never talked much.",
)
NOTHING_TO_ADD = (
    "That is all. I have nothing to add to it.",
    "Yes, just as I said. Word for word.",
    "Do you doubt me? I have said what I know.",
    "I cannot say more about that, counsel.",
    "Write it down as it is. There is no more to it.",
)


def _time(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02d}"
