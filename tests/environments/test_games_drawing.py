"""The canvas that games draw on: pure, bundled font, nothing outside its box."""

import numpy as np
import pytest
from PIL import ImageFont

from environments import drawing
from environments.drawing import Canvas


def changed(before, after):
    """Bounding box of the pixels that differ: left, top, right, bottom (exclusive)."""
    rows, columns = np.nonzero(np.any(before != after, axis=-1))
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def test_font_is_the_bundled_one_and_needs_no_layout_library():
    for bold, style in ((False, "Book"), (True, "Bold")):
        face = drawing.font(20, bold)
        assert face.getname() == ("DejaVu Sans", style)
        assert face.layout_engine == ImageFont.Layout.BASIC
        assert drawing.font(20, bold) is face


def test_frame_is_a_new_array_and_a_copy_is_independent():
    canvas = Canvas()
    twin = canvas.copy()
    twin.panel((10, 10, 50, 50), drawing.RED)
    frame = canvas.frame()
    assert frame.shape == (480, 640, 3) and frame.dtype == np.uint8
    assert np.all(frame == drawing.PAPER) and np.all(twin.frame()[20, 20] == drawing.RED)
    frame[:] = 0
    assert np.all(canvas.frame() == drawing.PAPER)


@pytest.mark.parametrize(
    ("paint", "box"),
    [
        (lambda canvas: canvas.panel((100, 60, 180, 90), drawing.INK, 8), (100, 60, 180, 90)),
        (lambda canvas: canvas.disc(200, 100, 20, drawing.INK), (180, 80, 220, 120)),
        (lambda canvas: canvas.polygon([(10, 10), (30, 10), (20, 40)], drawing.INK), (10, 10, 31, 41)),
    ],
)
def test_shapes_fill_their_box_with_smooth_edges(paint, box):
    canvas = Canvas()
    before = canvas.frame()
    paint(canvas)
    left, top, right, bottom = changed(before, canvas.frame())
    assert left >= box[0] and top >= box[1] and right <= box[2] + 1 and bottom <= box[3] + 1
    assert right - left >= box[2] - box[0] - 2 and bottom - top >= box[3] - box[1] - 3
    assert len(np.unique(canvas.frame().reshape(-1, 3), axis=0)) > 2, "there are half-covered pixels"


def test_opacity_mixes_with_what_lies_below():
    canvas = Canvas((0, 0, 0))
    canvas.panel((0, 0, 640, 480), (200, 100, 50), opacity=0.5)
    assert np.allclose(canvas.frame()[100, 100], (100, 50, 25), atol=1)


def test_fitted_text_keeps_within_its_width():
    canvas = Canvas()
    before = canvas.frame()
    canvas.fitted(320, 240, "A long headline that needs less size", 60, 200)
    left, _, right, _ = changed(before, canvas.frame())
    assert right - left <= 202 and abs((left + right) / 2 - 320) < 4


@pytest.mark.parametrize("clear_of", [30, 239, 241, 450])
def test_banner_leaves_free_what_the_last_frame_must_show(clear_of):
    canvas = Canvas()
    drawing.banner(canvas, "Over", "Because.", drawing.RED, clear_of=clear_of)
    column = canvas.frame()[:, 60]
    red = np.nonzero(np.all(column == drawing.RED, axis=-1))[0]
    assert len(red) > 90 and (red.max() < clear_of or red.min() > clear_of)
