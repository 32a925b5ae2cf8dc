"""Pairs that are withdrawn, and indexes that tell them from the others."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_INDEXES = {
    "ix_pairs_spread": ["project_id", "spread_quarters", "withdrawn_at"],
    "ix_pairs_type": ["project_id", "type", "genre", "rating_count", "spread_quarters", "withdrawn_at"],
}
_PARTIAL = {
    "ix_pairs_open": (["project_id", "position"], "open_slots > 0 AND withdrawn_at IS NULL"),
    "ix_pairs_withdrawn": (["project_id"], "withdrawn_at IS NOT NULL"),
}


def upgrade() -> None:
    op.add_column("pairs", sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True))
    for name in ("ix_pairs_open", *_INDEXES):
        op.drop_index(name, table_name="pairs")
    for name, columns in _INDEXES.items():
        op.create_index(name, "pairs", columns, unique=False)
    for name, (columns, condition) in _PARTIAL.items():
        where = sa.text(condition)
        op.create_index(name, "pairs", columns, unique=False, sqlite_where=where, postgresql_where=where)
