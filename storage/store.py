"""`Store`: the one door to what the arena remembers."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from storage.artifacts import ArtifactStore
from storage.database import Engines, connect, translated, warn_of_network_filesystem
from storage.errors import RowExists, RunBusy, StorageError, UnknownRow
from storage.inserts import Inserter, dialect_insert
from storage.locks import Busy, lock
from storage.models import Artifact, Base, Call, Episode, MilestoneTruth, Run, RunEpisode, Step
from storage.queries import Queries
from storage.schema import ensure_schema
from storage.urls import parse_database

_FINISHING = frozenset(
    {"status", "outcome", "outcome_detail", "scored", "score", "success", "n_steps", "state_hash"}
    | {"video", "video_info", "summary", "finished_at"}
)
"""Columns of an episode that its end decides; the others say what was played and never change."""


class Store(Queries):
    """A database and its artifacts. Open it with `Store.open`.

    Threads may share one Store. Processes may not: each opens its own, and none is used across a `fork`. Rows that come
    out are plain objects, detached from any session. Usable as a context manager.
    """

    def __init__(self, engines: Engines, artifacts: ArtifactStore) -> None:
        self._engines = engines
        self._inserter = Inserter(engines.write.dialect)
        self.artifacts = artifacts
        """Bytes by SHA-256."""

    @classmethod
    def open(
        cls, database: str | Path, artifacts: str | Path | None = None, *, migrate: bool = True, create: bool = True
    ) -> Store:
        """Open a store, creating its folders and bringing its schema up to date.

        Safe to call from several processes at once: one migrates, the others wait.

        Args:
            database: A path (SQLite) or a SQLAlchemy URL: `sqlite:///PATH`, `postgresql://USER@HOST/NAME`.
            artifacts: Folder or fsspec URL; by default the folder `artifacts` beside the SQLite file. PostgreSQL has no
                default.
            migrate: False refuses a database that is not up to date, and creates none.
            create: False makes nothing where nothing is: for those who only read.

        Raises:
            NoDatabase: Nothing was ever kept there, and `create` or `migrate` is False.
            DatabaseUnreachable: No such server, folder or right; or not a database.
            SchemaTooNew: A later version of this package wrote it.
            SchemaTooOld: It needs a migration and `migrate` is False.
            StorageError: A malformed URL, or PostgreSQL without `artifacts`.
        """
        engines = connect(parse_database(str(database)))
        path = engines.sqlite_path
        if path is None and artifacts is None:
            raise StorageError(
                f"{engines.shown} needs a place for videos and images: give artifacts a folder or an fsspec URL"
            )
        if path is not None:
            warn_of_network_filesystem(path)
        try:
            ensure_schema(engines, migrate, create)
            return cls(
                engines, ArtifactStore(artifacts if artifacts is not None else Path(path or "").parent / "artifacts")
            )
        except BaseException:
            engines.write.dispose()
            raise

    def __repr__(self) -> str:
        return f"Store({self._engines.shown!r}, {self.artifacts!r})"

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A closed store opens new ones if it is used again."""
        self._engines.write.dispose()

    # -- transactions ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """A short read-write transaction: committed at the end, rolled back on an error.

        On SQLite it excludes other writers from its beginning: do nothing slow in it.

        Raises:
            StorageError: The database refused something.
        """
        with (
            translated(self._engines.shown),
            Session(self._engines.write, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """A read-only transaction with one snapshot of the database; never waits for writers.

        Raises:
            StorageError: The database refused something, such as a write.
        """
        with (
            translated(self._engines.shown),
            Session(self._engines.read, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    def add(self, *rows: Base) -> None:
        """Insert rows of any tables in one transaction.

        Raises:
            RowExists: One of them is there already; then none was inserted.
            TypeError: A JSON column holds something that is not JSON; the same.
        """
        with translated(self._engines.shown), self._engines.write.begin() as connection:
            self._inserter.insert(connection, rows)

    def upsert(self, *rows: Base) -> None:
        """Insert the rows whose primary key is not there yet, and leave the others as they are."""
        with translated(self._engines.shown), self._engines.write.begin() as connection:
            self._inserter.insert(connection, rows, ignore_existing=True)

    # -- artifacts -------------------------------------------------------------------------------------------------

    def put_artifact(self, data: bytes | Path, media_type: str) -> str:
        """Store bytes, or a copy of a file, with its row; return the SHA-256. Storing again is a no-op.

        The bytes are on disk before the row is there: a row never points at nothing.
        """
        sha256 = self.artifacts.put(data)
        size = len(data) if isinstance(data, bytes) else self.artifacts.size(sha256)
        if self.artifact(sha256) is None:
            self.upsert(Artifact(sha256=sha256, media_type=media_type, size=size))
        return sha256

    # -- runs ------------------------------------------------------------------------------------------------------

    def begin_run(self, run: Run) -> Run:
        """Insert a run, or return the row of that id with its status back to `running`."""
        self.upsert(run)
        with self.session() as session:
            row = session.get_one(Run, run.id)
            row.status, row.finished_at = "running", None
            return row

    def finish_run(self, run_id: str, status: str) -> None:
        """Set how a run ended: `finished` or `interrupted`.

        Raises:
            UnknownRow: There is no such run.
        """
        with self.session() as session:
            row = session.get(Run, run_id)
            if row is None:
                raise UnknownRow(f"no run {run_id[:80]!r} to finish")
            row.status, row.finished_at = status, dt.datetime.now(dt.UTC)

    def link(self, rows: Sequence[RunEpisode]) -> None:
        """Insert or update plan rows in bulk: which episodes a run uses, and as what."""
        if not rows:
            return
        statement = dialect_insert(self._engines.write.dialect)(RunEpisode)
        keys = [column.name for column in RunEpisode.__mapper__.primary_key]
        changed = {c.name: statement.excluded[c.name] for c in RunEpisode.__table__.columns if c.name not in keys}
        with self.session() as session:
            session.execute(
                statement.on_conflict_do_update(index_elements=keys, set_=changed), [_values(row) for row in rows]
            )

    def run_lock(self, run_id: str) -> contextlib.AbstractContextManager[None]:
        """While the context is open, no other process (or thread) may run this run.

        The kernel, or the PostgreSQL server, releases the lock when its holder dies.

        Raises:
            RunBusy: On entering, if somebody else holds it.
        """
        return self._run_lock(run_id)

    @contextlib.contextmanager
    def _run_lock(self, run_id: str) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(lock(self._engines, f"run-{run_id}"))
            except Busy as busy:
                raise RunBusy(run_id, busy.pid, busy.where) from None
            yield

    # -- episodes --------------------------------------------------------------------------------------------------

    def episode_lock(self, identity: str, timeout_s: float = 3600.0) -> contextlib.AbstractContextManager[None]:
        """While the context is open, no other process (or thread) works on the episodes of this identity.

        Runs that share an attempt would else play it twice. The kernel, or the PostgreSQL server, releases the lock
        when its holder dies. It is not re-entrant.

        Args:
            identity: `Episode.identity`.
            timeout_s: How long to wait for whoever is at it.

        Raises:
            Busy: On entering, if somebody else still holds it after that time.
        """
        return lock(self._engines, f"episode-{identity}", timeout_s)

    def begin_episode(self, episode: Episode) -> Episode:
        """Insert an episode, or return the row of that id as it is: the way to resume.

        Raises:
            RowExists: Another id has the same identity and try.
        """
        self.upsert(episode)
        with self.read() as session:
            return session.get_one(Episode, episode.id)

    def append_step(
        self,
        step: Step,
        calls: Iterable[Call] = (),
        truths: Iterable[MilestoneTruth] = (),
        extra: Iterable[Base] = (),
    ) -> None:
        """Append one step and all that belongs to it in one transaction: once it returns, a kill loses nothing of it.

        Args:
            step: The step.
            calls: Model calls that led to it.
            truths: Milestones reached by it.
            extra: Any other rows, such as a diagnosis and its intervention.

        Raises:
            RowExists: The step, or another of the rows, is there already; then nothing was appended.
            StorageError: The database refused a row, such as a step of an unknown episode.
            TypeError: A JSON column holds something that is not JSON, such as a NumPy scalar.
        """
        with translated(self._engines.shown), self._engines.write.begin() as connection:
            self._inserter.insert(connection, (step, *calls, *truths, *extra))

    def finish_episode(self, episode_id: str, **columns: Any) -> None:
        """Set what an episode's end decides (`outcome`, `score`, `video`, `summary`, ...) and its status to `finished`.

        A finished episode never changes again.

        Raises:
            ValueError: A column that is not decided by the end, or does not exist.
            UnknownRow: There is no such episode.
            RowExists: It is finished already.
        """
        wrong = sorted(set(columns) - _FINISHING)
        if wrong:
            raise ValueError(f"finish_episode cannot set {wrong[0]!r}; it sets {', '.join(sorted(_FINISHING))}")
        values = {"status": "finished", "finished_at": dt.datetime.now(dt.UTC), **columns}
        with self.session() as session:
            status = session.scalar(select(Episode.status).where(Episode.id == episode_id).with_for_update())
            if status is None:
                raise UnknownRow(f"no episode {episode_id[:80]!r} to finish")
            if status == "finished":
                raise RowExists(f"episode {episode_id} is finished and never changes; a new try is a new row")
            session.execute(update(Episode).where(Episode.id == episode_id).values(**values))


def _values(row: Base) -> dict[str, Any]:
    mapper = type(row).__mapper__
    return {
        column.key: getattr(row, mapper.get_property_by_column(column).key) for column in mapper.local_table.columns
    }
