"""Database URLs: what a user may write, what is opened, and what may be shown."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from storage.errors import StorageError

# user:password@ in any URL, and secrets in a query string (libpq, object stores). Up to the last @: a password that
# should have been percent-encoded may hold @ and / itself, and hiding too much harms nobody.
_USERINFO = re.compile(r"(?P<head>[a-zA-Z][\w+.-]*://[^/\s:@]*):[^\s]*@")
_QUERY = re.compile(
    r"(?P<key>(?:^|[?&;\s])(?:password|passwd|pwd|secret|token|key|sslpassword|sig|signature|\w*secret\w*|\w*_key\w*)=)[^&;\s'\"]*",
    re.IGNORECASE,
)


def mask(text: str) -> str:
    """`text` with the password of every URL in it replaced by `***`."""
    return _QUERY.sub(r"\g<key>***", _USERINFO.sub(r"\g<head>:***@", text))


def parse_database(database: str) -> URL:
    """Read a SQLAlchemy URL, or a plain path, which means SQLite.

    `postgresql://` and `postgres://` mean psycopg 3, the driver that the `postgres` extra installs.

    Raises:
        StorageError: Not a URL, an in-memory SQLite database, or another kind of database.
    """
    if "://" not in database:
        if not database or database == ":memory:":
            raise StorageError(f"{database!r} is not a file; the store is shared by processes, give it a path")
        return URL.create("sqlite", database=str(Path(database).expanduser().absolute()))
    try:
        url = make_url(database)
    except (ArgumentError, ValueError):
        raise StorageError(
            f"{mask(database)} is not a database URL; write a path, sqlite:///PATH or postgresql://USER@HOST/NAME"
        ) from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    backend = url.get_backend_name()
    if backend == "sqlite":
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise StorageError(f"{mask(database)} names no file; write sqlite:///PATH or a plain path")
        return URL.create("sqlite", database=str(Path(url.database).expanduser().absolute()))
    if backend != "postgresql":
        raise StorageError(f"{backend} is not supported; use SQLite (a path) or PostgreSQL (postgresql://...)")
    return url
