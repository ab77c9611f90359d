"""Videos and images by the SHA-256 of their bytes. A path never comes in, and never goes out."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Final

from fastapi import APIRouter, HTTPException, Request
from PIL import Image
from starlette.responses import Response, StreamingResponse

from storage.errors import PictureCorrupt, VideoError
from storage.pictures import halved
from storage.store import Store
from storage.video import read_frames

CHUNK: Final = 256 * 1024
"""Bytes a read; Gradio's 4 KiB chunks reach a twentieth of the throughput (measured)."""

THUMBNAIL: Final = 240
"""Longer side of an evidence frame, in pixels: twice what the page shows, for dense displays."""
IMMUTABLE: Final = "private, max-age=31536000, immutable"
"""An address that is the hash of its content never changes its meaning."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_RANGE: Final = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
# What a browser may render from here. Anything else is sent as bytes to save.
_SHOWN: Final = frozenset({"video/mp4", "image/png", "image/jpeg", "image/webp"})


class UnsatisfiableRange(ValueError):
    """The range lies outside the bytes."""


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """The bytes that a `Range` header asks for, as a half-open pair, or None for all of them.

    One range is supported; as RFC 9110 allows, anything else is answered with the whole.

    Raises:
        UnsatisfiableRange: if the range starts beyond the end, or is a suffix of no bytes.
    """
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None:
        return None
    first, last = match.groups()
    if not first and not last:
        return None
    if not first:
        length = int(last)
        if length == 0 or size == 0:
            raise UnsatisfiableRange(header)
        return max(0, size - length), size
    start, stop = int(first), int(last) + 1 if last else size
    if last and stop <= start:
        return None
    if start >= size:
        raise UnsatisfiableRange(header)
    return start, min(stop, size)


def create_router(store: Store) -> APIRouter:
    """`/media/{sha256}`: GET and HEAD, Range, ETag, cached for good (the address is the content)."""
    router = APIRouter()

    @router.api_route("/media/{sha256}", methods=["GET", "HEAD"], include_in_schema=False)
    def media(sha256: str, request: Request, half: bool = False) -> Response:
        """The bytes of an artifact that the database knows, or a picture that a model was shown, as PNG.

        `half`: the picture at half its size, as a request says `half_of`.
        """
        if _SHA256.fullmatch(sha256) and store.artifact(sha256) is None:
            picture = _picture(store, sha256, half)
            if picture is not None:
                return Response(picture, media_type="image/png", headers={"Cache-Control": IMMUTABLE})
        media_type = _media_type(store, sha256)
        size = store.artifacts.size(sha256)
        etag = f'"{sha256}"'
        headers = {
            "ETag": etag,
            "Accept-Ranges": "bytes",
            "Cache-Control": IMMUTABLE,
        }
        if media_type not in _SHOWN:
            media_type = "application/octet-stream"
            headers["Content-Disposition"] = f'attachment; filename="{sha256[:12]}"'
        if etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if_range = request.headers.get("if-range")
        asked = request.headers.get("range") if if_range in (None, etag) else None
        try:
            span = parse_range(asked, size)
        except UnsatisfiableRange:
            headers["Content-Range"] = f"bytes */{size}"
            return Response(status_code=416, headers=headers)
        start, stop = span or (0, size)
        headers["Content-Length"] = str(stop - start)
        if span:
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        status = 206 if span else 200
        if request.method == "HEAD":
            return Response(status_code=status, headers=headers, media_type=media_type)
        return StreamingResponse(_read(store, sha256, start, stop), status, headers, media_type)

    @router.api_route("/media/{sha256}/frames/{index}", methods=["GET", "HEAD"], include_in_schema=False)
    def frame(sha256: str, index: int) -> Response:
        """One frame of a video as a small JPEG: the evidence that a judge or a reflection points at."""
        if _media_type(store, sha256) != "video/mp4":
            raise HTTPException(404, f"artifact {sha256} is no video")
        try:
            picture = _thumbnail(store, sha256, index)
        except VideoError:  # its message may name a file of this machine
            raise HTTPException(404, f"artifact {sha256} has no readable frame {index}") from None
        return Response(picture, media_type="image/jpeg", headers={"Cache-Control": IMMUTABLE})

    return router


def _media_type(store: Store, sha256: str) -> str:
    """The type of an artifact whose bytes are there.

    Raises:
        HTTPException: 404 for a malformed or unknown id, 410 if the bytes are gone.
    """
    if not _SHA256.fullmatch(sha256):
        raise HTTPException(404, "an artifact is named by the 64 hexadecimal digits of its SHA-256")
    row = store.artifact(sha256)
    if row is None:
        raise HTTPException(404, f"the database knows no artifact {sha256}")
    if not store.artifacts.exists(sha256):
        raise HTTPException(410, f"artifact {sha256} is in the database, but its file is missing")
    return row.media_type


def _picture(store: Store, sha256: str, half: bool) -> bytes | None:
    try:
        pixels = store.picture(sha256)
    except PictureCorrupt:
        raise HTTPException(410, f"picture {sha256} is in the database, but its rows are damaged") from None
    if pixels is None:
        return None
    buffer = io.BytesIO()
    Image.fromarray(halved(pixels) if half else pixels).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _thumbnail(store: Store, sha256: str, index: int) -> bytes:
    with store.artifacts.open(sha256) as file:
        frame = read_frames(file, [index])[0]
    image = Image.fromarray(frame)
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def _read(store: Store, sha256: str, start: int, stop: int) -> Iterator[bytes]:
    with store.artifacts.open(sha256) as file:
        file.seek(start)
        left = stop - start
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk
