"""Questions about the order of time: which of two frames came first, and is a clip played backwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from arena.probing.question import Draft, Form, Question, shuffled
from arena.probing.recording import Recording

FIRST, SECOND = "what the first picture shows", "what the second picture shows"
FORWARD, BACKWARD = "in the order in which it was played", "backwards"
CLIP = 4
"""Frames of a clip."""
_PER_EPISODE = 12


def which_first(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """Pairs of frames that can be told apart; slot 0 shows the earlier one first."""
    pairs = {}
    for recording in recordings:
        some = shuffled(list(combinations(recording.glimpses, 2)), rng)
        pairs[recording.episode.id] = (pair for pair in some if recording.differ(*pair))
    for _ in range(_PER_EPISODE):
        for recording in recordings:
            pair = next(pairs[recording.episode.id], None)
            if pair is not None:
                yield partial(_ask_first, recording, pair)


def _ask_first(recording: Recording, pair: tuple[int, int], slot: int) -> Question:
    return Question(
        kind="chronology",
        form="which-first",
        task_id=recording.task.id,
        episode_id=recording.episode.id,
        frames=pair if slot == 0 else pair[::-1],
        size=recording.size,
        text="Both pictures are of one play of this task. Which came first in it?",
        about=recording.task.goal,
        options=(FIRST, SECOND),
        truth=FIRST if slot == 0 else SECOND,
        leaning=FIRST,
    )


def backwards(recordings: Sequence[Recording], rng: np.random.Generator) -> Iterator[Draft]:
    """Clips of frames no two of which are alike; slots 0 and 1 go forward, 0 and 2 offer that answer first."""
    clips = {}
    for recording in recordings:
        shown = list(recording.glimpses)
        longest = (len(shown) - 1) // (CLIP - 1)
        some = [tuple(shown[i : i + CLIP * gap : gap]) for gap in range(1, longest + 1) for i in range(len(shown))]
        whole = shuffled([clip for clip in some if len(clip) == CLIP], rng)
        clips[recording.episode.id] = (
            clip for clip in whole if all(recording.differ(a, b) for a, b in combinations(clip, 2))
        )
    for _ in range(_PER_EPISODE):
        for recording in recordings:
            clip = next(clips[recording.episode.id], None)
            if clip is not None:
                yield partial(_ask_backwards, recording, clip)


def _ask_backwards(recording: Recording, clip: tuple[int, ...], slot: int) -> Question:
    forward = slot in (0, 1)
    options = (FORWARD, BACKWARD) if slot in (0, 2) else (BACKWARD, FORWARD)
    return Question(
        kind="chronology",
        form="reversed",
        task_id=recording.task.id,
        episode_id=recording.episode.id,
        frames=clip if forward else clip[::-1],
        size=recording.size,
        text=f"The {CLIP} pictures are a clip of one play of this task. How is the clip shown?",
        about=recording.task.goal,
        options=options,
        truth=FORWARD if forward else BACKWARD,
        leaning=FORWARD,
    )


FORMS = (
    Form("chronology", "which-first", 2, which_first, paired=True),
    Form("chronology", "reversed", 4, backwards, paired=True),
)
