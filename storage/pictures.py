"""Pictures kept exactly, in few bytes: only the tiles that changed, and of those only the ones not seen before.

The pictures of one episode are a log. Drawn games repeat themselves: a picture is cut into tiles of 16 x 16 pixels,
and each tile of the log is stored once; after that a picture is the list of the tiles that changed and of what they
changed to. Photographs and textured 3-D scenes, whose tiles are all new, are kept whole. Lossless: what a model was
shown comes back bit for bit, or not at all. A picture that is another one at half size, as players are reminded of
earlier views, has no row: the request names the other one, and `halved` leads there.
"""

from __future__ import annotations

import hashlib
import uuid
import zlib
from collections.abc import Iterable, Mapping

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray
from PIL import Image

from storage.errors import PictureCorrupt
from storage.models import Picture

Pixels = NDArray[np.uint8]
"""(height, width, 3) uint8, RGB."""

CHAIN = 256
"""Pictures from one that starts afresh to the next, at most: reading one of them reads all before it."""
_TILE = 16
_TILE_BYTES = _TILE * _TILE * 3
_LEVEL = 6
_NEW_SHARE = 0.5
"""With a larger share of new tiles a picture is kept whole."""
_RECENT = 32 * 1024 // _TILE_BYTES
"""Tiles before the new ones that zlib may refer to (its window): a counter's next digit is much like its last."""
_TILES, _WHOLE = b"r", b"w"
_ALONE, _HALF = b"t", b"h"
"""Written by earlier versions: tiles packed without the recent ones, and a picture at half the size of another."""


def address(pixels: Pixels) -> str:
    """What a picture is called: SHA-256 of its size and its pixels."""
    height, width = pixels.shape[:2]
    digest = hashlib.sha256(f"{width}x{height}\n".encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


def halved(pixels: Pixels) -> Pixels:
    """A picture at half size: each pixel the mean of four, in whole numbers, the same on every machine.

    Args:
        pixels: of even width and height.
    """
    # Pillow's reduction is this sum of four, plus two, divided by four: a tenth of NumPy's time (measured).
    return np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).reduce(2))


class _Tiles:
    """The tiles of the pictures of one size, since one that started afresh."""

    def __init__(self, pixels: Pixels, index: int) -> None:
        self.shape = pixels.shape
        self.first = index
        self.index: dict[bytes, int] = {}
        self.table: list[bytes] = []
        self.last: NDArray[np.uint8] | None = None
        """The last picture: as `_padded` makes it where it was written, as tiles, (n, 768), where it was read."""

    @property
    def recent(self) -> bytes:
        return b"".join(self.table[-_RECENT:])

    def add(self, tile: bytes) -> int:
        self.table.append(tile)
        return self.index.setdefault(tile, len(self.table) - 1)


class PictureLog:
    """Turns the pictures of one episode into rows; a log of its own in every process."""

    def __init__(self) -> None:
        self._id = uuid.uuid4().hex[:16]
        self._count = 0
        self._written: set[str] = set()
        self._tiles: dict[tuple[int, int], _Tiles] = {}

    def rows(self, pictures: Mapping[str, Pixels]) -> list[Picture]:
        """Rows for the pictures that this log has not had yet.

        Args:
            pictures: (height, width, 3) uint8 RGB by `address`; they must not be written to afterwards.
        """
        rows = []
        for sha256, pixels in pictures.items():
            if sha256 not in self._written:
                self._written.add(sha256)
                rows.append(self._row(sha256, pixels))
        return rows

    def _row(self, sha256: str, pixels: Pixels) -> Picture:
        height, width = pixels.shape[:2]
        index, self._count = self._count, self._count + 1
        data, first = self._encoded(pixels, index)
        return Picture(log=self._id, index=index, sha256=sha256, width=width, height=height, first=first, data=data)

    def _encoded(self, pixels: Pixels, index: int) -> tuple[bytes, int]:
        height, width = pixels.shape[:2]
        tiles = self._tiles.get((width, height))
        if tiles is None or index - tiles.first >= CHAIN:
            tiles = self._tiles[width, height] = _Tiles(pixels, index)
        padded = _padded(pixels)
        changed = _changed(padded, tiles.last)
        known, recent = len(tiles.table), tiles.recent
        numbers = np.empty(int(changed.sum()), np.uint32)
        for i, tile in enumerate(_tiles(padded)[changed]):
            content = tile.tobytes()
            number = tiles.index.get(content)
            numbers[i] = tiles.add(content) if number is None else number
        tiles.last = padded
        new = tiles.table[known:]
        if len(new) > _NEW_SHARE * changed.size:
            del self._tiles[width, height]
            return _WHOLE + isal_zlib.compress(_less_above(pixels), 1), index
        packer = zlib.compressobj(_LEVEL, zdict=recent)
        packed = np.packbits(changed).tobytes() + numbers.tobytes() + b"".join(new)
        return _TILES + packer.compress(packed) + packer.flush(), tiles.first


def decode(chain: Iterable[Picture]) -> Pixels:
    """The picture at the end of a chain of rows, which begins with one that starts afresh.

    Raises:
        PictureCorrupt: if the rows do not give the picture that the last one's address names.
    """
    pixels: Pixels | None = None
    tiles: _Tiles | None = None
    row: Picture | None = None
    for row in chain:
        kind, data = row.data[:1], row.data[1:]
        try:
            if kind == _HALF and pixels is not None:
                pixels = halved(pixels)
            elif kind == _WHOLE:
                lines = np.frombuffer(_unpacked(row, data), np.uint8).reshape(row.height, row.width * 3)
                pixels = np.cumsum(lines, axis=0, dtype=np.uint8).reshape(row.height, row.width, 3)
            elif kind in (_TILES, _ALONE):
                blank = np.zeros((row.height, row.width, 3), np.uint8)
                tiles = tiles if tiles is not None and tiles.shape == blank.shape else _Tiles(blank, row.index)
                pixels = _from_tiles(row, _unpacked(row, data, tiles.recent if kind == _TILES else b""), tiles)
            else:
                raise ValueError(f"no such kind of row as {kind!r}, or its source is missing")
        except (zlib.error, ValueError, IndexError) as error:
            raise PictureCorrupt(f"picture {row.sha256}: {error}") from error
    if row is None or pixels is None or address(pixels) != row.sha256:
        raise PictureCorrupt(f"picture {row.sha256 if row else '?'}: its rows give another picture")
    return pixels


def _unpacked(row: Picture, data: bytes, dictionary: bytes = b"") -> bytes:
    """A row's data uncompressed, up to what a picture of its size can take: damaged ones must not fill the memory."""
    across, down = -(-row.width // _TILE), -(-row.height // _TILE)
    unpacker = zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()
    return unpacker.decompress(data, across * down * (_TILE_BYTES + 5) + 8)


def _from_tiles(row: Picture, data: bytes, tiles: _Tiles) -> Pixels:
    across, down = -(-row.width // _TILE), -(-row.height // _TILE)
    count = across * down
    mask_bytes = -(-count // 8)
    changed = np.unpackbits(np.frombuffer(data, np.uint8, mask_bytes), count=count).astype(bool)
    numbers = np.frombuffer(data, np.uint32, int(changed.sum()), mask_bytes)
    new = data[mask_bytes + numbers.nbytes :]
    for start in range(0, len(new), _TILE_BYTES):
        tiles.table.append(new[start : start + _TILE_BYTES])
    cut = np.zeros((count, _TILE_BYTES), np.uint8) if tiles.last is None else tiles.last.copy()
    content = b"".join(tiles.table[number] for number in numbers)
    cut[changed] = np.frombuffer(content, np.uint8).reshape(-1, _TILE_BYTES)
    tiles.last = cut
    whole = cut.reshape(down, across, _TILE, _TILE, 3).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(whole.reshape(down * _TILE, across * _TILE, 3)[: row.height, : row.width])


def _padded(pixels: Pixels) -> Pixels:
    """Contiguous, and filled up with zeros to whole tiles."""
    height, width = pixels.shape[:2]
    below, beside = -height % _TILE, -width % _TILE
    return np.pad(pixels, ((0, below), (0, beside), (0, 0))) if below or beside else np.ascontiguousarray(pixels)


def _tiles(padded: Pixels) -> NDArray[np.uint8]:
    """(down, across, 16, 48): a view, for copying a picture into tiles costs more than all else here."""
    height, width = padded.shape[:2]
    return padded.reshape(height // _TILE, _TILE, width // _TILE, _TILE * 3).transpose(0, 2, 1, 3)


def _changed(padded: Pixels, last: Pixels | None) -> NDArray[np.bool_]:
    """(down, across): which tiles differ from those of the last picture; eight bytes are compared at once."""
    height, width = padded.shape[:2]
    down, across = height // _TILE, width // _TILE
    if last is None:
        return np.ones((down, across), bool)
    differs = padded.reshape(height, -1).view(np.uint64) != last.reshape(height, -1).view(np.uint64)
    result: NDArray[np.bool_] = differs.reshape(down, _TILE, across, -1).any(axis=(1, 3))
    return result


def _less_above(pixels: Pixels) -> Pixels:
    """Row minus row above: smooth parts become small numbers, as PNG's filter of that name does it."""
    lines = pixels.reshape(len(pixels), -1)
    less = lines.copy()
    less[1:] -= lines[:-1]
    return less
