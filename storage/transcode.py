"""Takes in a video that comes from outside: decoded within bounds, and encoded again as our own.

Whatever the file claims or hides, what is kept afterwards is a plain H.264 video that this package wrote. Only three
containers are opened, each by its own demuxer and through a Python file object, so that a playlist or a reference in
the file cannot make FFmpeg open other files or addresses.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import av
import numpy as np
from av.video.stream import VideoStream
from numpy.typing import NDArray

from storage.errors import VideoError
from storage.video import MAX_PIXELS, VideoInfo, VideoWriter


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is taken in, at most."""

    bytes: int = 512 * 2**20
    seconds: float = 1_800.0
    frames: int = 3_600
    """Frames kept. A longer video is thinned out evenly in time."""
    fps: float = 10.0
    """Frames kept of a second, at most."""
    longest_side: int = 1280
    """Pixels; larger pictures are shrunk."""


USUAL = Bounds()


def transcode(source: Path, target: Path, bounds: Bounds = USUAL) -> VideoInfo:
    """Decode a video file and write it again as a bounded H.264 MP4 of constant rate, without sound.

    Args:
        source: An MP4 or QuickTime, Matroska or WebM, or AVI file.
        target: Where the new file goes.
        bounds: What is taken in.

    Raises:
        VideoError: Missing, too large, too long, damaged, without pictures, or another format. Then no file is left.
    """
    size = _size(source)
    if size > bounds.bytes:
        raise VideoError(f"{source.name} has {size:,} bytes; at most {bounds.bytes:,} are taken in")
    with source.open("rb") as file, _opened(file, source.name) as (container, stream):
        duration = _duration(container, stream)
        if duration is not None and duration > bounds.seconds:
            raise VideoError(f"{source.name} lasts {duration:.0f} s; at most {bounds.seconds:.0f} s are taken in")
        # An unknown duration is bounded while decoding.
        fps = min(bounds.fps, bounds.frames / max(duration or bounds.seconds, 1.0), _rate(stream) or bounds.fps)
        return _write(_pictures(container, stream, source.name, fps, bounds), target, fps, source.name)


def _size(source: Path) -> int:
    try:
        if not source.is_file():
            raise VideoError(f"{source.name} is no file")
        return source.stat().st_size
    except OSError as error:
        raise VideoError(f"{source.name} cannot be read: {error.strerror or error}") from None


@contextlib.contextmanager
def _opened(file: IO[bytes], name: str) -> Iterator[tuple[Any, VideoStream]]:
    """Open for decoding; every fault of the file leaves as a VideoError that names it."""
    demuxer = _demuxer(file.read(16))
    file.seek(0)
    if demuxer is None:
        raise VideoError(f"{name} is none of MP4, QuickTime, Matroska, WebM and AVI")
    try:
        with av.open(file, "r", format=demuxer, options={"protocol_whitelist": "file"}) as container:
            if not container.streams.video:
                raise VideoError(f"{name} holds no video stream")
            stream = container.streams.video[0]
            if stream.codec_context is None or stream.time_base is None:
                raise VideoError(f"{name} is in a video format that is not known here")
            if not 0 < stream.width * stream.height <= MAX_PIXELS:
                raise VideoError(f"{name} claims {stream.width}x{stream.height} pixels; at most {MAX_PIXELS} are read")
            # The stream itself may claim another size than the container: FFmpeg then refuses before it allocates.
            stream.codec_context.options = {"max_pixels": str(MAX_PIXELS), "threads": "1"}
            yield container, stream
    except (OSError, ValueError, OverflowError, MemoryError, av.FFmpegError) as error:
        # Not the whole message: FFmpeg's ends in the file's path.
        why = getattr(error, "strerror", None) or type(error).__name__
        raise VideoError(f"{name} cannot be decoded (damaged, cut off, or no video): {why}") from None


def _demuxer(head: bytes) -> str | None:
    """Which of the permitted demuxers a file's first bytes ask for."""
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"):
        return "mov"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return "matroska"
    return "avi" if head.startswith(b"RIFF") and head[8:12] == b"AVI " else None


def _duration(container: Any, stream: VideoStream) -> float | None:
    """Seconds, as the file claims; None if it does not say."""
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return container.duration / av.time_base if container.duration is not None else None


def _rate(stream: VideoStream) -> float | None:
    rate = float(stream.average_rate) if stream.average_rate else 0.0
    return rate if 0.1 <= rate <= 1000 else None


def _pictures(
    container: Any, stream: VideoStream, name: str, fps: float, bounds: Bounds
) -> Iterator[NDArray[np.uint8]]:
    """The pictures that are seen at the ticks of a constant rate, each (H, W, 3) uint8 RGB, shrunk if need be.

    Every tick is served by the last picture before it, so that variable rates come out at their own speed. What a file
    claims of its length is not believed: decoding stops with an error where the bounds end.
    """
    start: Fraction | None = None
    kept: av.VideoFrame | None = None
    tick = n_decoded = 0
    most_decoded = int(bounds.seconds * 240)
    for picture in container.decode(stream):
        n_decoded += 1
        if picture.pts is None or picture.time_base is None:
            continue
        at = picture.pts * picture.time_base
        start = at if start is None else start
        seconds = float(at - start)
        if seconds > bounds.seconds or n_decoded > most_decoded:
            raise VideoError(f"{name} goes on after {bounds.seconds:.0f} s, whatever it claims; cut it shorter")
        while kept is not None and tick / fps < seconds and tick < bounds.frames:
            yield _shrunk(kept, bounds.longest_side)
            tick += 1
        if tick >= bounds.frames:
            return
        kept = picture
    if kept is not None and tick < bounds.frames:
        yield _shrunk(kept, bounds.longest_side)


def _shrunk(picture: av.VideoFrame, longest_side: int) -> NDArray[np.uint8]:
    scale = min(1.0, longest_side / max(picture.width, picture.height))
    width, height = (max(2, round(side * scale)) for side in (picture.width, picture.height))
    return np.asarray(picture.reformat(width=width, height=height, format="rgb24").to_ndarray(), np.uint8)


def _write(pictures: Iterator[NDArray[np.uint8]], target: Path, fps: float, name: str) -> VideoInfo:
    first = next(pictures, None)
    if first is None:
        raise VideoError(f"{name} holds no picture that can be decoded")
    height, width = first.shape[:2]
    with VideoWriter(target, fps=fps, size=(width, height)) as writer:
        writer.write(first)
        for picture in pictures:
            if picture.shape != first.shape:
                raise VideoError(f"{name} changes its size while it plays; encode it at one size")
            writer.write(picture)
        return writer.close()
