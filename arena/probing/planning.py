"""Questions about what comes next: which milestone, and which action the rules allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from arena.probing.question import Draft, Form, Question, placed, shuffled
from arena.probing.recording import Moment, Recording
from arena.text import as_data
from environments.task import Milestone, Task

_OPTIONS = 4
ALLOWED = "One of these actions is allowed by the rules now, the others are refused. Which one is allowed?"
REFUSED = "One of these actions is refused by the rules now, the others are allowed. Which one is refused?"


def next_milestone(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """Which milestone comes next, where the others are reached already or cannot be before it.

    A milestone could come next if it is not reached and all that it follows is. Of those only the one that the engine
    saw reached next is offered, so that the answer follows from the order and does not depend on how it was played.
    """
    found = []
    for recording in recordings:
        for milestone, before, indices in _stretches(recording):
            others = _impossible(recording.task, before)
            texts = shuffled(sorted({other.text for other in others} - {milestone.text}), rng)[: _OPTIONS - 1]
            if texts:
                frame = recording.rows[indices[int(rng.integers(len(indices)))]].frame
                found.append(partial(_ask_next, recording, frame, milestone.text, tuple(texts)))
    yield from shuffled(found, rng)


def _stretches(recording: Recording) -> Iterator[tuple[Milestone, set[str], list[int]]]:
    """Each milestone that alone was reached next, what was reached before, and the places of rows in between."""
    known = {milestone.id: milestone for milestone in recording.task.milestones}
    times = {name: step for name, step in recording.reached.items() if name in known}
    for name, step in sorted(times.items(), key=lambda item: item[1]):
        before = {other for other, at in times.items() if at < step}
        since = max((times[other] for other in before), default=-1)
        rows = [n for n, row in enumerate(recording.rows) if since < row.index <= step]
        alone = sum(at == step for at in times.values()) == 1
        if rows and alone and before.issuperset(known[name].after):
            yield known[name], before, rows


def _impossible(task: Task, reached: set[str]) -> list[Milestone]:
    """Milestones that cannot be the next: they are reached, or follow one that is not."""
    return [item for item in task.milestones if item.id in reached or not reached.issuperset(item.after)]


def _ask_next(recording: Recording, frame: int, truth: str, others: tuple[str, ...], slot: int) -> Question:
    return Question(
        **_base(recording, frame, "next-milestone"),
        text="Which of these milestones is reached next, of those that are not reached yet?",
        about=recording.task.goal,
        options=placed(truth, others, slot),
        truth=truth,
    )


def legal_action(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """Which of four actions the rules allow, or refuse, where it is one; they were tried on the engine."""
    found = []
    for recording in recordings:
        for moment in recording.moments:
            legal = [as_data(trial.action) for trial in moment.trials if trial.legal]
            refused = [as_data(trial.action) for trial in moment.trials if not trial.legal]
            sides = [
                (text, shuffled(one, rng)[0], tuple(shuffled(many, rng)[: _OPTIONS - 1]))
                for text, one, many in ((ALLOWED, legal, refused), (REFUSED, refused, legal))
                if one and len(many) >= _OPTIONS - 1
            ]
            if sides:
                found.append(partial(_ask_legal, recording, moment, sides[int(rng.integers(len(sides)))]))
    yield from shuffled(found, rng)


def _ask_legal(recording: Recording, moment: Moment, side: tuple[str, str, tuple[str, ...]], slot: int) -> Question:
    text, truth, others = side
    return Question(
        **_base(recording, moment.frame, "legal-action"),
        text=text,
        about=f"{recording.task.goal}\n\n{recording.action_help}",
        options=placed(truth, others, slot),
        truth=truth,
    )


def _base(recording: Recording, frame: int, form: str) -> dict[str, Any]:
    return {
        "kind": "planning",
        "form": form,
        "task_id": recording.task.id,
        "episode_id": recording.episode.id,
        "frames": (frame,),
        "size": recording.size,
    }


FORMS = (
    Form("planning", "next-milestone", _OPTIONS, next_milestone),
    Form("planning", "legal-action", _OPTIONS, legal_action),
)
