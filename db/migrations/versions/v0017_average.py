"""Which average of a pair's ratings is its gold grade without a decision; earlier projects have the mean."""

from alembic import op
from sqlalchemy import Column, String

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    with op.batch_alter_table("projects") as projects:
        projects.add_column(Column("average", String(8), nullable=False, server_default="mean"))
        projects.create_check_constraint("average_known", "average IN ('mean', 'median')")
