"""What a lesson rests on, and people's own tutorial videos.

Revision: 0003
Follows: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_NEW = ("kind", "status", "problem", "causes", "call_ids", "film_id")


def upgrade() -> None:
    op.create_table(
        "tutorial",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("task_id", sa.String(120), nullable=False),
        sa.Column("space", sa.String(20), nullable=False),
        sa.Column("video", sa.String(64), nullable=False),
        sa.Column("video_info", sa.JSON(), nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("source_sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["video"], ["artifact.sha256"], name=op.f("fk_tutorial_video")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tutorial")),
    )
    op.create_index(op.f("ix_tutorial_task_id"), "tutorial", ["task_id"])
    with op.batch_alter_table("lesson") as batch:
        batch.add_column(sa.Column("kind", sa.String(60), nullable=False, server_default=""))
        batch.add_column(sa.Column("status", sa.String(20), nullable=False, server_default="ok"))
        batch.add_column(sa.Column("problem", sa.Text(), nullable=False, server_default=""))
        batch.add_column(sa.Column("causes", sa.JSON(), nullable=False, server_default="[]"))
        batch.add_column(sa.Column("call_ids", sa.JSON(), nullable=False, server_default="[]"))
        batch.add_column(sa.Column("film_id", sa.String(40)))
        batch.create_foreign_key(op.f("fk_lesson_film_id"), "tutorial", ["film_id"], ["id"])


def downgrade() -> None:
    """Back to lessons without their sources; people's own tutorials are forgotten, their bytes stay."""
    with op.batch_alter_table("lesson") as batch:
        batch.drop_constraint(op.f("fk_lesson_film_id"), type_="foreignkey")
        for name in _NEW:
            batch.drop_column(name)
    op.drop_table("tutorial")
