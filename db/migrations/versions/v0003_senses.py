"""What a pair of a word and a sense says besides its texts."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("pairs", sa.Column("senses", sa.JSON(), nullable=True))
    op.add_column("writings", sa.Column("senses", sa.JSON(), nullable=True))
