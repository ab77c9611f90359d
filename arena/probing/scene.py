"""Questions about what is in the picture, with the engine's word for the truth (`environments.facts`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from arena.probing.pictures import Mark
from arena.probing.question import Draft, Form, Question, Spot, placed, shuffled
from arena.probing.recording import Moment, Recording
from environments.facts import Cell, Statement, Thing

_OPTIONS = 4


def cell(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """What the marked cell holds; contents are asked about in turn, however common they are."""
    pools: dict[str, dict[str, list[Draft]]] = defaultdict(lambda: defaultdict(list))
    for recording, moment in _moments(recordings):
        per_content: dict[str, list[Cell]] = defaultdict(list)
        for item in moment.facts.cells:
            per_content[item.holds].append(item)
        for holds, cells in per_content.items():  # one of each content a moment: empty cells would crowd out the rest
            chosen = cells[int(rng.integers(len(cells)))]
            others = shuffled([other for other in moment.facts.contents if other != holds], rng)[: _OPTIONS - 1]
            pools[recording.task.id][holds].append(partial(_ask_cell, recording, moment, chosen, tuple(others)))
    return _in_turn(pools, rng)


def _ask_cell(recording: Recording, moment: Moment, item: Cell, others: tuple[str, ...], slot: int) -> Question:
    return Question(
        **_base(recording, moment, "cell"),
        text="A cell of the board is marked with a magenta frame. What is in it?",
        options=placed(item.holds, others, slot),
        truth=item.holds,
        overlay=(Mark(item.box),),
    )


def thing(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """Where a thing is, in pixels; right anywhere on it."""
    found = [(recording, moment, item) for recording, moment in _moments(recordings) for item in moment.facts.things]
    for recording, moment, item in shuffled(found, rng):
        yield partial(_ask_thing, recording, moment, item)


def _ask_thing(recording: Recording, moment: Moment, item: Thing, slot: int) -> Question:
    return Question(
        **_base(recording, moment, "thing-position"),
        text=f"Where is {item.name}? Give its middle.",
        truth=Spot(item.x, item.y, item.radius),
    )


def statement(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """What the gripper is above, whether the key is held; a question is asked in turn for each answer that occurs."""
    pools: dict[str, dict[str, list[Draft]]] = defaultdict(lambda: defaultdict(list))
    for recording, moment in _moments(recordings):
        for item in moment.facts.statements:
            pools[f"{recording.task.id} {item.question}"][item.answer].append(
                partial(_ask_statement, recording, moment, item)
            )
    return _in_turn(pools, rng)


def _ask_statement(recording: Recording, moment: Moment, item: Statement, slot: int) -> Question:
    return Question(
        **_base(recording, moment, "state"),
        text=item.question,
        options=item.options,  # as they are: the answers are balanced, so their places are
        truth=item.answer,
    )


def _in_turn(pools: dict[str, dict[str, list[Draft]]], rng: np.random.Generator) -> Iterator[Draft]:
    """Drafts of all pools in turn, and of each pool for its answers in turn."""
    some = [
        _answers([shuffled(drafts, rng) for _, drafts in sorted(pool.items())], rng)
        for _, pool in sorted(pools.items())
    ]
    for turn in zip_longest(*some):
        yield from (draft for draft in turn if draft is not None)


def _answers(pool: list[list[Draft]], rng: np.random.Generator) -> Iterator[Draft]:
    """One draft of each answer in turn, while two answers at least have some left.

    So no constant answer is better than chance, and a question to which one answer alone is ever right is not asked.
    """
    while sum(map(bool, pool)) > 1:
        yield from (drafts.pop() for drafts in shuffled(pool, rng) if drafts)


def _moments(recordings: Sequence[Recording]) -> Iterator[tuple[Recording, Moment]]:
    return ((recording, moment) for recording in recordings for moment in recording.moments)


def _base(recording: Recording, moment: Moment, form: str) -> dict[str, Any]:
    return {
        "kind": "perception",
        "form": form,
        "task_id": recording.task.id,
        "episode_id": recording.episode.id,
        "frames": (moment.frame,),
        "size": recording.size,
        "about": recording.task.goal,
    }


FORMS = (
    Form("perception", "cell", _OPTIONS, cell),
    Form("perception", "thing-position", 1, thing),
    Form("perception", "state", 1, statement),
)
