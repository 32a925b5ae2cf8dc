"""Who saw the requested grade of a larger item, items that are withdrawn, and the server's keys."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("larger_items", sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "grade_viewers",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["larger_items.id"],
            name=op.f("fk_grade_viewers_item_id_larger_items"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_grade_viewers_user_id_users")),
        sa.PrimaryKeyConstraint("item_id", "user_id", name=op.f("pk_grade_viewers")),
    )
    op.create_table(
        "server_keys",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_server_keys")),
    )
