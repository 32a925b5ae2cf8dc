"""Pairs that come back to their rater, and how many percent of them; earlier projects have none."""

from alembic import op
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
)

revision = "0021"
down_revision = "0020"

Moment = DateTime(timezone=True)


def upgrade() -> None:
    with op.batch_alter_table("projects") as projects:
        projects.add_column(Column("repeat_percent", Integer, nullable=False, server_default="0"))
        projects.create_check_constraint("repeat_percent_share", "repeat_percent BETWEEN 0 AND 50")
    op.create_table(
        "repeats",
        Column("id", Integer, primary_key=True, nullable=False),
        Column("project_id", Integer, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        Column("pair_id", Integer, ForeignKey("pairs.id", ondelete="CASCADE"), nullable=False),
        Column("rater_id", Integer, ForeignKey("users.id"), nullable=False),
        Column("state", String(16), nullable=False),
        Column("graded_before", Integer, nullable=False),
        Column("first_quarters", Integer, nullable=True),
        Column("quarters", Integer, nullable=True),
        Column("seconds", Double, nullable=True),
        Column("comment", Text, nullable=False),
        Column("is_flagged", Boolean, nullable=False),
        Column("claimed_at", Moment, nullable=False),
        Column("answered_at", Moment, nullable=True),
        CheckConstraint("(state = 'rated') = (quarters IS NOT NULL)", name="rated_has_grade"),
        CheckConstraint("(quarters IS NULL) = (first_quarters IS NULL)", name="grade_has_first"),
        CheckConstraint("state IN ('held', 'rated', 'skipped')", name="state_known"),
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_repeats_rater", "project_id", "rater_id", "state"),
    )
