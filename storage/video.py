"""Video: a streaming H.264 writer, and frame-exact random access to what it wrote.

Frames are numbered from 0 at a constant rate, so that frame `i` is shown from `i / fps` seconds on. Key frames come at
least every 60 frames and there are no B-frames: a player reaches any frame by decoding at most 60, and presentation
order is decoding order. Key frames every 30 would make drawn games' videos a third larger.

The settings are measured on 640 x 480 on one x264 thread: see `docs/database.md`.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, cast

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace
from av.video.stream import VideoStream
from numpy.typing import NDArray

from storage.errors import VideoError

Frame = NDArray[np.uint8]
"""An image: (height, width, 3) uint8, RGB."""

GOP = 60
"""Frames from one key frame to the next, at most."""
MAX_PIXELS = 4096 * 4096
"""Larger pictures are refused: a few bytes of video can claim any size, and decoding allocates it."""
MAX_FRAMES = 10_000_000
"""More frames than this are refused: 92 hours at 30 a second."""

_QUEUE = 8  # frames waiting for the encoder: 7 MiB at 640 x 480
_CODEC_OPTIONS = {
    # Measured: a third faster than `faster`, a fifth of `ultrafast`'s bytes; `animation` halves a textured scene's.
    "preset": "veryfast",
    "tune": "animation",
    "crf": "18",  # small text stays legible
    "threads": "1",  # episodes run in parallel; a video must not take all cores
    "g": str(GOP),
    "bf": "0",
}


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """What a video file says about itself."""

    fps: float
    width: int
    height: int
    n_frames: int
    codec: str


class VideoWriter:
    """Encode frames to an MP4 file as they come.

    A thread of its own encodes (x264 runs without Python's lock), so `write` costs a copy of the frame unless the
    encoder falls eight frames behind; memory stays bounded however long the video. Until `close` the bytes lie in
    `<path>.part`, so that a file of the name `path` is always whole. Usable as a context manager: an exception aborts.
    Not for use by several threads at once.
    """

    def __init__(self, path: str | Path, fps: float, size: tuple[int, int]) -> None:
        """Open the file and start the encoder.

        Args:
            path: Where the finished video goes; an existing file is replaced at `close`.
            fps: Frames per second, constant, > 0.
            size: (width, height) of the frames in pixels. Odd sizes are padded by one pixel: yuv420p needs even ones.

        Raises:
            VideoError: A size or rate that cannot be, or a folder that cannot be written.
        """
        width, height = size
        if width < 1 or height < 1 or width * height > MAX_PIXELS:
            raise VideoError(f"size must be (width, height) between 1x1 and {MAX_PIXELS} pixels, not {size}")
        if not 0 < fps <= 1000:
            raise VideoError(f"fps must be above 0 and at most 1000, not {fps}")
        self.path = Path(path)
        self.fps = fps
        self.n_frames = 0
        self._width, self._height = width, height
        self._part = self.path.with_name(self.path.name + ".part")
        self._error: Exception | None = None
        self._open = True
        try:
            # FFmpeg opens the file with the first frame only; a folder that cannot be written shows now.
            self._part.write_bytes(b"")
            self._container = av.open(str(self._part), "w", format="mp4", options={"movflags": "+faststart"})
            self._stream = self._add_stream()
        except (OSError, av.FFmpegError) as error:
            with contextlib.suppress(OSError):
                self._part.unlink(missing_ok=True)
            raise VideoError(f"cannot write a video to {self.path}: {error}") from error
        self._queue: queue.Queue[Frame | None] = queue.Queue(_QUEUE)
        self._thread = threading.Thread(target=self._encode, name=f"encode {self.path.name}", daemon=True)
        self._thread.start()

    def _add_stream(self) -> VideoStream:
        rate = Fraction(self.fps).limit_denominator(1001)
        stream = self._container.add_stream("libx264", rate=rate, options=_CODEC_OPTIONS)
        stream.width, stream.height = self._width + self._width % 2, self._height + self._height % 2
        stream.pix_fmt = "yuv420p"
        context = stream.codec_context
        context.max_b_frames = 0
        # Said in the stream, so that no player has to guess the matrix from the size.
        context.colorspace = Colorspace.SMPTE170M
        context.color_range = ColorRange.MPEG
        return stream

    @property
    def info(self) -> VideoInfo:
        """What has been written so far: sizes as encoded, padding included."""
        return VideoInfo(self.fps, self._stream.width, self._stream.height, self.n_frames, "h264")

    def write(self, frame: Frame) -> int:
        """Append one frame and return its index in the video, from 0.

        Args:
            frame: (height, width, 3) uint8 RGB of the size that the writer was opened with. It is copied.

        Raises:
            VideoError: Another shape or type, a closed writer, or the encoder failed on an earlier frame.
        """
        if not self._open:
            raise VideoError(f"{self.path.name} is closed; open a new writer")
        expected = (self._height, self._width, 3)
        if frame.shape != expected or frame.dtype != np.uint8:
            raise VideoError(f"frame must be {expected} uint8, not {frame.shape} {frame.dtype}")
        self._raise_encoder_error()
        padded = np.empty((self._stream.height, self._stream.width, 3), np.uint8)
        padded[: self._height, : self._width] = frame
        # Padding repeats the edge: a black line would bleed into the picture at low rates.
        padded[self._height :, : self._width] = frame[-1:]
        padded[:, self._width :] = padded[:, self._width - 1 : self._width]
        self._queue.put(padded)
        self.n_frames += 1
        return self.n_frames - 1

    def close(self) -> VideoInfo:
        """Finish the file and give it its name. Closing again changes nothing.

        Raises:
            VideoError: Nothing was written, or the encoder failed; then no file is left.
        """
        if not self._open:
            return self.info
        if self.n_frames == 0:
            self.abort()
            raise VideoError(f"no frame was written to {self.path.name}; a video needs at least one")
        self._stop()
        if self._error is not None:
            self._part.unlink(missing_ok=True)
            self._raise_encoder_error()
        self._part.replace(self.path)
        return self.info

    def abort(self) -> None:
        """Stop and leave no file behind. Harmless after `close`."""
        if self._open:
            self._stop()
            self._part.unlink(missing_ok=True)

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def _stop(self) -> None:
        self._open = False
        self._queue.put(None)
        self._thread.join()

    def _raise_encoder_error(self) -> None:
        if self._error is not None:
            raise VideoError(f"encoding {self.path.name} failed: {self._error}") from self._error

    def _encode(self) -> None:
        """Body of the encoder thread. After an error it keeps emptying the queue, so that `write` cannot hang."""
        index = 0
        while (image := self._queue.get()) is not None:
            if self._error is not None:
                continue
            try:
                picture = av.VideoFrame.from_ndarray(image, format="rgb24")
                picture.pts = index
                picture.time_base = 1 / Fraction(self.fps).limit_denominator(1001)
                self._container.mux(self._stream.encode(picture))
                index += 1
            except (OSError, ValueError, av.FFmpegError) as error:
                self._error = error
        try:
            if self._error is None and index:
                self._container.mux(self._stream.encode())
            self._container.close()
        except (OSError, ValueError, av.FFmpegError) as error:
            self._error = self._error or error


def probe(video: str | Path | IO[bytes]) -> VideoInfo:
    """Read what a video file says about itself.

    Raises:
        VideoError: Missing, empty, truncated, not a video, or beyond the limits of this module.
    """
    with _opened(video) as (_, stream, _name):
        return _info(stream)


def read_frames(video: str | Path | IO[bytes], indices: Sequence[int]) -> list[Frame]:
    """Decode exactly the frames asked for, in the order asked for; an index may repeat.

    Seeks to the key frame before each frame and decodes forward; indices close together are decoded in one pass.

    Args:
        video: Path or seekable binary file.
        indices: Frame numbers from 0.

    Returns:
        One (height, width, 3) uint8 RGB array per index.

    Raises:
        VideoError: An index outside the video, or a file that is not a readable video.
    """
    with _opened(video) as (container, stream, name):
        info = _info(stream)
        for index in indices:
            if not 0 <= index < info.n_frames:
                raise VideoError(f"no frame {index} in {name}: it has frames 0 to {info.n_frames - 1}")
        decoder = _Decoder(container, stream)
        found = {index: decoder.frame(index) for index in sorted(set(indices))}
        missing = [index for index, frame in found.items() if frame is None]
        if missing:
            raise VideoError(f"{name} is damaged: frame {missing[0]} of {info.n_frames} cannot be decoded")
        return [cast(Frame, found[index]) for index in indices]


class _Decoder:
    """Walks forward through one stream; seeks only where walking would take longer than a group of pictures."""

    def __init__(self, container: Any, stream: VideoStream) -> None:
        self._container, self._stream = container, stream
        self._frames: Iterator[av.VideoFrame] = iter(())
        self._at = -(GOP + 1)
        # Seconds per frame in units of the stream's clock, exact.
        self._ticks = 1 / (_rate(stream) * cast(Fraction, stream.time_base))
        self._start = stream.start_time or 0

    def frame(self, index: int) -> Frame | None:
        if not self._at < index <= self._at + GOP:
            self._container.seek(self._start + int(index * self._ticks), stream=self._stream, backward=True)
            self._frames = self._container.decode(self._stream)
        for picture in self._frames:
            if picture.pts is None:
                continue
            self._at = round((picture.pts - self._start) / self._ticks)
            if self._at == index:
                return cast(Frame, picture.to_ndarray(format="rgb24"))
            if self._at > index:
                break
        return None


def _rate(stream: VideoStream) -> Fraction:
    return cast(Fraction, stream.average_rate)


def _info(stream: VideoStream) -> VideoInfo:
    return VideoInfo(float(_rate(stream)), stream.width, stream.height, stream.frames, stream.codec_context.name)


@contextlib.contextmanager
def _opened(video: str | Path | IO[bytes]) -> Iterator[tuple[Any, VideoStream, str]]:
    """Open for decoding; every fault of the file leaves as a VideoError that names it."""
    name = Path(video).name if isinstance(video, str | Path) else "the video"
    # Only the MP4 demuxer, and for a path only the file protocol: an untrusted file cannot make FFmpeg open others.
    source = f"file:{video}" if isinstance(video, str | Path) else video
    options = {"protocol_whitelist": "file"} if isinstance(video, str | Path) else {}
    try:
        with av.open(source, "r", format="mp4", options=options) as container:
            if not container.streams.video:
                raise VideoError(f"{name} holds no video stream")
            stream = container.streams.video[0]
            _check(stream, name)
            # The stream itself may claim another size than the container: FFmpeg then refuses before it allocates.
            stream.codec_context.options = {"max_pixels": str(MAX_PIXELS), "threads": "1"}
            yield container, stream, name
    except FileNotFoundError:
        raise VideoError(f"{name} does not exist") from None
    except (OSError, ValueError, av.FFmpegError) as error:
        raise VideoError(f"{name} is not a readable MP4 video (empty, truncated or another format): {error}") from error


def _check(stream: VideoStream, name: str) -> None:
    if stream.codec_context is None or not stream.average_rate or stream.time_base is None:
        raise VideoError(f"{name} has a video stream without a rate")
    if not 0 < stream.width * stream.height <= MAX_PIXELS:
        raise VideoError(f"{name} claims {stream.width}x{stream.height} pixels; at most {MAX_PIXELS} are decoded")
    if not 0 < stream.frames <= MAX_FRAMES:
        raise VideoError(f"{name} claims {stream.frames} frames; between 1 and {MAX_FRAMES} are decoded")
