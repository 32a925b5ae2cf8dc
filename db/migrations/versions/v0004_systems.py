"""Gold sets that systems were measured on, the systems and their scores."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "gold_sets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_gold_sets_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gold_sets")),
        sa.UniqueConstraint("project_id", "sha256", name=op.f("uq_gold_sets_project_id_sha256")),
    )
    op.create_table(
        "gold_grades",
        sa.Column("gold_set_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("left", sa.Text(), nullable=False),
        sa.Column("right", sa.Text(), nullable=False),
        sa.Column("genre", sa.String(length=200), nullable=True),
        sa.Column("gold", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["gold_set_id"],
            ["gold_sets.id"],
            name=op.f("fk_gold_grades_gold_set_id_gold_sets"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("gold_set_id", "place", name=op.f("pk_gold_grades")),
    )
    op.create_table(
        "systems",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("gold_set_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("name_key", sa.String(length=240), nullable=False),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("remark", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "origin IN ('scores', 'lcs', 'gst', 'embedding')", name=op.f("ck_systems_origin_known")
        ),
        sa.ForeignKeyConstraint(
            ["gold_set_id"],
            ["gold_sets.id"],
            name=op.f("fk_systems_gold_set_id_gold_sets"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_systems_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_systems")),
        sa.UniqueConstraint("gold_set_id", "name_key", name=op.f("uq_systems_gold_set_id_name_key")),
    )
    op.create_table(
        "system_scores",
        sa.Column("system_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["system_id"], ["systems.id"], name=op.f("fk_system_scores_system_id_systems"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("system_id", "place", name=op.f("pk_system_scores")),
    )
