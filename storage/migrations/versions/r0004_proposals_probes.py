"""Milestones that a model proposes and people review; questions about recordings and their answers.

Revision: 0004
Follows: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "milestone_proposal",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("task_id", sa.String(120), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("episode_id", sa.String(40)),
        sa.Column("tutorial_id", sa.String(40)),
        sa.Column("first_frame", sa.Integer(), nullable=False),
        sa.Column("last_frame", sa.Integer(), nullable=False),
        sa.Column("frames", sa.JSON(), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("fingerprint", sa.String(32), nullable=False),
        sa.Column("call_id", sa.String(40)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_milestone_proposal_episode_id")),
        sa.ForeignKeyConstraint(["tutorial_id"], ["tutorial.id"], name=op.f("fk_milestone_proposal_tutorial_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_milestone_proposal")),
    )
    op.create_index(op.f("ix_milestone_proposal_task_id"), "milestone_proposal", ["task_id"])
    op.create_table(
        "milestone_review",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("proposal_id", sa.String(40), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reviewer", sa.String(120), nullable=False),
        sa.Column("matches", sa.String(60), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["proposal_id"], ["milestone_proposal.id"], name=op.f("fk_milestone_review_proposal_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_milestone_review")),
    )
    op.create_index(op.f("ix_milestone_review_proposal_id"), "milestone_review", ["proposal_id"])
    op.create_table(
        "probe_answer",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("probing", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("task_id", sa.String(120), nullable=False),
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("frames", sa.JSON(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("truth", sa.JSON(), nullable=False),
        sa.Column("answer", sa.JSON()),
        sa.Column("correct", sa.Boolean()),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("fingerprint", sa.String(32), nullable=False),
        sa.Column("call_id", sa.String(40)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_probe_answer_episode_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_probe_answer")),
    )
    op.create_index(op.f("ix_probe_answer_probing"), "probe_answer", ["probing"])


def downgrade() -> None:
    """Back to before; proposals, reviews and probes are forgotten."""
    op.drop_table("probe_answer")
    op.drop_table("milestone_review")
    op.drop_table("milestone_proposal")
