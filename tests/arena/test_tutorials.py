"""`arena tutorial add`: a person's own video is taken in safely, and a reflection looks at its very frames."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from arena import run, tutorials
from arena.cli.app import app
from arena.errors import InvalidExperiment
from arena.experiment import parse
from arena.location import Location
from arena.reflection.pictures import fitted
from arena.review import Film
from environments.errors import UnknownTask, UnsupportedSpace
from storage.errors import VideoError
from storage.store import Store
from storage.transcode import Bounds
from storage.video import read_frames
from tests.fakes.provider import FakeProvider

MAZE = "games/maze-v1"


def film(path: Path, n: int = 20, *, fps: int = 5, size: tuple[int, int] = (64, 48), codec: str = "libx264") -> Path:
    """A video whose i-th frame is of brightness 10 * i."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=fps)
        stream.width, stream.height, stream.pix_fmt = (*size, "yuv420p")  # type: ignore[attr-defined]
        for i in range(n):
            frame = av.VideoFrame.from_ndarray(np.full((size[1], size[0], 3), 10 * i, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))  # type: ignore[attr-defined]
        container.mux(stream.encode())  # type: ignore[attr-defined]
    return path


def brightness(store: Store, sha256: str, n: int) -> list[float]:
    path = store.artifacts.path(sha256)
    assert path is not None
    return [float(frame.mean()) for frame in read_frames(path, range(n))]


@pytest.mark.parametrize(
    ("name", "codec"),
    [("a.mp4", "libx264"), ("a.mov", "mpeg4"), ("a.mkv", "libx264"), ("a.webm", "libvpx"), ("a.avi", "mpeg4")],
)
def test_common_containers_come_out_as_one_kind_of_video(store: Store, tmp_path: Path, name: str, codec: str) -> None:
    row = tutorials.add(store, MAZE, film(tmp_path / name, codec=codec))
    assert row.id.startswith("t-") and row.source == name
    assert (row.video_info["codec"], row.video_info["fps"]) == ("h264", 5.0)
    seen = brightness(store, row.video, row.video_info["n_frames"])
    assert len(seen) == 20 and np.allclose(seen, [10 * i for i in range(20)], atol=6)


def test_adding_again_gives_the_same_row_and_other_tasks_and_spaces_their_own(store: Store, tmp_path: Path) -> None:
    file = film(tmp_path / "a.mp4")
    first = tutorials.add(store, MAZE, file)
    assert tutorials.add(store, MAZE, file).id == first.id
    assert len({first.id, tutorials.add(store, MAZE, file, space="gui").id}) == 2
    assert tutorials.add(store, "games/snake-v1", file).id != first.id
    assert [row.task_id for row in store.tutorials()] == ["games/maze-v1", "games/maze-v1", "games/snake-v1"]


def test_a_fast_and_large_film_is_thinned_out_and_shrunk(store: Store, tmp_path: Path) -> None:
    file = film(tmp_path / "a.mp4", 24, fps=24, size=(320, 160))
    row = tutorials.add(store, MAZE, file, bounds=Bounds(fps=6, longest_side=80))
    assert (row.video_info["width"], row.video_info["height"], row.video_info["fps"]) == (80, 40, 6.0)
    seen = brightness(store, row.video, row.video_info["n_frames"])
    assert np.allclose(seen[:6], [0, 40, 80, 120, 160, 200], atol=6)


def test_a_film_with_too_many_frames_is_spread_over_its_whole_length(store: Store, tmp_path: Path) -> None:
    row = tutorials.add(store, MAZE, film(tmp_path / "a.mp4", 20, fps=5), bounds=Bounds(frames=5))
    seen = brightness(store, row.video, row.video_info["n_frames"])
    assert len(seen) == 5 and seen[0] < 10 and seen[-1] > 140


# -- what is refused ---------------------------------------------------------------------------------------------------


PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"
CONCAT = b"ffconcat version 1.0\nfile /etc/passwd\n"


def mp4_box(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", 8 + len(data)) + kind + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "none of MP4"),
        (PLAYLIST, "none of MP4"),
        (CONCAT, "none of MP4"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "none of MP4"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "none of MP4"),
        (mp4_box(b"ftyp", b"isomisom") + PLAYLIST, "cannot be decoded|no video"),
        (mp4_box(b"ftyp", b"isomisom") + b"\xff" * 4096, "cannot be decoded|no video"),
        (b"\x1a\x45\xdf\xa3" + b"\xff" * 4096, "cannot be decoded|no video"),
        (b"RIFF\xff\xff\xff\x7fAVI LIST" + b"\xff" * 4096, "cannot be decoded|no video"),
    ],
)
def test_what_is_no_video_is_one_clear_error(store: Store, tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "evil.mp4"
    file.write_bytes(content)
    with pytest.raises(VideoError, match=message) as caught:
        tutorials.add(store, MAZE, file)
    assert "evil.mp4" in str(caught.value) and str(tmp_path) not in str(caught.value)
    assert store.tutorials() == []


def test_bounds_are_told_with_their_numbers(store: Store, tmp_path: Path) -> None:
    file = film(tmp_path / "a.mp4")
    for bounds, message in (
        (Bounds(bytes=100), "more than 100 bytes"),
        (Bounds(seconds=2.0), "lasts 4 s; at most 2 s"),
    ):
        with pytest.raises(VideoError, match=message):
            tutorials.add(store, MAZE, file, bounds=bounds)
    with pytest.raises(VideoError, match="cannot be read"):
        tutorials.add(store, MAZE, tmp_path / "nothing.mp4")
    with pytest.raises(VideoError, match="is no file"):
        tutorials.add(store, MAZE, tmp_path)
    with pytest.raises(UnknownTask, match="did you mean"):
        tutorials.add(store, "games/maz-v1", file)
    with pytest.raises(UnsupportedSpace, match="no 'native' space"):
        tutorials.add(store, MAZE, file, space="native")


def test_a_pipe_is_refused_and_not_waited_for(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(VideoError, match="is no file"):
        tutorials.add(store, MAZE, tmp_path / "pipe.mp4")


def test_a_film_without_pictures_is_refused(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=44_100)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 4096), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 44_100
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    with pytest.raises(VideoError, match="no video stream"):
        tutorials.add(store, MAZE, path)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_film_is_taken_in_or_refused_and_nothing_else(store: Store, tmp_path: Path, data: Any) -> None:
    whole = bytearray(film(tmp_path / "whole.mp4", 6).read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=30)):
        whole[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(whole)))
    file = tmp_path / "damaged.mp4"
    file.write_bytes(bytes(whole[:cut]))
    try:
        row = tutorials.add(store, MAZE, file)
    except VideoError as error:
        assert "damaged.mp4" in str(error)
    else:
        assert 1 <= row.video_info["n_frames"] <= Bounds().frames


def test_a_hostile_file_name_is_data(store: Store, tmp_path: Path) -> None:
    file = film(tmp_path / "a.mp4")
    hostile = tmp_path / "x\x1b[31m\n[bold]y.mp4"
    file.rename(hostile)
    assert tutorials.add(store, MAZE, hostile).source == "x[31m [bold]y.mp4"


# -- the command, and what looks at it ---------------------------------------------------------------------------------


def test_the_commands_add_list_and_refuse(place: Location, tmp_path: Path) -> None:
    runner, database = CliRunner(), ["--db", str(place.database)]
    wide = {"COLUMNS": "200"}
    assert "No videos yet" in runner.invoke(app, ["tutorial", "list", *database]).output
    file = film(tmp_path / "mine.mp4")
    added = runner.invoke(app, ["tutorial", "add", MAZE, str(file), "--space", "gui", *database], env=wide)
    assert added.exit_code == 0 and "20 frames of 64 x 48, 5 a second" in added.output
    [row] = json.loads(runner.invoke(app, ["tutorial", "list", "--json", *database]).output)
    assert row["id"] in added.output and row["space"] == "gui" and "/" not in row["source"]
    assert "mine.mp4" in runner.invoke(app, ["tutorial", "list", *database], env=wide).output
    bad = runner.invoke(app, ["tutorial", "add", MAZE, str(tmp_path), *database])
    assert isinstance(bad.exception, VideoError)


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        running.policy = lambda seen: {"move": "up"} if seen.tool == "act" else {"causes": [], "lesson": "Look."}
        running.say_by(lambda seen: "ok")
        yield running


def experiment(provider: FakeProvider, tutorial: str, **changes: Any) -> Any:
    vlm = {"name": "vlm", "label": "model", "model": "fake/player", "base_url": provider.url, "max_retries": 0}
    condition = {"name": "tutorial-video", "reflection": {"tutorial": tutorial, "frames": 6}}
    file = {"name": "film", "tasks": MAZE, "spaces": "semantic", "seeds": [3], "agents": [vlm],
            "conditions": [condition], "limits": {"max_steps": 2}}  # fmt: skip
    return parse(yaml.safe_dump({**file, **changes}))


def test_a_reflection_looks_at_the_frames_of_the_film(
    provider: FakeProvider, store: Store, place: Location, tmp_path: Path
) -> None:
    row = tutorials.add(store, MAZE, film(tmp_path / "a.mp4"))
    run_id = run.run(experiment(provider, row.id), store, place, workers=0)
    assert store.run(run_id).status == "finished"
    assert [link.condition for link in store.plan(run_id)] == ["tutorial-video"] * 2, "the expert was not needed"
    [retry] = [episode for episode in store.episodes(run_id=run_id) if episode.round == 1]
    assert retry.spec["retry"]["tutorial"] == row.id
    lesson = store.lesson(retry.lesson_id or "")
    assert lesson is not None and (lesson.film_id, lesson.tutorial_id) == (row.id, None)
    assert lesson.frames["tutorial"] == [0, 4, 8, 11, 15, 19]
    [seen] = [seen for seen in provider.requests if seen.tool == "reflection"]
    expected = [fitted(frame, (640, 480)) for frame in Film(store, row)(lesson.frames["tutorial"])]
    assert all(np.array_equal(a, b) for a, b in zip(expected, seen.images, strict=True))


@pytest.mark.parametrize(
    ("space", "named", "message"),
    [
        (None, "t-" + "0" * 24, "arena tutorial list"),
        ("gui", "", "is to be the tutorial of games/maze-v1 semantic"),
    ],
)
def test_a_film_that_is_not_there_or_shows_something_else_is_refused_before_anything_is_played(
    provider: FakeProvider, store: Store, place: Location, tmp_path: Path, space: str | None, named: str, message: str
) -> None:
    row = tutorials.add(store, MAZE, film(tmp_path / "a.mp4"), space=space)
    with pytest.raises(InvalidExperiment, match=message):
        run.run(experiment(provider, named or row.id), store, place, workers=0)
    assert store.episodes() == []


def test_the_older_form_takes_a_film_too_and_says_that_it_has_no_log(
    provider: FakeProvider, store: Store, place: Location, tmp_path: Path
) -> None:
    row = tutorials.add(store, MAZE, film(tmp_path / "a.mp4"))
    model = {"model": "fake/player", "base_url": provider.url}
    reflection = {"reflector": "vlm", "model": model, "tutorial": row.id, "frames": 4}
    asked = experiment(provider, row.id, conditions=[{"name": "reflect-and-retry", "reflection": reflection}])
    run_id = run.run(asked, store, place, workers=0)
    assert store.run(run_id).status == "finished"
    [seen] = [seen for seen in provider.requests if seen.tool == "reflection"]
    assert "as pictures alone" in seen.text and "tutorial frame 19 (without a log)" in seen.text
    assert len(seen.images) == 4
