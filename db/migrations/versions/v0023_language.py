"""The language in which raters meet a project; earlier projects are in English."""

from alembic import op
from sqlalchemy import Column, String

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("projects", Column("language", String(8), nullable=False, server_default="en"))
