"""Predictions that wait for a project are in the database, where every process of the pages finds them."""

from alembic import op
from sqlalchemy import Column, DateTime, ForeignKey, Integer, LargeBinary, String

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "hand_overs",
        Column("id", Integer, primary_key=True),
        Column("token_hash", String(64), nullable=False, unique=True),
        Column("sender", String(80), nullable=False),
        Column("content", LargeBinary, nullable=False),
        Column("size", Integer, nullable=False),
        Column("project_id", Integer, ForeignKey("projects.id", ondelete="CASCADE")),
        Column("at", DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_hand_overs_at", "hand_overs", ["at"])
