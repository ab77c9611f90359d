"""Artifacts: bytes kept outside the database, addressed by their SHA-256, in any place that fsspec reaches."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import secrets
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from storage.errors import ArtifactCorrupt, ArtifactMissing, StorageError
from storage.urls import mask

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1 << 20


class ArtifactStore:
    """Content-addressed files below one folder or object-store prefix: `ab/cdef...` for hash `abcdef...`.

    Local files get their name when they are whole and flushed to disk: a name that exists is whole whatever kills the
    process, and nothing nameless stays. Object stores make a finished upload visible at once and need no rename. Safe
    across threads and processes: two writers of the same bytes write the same file.
    """

    def __init__(self, url: str | Path) -> None:
        """Open (and create) the store.

        Args:
            url: A folder, or any fsspec URL, such as `s3://bucket/prefix`.

        Raises:
            StorageError: fsspec does not know the protocol, or the place cannot be created.
        """
        try:
            self._fs, root = fsspec.core.url_to_fs(str(url))
            self._root = str(root).rstrip("/") or "/"
            self._local = Path(self._root) if isinstance(self._fs, LocalFileSystem) else None
            self._fs.makedirs(self._root, exist_ok=True)
        except (ValueError, ImportError, OSError) as error:
            raise StorageError(f"cannot open the artifact store {mask(str(url))}: {mask(str(error))}") from None
        self._shown = mask(str(url))

    def __repr__(self) -> str:
        return f"ArtifactStore({self._shown!r})"

    def put(self, data: bytes | Path) -> str:
        """Store bytes, or a copy of a file, and return their SHA-256 (64 hex digits). Storing again is a no-op.

        Raises:
            StorageError: `data` is a path that cannot be read.
        """
        if isinstance(data, Path):
            try:
                with data.open("rb") as file:
                    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                    size = file.tell()
            except OSError as error:
                raise StorageError(f"cannot read {data} to store it: {error.strerror or error}") from error
        else:
            sha256 = hashlib.sha256(data).hexdigest()
            size = len(data)
        # A file of the right name and another size is a torn copy by some other tool: mend it.
        if self._size_or_none(sha256) != size:
            if self._local is not None:
                self._put_local(sha256, data)
            else:
                self._put_remote(sha256, data)
        return sha256

    def get(self, sha256: str) -> bytes:
        """The bytes of that hash, verified.

        Raises:
            ValueError: `sha256` is not 64 lower-case hex digits.
            ArtifactMissing: There are none.
            ArtifactCorrupt: What is stored has another hash.
        """
        with self.open(sha256) as file:
            data = file.read()
        found = hashlib.sha256(data).hexdigest()
        if found != sha256:
            raise ArtifactCorrupt(
                f"artifact {sha256} in {self._shown} is damaged: its {len(data)} bytes have the hash {found}; "
                "restore the file, or delete it and produce it again"
            )
        return data

    def open(self, sha256: str) -> IO[bytes]:
        """A seekable binary file, for streaming. Not verified: use `get` where the bytes are evidence.

        Raises:
            ValueError: `sha256` is not 64 lower-case hex digits.
            ArtifactMissing: There is no such artifact.
        """
        name = self._name(sha256)
        try:
            return cast(IO[bytes], self._fs.open(name, "rb"))
        except FileNotFoundError:
            raise ArtifactMissing(f"no artifact {sha256} in {self._shown}") from None

    def path(self, sha256: str) -> Path | None:
        """The local file of that hash, for tools that want a path; None if the store is not local.

        Raises:
            ValueError: `sha256` is not 64 lower-case hex digits.
            ArtifactMissing: There is no such artifact.
        """
        name = self._name(sha256)
        if self._local is None:
            return None
        path = Path(name)
        if not path.is_file():
            raise ArtifactMissing(f"no artifact {sha256} in {self._shown}")
        return path

    def exists(self, sha256: str) -> bool:
        """Whether there is an artifact of that hash."""
        return self._size_or_none(sha256) is not None

    def size(self, sha256: str) -> int:
        """Its length in bytes.

        Raises:
            ValueError: `sha256` is not 64 lower-case hex digits.
            ArtifactMissing: There is no such artifact.
        """
        size = self._size_or_none(sha256)
        if size is None:
            raise ArtifactMissing(f"no artifact {sha256} in {self._shown}")
        return size

    def _name(self, sha256: str) -> str:
        # The only way from a caller's string to a path: nothing but 64 hex digits passes.
        if not _SHA256.fullmatch(sha256):
            raise ValueError(f"not a SHA-256 of 64 lower-case hex digits: {sha256[:80]!r}")
        return str(PurePosixPath(self._root) / sha256[:2] / sha256[2:])

    def _size_or_none(self, sha256: str) -> int | None:
        name = self._name(sha256)
        if self._local is not None:
            try:
                return Path(name).stat().st_size
            except FileNotFoundError:
                return None
        # Listings are cached by some filesystems; another process may have written since.
        self._fs.invalidate_cache()
        try:
            return int(self._fs.info(name)["size"])
        except FileNotFoundError:
            return None

    def _put_local(self, sha256: str, data: bytes | Path) -> None:
        target = Path(self._name(sha256))
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            if not _put_nameless(folder, target, data, sha256):
                _put_renamed(target, data, sha256)
            os.fsync(folder)  # the name itself
        finally:
            os.close(folder)

    def _put_remote(self, sha256: str, data: bytes | Path) -> None:
        name = self._name(sha256)
        folder, _, base = name.rpartition("/")
        self._fs.makedirs(folder, exist_ok=True)
        # A temporary name and a move where the filesystem renames cheaply would cost object stores a second copy;
        # they publish an upload only when it is complete.
        temporary = f"{folder}/.put-{base[:8]}-{secrets.token_hex(6)}" if _renames(self._fs) else name
        with self._fs.open(temporary, "wb") as file:
            _copy(data, file, sha256)
        if temporary != name:
            self._fs.mv(temporary, name)


def _put_nameless(folder: int, target: Path, data: bytes | Path, sha256: str) -> bool:
    """Write a file that gets its name when it is whole, so that a kill leaves nothing; False where that is unknown."""
    try:
        handle = os.open(target.parent, os.O_WRONLY | os.O_TMPFILE, 0o644)
    except (AttributeError, OSError) as error:
        # Linux alone has it, and not for every filesystem; one that is full or read-only says so again below.
        if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
        return False
    with os.fdopen(handle, "wb") as file:
        _copy(data, file, sha256)
        file.flush()
        os.fsync(file.fileno())
        # Only with a folder's descriptor does Python ask the kernel to follow the link in /proc.
        source = f"/proc/self/fd/{file.fileno()}"
        try:
            os.link(source, target.name, dst_dir_fd=folder)
        except FileExistsError:  # the same bytes, put meanwhile by another process, or a torn copy
            target.unlink(missing_ok=True)
            with contextlib.suppress(FileExistsError):
                os.link(source, target.name, dst_dir_fd=folder)
    return True


def _put_renamed(target: Path, data: bytes | Path, sha256: str) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".put-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _copy(data, file, sha256)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)  # mkstemp makes files that only their owner reads
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _renames(fs: Any) -> bool:
    protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    return bool(protocols & {"sftp", "ssh", "smb", "ftp", "hdfs", "webhdfs"})


def _copy(data: bytes | Path, file: IO[bytes], sha256: str) -> None:
    """Copy in chunks, checking that the source still has the hash that will name the copy."""
    digest = hashlib.sha256()
    with data.open("rb") if isinstance(data, Path) else io.BytesIO(data) as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != sha256:
        raise StorageError(f"{data if isinstance(data, Path) else 'the data'} changed while it was being stored")
