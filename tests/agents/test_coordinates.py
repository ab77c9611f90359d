"""One transform between a model's coordinates and the frame's pixels: there and back, and nothing outside."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.coordinates import MAX_PIXELS, MIN_PIXELS, Convention, Coordinates, OutsidePicture, smart_resize
from agents.gateway.messages import shrunk

CONVENTIONS = st.sampled_from(get_args(Convention))
SIDES = st.integers(16, 2000)
SIZES = st.tuples(SIDES, SIDES).filter(lambda size: max(size) / min(size) < 100)


@given(CONVENTIONS, SIZES, st.integers(1, 2500), st.data())
def test_there_and_back_is_the_same_pixel_as_far_as_the_numbers_are_fine_enough(
    convention: Convention, frame: tuple[int, int], longest: int, data: st.DataObject
) -> None:
    """Exact where the model's numbers are at least as many as the pixels; else within half of a number's width."""
    coordinates = Coordinates(frame, shrunk(frame, max(longest, 16)), convention)
    pixel = tuple(data.draw(st.integers(0, side - 1)) for side in frame)
    back = coordinates.to_frame(*coordinates.to_model(*pixel))
    for was, now, side, edge in zip(pixel, back, frame, coordinates.extent, strict=True):
        fine = convention == "unit" or edge >= side
        assert abs(was - now) <= (0 if fine else math.ceil(side / edge / 2))


@given(CONVENTIONS, SIZES)
def test_corners_are_corners(convention: Convention, frame: tuple[int, int]) -> None:
    coordinates = Coordinates(frame, frame, convention)
    right, lower = coordinates.extent
    assert coordinates.to_frame(0, 0)[0] <= frame[0] / right / 2 + 1
    last = coordinates.to_frame(*((right, lower) if coordinates.inclusive else (right - 1, lower - 1)))
    assert all(
        side - 1 - at <= math.ceil(side / edge) for side, at, edge in zip(frame, last, (right, lower), strict=True)
    )


@given(CONVENTIONS, st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0, 1]))
def test_what_comes_back_is_inside_or_nothing_does(convention: Convention, value: float, axis: int) -> None:
    coordinates = Coordinates((640, 480), (320, 240), convention)
    place = (value, 0.0) if axis == 0 else (0.0, value)
    try:
        x, y = coordinates.to_frame(*place)
    except OutsidePicture as error:
        assert not 0 <= value <= coordinates.extent[axis] or value >= coordinates.extent[axis]
        assert str(error).startswith("xy"[axis])
    else:
        assert 0 <= x < 640 and 0 <= y < 480


@pytest.mark.parametrize(
    ("convention", "sent", "said", "pixel"),
    [
        ("pixel", (640, 480), (319, 479), (319, 479)),
        ("pixel", (320, 240), (10, 10), (21, 21)),
        ("pixel", (320, 240), (10.25, 10.0), (20, 21)),
        ("unit", (640, 480), (0.5, 1.0), (320, 479)),
        ("thousand", (640, 480), (1000, 500), (639, 240)),
        ("smart-resize", (640, 480), (643, 475), (639, 479)),
    ],
)
def test_known_places(
    convention: Convention, sent: tuple[int, int], said: tuple[float, float], pixel: tuple[int, int]
) -> None:
    assert Coordinates((640, 480), sent, convention).to_frame(*said) == pixel


@given(SIZES)
def test_smart_resizing_gives_multiples_of_28_within_bounds(size: tuple[int, int]) -> None:
    width, height = smart_resize(size)
    assert width % 28 == height % 28 == 0
    assert MIN_PIXELS <= width * height <= MAX_PIXELS


@pytest.mark.parametrize(
    ("size", "resized"),
    [((640, 480), (644, 476)), ((1920, 1080), (1932, 1092)), ((28, 28), (56, 56)), ((8000, 6000), (4116, 3080))],
)
def test_smart_resizing_of_known_sizes(size: tuple[int, int], resized: tuple[int, int]) -> None:
    assert smart_resize(size) == resized


@pytest.mark.parametrize("size", [(0, 10), (10, -1), (4000, 10)])
def test_sizes_that_servers_refuse(size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="proportion"):
        smart_resize(size)
