"""The set of questions of a probing: seeded, balanced, the same again for the same recordings."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from arena.identity import derived_seed
from arena.probing import chronology, planning, scene, shapes
from arena.probing.question import KINDS, Form, Kind, Question, shuffled
from arena.probing.recording import Recording

FORMS: tuple[Form, ...] = (*shapes.FORMS, *scene.FORMS, *chronology.FORMS, *planning.FORMS)


def questions(
    recordings: Sequence[Recording], *, kinds: Collection[Kind] = KINDS, per_kind: int, seed: int
) -> list[Question]:
    """Questions about some recordings.

    Args:
        recordings: In any order.
        kinds: What to ask.
        per_kind: Questions of each kind, shared out equally among its forms and rounded up to whole rounds of the
            form's answers. Forms for which the recordings have no material give fewer, or none.
        seed: Decides frames, order and places.

    Raises:
        ValueError: for less than one question.
    """
    if per_kind < 1:
        raise ValueError(f"per_kind: expected 1 at least, got {per_kind}")
    ordered = sorted(recordings, key=lambda recording: recording.episode.id)
    found: list[Question] = []
    for form in FORMS:
        if form.kind in kinds:
            share = -(-per_kind // sum(other.kind == form.kind for other in FORMS))
            found += _of_form(form, ordered, -(-share // form.ways) * form.ways, seed)
    return found


def _of_form(form: Form, recordings: Sequence[Recording], quota: int, seed: int) -> list[Question]:
    rng = np.random.default_rng(derived_seed(form.name, str(seed)))
    slots = balanced(form.ways, quota, rng)
    found: dict[str, Question] = {}
    for draft in form.drafts(shuffled(recordings, rng), rng):
        if len(found) == quota:
            break
        question = draft(slots[len(found)])
        found[question.id] = question
    made = list(found.values())
    return made[: len(made) // form.ways * form.ways] if form.paired else made


def balanced(ways: int, count: int, rng: np.random.Generator) -> list[int]:
    """Slots in random order, each exactly once in every `ways` of them: no beginning is out of balance by more."""
    return [slot for _ in range(-(-count // ways)) for slot in shuffled(range(ways), rng)][:count]
