"""A project may do without adjudication: it has no threshold then."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    with op.batch_alter_table("projects") as projects:
        projects.alter_column("threshold_quarters", existing_type=sa.Integer(), nullable=True)
