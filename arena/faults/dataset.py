"""A fault dataset on disk, the plain bundle: a folder that needs nothing of ours to be read.

    manifest.json            what it is, how it was made, what was dropped; SHA-256 and size of every other file
    episodes.jsonl           one episode a line: who, where, what went wrong, what came of it
    DATASHEET.md             the same in words and tables
    data/<id>.npz            per control step: states, actions, readings
    clips/<id>/<camera>.mp4  H.264, one frame every few steps; `clip_moments` says which

`manifest.json` is written last: a folder with one is whole.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from arena.errors import ArenaError
from arena.faults.plan import BuildConfig, Split
from arena.files import put
from environments.task import nearest
from storage.video import Frame, read_frames

FORMAT = 1
"""Raise it with any change of the form."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_ID = re.compile(r"[0-9a-f]{16}")
_MOST_TOLD = 10
"""Names of datasets in an error."""

Arrays = dict[str, NDArray[Any]]


class NoDataset(ArenaError, LookupError):
    """There is no such dataset, or it is not whole."""


class Truth(BaseModel):
    """What went wrong in an episode and what came of it; steps are control steps from 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault_class: str
    """`perception`, `planning`, `control`, `external`; `none` for N0 and for N1, whose injection does no harm."""
    fault_type: str
    """P1 ... E1 where the fault made the episode fail; N1 for a benign injection, N0 without any."""
    kind: str | None = None
    """The injector, also of a benign injection."""
    injected_type: str | None = None
    """Its letter and number, also of a benign injection."""
    severity: int = 0
    stage: str | None = None
    onset_step: int | None = None
    manifest_step: int | None = None
    no_return_step: int | None = None
    entity: str | None = None
    dxyz_m: tuple[float, float, float] | None = None
    """World frame, where the entity is minus where the clean twin has it, at `manifest_step`."""
    drot_rad: tuple[float, float, float] | None = None
    repair: str = "none"
    """The least that helps: none, regrasp, retry or reset; `abort` if nothing does."""

    @property
    def faulty(self) -> bool:
        """Whether there is a fault to be found: one that made the episode fail."""
        return self.fault_class != "none"


class Episode(BaseModel):
    """One line of `episodes.jsonl`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    split: Split
    task: str
    family: str
    instruction: str
    player: str
    seed: int
    success: bool
    steps: int
    """Control steps played."""
    horizon: int
    truth: Truth
    fault: dict[str, Any] | None
    """The injection as `reset(options={"fault": ...})` takes it."""
    stages: list[str]
    """Names for the numbers in `stage` of the arrays."""
    subtasks: dict[str, int | None]
    """Milestone -> control step after which it was first reached; None: never."""
    cameras: list[str] = []
    clip_moments: list[int] = []
    """Of each frame of the clips: the control step *before* which it shows the world; the last is the end."""


class Manifest(BaseModel):
    """`manifest.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    name: str
    fingerprint: str
    """Of the configuration and the policies."""
    config: BuildConfig
    made_with: dict[str, str]
    """Versions of the packages that decide what an episode looks like."""
    wanted: int
    episodes: int
    dropped: dict[str, int]
    """Reason -> episodes that were played and not kept."""
    unfilled: list[str]
    """Slots for which no episode was found."""
    files: dict[str, tuple[str, int]]
    """Path -> SHA-256 and size in bytes, of every other file."""


@dataclass(frozen=True)
class Dataset:
    """A finished dataset."""

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: str | Path) -> Dataset:
        """Open a folder that holds one.

        Raises:
            NoDataset: if it holds none, or an unfinished one, or one of another format.
        """
        folder = Path(folder)
        path = folder / "manifest.json"
        try:
            manifest = Manifest.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise NoDataset(f"no fault dataset {folder.name!r} in {folder.parent}{_instead(folder)}") from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise NoDataset(f"{folder.name}/manifest.json: {where}: {first['msg']}") from None
        if manifest.format != FORMAT:
            raise NoDataset(f"{folder.name} is of format {manifest.format}, expected {FORMAT}: build it again")
        return cls(folder, manifest)

    @cached_property
    def episodes(self) -> list[Episode]:
        """All episodes, in order of id."""
        lines = (self.folder / "episodes.jsonl").read_text("utf-8").splitlines()
        found = [Episode.model_validate_json(line) for line in lines]
        for episode in found:  # ids name files: a bundle may come from anywhere
            if not _ID.fullmatch(episode.id) or any(not _NAME.fullmatch(camera) for camera in episode.cameras):
                raise NoDataset(f"{self.folder.name}/episodes.jsonl: {episode.id!r:.80} is no id of an episode")
        return found

    def split(self, split: Split | Literal["all"]) -> list[Episode]:
        """The episodes of one side, or all."""
        return [episode for episode in self.episodes if split in ("all", episode.split)]

    def arrays(self, episode: Episode) -> Arrays:
        """Per control step, n of them; the state has one row more, of the end.

        `state` (n+1, 8) float32, as LIBERO has it; `action` (n, 7) as the policy chose; `command` (n, 7) as the robot
        was told (faults of planning included); `gripper_width_m`, `eef_speed_m_s` (n,), `eef_pos_m` (n, 3): measured
        after the step; `stage` (n,) int16, privileged, before the step: an index into `stages`.
        """
        with np.load(self.folder / data_path(episode.id), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    def frames(self, episode: Episode, camera: str, indices: Sequence[int]) -> list[Frame]:
        """Frames of a clip, (H, W, 3) uint8 each.

        Raises:
            VideoError: an index outside the clip, or a damaged file.
        """
        return read_frames(self.folder / clip_path(episode.id, camera), indices)

    def copy_to(self, folder: Path) -> None:
        """Copy the bundle: what the manifest lists, and the manifest last.

        Raises:
            NoDataset: the folder is in use, or a file is not what the manifest says.
        """
        if folder.exists() and any(folder.iterdir()):
            raise NoDataset(f"folder {folder.name} is not empty")
        if problems := self.problems():
            raise NoDataset(f"{self.folder.name} is damaged: {problems[0]}")
        for path in [*self.manifest.files, "manifest.json"]:
            put(folder / path, (self.folder / path).read_bytes())

    def problems(self) -> list[str]:
        """What does not agree with the manifest: missing, changed or additional files."""
        found = []
        for path, (sha256, size) in self.manifest.files.items():
            file = self.folder / path
            if not file.is_file():
                found.append(f"{path} is missing")
            elif file.stat().st_size != size or hash_of(file) != sha256:
                found.append(f"{path} has changed")
        known = {*self.manifest.files, "manifest.json"}
        return found + [f"{path} is not in the manifest" for path in files_below(self.folder) if path not in known]


def data_path(episode_id: str) -> str:
    """Where an episode's arrays are, within the folder."""
    return f"data/{episode_id}.npz"


def clip_path(episode_id: str, camera: str) -> str:
    """Where an episode's clip is, within the folder."""
    return f"clips/{episode_id}/{camera}.mp4"


def checked_name(name: str) -> str:
    """A name that can be a folder.

    Raises:
        NoDataset: if it cannot.
    """
    if not _NAME.fullmatch(name):
        raise NoDataset(f"name {name!r:.80}: expected lower-case letters, digits, '.', '_' and '-', 64 at most")
    return name


def work_of(folder: Path) -> Path:
    """Where a build of a dataset keeps what it has until the dataset is whole."""
    return folder.with_name(f"{folder.name}.building")


def _instead(folder: Path) -> str:
    """A clause that helps someone who named a folder without a dataset: what is there, and how one is made."""
    if work_of(folder).is_dir():
        return " (an unfinished one is there: `arena faults build` goes on)"
    there = sorted(path.parent.name for path in folder.parent.glob("*/manifest.json"))
    if hint := nearest(folder.name, there):
        return hint
    told = f"there are {', '.join(there[:_MOST_TOLD])}{', ...' * (len(there) > _MOST_TOLD)}" if there else "it has none"
    return f"; {told}: build one with `arena faults build {folder.name}`"


def hash_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_below(folder: Path) -> Iterator[str]:
    """Every file below a folder, sorted, with forward slashes."""
    yield from sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as the bytes of an .npz file: the same arrays give the same bytes (numpy writes no dates)."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})
    return buffer.getvalue()


def as_line(value: Mapping[str, Any]) -> str:
    """One line of JSON, keys sorted."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False)
