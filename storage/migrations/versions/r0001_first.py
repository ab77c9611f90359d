"""All tables of the first release.

Revision: 0001
Follows: nothing
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "artifact",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("media_type", sa.String(60), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_artifact")),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.String(120), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("experiment", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("host", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_table(
        "episode",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("identity", sa.String(32), nullable=False),
        sa.Column("try_no", sa.Integer(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("task_id", sa.String(120), nullable=False),
        sa.Column("space", sa.String(20), nullable=False),
        sa.Column("agent", sa.String(120), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.String(40)),
        sa.Column("lesson_id", sa.String(40)),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("outcome", sa.String(30)),
        sa.Column("outcome_detail", sa.Text(), nullable=False),
        sa.Column("scored", sa.Boolean()),
        sa.Column("score", sa.Double()),
        sa.Column("success", sa.Boolean()),
        sa.Column("n_steps", sa.Integer(), nullable=False),
        sa.Column("state_hash", sa.String(64)),
        sa.Column("video", sa.String(64)),
        sa.Column("video_info", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["parent_id"], ["episode.id"], name=op.f("fk_episode_parent_id")),
        sa.ForeignKeyConstraint(["video"], ["artifact.sha256"], name=op.f("fk_episode_video")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_episode")),
        sa.UniqueConstraint("identity", "try_no", name=op.f("uq_episode_identity")),
    )
    op.create_index(op.f("ix_episode_outcome"), "episode", ["outcome"])
    op.create_index(op.f("ix_episode_status"), "episode", ["status"])
    op.create_index("ix_episode_task", "episode", ["task_id", "agent", "space"])
    op.create_table(
        "run_episode",
        sa.Column("run_id", sa.String(120), nullable=False),
        sa.Column("condition", sa.String(60), nullable=False),
        sa.Column("identity", sa.String(32), nullable=False),
        sa.Column("task_id", sa.String(120), nullable=False),
        sa.Column("space", sa.String(20), nullable=False),
        sa.Column("agent", sa.String(120), nullable=False),
        sa.Column("instrument", sa.String(200), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("trial", sa.String(32), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_episode_run_id")),
        sa.PrimaryKeyConstraint("run_id", "condition", "identity", name=op.f("pk_run_episode")),
    )
    op.create_index(op.f("ix_run_episode_identity"), "run_episode", ["identity"])
    op.create_table(
        "call",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("episode_id", sa.String(40)),
        sa.Column("step_index", sa.Integer()),
        sa.Column("purpose", sa.String(20), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("endpoint", sa.String(300), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("reply", sa.JSON()),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("status", sa.String(30), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("retries", sa.Integer(), nullable=False),
        sa.Column("latency_s", sa.Double(), nullable=False),
        sa.Column("waited_s", sa.Double(), nullable=False),
        sa.Column("input_tokens", sa.Integer()),
        sa.Column("output_tokens", sa.Integer()),
        sa.Column("usage", sa.JSON(), nullable=False),
        sa.Column("cost_usd", sa.Numeric(18, 9)),
        sa.Column("cost_source", sa.String(60), nullable=False),
        sa.Column("cached", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_call_episode_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_call")),
    )
    op.create_index("ix_call_step", "call", ["episode_id", "step_index"])
    op.create_table(
        "diagnosis",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("step_index", sa.Integer(), nullable=False),
        sa.Column("trigger", sa.String(60), nullable=False),
        sa.Column("diagnoser", sa.String(120), nullable=False),
        sa.Column("fingerprint", sa.String(32), nullable=False),
        sa.Column("verdict", sa.String(20), nullable=False),
        sa.Column("fault_class", sa.String(20)),
        sa.Column("fault_type", sa.String(10)),
        sa.Column("rollback_step", sa.Integer()),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("call_id", sa.String(40)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_diagnosis_episode_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_diagnosis")),
    )
    op.create_index(op.f("ix_diagnosis_episode_id"), "diagnosis", ["episode_id"])
    op.create_table(
        "fault",
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(60), nullable=False),
        sa.Column("fault_class", sa.String(20), nullable=False),
        sa.Column("fault_type", sa.String(10), nullable=False),
        sa.Column("onset_step", sa.Integer()),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_fault_episode_id")),
        sa.PrimaryKeyConstraint("episode_id", "kind", name=op.f("pk_fault")),
    )
    op.create_table(
        "lesson",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("tutorial_id", sa.String(40)),
        sa.Column("reflector", sa.String(120), nullable=False),
        sa.Column("fingerprint", sa.String(32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("frames", sa.JSON(), nullable=False),
        sa.Column("call_id", sa.String(40)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_lesson_episode_id")),
        sa.ForeignKeyConstraint(["tutorial_id"], ["episode.id"], name=op.f("fk_lesson_tutorial_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lesson")),
    )
    op.create_index(op.f("ix_lesson_episode_id"), "lesson", ["episode_id"])
    op.create_table(
        "milestone_truth",
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("milestone_id", sa.String(60), nullable=False),
        sa.Column("step_index", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_milestone_truth_episode_id")),
        sa.PrimaryKeyConstraint("episode_id", "milestone_id", name=op.f("pk_milestone_truth")),
    )
    op.create_table(
        "step",
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("sim_step", sa.Integer(), nullable=False),
        sa.Column("action", sa.JSON()),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("rationale", sa.Text(), nullable=False),
        sa.Column("reward", sa.Double(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("frame", sa.Integer(), nullable=False),
        sa.Column("notes", sa.JSON(), nullable=False),
        sa.Column("think_s", sa.Double(), nullable=False),
        sa.Column("env_s", sa.Double(), nullable=False),
        sa.Column("world_ms", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_step_episode_id")),
        sa.PrimaryKeyConstraint("episode_id", "index", name=op.f("pk_step")),
    )
    op.create_table(
        "verdict",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("milestone_id", sa.String(60), nullable=False),
        sa.Column("judge", sa.String(120), nullable=False),
        sa.Column("fingerprint", sa.String(32), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(20), nullable=False),
        sa.Column("confidence", sa.Double()),
        sa.Column("frame", sa.Integer()),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("call_id", sa.String(40)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_verdict_episode_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verdict")),
        sa.UniqueConstraint("episode_id", "milestone_id", "fingerprint", "repeat", name=op.f("uq_verdict_episode_id")),
    )
    op.create_index(op.f("ix_verdict_episode_id"), "verdict", ["episode_id"])
    op.create_table(
        "intervention",
        sa.Column("episode_id", sa.String(40), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("diagnosis_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("at_step", sa.Integer(), nullable=False),
        sa.Column("to_step", sa.Integer(), nullable=False),
        sa.Column("snapshot", sa.String(64), nullable=False),
        sa.Column("exact", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["diagnosis_id"], ["diagnosis.id"], name=op.f("fk_intervention_diagnosis_id")),
        sa.ForeignKeyConstraint(["episode_id"], ["episode.id"], name=op.f("fk_intervention_episode_id")),
        sa.PrimaryKeyConstraint("episode_id", "branch", name=op.f("pk_intervention")),
    )


def downgrade() -> None:
    # Dependents first.
    for table in (
        "intervention",
        "verdict",
        "step",
        "milestone_truth",
        "lesson",
        "fault",
        "diagnosis",
        "call",
        "run_episode",
        "episode",
        "run",
        "artifact",
    ):
        op.drop_table(table)
