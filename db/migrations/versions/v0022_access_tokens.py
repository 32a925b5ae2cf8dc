"""Tokens with which programs of a user ask in that user's name."""

from alembic import op
from sqlalchemy import Column, DateTime, ForeignKey, Integer, String

revision = "0022"
down_revision = "0021"

Moment = DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "access_tokens",
        Column("id", Integer, primary_key=True),
        Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        Column("name", String(80), nullable=False),
        Column("token_hash", String(64), nullable=False, unique=True),
        Column("created_at", Moment, nullable=False),
        Column("last_used_at", Moment),
        Column("expires_at", Moment),
    )
    op.create_index("ix_access_tokens_user_id", "access_tokens", ["user_id"])
