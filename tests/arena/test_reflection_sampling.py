"""The frame sampler: exact budgets, the same frames every time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.reflection import ReflectionConfig, choose_frames, sample_frames
from arena.sampling import MAX_CANDIDATES, largest_gap

SIZES = st.integers(1, 3000)
BUDGETS = st.integers(1, 64)
VLM = {"reflector": "vlm", "model": "fake/ok"}


def video(brightness):
    return [np.full((48, 64, 3), value, np.uint8) for value in brightness]


def check(indices, n_frames, budget):
    assert len(indices) == min(n_frames, budget)
    assert all(before < after for before, after in pairwise(indices))
    assert all(type(index) is int and 0 <= index < n_frames for index in indices)
    assert indices[-1] == n_frames - 1
    if budget > 1:
        assert indices[0] == 0


@given(SIZES, BUDGETS)
def test_uniform_is_exact_and_equally_spaced(n_frames, budget):
    indices = sample_frames(n_frames, budget, "uniform")
    check(indices, n_frames, budget)
    gaps = [after - before for before, after in pairwise(indices)]
    assert not gaps or max(gaps) - min(gaps) <= 1
    assert largest_gap(indices) == max(gaps, default=0)


@given(SIZES, BUDGETS)
def test_tail_is_exact_and_nowhere_behind_uniform(n_frames, budget):
    indices = sample_frames(n_frames, budget, "tail")
    check(indices, n_frames, budget)
    uniform = sample_frames(n_frames, budget, "uniform")
    assert all(tail >= even for tail, even in zip(indices, uniform, strict=True))


def test_half_of_the_tail_lies_in_the_last_quarter():
    assert sum(index >= 750 for index in sample_frames(1000, 16, "tail")) == 8


@given(st.lists(st.integers(0, 255), min_size=1, max_size=60), st.integers(1, 20))
def test_change_is_exact_whatever_the_pictures(brightness, budget):
    frames = video(brightness)
    indices = sample_frames(len(frames), budget, "change", frames)
    check(indices, len(frames), budget)
    assert indices == sample_frames(len(frames), budget, "change", lambda wanted: [frames[i] for i in wanted])


def test_change_looks_where_something_happens():
    brightness = [10] * 40 + [10 + 20 * i for i in range(10)] + [200] * 50
    inner = sample_frames(100, 8, "change", video(brightness))[1:-1]
    assert all(40 <= index <= 50 for index in inner)


def test_an_end_screen_does_not_use_up_the_budget_of_change():
    indices = sample_frames(101, 9, "change", video([i // 4 for i in range(100)] + [250]))
    assert indices[-2:] == [99, 100]
    assert largest_gap(indices) <= 26


def test_change_reads_a_bounded_number_of_frames_of_a_long_video():
    read: list[int] = []

    def reader(wanted):
        read.extend(wanted)
        return video([index % 251 for index in wanted])

    check(sample_frames(100_000, 8, "change", reader), 100_000, 8)
    assert len(read) == MAX_CANDIDATES


def test_a_still_video_is_sampled_uniformly():
    assert sample_frames(50, 6, "change", video([7] * 50)) == sample_frames(50, 6, "uniform")


def test_no_frames_give_none():
    assert sample_frames(0, 5, "uniform") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 5, "uniform"), "n_frames=-1"),
        ((5, 0, "uniform"), "budget=0"),
        ((9, 5, "newest"), "got 'newest'"),
        ((9, 5, "change"), "needs `frames`"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        sample_frames(*arguments)


@given(SIZES, st.integers(0, 3000), st.integers(4, 64), st.booleans())
def test_a_reflection_has_one_budget_for_both_videos(n_failure, n_tutorial, budget, tutorial):
    config = ReflectionConfig.model_validate({**VLM, "frames": budget, "tutorial": tutorial})
    failure, expert = choose_frames(config, n_failure, n_tutorial)
    shown = n_failure + (n_tutorial if tutorial else 0)
    assert len(failure) + len(expert) == min(budget, shown)
    assert tutorial or not expert


def test_rules_are_shown_no_frames():
    assert choose_frames(ReflectionConfig(), 100, 100) == ([], [])
