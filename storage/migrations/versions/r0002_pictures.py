"""Pictures that models were shown, kept in the database as differences; requests and replies packed.

Revision: 0002
Follows: 0001
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from storage.column_types import PackedJson

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ROWS = 500


def upgrade() -> None:
    op.create_table(
        "picture",
        sa.Column("log", sa.String(32), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("log", "index", name=op.f("pk_picture")),
    )
    op.create_index(op.f("ix_picture_sha256"), "picture", ["sha256"])
    with op.batch_alter_table("call") as batch:
        for name, nullable in (("request", False), ("reply", True)):
            batch.alter_column(
                name, new_column_name=f"{name}_json", existing_type=sa.JSON(), existing_nullable=nullable
            )
    with op.batch_alter_table("call") as batch:
        batch.add_column(sa.Column("request", sa.LargeBinary()))
        batch.add_column(sa.Column("reply", sa.LargeBinary()))
    _convert(sa.JSON(none_as_null=True), PackedJson(), "_json")
    with op.batch_alter_table("call") as batch:
        batch.drop_column("request_json")
        batch.drop_column("reply_json")
        batch.alter_column("request", existing_type=sa.LargeBinary(), nullable=False)


def downgrade() -> None:
    """Back to plain JSON; the pictures are lost."""
    with op.batch_alter_table("call") as batch:
        for name, nullable in (("request", False), ("reply", True)):
            batch.alter_column(
                name, new_column_name=f"{name}_packed", existing_type=sa.LargeBinary(), existing_nullable=nullable
            )
    with op.batch_alter_table("call") as batch:
        batch.add_column(sa.Column("request", sa.JSON()))
        batch.add_column(sa.Column("reply", sa.JSON()))
    _convert(PackedJson(), sa.JSON(none_as_null=True), "_packed")
    with op.batch_alter_table("call") as batch:
        batch.drop_column("request_packed")
        batch.drop_column("reply_packed")
        batch.alter_column("request", existing_type=sa.JSON(), nullable=False)
    op.drop_table("picture")


def _convert(old: sa.types.TypeEngine[Any], new: sa.types.TypeEngine[Any], suffix: str) -> None:
    """Copy both columns from the old form to the new one, some rows at a time: there may be a million calls."""
    connection = op.get_bind()
    call = sa.table(
        "call",
        *(sa.column("id", sa.String()), sa.column("request", new), sa.column("reply", new)),
        *(sa.column(f"request{suffix}", old), sa.column(f"reply{suffix}", old)),
    )
    before = (call.c[f"request{suffix}"], call.c[f"reply{suffix}"])
    last = ""
    while True:
        query = sa.select(call.c.id, *before).where(call.c.id > last).order_by(call.c.id).limit(_ROWS)
        rows = connection.execute(query).all()
        if not rows:
            return
        for call_id, request, reply in rows:
            connection.execute(sa.update(call).where(call.c.id == call_id).values(request=request, reply=reply))
        last = rows[-1].id
