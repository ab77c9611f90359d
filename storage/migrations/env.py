"""Alembic's entry. `storage.schema` hands it an open connection; nothing is read from the working directory."""

from __future__ import annotations

from alembic import context

from storage.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    # SQLite changes a column by rebuilding its table.
    render_as_batch=True,
    compare_type=True,
)
# The caller's transaction holds it all: a killed migration leaves the old schema whole, on SQLite and on PostgreSQL.
context.run_migrations()
