"""How many pairs of a project a rater is given at most, and an index that counts withdrawn pairs at once."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    # In one statement, which both systems take: for a constraint of its own SQLite would copy the table.
    op.execute(
        "ALTER TABLE projects ADD COLUMN most_per_rater INTEGER "
        "CONSTRAINT ck_projects_most_per_rater_positive CHECK (most_per_rater >= 1)"
    )
    op.drop_index("ix_pairs_withdrawn", table_name="pairs")
    where = sa.text("withdrawn_at IS NOT NULL")
    op.create_index(
        "ix_pairs_withdrawn",
        "pairs",
        ["project_id", "withdrawn_at"],
        unique=False,
        sqlite_where=where,
        postgresql_where=where,
    )
