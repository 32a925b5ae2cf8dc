"""Grades of a rater that are set aside, and the state of a pair for whoever gave one."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_STATES = "state IN ('held', 'rated', 'skipped', 'returned', 'barred', 'set_aside')"


def upgrade() -> None:
    known = op.f("ck_assignments_state_known")
    with op.batch_alter_table("assignments") as assignments:
        assignments.drop_constraint(known, type_="check")
        assignments.create_check_constraint(known, _STATES)
    op.create_table(
        "set_asides",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        _refers("set_asides", "project_id", "projects", ondelete="CASCADE"),
        _refers("set_asides", "rater_id", "users"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_set_asides")),
    )
    op.create_index("ix_set_asides_rater", "set_asides", ["project_id", "rater_id"], unique=False)
    op.create_table(
        "set_aside_ratings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("set_aside_id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("quarters", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("quarters BETWEEN 0 AND 16", name=op.f("ck_set_aside_ratings_quarters_on_scale")),
        _refers("set_aside_ratings", "set_aside_id", "set_asides", ondelete="CASCADE"),
        _refers("set_aside_ratings", "project_id", "projects", ondelete="CASCADE"),
        _refers("set_aside_ratings", "pair_id", "pairs", ondelete="CASCADE"),
        _refers("set_aside_ratings", "rater_id", "users"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_set_aside_ratings")),
        sa.UniqueConstraint("pair_id", "rater_id", name=op.f("uq_set_aside_ratings_pair_id_rater_id")),
    )
    for name, column in (("set_aside_id", ["set_aside_id"]), ("rater", ["project_id", "rater_id"])):
        op.create_index(op.f(f"ix_set_aside_ratings_{name}"), "set_aside_ratings", column, unique=False)


def _refers(table: str, column: str, target: str, *, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{target}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete=ondelete)
