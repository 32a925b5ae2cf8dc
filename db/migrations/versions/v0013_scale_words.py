"""A project's own words for the five points of the scale."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("projects", sa.Column("scale_words", sa.Text(), nullable=True))
