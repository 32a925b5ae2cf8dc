"""Pairs that are withdrawn, and indexes of those that are not."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_IN_USE = "withdrawn_at IS NULL"
_INDEXES = (
    ("ix_pairs_open", ["project_id", "position"], f"open_slots > 0 AND {_IN_USE}"),
    ("ix_pairs_spread", ["project_id", "spread_quarters"], _IN_USE),
    ("ix_pairs_type", ["project_id", "type", "genre", "rating_count", "spread_quarters"], _IN_USE),
    ("ix_pairs_withdrawn", ["project_id"], "withdrawn_at IS NOT NULL"),
)


def upgrade() -> None:
    op.add_column("pairs", sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True))
    for name, columns, condition in _INDEXES:
        if name != "ix_pairs_withdrawn":
            op.drop_index(name, table_name="pairs")
        where = sa.text(condition)
        op.create_index(name, "pairs", columns, unique=False, sqlite_where=where, postgresql_where=where)
