"""Which frames of a video a model is shown: one sampler for every model, so that budgets are the same for all.

What a sampler returns is stored with the verdict or lesson that came of it: exact frame indices,
sorted, each once, and the same again for the same arguments.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from environments.env import Frame

Strategy = Literal["uniform", "change", "tail"]
"""`uniform`: equally spaced; `tail`: denser towards the end, where failures are; `change`: where pictures change."""

RecordStrategy = Literal["uniform", "change", "tail", "event"]
"""With `event`: before and after what the record says has happened, for whoever may know the record."""

FrameReader = Callable[[Sequence[int]], Sequence[Frame]]
"""Reads frames by index, in the order asked for."""

MAX_CANDIDATES = 512
"""Frames that `change` looks at, at most: a longer video is thinned out uniformly first."""

_THUMBNAIL = 32  # pictures are compared at about this many pixels a side
_CHUNK = 64  # frames held in memory at a time: 59 MB at 640 x 480


def sample_frames(
    n_frames: int,
    budget: int,
    strategy: RecordStrategy,
    frames: Sequence[Frame] | FrameReader | None = None,
    events: Sequence[int] = (),
) -> list[int]:
    """Choose exactly `min(n_frames, budget)` frames.

    The first and the last frame are always among them; a budget of one takes the last.

    Args:
        n_frames: how many frames the video has.
        budget: how many may be shown, at least 1.
        strategy: how to choose.
        frames: for `change` alone: all frames, or a function that reads some of them.
            (H, W, 3) uint8, of one size.
        events: for `event` alone: frames before which something happened, the weightiest first.

    Returns:
        Indices into the video, strictly increasing.

    Raises:
        ValueError: for a negative `n_frames`, a budget below 1, an unknown strategy, or `change`
            without frames.
    """
    if n_frames < 0 or budget < 1:
        raise ValueError(f"expected n_frames >= 0 and budget >= 1, got n_frames={n_frames}, budget={budget}")
    count = min(n_frames, budget)
    if count == n_frames:
        return list(range(n_frames))
    if count == 1:
        return [n_frames - 1]
    if strategy == "uniform":
        return _uniform(n_frames, count)
    if strategy == "tail":
        return _tail(n_frames, count)
    if strategy == "change":
        if frames is None:
            raise ValueError("strategy 'change' needs `frames`: all of them, or a function that reads them by index")
        return _change(n_frames, count, frames)
    if strategy == "event":
        return _event(n_frames, count, events)
    raise ValueError(f"strategy: expected 'uniform', 'change', 'tail' or 'event', got {strategy!r}")


def _uniform(n_frames: int, count: int) -> list[int]:
    """Equal spacing in whole numbers, so that no platform's rounding moves a frame."""
    last, parts = n_frames - 1, count - 1
    return [(2 * i * last + parts) // (2 * parts) for i in range(count)]


def _tail(n_frames: int, count: int) -> list[int]:
    """The distance to the end shrinks with the square of the remaining share: half lie in the last quarter."""
    last, parts = n_frames - 1, count - 1
    wanted = [last - (2 * (parts - i) ** 2 * last + parts**2) // (2 * parts**2) for i in range(count)]
    return _apart(wanted, n_frames)


def _event(n_frames: int, count: int, events: Sequence[int]) -> list[int]:
    """Each event costs two frames, before and after it; what they leave over halves the longest gaps."""
    chosen = [0, n_frames - 1]
    taken = set(chosen)
    for event in events:
        for index in (event, event + 1):
            if len(chosen) < count and 0 <= index < n_frames and index not in taken:
                taken.add(index)
                bisect.insort(chosen, index)
    while len(chosen) < count:
        before, after = max(pairwise(chosen), key=lambda ends: (ends[1] - ends[0], -ends[0]))
        bisect.insort(chosen, (before + after) // 2)
    return chosen


def in_turns(kinds: Sequence[Sequence[int]]) -> list[int]:
    """Events of several kinds in one order: one of each kind in turn, and within a kind spread over the whole play.

    So a hundred refusals do not push out the one milestone, and the first few of a kind are not all from its beginning.

    Args:
        kinds: the events of each kind in order of time, the weightiest kind first.
    """
    queues = [_spread(kind) for kind in kinds]
    turns = [queue[i] for i in range(max(map(len, queues), default=0)) for queue in queues if i < len(queue)]
    return list(dict.fromkeys(turns))


def _spread(events: Sequence[int]) -> list[int]:
    """The last, the first, then the middle of what lies between, and so on."""
    if len(events) < 3:
        return list(reversed(events))
    order, stretches = [len(events) - 1, 0], [(0, len(events) - 1)]
    while stretches:
        first, last = stretches.pop(0)
        if last - first > 1:
            middle = (first + last) // 2
            order.append(middle)
            stretches += [(first, middle), (middle, last)]
    return [events[i] for i in order]


def _change(n_frames: int, count: int, frames: Sequence[Frame] | FrameReader) -> list[int]:
    """Halve, again and again, the stretch in which most changes; a still video falls back to equal spacing.

    A single jump, such as an end screen, costs the two frames around it: stretches without an inner frame are left
    alone. (Equal shares of the total change would crowd most of the budget around it.)
    """
    candidates = _uniform(n_frames, max(count, min(n_frames, MAX_CANDIDATES)))
    changed = np.cumsum([0.0, *_differences(candidates, frames)])
    if changed[-1] == 0.0:
        return _uniform(n_frames, count)
    places = [0, len(candidates) - 1]
    while len(places) < count:
        stretches = [(first, last) for first, last in pairwise(places) if last - first > 1]
        # Most change first, then the longest, then the earliest.
        first, last = max(
            stretches, key=lambda ends: (changed[ends[1]] - changed[ends[0]], ends[1] - ends[0], -ends[0])
        )
        if changed[last] == changed[first]:
            middle = (first + last) // 2
        else:
            middle = int(np.searchsorted(changed, (changed[first] + changed[last]) / 2))
        bisect.insort(places, min(max(middle, first + 1), last - 1))
    return [candidates[place] for place in places]


def _differences(indices: Sequence[int], frames: Sequence[Frame] | FrameReader) -> list[float]:
    """Mean absolute difference between each picture and the next, at thumbnail size."""
    differences: list[float] = []
    before: NDArray[np.int16] | None = None
    for start in range(0, len(indices), _CHUNK):
        chunk = indices[start : start + _CHUNK]
        pictures = frames(chunk) if callable(frames) else [frames[index] for index in chunk]
        for picture in pictures:
            thumbnail = _thumbnail(picture)
            if before is not None:
                differences.append(float(np.abs(thumbnail - before).mean()))
            before = thumbnail
    return differences


def _thumbnail(frame: Frame) -> NDArray[np.int16]:
    height, width = frame.shape[:2]
    small = frame[:: max(1, height // _THUMBNAIL), :: max(1, width // _THUMBNAIL)]
    return small.astype(np.int16)


def _apart(wanted: Sequence[int], size: int) -> list[int]:
    """The nearest strictly increasing indices below `size`; `wanted` is sorted and no longer than that."""
    result: list[int] = []
    for i, index in enumerate(wanted):
        least = result[-1] + 1 if result else 0
        # Both bounds rise by one a place, so their minimum rises too, and room is left for the rest.
        result.append(min(max(index, least), size - len(wanted) + i))
    return result


def largest_gap(indices: Sequence[int]) -> int:
    """The longest stretch between two neighbours: what happened in less may be missed by whoever looks."""
    return max((after - before for before, after in pairwise(indices)), default=0)
