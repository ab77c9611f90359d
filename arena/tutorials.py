"""People's own videos as tutorials: taken in once, addressed by an id, looked at by reflections.

A tutorial that was recorded here (the scripted expert's, a person's won episode) needs none of this: it is an episode.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import asdict
from pathlib import Path

import environments
from arena.identity import digest
from arena.text import clean
from environments.errors import UnsupportedSpace
from storage.errors import VideoError
from storage.models import Tutorial
from storage.store import Store
from storage.transcode import USUAL, Bounds, transcode

_CHUNK = 1 << 20


def add(store: Store, task_id: str, file: Path, *, space: str | None = None, bounds: Bounds = USUAL) -> Tutorial:
    """Take in a video of how a task is done; adding the same file for the same task again changes nothing.

    Args:
        store: Where it goes.
        task_id: The task that it shows.
        file: An MP4, QuickTime, Matroska, WebM or AVI file. It is decoded within bounds and encoded again; sound and
            everything else in it is left behind.
        space: The action space that it shows; None for any.
        bounds: What is taken in.

    Raises:
        UnknownTask: there is no such task.
        UnsupportedSpace: the task does not offer the space.
        VideoError: the file is missing, too large, too long, damaged or no video.
    """
    task = environments.get(task_id)
    if space is not None and space not in task.spaces:
        raise UnsupportedSpace(f"{task.id} offers {', '.join(task.spaces)}; there is no {space!r} space for it")
    source = _sha256(file, bounds)
    tutorial_id = f"t-{digest([task.id, space or '', source])}"
    known = store.tutorial(tutorial_id)
    if known is not None:
        return known
    with tempfile.TemporaryDirectory(prefix="tutorial-") as folder:
        target = Path(folder) / "tutorial.mp4"
        info = transcode(file, target, bounds)
        video = store.put_artifact(target, "video/mp4")
    row = Tutorial(
        id=tutorial_id,
        task_id=task.id,
        space=space or "",
        video=video,
        video_info=asdict(info),
        source=clean(file.name, 200),
        source_sha256=source,
    )
    store.upsert(row)
    return store.tutorial(tutorial_id) or row


def _sha256(file: Path, bounds: Bounds) -> str:
    """Of the file's bytes, up to what is taken in.

    Raises:
        VideoError: it cannot be read, or is larger than that.
    """
    found = hashlib.sha256()
    left = bounds.bytes
    try:
        if file.exists() and not file.is_file():  # a pipe would never be at an end
            raise VideoError(f"{file.name} is no file")
        with file.open("rb") as opened:
            while chunk := opened.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise VideoError(f"{file.name} has more than {bounds.bytes:,} bytes, the most that is taken in")
                found.update(chunk)
    except OSError as error:
        raise VideoError(f"{file.name} cannot be read: {error.strerror or error}") from None
    return found.hexdigest()
