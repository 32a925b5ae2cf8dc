"""For whom an invitation is meant, so that open links can be told apart."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("invitations", sa.Column("note", sa.String(length=120), nullable=True))
