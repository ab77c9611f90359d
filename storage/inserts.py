"""Inserts by statements that are compiled once: the fast way in, for rows that are appended as play goes on.

The ORM's unit of work costs several times what SQLite itself takes for a row. Here each table has its INSERT as text
and the bind processors of its columns, and a row becomes a tuple.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Dialect
from sqlalchemy.dialects import postgresql, sqlite

from storage.models import Base


def dialect_insert(dialect: Dialect) -> Any:
    """The `insert` of this dialect: both know `ON CONFLICT`, which SQLAlchemy's common one does not."""
    return sqlite.insert if dialect.name == "sqlite" else postgresql.insert


class _TableInsert:
    """The INSERT of one model: its text, and how to turn a row into its parameters."""

    def __init__(self, model: type[Base], dialect: Dialect, ignore_existing: bool) -> None:
        mapper = model.__mapper__
        columns = list(mapper.local_table.columns)
        keys = [mapper.get_property_by_column(column).key for column in columns]
        statement: Any = dialect_insert(dialect)(model)
        if ignore_existing:
            primary = [column.name for column in mapper.primary_key]
            statement = statement.on_conflict_do_nothing(index_elements=primary)
        compiled: Any = statement.compile(dialect=dialect, column_keys=[column.key for column in columns])
        self.sql = str(compiled)
        self._read: Callable[[Base], tuple[Any, ...]] = operator.attrgetter(*keys)
        # psycopg takes parameters by name, sqlite3 by position; both accept what a processor returns.
        self._names: list[str] | None = None if compiled.positional else [column.key for column in columns]
        processors = [column.type.dialect_impl(dialect).bind_processor(dialect) for column in columns]
        self._processors = [(i, processor) for i, processor in enumerate(processors) if processor is not None]
        if compiled.positional and compiled.positiontup != [column.key for column in columns]:
            raise RuntimeError(f"unexpected parameter order for {model.__tablename__}")

    def parameters(self, row: Base) -> Any:
        values = list(self._read(row))
        for i, process in self._processors:
            values[i] = process(values[i])
        return tuple(values) if self._names is None else dict(zip(self._names, values, strict=True))


class Inserter:
    """Inserts rows of any model, parents before children. Safe across threads."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._order = {table: i for i, table in enumerate(Base.metadata.sorted_tables)}
        self._inserts: dict[tuple[type[Base], bool], _TableInsert] = {}
        self._guard = threading.Lock()

    def insert(self, connection: Connection, rows: Iterable[Base], ignore_existing: bool = False) -> None:
        """Insert `rows` in the connection's transaction, in the order that foreign keys need.

        Args:
            connection: Open for writing.
            rows: Rows of any models.
            ignore_existing: Skip rows whose primary key is there already.
        """
        groups: dict[type[Base], list[Base]] = {}
        for row in rows:
            groups.setdefault(type(row), []).append(row)
        models: Sequence[type[Base]] = list(groups)
        if len(models) > 1:
            models = sorted(models, key=lambda model: self._order[model.__table__])  # type: ignore[index]
        for model in models:
            statement = self._statement(model, ignore_existing)
            connection.exec_driver_sql(statement.sql, [statement.parameters(row) for row in groups[model]])

    def _statement(self, model: type[Base], ignore_existing: bool) -> _TableInsert:
        key = (model, ignore_existing)
        statement = self._inserts.get(key)
        if statement is None:
            with self._guard:
                statement = self._inserts.setdefault(key, _TableInsert(model, self._dialect, ignore_existing))
        return statement
