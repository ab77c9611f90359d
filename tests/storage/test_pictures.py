"""Pictures come back bit for bit, in few bytes, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.gateway.messages import Image
from storage.errors import PictureCorrupt
from storage.models import Picture
from storage.pictures import CHAIN, PictureLog, address, decode, halved
from storage.store import Store

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def board(rng: np.random.Generator, size: tuple[int, int] = (96, 64)) -> Pixels:
    """Flat art: a plain ground with a few coloured blocks."""
    width, height = size
    pixels = np.full((height, width, 3), 240, np.uint8)
    for _ in range(4):
        x, y = rng.integers(0, width - 8), rng.integers(0, height - 8)
        pixels[y : y + 8, x : x + 8] = rng.integers(0, 256, 3)
    return pixels


def keep(store: Store, *pictures: Pixels) -> list[str]:
    log, addresses = PictureLog(), [address(pixels) for pixels in pictures]
    for sha, pixels in zip(addresses, pictures, strict=True):
        store.add(*log.rows({sha: pixels}))
    return addresses


def test_a_long_log_of_several_sizes_comes_back_bit_for_bit(store: Store) -> None:
    """Past the end of a chain; flat boards, half sizes, noise, odd sizes, all in one log."""
    rng = np.random.default_rng(0)
    pictures: list[Pixels] = []
    for number in range(CHAIN + 20):
        if pictures and number % 3 == 0:
            pictures.append(halved(pictures[-1]) if pictures[-1].shape == (64, 96, 3) else board(rng))
        pictures.append(board(rng))
        if number % 50 == 7:
            pictures.append(rng.integers(0, 256, (33, 47, 3), dtype=np.uint8))
            pictures.append(rng.integers(0, 256, (64, 96, 3), dtype=np.uint8))
    for sha, pixels in zip(keep(store, *pictures), pictures, strict=True):
        assert np.array_equal(store.picture(sha), pixels)


def test_half_size_is_the_rounded_mean_of_four() -> None:
    pixels = np.random.default_rng(5).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    sums = pixels.reshape(32, 2, 48, 2, 3).sum(axis=(1, 3), dtype=np.uint16)
    assert np.array_equal(halved(pixels), (sums + 2) >> 2)


def test_what_repeats_costs_next_to_nothing() -> None:
    rng = np.random.default_rng(1)
    log, first = PictureLog(), board(rng, (640, 480))
    first[32:48, 32:48] = rng.integers(0, 256, (16, 16, 3))
    moved = first.copy()
    moved[96:112, 400:416] = first[32:48, 32:48]
    key, change = (log.rows({address(pixels): pixels})[0] for pixels in (first, moved))
    assert len(change.data) < 60 and len(key.data) < 3000
    assert log.rows({address(first): first}) == [], "a picture is written once"


def test_noise_costs_no_more_than_itself() -> None:
    rng = np.random.default_rng(2)
    log = PictureLog()
    for _ in range(3):
        pixels = rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)
        [row] = log.rows({address(pixels): pixels})
        assert len(row.data) < pixels.nbytes * 1.01


def test_the_player_and_the_store_give_a_picture_the_same_address(store: Store) -> None:
    pixels = board(np.random.default_rng(3))
    image = Image.from_frame(pixels, longest_side=48)
    assert image.sha256 == address(image.pixels) and np.array_equal(image.pixels, halved(pixels))
    assert store.picture(image.sha256) is None


@settings(max_examples=60)
@given(st.binary(max_size=200), st.integers(0, 2), st.integers(0, 3))
def test_damaged_rows_give_an_error_and_never_another_picture(junk: bytes, where: int, how: int) -> None:
    rng = np.random.default_rng(4)
    log = PictureLog()
    rows = [log.rows({address(pixels): pixels})[0] for pixels in (board(rng), board(rng), board(rng))]
    row = rows[where]
    row.data = (junk, row.data[:-3], row.data[:1] + junk, row.data[:9] + junk + row.data[9:])[how]
    try:
        pixels = decode(rows)
    except PictureCorrupt as error:
        assert rows[-1].sha256 in str(error) or row.sha256 in str(error)
    else:
        assert address(pixels) == rows[-1].sha256


def test_pictures_of_earlier_versions_can_still_be_read() -> None:
    """Tiles packed without the recent ones, and a picture that is another one at half its size."""
    import zlib

    pixels = np.random.default_rng(6).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    tile = np.packbits([True]).tobytes() + np.zeros(1, np.uint32).tobytes() + pixels.tobytes()
    size = {"log": "l", "width": 16, "height": 16, "first": 0}
    whole = Picture(**size, index=0, sha256=address(pixels), data=b"t" + zlib.compress(tile))
    assert np.array_equal(decode([whole]), pixels)
    half = Picture(**(size | {"width": 8, "height": 8}), index=1, sha256=address(halved(pixels)), data=b"h")
    assert np.array_equal(decode([whole, half]), halved(pixels))


def test_a_row_that_claims_more_than_its_size_does_not_fill_the_memory() -> None:
    import zlib

    for kind in (b"t", b"r", b"w"):
        bomb = kind + zlib.compress(bytes(200_000_000), 9)
        row = Picture(log="l", index=0, sha256="0" * 64, width=16, height=16, first=0, data=bomb)
        with pytest.raises(PictureCorrupt):
            decode([row])
