"""Opening: folders, migration, versions, addresses, secrets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.command import downgrade
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, select, text

from storage import migrations
from storage.database import warn_of_network_filesystem
from storage.errors import (
    DatabaseUnreachable,
    NetworkFilesystemWarning,
    NoDatabase,
    SchemaTooNew,
    SchemaTooOld,
    StorageError,
)
from storage.models import Base, Call, Episode, Lesson
from storage.schema import alembic_config
from storage.store import Store
from storage.urls import mask, parse_database

Python = Callable[..., "subprocess.Popen[str]"]


def test_opening_makes_folders_and_a_second_opening_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "arena.db"
    with Store.open(path) as store:
        assert (path.parent / "artifacts").is_dir()
        assert "arena.db" in repr(store)
    with Store.open(f"sqlite:///{path}") as store, store.read() as session:
        assert session.scalar(text("PRAGMA journal_mode")) == "wal"
        assert session.scalar(text("PRAGMA foreign_keys")) == 1
        assert session.scalar(text("PRAGMA synchronous")) == 1
        assert session.scalar(text("PRAGMA busy_timeout")) == 30_000


def test_the_migrated_schema_equals_the_models(store: Store) -> None:
    with store.session() as session:
        connection = session.connection()
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_constraints_carry_the_names_of_the_models(store: Store) -> None:
    """Unnamed constraints cannot be dropped by a later migration on every database."""
    with store.session() as session:
        inspector = inspect(session.connection())
        for table in Base.metadata.sorted_tables:
            wanted = {c.name for c in table.constraints if c.name is not None}
            found = {inspector.get_pk_constraint(table.name)["name"]}
            found |= {key["name"] for key in inspector.get_foreign_keys(table.name)}
            found |= {key["name"] for key in inspector.get_unique_constraints(table.name)}
            assert found == {str(name) for name in wanted}


def test_head_is_the_newest_revision_and_there_is_one() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [migrations.HEAD]


def test_the_first_revision_can_be_taken_back(store: Store) -> None:
    with store._engines.write.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        downgrade(config, "base")
    with store.session() as session:
        assert set(inspect(session.connection()).get_table_names()) == {"alembic_version"}


def test_calls_written_before_pictures_were_kept_are_read_as_they_were(
    database: str, artifacts: str, store: Store
) -> None:
    """Revision 0001 held requests as plain JSON; taken back and migrated again, nothing of them changes."""
    request = {"model": "m", "messages": [{"role": "system", "content": "Rules."}], "note": "\u00e9\n"}
    replies = ({"choices": [1, 2.5, None]}, None)
    store.add(*(Call(id=f"c{i}", episode_id=None, purpose="act", model="m", request=request, reply=reply, status="ok")
                for i, reply in enumerate(replies)))  # fmt: skip
    with store._engines.write.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        downgrade(config, "0001")
        rows = connection.execute(text("SELECT request, reply FROM call ORDER BY id")).all()
        assert [json.loads(row.request) if isinstance(row.request, str) else row.request for row in rows] == [
            request
        ] * 2
        assert "picture" not in inspect(connection).get_table_names()
    store.close()
    with Store.open(database, artifacts) as again, again.read() as session:
        calls = session.scalars(select(Call).order_by(Call.id)).all()
        assert [(call.request, call.reply) for call in calls] == [(request, reply) for reply in replies]


def test_lessons_written_before_their_sources_were_kept_are_read_as_they_were(
    database: str, artifacts: str, store: Store
) -> None:
    """Revision 0002 knew neither kind nor causes of a lesson; taken back and migrated again, nothing else changes."""
    spec = {"seed": 1}
    store.add(Episode(id="e1-a-0", identity="e1-a", try_no=0, spec=spec, task_id="t", space="s", agent="a", seed=1))
    store.add(Lesson(id="l1", episode_id="e1-a-0", reflector="r", fingerprint="f", text="look left", kind="placebo"))
    with store._engines.write.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        downgrade(config, "0002")
        assert "tutorial" not in inspect(connection).get_table_names()
    store.close()
    with Store.open(database, artifacts) as again:
        [lesson] = again.lessons("e1-a-0")
        assert (lesson.text, lesson.kind, lesson.status, lesson.causes, lesson.call_ids) == (
            "look left",
            "",
            "ok",
            [],
            [],
        )
        assert lesson.film_id is None and again.tutorials() == []


def test_a_newer_schema_is_refused_untouched(database: str, artifacts: str) -> None:
    with Store.open(database, artifacts) as store, store.session() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for migrate in (True, False):
        with pytest.raises(SchemaTooNew, match=r"'9999'.*upgrade the package"):
            Store.open(database, artifacts, migrate=migrate)


@pytest.mark.parametrize("how", [{"migrate": False}, {"create": False}])
def test_who_only_reads_makes_nothing(database: str, artifacts: str, tmp_path: Path, how: dict[str, bool]) -> None:
    with pytest.raises(NoDatabase, match=r"there is no arena database at .* yet"):
        Store.open(database, artifacts, **how)
    assert not list(tmp_path.iterdir()), "neither a folder nor an empty file"
    Store.open(database, artifacts).close()
    Store.open(database, artifacts, **how).close()


def test_who_only_reads_leaves_an_empty_file_and_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    for path in (tmp_path / "empty.db", tmp_path / "empty.db" / "arena.db"):
        with pytest.raises(NoDatabase, match=re.escape(str(path))):
            Store.open(path, create=False)
    assert [path.name for path in tmp_path.iterdir()] == ["empty.db"] and not (tmp_path / "empty.db").stat().st_size


def test_who_only_reads_brings_an_old_schema_up_to_date(database: str, artifacts: str, store: Store) -> None:
    with store._engines.write.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        downgrade(config, "0002")
    store.close()
    with pytest.raises(SchemaTooOld, match=r"has schema 0002 .*migrate=True"):
        Store.open(database, artifacts, migrate=False)
    with Store.open(database, artifacts, create=False) as again:
        assert again.tutorials() == []


def test_a_killed_migration_leaves_the_old_schema_whole(
    database: str, artifacts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import alembic.operations

    real = alembic.operations.Operations.create_index

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(alembic.operations.Operations, "create_index", fail)
    with pytest.raises(KeyboardInterrupt):
        Store.open(database, artifacts)
    monkeypatch.setattr(alembic.operations.Operations, "create_index", real)
    Store.open(database, artifacts).close()


def test_a_foreign_database_is_refused(database: str, artifacts: str) -> None:
    from storage.database import connect

    if "://" not in database:
        Path(database).parent.mkdir(parents=True)
    engines = connect(parse_database(database))
    with engines.write.begin() as connection:
        connection.execute(text("CREATE TABLE run (id INTEGER)"))
    engines.write.dispose()
    with pytest.raises(StorageError, match="already has a table 'run'"):
        Store.open(database, artifacts)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    with pytest.raises(DatabaseUnreachable, match=r"notes\.txt.*not a database"):
        Store.open(path)
    assert path.read_text().startswith("not a database")


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DatabaseUnreachable, match="cannot create the folder"):
        Store.open(tmp_path / "file" / "arena.db")


@pytest.mark.parametrize("address", ["", ":memory:", "sqlite://", "sqlite:///:memory:", "mysql://u:pw@h/db", "x://"])
def test_addresses_that_cannot_be_a_store_are_refused(address: str) -> None:
    with pytest.raises(StorageError) as caught:
        Store.open(address)
    assert "pw" not in str(caught.value)


def test_postgresql_needs_a_place_for_artifacts() -> None:
    with pytest.raises(StorageError, match="give artifacts a folder"):
        Store.open("postgresql://u:hunter2@127.0.0.1:1/db")


@pytest.mark.parametrize("short", ["postgres://h/db", "postgresql://h/db", "postgresql+psycopg://h/db"])
def test_every_spelling_of_postgresql_means_psycopg(short: str) -> None:
    assert parse_database(short).drivername == "postgresql+psycopg"


def test_passwords_never_appear(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("psycopg")
    url = "postgresql://someone:hunter2@127.0.0.1:1/db"
    with caplog.at_level("DEBUG"), pytest.raises(DatabaseUnreachable) as caught:
        Store.open(url, tmp_path)
    assert "hunter2" not in str(caught.value) + caplog.text
    assert "127.0.0.1" in str(caught.value)
    assert caught.value.__suppress_context__, "the driver's own error, which a traceback would print, is not chained"


@pytest.mark.parametrize(
    "secret",
    [
        "postgresql://u:hunter2@h/db",
        "postgresql://u:hun/hunter2@ter@h/db",
        "postgresql://h/db?user=u&password=hunter2",
        "password=hunter2 host=h",
        "s3://key:hunter2@bucket/path",
        "see postgresql://u:hunter2@h/db for more",
        "https://h/b?X-Amz-Signature=1&sig=hunter2",
    ],
)
def test_masking_hides_the_secret_and_keeps_the_rest(secret: str) -> None:
    assert "hunter2" not in mask(secret)
    assert "h" in mask(secret) and "***" in mask(secret)


def test_masking_leaves_ordinary_text_alone() -> None:
    assert mask("sqlite:////tmp/arena.db and 12:30 @home") == "sqlite:////tmp/arena.db and 12:30 @home"


def test_the_store_of_a_server_hides_its_password(store: Store, database: str) -> None:
    if "://" in database:
        password = parse_database(database).password
        assert password is not None and str(password) not in repr(store)


def test_processes_that_open_a_new_database_at_once_do_not_collide(
    database: str, artifacts: str, python: Python
) -> None:
    code = "import sys; from storage.store import Store; Store.open(sys.argv[1], sys.argv[2]).runs(); print('ok')"
    started = [python(code, database, artifacts) for _ in range(3)]
    answers = [process.communicate(timeout=60) for process in started]
    assert [out for out, _ in answers] == ["ok\n"] * 3, answers


def test_an_up_to_date_database_is_opened_without_alembic(sqlite_store: Store, tmp_path: Path) -> None:
    code = (
        "import sys; from storage.store import Store; Store.open(sys.argv[1]).close(); "
        "sys.exit(any(name.split('.')[0] == 'alembic' for name in sys.modules))"
    )
    root = Path(migrations.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "arena.db")], cwd=root, timeout=60, check=False)
    assert done.returncode == 0


def test_a_network_filesystem_is_warned_of(tmp_path: Path) -> None:
    mounts = f"/dev/sda / ext4 rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\n"
    with pytest.warns(NetworkFilesystemWarning, match="nfs4"):
        warn_of_network_filesystem(tmp_path / "arena.db", mounts)


@pytest.mark.filterwarnings("error")
def test_a_local_filesystem_is_not_warned_of(tmp_path: Path) -> None:
    mounts = f"server:/ / nfs4 rw 0 0\n/dev/sda {tmp_path} ext4 rw 0 0\n"
    warn_of_network_filesystem(tmp_path / "arena.db", mounts)
    warn_of_network_filesystem(tmp_path / "arena.db")
