"""Every error this package raises, as one tree.

    StorageError
    ├── DatabaseUnreachable    no server, no such folder, no rights, or no database at all
    │   └── NoDatabase         nothing was ever kept there, and `create=False` or `migrate=False` forbade to begin
    ├── SchemaTooNew           a later version of this package wrote the database
    ├── SchemaTooOld           the database needs a migration and `migrate=False` forbade it
    ├── UnknownRow             no run or episode of that id (also a LookupError)
    ├── RowExists              an append that would overwrite a row, or change a finished one
    ├── RunBusy                another process is running this run
    ├── ArtifactMissing        no bytes of that hash (also a LookupError)
    ├── ArtifactCorrupt        stored bytes no longer match their hash
    ├── PictureCorrupt         the rows of a picture do not give the picture that they name
    └── VideoError             a file that is not a readable video, or a frame that cannot be written

Messages never contain a password: URLs are masked before they are shown.
"""

from __future__ import annotations


class StorageError(Exception):
    """Root of this package's errors."""


class DatabaseUnreachable(StorageError):
    """The database cannot be opened; the message names it (masked) and says what to check."""


class NoDatabase(DatabaseUnreachable):
    """Nothing was ever kept there, and whoever opened it wants no new one: `Store.open(..., create=False)`."""


class SchemaTooNew(StorageError):
    """The database's revision is unknown to this version: upgrade the package, not the database."""


class SchemaTooOld(StorageError):
    """The database needs a migration, which `Store.open(..., migrate=False)` forbade."""


class UnknownRow(StorageError, LookupError):
    """No such run or episode, or an ambiguous prefix; the message names the closest ids."""


class RowExists(StorageError):
    """History is appended to and never overwritten: the row is already there, or already finished."""


class RunBusy(StorageError):
    """Another process holds the lock of this run. `pid` is that process where it is known."""

    def __init__(self, run_id: str, pid: int | None = None, where: str = "") -> None:
        self.run_id = run_id
        self.pid = pid
        holder = f"process {pid}" if pid is not None else "another process"
        place = f" ({where})" if where else ""
        super().__init__(f"run {run_id!r} is already being run by {holder}{place}; wait for it, or stop it first")


class ArtifactMissing(StorageError, LookupError):
    """No artifact of that hash in the store."""


class ArtifactCorrupt(StorageError):
    """The stored bytes do not have the hash that names them: restore the file from a backup."""


class PictureCorrupt(StorageError):
    """The rows of a picture are damaged, or one of them is missing."""


class VideoError(StorageError):
    """Not a readable video, a frame index outside it, or a frame that does not fit the writer."""


class NetworkFilesystemWarning(UserWarning):
    """The SQLite file lies on a network filesystem, where its locks and its WAL are not reliable."""
