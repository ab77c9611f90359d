"""Where results are kept: a database, a place for artifacts, a local folder for work in progress."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from arena.identity import digest
from storage.errors import NoDatabase
from storage.store import Store
from storage.urls import mask

DEFAULT_FOLDER = "arena-data"


@dataclass(frozen=True, slots=True)
class Location:
    """A place that every process of a run can open."""

    database: str = field(repr=False)
    """SQLite path or SQLAlchemy URL; it may hold a password, so it is never shown."""
    artifacts: str
    scratch: Path
    """Local folder for unfinished videos, of this database alone: in it, a run's lock guards the run's folder."""

    @classmethod
    def of(cls, database: str | None = None, artifacts: str | None = None) -> Location:
        """The place named by arguments, by ARENA_DB and ARENA_ARTIFACTS, or `./arena-data`."""
        folder = Path(os.environ.get("ARENA_DATA") or DEFAULT_FOLDER).expanduser().absolute()
        database = database or os.environ.get("ARENA_DB") or str(folder / "arena.db")
        if "://" not in database:
            path = Path(database).expanduser().absolute()
            folder, database = path.parent, str(path)
            scratch = folder / f"{path.name}.scratch"
        else:
            scratch = folder / f"{digest(mask(database), 10)}.scratch"
        artifacts = artifacts or os.environ.get("ARENA_ARTIFACTS") or str(folder / "artifacts")
        return cls(database, artifacts, scratch)

    @property
    def rollback_checks(self) -> Path:
        """Local folder beside the database: which tasks have been found to go back exactly, see `rollback_check`."""
        return self.scratch.with_suffix(".rollback")

    def existing(self) -> Store:
        """Open the store if there is one, for whoever only reads: nothing is made.

        Raises:
            NoDatabase: with how to make one.
            StorageError: as `open`.
        """
        try:
            return Store.open(self.database, self.artifacts, create=False)
        except NoDatabase as error:
            raise NoDatabase(f"{error}; `arena demo` or `arena run FILE` makes one, and --db names another") from None

    def open(self, *, migrate: bool = True) -> Store:
        """Open the store.

        Raises:
            StorageError: with what is wrong with the database or the artifact folder.
        """
        return Store.open(self.database, self.artifacts, migrate=migrate)
