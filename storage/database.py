"""Engines: one for reading, one for writing, with the settings that make each database safe to share.

SQLite runs in WAL mode, so that readers never wait for the writer, with `synchronous=NORMAL`: a killed process loses
nothing that was committed; a power cut may lose the last commits, never the file. Transactions are begun by hand
because the driver's own begin is deferred: of two writers that both read first, one would fail at once, whatever the
timeout.
"""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from storage.column_types import dump_json
from storage.errors import DatabaseUnreachable, NetworkFilesystemWarning, RowExists, StorageError
from storage.urls import mask

BUSY_TIMEOUT_S = 30
"""How long a SQLite writer waits for another one before it fails."""

_NETWORK_FILESYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs"}
    | {"fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone"}
)


@dataclass(frozen=True)
class Engines:
    """Two views of one connection pool."""

    write: Engine
    read: Engine

    @property
    def sqlite_path(self) -> Path | None:
        """The database file, or None on PostgreSQL."""
        return Path(str(self.write.url.database)) if self.write.dialect.name == "sqlite" else None

    @property
    def shown(self) -> str:
        """The database as messages may name it: no password."""
        return str(self.sqlite_path or mask(self.write.url.render_as_string(hide_password=True)))


def connect(url: URL) -> Engines:
    """Make the engines; opens no connection yet.

    Raises:
        DatabaseUnreachable: The driver is not installed.
    """
    try:
        if url.get_backend_name() == "sqlite":
            return _connect_sqlite(url)
        return _connect_postgres(url)
    except (ImportError, NoSuchModuleError) as error:
        raise DatabaseUnreachable(
            f"no driver for {url.drivername}: {error}; install it with: pip install 'rewind-arena[postgres]'"
        ) from None


def _connect_sqlite(url: URL) -> Engines:
    engine = create_engine(
        url,
        json_serializer=dump_json,
        hide_parameters=True,
        pool_size=5,
        max_overflow=40,  # a web server's threads; a connection is a file handle
        # isolation_level None leaves BEGIN to us; `timeout` is SQLite's busy handler.
        connect_args={"isolation_level": None, "timeout": BUSY_TIMEOUT_S},
    )

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=NORMAL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        write = not connection.get_execution_options().get("arena_read", False)
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA query_only={'OFF' if write else 'ON'}")
        driver.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    return Engines(engine, engine.execution_options(arena_read=True))


def _connect_postgres(url: URL) -> Engines:
    engine = create_engine(
        url,
        json_serializer=dump_json,
        hide_parameters=True,
        pool_size=5,
        max_overflow=40,
        pool_pre_ping=True,  # a run outlives a restart of the server
        # Names the holder of a run lock in pg_stat_activity.
        connect_args={"application_name": application_name(), "connect_timeout": 10},
    )
    # REPEATABLE READ gives a reader one snapshot, as SQLite's WAL does: a page of the UI never mixes two states.
    return Engines(
        engine, engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True, arena_read=True)
    )


def application_name() -> str:
    """What this process calls itself to PostgreSQL (at most 63 bytes): `arena:<pid>@<host>`."""
    return f"arena:{os.getpid()}@{socket.gethostname()}"[:63]


@contextmanager
def translated(shown: str) -> Iterator[None]:
    """Turn the driver's errors into this package's, without SQL parameters and passwords."""
    try:
        yield
    except IntegrityError as error:
        detail = mask(str(error.orig)).strip().splitlines()[0]
        lowered = str(error.orig).lower()
        if "unique" in lowered or "duplicate" in lowered:
            raise RowExists(f"the row is already in {shown} and is never overwritten: {detail}") from error
        raise StorageError(f"{shown} refused the row: {detail}") from error
    except DBAPIError as error:
        kind = DatabaseUnreachable if error.connection_invalidated or _is_unreachable(error) else StorageError
        raise kind(f"{shown}: {mask(str(error.orig)).strip()}") from None
    except PoolTimeout as error:
        raise StorageError(f"{shown}: no connection came free; {error}") from None
    except StatementError as error:
        raise StorageError(f"{shown} cannot store a value: {error.orig}") from error


_UNREACHABLE = (
    "unable to open database file",
    "file is not a database",
    "readonly database",
    "disk i/o error",
    "connection failed",
    "could not connect",
    "connection refused",
    "could not translate host name",
    "failed to resolve host",
    "connection timeout",
    "server closed the connection",
)


def _is_unreachable(error: DBAPIError) -> bool:
    text = str(error.orig).lower()
    return any(sign in text for sign in _UNREACHABLE)


def warn_of_network_filesystem(path: Path, mounts: str | None = None) -> None:
    """Warn if `path` lies on a filesystem whose locks SQLite cannot trust. Linux only; silent where it cannot tell.

    Args:
        path: The database file; need not exist.
        mounts: Text in the format of /proc/self/mounts; read from there by default.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text(errors="replace")
        except OSError:
            return
    best, kind = "", ""
    target = path.resolve()
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount = fields[1].replace("\\040", " ")
        if len(mount) >= len(best) and target.is_relative_to(mount):
            best, kind = mount, fields[2]
    if kind in _NETWORK_FILESYSTEMS:
        warnings.warn(
            f"{path} is on a network filesystem ({kind} at {best}), where SQLite's locks are not reliable; "
            "put the database on a local disk, or use PostgreSQL",
            NetworkFilesystemWarning,
            stacklevel=3,
        )
