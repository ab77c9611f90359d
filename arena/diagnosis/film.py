"""A video of the other way at a fork, encoded while it is played."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from environments.env import Frame
from storage.store import Store
from storage.video import VideoWriter


class Film:
    """Takes pictures as they come and ends as an artifact; nothing is left behind if it is not kept.

    Args:
        store: where it is kept.
        folder: where the unfinished file lies; made if it is not there.
        fps: pictures a second.
    """

    def __init__(self, store: Store, folder: Path, fps: int) -> None:
        self._store = store
        self._scratch = folder / f"other-way-{uuid4().hex[:12]}"
        self._path = self._scratch / "other-way.mp4"
        self._fps = fps
        self._video: VideoWriter | None = None
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        # A run that begins meanwhile removes the folders whose locks nobody holds: what was killed has left them.
        self._held.enter_context(self._store.run_lock(self._scratch.name))
        self._scratch.mkdir(parents=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._video is not None:
            self._video.abort()
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._held.close()

    def write(self, frame: Frame) -> None:
        """Append a picture, (H, W, 3) uint8 RGB; the first one sets the size.

        Raises:
            VideoError: if the folder cannot be written, or the encoder failed.
        """
        if self._video is None:
            height, width = frame.shape[:2]
            self._video = VideoWriter(self._path, fps=self._fps, size=(width, height))
        self._video.write(frame)

    def keep(self) -> tuple[str, dict[str, Any]]:
        """Finish it and put it into the store; returns its SHA-256 and its shape.

        Raises:
            VideoError: if nothing was written, or the encoder failed.
        """
        if self._video is None:
            raise RuntimeError("keep() before write()")
        info = self._video.close()
        return self._store.put_artifact(self._path, "video/mp4"), asdict(info)
