"""The report on agreement of a large project, which pages show while the next one is made."""

from alembic import op
from sqlalchemy import Column, DateTime, Double, ForeignKey, Integer, Text

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "kept_agreement",
        Column(
            "project_id",
            Integer,
            ForeignKey("projects.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
            nullable=False,
        ),
        Column("version", Text, nullable=False),
        Column("content", Text, nullable=False),
        Column("seconds", Double, nullable=False),
        Column("made_at", DateTime(timezone=True), nullable=False),
    )
