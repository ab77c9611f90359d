"""Locks between processes. The kernel, or the server, releases them when their holder dies: none is ever stale."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from storage.database import Engines, translated
from storage.errors import StorageError


class Busy(StorageError):
    """Somebody else holds the lock; `pid` is that process and `where` its host, where known."""

    def __init__(self, name: str, pid: int | None, where: str = "") -> None:
        self.pid, self.where = pid, where
        super().__init__(f"lock {name!r} is held by {pid or 'another process'}")


# POSIX record locks belong to a process, not to a file handle: a worker that outlives its parent does not keep the
# parent's lock. The price is that a process cannot exclude itself, and that closing any handle of the file drops the
# lock; hence this register of what this process (by pid: a fork copies it) holds.
_held: set[tuple[int, Path]] = set()
_held_guard = threading.Lock()


@contextmanager
def lock(engines: Engines, name: str, timeout_s: float = 0.0) -> Iterator[None]:
    """Hold the lock `name` of this database.

    Args:
        engines: The database that the lock belongs to.
        name: Any text.
        timeout_s: How long to wait for it; 0 tries once.

    Raises:
        Busy: It is held elsewhere, in another process or another thread of this one.
    """
    path = engines.sqlite_path
    if path is None:
        with _postgres_lock(engines, name, timeout_s):
            yield
    else:
        with _file_lock(path.with_name(path.name + ".locks"), name, timeout_s):
            yield


@contextmanager
def _file_lock(folder: Path, name: str, timeout_s: float) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    # The name may come from an experiment file: what is not plain is replaced, and the hash keeps names apart.
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:60].lstrip(".")
    path = folder / f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.lock"
    key = (os.getpid(), path)
    patience = _Patience(name, timeout_s)
    while not _try_hold(key):
        patience.wait(os.getpid())
    try:
        handle = _hold_file(path, patience)
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            yield
        finally:
            # Removed while it is still held, so that nobody else's file is: a run has thousands of episodes.
            path.unlink(missing_ok=True)
            os.close(handle)  # and with it the lock
    finally:
        with _held_guard:
            _held.discard(key)


def _hold_file(path: Path, patience: _Patience) -> int:
    """Open and lock the file that has this path now; a holder that lets go removes the one that it held."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_file_at(handle, path):
                return handle
        except (BlockingIOError, PermissionError):
            holder = os.pread(handle, 20, 0).strip()
            os.close(handle)
            patience.wait(int(holder) if holder.isdigit() else None)
        except BaseException:
            os.close(handle)
            raise
        else:
            os.close(handle)  # locked, but removed in the meantime: others would lock a new file


def _is_file_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _try_hold(key: tuple[int, Path]) -> bool:
    with _held_guard:
        if key in _held:
            return False
        _held.add(key)
        return True


class _Patience:
    """Waits for a lock, less and less often; `Busy` when the time is over."""

    def __init__(self, name: str, timeout_s: float) -> None:
        self._name = name
        self._started = time.monotonic()
        self._timeout_s = timeout_s

    def wait(self, pid: int | None, where: str = "") -> None:
        waited = time.monotonic() - self._started
        if waited >= self._timeout_s:
            raise Busy(self._name, pid, where)
        time.sleep(min(0.02 + waited / 10, 0.5))


@contextmanager
def _postgres_lock(engines: Engines, name: str, timeout_s: float) -> Iterator[None]:
    """An advisory lock of a session of its own; the server drops it with the connection."""
    with contextlib.ExitStack() as stack:
        with translated(engines.shown):
            # AUTOCOMMIT: a transaction open for the length of a run would keep the server from cleaning up.
            connection = stack.enter_context(engines.write.connect()).execution_options(isolation_level="AUTOCOMMIT")
            key = _hold_advisory(connection, name, _Patience(name, timeout_s))
        try:
            yield
        finally:
            with translated(engines.shown):
                _release_advisory(connection, key)


def _release_advisory(connection: Connection, key: int) -> None:
    try:
        connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})
    except DBAPIError as error:
        if not error.connection_invalidated:  # else the server has ended the session, and the lock with it
            raise


def _hold_advisory(connection: Connection, name: str, patience: _Patience) -> int:
    # Advisory locks are per database; two stores in two schemas of it are two stores.
    schema = connection.execute(text("SELECT current_schema()")).scalar_one()
    digest = hashlib.sha256(f"rewind-arena/{schema}/{name}".encode()).digest()
    key = int.from_bytes(digest[:8], "big", signed=True)
    while not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}).scalar_one():
        holder = connection.execute(
            text(
                "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
                "WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 "
                "AND l.classid::bigint = :high AND l.objid::bigint = :low"
            ),
            {"high": (key >> 32) & 0xFFFFFFFF, "low": key & 0xFFFFFFFF},
        ).scalar()
        found = re.fullmatch(r"arena:(\d+)@(.*)", holder or "")
        patience.wait(int(found[1]) if found else None, found[2] if found else "")
    return key
