"""Bring a database to this version's schema, once, whoever opens it first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from storage import migrations
from storage.database import Engines, translated
from storage.errors import DatabaseUnreachable, NoDatabase, SchemaTooNew, SchemaTooOld, StorageError
from storage.locks import Busy, lock

if TYPE_CHECKING:
    from alembic.config import Config

_MIGRATION_WAIT_S = 120.0


def ensure_schema(engines: Engines, migrate: bool = True, create: bool = True) -> None:
    """Migrate to `migrations.HEAD` if needed; a database that is there already costs one query and no Alembic.

    Raises:
        DatabaseUnreachable: It cannot be opened.
        NoDatabase: There is none, and `migrate` or `create` is False.
        SchemaTooNew: A later version of the package wrote it.
        SchemaTooOld: It needs a migration and `migrate` is False.
    """
    create = create and migrate
    if create:
        _make_folder(engines)
    else:
        _find_file(engines)
    found = _revision(engines)
    if found == migrations.HEAD:
        return
    if found is None and not create:
        raise _nothing_at(engines)
    if not migrate:
        _refuse_unknown(engines, str(found))
        raise SchemaTooOld(
            f"{engines.shown} has schema {found} and this version needs {migrations.HEAD}; "
            "open it once with migrate=True"
        )
    try:
        with lock(engines, "migrate", timeout_s=_MIGRATION_WAIT_S):
            _upgrade(engines)
    except Busy as busy:
        raise DatabaseUnreachable(
            f"process {busy.pid} has been migrating {engines.shown} for over {_MIGRATION_WAIT_S:.0f} s; try again later"
        ) from None


def _nothing_at(engines: Engines) -> NoDatabase:
    return NoDatabase(f"there is no arena database at {engines.shown} yet")


def _make_folder(engines: Engines) -> None:
    path = engines.sqlite_path
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnreachable(f"cannot create the folder of {path}: {error.strerror or error}") from None


def _find_file(engines: Engines) -> None:
    """See that there is a file, for SQLite would make one."""
    path = engines.sqlite_path
    if path is None:
        return
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _nothing_at(engines) from None
    except OSError as error:
        raise DatabaseUnreachable(f"cannot look for {path}: {error.strerror or error}") from None


def _revision(engines: Engines) -> str | None:
    """The database's revision; None if it has none yet. Two statements on the fast path of every process start."""
    with translated(engines.shown), engines.read.connect() as connection:
        if connection.dialect.name == "sqlite":
            table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"
        else:
            table = "SELECT to_regclass('alembic_version')"
        if connection.execute(text(table)).scalar() is None:
            return None
        found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return found


def _upgrade(engines: Engines) -> None:
    """Under the lock: look again (another process may have migrated meanwhile), then let Alembic work."""
    found = _revision(engines)
    if found == migrations.HEAD:
        return
    if found is not None:
        _refuse_unknown(engines, found)
    from alembic import command

    if engines.sqlite_path is not None:
        # Kept in the file for good; needs to be alone, hence here and not on each connect.
        with translated(engines.shown):
            raw = engines.write.raw_connection()
            try:
                raw.cursor().execute("PRAGMA journal_mode=WAL")
            finally:
                raw.close()
    with translated(engines.shown), engines.write.begin() as connection:
        if found is None:
            _refuse_foreign(engines, connection)
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def alembic_config() -> Config:
    """Alembic's configuration, built in code: the migrations travel in the wheel and need no file beside them."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    return config


def _refuse_unknown(engines: Engines, found: str) -> None:
    from alembic.script import ScriptDirectory

    known = {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
    if found not in known:
        raise SchemaTooNew(
            f"{engines.shown} has schema {found[:40]!r}, which this version does not know (its newest is "
            f"{migrations.HEAD}); upgrade the package, or use another database"
        )


def _refuse_foreign(engines: Engines, connection: Connection) -> None:
    from storage.models import Base

    clash = sorted(set(inspect(connection).get_table_names()) & set(Base.metadata.tables))
    if clash:
        raise StorageError(
            f"{engines.shown} already has a table {clash[0]!r} that this package did not make; use another database"
        )
