"""The history of second grades; of those given before, it begins with the grade that stands."""

from alembic import op
from sqlalchemy import Column, DateTime, Double, ForeignKey, Integer

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "repeat_history",
        Column("id", Integer, primary_key=True, nullable=False),
        Column("project_id", Integer, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        Column("pair_id", Integer, ForeignKey("pairs.id", ondelete="CASCADE"), nullable=False),
        Column("rater_id", Integer, ForeignKey("users.id"), nullable=False),
        Column("quarters", Integer, nullable=False),
        Column("previous_quarters", Integer, nullable=True),
        Column("seconds", Double, nullable=True),
        Column("at", DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_repeat_history_project_id", "repeat_history", ["project_id"])
    op.create_index("ix_repeat_history_pair_id", "repeat_history", ["pair_id"])
    op.execute(
        "INSERT INTO repeat_history (project_id, pair_id, rater_id, quarters, seconds, at) "
        "SELECT project_id, pair_id, rater_id, quarters, seconds, answered_at FROM repeats "
        "WHERE state = 'rated' ORDER BY answered_at, id"
    )
