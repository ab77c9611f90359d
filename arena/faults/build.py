"""Builds a fault dataset with several processes; a build that was interrupted goes on where it was.

While it is built, `NAME.building/` beside the dataset holds one file for each slot that is done. When all are, the
dataset is put together from them in the order of ids, and the folder goes away.
"""

from __future__ import annotations

import contextlib
import json
import logging
import multiprocessing
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from arena.faults import clips, datasheet
from arena.faults.dataset import (
    Arrays,
    Dataset,
    Episode,
    Manifest,
    as_line,
    checked_name,
    clip_path,
    data_path,
    files_below,
    hash_of,
    packed,
    work_of,
)
from arena.faults.making import Made, Maker, PolicyUnavailable
from arena.faults.plan import BuildConfig, CannotBuild, Slot, slots
from arena.files import put

log = logging.getLogger(__name__)

PATIENCE_S = 600.0
"""How long a build waits for a server without any slot being finished."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 60.0
_SNAPSHOT = "snapshot_"
_PACKAGES = ("rewind-arena", "mujoco", "robosuite", "numpy", "av")
Tell = Callable[[str, int, int], None]
"""Called with the phase, how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did."""

    dataset: Dataset
    reused: int
    """Slots that an earlier, interrupted build had done."""


def build(
    folder: Path,
    config: BuildConfig,
    *,
    workers: int = 1,
    tell: Tell | None = None,
    warn: Callable[[str], None] | None = None,
    patience_s: float = PATIENCE_S,
) -> BuildReport:
    """Make a dataset.

    Args:
        folder: of the dataset; its name is the dataset's.
        config: what it is to hold. The same configuration gives the same bytes, whatever `workers` is.
        workers: processes; 1 works in this one.
        tell: is told of the progress.
        warn: is told, a line each, of servers that do not answer and are asked again; logged if there is none.
        patience_s: seconds without a new slot after which such a server ends the build, which can then go on.

    Raises:
        CannotBuild: the folder holds something else, or nothing fits the configuration.
        NoAction: a policy gave no action.
        PolicyUnavailable: a served policy did not answer for so long. What is done is kept.
    """
    checked_name(folder.name)
    tell = tell or (lambda phase, done, of: None)
    fingerprint = config.fingerprint
    if (folder / "manifest.json").exists():
        found = Dataset.open(folder)
        if found.manifest.fingerprint != fingerprint:
            raise CannotBuild(f"{folder.name} exists and was built otherwise; choose another name")
        return BuildReport(found, len(slots(config)))
    if folder.exists() and any(folder.iterdir()) and not work_of(folder).exists():
        raise CannotBuild(f"folder {folder.name} exists and holds no dataset; choose another name")
    plan = slots(config)
    _begin(folder, fingerprint)
    done = [slot for slot in plan if _slot_file(folder, slot.name).exists()]
    missing = [slot for slot in plan if not _slot_file(folder, slot.name).exists()]
    waiting = Waiting(patience_s, warn or log.warning, lambda: sum(1 for _ in work_of(folder).glob("*.npz")), len(plan))
    _in_batches(folder, config, "episodes", _by_task(missing), workers, len(done), len(plan), tell, waiting)
    chosen, dropped, unfilled = _collect(folder, plan)
    if not chosen:
        raise CannotBuild(f"no episode obeys the rule; dropped: {dict(dropped)}")
    if config.pictures == "clips":
        undrawn = [
            slot for slot, episode in chosen
            if not all((folder / clip_path(episode.id, camera)).exists() for camera in episode.cameras)
        ]  # fmt: skip
        drawn = len(chosen) - len(undrawn)
        _in_batches(folder, config, "clips", _by_task(undrawn), workers, drawn, len(chosen), tell, waiting)
    return BuildReport(_finish(folder, config, fingerprint, plan, chosen, dropped, unfilled), len(done))


# --- the work -----------------------------------------------------------------------------------------------------


class Waiting:
    """Waits for servers that do not answer, in growing pauses, until nothing has come of it for too long.

    Args:
        patience_s: seconds without progress.
        warn: told of each pause.
        progress: how many slots are done.
        of: how many there are.
    """

    def __init__(self, patience_s: float, warn: Callable[[str], None], progress: Callable[[], int], of: int) -> None:
        self._patience_s, self._warn, self._progress, self._of = patience_s, warn, progress, of
        self._known = -1
        self._since_s, self._pause_s = 0.0, FIRST_PAUSE_S

    def after(self, error: PolicyUnavailable) -> None:
        """Sleep, so that the slot can be made again.

        Raises:
            PolicyUnavailable: if that is of no use, or was in vain for too long; it says how to go on.
        """
        now_s, done = time.monotonic(), self._progress()
        if done != self._known:
            self._known, self._since_s, self._pause_s = done, now_s, FIRST_PAUSE_S
        pause_s = min(self._pause_s, self._since_s + self._patience_s - now_s)
        if error.lasting or pause_s <= 0:
            raise PolicyUnavailable(
                f"{error}. The build stops with {done} of {self._of} slots done; start the server and give the same"
                " command again: it goes on from there",
                lasting=True,
            ) from None
        self._warn(f"{error}. {done} of {self._of} slots are done; the slot is made again in {pause_s:.0f} s")
        time.sleep(pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)


def _in_batches(
    folder: Path,
    config: BuildConfig,
    phase: str,
    batches: Sequence[Sequence[Slot]],
    workers: int,
    done: int,
    of: int,
    tell: Tell,
    waiting: Waiting,
) -> None:
    """Work on every batch; a batch is of one task, whose world is then built once.

    A batch whose policy's server fails goes to the end of the queue: the others go on meanwhile.
    """
    tell(phase, done, of)
    work = _make_batch if phase == "episodes" else _draw_batch
    if workers <= 1:
        queue = deque(batches)
        while queue:
            batch = queue.popleft()
            try:
                work(folder, config, batch)
            except PolicyUnavailable as error:
                queue.append(batch)
                waiting.after(error)
                continue
            done += len(batch)
            tell(phase, done, of)
        return
    context = multiprocessing.get_context("spawn")  # MuJoCo's and PyAV's threads do not survive a fork
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        running: dict[Future[None], Sequence[Slot]] = {pool.submit(work, folder, config, b): b for b in batches}
        try:
            while running:
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    batch = running.pop(future)
                    try:
                        future.result()
                        done += len(batch)
                    except PolicyUnavailable as error:
                        waiting.after(error)
                        running[pool.submit(work, folder, config, batch)] = batch
                tell(phase, done, of)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_maker: tuple[BuildConfig, Maker] | None = None
"""Of this process: worlds stay built from one batch to the next."""


@contextlib.contextmanager
def _making(config: BuildConfig) -> Iterator[Maker]:
    global _maker
    if _maker is None or _maker[0] != config:  # and not by fingerprint: a server may have moved
        if _maker is not None:
            _maker[1].close()
        _maker = config, Maker(config)
    yield _maker[1]


def _make_batch(folder: Path, config: BuildConfig, batch: Sequence[Slot]) -> None:
    with _making(config) as maker:
        for slot in batch:
            if not _slot_file(folder, slot.name).exists():  # it does, where a later one of the batch had failed
                _save(folder, maker.make(slot))


def _draw_batch(folder: Path, config: BuildConfig, batch: Sequence[Slot]) -> None:
    with _making(config) as maker:
        for slot in batch:
            found = _load(folder, slot.name)
            if found.episode is not None:
                clips.draw(maker.env(found.episode.task), found.episode.id, found.moments, config.every, folder)


def _by_task(wanted: Sequence[Slot], size: int = 4) -> list[list[Slot]]:
    by_task: dict[str, list[Slot]] = {}
    for slot in wanted:
        by_task.setdefault(slot.attempts[0].task, []).append(slot)
    return [found[i : i + size] for _, found in sorted(by_task.items()) for i in range(0, len(found), size)]


# --- one file a slot ----------------------------------------------------------------------------------------------


def _slot_file(folder: Path, name: str) -> Path:
    return work_of(folder) / f"{name}.npz"


def _begin(folder: Path, fingerprint: str) -> None:
    path = work_of(folder) / "fingerprint"
    if path.exists() and path.read_text() != fingerprint:
        raise CannotBuild(
            f"{folder.name} was begun otherwise; give the same options, or remove {work_of(folder).name} and its folder"
        )
    put(path, fingerprint.encode())


def _save(folder: Path, made: Made) -> None:
    told = {"episode": made.episode.model_dump(mode="json") if made.episode else None, "dropped": made.dropped}
    arrays: Arrays = {f"{_SNAPSHOT}{moment}": np.frombuffer(state, np.uint8) for moment, state in made.moments.items()}
    arrays.update(made.arrays or {})
    arrays["told"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    put(_slot_file(folder, made.slot), packed(arrays))


def _load(folder: Path, name: str) -> Made:
    with np.load(_slot_file(folder, name), allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    told: dict[str, Any] = json.loads(arrays.pop("told").tobytes())
    moments = {
        int(key.removeprefix(_SNAPSHOT)): arrays.pop(key).tobytes() for key in list(arrays) if key.startswith(_SNAPSHOT)
    }
    episode = Episode.model_validate(told["episode"]) if told["episode"] else None
    return Made(name, episode, arrays or None, moments, told["dropped"])


# --- putting it together ------------------------------------------------------------------------------------------


def _collect(folder: Path, plan: Sequence[Slot]) -> tuple[list[tuple[Slot, Episode]], Counter[str], list[str]]:
    """The kept episodes in order of id, what was dropped, and the slots that stayed empty."""
    chosen: dict[str, tuple[Slot, Episode]] = {}
    dropped: Counter[str] = Counter()
    unfilled = []
    for slot in plan:
        made = _load(folder, slot.name)
        dropped.update(made.dropped)
        if made.episode is None:
            unfilled.append(slot.name)
        elif made.episode.id in chosen:
            dropped["the same episode as another slot's"] += 1
            unfilled.append(slot.name)
        else:
            chosen[made.episode.id] = slot, made.episode
    return [chosen[key] for key in sorted(chosen)], dropped, unfilled


def _finish(
    folder: Path,
    config: BuildConfig,
    fingerprint: str,
    plan: Sequence[Slot],
    chosen: Sequence[tuple[Slot, Episode]],
    dropped: Counter[str],
    unfilled: list[str],
) -> Dataset:
    for slot, episode in chosen:
        arrays = _load(folder, slot.name).arrays
        put(folder / data_path(episode.id), packed(arrays or {}))
    lines = [as_line(episode.model_dump(mode="json")) for _, episode in chosen]
    put(folder / "episodes.jsonl", ("\n".join(lines) + "\n").encode())
    manifest = Manifest(
        name=folder.name,
        fingerprint=fingerprint,
        config=config,
        made_with={package: metadata.version(package) for package in _PACKAGES},
        wanted=len(plan),
        episodes=len(chosen),
        dropped=dict(sorted(dropped.items())),
        unfilled=sorted(unfilled),
        files={},
    )
    episodes = [episode for _, episode in chosen]
    put(folder / "DATASHEET.md", datasheet.write(manifest, episodes).encode())
    wanted = {path for path in files_below(folder) if not path.endswith(".part") and path != "manifest.json"}
    known = {"episodes.jsonl", "DATASHEET.md"} | {data_path(episode.id) for episode in episodes}
    known |= {clip_path(episode.id, camera) for episode in episodes for camera in episode.cameras}
    for stray in set(files_below(folder)) - known:
        (folder / stray).unlink()  # what a killed process left half done
    files = {path: (hash_of(folder / path), (folder / path).stat().st_size) for path in sorted(wanted & known)}
    manifest = manifest.model_copy(update={"files": files})
    put(
        folder / "manifest.json",
        (json.dumps(manifest.model_dump(mode="json"), indent=1, sort_keys=True) + "\n").encode(),
    )
    shutil.rmtree(work_of(folder))
    return Dataset.open(folder)
