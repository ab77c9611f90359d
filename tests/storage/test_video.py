"""Video: every frame is the frame of its index, in bounded memory, and bad files are named as such."""

from __future__ import annotations

import itertools
import random
import resource
from pathlib import Path

import av
import numpy as np
import pytest

from storage.errors import VideoError
from storage.video import GOP, Frame, VideoInfo, VideoWriter, probe, read_frames

BITS = 12


def barcode(index: int, height: int = 96, width: int = 192) -> Frame:
    """A frame that says its index in black and white blocks, before a moving background."""
    frame = np.full((height, width, 3), 60, np.uint8)
    frame[:, index * 7 % width :] = (40, 90, 140)
    for bit in range(BITS):
        frame[16:48, bit * 16 : bit * 16 + 16] = 255 if index >> bit & 1 else 0
    return frame


def read_barcode(frame: Frame) -> int:
    return sum(1 << bit for bit in range(BITS) if frame[32, bit * 16 + 8, 1] > 127)


def write(path: Path, n: int, fps: float = 10, height: int = 96, width: int = 192) -> VideoInfo:
    with VideoWriter(path, fps, (width, height)) as writer:
        assert [writer.write(barcode(i, height, width)) for i in range(n)] == list(range(n))
    return writer.info


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("video") / "film.mp4"
    write(path, 400)
    return path


def test_every_frame_is_the_frame_of_its_index(film: Path) -> None:
    indices = [0, 399, 29, 30, 31, *random.Random(0).choices(range(400), k=80), 5, 5]
    assert [read_barcode(frame) for frame in read_frames(film, indices)] == indices


def test_a_file_object_is_read_like_a_path(film: Path) -> None:
    with film.open("rb") as file:
        assert [read_barcode(frame) for frame in read_frames(file, [250, 3])] == [250, 3]
    assert read_frames(film, []) == []


@pytest.mark.parametrize("fps", [0.5, 7.3, 12.5, 29.97, 60])
@pytest.mark.parametrize("n", [1, 2, 65])
def test_any_rate_and_any_length_is_exact(tmp_path: Path, fps: float, n: int) -> None:
    written = write(tmp_path / "film.mp4", n, fps)
    assert probe(tmp_path / "film.mp4") == written == VideoInfo(fps, 192, 96, n, "h264")
    assert [read_barcode(frame) for frame in read_frames(tmp_path / "film.mp4", range(n))] == list(range(n))


def test_the_stream_is_what_browsers_and_scrubbers_need(film: Path) -> None:
    """H.264, yuv420p, key frames every 60 frames or fewer, no reordering, constant rate, the index first."""
    with av.open(str(film)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        packets = [packet for packet in container.demux(stream) if packet.size]
    keys = [i for i, packet in enumerate(packets) if packet.is_keyframe]
    assert keys[0] == 0 and max(b - a for a, b in zip(keys, [*keys[1:], len(packets)], strict=True)) <= GOP
    assert all(packet.pts == packet.dts for packet in packets)
    assert len({b.pts - a.pts for a, b in itertools.pairwise(packets)}) == 1  # type: ignore[operator]
    data = film.read_bytes()
    assert 0 < data.find(b"moov") < data.find(b"mdat"), "a player can start before the file has arrived"


def test_colours_survive(tmp_path: Path) -> None:
    frame = np.zeros((64, 64, 3), np.uint8)
    frame[:32], frame[32:] = (200, 40, 90), (10, 220, 30)
    with VideoWriter(tmp_path / "film.mp4", 10, (64, 64)) as writer:
        writer.write(frame)
    (got,) = read_frames(tmp_path / "film.mp4", [0])
    assert np.abs(got[10, 10].astype(int) - (200, 40, 90)).max() <= 4
    assert np.abs(got[50, 10].astype(int) - (10, 220, 30)).max() <= 4


def test_odd_sizes_are_padded_by_a_pixel(tmp_path: Path) -> None:
    info = write(tmp_path / "film.mp4", 3, height=97, width=193)
    assert (info.width, info.height) == (194, 98)
    frames = read_frames(tmp_path / "film.mp4", [0, 1, 2])
    assert [read_barcode(frame) for frame in frames] == [0, 1, 2]
    assert frames[0].shape == (98, 194, 3)


def test_the_writer_copies_its_frames(tmp_path: Path) -> None:
    """A game may draw into one buffer for ever."""
    buffer = barcode(0)
    with VideoWriter(tmp_path / "film.mp4", 10, (192, 96)) as writer:
        for index in range(40):
            buffer[:] = barcode(index)
            writer.write(buffer)
    assert [read_barcode(frame) for frame in read_frames(tmp_path / "film.mp4", range(40))] == list(range(40))


def test_a_video_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    writer = VideoWriter(path, 10, (192, 96))
    writer.write(barcode(0))
    assert not path.exists()
    assert writer.close().n_frames == 1 and writer.close().n_frames == 1
    assert list(tmp_path.iterdir()) == [path]
    writer.abort()
    assert path.exists(), "aborting after closing is harmless"
    with pytest.raises(VideoError, match="is closed"):
        writer.write(barcode(1))


def test_aborting_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), VideoWriter(tmp_path / "film.mp4", 10, (192, 96)) as writer:
        writer.write(barcode(0))
        raise ZeroDivisionError
    writer = VideoWriter(tmp_path / "other.mp4", 10, (192, 96))
    with pytest.raises(VideoError, match="no frame was written"):
        writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_failing_encoder_is_reported_and_cannot_hang_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = VideoWriter(tmp_path / "film.mp4", 10, (192, 96))

    class Full:
        def mux(self, _: object) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            pass

    writer._container.close()
    monkeypatch.setattr(writer, "_container", Full())
    with pytest.raises(VideoError, match="No space left"):
        for index in range(200):
            writer.write(barcode(index))
        writer.close()
    writer.abort()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (np.zeros((96, 190, 3), np.uint8), r"must be \(96, 192, 3\) uint8, not \(96, 190, 3\) uint8"),
        (np.zeros((96, 192, 4), np.uint8), "not .96, 192, 4"),
        (np.zeros((96, 192, 3), np.float32), "float32"),
    ],
)
def test_wrong_frames_are_refused(tmp_path: Path, frame: Frame, message: str) -> None:
    writer = VideoWriter(tmp_path / "film.mp4", 10, (192, 96))
    with pytest.raises(VideoError, match=message):
        writer.write(frame)
    writer.abort()


@pytest.mark.parametrize(("fps", "size"), [(0, (64, 64)), (-1, (64, 64)), (10, (0, 64)), (10, (100_000, 100_000))])
def test_impossible_videos_are_refused(tmp_path: Path, fps: float, size: tuple[int, int]) -> None:
    with pytest.raises(VideoError):
        VideoWriter(tmp_path / "film.mp4", fps, size)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"cannot write a video to .*none"):
        VideoWriter(tmp_path / "none" / "film.mp4", 10, (64, 64))


@pytest.mark.parametrize("index", [-1, 400, 10**12])
def test_an_index_outside_the_video_is_refused(film: Path, index: int) -> None:
    with pytest.raises(VideoError, match="frames 0 to 399"):
        read_frames(film, [3, index])


@pytest.mark.parametrize("data", [b"", b"hello" * 1000, b"#EXTM3U\nfile:///etc/passwd\n", b"\x00\x00\x00\x08moov"])
def test_files_that_are_no_video_are_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(data)
    for ask in (probe, lambda video: read_frames(video, [0])):
        with pytest.raises(VideoError, match=r"film\.mp4"):
            ask(path)
    with pytest.raises(VideoError, match="does not exist"):
        probe(tmp_path / "none.mp4")


def test_a_truncated_video_is_named_and_never_gives_another_frame(film: Path, tmp_path: Path) -> None:
    data = film.read_bytes()
    path = tmp_path / "cut.mp4"
    for length in range(100, len(data) - 1, len(data) // 25):
        path.write_bytes(data[:length])
        try:
            frames = read_frames(path, [390])
        except VideoError as error:
            assert "cut.mp4" in str(error)
        else:
            assert read_barcode(frames[0]) == 390


def test_a_damaged_video_raises_nothing_but_video_errors(film: Path, tmp_path: Path) -> None:
    data = film.read_bytes()
    path = tmp_path / "bad.mp4"
    generator = random.Random(1)
    for _ in range(60):
        bad = bytearray(data)
        # The header is where sizes, counts and offsets are.
        for _ in range(8):
            bad[generator.randrange(min(len(bad), 6000))] = generator.randrange(256)
        path.write_bytes(bad)
        try:
            for frame in read_frames(path, [0, 200]):
                assert frame.ndim == 3
        except VideoError:
            pass


def test_memory_stays_flat_over_thousands_of_frames(tmp_path: Path) -> None:
    """2,000 frames of 320 x 240 are 460 MB raw; the writer may hold a queue of them and no more."""
    frame = np.zeros((240, 320, 3), np.uint8)

    def peak_mib() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    with VideoWriter(tmp_path / "film.mp4", 30, (320, 240)) as writer:
        for index in range(300):
            frame[:, index % 320] = index % 256
            writer.write(frame)
        warm = peak_mib()
        for index in range(1700):
            frame[:, index % 320] = index % 256
            writer.write(frame)
    assert peak_mib() - warm < 40
