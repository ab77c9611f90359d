"""What the other way at a diagnosis led to: each intervention without it, each suppressed one with it.

Revision: 0005
Follows: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "counterfactual",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("diagnosis_id", sa.String(40), nullable=False),
        sa.Column("at_step", sa.Integer(), nullable=False),
        sa.Column("from_step", sa.Integer(), nullable=False),
        sa.Column("suppressed", sa.Boolean(), nullable=False),
        sa.Column("verdict", sa.String(20), nullable=False),
        sa.Column("with_it", sa.Boolean(), nullable=False),
        sa.Column("without_it", sa.Boolean(), nullable=False),
        sa.Column("exact", sa.Boolean(), nullable=False),
        sa.Column("prefix_steps", sa.Integer(), nullable=False),
        sa.Column("differences", sa.JSON(), nullable=False),
        sa.Column("outcome", sa.String(30), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("n_steps", sa.Integer(), nullable=False),
        sa.Column("repair_steps", sa.Integer(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("state_hash", sa.String(64), nullable=False),
        sa.Column("video", sa.String(64)),
        sa.Column("video_info", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_counterfactual_episode_id")),
        sa.ForeignKeyConstraint(["diagnosis_id"], ["diagnosis.id"], name=op.f("fk_counterfactual_diagnosis_id")),
        sa.ForeignKeyConstraint(["video"], ["artifact.sha256"], name=op.f("fk_counterfactual_video")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_counterfactual")),
    )
    op.create_index(op.f("ix_counterfactual_episode_id"), "counterfactual", ["episode_id"])


def downgrade() -> None:
    """Back to before; the counterfactuals are forgotten."""
    op.drop_table("counterfactual")
