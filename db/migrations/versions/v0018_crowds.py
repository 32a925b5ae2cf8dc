"""Shared links and crowds; limited tries at the training, and raters who are blocked by check pairs."""

from alembic import op
from sqlalchemy import (
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
)

revision = "0018"
down_revision = "0017"

Moment = DateTime(timezone=True)


def upgrade() -> None:
    with op.batch_alter_table("quality_settings") as quality:
        for name in ("training_tries", "block_wrong", "block_of"):
            quality.add_column(Column(name, Integer, nullable=False, server_default="0"))
        quality.create_check_constraint("training_tries_counted", "training_tries >= 0")
        quality.create_check_constraint("block_within", "block_wrong BETWEEN 0 AND block_of")
    with op.batch_alter_table("rater_states") as states:
        states.add_column(Column("blocked_at", Moment, nullable=True))
        states.add_column(Column("unblocked_at", Moment, nullable=True))
    op.create_table(
        "shared_links",
        Column("id", Integer, primary_key=True),
        Column("project_id", Integer, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        Column("token_hash", String(64), nullable=False, unique=True),
        Column("most", Integer, nullable=False),
        Column("note", String(120), nullable=False),
        Column("created_by", Integer, ForeignKey("users.id"), nullable=True),
        Column("created_at", Moment, nullable=False),
        Column("expires_at", Moment, nullable=False),
        Column("revoked_at", Moment, nullable=True),
        CheckConstraint("most >= 1", name="most_positive"),
        Index("ix_shared_links_project_id", "project_id"),
    )
    op.create_table(
        "arrivals",
        Column("id", Integer, primary_key=True),
        Column("project_id", Integer, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        Column("link_id", Integer, ForeignKey("shared_links.id", ondelete="CASCADE"), nullable=False),
        Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        Column("source", String(16), nullable=False),
        Column("worker_id", String(80), nullable=True),
        Column("study_id", String(80), nullable=False),
        Column("session_id", String(80), nullable=False),
        Column("key", String(16), nullable=False),
        Column("arrived_at", Moment, nullable=False),
        Column("ended_at", Moment, nullable=True),
        Column("outcome", String(16), nullable=True),
        Column("code", String(120), nullable=True),
        UniqueConstraint("project_id", "user_id"),
        UniqueConstraint("project_id", "source", "worker_id"),
        CheckConstraint("source IN ('open', 'prolific', 'mturk')", name="source_known"),
        CheckConstraint("outcome IN ('finished', 'screened_out', 'nothing_left')", name="outcome_known"),
        CheckConstraint("(source = 'open') = (worker_id IS NULL)", name="workers_have_ids"),
        CheckConstraint("(ended_at IS NULL) = (outcome IS NULL)", name="end_has_outcome"),
        Index("ix_arrivals_link_id", "link_id"),
        Index("ix_arrivals_user_id", "user_id"),
    )
    op.create_table(
        "crowd_settings",
        Column("project_id", Integer, ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True),
        Column("completion_code", String(80), nullable=False),
        Column("screen_out_code", String(80), nullable=False),
        Column("return_address", Text, nullable=False),
        Column("contact", String(200), nullable=False),
    )
