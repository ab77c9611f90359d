"""Export as a LeRobot dataset, version 3.0 of its format.

    meta/info.json                                  features, counts, frame rate, where files are
    meta/stats.json                                 min, max, mean, std and count of each feature
    meta/tasks.parquet                              instruction (the index) -> task_index
    meta/episodes/chunk-000/file-000.parquet        length, place and statistics of each episode
    data/chunk-000/file-000.parquet                 one row a frame
    videos/<key>/chunk-000/file-NNN.mp4             many episodes one after the other

The form follows the documentation of LeRobotDataset v3.0 and the reader of `huggingface/lerobot`. A frame is a moment
of the clip, so that the rate is 20 Hz over `every`; without videos it is every control step. What we know more than the
format has a place for is in additional columns of `meta/episodes` and in `meta/faults.jsonl`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.errors import ArenaError
from arena.faults.dataset import Dataset, Episode, as_line, clip_path
from environments.robots.world import CONTROL_HZ
from storage.video import VideoWriter, probe, read_frames

VERSION = "v3.0"
CHUNK = 1_000
EPISODES_A_VIDEO = 100
_STATE = ["x", "y", "z", "ax", "ay", "az", "finger_1", "finger_2"]
_ACTION = ["x", "y", "z", "ax", "ay", "az", "gripper"]
_SCALARS = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64",
            "task_index": "int64"}  # fmt: skip
_PIXELS_FROM = 8
"""Frames of each episode from which the statistics of the pictures are estimated."""

Stats = dict[str, NDArray[np.float64]]


class CannotExport(ArenaError):
    """The export cannot be made."""


@dataclass(slots=True)
class _Place:
    """Where an episode's frames lie in a video."""

    file: int
    start_s: float
    end_s: float


def export(dataset: Dataset, folder: Path, *, videos: bool = True) -> None:
    """Write a LeRobot dataset.

    Args:
        dataset: to export.
        folder: new, or empty.
        videos: whether with pictures, at their rate; without, every control step is a frame.

    Raises:
        CannotExport: pyarrow is missing, the folder is in use, or there are no clips.
    """
    _parquet()
    if folder.exists() and any(folder.iterdir()):
        raise CannotExport(f"folder {folder.name} is not empty")
    if videos and not all(episode.cameras for episode in dataset.episodes):
        raise CannotExport(f"{dataset.manifest.name} has no clips; export it without videos")
    every = dataset.manifest.config.every if videos else 1
    fps = CONTROL_HZ // every
    cameras = dataset.episodes[0].cameras if videos else []
    tasks = sorted({episode.instruction for episode in dataset.episodes})
    places = {camera: _videos(dataset, folder, camera, fps, every) for camera in cameras}
    rows, lengths, stats = _rows(dataset, tasks, every, fps, cameras)
    _write_rows(folder, rows)
    _write_episodes(folder, dataset.episodes, lengths, stats, places)
    _write_meta(folder, dataset, tasks, lengths, stats, fps, cameras)


def frames_of(episode: Episode, every: int) -> list[int]:
    """The control steps that are frames: those of the clip but for the end, after which no action comes."""
    return list(range(0, episode.steps, every))


# --- rows ---------------------------------------------------------------------------------------------------------


def _rows(
    dataset: Dataset, tasks: Sequence[str], every: int, fps: int, cameras: Sequence[str]
) -> tuple[dict[str, list[Any]], list[int], list[dict[str, Stats]]]:
    columns: dict[str, list[Any]] = {}
    lengths, stats = [], []
    index = 0
    for number, episode in enumerate(dataset.episodes):
        arrays, steps = dataset.arrays(episode), frames_of(episode, every)
        n = len(steps)
        onset = episode.truth.onset_step
        own: dict[str, NDArray[Any]] = {
            "observation.state": arrays["state"][steps].astype(np.float32),
            "action": arrays["action"][steps].astype(np.float32),
            "annotation.disturbed": np.array([onset is not None and step >= onset for step in steps], np.int64),
            "next.done": np.array([i == n - 1 for i in range(n)]),
            "timestamp": (np.arange(n) / fps).astype(np.float32),
            "frame_index": np.arange(n),
            "episode_index": np.full(n, number),
            "index": np.arange(index, index + n),
            "task_index": np.full(n, tasks.index(episode.instruction)),
        }
        for name, values in own.items():
            columns.setdefault(name, []).extend(values.tolist())
        counted = {name: _stats(values) for name, values in own.items()}
        stats.append(counted | {_key(camera): _pixels(dataset, episode, camera, n) for camera in cameras})
        lengths.append(n)
        index += n
    return columns, lengths, stats


def _stats(values: NDArray[Any]) -> Stats:
    flat = values.reshape(len(values), -1).astype(np.float64)
    return {"min": flat.min(0), "max": flat.max(0), "mean": flat.mean(0), "std": flat.std(0),
            "count": np.array([len(flat)], np.float64)}  # fmt: skip


def _pixels(dataset: Dataset, episode: Episode, camera: str, n: int) -> Stats:
    """Of the three colours, 0..1, in the form (3, 1, 1)."""
    chosen = sorted(set(np.linspace(0, n - 1, min(n, _PIXELS_FROM)).round().astype(int).tolist()))
    seen = np.stack(dataset.frames(episode, camera, chosen)).reshape(-1, 3) / 255.0
    found = _stats(seen)
    shaped = {name: values.reshape(3, 1, 1) for name, values in found.items() if name != "count"}
    return {**shaped, "count": np.array([len(chosen)], np.float64)}


def _combined(stats: Sequence[Stats]) -> Stats:
    """The statistics of all episodes together: means weighted by count, variances within and between."""
    counts = np.array([float(one["count"][0]) for one in stats])
    weights = (counts / counts.sum()).reshape(-1, *[1] * stats[0]["mean"].ndim)
    means, stds = np.stack([one["mean"] for one in stats]), np.stack([one["std"] for one in stats])
    mean = (weights * means).sum(0)
    variance = (weights * (stds**2 + (means - mean) ** 2)).sum(0)
    return {
        "min": np.stack([one["min"] for one in stats]).min(0),
        "max": np.stack([one["max"] for one in stats]).max(0),
        "mean": mean,
        "std": np.sqrt(variance),
        "count": np.array([counts.sum()]),
    }


# --- videos -------------------------------------------------------------------------------------------------------


def _key(camera: str) -> str:
    return f"observation.images.{camera}"


def _videos(dataset: Dataset, folder: Path, camera: str, fps: int, every: int) -> list[_Place]:
    """Write a camera's clips one after the other, so many episodes a file."""
    places: list[_Place] = []
    for file, group in enumerate(_groups(dataset.episodes)):
        first = dataset.folder / clip_path(group[0].id, camera)
        size = probe(first)
        path = folder / "videos" / _key(camera) / f"chunk-{file // CHUNK:03d}" / f"file-{file % CHUNK:03d}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        at = 0
        with VideoWriter(path, fps, (size.width, size.height)) as writer:
            for episode in group:
                n = len(frames_of(episode, every))
                for frame in read_frames(dataset.folder / clip_path(episode.id, camera), range(n)):
                    writer.write(frame)
                places.append(_Place(file, at / fps, (at + n) / fps))
                at += n
    return places


def _groups(episodes: Sequence[Episode]) -> Iterator[Sequence[Episode]]:
    for i in range(0, len(episodes), EPISODES_A_VIDEO):
        yield episodes[i : i + EPISODES_A_VIDEO]


# --- files --------------------------------------------------------------------------------------------------------


def _parquet() -> tuple[Any, Any]:
    """The package pyarrow and its parquet module, loaded only when something is exported."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise CannotExport("parquet files need pyarrow: pip install 'rewind-arena[faults]'") from None
    return pyarrow, pyarrow.parquet


def _write_table(path: Path, table: Any) -> None:
    _, parquet = _parquet()
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path, compression="snappy")


def _write_rows(folder: Path, columns: dict[str, list[Any]]) -> None:
    pa, _ = _parquet()
    wide = {"observation.state": len(_STATE), "action": len(_ACTION)}
    kinds = {
        name: pa.list_(pa.float32(), wide[name])
        if name in wide
        else pa.bool_()
        if name == "next.done"
        else getattr(pa, _SCALARS.get(name, "int64"))()
        for name in columns
    }
    arrays = [pa.array(values, kinds[name]) for name, values in columns.items()]
    _write_table(folder / "data/chunk-000/file-000.parquet", pa.Table.from_arrays(arrays, names=list(columns)))


def _write_episodes(
    folder: Path,
    episodes: Sequence[Episode],
    lengths: Sequence[int],
    stats: Sequence[dict[str, Stats]],
    places: dict[str, list[_Place]],
) -> None:
    pa, _ = _parquet()
    rows = []
    start = 0
    for number, (episode, n) in enumerate(zip(episodes, lengths, strict=True)):
        row: dict[str, Any] = {
            "episode_index": number, "tasks": [episode.instruction], "length": n,
            "data/chunk_index": 0, "data/file_index": 0, "dataset_from_index": start, "dataset_to_index": start + n,
            "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0,
        }  # fmt: skip
        for camera, found in places.items():
            place, key = found[number], f"videos/{_key(camera)}"
            row |= {f"{key}/chunk_index": place.file // CHUNK, f"{key}/file_index": place.file % CHUNK,
                    f"{key}/from_timestamp": place.start_s, f"{key}/to_timestamp": place.end_s}  # fmt: skip
        for name, one in stats[number].items():
            row |= {f"stats/{name}/{what}": values.tolist() for what, values in one.items()}
        truth = episode.truth
        row |= {"fault_class": truth.fault_class, "fault_type": truth.fault_type, "severity": truth.severity,
                "success": episode.success, "split": episode.split}  # fmt: skip
        rows.append(row)
        start += n
    _write_table(folder / "meta/episodes/chunk-000/file-000.parquet", pa.Table.from_pylist(rows))


def _write_meta(
    folder: Path,
    dataset: Dataset,
    tasks: Sequence[str],
    lengths: Sequence[int],
    stats: Sequence[dict[str, Stats]],
    fps: int,
    cameras: Sequence[str],
) -> None:
    import pandas

    told = "".join(as_line(episode.model_dump(mode="json")) + "\n" for episode in dataset.episodes)
    (folder / "meta/faults.jsonl").write_text(told, "utf-8")
    shutil.copy(dataset.folder / "DATASHEET.md", folder / "README.md")
    frame = pandas.DataFrame({"task_index": range(len(tasks))}, index=pandas.Index(tasks, name="task"))
    frame.to_parquet(folder / "meta/tasks.parquet")
    together = {name: _combined([one[name] for one in stats]) for name in stats[0]}
    _json(folder / "meta/stats.json", {name: {k: v.tolist() for k, v in one.items()} for name, one in together.items()})
    _json(
        folder / "meta/info.json",
        {
            "codebase_version": VERSION,
            "robot_type": "panda",
            "total_episodes": len(lengths),
            "total_frames": sum(lengths),
            "total_tasks": len(tasks),
            "chunks_size": CHUNK,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 200,
            "fps": fps,
            "splits": {"train": f"0:{len(lengths)}"},  # one split there: ours is a column, for tasks are not in order
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4" if cameras else None,
            "features": _features(dataset, fps, cameras),
        },
    )


def _features(dataset: Dataset, fps: int, cameras: Sequence[str]) -> dict[str, Any]:
    features: dict[str, Any] = {
        "observation.state": {"dtype": "float32", "shape": [len(_STATE)], "names": _STATE},
        "action": {"dtype": "float32", "shape": [len(_ACTION)], "names": _ACTION},
        "annotation.disturbed": {"dtype": "int64", "shape": [1], "names": None},
        "next.done": {"dtype": "bool", "shape": [1], "names": None},
    }
    for camera in cameras:
        size = probe(dataset.folder / clip_path(dataset.episodes[0].id, camera))
        features[_key(camera)] = {
            "dtype": "video",
            "shape": [size.height, size.width, 3],
            "names": ["height", "width", "channels"],
            "info": {
                "video.fps": fps, "video.height": size.height, "video.width": size.width, "video.channels": 3,
                "video.codec": "h264", "video.pix_fmt": "yuv420p", "video.is_depth_map": False, "has_audio": False,
            },
        }  # fmt: skip
    return features | {name: {"dtype": dtype, "shape": [1], "names": None} for name, dtype in _SCALARS.items()}


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=4) + "\n", "utf-8")
